"""`collect`: order, cancelling, failures, chains, resuming, policies that take their time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter as Count

import pytest

from agentenvs.core.errors import ConfigError, DataError, InfrastructureError, UnknownName
from agentenvs.envs.sokoban.env import SokobanEnv
from agentenvs.policies.base import Reply
from agentenvs.rollout.collect import acollect, collect
from agentenvs.rollout.job import Job
from agentenvs.rollout.programs import play
from agentenvs.rollout.trajectory import read
from tests.rollout import programs_for_tests as ours
from tests.rollout.helpers import COUNTER, SOKOBAN, TINY, jobs, lines, within
from tests.rollout.programs_for_tests import Seeded

BOTH = pytest.mark.parametrize("backend", ["sync", "process"])


class Slow(Seeded):
    """The same answers as `Seeded`, one turn at a time, later turns sooner."""

    def __init__(self, concurrency: int = 16) -> None:
        super().__init__()
        self.concurrency, self.flying, self.most, self.closed = concurrency, 0, 0, 0

    async def reply(self, turn):
        self.flying += 1
        self.most = max(self.most, self.flying)
        for _ in range(turn.seed % 7):
            await asyncio.sleep(0)
        self.flying -= 1
        return self.answer(turn)

    async def aclose(self):
        self.closed += 1


@pytest.fixture
def closed(monkeypatch) -> list:
    """The environments that are closed during the test."""
    found: list = []
    monkeypatch.setattr(SokobanEnv, "close", lambda env: found.append(env))
    return found


# Order and arguments --------------------------------------------------------------------------------------------------


@BOTH
def test_trajectories_come_in_job_order(backend):
    order = [5, 2, 7, 0, 6, 1, 4, 3]
    todo = [jobs(8)[i] for i in order]
    made = collect(None, Seeded(), todo, num_envs=3, backend=backend, workers=2)
    assert [trajectory.job.seed for trajectory in made] == order


@BOTH
def test_unordered_trajectories_are_the_same_ones(backend):
    made = lines(Seeded(), jobs(8), num_envs=3, backend=backend, workers=2, ordered=False)
    assert Count(made) == Count(lines(Seeded(), jobs(8)))


def test_unordered_trajectories_come_as_they_end():
    """The first job is three turns long, the second one."""
    todo = [Job(COUNTER, f"counter/test/{n}") for n in (1, 5)]
    todo[1] = todo[1].replace(start={"prefix": ["up"]})
    made = collect(None, lambda observation, info: "up", todo, ordered=False)
    assert [trajectory.job.task for trajectory in made] == ["counter/test/5", "counter/test/1"]


def test_jobs_are_taken_lazily_and_may_be_endless():
    taken = []

    def endless():
        for number in range(10**9):
            taken.append(number)
            yield jobs(1)[0].replace(repetition=number)

    made = collect(None, Seeded(), endless(), num_envs=2)
    assert [next(made).job.repetition for _ in range(5)] == list(range(5))
    made.close()
    assert len(taken) < 20


def test_task_ids_are_jobs_too():
    [first, second] = collect(SOKOBAN, Seeded(), ["sokoban/test/8x8x2.0", "sokoban/test/8x8x2.1"], num_envs=1)
    assert (first.job.task, second.job.task) == ("sokoban/test/8x8x2.0", "sokoban/test/8x8x2.1")


def test_no_jobs_no_trajectories():
    assert lines(Seeded(), []) == lines(Seeded(), [], backend="process", workers=1) == lines(Slow(), []) == []


@BOTH
def test_keep_records_more_of_the_info(backend):
    [trajectory] = collect(None, Seeded(), jobs(1), keep=("state_key", "turn"), backend=backend, workers=1)
    assert {frozenset(step.info) for step in trajectory.steps} == {
        frozenset({"turn", "is_valid", "is_effective", "state_key"})
    }


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"backend": "proces"}, UnknownName, "did you mean 'process'"),
        ({"num_envs": 0}, ConfigError, "num_envs: expected at least 1"),
        ({"policies": "rnadom"}, UnknownName, "did you mean 'random'"),
        ({"policies": 5}, ConfigError, "expected a policy"),
        ({"policies": Seeded}, ConfigError, "make an instance"),
        ({"jobs": [3]}, ConfigError, "expected jobs of any environment, got 3"),
        ({"jobs": ["sokoban/test/8x8x2.0"]}, ConfigError, "expected jobs of any environment"),
        ({"jobs": [Job("agentenvs/Sokobann-v0", "x")]}, UnknownName, "did you mean 'agentenvs/Sokoban-v0'"),
        ({"jobs": [Job(SOKOBAN, "x", kwargs={"presett": "tiny"})]}, ConfigError, "presett"),
        ({"jobs": [Job(SOKOBAN, "sokoban/train/x", kwargs=TINY)]}, ConfigError, "other settings"),
        ({"jobs": [Job(SOKOBAN, "x", wrappers=[{"name": "Text"}])]}, UnknownName, "unknown wrapper"),
        ({"policies": {"left": "random"}}, UnknownName, "unknown agent 'agent'"),
    ],
)
def test_bad_arguments_are_refused(change, error, message):
    arguments = {"policies": Seeded(), "jobs": jobs(1), **change}
    with pytest.raises(error, match=message):
        list(collect(None, arguments.pop("policies"), arguments.pop("jobs"), **arguments))


@BOTH
def test_a_job_that_is_listed_twice_is_refused(backend):
    with pytest.raises(ConfigError, match="the same job is listed twice"):
        lines(Seeded(), [*jobs(3), jobs(1)[0]], backend=backend, workers=1)


def test_a_job_whose_snapshot_is_another_jobs_is_refused():
    [first] = collect(None, Seeded(), jobs(1), program=saving)
    start = {"snapshot": json.loads(first.spec["snapshot"])}
    good = jobs(1)[0].replace(start=start)
    assert len(list(collect(None, Seeded(), [good]))) == 1
    for other in (good.replace(seed=5), good.replace(task=jobs(2)[1].task)):
        with pytest.raises(ConfigError, match="but its snapshot's is"):
            list(collect(None, Seeded(), [other]))


def saving(job, stage):
    """Plays one action and leaves the snapshot in the record's spec."""
    episode = stage.open(job)
    [reply] = yield [episode.turn()]
    episode.act(reply)
    saved = episode.snapshot()
    made = episode.finish()
    made.spec = {**made.spec, "snapshot": json.dumps(saved)}
    return [made]


