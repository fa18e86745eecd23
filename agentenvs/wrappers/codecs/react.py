"""`react`: lines that begin with `Thought:` and `Action:`, and native actions (Yao et al., ReAct, 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.errors import ConfigError
from agentenvs.core.messages import Message
from agentenvs.core.tools import Grammar, Tool
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span, usage_lines
from agentenvs.wrappers.codecs.marks import WORD, any_of, unfinished


class React(Codec):
    """`Thought: your reasoning`, on the next line `Action: action`.

    The action is what follows the first `Action:` at the beginning of a line, to the end of the reply. A line that
    begins with `Observation:` ends the reply: what a model imagines from there on is neither read nor kept. The
    thought may be missing, and what stands before it is ignored.

    - `thought`, `action`, `observation`: the three words.
    """

    name = "react"
    version = 1
    defaults = {"thought": "Thought", "action": "Action", "observation": "Observation"}

    def __init__(
        self,
        grammar: Grammar | None = None,
        thought: str = "Thought",
        action: str = "Action",
        observation: str = "Observation",
    ) -> None:
        super().__init__(grammar)
        words = (thought, action, observation)
        if not all(isinstance(word, str) and WORD.fullmatch(word) for word in words) or len(set(words)) < 3:
            raise ConfigError(f"react codec: expected three different words of letters, digits and _, got {words!r}")
        self.thought, self.action, self.observation = words
        # The beginning of a reply counts as that of a line: marks are looked for in "\n" + reply.
        self._marks = tuple(f"\n{word}:" for word in words)
        self._end = self._marks[2]
        self._pattern = any_of(self._marks)

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        return (
            f"{instructions}\n\nActions:\n{usage_lines(tools)}\n\n"
            f"Reply in this form:\n{self.thought}: your reasoning\n{self.action}: action\n"
            f"Then you are shown the {self.observation}. Do not write it yourself."
        )

    def kept(self, reply: str) -> int:
        end = f"\n{reply}".find(self._end)
        return len(reply) if end < 0 else max(0, end - 1)

    def parse(self, reply: str) -> Parsed:
        text = "\n" + reply[: self.kept(reply)]
        thought, action, _ = self._marks
        act = text.find(action)
        think = text.find(thought, 0, act if act >= 0 else len(text))
        spans = []
        if think >= 0:
            end = act if act >= 0 else len(text)
            spans.append(Span(think + len(thought) - 1, end - 1, "reason"))
        if act < 0:
            return Parsed((), tuple(spans), f"There was no line that begins with {self.action}: and says the action.")
        begin = act + len(action)
        spans.append(Span(begin - 1, len(text) - 1, "call"))
        call = text[begin:].strip()
        if not call:
            return Parsed((), tuple(spans), f"There was no action after {self.action}:")
        return Parsed((call,), tuple(spans))

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        """Without a reason only the action line."""
        head = f"{self.thought}: {reason}\n" if reason else ""
        return head + f"{self.action}: " + "\n".join(actions)

    def render(self, observation: str, calls: Sequence[Mapping[str, Any]]) -> list[Message]:
        return [Message("user", f"{self.observation}: {observation}")]

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """The state is the phase and the unfinished mark at the end, as `phase|tail`; phases are the labels, and
        `done`."""
        phase, _, tail = state.partition("|") if state else ("other", "", "\n")
        text, at = tail + piece, 0
        while phase != "done" and (found := self._pattern.search(text, at)):
            at = found.end()
            phase = self._after(phase, found[0])
        if phase == "done":
            return "done|", "other"
        return f"{phase}|{text[unfinished(text, at, self._marks) :]}", phase  # type: ignore[return-value]

    def _after(self, phase: str, mark: str) -> str:
        thought, _, end = self._marks
        if mark == end:
            return "done"
        if phase == "call" or (mark == thought and phase == "reason"):
            return phase
        return "reason" if mark == thought else "call"
