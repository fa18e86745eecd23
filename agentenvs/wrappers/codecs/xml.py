"""`xml`: a pair of tags for each tool, as `<search>query</search>` (Search-R1 and its relatives)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentenvs.core.errors import ConfigError, quote
from agentenvs.core.messages import Message
from agentenvs.core.tools import Grammar, Tool
from agentenvs.wrappers.codecs.base import Codec, Label, Parsed, Span
from agentenvs.wrappers.codecs.calls import Written, as_json, named, read
from agentenvs.wrappers.codecs.marks import any_of, check_tags, escape, pair, unfinished


class Xml(Codec):
    """One call a reply: the leftmost pair of a tool's tags, in this case of letters, up to its first closing tag.

    Between the tags stands the value of a tool that has one required parameter, a text or a choice, with blanks around
    it dropped; a JSON object of arguments for tools with other parameters; anything, which is ignored, for those with
    none. What surrounds the pair is ignored too.

    - `think`: name of the tag around the reasoning; "" where none is asked for.
    - `result`: name of the tag around what a call led to, or its opening and closing tag; "" for none.
    - `cut`: a reply ends with the first closing tag of the first tool of the grammar that has one in it: with tools
      search and answer, a `</search>` anywhere ends it, whatever came before.
    - `around`: text before and after the tags around a result.
    - `escape`: in results, the `<` of every tag of this codec is written `&lt;`, so that a result cannot end itself,
      and a reply that quotes it says nothing by that.
    - `answer`: the tool whose calls are labelled as answers.
    - `marks`: for the names of tools an opening and a closing tag in place of those with the name.
    """

    name = "xml"
    version = 1
    defaults = {
        "think": "think",
        "result": "information",
        "cut": True,
        "around": "\n\n",
        "escape": True,
        "answer": "answer",
        "marks": {},
    }

    def __init__(
        self,
        grammar: Grammar | None = None,
        think: str = "think",
        result: str | Sequence[str] = "information",
        cut: bool = True,
        around: str = "\n\n",
        escape: bool = True,
        answer: str = "answer",
        marks: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(grammar)
        if not all(isinstance(text, str) for text in (think, around, answer)):
            raise TypeError(f"expected text for think, around and answer, got {(think, around, answer)}")
        if not isinstance(cut, bool) or not isinstance(escape, bool):
            raise TypeError(f"expected a bool for cut and escape, got {(cut, escape)}")
        if not isinstance(marks or {}, Mapping):
            raise TypeError(f"expected a mapping of tools to tags for marks, got {marks!r}")
        self.think, self.result, self.cut, self.around = think, result, cut, around
        self.escape, self.answer, self.marks = escape, answer, dict(marks or {})
        self._think = pair(think) if think else ()
        self._result = _pair_of("result", result) if result else ()
        self._tags = {name: _pair_of(name, self.marks.get(name, name)) for name in self.grammar.tools}
        every = (*self._think, *self._result, *(tag for tags in self._tags.values() for tag in tags))
        check_tags("xml", *every)
        self._every = any_of(every)
        self._seek = _Marks(self._think, self._tags)

    # Describing ---------------------------------------------------------------------------------------------------

    def usage(self, tool: Tool) -> str:
        """How the call of a tool is written."""
        opening, closing = self._tags.get(tool.name) or _pair_of(tool.name, self.marks.get(tool.name, tool.name))
        if _has_one_value(tool):
            [parameter] = tool.parameters
            return f"{opening}{' | '.join(parameter.choices) or parameter.name}{closing}"
        inside = ", ".join(f"{as_json(one.name)}: {one.type}" for one in tool.parameters)
        return f"{opening}{{{inside}}}{closing}" if inside else f"{opening}{closing}"

    def describe(self, instructions: str, tools: Sequence[Tool]) -> str:
        lines = "\n".join(f"- {self.usage(tool)}: {tool.description}" for tool in tools)
        first = f"Reason between {' and '.join(self._think)}, then write" if self.think else "Write"
        shown = f" What it leads to is shown between {' and '.join(self._result)}." if self.result else ""
        return f"{instructions}\n\nActions:\n{lines}\n\n{first} one action and end your reply.{shown}"

    # Reading and writing ------------------------------------------------------------------------------------------

    def kept(self, reply: str) -> int:
        if self.cut:
            for _, closing in self._tags.values():
                if (at := reply.find(closing)) >= 0:
                    return at + len(closing)
        return len(reply)

    def parse(self, reply: str) -> Parsed:
        text = reply[: self.kept(reply)]
        found = self._find(text)
        reason = self._reason(text, found.start if found else len(text))
        if found is None:
            usages = " or ".join(map(self.usage, self.grammar.tools.values()))
            return Parsed((), reason, f"There was no complete action. Write one in this form: {usages}")
        tool, inside = self.grammar.tools[found.name], text[found.begin : found.end]
        written = Written(
            text[found.start : found.end + len(self._tags[found.name][1])], tool.name, _value(tool, inside)
        )
        calls, faults = read(self.grammar, [written])
        return Parsed(calls, (*reason, Span(found.begin, found.end, self._label(found.name))), faults=faults)

    def _find(self, text: str) -> _Found | None:
        """The leftmost complete pair. A tool's first opening tag is enough: if it stays open, so do all later ones."""
        pairs = []
        for name, (opening, closing) in self._tags.items():
            start = text.find(opening)
            end = text.find(closing, start + len(opening)) if start >= 0 else -1
            if end >= 0:
                pairs.append(_Found(start, start + len(opening), end, name))
        return min(pairs, default=None)

    def _reason(self, text: str, limit: int) -> tuple[Span, ...]:
        """The first block of reasoning before `limit`; the call ends it where it was not closed."""
        start = text.find(self._think[0], 0, limit) if self.think else -1
        if start < 0:
            return ()
        start += len(self._think[0])
        end = text.find(self._think[1], start, limit)
        return (Span(start, limit if end < 0 else end, "reason"),)

    def _label(self, name: str) -> Label:
        return "answer" if name == self.answer else "call"

    def format(self, actions: Sequence[str], reason: str = "") -> str:
        """An action that the grammar cannot read is written without tags, and so is none in this format either."""
        head = f"{self._think[0]}{reason}{self._think[1]}\n" if self.think else ""
        return head + "\n".join(map(self._write, actions))

    def _write(self, action: str) -> str:
        name, arguments = named(self.grammar, action)
        if name not in self._tags:
            return action
        (opening, closing), tool = self._tags[name], self.grammar.tools[name]
        if not tool.parameters:
            return f"{opening}{closing}"
        inside = arguments[tool.parameters[0].name] if _has_one_value(tool) else as_json(arguments, closing)
        return f"{opening}{inside}{closing}"

    # Results ------------------------------------------------------------------------------------------------------

    def render(self, observation: str, calls: Sequence[Mapping[str, Any]]) -> list[Message]:
        """What a call led to, between the tags for results; a refusal as it stands, and nothing as nothing."""
        if not observation or not any(call["ok"] for call in calls):
            return [Message("user", observation)]
        text = escape(observation, self._every) if self.escape else observation
        if self.result:
            text = f"{self.around}{self._result[0]}{text}{self._result[1]}{self.around}"
        return [Message("user", text)]

    # Routing ------------------------------------------------------------------------------------------------------

    def route(self, state: str, piece: str) -> tuple[str, Label]:
        """The state is the phase and the unfinished tag at the end, as `phase|tail`.

        The phases: "" (no reasoning yet), `reason`, `between` (after the reasoning), the names of the tools that are
        open, the latest first, and `done`. While several are open the latest gives the label, and the first to be
        closed was the call. With `cut`, the closing tag of the grammar's first tool ends the reply in any case.
        """
        phase, _, tail = state.partition("|")
        text, at = tail + piece, 0
        while phase != "done":
            found = self._seek.pattern.search(text, at)
            if found is None:
                at = unfinished(text, at, self._seek.marks)
                break
            phase, at = self._after(phase, found[0]), found.end()
        rest = "" if phase == "done" else text[at:]
        return f"{phase}|{rest}", self._labelled(phase)

    def _after(self, phase: str, mark: str) -> str:
        opened = phase[1:].split(",") if phase.startswith("<") else []
        if (name := self._seek.opening.get(mark)) is not None:
            return "<" + ",".join([name, *(other for other in opened if other != name)])
        if (name := self._seek.closing.get(mark)) is not None:
            ends = name in opened or (self.cut and name == next(iter(self._tags)))
            return "done" if ends else phase
        if mark == self._think[0]:
            return phase or "reason"
        return "between" if phase == "reason" else phase

    def _labelled(self, phase: str) -> Label:
        if phase.startswith("<"):
            return self._label(phase[1:].split(",")[0])
        return "reason" if phase == "reason" else "other"


