"""Worked examples: which episodes are taken, in which words, and that they can be imitated."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.policies.base import Exchange, Reply, Turn
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import attributes_of, make_jobs
from agentenvs.rollout.shots import CANDIDATES, worked_examples
from tests.rollout.helpers import SOKOBAN, TINY

TAGGED = [{"name": "TextActions", "kwargs": {"codec": "tagged", "max_calls": 1}}]


def candidates(n: int, seed: int, split: str) -> list[tuple[Exchange, ...]]:
    """What the expert saw and said on the tasks that are looked at."""
    [source] = attributes_of(SOKOBAN, TINY, "source")
    tasks = source.ids(split, CANDIDATES * n, seed)
    episodes = collect(None, "expert", make_jobs(SOKOBAN, tasks, seed=seed, kwargs=TINY))
    return [
        tuple(Exchange(one.turn(i).observation, one.decisions[i].text) for i in range(len(one.decisions)))
        for one in episodes
    ]


@pytest.mark.parametrize(("n", "seed", "split"), [(1, 0, "train"), (6, 0, "train"), (3, 7, "validation")])
def test_the_shortest_different_episodes_are_taken(n: int, seed: int, split: str) -> None:
    left, expected = candidates(n, seed, split), []
    for _ in range(n):
        turns = min(len(said) for said in left)
        letters = min(sum(len(one.observation + one.reply) for one in said) for said in left if len(said) == turns)
        best = next(
            said
            for said in left
            if (len(said), sum(len(one.observation + one.reply) for one in said)) == (turns, letters)
        )
        expected += best
        left = [said for said in left if said != best]
    assert worked_examples(SOKOBAN, n, kwargs=TINY, seed=seed, split=split) == tuple(expected)


def test_examples_are_in_the_words_of_the_stack() -> None:
    bare, tagged = (worked_examples(SOKOBAN, 2, kwargs=TINY, wrappers=wrappers) for wrappers in ((), TAGGED))
    assert [one.observation for one in bare] == [one.observation for one in tagged]
    assert [f"<think></think><action>{one.reply}</action>" for one in bare] == [one.reply for one in tagged]


def test_an_agent_that_copies_the_examples_wins_their_tasks() -> None:
    said = {one.observation: one.reply for one in worked_examples(SOKOBAN, 4, kwargs=TINY, wrappers=TAGGED)}

    class Copy:
        needs = frozenset()

        def act(self, turns: Sequence[Turn]) -> list[Reply]:
            return [Reply(said.get(turn.observation, "no idea")) for turn in turns]

    [source] = attributes_of(SOKOBAN, TINY, "source")
    todo = make_jobs(SOKOBAN, source.ids("train", CANDIDATES * 4), kwargs=TINY, wrappers=TAGGED)
    assert sum(trajectory.success for trajectory in collect(None, Copy(), todo)) >= 4


def test_equal_arguments_give_equal_examples_and_a_seed_others() -> None:
    assert worked_examples(SOKOBAN, 2, kwargs=TINY) == worked_examples(SOKOBAN, 2, kwargs=TINY)
    assert worked_examples(SOKOBAN, 2, kwargs=TINY) != worked_examples(SOKOBAN, 2, kwargs=TINY, seed=3)


def test_what_cannot_be_given_is_told() -> None:
    with pytest.raises(ConfigError, match="expected n >= 1, got 0"):
        worked_examples(SOKOBAN, 0, kwargs=TINY)
    with pytest.raises(ConfigError, match="unknown split 'trian'; did you mean 'train'"):
        worked_examples(SOKOBAN, kwargs=TINY, split="trian")
    with pytest.raises(ConfigError, match=r"expected 2 that the expert wins, got [01] in 16 tasks"):
        worked_examples(SOKOBAN, 2, kwargs={"preset": "default", "max_turns": 1})
