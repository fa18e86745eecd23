"""What stands on our leaderboards: every stored submission still verifies, and tables and pages are those of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentenvs._version import __version__
from agentenvs.evaluation.suite import load_suite
from agentenvs.leaderboard.bundle import read_bundle
from agentenvs.leaderboard.table import build
from agentenvs.leaderboard.verify import verify

ROOT = Path(__file__).resolve().parents[2] / "leaderboards"
STORED = sorted(path.parent for path in ROOT.glob("*/submissions/*/bundle.zip"))


def test_there_are_submissions() -> None:
    assert {folder.parents[1].name for folder in STORED} == {"quick", "core-v0", "search-core-v0"}


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: f"{folder.parents[1].name}-{folder.name}")
def test_a_stored_submission_verifies(folder: Path) -> None:
    bundle = read_bundle(folder)
    made = bundle.manifest["package"], bundle.run["suite_version"]
    here = __version__, load_suite(folder.parents[1].name).version
    if made != here:
        pytest.skip(f"made with package and suite {made}, these are {here}: verified by that release")
    assert verify(folder).summary == json.loads((folder / "verified.json").read_text(encoding="utf-8"))["summary"]


@pytest.mark.parametrize("suite", sorted(table.parent.name for table in ROOT.glob("*/table.md")))
def test_table_and_page_are_built_from_what_is_stored(suite: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / suite, tmp_path / suite)
    for path in build(tmp_path, suite):
        assert path.read_bytes() == (ROOT / suite / path.name).read_bytes(), "run: agentenvs leaderboard leaderboards"
