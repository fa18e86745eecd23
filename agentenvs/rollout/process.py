"""The `process` back-end: programs run in worker processes, policies answer in this one.

Jobs and replies go out, turns and trajectories come back, each worker with a share of the live episodes. A worker
that dies makes its episodes void and is replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any

from agentenvs.core.errors import ConfigError, InfrastructureError
from agentenvs.policies.base import Reply, Turn
from agentenvs.policies.resolve import Cast, Needs, is_async
from agentenvs.rollout.answer import answer_all
from agentenvs.rollout.episode import Pool, Run, Stage
from agentenvs.rollout.job import Job
from agentenvs.rollout.live import Live, start
from agentenvs.rollout.plan import Plan
from agentenvs.rollout.programs import Program
from agentenvs.rollout.trajectory import Trajectory


class _Worker:
    """A process and our end of its pipe."""

    def __init__(self, program: Program, run: Run) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, program, run.seed, run.keep, run.needs)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.live: dict[str, _Remote] = {}
        self.started = False

    def stop(self) -> None:
        self.pipe.close()
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class _Remote:
    """A program that runs in a worker; the scheduler sees it as it sees a `Live`."""

    def __init__(self, worker: _Worker, job: Job, memory: Any) -> None:
        self.worker, self.job, self.key = worker, job, job.key
        self.turns: list[Turn] = []
        self.replies: list[Reply | None] = []
        self.failed: InfrastructureError | None = None
        self.done = False
        self.result: list[Trajectory] = []
        worker.live[job.key] = self
        self._send(("job", job, memory))

    def advance(self) -> None:
        """Send the replies off; the next turns come with a later message."""
        message = ("fail", self.job.key, str(self.failed)) if self.failed else ("replies", self.job.key, self.replies)
        self.turns, self.replies, self.failed = [], [], None
        self._send(message)

    def _send(self, message: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError):  # a worker that died says so at its end of the pipe
            self.worker.pipe.send(message)

    def arrived(self, kind: str, content: Any) -> None:
        if kind == "turns":
            self.turns, self.replies = content, [None] * len(content)
        else:
            self.done, self.result = True, content


def collect_process(
    plan: Plan, cast: Cast, run: Run, program: Program, num_envs: int, workers: int | None
) -> Iterator[Trajectory]:
    """`collect` with programs in worker processes."""
    count = max(1, min(workers or os.cpu_count() or 1, num_envs))
    cast = _AtOnce.cast(cast)
    team: list[_Worker] = []
    try:
        team.extend(_Worker(program, run) for _ in range(count))
        while True:
            yield from plan.ready()
            while sum(len(worker.live) for worker in team) < num_envs and (job := plan.next()):
                _Remote(min(team, key=lambda worker: len(worker.live)), job, plan.memory(job))
            if plan.exhausted and not any(worker.live for worker in team):
                yield from plan.ready()
                return
            asking = _receive(team, program, run)
            for one in asking:
                if one.done:
                    plan.finish(one.job, one.result)
            answer_all(cast, [(one, i) for one in asking for i in range(len(one.turns))])
    finally:
        for worker in team:
            worker.stop()


def _receive(team: list[_Worker], program: Program, run: Run) -> list[_Remote]:
    """Wait for messages and take all that have come: the programs that ask or are done."""
    arrived: list[_Remote] = []
    for pipe in wait([worker.pipe for worker in team]):
        place, worker = next((i, worker) for i, worker in enumerate(team) if worker.pipe is pipe)
        try:
            while pipe.poll():  # type: ignore[union-attr]
                kind, key, content = pipe.recv()  # type: ignore[union-attr]
                worker.started = True
                if kind == "error":
                    raise content
                if kind == "started":
                    continue
                one = worker.live[key]
                one.arrived(kind, content)
                arrived.append(one)
                if one.done:
                    del worker.live[key]
        except (EOFError, OSError):
            if not worker.started:
                raise ConfigError(
                    "a worker process could not start (its own message stands above); the program must be a function "
                    'of a module that can be imported, and a script needs: if __name__ == "__main__":'
                ) from None
            arrived = [one for one in arrived if one.key not in worker.live] + _bury(worker)
            team[place] = _Worker(program, run)
    return arrived


def _bury(worker: _Worker) -> list[_Remote]:
    """The programs of a worker that died, their episodes void."""
    worker.stop()
    lost = list(worker.live.values())
    for one in lost:
        one.turns, one.done, one.result = [], True, Stage(Run(0, (), Needs({}, None), Pool()), one.job).void()
    worker.live.clear()
    return lost


class _AtOnce:
    """An asynchronous policy that answers a batch at once, its turns in flight together."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.needs = policy, getattr(policy, "needs", frozenset({"history"}))

    @classmethod
    def cast(cls, cast: Cast) -> Cast:
        """The same cast with no asynchronous policy left in it."""
        return cast.map(lambda policy: cls(policy) if is_async(policy) else policy)

    def act(self, turns: Sequence[Turn]) -> list[Any]:
        with ThreadPoolExecutor(1) as thread:  # a loop may be running in this thread
            return thread.submit(lambda: asyncio.run(self._all(turns))).result()

    async def _all(self, turns: Sequence[Turn]) -> list[Any]:
        gate = asyncio.Semaphore(getattr(self.policy, "concurrency", None) or 16)

        async def one(turn: Turn) -> Any:
            async with gate:
                try:
                    return await self.policy.reply(turn)
                except InfrastructureError as error:
                    return error

        try:
            return await asyncio.gather(*map(one, turns))
        finally:
            if hasattr(self.policy, "aclose"):
                await self.policy.aclose()


# In the worker ------------------------------------------------------------------------------------------------------


def _work(pipe: Connection, program: Program, seed: int, keep: tuple[str, ...], needs: Needs) -> None:
    """Run programs until the pipe closes."""
    run = Run(seed, keep, needs, Pool())
    live: dict[str, Live] = {}
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(pipe, inbox), daemon=True).start()
    try:
        pipe.send(("started", "", None))
        while (message := inbox.get()) is not None:
            kind, *rest = message
            if kind == "job":
                job, memory = rest
                live[job.key] = start(program, job, run, memory)
                _report(pipe, live, job.key)
                continue
            key, content = rest
            one = live[key]
            if kind == "fail":
                one.failed = InfrastructureError(content)
            else:
                one.replies = content
            one.advance()
            _report(pipe, live, key)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    except Exception as error:
        with contextlib.suppress(OSError):
            pipe.send(("error", "", _sendable(error)))
    finally:
        for one in live.values():
            one.close()
        run.pool.close()


def _read(pipe: Connection, inbox: queue.SimpleQueue[Any]) -> None:
    """Take messages off the pipe at once: were they left in it, both ends could wait for the other to read."""
    try:
        while True:
            inbox.put(pipe.recv())
    except (EOFError, OSError):
        inbox.put(None)


def _report(pipe: Connection, live: dict[str, Live], key: str) -> None:
    one = live[key]
    if one.done:
        del live[key]
        pipe.send(("done", key, one.result))
    else:
        pipe.send(("turns", key, one.turns))


def _sendable(error: Exception) -> Exception:
    """The error, or its text where it cannot be pickled."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ConfigError(f"{type(error).__name__} in a worker: {error}")
    return error
