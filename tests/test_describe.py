"""`describe` and `rows`: what is known before the first step."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest

import agentenvs
from agentenvs.core.errors import ConfigError
from agentenvs.registration import IDS
from agentenvs.wrappers import TextActions, protocol

SOKOBAN = "agentenvs/Sokoban-v0"


@pytest.mark.parametrize("env_id", IDS)
def test_a_description_is_there_before_reset_and_does_not_change(env_id: str) -> None:
    env = gym.make(env_id)
    before = agentenvs.describe(env)
    env.reset(seed=1)
    assert agentenvs.describe(env) == before
    assert json.loads(json.dumps(before.to_json())) == before.to_json()


def test_a_codec_words_the_description_anew() -> None:
    native = agentenvs.describe(gym.make(SOKOBAN))
    tagged = agentenvs.describe(TextActions(gym.make(SOKOBAN), codec="tagged"))
    assert tagged.instructions.startswith(native.instructions)
    assert "<action>" in tagged.instructions
    assert "<action>" not in native.instructions
    published = agentenvs.describe(protocol(gym.make(SOKOBAN, preset="ragen")))
    assert "<answer>action || action</answer>" in published.instructions
    assert published.max_turns == 5


def test_rows_are_json_and_play() -> None:
    rows = agentenvs.rows(SOKOBAN, "train", 4, "tagged", kwargs={"preset": "tiny"})
    assert json.loads(json.dumps(rows)) == rows
    assert [message["role"] for message in rows[0]["prompt"]] == ["system", "user"]
    assert "<action>" in rows[0]["prompt"][0]["content"]
    assert rows[0]["tools"][0]["function"]["parameters"]["properties"]["action"]["enum"] == [
        "Up",
        "Down",
        "Left",
        "Right",
    ]
    jobs = [agentenvs.Job.from_json(row["job"]) for row in rows]
    for row, played in zip(rows, agentenvs.collect(None, "expert", jobs), strict=True):
        assert played.observation == row["prompt"][1]["content"]
        assert played.success
        assert played.steps[0].action.startswith("<think></think><action>")


def test_an_endless_split_needs_a_number() -> None:
    with pytest.raises(ConfigError, match="n="):
        agentenvs.rows(SOKOBAN, "train")
    assert len(agentenvs.rows(SOKOBAN, "test", kwargs={"levels": "embedded", "difficulty": "easy"})) == 36
