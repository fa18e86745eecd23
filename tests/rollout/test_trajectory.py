"""`Trajectory`: what is written is read back, every turn is rebuilt as the policy saw it, malformed lines are named."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, DataError
from agentenvs.core.info import SCHEMA
from agentenvs.policies.base import NEEDS, Reply
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import Job
from agentenvs.rollout.programs import play
from agentenvs.rollout.trajectory import Decision, Trajectory, chain_digest, parse_line, read, recover
from tests.rollout import programs_for_tests as ours
from tests.rollout.helpers import SOKOBAN, jobs
from tests.rollout.programs_for_tests import Seeded

PROGRAMS = (play, *ours.PROGRAMS, ours.together, ours.remembering)
TAGGED = [
    {"name": "TextActions", "kwargs": {"codec": "tagged", "max_calls": 2}},
    {"name": "FormatReward", "kwargs": {"fault": -0.1}},
]


class Talkative(Seeded):
    """Gives everything that a reply can hold."""

    def __init__(self, needs=("history",)) -> None:
        super().__init__()
        self.needs = frozenset(needs)

    def answer(self, turn):
        return replace(
            super().answer(turn),
            prompt_ids=(1, 2, turn.number),
            token_ids=(3,),
            logprobs=(-0.5,),
            choices=({"name": "a", "logit": 0.25},),
            finish_reason="stop",
        )


def made_by(program=play, policy=None, count=4, **options) -> list[Trajectory]:
    return list(collect(None, policy or Talkative(), jobs(count), program=program, memory=[], **options))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_trajectory_is_read_back_as_it_was(program):
    for trajectory in made_by(program):
        again = Trajectory.from_json(json.loads(trajectory.to_line()))
        assert again == trajectory
        assert again.to_line() == trajectory.to_line()
        assert again.job.key == trajectory.job.key


def test_a_void_trajectory_is_read_back_as_it_was():
    from agentenvs.core.errors import InfrastructureError

    def broken(observation, info):
        raise InfrastructureError("down")

    [trajectory] = made_by(policy=broken, count=1)
    assert Trajectory.from_json(json.loads(trajectory.to_line())) == trajectory


NEEDED = [(), ("history",), ("admissible",), ("history", "private"), ("expert",), tuple(sorted(NEEDS))]


@pytest.mark.parametrize("wrappers", [[], TAGGED], ids=["bare", "wrapped"])
@pytest.mark.parametrize("needs", NEEDED, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_turn_is_rebuilt_as_the_policy_saw_it(program, needs, wrappers):
    """After a detour over JSON, field by field; of the info, what the record keeps."""
    policy = Talkative(needs)
    todo = [job.replace(wrappers=wrappers) for job in jobs(3)]
    kept = tuple(SCHEMA)
    made = collect(None, policy, todo, program=program, memory=["x"], keep=kept)
    made = [Trajectory.from_json(json.loads(trajectory.to_line())) for trajectory in made]
    seen = {(turn.episode, turn.agent, turn.number): turn for turn in policy.seen}
    assert len(seen) == len(policy.seen) == sum(len(trajectory.decisions) for trajectory in made)
    for trajectory in made:
        for i, decision in enumerate(trajectory.decisions):
            turn = trajectory.turn(i)
            saw = seen[turn.episode, turn.agent, turn.number]
            for field in fields(turn):
                if field.name != "info":
                    assert getattr(turn, field.name) == getattr(saw, field.name), field.name
            assert {"turn", "is_valid", "is_effective"} <= turn.info.keys()
            shared = turn.info.keys() & saw.info.keys() - {"calls"}
            assert {name: turn.info[name] for name in shared} == {name: saw.info[name] for name in shared}
            assert saw.info.keys() - {"expert_plan", "expert_action"} - turn.info.keys() == extras(saw)
            reply = policy.answer(saw)
            for name in ("prompt_ids", "token_ids", "logprobs", "choices", "usage", "finish_reason", "policy_version"):
                recorded = getattr(decision, name)
                assert getattr(reply, name) == (tuple(recorded) if isinstance(recorded, list) else recorded)


def extras(turn) -> set[str]:
    """Keys of the family's own, which `keep` was not told to keep."""
    return set(turn.info) - set(SCHEMA)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_action_is_its_decisions(program):
    for trajectory in made_by(program):
        deciding = {d.step: d.text for d in trajectory.decisions if d.step is not None}
        acting = {n: step.action for n, step in enumerate(trajectory.steps, 1) if step.restore is None}
        assert deciding == acting


