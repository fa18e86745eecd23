"""`Limits`: replies and observations cut, episodes that end when the agent has written enough."""

from __future__ import annotations

import importlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentenvs
from agentenvs.core.env import Outcome
from agentenvs.core.errors import ConfigError, EpisodeOver, SnapshotError
from agentenvs.core.messages import Message, dump, load
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import Job
from agentenvs.wrappers import FormatReward, Limits, TextActions, kept
from agentenvs.wrappers.limits import unit_of
from tests.core.tiny_env import Counter
from tests.rollout.helpers import COUNTER

TASK = {"task": "counter/test/4"}  # reach 6 in 6 turns
PAIRS = "py:tests.wrappers.test_limits:Pairs"
ANSWER = {"name": "tagged", "think": "", "action": "answer", "separator": ","}


class Pairs:
    """A tokenizer of two bytes a token: a cut may go through the middle of a character."""

    made = 0

    def __init__(self) -> None:
        Pairs.made += 1

    def encode(self, text: str) -> list[int]:
        data = text.encode("utf-8")
        return [
            int.from_bytes(data[at : at + 2], "big") + (len(data[at : at + 2]) << 16) for at in range(0, len(data), 2)
        ]

    def decode(self, ids: list[int]) -> str:
        return b"".join((one & 0xFFFF).to_bytes(one >> 16, "big") for one in ids).decode("utf-8", "replace")


class Echo(Counter):
    """Every action is its own observation."""

    def __init__(self) -> None:
        super().__init__()
        self._spelled = {}

    def _outcome(self, action: str) -> Outcome:
        return Outcome(action, {})


# Units ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "text", "n", "size", "cut"),
    [
        ("characters", "one two", 3, 7, "one"),
        ("characters", "one", 3, 3, "one"),
        ("characters", "", 3, 0, ""),
        ("words", " one  two\nthree ", 2, 3, " one  two"),
        ("words", " one  two ", 2, 2, " one  two "),
        ("words", " \n", 1, 0, " \n"),
        ("words", "one", 0, 1, ""),
        (PAIRS, "abcde", 2, 3, "abcd"),
        (PAIRS, "abcd", 2, 2, "abcd"),
        (PAIRS, "a√bc", 1, 3, "a"),
        (PAIRS, "a√bc", 2, 3, "a√"),
        (PAIRS, "a\ud800bc", 2, 2, "a\ud800bc"),
        (PAIRS, "a\ud800bc", 1, 2, "a\ud800"),
    ],
)
def test_units_by_hand(unit, text, n, size, cut):
    made = unit_of(unit)
    assert (made.size(text), text[: made.cut(text, n)]) == (size, cut)


@given(st.sampled_from(["characters", "words", PAIRS]), st.text(max_size=40), st.integers(0, 20))
def test_a_cut_is_the_longest_beginning_that_fits(unit, text, n):
    made = unit_of(unit)
    at = made.cut(text, n)
    assert 0 <= at <= len(text)
    assert made.size(text[:at]) <= n
    if at < len(text):
        assert made.size(text) > n


@pytest.mark.parametrize("unit", ["characters", "words", PAIRS])
@pytest.mark.parametrize("piece", ["x", " ", "x ", "√", "\ud800", "\0"])
def test_huge_texts_cost_linear_time(unit, piece):
    text, made = piece * 200_000, unit_of(unit)
    start = time.process_time()
    made.size(text), made.cut(text, 80_000)
    assert time.process_time() - start < 2


def test_a_tokenizer_is_made_once():
    Limits(Counter(), reply=5, unit=PAIRS)
    named = importlib.import_module("tests.wrappers.test_limits").Pairs  # not the class here: pytest loads twice
    made = named.made
    Limits(Counter(), reply=5, unit=PAIRS)
    assert named.made == made >= 1


@pytest.mark.parametrize(
    "unit",
    ["tokens", "", 5, None, ["words"], "py:", "py::", "py:tests", "py:tests:x", "py:no.such.module:f", "py:json:dumps"]
    + ["py:json:JSONEncoder"],
)
def test_unknown_units(unit):
    with pytest.raises(ConfigError, match=r"Limits: .*expected (the unit characters|a factory|py:module:factory)"):
        Limits(Counter(), reply=5, unit=unit)


