"""Tools and the native action grammar: the one parser and the one formatter of native actions.

A native action is text. Its form follows from the tool:

- `form` given (bare commands): the form with its `{parameter}` slots filled, e.g. `Up` or `go to desk 1`;
- no parameters: the tool's name;
- one required string parameter: `name[text]`, where text is everything up to the final `]`, verbatim;
- otherwise `name[{JSON object}]`.

Parsing and formatting are inverse to each other: `parse(format(call)) == call` for every call that can be written.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentenvs.core.errors import ConfigError, quote

KINDS = ("explore", "commit", "backtrack", "note")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BRACKETS = re.compile(r"([a-z][a-z0-9_]*)\[(.*)\]", re.DOTALL)
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SCALARS = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
_SHOWN = 5  # choices that a usage lists in the place of a slot
_TABLE_LIMIT = 4096  # spelled-out actions kept for look-up


class ActionError(Exception):
    """An action text that is no call; the message says what was wrong and what is accepted."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One flat parameter. `type`: string, integer, number, boolean, enum (of `choices`) or array (of `items`)."""

    name: str
    type: str
    description: str
    choices: tuple[str, ...] = ()
    items: str = "string"
    required: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"parameter name: expected [a-z][a-z0-9_]*, got {self.name!r}")
        if self.type not in (*_SCALARS, "enum", "array") or self.items not in _SCALARS:
            raise ConfigError(f"parameter {self.name}: unknown type {self.type!r} of {self.items!r}")
        if (self.type == "enum") != bool(self.choices):
            raise ConfigError(f"parameter {self.name}: choices go with the type enum, and only with it")

    def schema(self) -> dict[str, Any]:
        """The parameter as JSON Schema."""
        if self.type == "enum":
            return {"type": "string", "enum": list(self.choices), "description": self.description}
        if self.type == "array":
            return {"type": "array", "items": {"type": self.items}, "description": self.description}
        return {"type": self.type, "description": self.description}

    def check(self, value: Any) -> None:
        """Raise ActionError unless `value` is of the parameter's type."""
        if self.type == "enum":
            if value not in self.choices:
                raise ActionError(f"{self.name} must be one of {', '.join(self.choices)}, not {quote(value)}")
        elif self.type == "array":
            if not isinstance(value, list) or not all(_is_scalar(item, self.items) for item in value):
                raise ActionError(f"{self.name} must be a list of {self.items} values, not {quote(value)}")
        elif not _is_scalar(value, self.type):
            raise ActionError(f"{self.name} must be of type {self.type}, not {quote(value)}")


def _is_scalar(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _SCALARS[kind])


