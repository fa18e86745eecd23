"""The embedded level set: what its comments declare is true, and its maker reproduces it."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.envs.sokoban.engine import Level
from agentenvs.envs.sokoban.levels import parse_level, parse_levels
from agentenvs.envs.sokoban.make_levels import TIERS, canonical, document, main, make_tier, measure
from agentenvs.envs.sokoban.solver import search

PATH = files("agentenvs.envs.sokoban") / "data" / "levels.xsb"
HEADING = re.compile(r"; (easy|medium|hard) (\d+) pushes=(\d+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def text() -> str:
    return PATH.read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def embedded(text: str) -> list[tuple[str, int, int, Level]]:
    """(tier, index, declared pushes, level) of every level."""
    levels = parse_levels(text, "levels.xsb")
    headings = [(tier, int(index), int(pushes)) for tier, index, pushes in HEADING.findall(text)]
    return [(*heading, level) for heading, level in zip(headings, levels, strict=True)]


def test_three_tiers_of_sixty(embedded, text: str):
    assert [(tier, index) for tier, index, _, _ in embedded] == [
        (tier, index) for tier in ("easy", "medium", "hard") for index in range(60)
    ]
    assert len(text) < 60_000
    assert "\r" not in text


def test_declared_pushes_are_the_fewest(embedded):
    for tier, index, pushes, level in embedded:
        found = search(level, level.player, level.boxes)
        assert found is not None, (tier, index)
        assert found.pushes == pushes, (tier, index)


def test_tiers_are_as_described(embedded):
    limits = {tier.name: tier for tier in TIERS}
    for name, _, pushes, level in embedded:
        tier = limits[name]
        assert (level.rows, level.cols, level.boxes.bit_count()) in tier.shapes
        assert tier.low <= pushes <= tier.high
        assert search(level, level.player, level.boxes).nodes >= tier.nodes


def test_no_two_are_alike(embedded):
    assert len({canonical(level) for _, _, _, level in embedded}) == 180


def test_canonical_is_the_same_for_rotations_and_reflections():
    level = parse_level("######|#@$.-#|#--#-#|######")
    turned = parse_level("####|#@-#|#$-#|#.##|#--#|####")  # reflected along the diagonal
    mirrored = parse_level("######|#-.$@#|#-#--#|######")
    other = parse_level("######|#@-$.#|#--#-#|######")
    assert canonical(level) == canonical(turned) == canonical(mirrored)
    assert canonical(level) != canonical(other)


def test_the_maker_draws_the_same_levels(embedded):
    for tier in TIERS[:2]:
        kept = {canonical(level): pushes for name, _, pushes, level in embedded if name == tier.name}
        for level, pushes in make_tier(tier, 4):
            assert kept[canonical(level)] == pushes


@pytest.mark.slow
def test_the_maker_writes_the_same_bytes(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentenvs.envs.sokoban.make_levels.TIERS", TIERS[:2])  # the third takes 90 seconds
    assert document(60) == text[: text.index("\n; hard 0")]


def test_the_maker_overwrites_nothing(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentenvs.envs.sokoban.make_levels.TIERS", TIERS[:1])
    out = tmp_path / "new.xsb"
    main([str(out), "--count", "2"])
    written = out.read_bytes()
    assert len(parse_levels(written.decode(), "new")) == 2
    with pytest.raises(ConfigError, match=r"new\.xsb exists"):
        main([str(out), "--count", "1"])
    assert out.read_bytes() == written


def test_measure_prints_a_line_a_shape():
    lines = list(measure(10))
    assert len(lines) == 5
    assert re.fullmatch(r"6x6, 1 box +pushes \d+( / \d+){3} +moves \d+( / \d+){3}", lines[0])