class _Found(NamedTuple):
    """A pair of tags in a text: where it starts, where its inside begins and ends, and whose it is."""

    start: int
    begin: int
    end: int
    name: str


class _Marks:
    """The tags that a reply can hold, and the tools that they open and close."""

    def __init__(self, think: Sequence[str], tags: Mapping[str, tuple[str, str]]) -> None:
        self.opening = {opening: name for name, (opening, _) in tags.items()}
        self.closing = {closing: name for name, (_, closing) in tags.items()}
        self.marks = (*think, *self.opening, *self.closing)
        self.pattern = any_of(self.marks)


def _pair_of(what: str, tags: str | Sequence[str]) -> tuple[str, str]:
    """The opening and closing tag that a name, or a list of the two, stands for."""
    if isinstance(tags, str):
        return pair(tags)
    if not isinstance(tags, (list, tuple)) or len(tags) != 2:
        raise ConfigError(f"xml codec: {what}: expected a name or an opening and a closing tag, got {quote(tags)}")
    return tags[0], tags[1]


def _has_one_value(tool: Tool) -> bool:
    first = tool.parameters[0] if len(tool.parameters) == 1 else None
    return first is not None and first.required and first.type in ("string", "enum")


def _value(tool: Tool, inside: str) -> Any:
    """The arguments that stand between the tags of a tool."""
    if not tool.parameters:
        return {}
    return {tool.parameters[0].name: inside.strip()} if _has_one_value(tool) else inside
