"""`openai`: a reply is the JSON of an assistant message with tool calls, as chat servers give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.messages import Message, ToolCall, read_object, reply_text, tool_calls
from agentenvs.core.tools import Tool
from agentenvs.wrappers.codecs import jsontext
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span
from agentenvs.wrappers.codecs.calls import Written, as_json, named, read

_LABELS: dict[str, Label] = {"content": "reason", "tool_calls": "call"}


class OpenAI(Codec):
    """`{"role": "assistant", "content": ..., "tool_calls": [{"id", "type": "function", "function": {"name",
    "arguments": "<JSON text>"}}]}`; `arguments` may also be an object.

    The ids of the calls are kept; see `core.messages.tool_calls` for what becomes of those that are missing or stand
    twice. The function schemas travel beside the prompt, so `describe` says nothing of them. An observation is a JSON
    array of messages for `core.messages.load`, one for each call.
    """

    name = "openai"
    version = 1

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        return instructions

    def parse(self, reply: str) -> Parsed:
        message = read_object(reply)
        found = tool_calls(message) if message is not None else []
        if not found:
            other = (Span(0, len(reply), "other"),) if reply else ()
            return Parsed((), other, "No function was called. Reply with a call of one of the functions.")
        calls, faults = read(self.grammar, map(_written, found))
        spans = jsontext.spans(reply, _LABELS)
        return Parsed(calls, spans, ids=tuple(call.id for call in found), faults=faults)

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        """The JSON of a message with the ids `call_0`, `call_1` and so on; the reason is its content."""
        return reply_text({"content": reason, "tool_calls": [self._row(action) for action in actions]})

    def _row(self, action: str) -> dict[str, Any]:
        name, arguments = named(self.grammar, action)
        return {"function": {"name": name, "arguments": as_json(arguments)}}

    def render(self, observation: str, calls: Sequence[Mapping[str, Any]]) -> list[Message]:
        """One tool message for each call, in order; without calls one user message."""
        answers = [Message("tool", call["observation"], _name(self, call["native"]), call["id"]) for call in calls]
        return answers or [Message("user", observation)]

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        return jsontext.route(state, piece, _LABELS)


def _written(call: ToolCall) -> Written:
    return Written(as_json({"name": call.name, "arguments": call.arguments}), call.name, call.arguments)


def _name(codec: OpenAI, native: str) -> str:
    """The name of the tool that an answer is from; "" where the call is none of the grammar."""
    name, _ = named(codec.grammar, native)
    return name if name in codec.grammar.tools else ""
