"""`collect`: plays jobs with policies, many episodes at a time, and gives their trajectories in order.

The scheduler keeps up to `num_envs` programs live and batches whatever turns are ready. Nothing an episode sees
depends on the other episodes, so trajectories are the same for any number of live ones and for any back-end.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, InfrastructureError, unknown
from agentenvs.policies.resolve import Cast, is_async
from agentenvs.rollout.answer import answer_all, answers
from agentenvs.rollout.episode import Pool, Run, as_reply
from agentenvs.rollout.job import Job
from agentenvs.rollout.live import Live, start
from agentenvs.rollout.plan import Plan
from agentenvs.rollout.programs import Program, play
from agentenvs.rollout.trajectory import Trajectory

BACKENDS = ("sync", "process")
_AHEAD = 64  # trajectories that may wait to be taken before the play pauses
Fold = Callable[[Any, Sequence[Trajectory]], Any]


def collect(
    env_id: str | None,
    policies: Any,
    jobs: Iterable[Job | str],
    *,
    program: Program = play,
    backend: str = "sync",
    num_envs: int = 16,
    workers: int | None = None,
    seed: int = 0,
    ordered: bool = True,
    keep: Sequence[str] = (),
    out: str | Path | None = None,
    fold: Fold | None = None,
    memory: Any = None,
) -> Iterator[Trajectory]:
    """Play `jobs` and yield their trajectories.

    - `env_id`: the environment of jobs that are given as task ids; None where all jobs are `Job`s.
    - `policies`: a policy, its name, a plain function, or a mapping from agents to these.
    - `program`: how an episode is played, a module-level generator function.
    - `backend`: "sync" plays in this process, "process" in `workers` others (default: one a core); policies always
      answer in this one.
    - `seed`: the run seed, from which the sampling noise of policies comes.
    - `ordered`: in job order, else as they end.
    - `keep`: info keys to record at every step, beyond turn, is_valid and is_effective.
    - `out`: a JSONL file. Trajectories are appended as they end; jobs that it already holds are not played again. A
      file belongs to one run: it must be continued with the same policies, program, seed and `keep`.
    - `fold`, `memory`: `memory = fold(memory, trajectories)` after each job of a chain, in job order; the next job's
      program finds it in `stage.memory` and must not change it.

    Closing the iterator (or Ctrl-C) cancels what is in play. A failure of a policy or of ours makes the episodes
    concerned void and the run goes on; an error in a program or a policy's code is raised.
    """
    check_backend(backend, num_envs)
    cast = Cast(policies)
    run = Run(seed, tuple(keep), cast.needs, Pool())
    plan = Plan(_jobs(env_id, jobs), out=out, ordered=ordered, fold=fold, memory=memory)
    if backend == "process":
        from agentenvs.rollout.process import collect_process

        return collect_process(plan, cast, run, program, num_envs, workers)
    if any(map(is_async, cast.everyone)):
        return _in_thread(lambda: _collect_async(plan, cast, run, program, num_envs))
    return _collect_sync(plan, cast, run, program, num_envs)


async def acollect(
    env_id: str | None,
    policies: Any,
    jobs: Iterable[Job | str],
    *,
    program: Program = play,
    num_envs: int = 16,
    seed: int = 0,
    ordered: bool = True,
    keep: Sequence[str] = (),
    out: str | Path | None = None,
    fold: Fold | None = None,
    memory: Any = None,
) -> AsyncIterator[Trajectory]:
    """`collect` for code that runs in an event loop."""
    check_backend("sync", num_envs)
    cast = Cast(policies)
    run = Run(seed, tuple(keep), cast.needs, Pool())
    plan = Plan(_jobs(env_id, jobs), out=out, ordered=ordered, fold=fold, memory=memory)
    async with contextlib.aclosing(_collect_async(plan, cast, run, program, num_envs)) as source:
        async for trajectory in source:
            yield trajectory


def check_backend(backend: str, num_envs: int) -> None:
    """Raise `ConfigError` for a back-end that does not exist or a number of episodes that cannot be."""
    if backend not in BACKENDS:
        raise unknown("back-end", backend, BACKENDS)
    if num_envs < 1:
        raise ConfigError(f"num_envs: expected at least 1, got {num_envs}")


def _jobs(env_id: str | None, jobs: Iterable[Job | str]) -> Iterator[Job]:
    for job in jobs:
        if isinstance(job, str) and env_id is not None:
            job = Job(env_id, job)
        if not isinstance(job, Job) or env_id not in (None, job.env_id):
            raise ConfigError(f"collect: expected jobs of {env_id or 'any environment'}, got {job!r:.200}")
        yield job


# In this process, policies that answer at once ----------------------------------------------------------------------


def _collect_sync(plan: Plan, cast: Cast, run: Run, program: Program, num_envs: int) -> Iterator[Trajectory]:
    live: list[Live] = []
    try:
        while True:
            yield from plan.ready()
            while len(live) < num_envs and (job := plan.next()):
                live.append(start(program, job, run, plan.memory(job)))
            if not live and plan.exhausted:
                yield from plan.ready()
                return
            answer_all(cast, [(one, i) for one in live if not one.done for i in range(len(one.turns))])
            for one in live:
                if one.done:
                    plan.finish(one.job, one.result)
            live = [one for one in live if not one.done]
    finally:
        for one in live:
            one.close()
        run.pool.close()


# In an event loop, policies that take their time --------------------------------------------------------------------


async def _collect_async(
    plan: Plan, cast: Cast, run: Run, program: Program, num_envs: int
) -> AsyncIterator[Trajectory]:
    live: list[Live] = []
    gates = {id(policy): asyncio.Semaphore(_in_flight(policy)) for policy in cast.everyone}
    flights: dict[asyncio.Task[None], Live] = {}
    try:
        while True:
            for trajectory in plan.ready():
                yield trajectory
            while len(live) < num_envs and (job := plan.next()):
                live.append(start(program, job, run, plan.memory(job)))
            if not live and plan.exhausted:
                for trajectory in plan.ready():
                    yield trajectory
                return
            for one in live:
                if not one.done and not one.waiting:
                    one.waiting = True
                    flights[asyncio.create_task(_fly(one, cast, gates))] = one
            if flights:
                landed, _ = await asyncio.wait(flights, return_when=asyncio.FIRST_COMPLETED)
                for flight in landed:
                    one = flights.pop(flight)
                    flight.result()
                    one.advance()
            for one in live:
                if one.done:
                    plan.finish(one.job, one.result)
            live = [one for one in live if not one.done]
    finally:
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        for one in live:
            one.close()
        run.pool.close()
        for policy in cast.everyone:
            if hasattr(policy, "aclose"):
                await policy.aclose()


def _in_flight(policy: Any) -> int:
    """Turns that a policy takes at once: one where it answers in a thread."""
    return (getattr(policy, "concurrency", None) or 16) if is_async(policy) else 1


async def _fly(one: Live, cast: Cast, gates: dict[int, asyncio.Semaphore]) -> None:
    """Answer all turns of one program; the first failure cancels the others."""

    async def answer(i: int) -> None:
        policy = cast.policy(one.turns[i].agent)
        async with gates[id(policy)]:
            if is_async(policy):
                one.replies[i] = as_reply(await policy.reply(one.turns[i]))
                return
            [reply] = await asyncio.to_thread(answers, policy, [one.turns[i]])
            if isinstance(reply, InfrastructureError):
                raise reply
            one.replies[i] = reply

    try:
        async with asyncio.TaskGroup() as group:
            for i in range(len(one.turns)):
                group.create_task(answer(i))
    except BaseExceptionGroup as errors:
        for error in errors.exceptions:
            if not isinstance(error, InfrastructureError):
                raise error from None
            one.failed = error


def _in_thread(make: Callable[[], AsyncIterator[Trajectory]]) -> Iterator[Trajectory]:
    """An asynchronous iterator driven by an event loop of its own, so that it works inside a running loop too."""
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()  # `put` never waits, so the thread can always end
    stop = threading.Event()
    end = object()

    async def drive() -> None:
        source = make()
        try:
            async for trajectory in source:
                results.put(trajectory)
                while results.qsize() > _AHEAD and not stop.is_set():
                    await asyncio.sleep(0.01)
        finally:
            await source.aclose()  # type: ignore[attr-defined]

    async def watched() -> None:
        task = asyncio.create_task(drive())
        while not task.done():
            await asyncio.wait([task], timeout=0.1)
            if stop.is_set() and not task.cancelling():
                task.cancel()
        await asyncio.gather(task)

    def work() -> None:
        try:
            asyncio.run(watched())
            results.put(end)
        except BaseException as error:
            if not stop.is_set():
                results.put(error)

    thread = threading.Thread(target=work, name="agentenvs-collect", daemon=True)
    thread.start()
    try:
        while (item := results.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()