# Cancelling -----------------------------------------------------------------------------------------------------------

CANCELLED: list[int] = []


def telling(job, stage):
    """`play` that notes when it is cancelled."""
    try:
        return (yield from play(job, stage))
    except GeneratorExit:
        CANCELLED.append(job.seed)
        raise


@pytest.mark.parametrize("kind", [Seeded, Slow])
def test_closing_the_iterator_cancels_and_closes(kind, closed):
    CANCELLED.clear()

    class FirstOnly(kind):
        async def wait(self, turn):
            if turn.info["task_id"] != jobs(1)[0].task:
                await asyncio.Event().wait()
            return self.answer(turn)

    if kind is Slow:
        FirstOnly.reply = FirstOnly.wait
    made = collect(None, FirstOnly(), jobs(12), program=telling, num_envs=4)
    next(made)
    within(20, made.close)
    assert CANCELLED
    assert len(closed) == len(set(map(id, closed))) == 4


def test_a_run_to_the_end_closes_its_environments(closed):
    assert len(lines(Seeded(), jobs(9), num_envs=4)) == 9
    assert len(closed) == len(set(map(id, closed))) == 4


def test_closing_early_never_waits_for_a_reader():
    """The results of an asynchronous run pile up; then nobody wants them."""
    full = threading.Event()

    class Counting(Slow):
        async def reply(self, turn):
            if turn.number == 0 and turn.info["turn"] == 0:
                self.begun = getattr(self, "begun", 0) + 1
                if self.begun == 66:  # one taken, the others waiting
                    full.set()
            return self.answer(turn)

    made = collect(None, Counting(), jobs(120), num_envs=1, program=one_turn)
    next(made)
    assert full.wait(30)
    within(20, made.close)


def one_turn(job, stage):
    episode = stage.open(job)
    [reply] = yield [episode.turn()]
    episode.act(reply)
    return [episode.finish()]


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_keyboard_interrupt_stops_the_run_and_keeps_what_ended(backend, tmp_path, closed):
    out = tmp_path / "episodes.jsonl"

    class Impatient(Seeded):
        def act(self, turns):
            if len(self.seen) > 60:
                raise KeyboardInterrupt
            return super().act(turns)

    with pytest.raises(KeyboardInterrupt):
        lines(Impatient(), jobs(30), num_envs=3, out=out, backend=backend, workers=1)
    kept = list(read(out))
    assert 0 < len(kept) < 30
    assert backend == "process" or len(closed) == len(set(map(id, closed))) == 3


