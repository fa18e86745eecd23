"""The expert: keeps to a plan, plans anew off it, fits the limit where it can, and is never held up."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym

import agentenvs  # noqa: F401 (registers the ids)
from agentenvs.envs.sokoban.engine import move, solved
from agentenvs.envs.sokoban.expert import Expert, idle
from agentenvs.envs.sokoban.levels import parse_level

SOKOBAN = "agentenvs/Sokoban-v0"


def test_the_rest_of_a_plan_is_the_plan():
    level = parse_level("########\n#-----.#\n#-@-$--#\n#------#\n########")
    expert = Expert(level)
    plan = expert.plan(level.player, level.boxes, 100)
    state = level.player, level.boxes
    for at, direction in enumerate(plan):
        assert expert.plan(*state, 100) == plan[at:]
        state = move(level, *state, direction)
    assert solved(level, state[1])
    assert expert.plan(*state, 100) == []


def test_it_plans_anew_when_the_play_leaves_the_plan():
    env = gym.make(SOKOBAN, reveal=["expert"])
    for seed in range(8):
        _, info = env.reset(seed=seed)
        for action in ("Up", "Left", "Down", "Right"):  # a stroll that the plan does not know
            *_, info = env.step(action)
        while "expert_action" in info:
            *_, info = env.step(info["expert_action"])
        assert info["end_reason"] in ("solved", "turn_limit")


def test_a_lost_level_gets_an_action_that_pushes_nothing():
    level = parse_level("#####\n#$-.#\n#-@-#\n#####")
    expert = Expert(level)
    assert expert.plan(level.player, level.boxes, 100) == []
    direction = idle(level, level.player, level.boxes)
    assert move(level, level.player, level.boxes, direction)[1] == level.boxes
    env = gym.make(SOKOBAN, levels="given", level="#####\n#$-.#\n#-@-#\n#####", reveal=["expert", "gold"])
    _, info = env.reset(seed=0)
    assert info["gold"] == ""
    assert info["expert_action"] in ("Up", "Down", "Left", "Right")


def test_a_plan_that_fits_the_limit_is_preferred():
    """Fewest pushes may need more walking than the limit has: then the fewest moves are looked for."""
    env = gym.make(SOKOBAN, preset="gym", split="test")
    source = env.get_wrapper_attr("source")
    for task in source.ids("test", 40):
        level = source.task(task).data
        loose = Expert(level).plan(level.player, level.boxes, 10_000)
        tight = Expert(level).plan(level.player, level.boxes, len(loose) - 1)
        assert len(tight) <= len(loose)


def test_a_huge_level_does_not_hold_an_episode_up():
    code = (
        "import gymnasium as gym, agentenvs;"
        f"env = gym.make({SOKOBAN!r}, rows=64, cols=64, boxes=40, reveal=['expert', 'gold']);"
        "print(env.reset(seed=0)[1]['expert_action'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() in ("Up", "Down", "Left", "Right")