def test_totals_are_those_of_the_steps():
    for trajectory in made_by():
        assert trajectory.total_reward == pytest.approx(sum(step.reward for step in trajectory.steps))
        assert trajectory.usage == {
            "steps": len(trajectory.steps),
            "resets": 1,
            "restores": 0,
            "undone_steps": 0,
            "prompt_tokens": sum(d.usage["prompt_tokens"] for d in trajectory.decisions),
            "completion_tokens": len(trajectory.decisions),
        }
        assert trajectory.success == (trajectory.end_reason == "solved") == (trajectory.score == 1.0)
        for step in trajectory.steps:
            assert step.reward == sum(step.components.values())


def test_digests_tell_every_difference():
    parts = ["Up", "board", -0.1, False, False]
    first = chain_digest("", *parts)
    assert len(first) == 32
    others = [chain_digest("x", *parts)]
    others += [
        chain_digest("", *(parts[:i] + [other] + parts[i + 1 :])) for i, other in enumerate(["up", "", 0.1, 0, 0])
    ]
    assert len({first, *others}) == 1 + len(others)


# Malformed ------------------------------------------------------------------------------------------------------------


def changed(*path, value="gone"):
    def change(data):
        place = data
        for name in path[:-1]:
            place = place[name]
        if value == "gone":
            del place[path[-1]]
        else:
            place[path[-1]] = value
        return data

    return change


MALFORMED = {
    "no object": lambda data: [data],
    "a text": lambda data: "trajectory",
    "null": lambda data: None,
    "schema missing": changed("schema"),
    "schema of tomorrow": changed("schema", value=2),
    "job missing": changed("job"),
    "job as text": changed("job", value="x"),
    "job without task": changed("job", "task"),
    "job with more": changed("job", "colour", value=1),
    "job with a bad seed": changed("job", "seed", value=-1),
    "job with a bad start": changed("job", "start", value=5),
    "job with bad wrappers": changed("job", "wrappers", value=5),
    "job with a bad wrapper": changed("job", "wrappers", value=[5]),
    "steps missing": changed("steps"),
    "steps as number": changed("steps", value=5),
    "a step as number": changed("steps", 0, value=5),
    "a step without action": changed("steps", 0, "action"),
    "a step with more": changed("steps", 0, "colour", value=1),
    "an action as number": changed("steps", 0, "action", value=5),
    "an observation as null": changed("steps", 0, "observation", value=None),
    "a reward as text": changed("steps", 0, "reward", value="1"),
    "components as list": changed("steps", 0, "components", value=[]),
    "a step's info as list": changed("steps", 0, "info", value=[]),
    "restore as text": changed("steps", 0, "restore", value="0"),
    "natives as text": changed("steps", 0, "natives", value="Up"),
    "decisions missing": changed("decisions"),
    "a decision without agent": changed("decisions", 0, "agent"),
    "a decision's text as number": changed("decisions", 0, "text", value=5),
    "seen as text": changed("decisions", 0, "seen", value="0"),
    "seen below 0": changed("decisions", 0, "seen", value=-1),
    "seen past the end": changed("decisions", 0, "seen", value=999),
    "step below 0": changed("decisions", 0, "step", value=-1),
    "past as null": changed("decisions", 0, "past", value=None),
    "context as list": changed("decisions", 0, "context", value=[]),
    "score as text": changed("score", value="1"),
    "score missing": changed("score"),
    "success as number": changed("success", value=1),
    "end_reason as null": changed("end_reason", value=None),
    "spec as list": changed("spec", value=[]),
    "parts 0": changed("parts", value=0),
    "part past parts": changed("part", value=1),
    "part below 0": changed("part", value=-1),
    "part as text": changed("part", value="0"),
    "unknown field": changed("colour", value=1),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_lines_are_refused_by_number(name, tmp_path):
    [good] = made_by(count=1)
    bad = MALFORMED[name](json.loads(good.to_line()))
    file = tmp_path / "episodes.jsonl"
    file.write_text(f"{good.to_line()}\n{json.dumps(bad)}\n")
    with pytest.raises(DataError, match=r"episodes\.jsonl, line 2: expected a trajectory, found ") as caught:
        list(read(file))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "line",
    [b"\n", b"{", b"\xff", b"NaN", b"[" * 100_000, b'{"schema":1,"score":NaN}', b'{"schema":1}', b"9" * 10_000],
    ids=range(8),
)
def test_lines_that_are_no_json_are_refused(line):
    with pytest.raises(DataError, match="f, line 7: expected a trajectory"):
        parse_line(line, "f", 7)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none_are_refused(number):
    [good] = made_by(count=1)
    line = good.to_line().replace('"total_reward":', f'"total_reward":{number},"was":', 1)
    with pytest.raises(DataError, match="is no number of JSON"):
        parse_line(line.encode(), "f", 1)


GOOD: list[str] = []


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_change_is_read_or_refused(data):
    """A random value of a real line replaced by random JSON: nothing but DataError, and what is read can be used."""
    if not GOOD:
        GOOD.extend(trajectory.to_line() for trajectory in made_by(ours.together, count=1))
    place = whole = json.loads(GOOD[0])
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
        if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from([[], {}, [1]])
    )
    try:
        trajectory = parse_line(json.dumps(whole).encode(), "f", 1)
    except DataError:
        return
    trajectory.to_json()
    for i in range(len(trajectory.decisions)):
        trajectory.turn_observation(i)