# Failures -------------------------------------------------------------------------------------------------------------


class Flaky(Seeded):
    """Fails in every batch that holds a turn of the jobs named; two turns a batch."""

    max_batch = 2

    def __init__(self, bad: set[str], number: int = 2) -> None:
        super().__init__()
        self.bad, self.number = bad, number

    def act(self, turns):
        assert len(turns) <= 2
        if any(turn.episode in self.bad and turn.number == self.number for turn in turns):
            raise InfrastructureError("the server is down")
        return super().act(turns)


@BOTH
def test_a_failing_batch_voids_its_episodes_and_the_others_go_on(backend):
    todo = jobs(6)
    made = list(collect(None, Flaky({todo[2].key}), todo, num_envs=1, backend=backend, workers=1))
    assert [t.end_reason == "void" for t in made] == [i == 2 for i in range(6)]
    assert (made[2].score, made[2].success, len(made[2].steps)) == (0.0, False, 2)
    good = [t.to_line() for t in made if t.end_reason != "void"]
    assert good == [line for i, line in enumerate(lines(Seeded(), todo)) if i != 2]


def test_a_batch_of_two_fails_as_one():
    todo = jobs(4)
    made = list(collect(None, Flaky({todo[0].key}, number=0), todo, num_envs=4))
    assert [t.end_reason == "void" for t in made] == [True, True, False, False]


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_an_asynchronous_failure_voids_its_episode_alone(backend):
    todo = jobs(6)

    class Failing(Slow):
        async def reply(self, turn):
            if turn.episode == todo[2].key and turn.number == 2:
                raise InfrastructureError("the server is down")
            return await super().reply(turn)

    made = list(collect(None, Failing(), todo, num_envs=6, backend=backend, workers=1))
    assert [t.end_reason == "void" for t in made] == [i == 2 for i in range(6)]


def test_a_policy_may_fail_one_turn_of_a_batch():
    todo = jobs(3)

    class Picky(Seeded):
        def act(self, turns):
            return [InfrastructureError("no") if t.episode == todo[1].key else self.answer(t) for t in turns]

    made = list(collect(None, Picky(), todo))
    assert [t.end_reason == "void" for t in made] == [False, True, False]


@BOTH
def test_what_was_finished_before_a_failure_is_kept(backend):
    def broken(observation, info):
        raise InfrastructureError("down")

    cast = {"agent": Seeded(), "failing": broken}
    made = list(collect(None, cast, jobs(2), program=ours.stubborn, backend=backend, workers=1))
    assert [(t.job.seed, t.job.attempt, t.end_reason, t.part, t.parts) for t in made] == [
        (0, 0, "policy_budget", 0, 2),
        (0, 1, "void", 1, 2),
        (1, 0, "policy_budget", 0, 2),
        (1, 1, "void", 1, 2),
    ]


def test_a_failure_of_the_environment_voids_its_episode():
    todo = [Job(COUNTER, f"counter/test/{n}") for n in range(4)]

    def policy(observation, info):
        return "outage" if info["task_id"] == "counter/test/2" and info["turn"] == 1 else "up"

    made = list(collect(None, policy, todo))
    assert [t.end_reason for t in made] == ["reached", "reached", "void", "reached"]
    assert len(made[2].steps) == 1


@BOTH
def test_an_error_in_the_policys_code_is_raised(backend):
    def broken(observation, info):
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        lines(broken, jobs(3), backend=backend, workers=1)


def test_an_error_in_an_asynchronous_policy_is_raised_even_beside_a_failure():
    class Broken(Slow):
        async def reply(self, turn):
            if turn.agent == "left":
                raise InfrastructureError("down")
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        lines(Broken(), jobs(1), program=ours.together)


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        ([], "expected 2 replies, got 0"),
        (["Up"] * 3, "expected 2 replies, got 3"),
        ("Up", "expected a list of 2 replies, got str"),
        (None, "expected a list of 2 replies, got NoneType"),
        ([None, "Up"], "answers with text or a Reply, got NoneType"),
        ([Reply("Up", logprobs=(float("nan"),)), "Up"], "log-probs must be finite"),
    ],
)
def test_replies_of_the_wrong_kind_are_refused(replies, message):
    class Wrong:
        def act(self, turns):
            return replies

    with pytest.raises(ConfigError, match=message):
        lines(Wrong(), jobs(2))


