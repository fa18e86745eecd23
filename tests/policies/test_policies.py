"""Policies by name: random, expert, human, replay, functions, modules, mappings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.core.rng import Stream
from agentenvs.policies.base import Reply, Turn
from agentenvs.policies.resolve import Cast, FunctionPolicy, as_policy, is_async, make_policy, name_of, needs_of
from agentenvs.policies.scripted import Random
from agentenvs.rollout.collect import collect
from agentenvs.rollout.trajectory import Trajectory
from tests.rollout import programs_for_tests as ours
from tests.rollout.helpers import SOKOBAN, TINY, jobs, lines
from tests.rollout.programs_for_tests import Seeded

FACTORIES = "py:tests.policies.factories_for_tests"
TAGGED = [{"name": "TextActions", "kwargs": {"codec": "tagged"}}]


def turn(seed: int = 0, menu: tuple[str, ...] = ("Up", "Down", "Left", "Right"), **fields) -> Turn:
    return Turn("e", "agent", "act", 0, seed, "", (), "", {"task_id": "t"}, menu=menu, **fields)


# random ---------------------------------------------------------------------------------------------------------------


def test_random_follows_the_seed_of_the_turn_and_nothing_else():
    turns = [turn(seed) for seed in range(16)]
    together = Random().act(turns)
    assert together == [Random().act([one])[0] for one in turns]
    assert together[::-1] == Random().act(turns[::-1])
    assert together[3] == Reply(calls=(Stream("random policy", 3).choice(turns[3].menu),))


def test_random_is_uniform():
    counts = Counter(reply.calls[0] for reply in Random().act([turn(seed) for seed in range(4_000)]))
    assert all(abs(counts[word] - 1_000) < 150 for word in ("Up", "Down", "Left", "Right"))


def test_random_says_what_it_lacks():
    with pytest.raises(ConfigError, match="needs a menu"):
        Random().act([turn(menu=())])


def test_random_plays_alone_as_in_a_batch_of_16():
    alone = [line for job in jobs(16) for line in lines("random", [job])]
    assert lines("random", jobs(16), num_envs=16) == alone


def test_the_run_seed_changes_what_random_does():
    assert lines("random", jobs(4), seed=1) != lines("random", jobs(4), seed=2)
    assert lines("random", jobs(4), seed=1) == lines("random", jobs(4), seed=1)


# constant -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrappers", [[], TAGGED], ids=["bare", "wrapped"])
def test_a_constant_policy_does_the_same_always_in_the_words_of_the_codec(wrappers):
    [trajectory] = collect(None, "constant:Up", [jobs(1)[0].replace(wrappers=wrappers)])
    assert {call for decision in trajectory.decisions for call in decision.calls} == {"Up"}
    assert {step.action for step in trajectory.steps} == {"<think></think><action>Up</action>" if wrappers else "Up"}
    assert all(step.info["is_valid"] for step in trajectory.steps)


def test_the_name_of_a_constant_is_its_whole_action():
    policy = make_policy("constant:answer[yes: it is]")
    assert (policy.action, policy.name) == ("answer[yes: it is]", "constant:answer[yes: it is]")
    assert needs_of(policy) == set()
    assert policy.act([turn(0), turn(1)]) == [Reply(calls=("answer[yes: it is]",))] * 2


# expert ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrappers", [[], TAGGED], ids=["bare", "wrapped"])
def test_the_expert_solves_tiny_levels(wrappers):
    made = list(collect(None, "expert", [job.replace(wrappers=wrappers) for job in jobs(8)]))
    assert [trajectory.success for trajectory in made] == [True] * 8


# replay ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [*ours.PROGRAMS, ours.together])
def test_replay_reproduces_a_recorded_run(program, tmp_path):
    out = tmp_path / "episodes.jsonl"
    recorded = lines(Seeded(), jobs(4), program=program, out=out)
    replayed = lines(f"replay:{out}", jobs(4), program=program)
    assert [strip(line) for line in replayed] == [strip(line) for line in recorded]
    assert lines(f"replay:{tmp_path}", jobs(4), program=program) == replayed


def strip(line: str) -> dict:
    """A record without what a policy that asks for less is not shown."""
    data = Trajectory.from_json(__import__("json").loads(line)).to_json()
    for decision in data["decisions"]:
        decision.pop("past", None)
    return data


def test_replay_takes_calls_and_token_ids(tmp_path):
    out = tmp_path / "episodes.jsonl"
    todo = [job.replace(wrappers=TAGGED) for job in jobs(3)]
    recorded = list(collect(None, "random", todo, out=out))
    replayed = list(collect(None, f"replay:{out}", todo))
    assert [[d.text for d in t.decisions] for t in replayed] == [[d.text for d in t.decisions] for t in recorded]
    assert [t.digest for t in replayed] == [t.digest for t in recorded]
    assert [t.steps for t in replayed] == [t.steps for t in recorded]


def test_replay_says_what_it_does_not_hold(tmp_path):
    out = tmp_path / "episodes.jsonl"
    lines(Seeded(), jobs(1), out=out)
    with pytest.raises(ConfigError, match=r"replay:episodes\.jsonl holds no reply for turn 0 of 'agent'"):
        lines(f"replay:{out}", jobs(2))
    with pytest.raises(ConfigError, match="expected a file of trajectories"):
        make_policy(f"replay:{tmp_path / 'none.jsonl'}")


# human ----------------------------------------------------------------------------------------------------------------

HUMAN = """
from agentenvs import collect
from tests.rollout.helpers import jobs
made = list(collect(None, "human", jobs(1)))
print("PLAYED", [step.action for step in made[0].steps])
"""


def play_by_hand(text: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", HUMAN],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )


def test_a_human_plays_from_a_pipe():
    done = play_by_hand("wait\n" * 12)
    assert f"PLAYED {['wait'] * 12}" in done.stdout
    assert "You play Sokoban" in done.stdout
    assert done.returncode == 0


def test_a_human_that_leaves_stops_the_run():
    done = play_by_hand("wait\n")
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr
    assert "PLAYED" not in done.stdout


# functions, modules, names --------------------------------------------------------------------------------------------


def test_a_plain_function_sees_observation_and_public_info():
    seen = []

    def walk(observation, info):
        seen.append((observation, info))
        info["turn"] = -1  # its own copy
        return "Up"

    [trajectory] = collect(None, walk, jobs(1))
    assert {step.action for step in trajectory.steps} == {"Up"}
    assert seen[0][0] == trajectory.observation
    assert not {"score", "success", "reward_components", "state_key", "episode_seed"} & seen[0][1].keys()
    assert trajectory.steps[0].info["turn"] == 1


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (f"{FACTORIES}:Constant", "Up"),
        (f"{FACTORIES}:down", "Down"),
        (f"{FACTORIES}:various", "Left"),
        (f"{FACTORIES}:policy", "Right"),
    ],
)
def test_py_takes_factories_and_functions(name, word):
    [trajectory] = collect(None, name, jobs(1))
    assert {decision.text for decision in trajectory.decisions} == {word}


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("py:nomodule", ConfigError, "expected py:module:factory"),
        ("py::x", ConfigError, "expected py:module:factory"),
        ("py:no.such.module:f", ConfigError, "No module named 'no'.*PYTHONPATH"),
        ("py:.relative:f", ConfigError, "relative"),
        (f"{FACTORIES}:missing", ConfigError, "missing"),
        (f"{FACTORIES}:NUMBER", ConfigError, "expected a function or class, got int"),
        (f"{FACTORIES}:needy", ConfigError, "it requires model"),
        (f"{FACTORIES}:nothing", ConfigError, "expected a policy .* got None"),
        ("py:builtins:dict", ConfigError, "py:builtins:dict|expected a policy"),
        ("rnadom", UnknownName, "did you mean 'random'"),
        ("random:x", UnknownName, "unknown policy"),
        ("replay", UnknownName, "unknown policy"),
        ("constant:", UnknownName, "did you mean 'constant:ACTION'"),
        ("local:", UnknownName, "unknown policy"),
        ("", UnknownName, "known: "),
    ],
)
def test_bad_names_are_refused(name, error, message):
    with pytest.raises(error, match=message):
        make_policy(name)


@pytest.mark.parametrize("thing", [None, 5, [], Seeded, object()])
def test_things_that_are_no_policies_are_refused(thing):
    with pytest.raises(ConfigError, match="expected a policy"):
        as_policy(thing)


def test_needs_are_checked():
    class Greedy(Seeded):
        needs = frozenset({"everything"})

    with pytest.raises(UnknownName, match="unknown policy need 'everything'"):
        as_policy(Greedy())
    assert needs_of(Seeded()) == {"history"}


def test_what_a_policy_gets_is_what_it_needs():
    class Nosy(Seeded):
        needs = frozenset({"admissible", "history", "private", "expert"})

    nosy, modest = Nosy(), Seeded()
    for policy in (nosy, modest):
        lines(policy, jobs(1))
    assert nosy.seen[1].menu == ("Up", "Down", "Left", "Right")
    assert {"score", "expert_action"} <= nosy.seen[1].info.keys()
    assert modest.seen[1].menu == ()
    assert not {"score", "expert_action", "reward_components"} & modest.seen[1].info.keys()
    assert len(modest.seen[1].history) == 1


def test_a_mapping_names_who_plays_whom():
    cast = Cast({"left": "random", "right": lambda observation, info: "Up"})
    assert name_of(cast.policy("left")) == "random"
    assert isinstance(cast.policy("right"), FunctionPolicy)
    assert cast.needs("left") == {"admissible"}
    for look_up in (cast.policy, cast.needs):
        with pytest.raises(UnknownName, match="did you mean 'left'"):
            look_up("lft")


def test_a_policy_that_is_false_is_a_policy():
    """Such as one that is also an empty container."""

    class Empty(Seeded):
        def __len__(self) -> int:
            return 0

    policy = Empty()
    assert Cast(policy).policy("anyone") is policy
    assert len(lines(policy, jobs(1))) == 1


def test_asynchronous_policies_are_known_by_their_reply():
    class Later:
        async def reply(self, turn):
            return "Up"

    assert is_async(Later())
    assert not is_async(Seeded())
    assert as_policy(Later()).__class__ is Later


def test_a_task_id_is_enough_to_play():
    [trajectory] = collect(SOKOBAN, "random", ["sokoban/validation/8x8x2.3"])
    assert trajectory.job.kwargs == {} != TINY
