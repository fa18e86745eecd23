"""`tagged`: reasoning and action between tags, as `<think>...</think><action>...</action>`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agentenvs.core.errors import ConfigError
from agentenvs.core.tools import Tool
from agentenvs.wrappers.codecs.base import Label, Message, Parsed, Span, usage_lines

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Tagged:
    """Reasoning in one pair of tags, then the action in another.

    - `think`, `action`: names of the tags; `think=""` where no reasoning is asked for.
    - `separator`: allows several actions in the action block.
    - `whole`: the reply must be the two blocks and nothing else; otherwise the first pair anywhere counts, with
      only white space between the blocks, and what surrounds it is ignored.
    - `hint`: a further sentence for the instructions.
    """

    name = "tagged"
    version = 1

    def __init__(
        self, think: str = "think", action: str = "action", separator: str = "", whole: bool = False, hint: str = ""
    ) -> None:
        for tag in (think or action, action):
            if not _TAG.fullmatch(tag):
                raise ConfigError(f"tagged codec: expected a tag name of letters, digits and _, got {tag!r}")
        self.think, self.action, self.separator, self.whole, self.hint = think, action, separator, whole, hint
        self._opening = f"<{think or action}>"
        self._closing = f"</{action}>"
        self._bridge = re.compile(f"</{think}>\\s*<{action}>")

    @property
    def options(self) -> dict[str, Any]:
        defaults = {"think": "think", "action": "action", "separator": "", "whole": False, "hint": ""}
        return {name: getattr(self, name) for name, value in defaults.items() if getattr(self, name) != value}

    @property
    def shape(self) -> str:
        """How a reply looks."""
        reason = f"<{self.think}>your reasoning</{self.think}>" if self.think else ""
        inside = f"action {self.separator} action" if self.separator else "action"
        return f"{reason}<{self.action}>{inside}</{self.action}>"

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        text = f"{instructions}\n\nActions:\n{usage_lines(tools)}\n\nReply in this form: {self.shape}"
        return f"{text}\n{self.hint}" if self.hint else text

    def parse(self, reply: str) -> Parsed:
        blocks = self._blocks(reply)
        if blocks is None:
            return Parsed((), (Span(0, len(reply), "other"),) if reply else (), f"Reply in this form: {self.shape}")
        reason, call = blocks
        inside = reply[slice(*call)]
        pieces = inside.split(self.separator) if self.separator else [inside]
        calls = tuple(piece.strip() for piece in pieces if piece.strip())
        spans = (Span(*reason, "reason"), Span(*call, "call")) if self.think else (Span(*call, "call"),)
        error = "" if calls else f"There was no action between <{self.action}> and </{self.action}>."
        return Parsed(calls, spans, error)

    def _blocks(self, reply: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Where the reasoning and the action stand. Three searches, each linear: a hostile reply costs no more."""
        start = reply.find(self._opening)
        if start < 0:
            return None
        begin = start + len(self._opening)
        bridge = self._bridge.search(reply, begin) if self.think else None
        if self.think and bridge is None:
            return None
        reason, begin = ((begin, bridge.start()), bridge.end()) if bridge else ((begin, begin), begin)
        end = reply.find(self._closing, begin)
        if end < 0:
            return None
        if self.whole and (reply[:start].strip() or reply[end + len(self._closing) :].strip()):
            return None
        return reason, (begin, end)

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        head = f"<{self.think}>{reason}</{self.think}>" if self.think else ""
        inside = f" {self.separator} ".join(actions) if self.separator else "\n".join(actions)
        return f"{head}<{self.action}>{inside}</{self.action}>"

    def render(self, observation: str, calls: Sequence[dict[str, Any]]) -> list[Message]:
        return [Message("user", observation)]

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """The state is the label so far and the unfinished tag, as `label|tail`."""
        label, _, tail = state.partition("|")
        label = label or "other"
        text = tail + piece
        opens = {f"<{self.action}>": "call", f"</{self.action}>": "other"}
        if self.think:
            opens |= {f"<{self.think}>": "reason", f"</{self.think}>": "other"}
        longest = max(map(len, opens))
        for i in range(len(text)):
            for tag, then in opens.items():
                if text.startswith(tag, i) and _may(label, tag):
                    label = then
                    text = text[:i] + "\0" * len(tag) + text[i + len(tag) :]
        kept = text[-(longest - 1) :]
        return f"{label}|{kept[kept.rfind('<') :] if '<' in kept else ''}", label  # type: ignore[return-value]


def _may(label: str, tag: str) -> bool:
    """An opening tag counts outside the blocks only, a closing tag inside only."""
    return (label == "other") != tag.startswith("</")
