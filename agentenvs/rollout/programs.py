"""Programs: the scripts by which episodes are played.

A program is a module-level generator function `program(job, stage)`. It yields lists of turns, receives the list of
their replies, and returns the list of its trajectories. It needs to know nothing of the scheduler, of other programs
that run at the same time, or of where policies live.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from agentenvs.policies.base import Reply, Turn
from agentenvs.rollout.episode import Stage
from agentenvs.rollout.job import Job
from agentenvs.rollout.trajectory import Trajectory

Program = Callable[[Job, Stage], Generator[list[Turn], list[Reply], list[Trajectory]]]


def play(job: Job, stage: Stage) -> Generator[list[Turn], list[Reply], list[Trajectory]]:
    """One agent plays one episode to its end."""
    episode = stage.open(job)
    while not episode.over:
        [reply] = yield [episode.turn()]
        episode.act(reply)
    return [episode.finish()]
