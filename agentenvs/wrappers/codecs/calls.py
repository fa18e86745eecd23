"""Calls with named arguments: from the name and arguments in a reply to the native action, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from agentenvs.core.messages import arguments_of
from agentenvs.core.tools import ActionError, Call, Grammar


class Written(NamedTuple):
    """A call in a reply: its text, the name, and the arguments, which may be JSON text of an object."""

    text: str
    name: Any
    arguments: Any


def read(grammar: Grammar, written: Iterable[Written]) -> tuple[tuple[str, ...], Mapping[int, str] | None]:
    """The native actions, and for the index of each that is none why; there, the text of the call stands instead."""
    calls: list[str] = []
    faults: dict[int, str] = {}
    for call in written:
        try:
            calls.append(native(grammar, call.name, call.arguments))
        except ActionError as fault:
            faults[len(calls)] = str(fault)
            calls.append(call.text)
    return tuple(calls), faults or None


def native(grammar: Grammar, name: Any, arguments: Any) -> str:
    """The native action of a call; raises ActionError with a sentence for the agent where it is none."""
    if not isinstance(name, str):
        known = ", ".join(grammar.tools)
        raise ActionError(f"a call is one JSON object with the name of a tool and its arguments. Known: {known}.")
    found = arguments_of(arguments)
    if found is None and name in grammar.tools:
        raise ActionError(f"the arguments of {name} must be one JSON object.")
    return grammar.format(Call(name, found or {}))


def named(grammar: Grammar, action: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a native action; of one that the grammar cannot read, its text and none."""
    try:
        call = grammar.parse(action)
    except ActionError:
        return action, {}
    return call.tool, dict(call.arguments)


def as_json(value: Any, *tags: str) -> str:
    """The JSON text of a value, in which none of the tags stands."""
    text = json.dumps(value, ensure_ascii=False)
    for tag in tags:  # a `<` in JSON text is part of a string, where it may be escaped
        text = text.replace(tag, "\\u003c" + tag[1:])
    return text
