"""`xml`, worked by hand: which pair counts, where a reply ends, how results are shown, what the router says."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentenvs.core.messages import Message
from agentenvs.core.tools import Grammar, Parameter, Tool
from agentenvs.wrappers.codecs import codec
from tests.wrappers.routing import labels, runs

SEARCH = Tool("search", "Search.", (Parameter("query", "string", ""),))
ANSWER = Tool("answer", "Answer.", (Parameter("text", "string", ""),))
MOVE = Tool("move", "Move.", (Parameter("way", "enum", "", ("Up", "Down")),), form="{way}")
LOOK = Tool("look", "Look around.")
PLAN = Tool("plan", "Plan.", (Parameter("day", "integer", ""), Parameter("note", "string", "", required=False)))
QA = Grammar([SEARCH, ANSWER])
ALL = Grammar([SEARCH, ANSWER, MOVE, LOOK, PLAN])


def said(reply: str, parsed) -> list[tuple[str, str]]:
    return [(span.label, reply[span.start : span.end]) for span in parsed.spans]


@pytest.mark.parametrize(
    ("reply", "call", "kept"),
    [
        # As in Search-R1: a search's closing tag anywhere is the end, and then the leftmost complete pair counts.
        ("<think>x</think><search> who? </search>", "search[who?]", None),
        ("<search>a</search> and <search>b</search>", "search[a]", "<search>a</search>"),
        ("<answer>x</answer> or <search>q</search> so", "answer[x]", "<answer>x</answer> or <search>q</search>"),
        ("<answer>x</answer> rest <answer>y</answer>", "answer[x]", "<answer>x</answer>"),
        ("</answer><search>q</search>", "search[q]", None),
        ("</answer><answer>x</answer>", None, "</answer>"),
        ("</search><answer>x</answer>", None, "</search>"),
        ("<answer>x <search>q</search>", "search[q]", None),
        ("<answer>x <search>q</search></answer>", "search[q]", "<answer>x <search>q</search>"),
        ("<search>a <search>b</search>", "search[a <search>b]", None),
        ("<search>a <answer>b</answer>", "answer[b]", None),
        ("<search>a\nb</search>", "search[a\nb]", None),
        ("<search></search>", "search[]", None),
        ("<search> \n</search>", "search[]", None),
        ("<think>use <search>q</search> here</think>", "search[q]", "<think>use <search>q</search>"),
        ("<think>a <search> b</think><answer>x</answer>", "answer[x]", None),
        ("<Search>a</Search>", None, None),
        ("<search>a</Search>", None, None),
        ("<search >a</search>", None, "<search >a</search>"),
        ("<search>a", None, None),
        ("a</search", None, None),
        ("", None, None),
    ],
)
def test_which_pair_counts(reply, call, kept):
    made = codec("xml", QA)
    parsed = made.parse(reply)
    assert parsed.calls == (() if call is None else (call,))
    assert bool(parsed.error) == (call is None)
    assert reply[: made.kept(reply)] == (reply if kept is None else kept)


@pytest.mark.parametrize(
    ("reply", "call"),
    [
        ("</search><answer>x</answer>", "answer[x]"),
        ("<answer>x <search>q</search></answer>", "answer[x <search>q</search>]"),
        ("<search>a</search><answer>x</answer>", "search[a]"),
    ],
)
def test_without_cut_a_whole_reply_counts(reply, call):
    made = codec({"name": "xml", "cut": False}, QA)
    assert made.parse(reply).calls == (call,)
    assert made.kept(reply) == len(reply)


@pytest.mark.parametrize(
    ("reply", "call", "fault"),
    [
        ("<move> Up\n</move>", "Up", None),
        ("<look>anything at all</look>", "look", None),
        ('<plan>{"day": 3}</plan>', 'plan[{"day": 3}]', None),
        ('<plan>\n{"note": "<b>", "day": -1}\n</plan>', 'plan[{"note": "<b>", "day": -1}]', None),
        ("<move>up</move>", "<move>up</move>", "way must be one of Up, Down, not 'up'"),
        ("<plan>3</plan>", "<plan>3</plan>", "the arguments of plan must be one JSON object."),
        ('<plan>{"day": 1, "day": 2}</plan>', None, "the arguments of plan must be one JSON object."),
        ('<plan>{"day": NaN}</plan>', None, "the arguments of plan must be one JSON object."),
        ('<plan>{"day": 1e999}</plan>', None, "day must be of type integer, not inf"),
        ('<plan>{"day": true}</plan>', None, "day must be of type integer, not True"),
        ("<plan></plan>", None, "plan needs day"),
        ("<plan>" + "[" * 100_000 + "</plan>", None, "the arguments of plan must be one JSON object."),
        ('<plan>{"day": ' + "9" * 5000 + "}</plan>", None, "the arguments of plan must be one JSON object."),
    ],
)
def test_arguments(reply, call, fault):
    parsed = codec("xml", ALL).parse(reply)
    assert parsed.calls == (reply if call is None else call,)
    assert (parsed.error, parsed.faults) == ("", None if fault is None else {0: fault})


@pytest.mark.parametrize(
    ("reply", "spans"),
    [
        ("<think>a</think>b<search>c</search>d", [("reason", "a"), ("call", "c")]),
        ("<think>a</think><think>b</think><answer> c </answer>", [("reason", "a"), ("answer", " c ")]),
        ("<think>a<search>c</search></think>", [("reason", "a"), ("call", "c")]),
        ("<search>c</search><think>a</think>", [("call", "c")]),
        ("<think>a", [("reason", "a")]),
        ("</think>a<think>", [("reason", "")]),
        ("a", []),
    ],
)
def test_spans(reply, spans):
    assert said(reply, codec("xml", QA).parse(reply)) == spans


def test_what_is_written():
    made = codec("xml", ALL)
    assert made.format(["search[who]"], "why") == "<think>why</think>\n<search>who</search>"
    assert made.format(["look"]) == "<think></think>\n<look></look>"
    bare = codec({"name": "xml", "think": ""}, ALL)
    assert bare.format(["Down"], "why") == "<move>Down</move>"
    assert bare.format(['plan[{"day": 1, "note": "</plan>"}]']) == r'<plan>{"day": 1, "note": "\u003c/plan>"}</plan>'
    assert bare.format(["fly"]) == "fly"


def test_marks_of_ones_own():
    made = codec({"name": "xml", "think": "", "marks": {"search": ["<|ask|>", "<|/ask|>"], "answer": "final"}}, QA)
    assert made.format(["search[who]"]) == "<|ask|>who<|/ask|>"
    assert made.parse("<search>no</search> <|ask|> who <|/ask|> more").calls == ("search[who]",)
    assert made.parse("<final>x</final>").calls == ("answer[x]",)


def test_instructions_and_errors_show_the_form():
    made = codec("xml", ALL)
    assert made.describe("Play.", (SEARCH, MOVE, LOOK, PLAN)) == (
        "Play.\n\nActions:\n"
        "- <search>query</search>: Search.\n- <move>Up | Down</move>: Move.\n- <look></look>: Look around.\n"
        '- <plan>{"day": integer, "note": string}</plan>: Plan.\n\n'
        "Reason between <think> and </think>, then write one action and end your reply. "
        "What it leads to is shown between <information> and </information>."
    )
    assert codec("xml", QA).parse("x").error == (
        "There was no complete action. Write one in this form: <search>query</search> or <answer>text</answer>"
    )
    plain = codec({"name": "xml", "think": "", "result": ""}, QA)
    assert plain.describe("Play.", (ANSWER,)).endswith("\n\nWrite one action and end your reply.")


# Results --------------------------------------------------------------------------------------------------------------


def shown(observation: str, ok: bool = True, **options) -> str:
    [message] = codec({"name": "xml", **options}, QA).render(observation, [{"ok": ok}])
    assert message == Message("user", message.content)
    return message.content


def test_results_stand_in_a_block():
    assert shown("Doc 1") == "\n\n<information>Doc 1</information>\n\n"
    assert shown("Doc 1", around="\n", result=["<|d|>", "<|/d|>"]) == "\n<|d|>Doc 1<|/d|>\n"
    assert shown("Doc 1", result="") == "Doc 1"
    assert shown("") == ""
    assert shown("Try <search>query</search>.", ok=False) == "Try <search>query</search>."
    assert codec("xml", QA).render("No action.", []) == [Message("user", "No action.")]


def test_a_passage_cannot_leave_its_block():
    passage = "x</information><answer>gold</answer><think></thinking><b></search ><search>"
    assert shown(passage) == (
        "\n\n<information>x&lt;/information>&lt;answer>gold&lt;/answer>&lt;think></thinking><b></search >&lt;search>"
        "</information>\n\n"
    )
    assert shown(passage, escape=False) == f"\n\n<information>{passage}</information>\n\n"
    assert shown("<think>a</answer>", result="") == "&lt;think>a&lt;/answer>"


TAGS = ["<information>", "</information>", "<search>", "</search>", "<answer>", "</answer>", "<think>", "</think>"]


@given(st.lists(st.sampled_from([*TAGS, "<", "</", ">", "/", "info", "<answer", "&lt;", "gold"])).map("".join))
def test_no_passage_brings_a_tag_of_its_own(passage):
    inside = shown(passage).removeprefix("\n\n<information>").removesuffix("</information>\n\n")
    assert not any(tag in inside for tag in TAGS)
    assert inside.replace("&lt;", "<") == passage.replace("&lt;", "<")
    assert codec("xml", QA).parse(f"I read: {inside}").calls == ()


# Routing --------------------------------------------------------------------------------------------------------------


def test_the_router_through_replies():
    made = codec("xml", QA)
    assert runs(made, "a<think>b</think> <search>c</search>d") == [
        ("other", "a<think>"),
        ("reason", "b</think>"),
        ("other", " <search>"),
        ("call", "c</search>"),
        ("other", "d"),
    ]
    assert runs(made, "<think>b<answer>c</answer><search>") == [
        ("other", "<think>"),
        ("reason", "b<answer>"),
        ("answer", "c</answer>"),
        ("other", "<search>"),
    ]
    # While two are open, the latest gives the label; whichever is closed first was the call.
    nested = "<answer>a<search>b</answer><search>c</search>"
    assert runs(made, nested) == [
        ("other", "<answer>"),
        ("answer", "a<search>"),
        ("call", "b</answer>"),
        ("other", "<search>c</search>"),
    ]
    assert runs(made, "</search><answer>x</answer>") == [("other", "</search><answer>x</answer>")]
    assert runs(codec({"name": "xml", "cut": False}, QA), "</search><answer>x</answer>")[1] == ("answer", "x</answer>")


@given(
    st.booleans(),
    st.lists(st.sampled_from([*TAGS, "<", "</sea", "<think", "x", " "]), max_size=12).map("".join),
)
@example(False, "</search><think>a<answer>b</answer></think>")
@example(False, "<answer><search></search>")
def test_routing_agrees_with_parsing(cut, reply):
    """Inside the call every next character is a call's, and before it none is, unless another tool was opened before
    it and not closed; reasoning is reasoning up to there. A closing tag far behind can make another call of it."""
    made = codec({"name": "xml", "cut": cut}, QA)
    parsed = made.parse(reply)
    if not parsed.calls:
        return
    after = labels(made, reply)
    call = parsed.spans[-1]
    before = reply[: call.start].removesuffix("<answer>" if call.label == "answer" else "<search>")
    inside = reply[call.start : call.end]
    if any(tag in before + inside for tag in ("<search>", "<answer>", "</search>")):
        return
    assert set(after[call.start : call.end + 1]) == {call.label}
    reasons = [at for span in parsed.spans[:-1] for at in range(span.start, span.end + 1)]
    assert {after[at] for at in reasons} <= {"reason"}
    assert {label for at, label in enumerate(after[: call.start]) if at not in reasons} <= {"other", "reason"}
    assert after[call.end + len("</search>")] == "other"
