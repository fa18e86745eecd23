"""`plain`: the whole reply is one native action, or several with a separator."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.core.tools import Grammar, Tool
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span, usage_lines


class Plain(Codec):
    """The reply is the action, blanks around it aside. With `separator` it may be several actions."""

    name = "plain"
    version = 1
    defaults = {"separator": ""}

    def __init__(self, grammar: Grammar | None = None, separator: str = "") -> None:
        super().__init__(grammar)
        if not isinstance(separator, str):
            raise TypeError(f"expected text for separator, got {separator!r}")
        self.separator = separator

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        several = f" Separate several actions with {self.separator!r}." if self.separator else ""
        return f"{instructions}\n\nActions:\n{usage_lines(tools)}\n\nReply with the action and nothing else.{several}"

    def parse(self, reply: str) -> Parsed:
        pieces = reply.split(self.separator) if self.separator else [reply]
        calls = tuple(piece.strip() for piece in pieces if piece.strip())
        spans = (Span(0, len(reply), "call"),) if reply else ()
        return Parsed(calls, spans, "" if calls else "The reply was empty. Reply with an action.")

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        return f" {self.separator} ".join(actions) if self.separator else "\n".join(actions)

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        return state, "call"
