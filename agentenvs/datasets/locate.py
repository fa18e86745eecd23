"""Where data lie on this machine: an explicit folder, else below `AGENTENVS_DATA`, else in the cache."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from agentenvs.core.errors import ConfigError, DataError, quote
from agentenvs.datasets.manifest import NAME, Dataset, datasets

DATA_VARIABLE = "AGENTENVS_DATA"
CACHE_VARIABLE = "AGENTENVS_CACHE"


def find(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder of a data set ("boxoban"), a family ("sokoban") or a "family/name", or None.

    An explicit `data_dir` is the folder itself and the only place looked at. Of the cache only a complete download
    counts (every file there with its size; `fetch.status` also checks the content).
    """
    for place in candidates(name, data_dir):
        if place.is_dir() and (data_dir is not None or place != _cached(name) or _complete(name, place)):
            return place
    return None


def require(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """`find`, or a `ConfigError` that says where it looked and what to do."""
    place = find(name, data_dir)
    if place is not None:
        return place
    looked = ", ".join(str(place) for place in candidates(name, data_dir))
    short = name.rpartition("/")[2]
    if short in datasets():
        partly = data_dir is None and _cached(name).is_dir()
        way_out = f"{'finish' if partly else 'get'} it with: agentenvs data get {short}"
    else:
        way_out = f"put the files there or set {DATA_VARIABLE} to the folder that holds them"
    raise ConfigError(f"data {quote(name)}: not found in {looked}; {way_out}")


def candidates(name: str, data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """The places where `find` looks, in order."""
    family, short = _split(name)
    if data_dir is not None:
        return [Path(data_dir).expanduser()]
    root = os.environ.get(DATA_VARIABLE)
    user = (
        [Path(root).expanduser() / part for part in ([f"{family}/{short}"] if family else []) + [short]] if root else []
    )
    return [*user, _cached(name)]


def cache_dir() -> Path:
    """`AGENTENVS_CACHE`, else `XDG_CACHE_HOME/agentenvs`, else `~/.cache/agentenvs`."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own).expanduser().absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # The XDG specification says to ignore relative values.
        return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "agentenvs"
    except RuntimeError:
        raise ConfigError(f"no home directory for the cache; set {CACHE_VARIABLE} to a folder") from None


def digest(path: str | os.PathLike[str]) -> str:
    """The sha256 of a file, in hex; read in pieces. Raises `DataError` if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(str(path), "", expected="a readable file", found=error.strerror or str(error)) from None


def _split(name: str) -> tuple[str, str]:
    """("sokoban", "boxoban") for "boxoban" and "sokoban/boxoban"; the family is "" if unknown."""
    parts = name.split("/")
    if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
        raise ConfigError(f"data {quote(name)}: expected a name such as boxoban, sokoban or sokoban/boxoban")
    known = datasets().get(parts[-1])
    return (parts[0] if len(parts) == 2 else known.family if known else ""), parts[-1]


def _cached(name: str) -> Path:
    return cache_dir() / _split(name)[1]


def _complete(name: str, place: Path) -> bool:
    known: Dataset | None = datasets().get(_split(name)[1])
    return all(_has(place / file.path, file.size) for file in (known.files if known else ()))


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size
