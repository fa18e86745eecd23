"""`react`, worked by hand: lines that begin with the words, and what a model imagines after them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.messages import Message
from agentenvs.core.tools import Tool
from agentenvs.wrappers.codecs import codec
from tests.wrappers.routing import labels, runs


@pytest.mark.parametrize(
    ("reply", "call", "reason", "kept"),
    [
        ("Thought: I see.\nAction: search[who]", "search[who]", " I see.", None),
        ("Action: Up", "Up", None, None),
        ("well\nThought: a\nb\nAction: Up\n", "Up", " a\nb", None),
        ("Thought: a\nThought: b\nAction:Up", "Up", " a\nThought: b", None),
        ("Thought: no Action: here\nAction: Up", "Up", " no Action: here", None),
        ("Thought: a\nAction: put[{\n}]\nso", "put[{\n}]\nso", " a", None),
        ("Thought: a\nAction: Up\nAction: Down", "Up\nAction: Down", " a", None),
        ("Action: Up\nThought: late", "Up\nThought: late", None, None),
        ("Thought: a\nAction: Up\nObservation: won!\nAction: Down", "Up", " a", "Thought: a\nAction: Up"),
        ("Thought: a Observation: b\nAction: Up", "Up", " a Observation: b", None),
    ],
)
def test_what_it_reads(reply, call, reason, kept):
    made = codec("react")
    parsed = made.parse(reply)
    assert (parsed.calls, parsed.error) == ((call,), "")
    assert [reply[s.start : s.end] for s in parsed.spans if s.label == "reason"] == ([] if reason is None else [reason])
    [span] = [span for span in parsed.spans if span.label == "call"]
    assert reply[span.start : span.end].strip() == call
    assert reply[: made.kept(reply)] == (reply if kept is None else kept)


@pytest.mark.parametrize(
    "reply", ["", "Up", "action: Up", " Action: Up", "Observation: x\nAction: Up", "Thought: Action:"]
)
def test_what_it_refuses(reply):
    parsed = codec("react").parse(reply)
    assert parsed.calls == ()
    assert parsed.error == "There was no line that begins with Action: and says the action."


def test_an_action_line_without_action_is_told():
    assert codec("react").parse("Action: \n\nObservation: x").error == "There was no action after Action:"


def test_what_is_written_and_shown():
    made = codec({"name": "react", "action": "Act"})
    assert made.format(["Up"], "so") == "Thought: so\nAct: Up"
    assert made.format(["Up"]) == "Act: Up"
    assert made.render("a wall", []) == [Message("user", "Observation: a wall")]
    assert made.describe("Play.", (Tool("look", "Look around."),)) == (
        "Play.\n\nActions:\n- look: Look around.\n\n"
        "Reply in this form:\nThought: your reasoning\nAct: action\n"
        "Then you are shown the Observation. Do not write it yourself."
    )


def test_the_router_through_a_reply():
    assert runs(codec("react"), "x\nThought: a\nAction: Up\nObservation: b\nAction: c") == [
        ("other", "x\nThought:"),
        ("reason", " a\nAction:"),
        ("call", " Up\nObservation:"),
        ("other", " b\nAction: c"),
    ]
    assert runs(codec("react"), "Action: Up") == [("other", "Action:"), ("call", " Up")]


@given(
    st.lists(st.sampled_from(["Thought:", "Action:", "Observation:", "\n", "x", " ", "Act"]), max_size=12).map("".join)
)
def test_routing_agrees_with_parsing(reply):
    made = codec("react")
    after = labels(made, reply)
    for span in made.parse(reply).spans:
        assert set(after[span.start : span.end + (span.end < len(reply))]) <= {span.label}
    inside = {at for span in made.parse(reply).spans for at in range(span.start, span.end)}
    end = made.kept(reply)
    marks = {at for at in range(end) if at not in inside}
    assert {after[at] for at in marks} <= {"other", "reason"}
