"""The cache on disk: folders that are there as a whole and unharmed, or not at all.

An entry is a folder `<cache>/indexes/<name>` with a list of its files, their sizes and their sha256. It is built
beside its place and renamed, under a lock that other processes wait for. An entry that does not hold what its list
says is built again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agentenvs.core.errors import AgentEnvsError, ConfigError
from agentenvs.core.locks import locked
from agentenvs.datasets.locate import CACHE_VARIABLE, cache_dir, digest

#: Part of every entry's name: a new layout never meets an old entry.
FORMAT = 1
_LIST = "files.json"

T = TypeVar("T")


def stored(name: str, build: Callable[[Path], None], load: Callable[[Path], T], *, resume: bool = False) -> T:
    """What `load` makes of the entry `name`, after `build` has filled its folder if that was needed.

    `name` holds whatever the content depends on. With `resume` an interrupted `build` finds again what it had written;
    else it starts in an empty folder. Raises `ConfigError` where the cache cannot be written.
    """
    place = cache_dir() / "indexes" / f"{name}-v{FORMAT}"
    with contextlib.suppress(Exception):  # damaged, or just being replaced by another process
        if _intact(place):
            return load(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place.with_name(place.name + ".lock")):
            with contextlib.suppress(Exception):  # another process has built it meanwhile
                if _intact(place):
                    return load(place)
            _build(place, build, resume)
            return load(place)
    except OSError as error:
        raise ConfigError(
            f"cannot use the cache {place}: {error.strerror or error}; "
            f"set {CACHE_VARIABLE} to a folder that can be written"
        ) from error


def _build(place: Path, build: Callable[[Path], None], resume: bool) -> None:
    new = place.with_name(place.name + ".new")
    if not resume:
        shutil.rmtree(new, ignore_errors=True)
    new.mkdir(exist_ok=True)
    (new / _LIST).unlink(missing_ok=True)
    build(new)
    files = sorted(path for path in new.rglob("*") if path.is_file())
    listed = {path.relative_to(new).as_posix(): [path.stat().st_size, digest(path)] for path in files}
    (new / _LIST).write_text(json.dumps(listed), encoding="utf-8")
    shutil.rmtree(place, ignore_errors=True)
    os.replace(new, place)


def _intact(place: Path) -> bool:
    """Whether every file of the list is there with its size and content."""
    try:
        listed = json.loads((place / _LIST).read_text(encoding="utf-8"))
        sizes = all((place / path).stat().st_size == size for path, (size, _) in listed.items())
        return sizes and all(digest(place / path) == expected for path, (_, expected) in listed.items())
    except (OSError, ValueError, TypeError, AttributeError, AgentEnvsError):
        return False
