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
]
TAGGED = [spec for spec in SPECS if spec["name"] == "tagged"]
#: Text of the kind that breaks parsers: tags, halves of tags, separators.
NASTY = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<action>", "</action>", "<answer>", "</answer>", "<a>", "</a>", "<b>", "</b>"]
        + ["<", "</", "thi", "nk>", "<act", " ", "\n", "||", ",", "Up", "x", "\u2003", "\0", "\ud800"]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_codec_is_rebuilt_from_its_record(spec):
    made = codec(spec)
    record = spec_of(made)
    again = codec(record)
    assert spec_of(again) == record == {"version": 1, **spec}
    assert again.format(["Up"], "why") == made.format(["Up"], "why")


def natives(env_id: str) -> list[str]:
    """Actions of an environment: those it lists now, and each tool's first writable call."""
    env = gym.make(env_id)
    env.reset(seed=1)
    return env.get_wrapper_attr("admissible_actions")()


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("env_id", agentenvs.registration.IDS)
def test_every_native_action_survives_every_codec(env_id, spec):
    made = codec(spec)
    actions = natives(env_id)
    assert actions
    for action in actions:
        assert made.parse(made.format([action], "because")).calls == (action,)
    if made.separator:
        assert made.parse(made.format(actions, "because")).calls == tuple(actions)
        assert made.parse(made.format(actions, "because")).error == ""


@given(st.sampled_from(SPECS), st.text(st.characters(exclude_characters="<>|,\n"), max_size=40))
def test_tool_calls_survive_every_codec(spec, text):
    """A tool call becomes a native action, a reply, and the same call again."""
    grammar = Grammar([Tool("search", "", (Parameter("query", "string", ""),))])
    call = Call("search", {"query": text})
    parsed = codec(spec).parse(codec(spec).format([grammar.format(call)]))
    assert [grammar.parse(native) for native in parsed.calls] == [call]


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
    made = codec(spec)
    parsed = made.parse(reply)
    assert bool(parsed.error) == (not parsed.calls)
    end = 0
    for span in parsed.spans:
        assert end <= span.start <= span.end <= len(reply)
        end = span.end
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
    made = codec(spec)
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
    ],
)
def test_bad_specs_are_refused(spec, error, message):
    with pytest.raises(error, match=message):
        codec(spec)


def test_every_codec_names_itself():
    assert {name: codec(name).name for name in CODECS} == {name: name for name in CODECS}
