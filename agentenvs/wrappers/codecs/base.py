"""What a codec is: the translation between replies and native actions, versioned, without state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agentenvs.core.tools import Tool

Label = Literal["reason", "call", "answer", "other"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `call_id` joins a tool's answer to its call."""

    role: str
    content: str
    name: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """`reply[start:end]` (characters) and what it is."""

    start: int
    end: int
    label: Label


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply taken apart: the native actions in order, and the labelled spans.

    `error` is the sentence for the agent where the reply does not keep the format; it may come with calls that
    could be read all the same.
    """

    calls: tuple[str, ...]
    spans: tuple[Span, ...]
    error: str = ""


class Codec(Protocol):
    """A pure object; `name`, `version` and `options` identify it in records."""

    name: str
    version: int

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments that differ from the defaults."""

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        """`instructions` followed by how a reply must be written."""

    def parse(self, reply: str) -> Parsed:
        """Take a reply apart. Never raises, whatever the text."""

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        """A reply that says these native actions: `parse(format(actions)).calls == actions`.

        That holds for one action, and for several where the codec has a separator, as long as neither actions nor
        reason contain the codec's own marks. Others are written all the same, and read as something else.
        """

    def render(self, observation: str, calls: Sequence[dict[str, Any]]) -> list[Message]:
        """The messages that carry a turn's observation back to the agent."""

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """Feed the next piece of a reply in the making; returns the new state and the label of what comes next.

        Start with the state "". Cutting a reply differently gives the same final state and label.
        """


def usage_lines(tools: Sequence[Tool]) -> str:
    """One line a tool: how it is written and what it does."""
    return "\n".join(f"- {tool.usage}: {tool.description}" for tool in tools)
