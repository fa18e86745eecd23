"""The space of all strings."""

from __future__ import annotations

import pickle

import gymnasium as gym
import pytest
from gymnasium.error import CustomSpaceError
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.spaces import FreeText


@given(st.text())
def test_it_contains_every_string(text):
    assert text in FreeText()
    assert FreeText().from_jsonable(FreeText().to_jsonable([text, ""])) == [text, ""]


@pytest.mark.parametrize("value", [None, 3, b"text", ["text"]])
def test_it_contains_nothing_else(value):
    assert value not in FreeText()


def test_samples_follow_the_seed_and_look_like_nothing():
    first, second = FreeText(seed=5), FreeText(seed=5)
    samples = [first.sample() for _ in range(20)]
    assert samples == [second.sample() for _ in range(20)]
    assert len(set(samples)) == 20
    assert all(text[0] == "~" and 9 <= len(text) <= 25 for text in samples)


def test_it_refuses_masks():
    with pytest.raises(ValueError, match="mask=None"):
        FreeText().sample(mask=[1])


def test_equal_hashable_and_picklable():
    assert FreeText() == FreeText(seed=3)
    assert FreeText() != gym.spaces.Text(5)
    assert len({FreeText(), FreeText(1)}) == 1
    assert pickle.loads(pickle.dumps(FreeText())) == FreeText()
    assert repr(FreeText()) == "FreeText()"


def test_shared_memory_is_refused_with_the_way_out():
    with pytest.raises(CustomSpaceError, match='"shared_memory": False'):
        gym.vector.utils.create_shared_memory(FreeText(), 2)
