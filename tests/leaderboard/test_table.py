"""From verified submissions to table and page, seen in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.evaluation.runner import evaluate
from agentenvs.leaderboard.bundle import write_bundle
from agentenvs.leaderboard.card import Card
from agentenvs.leaderboard.table import build, store
from agentenvs.leaderboard.verify import verify

REPORTED = """
[[row]]
name = "A paper"
policy = "their model"
source = "https://example.org/paper"
scores = { sokoban-ragen = 0.5 }
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A leaderboard with two submissions and one reported row."""
    folder = tmp_path_factory.mktemp("boards")
    for policy in ("random", "expert"):
        evaluate("quick", policy, folder / "runs" / policy, episodes=6)
        card = Card(name=f"the-{policy}", policy=policy, authors="t", date="2026-11-30", code="https://example.org/c")
        store(verify(write_bundle(folder / "runs" / policy, card, folder / f"{policy}.zip")), folder)
    (folder / "quick" / "reported.toml").write_text(REPORTED)
    build(folder, "quick")
    return folder


def test_the_table_orders_verified_rows_and_keeps_reported_ones_apart(root: Path) -> None:
    table = (root / "quick" / "table.md").read_text()
    assert (
        table.index("the-expert")
        < table.index("the-random")
        < table.index("Reported by papers")
        < table.index("A paper")
    )
    assert "| the-expert (first 6 tasks) | expert | replayed | 1.000 [" in table


def test_building_again_gives_the_same_bytes(root: Path) -> None:
    before = [(root / "quick" / name).read_bytes() for name in ("index.html", "table.md")]
    build(root, "quick")
    assert before == [(root / "quick" / name).read_bytes() for name in ("index.html", "table.md")]


def test_a_name_is_not_taken_over(root: Path) -> None:
    evaluate("quick", "random", root / "runs" / "other", episodes=2, seed=5)
    card = Card(name="the-expert", policy="random", authors="thief", date="2026-11-30")
    thief = verify(write_bundle(root / "runs" / "other", card, root / "thief.zip"))
    with pytest.raises(ConfigError, match="another submission"):
        store(thief, root)


def test_a_wrong_reported_file_is_told(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "quick", tmp_path / "quick")
    (tmp_path / "quick" / "reported.toml").write_text('[[row]]\nname = "x"\n')
    with pytest.raises(ConfigError, match="policy"):
        build(tmp_path, "quick")
    with pytest.raises(ConfigError, match="no leaderboard"):
        build(tmp_path, "core-v0")


@pytest.mark.browser
def test_the_page_shows_the_rows_and_a_replay(root: Path, browser: Any) -> None:
    page = (root / "quick" / "index.html").as_uri()
    browser.get(page)
    text = browser.find_element("tag name", "body").text
    for name in ("the-expert", "the-random", "A paper"):
        assert name in text
    browser.find_element("partial link text", "the-expert").click()
    assert "sokoban/test/5x5x1d1.0" in browser.find_element("tag name", "body").text
    browser.find_element("partial link text", "sokoban/test/5x5x1d1.0").click()
    shown = browser.find_element("tag name", "body").text
    assert "#####" in shown
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
