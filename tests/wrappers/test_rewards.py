"""Reward wrappers: one named component each, and the reward stays the sum."""

from __future__ import annotations

import gymnasium as gym
import pytest

import agentenvs
from agentenvs.core.errors import ConfigError
from agentenvs.wrappers import FormatReward, TextActions, add_component, protocol
from tests.core.tiny_env import Counter

ANSWER = {"name": "tagged", "think": "", "action": "answer", "separator": ","}


def test_add_component_keeps_the_sum_and_the_callers_mapping():
    components = {"step": -0.1}
    info = {"reward_components": components}
    assert add_component(info, "bonus", 1.0) == 0.9
    assert info["reward_components"] == {"step": -0.1, "bonus": 1.0}
    assert components == {"step": -0.1}


@pytest.mark.parametrize(
    ("reply", "fault", "valid", "expected"),
    [
        ("<answer>up</answer>", -0.5, 0.25, -0.25 + 0.25),
        ("<answer>up,up</answer>", -0.5, 0.25, -0.5 + 0.25),
        ("<answer>up,what</answer>", -0.5, 0.25, -0.25 - 0.5),
        ("up", -0.5, 0.25, -0.5),
        ("up", 0.0, 0.0, 0.0),
    ],
)
def test_the_format_component_by_hand(reply, fault, valid, expected):
    env = FormatReward(TextActions(Counter(), codec=ANSWER), fault=fault, valid=valid)
    _, info = env.reset(options={"task": "counter/test/4"})
    assert info["reward_components"] == {"move": 0.0, "goal": 0.0, "format": 0.0}
    _, reward, *_, info = env.step(reply)
    assert reward == expected == sum(info["reward_components"].values())
    assert info["reward_components"]["format"] == (valid if info["is_valid"] else fault)


def test_inside_of_text_actions_it_counts_every_call():
    env = TextActions(FormatReward(Counter(), fault=-1.0, valid=0.5), codec=ANSWER)
    env.reset(options={"task": "counter/test/4"})
    *_, info = env.step("<answer>up,what,up</answer>")
    assert info["reward_components"] == {"move": -0.5, "goal": 0.0, "format": 0.0}


def test_score_and_success_do_not_move():
    plain, rewarded = Counter(), FormatReward(Counter(), valid=5.0)
    for env in (plain, rewarded):
        env.reset(options={"task": "counter/test/0"})
    one, other = plain.step("up")[4], rewarded.step("up")[4]
    assert [one[k] for k in ("score", "success")] == [other[k] for k in ("score", "success")] == [0.5, False]


def test_ragen_pays_a_tenth_for_a_broken_reply():
    env = protocol(gym.make("agentenvs/Sokoban-v0", preset="ragen"))
    env.reset(seed=1)
    assert env.step("Up")[1] == -0.1
    assert env.step("<think></think><answer>fly</answer>")[1] == -0.1
    _, reward, *_, info = env.step("<think></think><answer>fly || Up</answer>")
    assert info["reward_components"]["step"] == info["reward_components"]["format"] == -0.1
    assert reward == -0.2


def test_the_component_is_restored():
    env = FormatReward(Counter(), fault=-0.5)
    env.reset(seed=1)
    *_, info = env.step("what")
    again = FormatReward(Counter(), fault=-0.5)
    assert again.reset(options={"snapshot": agentenvs.snapshot(env)})[1] == info
    assert again.reset(seed=1)[1]["reward_components"]["format"] == 0.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None])
def test_components_must_be_finite_numbers(value):
    with pytest.raises(ConfigError, match="finite number for valid"):
        FormatReward(Counter(), valid=value)
