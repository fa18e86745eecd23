"""The scripts in `leaderboards/` on a small run, as one would call them, and the published numbers beside them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentenvs.evaluation.suite import load_suite
from agentenvs.leaderboard.table import build

FOLDER = Path(__file__).resolve().parents[2] / "leaderboards"
CARD = """
name = "small"
policy = "random"
authors = "a tester"
date = 2026-11-30
"""


def script(name: str, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", cwd=cwd, timeout=120)


def test_from_a_run_to_a_page(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text(CARD, encoding="utf-8")
    done = script("submit", run_folder, "--card", "card.toml", "--out", "small.zip", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = script("verify", "small.zip", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "accepted: replayed" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"card.toml", "small.zip"}, "stored only when asked to"
    done = script("verify", "small.zip", "--store", "--into", "boards", "--policy", "random", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "accepted: reproduced" in done.stdout
    assert (tmp_path / "boards" / "quick" / "submissions" / "small" / "verified.json").is_file()
    done = script("build", "boards", "--suite", "quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "small" in (tmp_path / "boards" / "quick" / "table.md").read_text(encoding="utf-8")
    assert (tmp_path / "boards" / "quick" / "index.html").is_file()


def test_a_damaged_submission_is_refused_and_not_stored(honest: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(honest.read_bytes()[:-40])
    done = script("verify", broken, "--store", "--into", tmp_path / "boards", cwd=tmp_path)
    assert done.returncode == 1
    assert "refused: unreadable" in done.stderr
    assert not (tmp_path / "boards").exists()


@pytest.mark.parametrize("name", ["submit", "verify", "build"])
def test_help(name: str, tmp_path: Path) -> None:
    done = script(name, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "usage: " in done.stdout


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*/reported.toml")), ids=lambda file: file.parent.name)
def test_published_numbers_are_of_entries_of_their_suite(file: Path, tmp_path: Path) -> None:
    entries = {entry.name for entry in load_suite(file.parent.name).entries}
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["row"]
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert set(row["scores"]) <= entries, row["name"]
        assert all(0 <= score <= 1 for score in row["scores"].values()), row["name"]
        assert row["source"]
    place = tmp_path / file.parent.name
    place.mkdir()
    (place / "reported.toml").write_bytes(file.read_bytes())
    _, table = build(tmp_path, file.parent.name)
    text = table.read_text(encoding="utf-8")
    assert "## Reported by papers, not verified" in text
    assert "## Verified" not in text
    assert all(row["name"] in text for row in rows)
