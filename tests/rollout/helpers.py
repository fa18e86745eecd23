"""What the tests of the rollout share: jobs that are quick to play, and trajectories as lines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym

from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import Job

SOKOBAN = "agentenvs/Sokoban-v0"
TINY = {"preset": "tiny"}


def jobs(count: int, **fields: Any) -> list[Job]:
    """`count` tiny levels, each with a seed of its own."""
    return [Job(SOKOBAN, f"sokoban/train/5x5x1d1.{i}", seed=i, kwargs=TINY, **fields) for i in range(count)]


def lines(policies: Any, todo: Iterable[Job], **options: Any) -> list[str]:
    """What `collect` gives, as JSON lines."""
    return [trajectory.to_line() for trajectory in collect(None, policies, todo, **options)]


COUNTER = "agentenvs-tests/Counter-v0"
gym.register(COUNTER, entry_point="tests.core.tiny_env:Counter", order_enforce=False, disable_env_checker=True)


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """What `work` returns; fails where it takes longer, since a deadlock would hold up the whole run."""
    box: list[Any] = []

    def run() -> None:
        try:
            box.append((work(), None))
        except BaseException as error:
            box.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"still not done after {seconds} s"
    result, error = box[0]
    if error is not None:
        raise error
    return result
