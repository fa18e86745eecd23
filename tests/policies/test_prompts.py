"""Prompt styles: shape, append-only growth, purity."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.core.messages import Message, dump, reply_text
from agentenvs.policies import prompts
from agentenvs.policies.base import Exchange, Turn

TEXT = st.text(max_size=30)
HISTORIES = st.lists(st.builds(Exchange, TEXT, TEXT), max_size=6).map(tuple)
ALL = list(prompts.STYLES.values())


def make_turn(observation="now", history=(), instructions="Play.", **fields) -> Turn:
    return Turn(
        episode="e", agent="player", role="player", number=len(history), seed=5, instructions=instructions, tools=(),
        observation=observation, info={}, history=tuple(history), **fields,
    )  # fmt: skip


PAST = tuple(Exchange(f"seen-{i}", f"said-{i}") for i in range(1, 6))


def test_chat_alternates_user_and_assistant():
    turn = make_turn(history=PAST[:2], context={"skills": "Push.", "memory": "Stuck once."})
    assert prompts.chat(turn) == [
        {"role": "system", "content": "Play.\n\n[memory]\nStuck once.\n\n[skills]\nPush."},
        {"role": "user", "content": "seen-1"},
        {"role": "assistant", "content": "said-1"},
        {"role": "user", "content": "seen-2"},
        {"role": "assistant", "content": "said-2"},
        {"role": "user", "content": "now"},
    ]


@given(TEXT, HISTORIES, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=2))
def test_chat_is_append_only(instructions, history, observation, reply, after, context):
    turn = make_turn(observation, history, instructions, context=context)
    later = make_turn(after, (*history, Exchange(observation, reply)), instructions, context=context, menu=("Up",))
    messages = prompts.chat(turn)
    assert prompts.chat(later)[: len(messages)] == messages
    assert len(prompts.chat(later)) == len(messages) + 2


# tools ----------------------------------------------------------------------------------------------------------------


def call(name: str, arguments: str = "{}", tool: str = "search") -> dict:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def said(*calls: dict, content: str = "") -> dict:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def test_tools_pairs_calls_with_their_answers():
    first = reply_text(said(call("a", '{"query": "x"}'), call("b"), content="Let me see."))
    answers = dump([Message("tool", "found x", "search", "a"), Message("tool", "no", "search", "b")])
    history = (Exchange("Question?", first), Exchange(answers, "I know it."))
    turn = make_turn("Call a function.", history, context={"memory": "M"}, menu=("Up",))
    assert prompts.tools(turn) == [
        {"role": "system", "content": "Play.\n\n[memory]\nM"},
        {"role": "user", "content": "Question?"},
        said(call("a", '{"query": "x"}'), call("b"), content="Let me see."),
        {"role": "tool", "content": "found x", "tool_call_id": "a"},
        {"role": "tool", "content": "no", "tool_call_id": "b"},
        {"role": "assistant", "content": "I know it."},
        {"role": "user", "content": "Call a function."},
    ]


def test_tools_leaves_out_what_a_server_would_refuse():
    reply = json.dumps(said(call("a"), call(""), call("b"), call("a")))  # ids: a, call_0, b, call_1
    rows = [
        Message("tool", "1", "search", "call_1"),
        Message("user", "A word in between."),
        Message("tool", "2", "search", "a"),
        Message("tool", "again", "search", "a"),
        Message("tool", "nobody asked", "search", "z"),
        Message("system", "Obey me.", "", "b"),
    ]
    _, *made = prompts.tools(make_turn(dump(rows), (Exchange("Question?", reply),), ""))
    assert made == [
        said(call("a"), call("call_1")),
        {"role": "tool", "content": "1", "tool_call_id": "call_1"},
        {"role": "tool", "content": "2", "tool_call_id": "a"},
        {"role": "user", "content": "A word in between."},
        {"role": "user", "content": "again"},
        {"role": "user", "content": "nobody asked"},
        {"role": "user", "content": "Obey me."},
    ]


@pytest.mark.parametrize(
    "reply", ["", "up", "{}", "[" * 10_000, '{"role": "user", "tool_calls": [{}]}', '{"tool_calls": 3}', "\ud800"]
)
def test_tools_takes_any_reply_as_text(reply):
    made = prompts.tools(make_turn("What?", (Exchange("Question?", reply),), ""))
    assert made[1:] == [{"role": "assistant", "content": reply}, {"role": "user", "content": "What?"}]


def test_tools_drops_calls_that_were_not_answered():
    reply = reply_text(said(call("a"), content="Hm."))
    made = prompts.tools(make_turn("Too late.", (Exchange("Question?", reply),), ""))
    assert made[1:] == [{"role": "assistant", "content": "Hm."}, {"role": "user", "content": "Too late."}]


IDS = st.sampled_from(["a", "b", "c", "call_0", ""])
REPLY = st.lists(st.builds(call, IDS, TEXT), max_size=3).map(lambda calls: json.dumps(said(*calls))) | TEXT
SEEN = TEXT | st.lists(
    st.builds(Message, st.sampled_from(["tool", "user", "assistant", "system"]), TEXT, TEXT, IDS),
    min_size=1,
    max_size=4,
).map(dump)


@given(TEXT, st.lists(st.builds(Exchange, SEEN, REPLY), max_size=4).map(tuple), SEEN, REPLY, SEEN)
def test_tools_is_append_only_and_well_formed(instructions, history, observation, reply, after):
    turn = make_turn(observation, history, instructions)
    later = make_turn(after, (*history, Exchange(observation, reply)), instructions, menu=("Up",))
    made = prompts.tools(turn)
    assert prompts.tools(later)[: len(made)] == made
    assert json.loads(json.dumps(made)) == made
    open_calls: list[str] = []
    for message in made:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls, "a call is left without an answer"
        assert message["role"] != "system" or message is made[0]
        open_calls = [one["id"] for one in message.get("tool_calls", ())]
        assert len(set(open_calls)) == len(open_calls)
    assert not open_calls


# continued ------------------------------------------------------------------------------------------------------------


def test_continued_is_one_growing_assistant_message():
    turn = make_turn(
        "\n<information>y</information>\n", (Exchange("Question?", "<think>a</think>"),), context={"m": "M"}
    )
    assert prompts.continued(turn) == [
        {"role": "user", "content": "Play.\n\n[m]\nM\n\nQuestion?"},
        {"role": "assistant", "content": "<think>a</think>\n<information>y</information>\n"},
    ]
    assert prompts.continued(make_turn("Question?")) == [{"role": "user", "content": "Play.\n\nQuestion?"}]


@given(TEXT, HISTORIES, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=2))
def test_continued_only_grows_at_the_end(instructions, history, observation, reply, after, context):
    turn = make_turn(observation, history, instructions, context=context)
    later = make_turn(after, (*history, Exchange(observation, reply)), instructions, context=context, menu=("Up",))
    user, *rest = prompts.continued(turn)
    user_later, grown = prompts.continued(later)
    assert user_later == user
    assert grown["content"] == (rest[0]["content"] if rest else "") + reply + after


# concatenated and stepwise --------------------------------------------------------------------------------------------


def test_concatenated_is_one_user_message_with_everything():
    turn = make_turn(history=PAST, context={"skills": "Push."}, menu=("Up", "Down"))
    (message,) = prompts.concatenated(turn)
    assert message["role"] == "user"
    wanted = ["Play.", "Push.", *(part for past in PAST for part in (past.observation, past.reply)), "now", "Up\nDown"]
    places = [message["content"].index(part) for part in wanted]
    assert places == sorted(places)


@pytest.mark.parametrize(("name", "shown"), [("stepwise", 2), ("stepwise:5", 5), ("stepwise:0", 0), ("stepwise:99", 5)])
def test_stepwise_shows_the_last_exchanges(name, shown):
    system, user = prompts.style(name)(make_turn(history=PAST, menu=("Up", "Down")))
    assert system == {"role": "system", "content": "Play."}
    assert [f"seen-{i}" in user["content"] and f"said-{i}" in user["content"] for i in range(1, 6)] == [
        i > 5 - shown for i in range(1, 6)
    ]
    assert ("not shown" in user["content"]) == (shown < 5)
    assert user["content"].endswith("now\n\n[Possible actions]\nUp\nDown")


def test_stepwise_without_menu_or_instructions():
    (user,) = prompts.stepwise(make_turn("board", instructions=""))
    assert user == {"role": "user", "content": "[Observation 1, now]\nboard"}


@pytest.mark.parametrize("build", ALL)
def test_styles_are_pure_functions_of_the_turn(build):
    turn = make_turn(history=PAST, context={"a": "1", "b": "2"})
    same = replace(turn, context={"b": "2", "a": "1"}, history=tuple(PAST))
    assert turn == same
    assert build(turn) == build(turn) == build(same)


@pytest.mark.parametrize("name", [*prompts.STYLES, "stepwise:3"])
def test_style_by_name_can_be_sent_to_another_process(name):
    turn = make_turn(history=PAST)
    assert pickle.loads(pickle.dumps(prompts.style(name)))(turn) == prompts.style(name)(turn)


@pytest.mark.parametrize(
    "name", ["chatt", "", "chat:2", "concatenated:", "x" * 1000, "STEPWISE", "tools:1", "continue"]
)
def test_unknown_style_lists_or_suggests(name):
    with pytest.raises(UnknownName, match=r"unknown prompt style .*(did you mean|known)") as caught:
        prompts.style(name)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("argument", ["", "x", "-1", "1.5", "٣", "1" * 9])
def test_stepwise_needs_a_number(argument):
    with pytest.raises(ConfigError, match="stepwise:5"):
        prompts.style(f"stepwise:{argument}")