@pytest.mark.parametrize("name", ["reply", "observation", "episode"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_limits_are_whole_numbers(name, value):
    with pytest.raises(ConfigError, match=f"expected {name} >= 1 or None"):
        Limits(Counter(), **{name: value})


# Cutting --------------------------------------------------------------------------------------------------------------


def test_without_limits_nothing_changes():
    one, other = Counter(), Limits(Counter())
    assert one.reset(seed=1) == other.reset(seed=1)
    for action in ("up", "what", None, "x" * 100):
        assert one.step(action) == other.step(action)


def test_only_the_beginning_of_a_reply_is_read():
    env = Limits(TextActions(Counter(), codec=ANSWER), reply=len("<answer>up</answer>"))
    env.reset(options=TASK)
    assert env.step("<answer>up</answer>, I think")[4]["is_valid"]
    assert not env.step(" <answer>up</answer>")[4]["is_valid"]
    assert not env.step(None)[4]["is_valid"]


@pytest.mark.parametrize(
    ("unit", "limit", "shown"),
    [("characters", 5, "one t"), ("words", 2, "one two"), (PAIRS, 3, "one tw"), (PAIRS, 7, "one two three")],
)
def test_observations_are_cut_from_the_right(unit, limit, shown):
    env = Limits(Echo(), observation=limit, unit=unit)
    assert env.reset(options=TASK)[0] == "goal 6"
    assert env.step("one two three")[0] == shown


def test_the_task_is_never_cut_but_a_restored_observation_is():
    env = Limits(Counter(), observation=3)
    assert env.reset(options=TASK)[0] == "goal 6"
    assert env.step("up")[0] == "at "
    assert Limits(Counter(), observation=3).reset(options={"snapshot": agentenvs.snapshot(env)})[0] == "at "
    assert env.reset(options={**TASK, "prefix": ["up", "up"]})[0] == "at "
    assert env.reset(options={"restart": True})[0] == "at "


def test_messages_are_cut_as_one_text():
    answers = dump([Message("tool", "12345", "up", "a"), Message("tool", "678", "up", "b"), Message("user", "9")])
    env = Limits(Echo(), observation=7)
    env.reset(options=TASK)
    shown = load(env.step(answers)[0])
    assert shown == [Message("tool", "12345", "up", "a"), Message("tool", "67", "up", "b"), Message("user", "")]


def test_text_that_only_looks_like_messages_is_cut_as_text():
    env = Limits(Echo(), observation=14)
    env.reset(options=TASK)
    for text in ('[{"role": "user", "content": "hello"}]', '[ {"role": "tool", "content": "hello"}]', "[" * 50_000):
        assert env.step(text)[0] == text[:14]


# The budget of an episode ---------------------------------------------------------------------------------------------


def budget(limit: int = 6, unit: str = "characters", **limits: int) -> Limits:
    env = Limits(Counter(), episode=limit, unit=unit, **limits)
    env.reset(options=TASK)
    return env


def test_the_episode_ends_when_nothing_is_left():
    env = budget(6)
    assert env.step("up")[2:4] == (False, False)
    assert env.step("up")[2:4] == (False, False)
    observation, reward, terminated, truncated, info = env.step("up")
    assert (observation, reward, terminated, truncated) == ("at 3", -0.25, False, True)
    assert (info["end_reason"], info["success"], env.status) == ("reply_budget", False, "ended")
    saved = agentenvs.snapshot(env)
    with pytest.raises(EpisodeOver, match="reply_budget"):
        env.step("up")
    assert agentenvs.snapshot(env) == saved
    assert (env.reset(options=TASK)[1]["turn"], env.status) == (0, "playing")
    assert "end_reason" not in env.step("up")[4]


def test_a_reply_is_cut_to_what_is_left():
    env = budget(5)
    env.step("up")
    *_, truncated, info = env.step("up  and more")
    assert (truncated, info["is_valid"], info["state_key"]) == (True, True, "2")
    env = budget(3)
    env.step("up")
    assert env.step("up")[3]
    assert env.unwrapped._at == 1  # of "up" only "u" was left


def test_half_a_character_that_is_left_does_not_keep_an_episode_alive():
    env = budget(2, PAIRS)
    env.step("up")
    assert not env._over
    assert env.step("√√")[3]


def test_a_reply_limit_and_a_budget_together():
    env = budget(4, reply=3)
    assert not env.step("up and more")[3]  # 3 of 4
    assert env.step("up")[3]
    assert env.unwrapped._at == 1


def test_words_are_counted():
    env = budget(3, "words")
    assert [
        env.step(action)[3]
        for action in (
            "up",
            "  ",
            "go away",
        )
    ] == [False, False, True]


def test_an_end_of_the_environments_own_comes_first():
    env = budget(6 * 2)
    *_, terminated, truncated, info = [env.step("up") for _ in range(6)][-1]
    assert (terminated, truncated, info["end_reason"], env.status) == (True, False, "reached", "ended")
    env = Limits(Counter(max_turns=1), episode=1)
    env.reset(options=TASK)
    assert env.step("up")[4]["end_reason"] == "turn_limit"
    with pytest.raises(EpisodeOver, match="turn_limit"):
        env.step("up")


def test_a_void_episode_stays_void():
    env = budget(100)
    with pytest.raises(ZeroDivisionError):
        env.step("crash")
    assert env.status == "void"


@given(st.lists(st.sampled_from(["up", "down", "what", "", "jump", "√" * 4]), max_size=6), st.integers(0, 6))
def test_continuing_a_restored_episode_equals_continuing(replies, at):
    def make() -> Limits:
        return Limits(TextActions(Counter()), reply=3, observation=4, episode=9, unit=PAIRS)

    one, other = make(), make()
    seen = one.reset(options=TASK)
    for number, reply in enumerate([*replies, *["up"] * 6]):
        if number == at:
            saved = json.loads(json.dumps(agentenvs.snapshot(one)))
            assert other.reset(options={"snapshot": saved}) == (seen[0], seen[-1])
            assert other.status == one.status
        if one.status != "playing":
            break
        seen = one.step(reply)
        if number >= at:
            assert other.step(reply) == seen


@pytest.mark.parametrize("state", [{}, {"used": -1, "over": False}, {"used": 1, "over": 1}, {"used": 1}])
def test_a_foreign_state_is_refused(state):
    env = budget()
    saved = agentenvs.snapshot(env)
    saved["stack"][-1]["state"] = state
    with pytest.raises(SnapshotError):
        env.reset(options={"snapshot": saved})


# What is kept ---------------------------------------------------------------------------------------------------------


def test_what_stays_in_the_transcript():
    assert kept(Counter(), "up") == 2
    assert kept(TextActions(Counter(), codec=ANSWER), "<answer>up</answer> x") == 21
    cut = TextActions(Counter(), codec="xml")
    assert kept(cut, "<up></up> and") == 9
    assert [kept(Limits(cut, reply=n), "<up></up> and") for n in (8, 9, 10)] == [8, 9, 9]
    env = FormatReward(Limits(TextActions(Counter(), codec=ANSWER), reply=10, episode=14))
    env.reset(options=TASK)
    assert kept(env, "0123456789ab") == 10
    env.step("0123456789ab")
    assert kept(env, "0123456789ab") == 4
    assert kept(env, "01") == 2


def test_a_run_records_the_end_and_goes_on(tmp_path):
    wrappers = [{"name": "TextActions", "kwargs": {}}, {"name": "Limits", "kwargs": {"episode": 5}}]
    wrappers += [{"name": "FormatReward", "kwargs": {"valid": 0.5}}]
    jobs = [Job(COUNTER, f"counter/test/{n}", seed=n, wrappers=wrappers) for n in (3, 4)]
    out = tmp_path / "episodes.jsonl"
    made = list(collect(None, lambda observation, info: "up", jobs, out=out))
    assert [(one.end_reason, len(one.steps), one.steps[-1].truncated) for one in made] == [
        ("reply_budget", 3, True)
    ] * 2
    assert [one.total_reward for one in made] == [3 * 0.25 - 0.25] * 2  # of the third "up" one character was left
    again = list(collect(None, f"replay:{out}", jobs))
    assert [one.digest for one in again] == [one.digest for one in made]
