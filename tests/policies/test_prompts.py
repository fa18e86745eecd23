"""Prompt styles: shape, append-only growth, purity."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.policies import prompts
from agentenvs.policies.base import Exchange, Turn

TEXT = st.text(max_size=30)
HISTORIES = st.lists(st.builds(Exchange, TEXT, TEXT), max_size=6).map(tuple)
ALL = [prompts.chat, prompts.concatenated, prompts.stepwise]


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


@pytest.mark.parametrize("name", ["chatt", "", "chat:2", "concatenated:", "x" * 1000, "STEPWISE"])
def test_unknown_style_lists_or_suggests(name):
    with pytest.raises(UnknownName, match=r"unknown prompt style .*(did you mean|known)") as caught:
        prompts.style(name)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("argument", ["", "x", "-1", "1.5", "٣", "1" * 9])
def test_stepwise_needs_a_number(argument):
    with pytest.raises(ConfigError, match="stepwise:5"):
        prompts.style(f"stepwise:{argument}")
