"""What a codec is: the translation between replies and native actions, versioned, without state."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from agentenvs.core.messages import Message
from agentenvs.core.tools import Grammar, Tool

Label = Literal["reason", "call", "answer", "other"]

__all__ = ["Codec", "Label", "Message", "Parsed", "Span", "schema_lines", "usage_lines"]


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

    Where the format has calls of its own, `ids` are theirs (as many as calls, or none), and `faults` says for the
    index of a call why it is no action (a missing argument, a tool that does not exist); what stands in `calls` there
    is the call as it was written.
    """

    calls: tuple[str, ...]
    spans: tuple[Span, ...]
    error: str = ""
    ids: tuple[str, ...] = ()
    faults: Mapping[int, str] | None = None


class Codec(ABC):
    """A pure object; `name`, `version` and `options` identify it in records.

    `grammar` is that of the environment: codecs whose calls have named arguments translate with it.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    #: The options and their defaults.
    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, grammar: Grammar | None = None) -> None:
        self.grammar = grammar or Grammar(())

    @property
    def options(self) -> dict[str, Any]:
        """The options that differ from the defaults."""
        return {name: getattr(self, name) for name, value in self.defaults.items() if getattr(self, name) != value}

    @abstractmethod
    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        """`instructions` followed by how a reply must be written."""

    @abstractmethod
    def parse(self, reply: str) -> Parsed:
        """Take a reply apart. Never raises, whatever the text; linear in its length."""

    @abstractmethod
    def format(self, actions: Sequence[str], reason: str = "") -> str:
        """A reply that says these native actions: `parse(format(actions)).calls == actions`.

        That holds for one action, and for several where the codec has room for several, as long as neither actions
        nor reason contain the codec's own marks, and no text that the codec strips begins or ends with blanks. Others
        are written all the same, and read as something else.
        """

    @abstractmethod
    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """Feed the next piece of a reply in the making; returns the new state and the label of what comes next.

        Start with the state "". Cutting a reply differently gives the same final state and label.
        """

    def kept(self, reply: str) -> int:
        """How many characters of a reply stay in the transcript that the agent is shown later; only these are read."""
        return len(reply)

    def render(self, observation: str, calls: Sequence[Mapping[str, Any]]) -> list[Message]:
        """The messages that carry a turn's observation back to the agent. `calls` as in `info["calls"]`."""
        return [Message("user", observation)]


def usage_lines(tools: Sequence[Tool]) -> str:
    """One line a tool: how it is written and what it does."""
    return "\n".join(f"- {tool.usage}: {tool.description}" for tool in tools)


def schema_lines(tools: Sequence[Tool]) -> str:
    """The function schema of each tool, one a line."""
    return "\n".join(json.dumps(tool.schema(), ensure_ascii=False) for tool in tools)
