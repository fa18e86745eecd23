"""`tagged`: reasoning and action between tags, as `<think>...</think><action>...</action>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentenvs.core.errors import ConfigError
from agentenvs.core.tools import Grammar, Tool
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span, usage_lines
from agentenvs.wrappers.codecs.marks import unfinished

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_BLANK = re.compile(r"\s*")


class Tagged(Codec):
    """Reasoning in one pair of tags, then the action in another.

    - `think`, `action`: names of the tags; `think=""` where no reasoning is asked for.
    - `separator`: allows several actions in the action block.
    - `whole`: the reply must be the two blocks and nothing else; otherwise the first pair anywhere counts, with
      only white space between the blocks, and what surrounds it is ignored.
    - `hint`: a further sentence for the instructions.
    """

    name = "tagged"
    version = 1
    defaults = {"think": "think", "action": "action", "separator": "", "whole": False, "hint": ""}

    def __init__(
        self,
        grammar: Grammar | None = None,
        think: str = "think",
        action: str = "action",
        separator: str = "",
        whole: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__(grammar)
        if not isinstance(separator, str) or not isinstance(hint, str) or not isinstance(whole, bool):
            raise TypeError(
                f"expected text for separator and hint and a bool for whole, got {(separator, hint, whole)}"
            )
        for tag in (think or action, action):
            if not _TAG.fullmatch(tag):
                raise ConfigError(f"tagged codec: expected a tag name of letters, digits and _, got {tag!r}")
        self.think, self.action, self.separator, self.whole, self.hint = think, action, separator, whole, hint
        self._opening = f"<{think or action}>"
        self._closing = f"</{action}>"
        self._bridge = re.compile(f"</{think}>\\s*<{action}>")
        self._call = f"<{action}>"
        self._seek = {
            "before": (self._opening, "reason" if think else "call"),
            "reason": (f"</{think}>", "bridge"),
            "call": (self._closing, "done"),
        }

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

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """The state is the phase and the unfinished tag at the end, as `phase|tail`.

        The phases: before, reason, bridge (after the end of the reasoning), call, done. They follow `parse`: text that
        comes between the reasoning and the action shows that the reasoning was not over yet.
        """
        phase, _, tail = state.partition("|")
        phase, text, at = phase or "before", tail + piece, 0
        while phase != "done":
            if phase == "bridge":
                at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
                if not text.startswith(self._call, at):
                    if self._call.startswith(text[at : at + len(self._call)]):
                        break
                    phase = "reason"
                    continue
                phase, at = "call", at + len(self._call)
            tag, then = self._seek[phase]
            found = text.find(tag, at)
            if found < 0:
                at = unfinished(text, at, (tag,))
                break
            phase, at = then, found + len(tag)
        rest = "" if phase == "done" else text[at:]
        return f"{phase}|{rest}", phase if phase in ("reason", "call") else "other"  # type: ignore[return-value]