@dataclass(frozen=True, slots=True)
class Tool:
    """Something an agent can do. `kind` labels its calls in `info["action_kind"]`."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    form: str | None = None
    kind: str = "commit"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"tool name: expected [a-z][a-z0-9_]*, got {self.name!r}")
        if self.kind not in KINDS:
            raise ConfigError(f"tool {self.name}: kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.form is not None and sorted(_SLOT.findall(self.form)) != sorted(p.name for p in self.parameters):
            raise ConfigError(f"tool {self.name}: the form {self.form!r} must name every parameter once")
        if self.form is not None and not all(p.required for p in self.parameters):
            raise ConfigError(f"tool {self.name}: a bare command has no optional parameters; make all of them required")

    @property
    def takes_text(self) -> bool:
        """Whether the native form is `name[text]`."""
        first = self.parameters[0] if len(self.parameters) == 1 else None
        return self.form is None and first is not None and first.type == "string" and first.required

    @property
    def usage(self) -> str:
        """How the action is written, e.g. `search[query]` or `Up | Down | Left | Right`."""
        if self.form is not None:
            if len(self.parameters) == 1 and self.form == f"{{{self.parameters[0].name}}}":
                choices = self.parameters[0].choices
                if choices:
                    return " | ".join(choices)
            choices = {p.name: " | ".join(p.choices[:_SHOWN]) for p in self.parameters if len(p.choices) <= _SHOWN}
            return _SLOT.sub(lambda slot: choices.get(slot[1]) or f"<{slot[1]}>", self.form)
        if not self.parameters:
            return self.name
        if self.takes_text:
            return f"{self.name}[{self.parameters[0].name}]"
        return f"{self.name}[{{{', '.join(json.dumps(p.name) + ': ' + p.type for p in self.parameters)}}}]"

    def schema(self) -> dict[str, Any]:
        """The tool as the function schema that chat servers take."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {p.name: p.schema() for p in self.parameters},
                    "required": [p.name for p in self.parameters if p.required],
                    "additionalProperties": False,
                },
            },
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise ActionError unless `arguments` fit the parameters."""
        known = {p.name: p for p in self.parameters}
        for name in arguments:
            if name not in known:
                raise ActionError(f"{self.name} has no parameter {quote(name)}")
        for name, parameter in known.items():
            if name in arguments:
                parameter.check(arguments[name])
            elif parameter.required:
                raise ActionError(f"{self.name} needs {name}")


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Grammar:
    """Parses native actions of a set of tools, and writes them.

    With `ignore_case` spelled-out actions (those with enum and boolean parameters only) match in any case.
    """

    def __init__(self, tools: Iterable[Tool], *, ignore_case: bool = False) -> None:
        tools = tuple(tools)
        self.tools = {tool.name: tool for tool in tools}
        if len(self.tools) < len(tools):
            raise ConfigError(f"grammar: a tool is given twice in {', '.join(tool.name for tool in tools)}")
        self._fold = str.casefold if ignore_case else str
        #: Spelled-out actions and their calls: a quicker way to what `parse` gives for them.
        self.spelled: dict[str, Call] = {}
        self._own: set[str] = set()  # those that are not there by folding alone
        self._patterns: list[tuple[list[str], Tool]] = []
        for tool in self.tools.values():
            self._compile(tool)
        self.usage = " | ".join(tool.usage for tool in self.tools.values())

    def parse(self, text: str) -> Call:
        """The call that `text` writes; raises ActionError with a sentence for the agent."""
        found = self.spelled.get(text)
        if found is not None:
            return found
        text = text.strip()
        found = self.spelled.get(self._fold(text))
        if found is not None:
            return found
        brackets = _BRACKETS.fullmatch(text)
        if brackets and (tool := self.tools.get(brackets[1])) and tool.form is None and tool.parameters:
            return self._bracketed(tool, brackets[2])
        for parts, tool in self._patterns:
            if (words := _slots(parts, text)) is not None:
                return _checked(tool, {p.name: _read(words[p.name], p) for p in tool.parameters})
        raise ActionError(f"Unknown action {quote(text)}. Accepted: {self.usage}.")

    def format(self, call: Call) -> str:
        """The native action of `call`; raises ActionError where the arguments do not fit or cannot be written."""
        tool = self.tools.get(call.tool)
        if tool is None:
            raise ActionError(f"Unknown tool {quote(call.tool)}. Known: {', '.join(self.tools)}.")
        tool.check(call.arguments)
        text = _write(tool, call.arguments)
        try:
            read = self.parse(text)
        except ActionError:
            read = None
        if read != call:
            raise ActionError(f"{tool.name} cannot be written with the arguments {quote(dict(call.arguments))}.")
        return text

    def _bracketed(self, tool: Tool, inside: str) -> Call:
        if tool.takes_text:
            return Call(tool.name, {tool.parameters[0].name: inside})
        try:
            arguments = json.loads(inside, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise ActionError(f"{tool.name} needs one JSON object in its brackets; write {tool.usage}")
        return _checked(tool, arguments)

    def _compile(self, tool: Tool) -> None:
        """File the tool under its spelled-out actions where they are few, else under a pattern."""
        if tool.form is None:
            if not tool.parameters:
                self._spell(tool.name, Call(tool.name))
            return
        spelled = {"boolean": (True, False)}
        values = [p.choices or spelled.get(p.type, ()) for p in tool.parameters]
        if math.prod(map(len, values)) in range(1, _TABLE_LIMIT + 1):
            for combination in itertools.product(*values):
                call = Call(tool.name, dict(zip((p.name for p in tool.parameters), combination, strict=True)))
                self._spell(_write(tool, call.arguments), call)
            return
        self._patterns.append((_SLOT.split(tool.form), tool))

    def _spell(self, text: str, call: Call) -> None:
        """File a spelled-out action, and its folded form unless that is another action's own spelling."""
        if self.spelled.get(text, call) != call and text in self._own:
            raise ConfigError(f"grammar: {quote(text)} writes two actions: {self.spelled[text]} and {call}")
        self._own.add(text)
        self.spelled[text] = call
        self.spelled.setdefault(self._fold(text), call)


def _checked(tool: Tool, arguments: dict[str, Any]) -> Call:
    """The call with arguments that were read from a native action; raises ActionError that says how it is written."""
    try:
        tool.check(arguments)
    except ActionError as error:
        raise ActionError(f"{error}; write {tool.usage}") from None
    return Call(tool.name, arguments)


def _slots(parts: list[str], text: str) -> dict[str, str] | None:
    """The words in the slots of a form, or None. `parts` alternates fixed text and slot names.

    Each fixed text is looked for once, as early as it can stand, and the last one at the end: the same words as the
    shortest match of a regular expression would give, without its backtracking (a hostile text costs linear time).
    """
    if not text.startswith(parts[0]):
        return None
    words, begin = {}, len(parts[0])
    for i in range(1, len(parts), 2):
        last = i == len(parts) - 2
        at = len(text) - len(parts[-1]) if last else text.find(parts[i + 1], begin + 1)
        if at <= begin or (last and not text.endswith(parts[-1])):
            return None
        words[parts[i]] = text[begin:at]
        begin = at + len(parts[i + 1])
    return words


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _write(tool: Tool, arguments: Mapping[str, Any]) -> str:
    if tool.form is not None:
        return _SLOT.sub(lambda slot: _word(arguments[slot[1]]), tool.form)
    if not tool.parameters:
        return tool.name
    if tool.takes_text:
        return f"{tool.name}[{arguments[tool.parameters[0].name]}]"
    return f"{tool.name}[{json.dumps(dict(arguments), ensure_ascii=False)}]"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _read(text: str, parameter: Parameter) -> Any:
    """The value of a slot in a bare command: text as it stands, other types as JSON literals."""
    if parameter.type in ("string", "enum"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # refused by the type check, with the right sentence