def test_recover_of_nothing(tmp_path):
    assert recover(tmp_path / "none.jsonl") == ({}, 0)


# Jobs -----------------------------------------------------------------------------------------------------------------


def test_a_job_is_what_its_fields_are():
    job = jobs(1)[0]
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
    keys = {job.key}
    changes = {
        "env_id": "x",
        "task": "x",
        "seed": 9,
        "kwargs": {"preset": "ragen"},
        "wrappers": ({"name": "TextActions"},),
        "branch": 1,
        "start": {"prefix": ["Up"]},
        "group": "x",
        "repetition": 1,
        "attempt": 1,
        "chain": "x",
    }
    assert set(changes) == {field.name for field in fields(Job)}
    for name, value in changes.items():
        other = job.replace(**{name: value})
        assert Job.from_json(other.to_json()) == other
        keys.add(other.key)
    assert len(keys) == 1 + len(changes)


def test_a_job_keeps_its_own_copy():
    kwargs, start = {"preset": "tiny"}, {"prefix": ["Up"]}
    job = Job(
        SOKOBAN, "t", kwargs=kwargs, start=start, wrappers=({"name": "TextActions", "kwargs": {"codec": "plain"}},)
    )
    key, before = job.key, copy.deepcopy(job)
    kwargs["preset"] = "ragen"
    start["prefix"].append("Down")
    assert job == before
    assert Job(**{field.name: getattr(job, field.name) for field in fields(Job)}).key == key


def test_values_that_json_takes_for_others_are_the_same_job():
    assert Job("e", "t", kwargs={"a": (1, 2), "b": None}) == Job("e", "t", kwargs={"b": None, "a": [1, 2]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "job seed"),
        ({"seed": True}, "job seed"),
        ({"branch": 1.0}, "job branch"),
        ({"chain": None}, "job chain"),
        ({"kwargs": {"a": object()}}, "job kwargs: expected JSON values"),
        ({"kwargs": {"a": float("nan")}}, "job kwargs: expected JSON values"),
        ({"kwargs": []}, "job kwargs: expected a mapping"),
        ({"wrappers": [{"kwargs": {}}]}, "job wrappers"),
        ({"wrappers": "TextActions"}, "job wrappers"),
        ({"start": {}}, "job start"),
        ({"start": 5}, "job start"),
        ({"start": {"prefix": [], "snapshot": {}}}, "job start"),
    ],
)
def test_bad_jobs_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Job("e", "t", **arguments)


def test_replies_are_values():
    assert Reply("Up") == Reply("Up")
    assert Reply("Up") != Reply(calls=("Up",))


def test_a_full_disk_leaves_no_half_record(tmp_path):
    """The file is cut back to whole records, so that a later append and `recover` find it in order."""
    import subprocess
    import sys

    code = """
import resource, sys
from pathlib import Path
from agentenvs.rollout.collect import collect
from agentenvs.rollout.trajectory import append, recover
from tests.rollout.helpers import jobs
path = Path(sys.argv[1])
first, second = collect(None, "random", jobs(2))
first.origin, second.origin = first.job.key, second.job.key
append(path, [first])
size = path.stat().st_size
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
try:
    append(path, [second])
except OSError:
    print("refused", path.stat().st_size == size, end=" ")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
append(path, [second])
print(len(recover(path)[0]))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "refused True 2\n", done.stderr


@pytest.mark.parametrize("value", [10**400, -(10**400), True, "1", None, [1]])
def test_a_number_that_is_none_is_a_bad_record(value):
    from agentenvs.core.errors import ConfigError
    from agentenvs.core.snapshot import finite

    assert not finite(value)
    [trajectory] = collect(None, "random", jobs(1))
    record = trajectory.to_json()
    record["steps"][0]["reward"] = value
    with pytest.raises(ConfigError):
        Trajectory.from_json(record)


def test_what_looks_empty_but_is_no_default_is_kept():
    """`kept=0` says that nothing of the reply stayed; left out it would say that all of it did."""
    empty = {"observation": "", "instructions": "", "tools": [], "kept": 0, "token_ids": [], "finish_reason": ""}
    decision = Decision("agent", "act", 0, 1, 0, "said", **empty)
    again = Trajectory.from_json(json.loads(made(decision).to_line())).decisions[0]
    assert again == decision


def made(decision):
    """A trajectory of no steps with one decision."""
    job = Job("agentenvs/Sokoban-v0", "sokoban/test/0")
    return Trajectory(job, {}, "", {}, [], [decision], "policy_budget", 0.0, False, 0.0, {}, "")
