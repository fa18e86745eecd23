"""`json`, worked by hand, and the reader that labels JSON text while it is being written."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentenvs.core.messages import Message
from agentenvs.core.tools import Grammar, Parameter, Tool
from agentenvs.wrappers.codecs import codec, jsontext
from tests.wrappers.routing import labels, runs

SEARCH = Tool("search", "Search.", (Parameter("query", "string", "what to look for"),))
LOOK = Tool("look", "Look around.")
QA = Grammar([SEARCH, LOOK])
FORM = (
    'Reply with one JSON object and nothing else: {"thought": "your reasoning", "action": "name of a tool", '
    '"arguments": {...}}'
)
CALL = '{"action": "search", "arguments": {"query": "a"}}'


@pytest.mark.parametrize(
    ("reply", "call"),
    [
        ('{"thought": "t", "action": "search", "arguments": {"query": " a "}}', "search[ a ]"),
        (f" \n{CALL}\n", "search[a]"),
        (f"```json\n{CALL}\n```", "search[a]"),
        (f"\n```\n{CALL}```\n", "search[a]"),
        (f"```{CALL}```", "search[a]"),
        ('{"action": "look"}', "look"),
        ('{"action": "look", "arguments": null, "sure": 0.9}', "look"),
        ('{"action": "search", "arguments": "{\\"query\\": \\"a\\"}"}', "search[a]"),
        ('{"action": "se\\u0061rch", "arguments": {"query": "\\ud800```"}}', "search[\ud800```]"),
    ],
)
def test_what_it_reads(reply, call):
    parsed = codec("json", QA).parse(reply)
    assert (parsed.calls, parsed.error, parsed.faults) == ((call,), "", None)


@pytest.mark.parametrize(
    "reply",
    [
        *("", "Up", "null", "[]", f"[{CALL}]", f"so: {CALL}", f"{CALL} done", f"{CALL}\n{CALL}", CALL[:-1], CALL + "}"),
        *('{"thought": "t"}', '{"action": null}', '{"action": ["search"]}', '{"action": "look", "action": "look"}'),
        *(
            '{"action": "look", "x": NaN}',
            "{" * 100_000,
            "[" * 100_000,
            '{"a":' * 100_000,
            '{"action": ' + "9" * 9999 + "}",
        ),
        *("```", "``````", f"```json\n{CALL}", f"```json\n{CALL}\n```\n```json\n{CALL}\n```", f"```a b\n{CALL}\n```"),
    ],
)
def test_what_it_refuses_and_how_it_says_so(reply):
    parsed = codec("json", QA).parse(reply)
    assert (parsed.calls, parsed.error, parsed.faults) == ((), FORM, None)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ('{"action": "fly"}', "Unknown tool 'fly'. Known: search, look."),
        ('{"action": "search"}', "search needs query"),
        ('{"action": "search", "arguments": ["a"]}', "the arguments of search must be one JSON object."),
        ('{"action": "search", "arguments": "a"}', "the arguments of search must be one JSON object."),
        ('{"action": "look", "arguments": {"at": 1}}', "look has no parameter 'at'"),
        ('{"action": "search", "arguments": {"query": 3}}', "query must be of type string, not 3"),
    ],
)
def test_faulty_calls(reply, fault):
    parsed = codec("json", QA).parse(f" {reply}\n")
    assert (parsed.calls, parsed.error, parsed.faults) == ((reply,), "", {0: fault})


def test_spans_are_the_insides_of_values():
    reply = ' {"action": "search", "arguments": {"query": "}\\""}, "thought": "a \\"b\\" ", "x": [1]}'
    spans = codec("json", QA).parse(reply).spans
    assert [(s.label, reply[s.start : s.end]) for s in spans] == [
        ("call", "search"),
        ("call", '"query": "}\\""'),
        ("reason", 'a \\"b\\" '),
    ]
    bare = codec({"name": "json", "thought": ""}, QA).parse(reply).spans
    assert [reply[s.start : s.end] for s in bare] == ["search", '"query": "}\\""']


def test_what_is_written_and_shown():
    made = codec("json", QA)
    assert made.format(["search[é]"], "so") == '{"thought": "so", "action": "search", "arguments": {"query": "é"}}'
    assert codec({"name": "json", "thought": ""}, QA).format(["look"]) == '{"action": "look", "arguments": {}}'
    assert made.render("a wall", [{"ok": True}]) == [Message("user", "a wall")]
    text = made.describe("Play.", (SEARCH,))
    assert text == f"Play.\n\nTools, as function schemas:\n{json.dumps(SEARCH.schema())}\n\n{FORM}"


def test_the_router_through_a_reply():
    reply = '```json\n{"thought": "a", "action": "look", "arguments": {"b": ["c"]}, "d": "e"}\n```'
    assert runs(codec("json", QA), reply) == [
        ("other", '```json\n{"thought": "'),
        ("reason", 'a"'),
        ("other", ', "action": "'),
        ("call", 'look"'),
        ("other", ', "arguments": {'),
        ("call", '"b": ["c"]}'),
        ("other", ', "d": "e"}\n```'),
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["a", "b", 'c"', "\\", "é", "long" * 16, ""])


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from([None, 1]), st.booleans())
@example({"a": [["x"]], "b": "\\"}, None, True)
def test_labelled_spans_are_the_values_that_json_reads(value, indent, ascii_only):
    """Independent reference: the text is written value by value, so where each stands is known."""
    pieces, expected = ["{"], []
    for i, (key, inner) in enumerate(value.items()):
        pieces.append(("," if i else "") + json.dumps(key, ensure_ascii=ascii_only) + ": ")
        written = json.dumps(inner, indent=indent, ensure_ascii=ascii_only)
        if key in ("a", "b") and written[0] in '"[{' and len(written) >= 2:
            start = sum(map(len, pieces)) + 1
            expected.append(({"a": "call", "b": "reason"}[key], start, start + len(written) - 2))
        pieces.append(written)
    text = "".join([*pieces, "}"])
    assert json.loads(text) == value
    found = jsontext.spans(text, {"a": "call", "b": "reason"})
    assert [(span.label, span.start, span.end) for span in found] == expected


@given(st.text(max_size=20), st.text(max_size=20))
def test_routing_agrees_with_parsing(reason, query):
    made = codec("json", QA)
    reply = made.format([QA.format(QA.parse(f"search[{query}]"))], reason)
    after = labels(made, reply)
    spans = made.parse(reply).spans
    inside = {at: span.label for span in spans for at in range(span.start, span.end + 1)}
    assert after == [inside.get(at, "other") for at in range(len(reply) + 1)]
    assert [json.loads(f'"{reply[s.start : s.end]}"') for s in spans[:2]] == [reason, "search"]
