"""Task sources: stable ids, disjoint splits, published seeds, files, and what a wrong id is told."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import pytest

import agentenvs  # noqa: F401 (registers the ids)
from agentenvs.core.errors import ConfigError, DataError
from agentenvs.core.task import TaskSource
from agentenvs.envs.sokoban.levels import format_level
from agentenvs.envs.sokoban.solver import shortest_moves

SOKOBAN = "agentenvs/Sokoban-v0"


def source(**kwargs) -> TaskSource:
    return gym.make(SOKOBAN, **kwargs).get_wrapper_attr("source")


def test_no_wall_layout_is_in_two_splits():
    """By construction, so for rooms that are crowded with few layouts as well."""
    for size in ({"rows": 5, "cols": 5, "boxes": 1}, {"rows": 6, "cols": 6, "boxes": 2}, {}):
        made = source(**size)
        walls = {split: {made.task(i).data.walls for i in made.ids(split, 400)} for split in made.splits}
        assert not walls["train"] & walls["validation"]
        assert not walls["train"] & walls["test"]
        assert not walls["validation"] & walls["test"]


def test_every_cell_of_a_large_board_counts_for_its_split():
    """A hash of the low bits alone would put all boards of 64 columns, whose first row is wall, into one split."""
    for rows, cols in ((64, 64), (12, 64), (64, 5), (20, 20)):
        made = source(rows=rows, cols=cols, boxes=2)
        for split in made.splits:
            assert made.task(made.ids(split, 1)[0]).metadata["generation_tries"] < 50


def test_published_seeds_are_played_as_they_are_and_splits_are_disjoint():
    made = source(preset="ragen")
    assert made.sample("validation", 200).id == "sokoban/validation/ragen.6x6x1.200"
    assert made.sample("train", 10_007).id == "sokoban/train/ragen.6x6x1.10007"
    assert made.ids("validation", 256)[0].endswith(".123")
    assert made.ids("validation", 256)[-1].endswith(".378")
    shuffled = made.ids("validation", 256, seed=1)
    assert sorted(shuffled) == sorted(made.ids("validation", 256))
    assert shuffled != made.ids("validation", 256)
    with pytest.raises(ConfigError, match="has 256"):
        made.ids("validation", 257)
    with pytest.raises(ConfigError, match="not in the split"):
        made.task("sokoban/validation/ragen.6x6x1.10007")


def test_the_ragen_preset_has_the_measured_difficulty():
    """Seeds 123-378: mean optimal length 3.95, at most 10, 78% at most 5."""
    made = source(preset="ragen")
    moves = [shortest_moves(made.task(i).data) for i in made.ids("validation", 256)]
    assert round(sum(moves) / 256, 2) == pytest.approx(3.95, abs=0.01)
    assert max(moves) == 10
    assert round(sum(m <= 5 for m in moves) / 256, 2) == 0.78


def test_vagen_keeps_the_rooms_that_are_solved_in_five_moves():
    made = source(preset="vagen")
    ids = made.ids("validation", 50)
    assert len(set(ids)) == 50
    assert all(shortest_moves(made.task(i).data) <= 5 for i in ids)
    kept = {int(i.rsplit(".", 1)[1]) for i in ids}
    assert kept != set(range(123, 173)), "every seed was kept"
    with pytest.raises(ConfigError, match="the split 'validation' of the vagen seeds has"):
        made.ids("validation", 256)


def test_embedded_levels_are_all_there_and_shared_out():
    for tier in ("easy", "medium", "hard"):
        made = source(levels="embedded", difficulty=tier)
        ids = [made.ids(split) for split in made.splits]
        assert [len(found) for found in ids] == [12, 12, 36]
        assert len({format_level(made.task(i).data) for found in ids for i in found}) == 60


def test_one_given_level_by_setting_or_by_option():
    text = "#####\n#@$.#\n#####"
    env = gym.make(SOKOBAN, levels="given", level=text)
    _, info = env.reset(seed=0)
    assert info["task_id"] == "sokoban/test/given:#####|#@$.#|#####"
    other = gym.make(SOKOBAN, preset="ragen", split="test")
    observation, info = other.reset(options={"level": text})
    assert observation == "#####\n#PXO#\n#####"
    assert other.step("Right")[2] is True
    again, _ = other.reset(options={"task": info["task_id"]})
    assert again == observation
    with pytest.raises(DataError, match="one box|player|level"):
        other.reset(options={"level": "####"})
    with pytest.raises(ConfigError, match="level: expected text"):
        other.reset(options={"level": 5})
    with pytest.raises(ConfigError, match="given"):
        other.reset(options={"task": "sokoban/test/given:####"})


def test_a_level_that_holds_a_box_on_target_pays_nothing_for_it():
    env = gym.make(SOKOBAN, levels="given", level="######\n#@-*-#\n#-$.-#\n######")
    env.reset(seed=0)
    _, reward, *_, info = env.step("Down")
    assert reward == -0.1
    assert info["reward_components"] == {"step": -0.1, "box": 0.0, "solved": 0.0}


def test_a_level_that_is_solved_at_reset_ends_with_the_first_action():
    env = gym.make(SOKOBAN, levels="given", level="#####\n#@*-#\n#####")
    _, info = env.reset(seed=0)
    assert (info["score"], info["success"]) == (1.0, True)
    _, reward, terminated, truncated, info = env.step("Up")
    assert (reward, terminated, truncated, info["end_reason"]) == (pytest.approx(9.9), True, False, "solved")


def test_a_task_id_names_one_level_whatever_the_preset():
    """Published rooms depend on the search depth, so it is part of the key."""
    ids = {}
    for preset in ("ragen", "spa", "verl-agent", "vagen", "default", "tiny"):
        made = source(preset=preset)
        for task_id in made.ids("validation", 100):
            level = format_level(made.task(task_id).data)
            assert ids.setdefault(task_id, level) == level


def test_hand_worked_rewards():
    """On: 0.9. Off again: -1.1. The winning push: 10.9."""
    env = gym.make(SOKOBAN, levels="given", level="########\n#-@$.--#\n#------#\n#--$.--#\n########")
    env.reset(seed=0)
    assert env.step("Right")[1] == pytest.approx(0.9)
    assert env.step("Right")[1] == pytest.approx(-1.1)
    env = gym.make(SOKOBAN, levels="given", level="#####\n#@$.#\n#####")
    env.reset(seed=0)
    assert env.step("Up")[1] == -0.1
    assert env.step("Right")[1] == pytest.approx(10.9)


def test_xsb_files(tmp_path: Path):
    path = tmp_path / "mine.xsb"
    path.write_text("; one\n#####\n#@$.#\n#####\n\n; two\n#######\n#@-$-.#\n#######\n")
    made = source(levels="xsb", path=str(path))
    assert made.ids("test") == ["sokoban/test/0", "sokoban/test/1"]
    before = made.digest("test")
    for wrong in ("sokoban/test/2", "sokoban/test/-1", "sokoban/test/01", "sokoban/test/x", "sokoban/train/0"):
        with pytest.raises(ConfigError):
            made.task(wrong)
    path.write_text(path.read_text() + "\n")
    assert source(levels="xsb", path=str(path)).digest("test") != before
    path.write_text("#####\n#@$ #\n#####\n")
    with pytest.raises(DataError, match=r"mine\.xsb, line 1"):
        source(levels="xsb", path=str(path))
    path.write_bytes(b"\xff\xfe#####")
    with pytest.raises(DataError, match="UTF-8"):
        source(levels="xsb", path=str(path))
    with pytest.raises(DataError, match="nowhere"):
        source(levels="xsb", path=str(tmp_path / "nowhere.xsb"))


@pytest.mark.official
@pytest.mark.usefixtures("official")
def test_official_boxoban_and_microban(official: Path):
    made = source(preset="boxoban", split="test")
    assert made.splits == ("train", "validation", "test")
    assert len(made.ids("test")) == 1000
    assert len(made.digest("test")) == 64
    hard = source(preset="boxoban", difficulty="hard")
    assert hard.splits == ("test",)
    assert len(hard.ids("test")) == 3332
    microban = source(levels="xsb", path=str(official / "sokoban" / "xsb" / "microban_155.xsb"))
    assert len(microban.ids("test")) == 155


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"preset": "tny"}, "did you mean 'tiny'"),
        ({"levels": "boxobn"}, "did you mean 'boxoban'"),
        ({"boxez": 3}, "did you mean 'boxes'"),
        ({"rows": 2}, "rows|3 to 64|side"),
        ({"boxes": 100}, "boxes"),
        ({"boxes": True}, "boxes: expected int"),
        ({"observation": "grdi"}, "did you mean 'grid'"),
        ({"symbols": "emoji"}, "unknown symbols"),
        ({"max_turns": 0}, "max_turns"),
        ({"split": "tets"}, "did you mean 'test'"),
        ({"reveal": "exprt"}, "did you mean 'expert'"),
        ({"level": "####"}, "levels='given'"),
        ({"levels": "xsb"}, "path"),
        ({"levels": "embedded", "difficulty": "brutal"}, "unknown difficulty"),
        ({"preset": "tiny", "difficulty": 9}, "pushes|difficulty"),
        ({"actions": ["Up", "Fly"]}, "unknown action word"),
        ({"actions": ["Up", "still"]}, "all four directions"),
        ({"layout": 3}, "layout"),
        ({"reveal": 5}, "unknown reveal 5"),
        ({"reveal": {"expert": True}}, "unknown reveal"),
        ({"difficulty": 2.5}, "difficulty of generated levels: expected a whole number >= 1, got 2.5"),
        ({"difficulty": 0}, "difficulty of generated levels"),
        ({"difficulty": "easy"}, "difficulty of generated levels"),
        ({"levels": "given", "level": 5}, "level: expected text"),
        ({"levels": "xsb", "path": 5}, "path: expected text"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_told(kwargs, says):
    with pytest.raises(ConfigError, match=says):
        gym.make(SOKOBAN, **kwargs)
