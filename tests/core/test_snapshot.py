"""Snapshots: continuing a restored episode equals continuing the original, and hostile data is refused whole."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import gymnasium as gym
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenvs
from agentenvs.core.errors import ConfigError, SnapshotError
from agentenvs.core.info import is_json
from agentenvs.wrappers import FormatReward, TextActions, protocol
from tests.core.tiny_env import Counter

SOKOBAN = "agentenvs/Sokoban-v0"
MOVES = st.lists(st.sampled_from(["Up", "Down", "Left", "Right", "nonsense"]), max_size=8)


def stack() -> gym.Env:
    """Sokoban as RAGEN plays it: two wrappers with a state of their own."""
    return protocol(gym.make(SOKOBAN, preset="ragen", reveal=["state", "expert"], max_turns=30))


def replies(moves: list[str]) -> list[str]:
    return [f"<think></think><answer>{move} || Left</answer>" if move != "nonsense" else move for move in moves]


MAKERS = {
    "bare": (lambda: gym.make(SOKOBAN, preset="tiny", reveal=["state"]), list),
    "wrapped": (stack, replies),
}


def play(env: gym.Env, actions: list[str]) -> list:
    steps = []
    for action in actions:
        if env.get_wrapper_attr("status") != "playing":
            break
        steps.append(env.step(action))
    return steps


@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=25, deadline=None)
@given(before=MOVES, after=MOVES, seed=st.integers(0, 3))
def test_a_restored_episode_goes_on_as_the_original(kind, before, after, seed):
    make, word = MAKERS[kind]
    env = make()
    stood = [env.reset(seed=seed), *((step[0], step[4]) for step in play(env, word(before)))][-1]
    saved = agentenvs.snapshot(env)
    assert is_json(saved)
    going_on = play(env, word(after))
    for data in (saved, json.loads(json.dumps(saved)), pickle.loads(pickle.dumps(saved))):
        fresh = make()
        assert fresh.reset(options={"snapshot": data}) == stood
        assert agentenvs.snapshot(fresh) == saved
        assert play(fresh, word(after)) == going_on
    assert env.reset(options={"snapshot": saved}) == stood
    assert play(env, word(after)) == going_on
    assert env.reset(options={"restart": True}) == stood


def test_chance_goes_on_and_branches_part():
    env = Counter()
    env.reset(seed=7)
    env.step("jump")
    saved = agentenvs.snapshot(env)
    expected = env.step("jump")
    other = Counter()
    other.reset(options={"snapshot": saved})
    assert other.step("jump") == expected
    results = set()
    for branch in range(6):
        other.reset(options={"snapshot": saved, "branch": branch})
        results.add(other.step("jump")[0])
    assert len(results) > 1


def test_a_restored_episode_in_another_process():
    env = stack()
    env.reset(seed=2)
    env.step(replies(["Right"])[0])
    code = """