def test_an_empty_reply_is_played_as_it_is():
    """Not put into words by the codec: the agent said nothing."""
    todo = [job.replace(wrappers=[{"name": "TextActions", "kwargs": {"codec": "tagged"}}]) for job in jobs(1)]
    [trajectory] = collect(None, lambda observation, info: "", todo)
    assert {step.action for step in trajectory.steps} == {""}
    assert trajectory.steps[0].observation.startswith("Reply in this form")


@pytest.mark.parametrize("codec", ["tagged", "plain", None])
def test_calls_are_put_into_words_by_the_codec(codec):
    class Calling:
        def act(self, turns):
            return [Reply(calls=("Up",)) for _ in turns]

    wrappers = [{"name": "TextActions", "kwargs": {"codec": codec}}] if codec else []
    [trajectory] = collect(None, Calling(), [jobs(1)[0].replace(wrappers=wrappers)])
    expected = "<think></think><action>Up</action>" if codec == "tagged" else "Up"
    assert {decision.text for decision in trajectory.decisions} == {expected}
    assert all(step.info["is_valid"] for step in trajectory.steps)


def test_several_calls_are_never_dropped():
    """Without a wrapper that takes several, they are one action that cannot be read."""

    class Calling:
        def act(self, turns):
            return [Reply(calls=("Up", "Down")) for _ in turns]

    [trajectory] = collect(None, Calling(), jobs(1))
    assert trajectory.steps[0].action == "Up\nDown"
    assert not trajectory.steps[0].info["is_valid"]


def test_a_worker_that_dies_voids_its_episodes_and_the_run_goes_on(tmp_path):
    out = tmp_path / "episodes.jsonl"
    todo = [job.replace(seed=13) if i == 4 else job for i, job in enumerate(jobs(10))]
    made = within(
        60,
        lambda: list(
            collect(None, Seeded(), todo, program=ours.dying, backend="process", workers=2, num_envs=4, out=out)
        ),
    )
    assert [t.job for t in made] == todo
    assert made[4].end_reason == "void"
    lost = [t for t in made if t.end_reason == "void"]
    assert len(lost) <= 4
    assert Count(t.job.key for t in read(out)) == Count(job.key for job in todo)
    survived = [t.to_line() for t in made if t.end_reason != "void"]
    healthy = lines(Seeded(), [job for i, job in enumerate(todo) if i != 4], program=one_turn)
    assert set(survived) <= set(healthy)


def test_a_worker_that_cannot_start_is_an_error(tmp_path):
    """A script that nobody can import: without its guard, each worker would start workers of its own."""
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from tests.rollout.helpers import jobs\n"
        "from agentenvs import collect\n"
        "print(len(list(collect(None, 'random', jobs(2), backend='process', workers=1))))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert done.returncode == 1
    assert 'a script needs: if __name__ == "__main__":' in done.stderr.splitlines()[-1]


def test_megabytes_both_ways_do_not_block_the_pipe():
    """Were messages left in the pipe, both ends would wait for the other to read."""

    class Verbose(Seeded):
        def answer(self, turn):
            return Reply("y" * 1_000_000)

    todo = jobs(6)
    made = within(
        90,
        lambda: list(collect(None, Verbose(), todo, program=ours.bulky, backend="process", workers=1, num_envs=6)),
    )
    assert [t.job for t in made] == todo


# Chains ---------------------------------------------------------------------------------------------------------------


def chained() -> list[Job]:
    """Five chains of four jobs, interleaved, and four jobs without a chain between them."""
    todo = []
    for place in range(4):
        todo += [
            job.replace(chain=f"chain {i}" if i < 5 else "", repetition=place, seed=10 * place + i)
            for i, job in enumerate(jobs(6))
        ]
    return todo


def remember(memory, trajectories):
    return [*memory, str(trajectories[0].job.seed)]


def remember_in_place(memory, trajectories):
    memory.append(str(trajectories[0].job.seed))
    return memory


@pytest.mark.parametrize("fold", [remember, remember_in_place])
@pytest.mark.parametrize(
    "options",
    [
        {"num_envs": 1},
        {"num_envs": 4},
        {"num_envs": 16},
        {"num_envs": 4, "ordered": False},
        {"num_envs": 4, "backend": "process", "workers": 2},
    ],
)
def test_chains_remember_in_job_order_whatever_runs_beside_them(options, fold):
    made = list(collect(None, Seeded(), chained(), program=ours.remembering, fold=fold, memory=["start"], **options))
    assert len(made) == 24
    for trajectory in made:
        job = trajectory.job
        before = [10 * place + job.seed % 10 for place in range(job.repetition)] if job.chain else []
        expected = ",".join(["start", *map(str, before)])
        assert {decision.context["memory"] for decision in trajectory.decisions} == {expected}


