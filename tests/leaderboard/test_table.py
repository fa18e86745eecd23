"""From verified submissions to table and page, seen in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.evaluation.runner import evaluate
from agentenvs.leaderboard.bundle import write_bundle
from agentenvs.leaderboard.card import Card
from agentenvs.leaderboard.table import _cell, build, store
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
        evaluate("quick", policy, folder / "runs" / policy)
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
    assert "| the-expert | expert | replayed | 1.000 [" in table


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


def test_a_part_of_a_suite_has_no_overall_score_and_stands_last(root: Path, tmp_path: Path) -> None:
    """The first tasks may be the easy ones: such a row is shown, but not ranked among whole runs."""
    shutil.copytree(root / "quick", tmp_path / "quick")
    evaluate("quick", "expert", tmp_path / "run", episodes=1)
    card = Card(name="a-part", policy="expert", authors="t", date="2026-11-30")
    store(verify(write_bundle(tmp_path / "run", card, tmp_path / "part.zip")), tmp_path)
    build(tmp_path, "quick")
    table = (tmp_path / "quick" / "table.md").read_text()
    assert "| a-part (first 1 tasks) | expert | replayed | - | 1.000 [" in table
    assert table.index("the-random") < table.index("a-part")


def test_a_higher_tier_is_not_lost(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "quick", tmp_path / "quick")
    folder = tmp_path / "quick" / "submissions" / "the-random"
    record = json.loads((folder / "verified.json").read_text())
    (folder / "verified.json").write_text(json.dumps({**record, "tier": "hidden"}))
    store(verify(folder), tmp_path)
    assert json.loads((folder / "verified.json").read_text())["tier"] == "hidden"


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record["summary"]["overall"]["score"].update(value=1.0),
        lambda record: record["summary"].update(episodes=7),
        lambda record: record["card"].update(policy="another"),
        lambda record: record.update(tier="reported"),
        lambda record: record.update(tier="gold"),
        lambda record: record.pop("summary"),
        lambda record: record.clear(),
    ],
)
def test_a_row_is_that_of_its_bundle(root: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    shutil.copytree(root / "quick", tmp_path / "quick")
    file = tmp_path / "quick" / "submissions" / "the-random" / "verified.json"
    record = json.loads(file.read_text())
    edit(record)
    file.write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"verified\.json"):
        build(tmp_path, "quick")
    file.write_text("{")
    with pytest.raises(ConfigError, match=r"verified\.json is not JSON"):
        build(tmp_path, "quick")


@pytest.mark.parametrize(
    "wrong",
    [
        "scores = { sokoban-ragen = 0.5 }|scores = { sokoban-ragen = 'half' }",
        "scores = { sokoban-ragen = 0.5 }|scores = { sokoban-ragen = nan }",
        "scores = { sokoban-ragen = 0.5 }|scores = { sokoban-ragen = true }",
        "scores = { sokoban-ragen = 0.5 }|scores = 0.5",
        "[[row]]|[row]",
        '"A paper"|5',
        '"their model"|["a"]',
    ],
)
def test_a_wrong_value_in_a_reported_file_is_told(root: Path, tmp_path: Path, wrong: str) -> None:
    shutil.copytree(root / "quick", tmp_path / "quick")
    (tmp_path / "quick" / "reported.toml").write_text(REPORTED.replace(*wrong.split("|")))
    with pytest.raises(ConfigError, match=r"reported\.toml"):
        build(tmp_path, "quick")


def test_a_reported_file_in_another_encoding_is_told(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "quick", tmp_path / "quick")
    (tmp_path / "quick" / "reported.toml").write_bytes(REPORTED.replace("A paper", "Ein Übel").encode("latin-1"))
    with pytest.raises(ConfigError, match=r"reported\.toml"):
        build(tmp_path, "quick")


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "a \\| b",
        "a \\\\| b",
        "![x](http://evil/x.png)",
        "[x](javascript:alert(1))",
        "<img src=x>",
        "<https://evil.example>",
        "see https://evil.example now",
        "see www.evil.example",
        "mail@evil.example",
        "`code` *bold* _it_ ~no~ $x$",
        "a\nb\r\n| c |",
        "&lt;b&gt;",
        "\u202eb\u2066",
    ],
)
def test_a_strangers_text_is_shown_as_it_stands_in_markdown(text: str) -> None:
    cell = _cell(text)
    assert cell.isprintable()
    assert not re.search(r"(?<!\\)(\\\\)*[|`*_~$\[\]]", cell), "a special character without a backslash"
    assert not re.search(r"[<>@]|://|www\.", cell), "a link or a tag"
    shown = html.unescape(re.sub(r"\\([\W_])", r"\1", cell))
    assert shown == "".join(char if char.isprintable() else " " for char in text)


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