import json, sys, gymnasium as gym, agentenvs
from agentenvs.wrappers import protocol
env = protocol(gym.make("agentenvs/Sokoban-v0", preset="ragen", reveal=["state", "expert"], max_turns=30))
env.reset(options={"snapshot": json.load(sys.stdin)})
print(json.dumps(env.step(sys.argv[1])))
"""
    reply = replies(["Up"])[0]
    done = subprocess.run(
        [sys.executable, "-c", code, reply],
        input=json.dumps(agentenvs.snapshot(env)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == list(env.step(reply))


def test_an_ended_episode_is_restored_as_ended():
    env = gym.make(SOKOBAN, levels="given", level="#####|#@$.#|#####")
    env.reset(seed=0)
    env.step("Right")
    saved = agentenvs.snapshot(env)
    again = gym.make(SOKOBAN, levels="given", level="#####|#@$.#|#####")
    _, info = again.reset(options={"snapshot": saved})
    assert info["end_reason"] == "solved"
    with pytest.raises(agentenvs.errors.EpisodeOver):
        again.step("Left")


def test_snapshots_are_copies():
    env = Counter()
    env.reset(seed=1)
    env.step("up")
    saved = agentenvs.snapshot(env)
    spoilt = agentenvs.snapshot(env)
    entry = spoilt["stack"][0]
    for value in (entry["config"], entry["last"]["rewards"], entry["state"], entry["last"]):
        value.clear()
    assert agentenvs.snapshot(env) == saved
    mine = copy.deepcopy(saved)
    env.reset(options={"snapshot": mine})
    mine["stack"][0]["last"]["rewards"]["move"] = 5.0
    assert agentenvs.snapshot(env) == saved


# Refused --------------------------------------------------------------------------------------------------------------


def changed(path: str, value: object):
    """A change to a snapshot: `path` is dotted, from the innermost entry."""

    def change(saved: dict) -> dict:
        saved = copy.deepcopy(saved)
        place = saved["stack"][0]
        *way, last = path.split(".")
        for name in way:
            place = place[name]
        place[last] = value
        return saved

    return change


def deep(value: object = 0) -> object:
    for _ in range(100_000):
        value = [value]
    return value


HOSTILE = {
    "none": lambda saved: None,
    "text": lambda saved: json.dumps(saved),
    "list": lambda saved: [saved],
    "empty": lambda saved: {},
    "other format": lambda saved: {**saved, "format": "pickle"},
    "other version": lambda saved: {**saved, "version": 2},
    "version as text": lambda saved: {**saved, "version": "1"},
    "no stack": lambda saved: {**saved, "stack": []},
    "stack of texts": lambda saved: {**saved, "stack": ["CounterEnv"]},
    "an extra layer": lambda saved: {**saved, "stack": [*saved["stack"], {"layer": "TextActions", "state": {}}]},
    "an extra layer within": lambda saved: {**saved, "stack": [{"layer": "X"}, *saved["stack"]]},
    "an entry without keys": lambda saved: {**saved, "stack": [{}]},
    "nested deeply": changed("extra", deep()),
    "other family": changed("family", "sokoban"),
    "other config": changed("config.max_turns", 7),
    "config as list": changed("config", []),
    "unknown task": changed("task", "counter/test/x"),
    "task of another family": changed("task", "sokoban/test/0"),
    "seed as text": changed("seed", "1"),
    "seed as bool": changed("seed", True),
    "seed below 0": changed("seed", -1),
    "seed too large": changed("seed", 2**64),
    "seed of thousands of digits": changed("seed", 10**6000),
    "branch below 0": changed("branch", -1),
    "turn below 0": changed("turn", -1),
    "turn past the limit": changed("turn", 6),
    "huge turn": changed("turn", 10**30),
    "status void": changed("status", "void"),
    "ended without a reason": changed("status", "ended"),
    "a reason without an end": changed("last.end_reason", "reached"),
    "no last": changed("last", {}),
    "last with more": changed("last.more", 1),
    "reward NaN": changed("last.rewards", {"move": float("nan")}),
    "reward as text": changed("last.rewards", {"move": "1"}),
    "reward infinite": changed("last.rewards", {"move": float("inf")}),
    "unknown reward": changed("last.rewards", {"bonus": 1e9}),
    "state empty": changed("state", {}),
    "state with more": changed("state", {"at": 1, "more": 2}),
    "state of another type": changed("state", {"at": -1}),
    "state as list": changed("state", [1]),
    "an object": changed("state", {"at": object()}),
    "bytes": changed("task", b"counter/test/1"),
    "null": changed("before", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_snapshots_are_refused_and_the_episode_goes_on(name):
    env = Counter()
    env.reset(seed=1)
    env.step("up")
    saved = agentenvs.snapshot(env)
    with pytest.raises(SnapshotError) as caught:
        env.reset(options={"snapshot": HOSTILE[name](saved)})
    assert len(str(caught.value)) < 600
    assert agentenvs.snapshot(env) == saved
    assert env.status == "playing"
    assert env.step("up")[0] == "at 2"


def test_a_snapshot_with_a_bad_branch_is_refused():
    env = Counter()
    env.reset(seed=1)
    saved = agentenvs.snapshot(env)
    with pytest.raises(ConfigError, match="branch"):
        env.reset(options={"snapshot": saved, "branch": -2})


def wrapper_state(name: str, value: object):
    def change(saved: dict) -> dict:
        saved = copy.deepcopy(saved)
        saved["stack"][1]["state"][name] = value
        return saved

    return change


HOSTILE_STACKS = {
    "the base alone": lambda saved: {**saved, "stack": saved["stack"][:1]},
    "a wrapper missing": lambda saved: {**saved, "stack": saved["stack"][:2]},
    "a wrapper too many": lambda saved: {**saved, "stack": [*saved["stack"], saved["stack"][-1]]},
    "other order": lambda saved: {**saved, "stack": [saved["stack"][i] for i in (0, 2, 1)]},
    "turn as text": wrapper_state("turn", "1"),
    "observation as list": wrapper_state("observation", []),
    "info with the key of another": wrapper_state("info", {"task_id": "x"}),
    "info of another type": wrapper_state("info", {"turn": "many"}),
    "info with NaN": wrapper_state("info", {"reward_components": {"step": float("nan")}}),
    "no state": lambda saved: {**saved, "stack": [*saved["stack"][:2], {"layer": "FormatReward"}]},
    "format reward NaN": lambda saved: {
        **saved,
        "stack": [*saved["stack"][:2], {"layer": "FormatReward", "state": {"last": float("nan")}}],
    },
    "bad base below good wrappers": changed("seed", -1),
}


@pytest.mark.parametrize("name", HOSTILE_STACKS)
def test_hostile_snapshots_of_a_stack_are_refused_and_the_episode_goes_on(name):
    env = stack()
    env.reset(seed=1)
    env.step(replies(["Up"])[0])
    saved = agentenvs.snapshot(env)
    with pytest.raises(SnapshotError):
        env.reset(options={"snapshot": HOSTILE_STACKS[name](saved)})
    assert agentenvs.snapshot(env) == saved
    assert env.step(replies(["Up"])[0])[4]["turn"] == 2


SOKOBAN_STATES = {
    "player in a wall": {"player": 0},
    "player on a box": "box",
    "player off the board": {"player": 10**9},
    "player below 0": {"player": -1},
    "no box": {"boxes": []},
    "two boxes": {"boxes": [7, 8]},
    "a box twice": {"boxes": [7, 7]},
    "boxes as text": {"boxes": "7"},
    "a box as bool": {"boxes": [True]},
}


@pytest.mark.parametrize("name", SOKOBAN_STATES)
def test_impossible_positions_are_refused(name):
    env = gym.make(SOKOBAN, levels="given", level="#######|#@ $ .#|#######")
    env.reset(seed=1)
    saved = agentenvs.snapshot(env)
    state = saved["stack"][0]["state"]
    bad = {"player": state["boxes"][0]} if SOKOBAN_STATES[name] == "box" else SOKOBAN_STATES[name]
    with pytest.raises(SnapshotError):
        env.reset(options={"snapshot": changed("state", {**state, **bad})(saved)})
    assert agentenvs.snapshot(env) == saved


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_json_is_a_snapshot_or_refused(data):
    """Replace a random value of a real snapshot by random JSON: nothing but SnapshotError, and no half restore."""
    env = Counter()
    env.reset(seed=1)
    env.step("jump")
    saved = agentenvs.snapshot(env)
    place = spoilt = copy.deepcopy(saved)
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({})
    )
    try:
        env.reset(options={"snapshot": spoilt})
    except SnapshotError:
        assert agentenvs.snapshot(env) == saved
    else:
        env.step("up")


# What can be saved ----------------------------------------------------------------------------------------------------


def test_an_environment_that_was_not_reset_has_nothing_to_save():
    with pytest.raises(SnapshotError, match="ready"):
        agentenvs.snapshot(Counter())


def test_a_wrapper_with_a_state_of_its_own_is_refused():
    env = gym.wrappers.TimeLimit(Counter(), 5)
    env.reset(seed=1)
    with pytest.raises(SnapshotError, match="TimeLimit has no snapshot_entry"):
        agentenvs.snapshot(env)


def test_stateless_wrappers_of_gymnasium_are_passed_through():
    def make() -> gym.Env:
        shout = gym.wrappers.TransformObservation(TextActions(Counter()), str.upper, None)
        return FormatReward(gym.wrappers.TransformReward(shout, float))

    env = make()
    env.reset(seed=1)
    env.step("up")
    saved = agentenvs.snapshot(env)
    assert [entry["layer"] for entry in saved["stack"]] == ["Counter", "TextActions", "FormatReward"]
    again = make()
    assert again.reset(options={"snapshot": saved})[0] == "AT 1"
    assert again.step("up") == env.step("up")
