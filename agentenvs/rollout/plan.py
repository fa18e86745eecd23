"""`Plan`: which job comes next, what was finished, and in which order it is handed out."""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError
from agentenvs.rollout.job import Job
from agentenvs.rollout.trajectory import Trajectory, append, recover

LOOK_AHEAD = 10_000  # jobs that are read while they wait for their chains


class Plan:
    """The jobs of one `collect`, in order.

    A job of a chain waits until the one before it in the chain is finished. Jobs that the file `out` already holds
    are finished from the start; so their chains fold over them again.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        *,
        out: str | Path | None,
        ordered: bool,
        fold: Callable[[Any, Sequence[Trajectory]], Any] | None,
        memory: Any,
    ) -> None:
        self._jobs = iter(jobs)
        self._out = Path(out) if out is not None else None
        self._ordered, self._fold, self._memory = ordered, fold, memory
        self._memories: dict[str, Any] = {}
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[tuple[int, Job]]] = {}  # by chain, those that are busy
        self._freed: list[tuple[int, Job]] = []  # a heap: the first waiting job of each chain that is free again
        self._ahead = 0  # jobs that were read and wait
        self._number = self._handed = 0
        self._numbers: dict[str, int] = {}
        self._finished: dict[int, list[Trajectory]] = {}
        self._recorded: dict[str, list[Trajectory]] = {}
        self._dry = False
        if self._out is not None:
            self._recorded, torn = recover(self._out)
            if torn:
                print(f"agentenvs: dropped a torn record of {torn} bytes at the end of {self._out}", file=sys.stderr)

    @property
    def exhausted(self) -> bool:
        """Whether every job was given out (those in play may still be unfinished)."""
        return self._dry and not self._ahead

    def next(self) -> Job | None:
        """The next job that can start now, or None. Jobs that the file holds are passed over as finished."""
        while (picked := self._pick()) is not None:
            _, job = picked
            recorded = self._recorded.pop(job.key, None)
            if recorded is None or any(one.end_reason == "void" for one in recorded):  # a void one is tried again
                return job
            self._store(job, recorded)
            self._free(job.chain)
        return None

    def _pick(self) -> tuple[int, Job] | None:
        """The first job whose chain is free, and its chain is busy from now on."""
        if self._freed:
            self._ahead -= 1
            return self._take(heappop(self._freed))
        while self._ahead < LOOK_AHEAD:
            job = next(self._jobs, None)
            if job is None:
                self._dry = True
                return None
            number, self._number = self._number, self._number + 1
            if self._numbers.setdefault(job.key, number) != number:
                raise ConfigError(f"the same job is listed twice: {job.to_json()}"[:400])
            if job.chain not in self._busy:
                return self._take((number, job))
            self._waiting.setdefault(job.chain, deque()).append((number, job))
            self._ahead += 1
        return None

    def _take(self, picked: tuple[int, Job]) -> tuple[int, Job]:
        if picked[1].chain:
            self._busy.add(picked[1].chain)
        return picked

    def _free(self, chain: str) -> None:
        """The chain's job is done: the next one that waits may start. Until it is picked the chain stays busy."""
        waiting = self._waiting.get(chain)
        if waiting:
            heappush(self._freed, waiting.popleft())
        else:
            self._busy.discard(chain)

    def memory(self, job: Job) -> Any:
        """The fold over the finished jobs of the job's chain."""
        if job.chain and job.chain not in self._memories:  # a copy each: a fold may change its memory in place
            self._memories[job.chain] = copy.deepcopy(self._memory)
        return self._memories[job.chain] if job.chain else self._memory

    def finish(self, job: Job, trajectories: list[Trajectory]) -> None:
        """Record the trajectories of a job."""
        for part, trajectory in enumerate(trajectories):
            trajectory.origin, trajectory.part, trajectory.parts = job.key, part, len(trajectories)
        if self._out is not None:
            append(self._out, trajectories)
        self._store(job, trajectories)
        self._free(job.chain)

    def _store(self, job: Job, trajectories: list[Trajectory]) -> None:
        if job.chain and self._fold is not None:
            self._memories[job.chain] = self._fold(self.memory(job), trajectories)
        self._finished[self._numbers[job.key]] = trajectories

    def ready(self) -> Iterator[Trajectory]:
        """The trajectories that can be handed out now; call again after each `finish`."""
        if self._ordered:
            while self._handed in self._finished:
                yield from self._finished.pop(self._handed)
                self._handed += 1
        else:
            for number in list(self._finished):
                yield from self._finished.pop(number)
