"""`openai`: replies that are assistant messages, ids kept, answers as tool messages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.messages import Message, assistant, tool_calls
from agentenvs.core.tools import Grammar, Parameter, Tool
from agentenvs.wrappers.codecs import codec
from tests.wrappers.routing import labels, runs

SEARCH = Tool("search", "Search.", (Parameter("query", "string", "what to look for"),))
LOOK = Tool("look", "Look around.")
QA = Grammar([SEARCH, LOOK])


def call(name="look", arguments="{}", **more) -> dict:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def reply(*calls, **more) -> str:
    return json.dumps({"role": "assistant", "content": None, "tool_calls": list(calls), **more})


@pytest.mark.parametrize(
    ("text", "natives", "ids"),
    [
        (reply(call(id="x1")), ("look",), ("x1",)),
        (reply(call("search", '{"query": "a"}', id="x"), call(id="y")), ("search[a]", "look"), ("x", "y")),
        (reply(call("search", {"query": " a "}, id="x")), ("search[ a ]",), ("x",)),
        (reply(call(arguments="", id="x"), call(arguments=None, id="y")), ("look", "look"), ("x", "y")),
        (
            reply(call(), call(id=None), call(id=""), call(id=7)),
            ("look",) * 4,
            ("call_0", "call_1", "call_2", "call_3"),
        ),
        (
            reply(call(id="call_1"), call(), call(id="call_1"), call()),
            ("look",) * 4,
            ("call_1", "call_0", "call_2", "call_3"),
        ),
        (json.dumps({"tool_calls": [{"function": {"name": "look"}}]}), ("look",), ("call_0",)),
        (f" {reply(call(id='x'), content='hm')}\n", ("look",), ("x",)),
    ],
)
def test_what_it_reads(text, natives, ids):
    parsed = codec("openai", QA).parse(text)
    assert (parsed.calls, parsed.ids, parsed.error, parsed.faults) == (natives, ids, "", None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "look", "[]", reply(), reply(role="user"), reply(call(id="x"), role="tool"), reply(call(id="x"))[:-1]),
        *(
            '{"tool_calls": {}}',
            '{"tool_calls": null}',
            '{"content": "look"}',
            '{"tool_calls": [{}], "tool_calls": [{}]}',
        ),
        *('{"tool_calls": [NaN]}', '{"tool_calls":' * 50_000, '{"tool_calls": [' + "9" * 5000 + "]}"),
    ],
)
def test_what_it_refuses_and_how_it_says_so(text):
    parsed = codec("openai", QA).parse(text)
    assert (parsed.calls, parsed.ids) == ((), ())
    assert parsed.error == "No function was called. Reply with a call of one of the functions."


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (call("fly", id="x"), "Unknown tool 'fly'. Known: search, look."),
        (call("search", "{query: a}", id="x"), "the arguments of search must be one JSON object."),
        (call("search", '["a"]', id="x"), "the arguments of search must be one JSON object."),
        (call("search", "[" * 50_000, id="x"), "the arguments of search must be one JSON object."),
        (call("search", {"query": ["a"]}, id="x"), "query must be of type string, not ['a']"),
        ({"id": "x"}, "Unknown tool ''. Known: search, look."),
        ({"id": "x", "function": "look"}, "Unknown tool ''. Known: search, look."),
        ({"id": "x", "function": {"name": ["look"]}}, "Unknown tool ''. Known: search, look."),
    ],
)
def test_a_faulty_call_keeps_its_id(row, fault):
    parsed = codec("openai", QA).parse(reply(call(id="w"), row, call(id="z")))
    assert (parsed.calls[0], parsed.calls[2], parsed.ids) == ("look", "look", ("w", "x", "z"))
    assert parsed.faults == {1: fault}


@pytest.mark.parametrize("row", [None, 3, "look", [], ["id"]])
def test_what_is_no_call_is_answered_as_a_faulty_one(row):
    parsed = codec("openai", QA).parse(reply(row))
    assert (parsed.calls, parsed.ids) == (('{"name": "", "arguments": null}',), ("call_0",))
    assert parsed.faults == {0: "Unknown tool ''. Known: search, look."}


def test_what_is_written_is_what_a_server_says():
    made = codec("openai", QA)
    text = made.format(["search[é]", "look"], "why")
    assert json.loads(text) == {
        "role": "assistant",
        "content": "why",
        "tool_calls": [call("search", '{"query": "é"}', id="call_0"), call("look", "{}", id="call_1")],
    }
    assert assistant(text) == json.loads(text)
    assert made.describe("Play.", (SEARCH,)) == "Play."


def test_each_call_gets_its_message():
    made = codec("openai", QA)
    assert made.render("told", []) == [Message("user", "told")]
    calls = [
        {"id": "x", "native": "search[a]", "observation": "Doc 1"},
        {"id": "y", "native": '{"name": "fly", "arguments": "{}"}', "observation": "Not run."},
    ]
    assert made.render("told", calls) == [Message("tool", "Doc 1", "search", "x"), Message("tool", "Not run.", "", "y")]


def test_the_router_through_a_reply():
    assert runs(codec("openai", QA), '{"role": "assistant", "content": "a", "tool_calls": [{"id": "b"}]}') == [
        ("other", '{"role": "assistant", "content": "'),
        ("reason", 'a"'),
        ("other", ', "tool_calls": ['),
        ("call", '{"id": "b"}]'),
        ("other", "}"),
    ]


@given(st.text(max_size=20), st.lists(st.text(max_size=10), min_size=1, max_size=3))
def test_routing_agrees_with_parsing(reason, queries):
    made = codec("openai", QA)
    text = made.format([f"search[{query}]" for query in queries], reason)
    spans = made.parse(text).spans
    inside = {at: span.label for span in spans for at in range(span.start, span.end + 1)}
    assert labels(made, text) == [inside.get(at, "other") for at in range(len(text) + 1)]
    assert [span.label for span in spans] == ["reason", "call"]
    assert json.loads(f"[{text[spans[1].start : spans[1].end]}]") == json.loads(text)["tool_calls"]
    assert [call.id for call in tool_calls(json.loads(text))] == list(made.parse(text).ids)
