"""Worked examples: what the expert saw and replied on training tasks, for few-shot prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.errors import ConfigError
from agentenvs.policies.base import Exchange
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import attributes_of, make_jobs
from agentenvs.rollout.trajectory import Trajectory

CANDIDATES = 8  # tasks played for each example that is wanted


def worked_examples(
    env_id: str,
    n: int = 1,
    *,
    kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Mapping[str, Any]] = (),
    split: str = "train",
    seed: int = 0,
) -> tuple[Exchange, ...]:
    """The exchanges of `n` whole episodes of the expert, one episode after another, in the words of the stack's codec.

    The expert plays the first `CANDIDATES * n` tasks of the split in the order of `seed` (0: the natural one). Of the
    episodes that it wins, those with the fewest turns are taken, among equals those with the fewest characters, then
    the earlier ones: a small model copies a short example better and has more room left. They come in that order.
    Episodes that read the same count once.

    Raises `ConfigError` where the expert does not win `n` of them.
    """
    if n < 1:
        raise ConfigError(f"worked examples: expected n >= 1, got {n}")
    [source] = attributes_of(env_id, kwargs or {}, "source")
    source.check_split(split)
    count = CANDIDATES * n
    tasks = source.ids(split, min(count, len(source.ids(split))) if source.finite else count, seed)
    jobs = make_jobs(env_id, tasks, seed=seed, kwargs=kwargs, wrappers=wrappers)
    won = dict.fromkeys(_exchanges(played) for played in collect(env_id, "expert", jobs) if played.success)
    if len(won) < n:
        raise ConfigError(f"worked examples: expected {n} that the expert wins, got {len(won)} in {len(tasks)} tasks")
    return tuple(exchange for said in sorted(won, key=_length)[:n] for exchange in said)


def _exchanges(played: Trajectory) -> tuple[Exchange, ...]:
    return tuple(
        Exchange(played.turn_observation(i), decision.text[: decision.kept])
        for i, decision in enumerate(played.decisions)
    )


def _length(said: tuple[Exchange, ...]) -> tuple[int, int]:
    return len(said), sum(len(one.observation) + len(one.reply) for one in said)
