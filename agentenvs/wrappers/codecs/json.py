"""`json`: a reply is one JSON object with the thought, the name of the tool and its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.core.errors import ConfigError
from agentenvs.core.tools import Grammar, Tool
from agentenvs.wrappers.codecs import jsontext
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span, schema_lines
from agentenvs.wrappers.codecs.calls import Written, as_json, named, read
from agentenvs.wrappers.codecs.marks import WORD


class Json(Codec):
    """`{"thought": "...", "action": "search", "arguments": {"query": "..."}}`, bare or in one Markdown fence.

    The reply holds nothing else: text around the object is an error, so that there is never a choice between several.
    `arguments` may be left out where there are none; further keys are ignored.

    - `thought`: the key of the reasoning; "" where none is asked for.
    """

    name = "json"
    version = 1
    defaults = {"thought": "thought"}

    def __init__(self, grammar: Grammar | None = None, thought: str = "thought") -> None:
        super().__init__(grammar)
        if thought != "" and not (isinstance(thought, str) and WORD.fullmatch(thought)):
            raise ConfigError(f"json codec: expected a key of letters, digits and _ for the thought, got {thought!r}")
        if thought in ("action", "arguments"):
            raise ConfigError(f"json codec: the key {thought!r} has another use; choose another one for the thought")
        self.thought = thought
        self._labels: dict[str, Label] = {"action": "call", "arguments": "call"}
        if thought:
            self._labels[thought] = "reason"

    @property
    def shape(self) -> str:
        """How a reply looks."""
        head = f'"{self.thought}": "your reasoning", ' if self.thought else ""
        return f'{{{head}"action": "name of a tool", "arguments": {{...}}}}'

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        return (
            f"{instructions}\n\nTools, as function schemas:\n{schema_lines(tools)}\n\n"
            f"Reply with one JSON object and nothing else: {self.shape}"
        )

    def parse(self, reply: str) -> Parsed:
        found = jsontext.object_in(reply)
        if found is None or not isinstance(found.get("action"), str):
            other = (Span(0, len(reply), "other"),) if reply else ()
            return Parsed((), other, f"Reply with one JSON object and nothing else: {self.shape}")
        calls, faults = read(self.grammar, [Written(reply.strip(), found["action"], found.get("arguments"))])
        return Parsed(calls, jsontext.spans(reply, self._labels), faults=faults)

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        """Of several actions each gets an object, which together are none."""
        thought = {self.thought: reason} if self.thought else {}
        calls = [named(self.grammar, action) for action in actions]
        return "\n".join(as_json({**thought, "action": name, "arguments": given}) for name, given in calls)

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        return jsontext.route(state, piece, self._labels)
