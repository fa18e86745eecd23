"""Reward wrappers: named components each, and the reward stays the sum. All figures are worked by hand."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from hypothesis import example, given
from hypothesis import strategies as st

import agentenvs
from agentenvs.core.env import Outcome
from agentenvs.core.errors import ConfigError, SnapshotError, UnknownName
from agentenvs.core.info import Key
from agentenvs.core.tools import Call, Grammar, Parameter, Tool
from agentenvs.wrappers import (
    WRAPPERS,
    CallCost,
    FormatReward,
    Limits,
    SequenceReward,
    TextActions,
    TurnCost,
    add_component,
    build,
    protocol,
    valid_sequence,
)
from agentenvs.wrappers.sequence import BROKEN, Blocks, State
from tests.core.tiny_env import Counter

ANSWER = {"name": "tagged", "think": "", "action": "answer", "separator": ","}


def test_add_component_keeps_the_sum_and_the_callers_mapping():
    components = {"step": -0.1}
    info = {"reward_components": components}
    assert add_component(info, "bonus", 1.0) == 0.9
    assert info["reward_components"] == {"step": -0.1, "bonus": 1.0}
    assert components == {"step": -0.1}


# FormatReward ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "fault", "valid", "expected"),
    [
        ("<answer>up</answer>", -0.5, 0.25, -0.25 + 0.25),
        ("<answer>up,up</answer>", -0.5, 0.25, -0.5 + 0.25),
        ("<answer>up,what</answer>", -0.5, 0.25, -0.25 - 0.5),
        ("up", -0.5, 0.25, -0.5),
        ("up", 0.0, 0.0, 0.0),
    ],
)
def test_the_format_component_by_hand(reply, fault, valid, expected):
    env = FormatReward(TextActions(Counter(), codec=ANSWER), fault=fault, valid=valid)
    _, info = env.reset(options={"task": "counter/test/4"})
    assert info["reward_components"] == {"move": 0.0, "goal": 0.0, "format": 0.0}
    _, reward, *_, info = env.step(reply)
    assert reward == expected == sum(info["reward_components"].values())
    assert info["reward_components"]["format"] == (valid if info["is_valid"] else fault)


def test_inside_of_text_actions_it_counts_every_call():
    env = TextActions(FormatReward(Counter(), fault=-1.0, valid=0.5), codec=ANSWER)
    env.reset(options={"task": "counter/test/4"})
    *_, info = env.step("<answer>up,what,up</answer>")
    assert info["reward_components"] == {"move": -0.5, "goal": 0.0, "format": 0.0}


def test_score_and_success_do_not_move():
    plain, rewarded = Counter(), FormatReward(Counter(), valid=5.0)
    for env in (plain, rewarded):
        env.reset(options={"task": "counter/test/0"})
    one, other = plain.step("up")[4], rewarded.step("up")[4]
    assert [one[k] for k in ("score", "success")] == [other[k] for k in ("score", "success")] == [0.5, False]


def test_ragen_pays_a_tenth_for_a_broken_reply():
    env = protocol(gym.make("agentenvs/Sokoban-v0", preset="ragen"))
    env.reset(seed=1)
    assert env.step("Up")[1] == -0.1
    assert env.step("<think></think><answer>fly</answer>")[1] == -0.1
    _, reward, *_, info = env.step("<think></think><answer>fly || Up</answer>")
    assert info["reward_components"]["step"] == info["reward_components"]["format"] == -0.1
    assert reward == -0.2


def test_the_component_is_restored():
    env = FormatReward(Counter(), fault=-0.5)
    env.reset(seed=1)
    *_, info = env.step("what")
    again = FormatReward(Counter(), fault=-0.5)
    assert again.reset(options={"snapshot": agentenvs.snapshot(env)})[1] == info
    assert again.reset(seed=1)[1]["reward_components"]["format"] == 0.0


def test_a_penalty_for_invalid_actions_beside_the_format():
    env = FormatReward(FormatReward(Counter(), valid=0.5), fault=-0.25, component="invalid")
    env.reset(options={"task": "counter/test/4"})
    assert env.step("what")[4]["reward_components"] == {"move": 0.0, "goal": 0.0, "format": 0.0, "invalid": -0.25}
    assert env.step("up")[4]["reward_components"] == {"move": -0.25, "goal": 0.0, "format": 0.5, "invalid": 0.0}


# A little search task -------------------------------------------------------------------------------------------------


class Quiz(Counter):
    """search[text] shows a passage, answer[gold] wins; search[broken] fails, and an empty query is refused."""

    family = "counter"
    components = ("em",)
    extra_info = {"gold_seen": Key(bool, "private", "a result held the answer")}

    def __init__(self, *, max_turns: int = 4, passage: str = "a gold ring") -> None:
        super().__init__(max_turns=max_turns)
        text = (Parameter("text", "string", "what"),)
        self.tools = Tool("search", "look it up", text, kind="explore"), Tool("answer", "say it", text)
        self.grammar = Grammar(self.tools)
        self._spelled = self.grammar.spelled
        self._passage, self._seen, self._right = passage, False, False

    def begin(self, task: Any) -> str:
        self._seen = self._right = False
        return "Question?"

    def play(self, call: Call) -> Outcome:
        text = call.arguments["text"]
        if call.tool == "answer":
            self._right = text == "gold"
            return Outcome("", {"em": float(self._right)}, True, "answered")
        if not text:
            return self.reject("Say what to look for.")
        if text == "broken":
            return Outcome("no such page", {}, error_type="not_found")
        self._seen = self._seen or "gold" in self._passage
        return Outcome(self._passage, {}, True)

    def tell(self, info: dict[str, Any]) -> None:
        info |= {"score": float(self._right), "success": self._right, "state_key": str(self._seen), "observed": {}}

    def more_info(self) -> dict[str, Any]:
        return {"gold_seen": self._seen}

    def save(self) -> dict[str, Any]:
        return {"seen": self._seen, "right": self._right}

    def load(self, task: Any, state: Any) -> None:
        self._seen, self._right = state["seen"], state["right"]


def quiz(*specs: tuple[str, dict], cut: bool = True, unreadable: str = "hold", **options: Any) -> gym.Env:
    """The task with replies in tags, in the wrappers that the specs name."""
    actions = ("TextActions", {"codec": {"name": "xml", "cut": cut, "escape": False}, "unreadable": unreadable})
    return build(Quiz(**options), [{"name": name, "kwargs": kwargs} for name, kwargs in (actions, *specs)])


SEARCH, THINK = "<think>a</think><search>q</search>", "<think>b</think>"
GOLD, WRONG = f"{THINK}<answer>gold</answer>", f"{THINK}<answer>tin</answer>"


def play(env: gym.Env, *replies: str) -> list[dict[str, float]]:
    """Reset and play; the components of each turn, whose sum the reward is."""
    env.reset(options={"task": "counter/test/0"})
    found = []
    for reply in replies:
        _, reward, *_, info = env.step(reply)
        assert reward == pytest.approx(sum(info["reward_components"].values()), abs=1e-15)
        assert all(type(value) is float and str(value) != "-0.0" for value in info["reward_components"].values())
        found.append(info["reward_components"])
    return found


# SequenceReward -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "total"),
    [
        ([GOLD], 1.0),
        ([SEARCH, GOLD], 1.0),
        ([SEARCH, SEARCH, GOLD + " \n"], 1.0),
        (["<answer>gold</answer>"], 0.8),
        ([SEARCH, "<answer>gold</answer>"], 0.8),
        (["nothing", GOLD], 0.8),
        (["<think>open", "still</think><answer>gold</answer>"], 0.8),
        ([SEARCH, GOLD + " and a tail that the codec cuts"], 1.0),
        ([WRONG], 0.2),
        ([SEARCH, WRONG], 0.2 + 0.05),
        ([SEARCH, "<answer>tin</answer>"], 0.1),
        ([SEARCH, SEARCH, SEARCH, SEARCH], 0.1),
        (["", "", "", ""], 0.1),
        ([THINK + "<search>q</search> a tail that the codec cuts </think>", WRONG], 0.2 + 0.05),
    ],
)
@pytest.mark.parametrize("compat", [False, True])
def test_the_four_cases_of_the_sequence_reward(replies, total, compat):
    env = quiz(("SequenceReward", {"retrieval": 0.05, "compat": compat}))
    *before, last = play(env, *replies)
    assert all(part == {"em": 0.0, "format": 0.0, "retrieval": 0.0} for part in before)
    assert sum(last.values()) == pytest.approx(total, abs=1e-15)
    assert last["em"] == (1.0 if "gold" in replies[-1] else 0.0)
    assert last["retrieval"] == (0.05 if total == 0.25 else 0.0)


def test_the_retrieval_bonus_needs_a_shown_gold_a_wrong_answer_and_order():
    spec = ("SequenceReward", {"retrieval": 0.05})
    assert play(quiz(spec, passage="nothing"), SEARCH, WRONG)[-1]["retrieval"] == 0.0
    assert play(quiz(spec), SEARCH, GOLD)[-1]["retrieval"] == 0.0
    assert play(quiz(spec), SEARCH, "<answer>tin</answer>")[-1]["retrieval"] == 0.0
    env = SequenceReward(TextActions(Counter(max_turns=1)), retrieval=0.05)  # tells no gold_seen
    assert play(env, "up")[-1] == {"move": -0.25, "goal": 0.0, "format": 0.1, "retrieval": 0.0}


@pytest.mark.parametrize("passage", ["</information><answer>gold</answer>", "<think>", "</search>"])
def test_what_a_passage_says_is_judged_in_compat_only(passage):
    ours = play(quiz(("SequenceReward", {}), passage=passage), SEARCH, GOLD)[-1]
    theirs = play(quiz(("SequenceReward", {"compat": True}), passage=passage), SEARCH, GOLD)[-1]
    assert (ours["format"], theirs["format"]) == (0.0, -0.2)


def test_a_cut_observation_is_judged_in_compat_only():
    limits = ("Limits", {"observation": 20})
    for compat, expected in ((False, 0.0), (True, -0.2)):
        env = quiz(limits, ("SequenceReward", {"compat": compat}))
        assert play(env, SEARCH, GOLD)[-1]["format"] == expected
    env = quiz(("Limits", {"observation": 200}), ("SequenceReward", {"compat": True}))
    assert play(env, SEARCH, GOLD)[-1]["format"] == 0.0


def test_a_refused_query_breaks_the_order_though_its_tags_are_in_order():
    refused = THINK + "<search> </search>"
    for compat in (False, True):
        assert play(quiz(("SequenceReward", {"compat": compat})), refused, GOLD)[-1]["format"] == -0.2


def test_a_sentence_without_tags_is_part_of_an_open_thought_in_compat_only():
    for compat, expected in ((False, -0.2), (True, 0.0)):
        env = quiz(("SequenceReward", {"compat": compat}), unreadable="play")
        assert play(env, "<think>open", "still</think><answer>gold</answer>")[-1]["format"] == expected


def test_what_a_codec_leaves_of_a_reply_is_judged():
    for reply, expected in ((GOLD + ".", -0.2), (GOLD + "\n", 0.0)):
        assert play(quiz(("SequenceReward", {}), cut=False), reply)[-1]["format"] == expected


def test_what_the_limits_cut_off_a_reply_is_not_judged():
    env = quiz(("Limits", {"reply": len(GOLD)}), ("SequenceReward", {}))
    assert play(env, GOLD + " and more")[-1]["format"] == 0.0


def test_an_episode_that_the_budget_ends_is_paid():
    env = quiz(("Limits", {"episode": len(SEARCH) + 3}), ("SequenceReward", {}))
    assert play(env, SEARCH, GOLD)[-1] == {"em": 0.0, "format": 0.1, "retrieval": 0.0}


def test_other_tags_and_marks():
    env = SequenceReward(TextActions(Counter(), codec=ANSWER), think="", calls=[], answer="answer")
    assert play(env, "<answer>up</answer>")[-1]["format"] == 0.0  # goes on
    assert play(env, "<answer>up,up</answer>")[-1] == {"move": -0.5, "goal": 1.0, "format": 0.0, "retrieval": 0.0}
    marks = ["<|begin|>", "<|end|>"]
    blocks = Blocks(calls=[marks], result=["<|docs|>", "<|/docs|>"])
    text = "<think></think><|begin|>q<|end|><|docs|><|do<|/docs|><think></think><answer></answer>"
    assert valid_sequence(text, blocks)
    assert not valid_sequence(text.replace("<|do<", "<|docs|><"), blocks)


@pytest.mark.parametrize(
    "wrong",
    [
        {"calls": "search"},
        {"calls": ["think"]},
        {"result": "answer"},
        {"think": ["<a>", "<a>"]},
        {"think": ["a", "b"]},
        {"think": ["<a>"]},
        {"calls": ["a>b"]},
        {"result": ["<a>", "</a>", "<b>"]},
        {"answer": ""},
        {"think": ["<>", "</>"]},
    ],
)
def test_blocks_need_marks_of_their_own(wrong):
    with pytest.raises(ConfigError, match="expected"):
        SequenceReward(Counter(), **wrong)


# The state machine ----------------------------------------------------------------------------------------------------

TAGS = [f"<{slash}{tag}>" for tag in ("think", "search", "information", "answer") for slash in ("", "/")]
SHAPE = re.compile(r"(TH(SRTH)*A)")


def slow(text: str) -> bool:
    """The order by another road: letters for whole blocks, a shape over the letters, and balanced tags."""
    if any(text.count(f"<{tag}>") != text.count(f"</{tag}>") for tag in ("think", "search", "information", "answer")):
        return False
    letters, rest = "", text
    while rest.strip():
        rest = rest.lstrip()
        for tag, letter in (("think", "TH"), ("search", "S"), ("information", "R"), ("answer", "A")):
            if rest.startswith(f"<{tag}>") and f"</{tag}>" in rest:
                inside, rest = rest[len(tag) + 2 :].split(f"</{tag}>", 1)
                if any(other in inside for other in TAGS):
                    return False
                letters += letter
                break
        else:
            return False
    return SHAPE.fullmatch(letters) is not None


#: Sound transcripts, sound ones with one piece too much or too little, and rubble.
BLOCK = st.sampled_from(["", "x", " ", "<", "<think", "a < b > c", "</", "\u2003", "\0", "<b>", "<Think>", "é\ud800"])
SPACE = st.sampled_from(["", " ", "\n\n", "\t\u2003"])


@st.composite
def transcripts(draw: st.DrawFn) -> str:
    tags = ["think", *(draw(st.integers(0, 3)) * ["search", "information", "think"]), "answer"]
    pieces = []
    for tag in tags:
        pieces += [draw(SPACE), f"<{tag}>", draw(BLOCK), f"</{tag}>"]
    pieces.append(draw(SPACE))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(pieces) - 1))
        pieces[at] = draw(st.sampled_from([*TAGS, "", "x", "<thi", "nk>", "< think>", "<THINK>"]))
    return "".join(pieces)


RUBBLE = st.lists(st.sampled_from([*TAGS, "<", "</", "thi", "nk>", ">", " ", "\n", "x"]), max_size=12).map("".join)


@given(transcripts() | RUBBLE)
@example("")
@example("<think></think><answer></answer>")
@example("<think></think><answer></answer><")
@example("<think><think></think></think><answer></answer>")
@example("<think></think><answer></answer><think></think><answer></answer>")
def test_the_machine_agrees_with_another_way_to_judge(text):
    assert valid_sequence(text) == slow(text)


@given(transcripts() | RUBBLE, st.lists(st.integers(0, 80), max_size=5))
def test_cutting_a_transcript_differently_changes_nothing(text, cuts):
    blocks = Blocks()
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    state = blocks.start
    for begin, end in pairwise(bounds):
        state = blocks.advance(state, text[begin:end])
        state = State(*json.loads(json.dumps(state)))
        assert blocks.is_state(list(state))
    assert state == blocks.advance(blocks.start, text)
    assert blocks.complete(state) == valid_sequence(text)


@pytest.mark.parametrize("piece", ["<", "<think>", "</think>", "<think", " ", "x", "<think></think><search></search>"])
def test_hostile_transcripts_cost_linear_time(piece):
    blocks = Blocks()
    text = piece * (2_000_000 // len(piece))
    for start in (blocks.start, State("<think>"), State("end"), BROKEN):
        assert not blocks.complete(blocks.advance(start, text)) or not text.strip()


def test_the_state_stays_small():
    blocks = Blocks()
    state = blocks.start
    for _ in range(1000):
        state = blocks.advance(state, "<think>" + "<" * 1000)
    assert len("".join(state)) < 40


# Costs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("free", "costs"),
    [(0, [-0.25, 0.0, 0.0, -0.25]), (1, [0.0, 0.0, 0.0, -0.25]), (2, [0.0] * 4), (9, [0.0] * 4)],
)
def test_each_search_that_ran_costs(free, costs):
    env = quiz(("CallCost", {"cost": 0.25, "free": free}))
    replies = SEARCH, "nothing", "<search>broken</search>", SEARCH
    assert [part["call_cost"] for part in play(env, *replies)] == costs


def test_costs_of_several_calls_in_a_reply():
    env = CallCost(TextActions(Counter(), codec=ANSWER), cost=0.5, tools=["up", "jump"], free=1)
    found = play(env, "<answer>up,what,down</answer>", "<answer>up</answer>", "<answer>down</answer>")
    assert [part["call_cost"] for part in found] == [0.0, -0.5, 0.0]
    capped = CallCost(TextActions(Counter(), codec=ANSWER, max_calls=1), cost=0.5, tools=["down"])
    assert play(capped, "<answer>down,down,down</answer>")[0]["call_cost"] == -0.5


def test_costs_on_native_actions():
    env = TextActions(CallCost(Counter(), cost=0.5, tools=["up"], free=1), codec=ANSWER)
    assert play(env, "<answer>down,up,what</answer>", "<answer>up</answer>")[1]["call_cost"] == -0.5
    found = play(CallCost(Quiz(), cost=0.5), "search[q]", "search[broken]", "search[]", "search[q]")
    assert [part["call_cost"] for part in found] == [-0.5, 0.0, 0.0, -0.5]


def test_every_turn_costs():
    env = quiz(("TurnCost", {"cost": 0.125}))
    assert [part["turn_cost"] for part in play(env, "nothing", SEARCH, GOLD)] == [-0.125] * 3
    assert env.reset(seed=1)[1]["reward_components"]["turn_cost"] == 0.0


def test_no_cost_is_no_negative_zero():
    env = quiz(("TurnCost", {"cost": 0}), ("CallCost", {"cost": 0}), ("SequenceReward", {"structure": 0}))
    assert play(env, SEARCH, "<answer>gold</answer>")[-1] == {
        "em": 1.0, "turn_cost": 0.0, "call_cost": 0.0, "format": 0.0, "retrieval": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: CallCost(Counter(), cost=1.0), r"unknown tool 'search'.*known: crash, down"),
        (lambda: CallCost(Counter(), cost=1.0, tools="uo"), "did you mean 'up'"),
        (lambda: CallCost(Counter(), cost=1.0, tools=[3]), "unknown tool 3"),
    ],
)
def test_unknown_tools(make, match):
    with pytest.raises(UnknownName, match=match):
        make()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None])
def test_components_must_be_finite_numbers(value):
    for make, name in (
        (FormatReward, "valid"),
        (TurnCost, "cost"),
        (CallCost, "cost"),
        (SequenceReward, "retrieval"),
        (SequenceReward, "final"),
    ):
        with pytest.raises(ConfigError, match=f"{make.__name__}: expected a finite number for {name}"):
            make(Counter(), **{name: value})


@pytest.mark.parametrize("value", [None, True, 1])
def test_a_component_is_named_with_text(value):
    with pytest.raises(ConfigError, match="expected a name for component"):
        FormatReward(Counter(), component=value)


@pytest.mark.parametrize("free", [-1, 0.5, True, None])
def test_free_calls_are_counted(free):
    with pytest.raises(ConfigError, match="whole number >= 0 for free"):
        CallCost(Counter(), cost=1.0, tools=["up"], free=free)


# All of them ----------------------------------------------------------------------------------------------------------

STACK = (
    ("Limits", {"observation": 30, "episode": 150}),
    ("FormatReward", {"fault": -0.5, "component": "invalid"}),
    ("SequenceReward", {"retrieval": 0.05}),
    ("CallCost", {"cost": 0.25, "free": 1}),
    ("TurnCost", {"cost": 0.125}),
)


@pytest.mark.parametrize("name", ["FormatReward", "SequenceReward", "CallCost", "TurnCost"])
def test_a_component_that_is_there_already_is_refused(name):
    kwargs = {"cost": 1.0} if name.endswith("Cost") else {}
    with pytest.raises(ConfigError, match=rf"{name}: a reward component .* is there already; keep one"):
        quiz((name, kwargs), (name, kwargs)).reset(seed=1)
    with pytest.raises(ConfigError, match="component 'format' is there already"):
        quiz(("FormatReward", {}), ("SequenceReward", {})).reset(seed=1)
    with pytest.raises(ConfigError, match="component 'em' is there already"):
        quiz(("FormatReward", {"component": "em"})).reset(seed=1)


REPLIES = st.lists(
    st.sampled_from([SEARCH, THINK, GOLD, WRONG, "", "nothing", "<think>open", "<search>broken</search>"]), max_size=4
)


@given(REPLIES, st.integers(0, 4))
def test_continuing_a_restored_episode_equals_continuing(replies, at):
    one, other = quiz(*STACK), quiz(*STACK)
    seen = one.reset(options={"task": "counter/test/0"})
    for number, reply in enumerate(replies):
        if number == at:
            saved = json.loads(json.dumps(agentenvs.snapshot(one)))
            assert other.reset(options={"snapshot": saved}) == (seen[0], seen[-1])
        if one.get_wrapper_attr("status") != "playing":
            break
        seen = one.step(reply)
        if number >= at:
            assert other.step(reply) == seen
            assert agentenvs.snapshot(other) == agentenvs.snapshot(one)


@pytest.mark.parametrize(
    "broken",
    [{"sequence": ["end"]}, {"sequence": ["nowhere", ""]}, {"sequence": ["end", "<x"]}, {"sequence": [["end"], ""]},
     {"last": {}}, {"last": {"format": 0.0}}, {"last": {"format": 0.0, "retrieval": float("nan")}}, {"last": 0.0},
     {"sequence": None}, {"more": 1}],
)  # fmt: skip
def test_a_foreign_state_is_refused(broken):
    env = quiz(("SequenceReward", {}))
    play(env, SEARCH)
    saved = agentenvs.snapshot(env)
    saved["stack"][-1]["state"] |= broken
    with pytest.raises(SnapshotError):
        env.reset(options={"snapshot": saved})
    assert env.step(GOLD)[1] == 1.0  # the episode in play goes on


@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_wrappers_are_rebuilt_from_their_record(name):
    kwargs = {"CallCost": {"cost": 1.0, "tools": ["up"]}, "TurnCost": {"cost": 1.0}}.get(name, {})
    gym.register("agentenvs-tests/RewardCounter-v0", entry_point="tests.core.tiny_env:Counter", order_enforce=False,
                 disable_env_checker=True)  # fmt: skip
    try:
        env = WRAPPERS[name](gym.make("agentenvs-tests/RewardCounter-v0"), **kwargs)
        again = gym.make(EnvSpec.from_json(env.spec.to_json()))
        assert type(again) is WRAPPERS[name]
        assert again.reset(seed=1) == env.reset(seed=1)
        assert again.step("up") == env.step("up")
    finally:
        del gym.registry["agentenvs-tests/RewardCounter-v0"]


def test_limits_stand_inside_of_rewards():
    with pytest.raises(ConfigError, match="stands outside of a reward wrapper"):
        Limits(TurnCost(Counter(), cost=1.0))
