"""Codecs: what is said is read back, nothing raises, spans and routing tell the truth, hostile replies cost no more."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import agentenvs.registration
from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.core.tools import Call, Grammar, Parameter, Tool
from agentenvs.wrappers.codecs import CODECS, codec, spec_of

SPECS = [
    {"name": "plain"},
    {"name": "plain", "separator": "\n"},
    {"name": "tagged"},
    {"name": "tagged", "think": ""},
    {"name": "tagged", "action": "answer", "separator": "||"},
    {"name": "tagged", "action": "answer", "separator": ",", "whole": True, "hint": "Think."},
    {"name": "tagged", "think": "a", "action": "b"},
    {"name": "react"},
    {"name": "react", "thought": "Idea", "action": "Do", "observation": "Seen"},
    {"name": "xml"},
    {"name": "xml", "think": "", "cut": False, "result": ["<|in|>", "<|out|>"], "around": "\n", "escape": False},
    {"name": "xml", "answer": "search", "marks": {"search": ["<|begin|>", "<|end|>"]}},
    {"name": "json"},
    {"name": "json", "thought": ""},
    {"name": "hermes"},
    {"name": "hermes", "think": ""},
    {"name": "openai"},
]
TAGGED = [spec for spec in SPECS if spec["name"] == "tagged"]
SEVERAL = ("hermes", "openai")  # codecs with room for several calls whatever their options
#: One tool of each kind: a bare choice, a bare command with slots, one text, nothing, and arguments of every type.
GRAMMAR = Grammar(
    [
        Tool("move", "", (Parameter("way", "enum", "", ("Up", "Down")),), form="{way}"),
        Tool(
            "put",
            "",
            (Parameter("thing", "string", ""), Parameter("place", "string", "")),
            form="put {thing} in {place}",
        ),
        Tool("search", "", (Parameter("query", "string", ""),)),
        Tool("look", ""),
        Tool("answer", "", (Parameter("text", "string", ""),)),
        Tool("count", "", (Parameter("n", "integer", ""),)),
        Tool("pick", "", (Parameter("kind", "enum", "", ("a", "b")),)),
        Tool("wait", "", (Parameter("until", "string", "", required=False),)),
        Tool(
            "plan",
            "",
            (
                Parameter("day", "integer", ""),
                Parameter("share", "number", ""),
                Parameter("firm", "boolean", ""),
                Parameter("kind", "enum", "", ("lunch", "talk")),
                Parameter("names", "array", ""),
                Parameter("hours", "array", "", items="integer", required=False),
                Parameter("note", "string", "", required=False),
            ),
        ),
    ]
)
NATIVES = [
    *("Up", "Down", "put an apple in bowl 1", "search[who]", "search[]", "look", "answer[42]", 'pick[{"kind": "b"}]'),
    *('count[{"n": -3}]', "wait[{}]", 'wait[{"until": " noon "}]', "search[a ]] b]", 'search[{"query": "x"}]'),
    'plan[{"day": 0, "share": 0.5, "firm": false, "kind": "talk", "names": []}]',
    'plan[{"day": 1, "share": 2, "firm": true, "kind": "lunch", "names": ["Ö", "]"], "hours": [9], "note": "</plan>"}]',
]
#: Text of the kind that breaks parsers: tags, halves of tags, separators.
NASTY = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<action>", "</action>", "<answer>", "</answer>", "<a>", "</a>", "<b>", "</b>"]
        + ["<search>", "</search>", "<move>", "</move>", "<|begin|>", "<|end|>", "<tool_call>", "</tool_call>", "<tool"]
        + ["<", "</", "thi", "nk>", "<act", " ", "\n", "||", ",", "Up", "x", "\u2003", "\0", "\ud800", "```", "json"]
        + ["Thought:", "Action:", "Observation:", "\nObs", "Idea:", "Do:", "{", "}", "[", "]", '"', "\\", ":", '\\"']
        + ['"thought":', '"action":"look"', '"arguments":{', '"content":"', '"tool_calls":[', '{"name":"look"}', "null"]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_codec_is_rebuilt_from_its_record(spec):
    made = codec(spec, GRAMMAR)
    record = spec_of(made)
    again = codec(record, GRAMMAR)
    assert spec_of(again) == record == {"version": 1, **spec}
    assert again.format(["Up"], "why") == made.format(["Up"], "why")


def example_call(tool: Tool) -> Call:
    values = {"string": "apple 1", "integer": 3, "number": 0.5, "boolean": True, "array": []}
    return Call(tool.name, {p.name: p.choices[0] if p.choices else values[p.type] for p in tool.parameters})


def natives(env_id: str) -> tuple[Grammar, list[str]]:
    """The grammar of an environment, and actions of it: those it lists now, and a call of each tool."""
    env = gym.make(env_id)
    env.reset(seed=1)
    grammar = env.get_wrapper_attr("grammar")
    calls = [grammar.format(example_call(tool)) for tool in grammar.tools.values()]
    return grammar, env.get_wrapper_attr("admissible_actions")() + calls


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_every_kind_of_action_survives_every_codec(spec):
    survive(spec, GRAMMAR, NATIVES)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("env_id", agentenvs.registration.IDS)
def test_every_native_action_survives_every_codec(env_id, spec):
    survive(spec, *natives(env_id))


def survive(spec: dict, grammar: Grammar, actions: list[str]) -> None:
    """Each action is read back from a reply that says it; so are all of them, where the codec takes several."""
    made = codec(spec, grammar)
    separator = getattr(made, "separator", "")
    actions = [action for action in actions if not separator or separator not in action]
    assert actions
    for action in actions:
        parsed = made.parse(made.format([action], "because"))
        assert (parsed.calls, parsed.error, parsed.faults) == ((action,), "", None)
    if separator or spec["name"] in SEVERAL:
        parsed = made.parse(made.format(actions, "because"))
        assert (parsed.calls, parsed.error, parsed.faults) == (tuple(actions), "", None)


@given(st.sampled_from(SPECS), st.text(st.characters(exclude_characters="<>|,\n"), max_size=40).map(str.strip))
def test_tool_calls_survive_every_codec(spec, text):
    """A tool call becomes a native action, a reply, and the same call again."""
    grammar = Grammar([Tool("search", "", (Parameter("query", "string", ""),))])
    call = Call("search", {"query": text})
    made = codec(spec, grammar)
    parsed = made.parse(made.format([grammar.format(call)]))
    assert [grammar.parse(native) for native in parsed.calls] == [call]


@given(st.text(), st.integers(), st.lists(st.text(max_size=5), max_size=4))
def test_any_arguments_survive_json(text, number, names):
    """Whatever stands in a string, the tags of the codec included."""
    parameters = (Parameter("t", "string", ""), Parameter("n", "integer", ""), Parameter("i", "array", ""))
    grammar = Grammar([Tool("say", "", parameters)])
    action = grammar.format(Call("say", {"t": f"</tool_call>{text}</say>", "n": number, "i": names}))
    for name in ("xml", "json", "hermes", "openai"):
        made = codec(name, grammar)
        assert made.parse(made.format([action], "so")).calls == (action,)


@pytest.mark.parametrize(
    ("spec", "reply", "calls", "reason"),
    [
        ({}, "<think>a</think><action>Up</action>", ("Up",), "a"),
        ({}, "well <think>a</think>\n \t<action> Up\n</action> done <action>Down</action>", ("Up",), "a"),
        ({}, "<think>a<action>Down</action></think><action>Up</action>", ("Up",), "a<action>Down</action>"),
        ({}, "<think>a</think>b</think><action>Up</action>", ("Up",), "a</think>b"),
        ({}, "<think><think></think><action>Up</action>", ("Up",), "<think>"),
        ({"think": ""}, "so: <action>Up</action>", ("Up",), None),
        ({"separator": "||"}, "<think></think><action>Up||  || Down ||</action>", ("Up", "Down"), ""),
        ({"separator": ",", "whole": True}, " <think></think><action>Up,Down</action>\n", ("Up", "Down"), ""),
    ],
)
def test_what_tagged_reads(spec, reply, calls, reason):
    parsed = codec({"name": "tagged", **spec}).parse(reply)
    assert (parsed.calls, parsed.error) == (calls, "")
    assert [reply[s.start : s.end] for s in parsed.spans if s.label == "reason"] == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("spec", "reply"),
    [
        ({}, ""),
        ({}, "Up"),
        ({}, "<action>Up</action>"),
        ({}, "<think>a</think> then <action>Up</action>"),
        ({}, "<think>a</think><action>Up"),
        ({}, "<think>a<action>Up</action>"),
        ({}, "<THINK>a</THINK><ACTION>Up</ACTION>"),
        ({"whole": True}, "x<think>a</think><action>Up</action>"),
        ({"whole": True}, "<think>a</think><action>Up</action><action>Up</action>"),
    ],
)
def test_what_tagged_refuses_and_how_it_says_so(spec, reply):
    parsed = codec({"name": "tagged", **spec}).parse(reply)
    assert parsed.calls == ()
    assert parsed.error == "Reply in this form: <think>your reasoning</think><action>action</action>"


def test_empty_actions_are_told():
    assert codec("tagged").parse("<think></think><action> </action>").error == (
        "There was no action between <action> and </action>."
    )
    assert codec("plain").parse(" \n").error == "The reply was empty. Reply with an action."


@given(st.sampled_from(SPECS), st.text() | NASTY)
def test_parse_takes_any_text_and_its_spans_hold_what_they_claim(spec, reply):
    made = codec(spec, GRAMMAR)
    parsed = made.parse(reply)
    assert bool(parsed.error) == (not parsed.calls)
    assert len(parsed.ids) in (0, len(parsed.calls))
    assert set(parsed.faults or ()) <= set(range(len(parsed.calls)))
    end = 0
    for span in parsed.spans:
        assert end <= span.start <= span.end <= len(reply)
        end = span.end
    kept = made.kept(reply)
    assert kept == made.kept(reply[:kept]) <= len(reply)
    assert made.parse(reply[:kept]) == parsed or spec["name"] in ("plain", "tagged")


@given(st.sampled_from(SPECS[:7]), st.text() | NASTY)
def test_calls_of_blocks_are_what_stands_in_them(spec, reply):
    made = codec(spec)
    parsed = made.parse(reply)
    said = [reply[span.start : span.end] for span in parsed.spans if span.label == "call"]
    pieces = [piece for text in said for piece in (text.split(made.separator) if made.separator else [text])]
    assert parsed.calls == tuple(piece.strip() for piece in pieces if piece.strip())


def labels(made, reply: str, cuts: list[int]) -> tuple[list[str], str]:
    """The label that comes next after each character of `reply`, fed in pieces; and the final state."""
    state, after = "", []
    ends = sorted({min(cut, len(reply)) for cut in cuts} | {len(reply)})
    start = 0
    for end in ends:
        state, label = made.route(state, reply[start:end])
        after.append((end, label))
        start = end
    return after, state


@given(st.sampled_from(SPECS), NASTY, st.lists(st.integers(0, 60), max_size=6))
@example({"name": "tagged"}, "<think>a</think> <act</think><action>x</action>", [17, 20])
def test_routing_does_not_depend_on_how_a_reply_is_cut(spec, reply, cuts):
    made = codec(spec, GRAMMAR)
    whole, state = labels(made, reply, [])
    cut, cut_state = labels(made, reply, cuts)
    single, single_state = labels(made, reply, list(range(len(reply))))
    assert state == cut_state == single_state
    assert whole[-1] == cut[-1] == single[-1]
    assert set(cut) <= set(single)


@given(st.sampled_from(TAGGED), NASTY)
@example({"name": "tagged"}, "<think>a</action>b</think><action>Up</think></action><action>Down</action>")
def test_routing_agrees_with_parsing(spec, reply):
    """Inside a call every next character is a call's; in the reasoning it is reasoning wherever no tag has begun."""
    made = codec(spec)
    parsed = made.parse(reply)
    if not parsed.calls:
        return
    after = dict(labels(made, reply, list(range(len(reply))))[0])
    spans = {span.label: span for span in parsed.spans}
    call = spans["call"]
    assert all(after[at] == "call" for at in range(call.start, call.end))
    assert all(label != "call" for at, label in after.items() if not call.start <= at < call.end + len(made._closing))
    if "reason" in spans and "</" not in reply[spans["reason"].start : spans["reason"].end]:
        assert all(after[at] == "reason" for at in range(spans["reason"].start, spans["reason"].end + 1))
    assert after[len(reply)] == "other"


