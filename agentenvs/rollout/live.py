"""`Live`: a program in the middle of its run."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentenvs.core.errors import ConfigError, InfrastructureError
from agentenvs.policies.base import Reply, Turn
from agentenvs.rollout.episode import Run, Stage
from agentenvs.rollout.job import Job
from agentenvs.rollout.programs import Program
from agentenvs.rollout.trajectory import Trajectory


class Live:
    """A program that waits for replies to `turns`, or is `done` and has a `result`.

    `waiting` is the scheduler's mark that the turns were handed out; `failed` holds a failure that hit one of them.
    """

    def __init__(self, program: Program, stage: Stage) -> None:
        self.job = stage.job
        self._stage = stage
        self._generator = program(stage.job, stage)
        if not isinstance(self._generator, Generator):
            raise ConfigError(f"a program is a generator function (it yields lists of Turns), got {program!r:.200}")
        self.turns: list[Turn] = []
        self.replies: list[Reply | None] = []
        self.failed: InfrastructureError | None = None
        self.waiting = False
        self.done = False
        self.result: list[Trajectory] = []

    def advance(self) -> None:
        """Run the program to its next turns, with the replies at hand or into the failure."""
        replies, failed = self.replies, self.failed
        self.turns, self.replies, self.failed, self.waiting = [], [], None, False
        try:
            asked = self._generator.throw(failed) if failed is not None else self._generator.send(replies or None)
        except StopIteration as end:
            self._end(end.value)
        except InfrastructureError:
            self._end(self._stage.void())
        else:
            if not isinstance(asked, list) or not asked or not all(isinstance(turn, Turn) for turn in asked):
                raise ConfigError(f"a program yields non-empty lists of Turns, got {asked!r:.200}")
            self.turns, self.replies = asked, [None] * len(asked)

    def _end(self, result: Any) -> None:
        if not isinstance(result, list) or not all(isinstance(one, Trajectory) for one in result) or not result:
            raise ConfigError(f"a program returns a non-empty list of Trajectories, got {result!r:.200}")
        self.done, self.result = True, result
        self._stage.close()  # episodes that the program left unfinished

    def close(self) -> None:
        """Cancel the program and drop its episodes."""
        try:
            self._generator.close()
        finally:
            self._stage.close()


def start(program: Program, job: Job, run: Run, memory: Any) -> Live:
    """Begin a program and run it to its first turns."""
    one = Live(program, Stage(run, job, memory))
    try:
        one.advance()
    except BaseException:
        one.close()
        raise
    return one
