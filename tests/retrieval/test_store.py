"""The cache on disk: whole or not there, built once by whoever comes first, mended when damaged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.retrieval.store import stored


class Builder:
    """Writes two files and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, folder: Path) -> None:
        self.count += 1
        (folder / "a").write_bytes(b"first" * 100)
        (folder / "sub").mkdir(exist_ok=True)
        (folder / "sub" / "b").write_bytes(b"second")


def read(folder: Path) -> bytes:
    return (folder / "a").read_bytes()[:5] + (folder / "sub" / "b").read_bytes()


def test_built_once_and_found_again(cache: Path) -> None:
    build = Builder()
    assert [stored("thing", build, read) for _ in range(3)] == [b"firstsecond"] * 3
    assert build.count == 1
    assert sorted(path.name for path in cache.iterdir()) == ["thing-v1", "thing-v1.lock"]


def cut(entry: Path) -> None:
    (entry / "a").write_bytes(b"first" * 99)


def flip(entry: Path) -> None:
    (entry / "sub" / "b").write_bytes(b"sEcond")


def lose(entry: Path) -> None:
    (entry / "a").unlink()


def lose_list(entry: Path) -> None:
    (entry / "files.json").unlink()


def garble_list(entry: Path) -> None:
    (entry / "files.json").write_bytes(b'{"a": 3}')


def break_list(entry: Path) -> None:
    (entry / "files.json").write_bytes(b'\xff["a"')


@pytest.mark.parametrize("damage", [cut, flip, lose, lose_list, garble_list, break_list])
def test_a_damaged_entry_is_built_again(cache: Path, damage: Callable[[Path], None]) -> None:
    build = Builder()
    stored("thing", build, read)
    damage(cache / "thing-v1")
    assert stored("thing", build, read) == b"firstsecond"
    assert build.count == 2


def test_an_entry_that_cannot_be_loaded_is_built_again(cache: Path) -> None:
    """As after an update of the library that wrote it."""
    build = Builder()
    stored("thing", build, read)

    def picky(folder: Path) -> bytes:
        if build.count < 2:
            raise RuntimeError("an old format")
        return read(folder)

    assert stored("thing", build, picky) == b"firstsecond"
    assert build.count == 2


def test_an_interrupted_build_leaves_no_entry_and_may_go_on(cache: Path) -> None:
    def stop(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt):
            stored("thing", stop, read, resume=resume)
        assert not (cache / "thing-v1").exists()
    left: list[bool] = []

    def build(folder: Path) -> None:
        left.append((folder / "half").exists())
        Builder()(folder)

    assert stored("thing", build, read, resume=True) == b"firstsecond"
    assert stored("other", build, read) == b"firstsecond"
    assert left == [True, False]


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        ConfigError, match="cannot use the cache .*; set AGENTENVS_CACHE to a folder that can be written"
    ):
        stored("thing", Builder(), read)


def test_two_processes_build_once(tmp_path: Path, cache: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from agentenvs.retrieval.store import stored

log = Path(sys.argv[1])

def build(folder):
    with log.open("a") as stream:
        stream.write("built\\n")
    time.sleep(0.5)
    (folder / "a").write_text("content")

print(stored("thing", build, lambda folder: (folder / "a").read_text()))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "log")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=60)[0] for process in running] == ["content\n"] * 3
    assert (tmp_path / "log").read_text() == "built\n"
