"""Where data are looked for, in which order, and what is said when there are none."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError, DataError
from agentenvs.datasets import cache_dir, digest, find, locate, require
from agentenvs.datasets.manifest import dataset


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """A machine with no data: every variable that counts points into `tmp_path` or is unset."""
    for variable in ("AGENTENVS_DATA", "AGENTENVS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def make_dir(*parts) -> Path:
    path = Path(*parts)
    path.mkdir(parents=True)
    return path


def fill_cache(root: Path, leave_out: int = 0) -> Path:
    files = dataset("boxoban").files
    for file in files[: len(files) - leave_out]:
        path = root / "boxoban" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * file.size)
    return root / "boxoban"


def test_order(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTENVS_DATA", str(tmp_path / "data"))
    assert find("boxoban") is None
    cached = fill_cache(tmp_path / ".cache" / "agentenvs")
    assert find("boxoban") == cached
    flat = make_dir(tmp_path, "data", "boxoban")
    assert find("boxoban") == flat
    nested = make_dir(tmp_path, "data", "sokoban", "boxoban")
    assert find("boxoban") == find("sokoban/boxoban") == nested
    explicit = make_dir(tmp_path, "mine")
    assert find("boxoban", explicit) == explicit
    assert find("boxoban", str(tmp_path / "absent")) is None  # no silent way round a wrong argument


def test_families_and_unlisted_names(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTENVS_DATA", str(tmp_path))
    family, unlisted = make_dir(tmp_path, "sokoban"), make_dir(tmp_path, "sokoban", "xsb")
    assert find("sokoban") == family
    assert find("sokoban/xsb") == unlisted
    assert find("xsb") is None


def test_incomplete_cache_does_not_count(tmp_path):
    fill_cache(tmp_path / ".cache" / "agentenvs", leave_out=1)
    assert find("boxoban") is None
    with pytest.raises(ConfigError, match="finish it with: agentenvs data get boxoban"):
        require("boxoban")


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b/c", "/etc", "Boxoban", "a\0", "sokoban/"])
def test_names_that_could_leave_the_folder(name):
    with pytest.raises(ConfigError, match="expected a name such as"):
        find(name)


def test_require_says_where_and_how(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTENVS_DATA", str(tmp_path / "data"))
    with pytest.raises(ConfigError) as caught:
        require("boxoban")
    for part in ("data/sokoban/boxoban", "data/boxoban", ".cache/agentenvs/boxoban", "agentenvs data get boxoban"):
        assert part in str(caught.value)
    with pytest.raises(ConfigError, match="set AGENTENVS_DATA"):
        require("alfworld")
    assert require("boxoban", tmp_path) == tmp_path


def test_cache_dir(monkeypatch, tmp_path):
    assert cache_dir() == tmp_path / ".cache" / "agentenvs"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == tmp_path / ".cache" / "agentenvs"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "agentenvs"
    monkeypatch.setenv("AGENTENVS_CACHE", "~/own")
    assert cache_dir() == tmp_path / "own"


def test_no_home(monkeypatch):
    def fail():
        raise RuntimeError

    monkeypatch.setattr(locate.Path, "home", fail)
    with pytest.raises(ConfigError, match="AGENTENVS_CACHE"):
        cache_dir()


def test_digest(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"abc" * 1_000_000)
    assert digest(path) == hashlib.sha256(b"abc" * 1_000_000).hexdigest()
    with pytest.raises(DataError, match="expected a readable file"):
        digest(tmp_path / "absent")