def test_asynchronous_chains_remember_as_well():
    options = {"program": ours.remembering, "fold": remember, "memory": []}
    assert lines(Slow(), chained(), num_envs=5, **options) == lines(Seeded(), chained(), num_envs=1, **options)


def test_resuming_replays_the_folds(tmp_path):
    out = tmp_path / "episodes.jsonl"
    options = {"program": ours.remembering, "fold": remember, "memory": []}
    whole = lines(Seeded(), chained(), **options)
    run = collect(None, Seeded(), chained(), out=out, num_envs=3, **options)
    for _ in range(7):
        next(run)
    run.close()
    assert lines(Seeded(), chained(), out=out, **options) == whole


# Resuming -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [play, ours.attempts])
def test_a_torn_file_is_mended_wherever_it_was_torn(program, tmp_path, capsys):
    """Cut in the middle of a line, between lines, and between the parts of one job."""
    todo, whole = jobs(4), tmp_path / "whole.jsonl"
    expected = lines(Seeded(), todo, program=program, out=whole)
    data = whole.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    for cut in [0, 1, 30, *ends, *(end - 1 for end in ends), ends[0] + 100, ends[-1] - 200]:
        out = tmp_path / f"cut at {cut}.jsonl"
        out.write_bytes(data[:cut])
        policy = Seeded()
        assert lines(policy, todo, program=program, out=out, num_envs=2) == expected
        assert sorted(out.read_bytes().splitlines()) == sorted(data.splitlines())
        parts = 2 if program is ours.attempts else 1
        jobs_kept = sum(end <= cut for end in ends) // parts
        torn = cut - ([0, *ends][jobs_kept * parts])
        assert ("dropped a torn record" in capsys.readouterr().err) == bool(torn)
        assert len({turn.info["task_id"] for turn in policy.seen}) == 4 - jobs_kept


