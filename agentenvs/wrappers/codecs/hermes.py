"""`hermes`: function calls as JSON between `<tool_call>` tags, the form of Hermes and Qwen models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.messages import Message, read_object
from agentenvs.core.tools import Grammar, Tool
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span, schema_lines
from agentenvs.wrappers.codecs.calls import Written, as_json, named, read
from agentenvs.wrappers.codecs.marks import any_of, check_tags, escape, pair, unfinished

_CALL, _RESPONSE, _TOOLS = pair("tool_call"), pair("tool_response"), pair("tools")
_BLANK = re.compile(r"\s*")


class Hermes(Codec):
    """Any text, which is the reasoning, and one or several `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

    A reply that begins with `<think>` calls nothing before `</think>`. `arguments` is an object or the JSON text of
    one. The closing tag of the last call may be missing: servers that stop at it leave it out. What stands between
    the tags and is no JSON is answered as a faulty call.

    - `think`: name of the tag around the reasoning; "" where it has none.
    """

    name = "hermes"
    version = 1
    defaults = {"think": "think"}

    def __init__(self, grammar: Grammar | None = None, think: str = "think") -> None:
        super().__init__(grammar)
        if not isinstance(think, str):
            raise TypeError(f"expected text for think, got {think!r}")
        self.think = think
        self._opening, self._closing = pair(think) if think else ("", "")
        every = (*filter(None, (self._opening, self._closing)), *_CALL, *_RESPONSE, *_TOOLS)
        check_tags("hermes", *every)
        self._every = any_of(every)

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        form = f'{_CALL[0]}\n{{"name": "name of a function", "arguments": {{...}}}}\n{_CALL[1]}'
        first = f"Reason between {self._opening} and {self._closing} if you like, then act" if self.think else "Act"
        return (
            f"{instructions}\n\nFunctions that you can call, as JSON schemas:\n"
            f"{_TOOLS[0]}\n{schema_lines(tools)}\n{_TOOLS[1]}\n\n"
            f"{first} by calling a function in this form:\n{form}\n"
            f"What it returns is shown between {' and '.join(_RESPONSE)}."
        )

    def parse(self, reply: str) -> Parsed:
        written, spans = [], []
        at, start = 0, self._begin(reply)
        while start >= 0 and (start := reply.find(_CALL[0], start)) >= 0:
            begin = start + len(_CALL[0])
            end = reply.find(_CALL[1], begin)
            end, after = (len(reply), len(reply)) if end < 0 else (end, end + len(_CALL[1]))
            written.append(_written(reply[start:after], reply[begin:end]))
            spans += [Span(at, start, "reason")] * (start > at) + [Span(begin, end, "call")]
            at = start = after
        spans += [Span(at, len(reply), "reason")] * (len(reply) > at)
        calls, faults = read(self.grammar, written)
        error = f"No function was called. Write {_CALL[0]}{{...}}{_CALL[1]} after your reasoning."
        return Parsed(calls, tuple(spans), "" if calls else error, faults=faults)

    def _begin(self, reply: str) -> int:
        """From where on calls count; -1 where the reasoning was never closed."""
        begin = _BLANK.match(reply).end()  # type: ignore[union-attr]
        if not self.think or not reply.startswith(self._opening, begin):
            return 0
        end = reply.find(self._closing, begin)
        return end if end < 0 else end + len(self._closing)

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        head = f"{self._opening}{reason}{self._closing}" if reason else ""
        return "\n".join([head] * bool(head) + [self._write(action) for action in actions])

    def _write(self, action: str) -> str:
        name, arguments = named(self.grammar, action)
        return f"{_CALL[0]}\n{as_json({'name': name, 'arguments': arguments}, _CALL[1])}\n{_CALL[1]}"

    def render(self, observation: str, calls: Sequence[Mapping[str, Any]]) -> list[Message]:
        """One user message with a block for each call, in order; without calls what is told as it stands."""
        blocks = [f"{_RESPONSE[0]}\n{escape(call['observation'], self._every)}\n{_RESPONSE[1]}" for call in calls]
        return [Message("user", "\n".join(blocks) or observation)]

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """The state is the phase and the unfinished tag at the end, as `phase|tail`. The phases: "" (blanks at the
        beginning), `think`, `text` and `call`."""
        phase, _, tail = state.partition("|")
        text, at = tail + piece, 0
        if not phase:
            at = _BLANK.match(text).end()  # type: ignore[union-attr]
            if len(text) - at < len(self._opening) and self._opening.startswith(text[at:]):
                return f"|{text[at:]}", "reason"
            phase = "think" if self.think and text.startswith(self._opening, at) else "text"
        seek = {"think": (self._closing, "text"), "text": (_CALL[0], "call"), "call": (_CALL[1], "text")}
        while True:
            mark, then = seek[phase]
            found = text.find(mark, at)
            if found < 0:
                return f"{phase}|{text[unfinished(text, at, (mark,)) :]}", "call" if phase == "call" else "reason"
            phase, at = then, found + len(mark)


def _written(whole: str, inside: str) -> Written:
    call = read_object(inside)
    return Written(whole, None, None) if call is None else Written(whole, call.get("name"), call.get("arguments"))