def test_routing_through_a_reply():
    made = codec("tagged")
    states = []
    state = ""
    for piece in ("Hm <thi", "nk>so", "</think", ">\n", "<action>", "Up", "</action>", "<action>"):
        state, label = made.route(state, piece)
        states.append(label)
    assert states == ["other", "reason", "reason", "other", "call", "call", "other", "other"]


def test_hostile_replies_are_read_in_linear_time():
    """A megabyte, whole and in small pieces, in a process of its own that is killed if it hangs."""
    code = """
from agentenvs.wrappers.codecs import codec
unit = ["<think>", "</think>", "<action>", "</action>", "<think></think>", "</think> ", "</think>x", " ", "<", "||",
        "<think></think><action>", "<action></action>", "</think><action", "\\n"]
for spec in ({"name": "tagged", "separator": "||"}, {"name": "tagged", "whole": True}, {"name": "plain"}):
    made = codec(spec)
    for text in unit:
        for reply in (text * (1_000_000 // len(text)), "<think>" + text * (1_000_000 // len(text))):
            made.parse(reply)
            made.route("", reply)
        state = ""
        for _ in range(20_000):
            state, _ = made.route(state, text)
            assert len(state) < 40
print("read")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "read\n"


HOSTILE = """
import sys
from agentenvs.core.tools import Grammar, Parameter, Tool
from agentenvs.wrappers.codecs import codec
text = (Parameter("query", "string", ""),)
plan = Tool("plan", "", (*text, Parameter("n", "integer", "")))
grammar = Grammar([Tool("search", "", text), Tool("answer", "", text), plan])
lines = ["\\nAction:", "\\nThought:", "Observation:\\n", "\\nObs", "\\ud800"]
pairs = ["<think>", "</think>", "<search>", "</search>", "<answer><search>", "</answer>", "<plan>{", "<answer></search"]
calls = ["<think>", "<tool_call>", "</tool_call>", "<tool_call>{}</tool_call>", "<tool_call", " "]
keys = ['{"action":', '"thought":"', '"tool_calls":[{},', '{"id":0},', ",", "[", '{"a":', '"', "\\\\", "9"]
heads = ["", '{"tool_calls":[', '{"action":"search","arguments":{"query":', "<think></think><tool_call>"]
for spec, units in (
    ({"name": "react"}, lines), ({"name": "xml"}, pairs), ({"name": "xml", "cut": False}, pairs),
    ({"name": "json"}, keys), ({"name": "hermes"}, calls + keys), ({"name": "openai"}, keys),
):
    made = codec(spec, grammar)
    for unit in units:
        for head in heads:
            reply = head + unit * (SIZE // len(unit))
            made.kept(reply)
            made.parse(reply)
            made.route("", reply)
        state = ""
        for _ in range(2_000):
            state, _ = made.route(state, unit)
            assert len(state) < 120
print("read")
"""


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_hostile_replies_with_calls_are_read_in_linear_time(size):
    """As above, with what breaks readers of tags, lines and JSON; in the fast run a tenth as long."""
    code = HOSTILE.replace("SIZE", str(size))
    limit = 60 + size / 10_000
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit, check=True)
    assert done.stdout == "read\n"


def test_instructions_say_how_to_reply():
    tools = (Tool("look", "Look around."), Tool("search", "Search.", (Parameter("query", "string", ""),)))
    text = codec({"name": "tagged", "separator": "||", "hint": "Be brief."}).describe("Play.", tools)
    assert text == (
        "Play.\n\nActions:\n- look: Look around.\n- search[query]: Search.\n\n"
        "Reply in this form: <think>your reasoning</think><action>action || action</action>\nBe brief."
    )
    assert codec("plain").describe("Play.", tools).endswith("Reply with the action and nothing else.")


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("taged", UnknownName, "did you mean 'tagged'"),
        ({"name": ["tagged"]}, UnknownName, "unknown codec"),
        ({}, UnknownName, "unknown codec None"),
        (3, ConfigError, "expected a name or"),
        ({"name": "tagged", "colour": 1}, ConfigError, "codec tagged: .*colour"),
        ({"name": "tagged", "action": ""}, ConfigError, "tag name"),
        ({"name": "tagged", "think": "a b"}, ConfigError, "tag name"),
        ({"name": "tagged", "separator": 5}, ConfigError, "separator"),
        ({"name": "plain", "separator": None}, ConfigError, "separator"),
        ({"name": "plain", "version": 2}, ConfigError, "version 2 is asked for"),
        ({"name": "react", "thought": "Action"}, ConfigError, "three different words"),
        ({"name": "react", "observation": "Ob:"}, ConfigError, "three different words"),
        ({"name": "json", "thought": "action"}, ConfigError, "another use"),
        ({"name": "json", "thought": 'a"b'}, ConfigError, "expected a key"),
        ({"name": "json", "lenient": True}, ConfigError, "lenient"),
        ({"name": "hermes", "think": "tool_call"}, ConfigError, "two things"),
        ({"name": "hermes", "think": None}, ConfigError, "think"),
        ({"name": "openai", "think": "x"}, ConfigError, "codec openai: .*think"),
        ({"name": "xml", "think": "information"}, ConfigError, "<information> would mark two things"),
        ({"name": "xml", "think": "search"}, ConfigError, "<search> would mark two things"),
        ({"name": "xml", "think": "a b"}, ConfigError, "expected a tag"),
        ({"name": "xml", "result": ["<a>"]}, ConfigError, "result: expected a name or"),
        ({"name": "xml", "result": ["a", "b"]}, ConfigError, "expected a tag"),
        ({"name": "xml", "marks": {"search": 5}}, ConfigError, "search: expected a name or"),
        ({"name": "xml", "marks": ["search"]}, ConfigError, "expected a mapping"),
        ({"name": "xml", "cut": 1}, ConfigError, "expected a bool"),
        ({"name": "xml", "around": None}, ConfigError, "expected text"),
    ],
)
def test_bad_specs_are_refused(spec, error, message):
    with pytest.raises(error, match=message):
        codec(spec, GRAMMAR)


def test_every_codec_names_itself():
    assert {name: codec(name).name for name in CODECS} == {name: name for name in CODECS}