def test_a_void_episode_is_tried_again(tmp_path):
    out, todo = tmp_path / "episodes.jsonl", jobs(4)
    lines(Flaky({todo[1].key}), todo, num_envs=1, out=out)
    assert lines(Seeded(), todo, out=out) == lines(Seeded(), todo)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my notes\n", "line 1: expected a trajectory"),
        (b"{}", "line 1: expected a trajectory"),
        (b"[1, 2]\n", "line 1"),
        (b"\xff\xfe\n", "line 1"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_kept(content, message, tmp_path):
    out = tmp_path / "episodes.jsonl"
    out.write_bytes(content)
    with pytest.raises(DataError, match=message):
        lines(Seeded(), jobs(1), out=out)
    assert out.read_bytes() == content


def test_parts_that_do_not_belong_together_are_refused(tmp_path):
    out = tmp_path / "episodes.jsonl"
    lines(Seeded(), jobs(2), program=ours.attempts, out=out)
    one, two, three, four = out.read_bytes().splitlines(keepends=True)
    for mixed in ([one, three, two, four], [one, one], [two, one], [one, four]):
        data = b"".join(mixed)
        out.write_bytes(data)
        with pytest.raises(DataError, match="line [12]: expected part [01]"):
            lines(Seeded(), jobs(2), program=ours.attempts, out=out)
        assert out.read_bytes() == data


KILLED = """
import os, signal, sys
from pathlib import Path
from agentenvs import collect
from tests.rollout.helpers import jobs
from tests.rollout.programs_for_tests import Seeded, attempts

class Doomed(Seeded):
    def act(self, turns):
        if len(self.seen) > int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().act(turns)

if __name__ == "__main__":
    backend = {"backend": sys.argv[3], "workers": 2} if sys.argv[3] == "process" else {}
    for _ in collect(None, Doomed(), jobs(12), program=attempts, out=Path(sys.argv[1]), num_envs=4, **backend):
        pass
"""


@BOTH
def test_a_killed_run_goes_on_where_it_was(backend, tmp_path):
    script, out = tmp_path / "killed.py", tmp_path / "episodes.jsonl"
    script.write_text(KILLED)
    for turns in (60, 60):
        done = subprocess.run(
            [sys.executable, str(script), str(out), str(turns), backend],
            timeout=60,
            env={**os.environ, "PYTHONPATH": os.getcwd()},
        )
        assert done.returncode == -signal.SIGKILL
    held = out.read_bytes().splitlines()
    assert 2 <= len(held) < 24
    unbroken = tmp_path / "unbroken.jsonl"
    expected = lines(Seeded(), jobs(12), program=ours.attempts, out=unbroken)
    assert lines(Seeded(), jobs(12), program=ours.attempts, out=out) == expected
    assert sorted(out.read_bytes().splitlines()) == sorted(unbroken.read_bytes().splitlines())
    assert out.read_bytes().splitlines()[: len(held) - len(held) % 2] == held[: len(held) - len(held) % 2]


# Policies that take their time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [*ours.PROGRAMS, play, ours.together])
def test_asynchronous_policies_give_the_same_trajectories(program):
    assert lines(Slow(), jobs(6), program=program, num_envs=4) == lines(Seeded(), jobs(6), program=program)


def test_asynchronous_policies_in_the_process_back_end():
    assert lines(Slow(), jobs(6), backend="process", workers=2) == lines(Seeded(), jobs(6))


def test_turns_are_really_in_flight_together():
    """Four turns meet at a barrier; were they asked one after another, the first would wait in vain."""

    class Meeting(Slow):
        async def reply(self, turn):
            if turn.number == 0:
                async with asyncio.timeout(20):
                    await self.barrier.wait()
            return self.answer(turn)

    policy = Meeting()
    policy.barrier = asyncio.Barrier(4)
    assert lines(policy, jobs(4), num_envs=4) == lines(Seeded(), jobs(4))


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_turns_are_in_flight_than_a_policy_takes(limit):
    policy = Slow(concurrency=limit)
    lines(policy, jobs(8), num_envs=8)
    assert policy.most == limit
    assert policy.closed == 1


def test_a_fast_episode_does_not_wait_for_a_slow_one():
    """The slow episode's first reply waits until another episode has ended: with a barrier, neither would end."""
    todo = jobs(2)

    class Waiting(Slow):
        async def reply(self, turn):
            if turn.episode == todo[0].key and turn.number == 0:
                async with asyncio.timeout(20):
                    await self.ended.wait()
            return self.answer(turn)

    policy = Waiting()
    policy.ended = asyncio.Event()
    order = []
    for trajectory in collect(None, policy, todo, ordered=False, program=release(policy)):
        order.append(trajectory.job.seed)
    assert order == [1, 0]


def release(policy):
    def program(job, stage):
        made = yield from play(job, stage)
        policy.ended.set()
        return made

    return program


def test_policies_of_both_kinds_play_together():
    cast = {"left": Slow(), "right": Seeded()}
    assert lines(cast, jobs(4), program=ours.alternate) == lines(Seeded(), jobs(4), program=ours.alternate)


@pytest.mark.parametrize("options", [{}, {"backend": "process", "workers": 1}])
@pytest.mark.parametrize("policy", [Seeded, Slow])
def test_collect_works_inside_a_running_event_loop(policy, options):
    async def main():
        return lines(policy(), jobs(3), **options)

    assert asyncio.run(main()) == lines(Seeded(), jobs(3))


@pytest.mark.parametrize("policy", [Seeded, Slow])
def test_acollect_gives_what_collect_gives(policy):
    async def main():
        return [trajectory.to_line() async for trajectory in acollect(None, policy(), jobs(5), num_envs=3)]

    assert asyncio.run(main()) == lines(Seeded(), jobs(5))


def test_closing_acollect_cancels_and_closes(closed):
    CANCELLED.clear()

    async def main():
        source = acollect(None, Slow(), jobs(12), program=telling, num_envs=4)
        await anext(source)
        await source.aclose()
        return len(asyncio.all_tasks()), list(CANCELLED), len(closed)

    tasks, cancelled, shut = asyncio.run(main())
    assert tasks == 1
    assert cancelled
    assert shut >= 4


def test_a_cancelled_task_cancels_its_run(closed):
    async def main():
        async def forever():
            async for _ in acollect(None, Hanging(), jobs(3)):
                pass

        task = asyncio.create_task(forever())
        while not Hanging.waiting == 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    Hanging.waiting = 0
    assert asyncio.run(main()) == 1
    assert len(closed) == 3


class Hanging:
    waiting = 0

    async def reply(self, turn):
        Hanging.waiting += 1
        await asyncio.Event().wait()
