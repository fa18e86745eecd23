"""Chat messages, and their one text form where an observation or a reply is more than plain text.

An observation is `dump(messages)`, which `load` reads. A reply that calls functions the way chat servers do is the
JSON of an assistant message: `reply_text` writes it from a server's message, `assistant` turns it back into one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `call_id` joins a tool's answer to its call."""

    role: str
    content: str
    name: str = ""
    call_id: str = ""


class ToolCall(NamedTuple):
    """A function call in an assistant message. `arguments` is JSON text as a rule, an object where a server sends one,
    or whatever else stood there."""

    id: str
    name: str
    arguments: Any


def dump(messages: Sequence[Message]) -> str:
    """The messages, of which there is at least one, as text: the content alone where it is one user message, else a
    JSON array of objects. A content that would be read as such an array is put into one."""
    first = messages[0]
    if list(messages) == [Message("user", first.content)] and load(first.content) == [first]:
        return first.content
    rows = [{name: value for name, value in asdict(message).items() if value} for message in messages]
    return json.dumps(rows, ensure_ascii=False)


def load(text: str) -> list[Message]:
    """The messages that `dump` wrote as an array; any other text is one user message."""
    try:
        rows = json.loads(text) if text.startswith("[") else None
        made = [Message(**{"content": "", **row}) for row in rows] if isinstance(rows, list) else []
    except (ValueError, TypeError, RecursionError):
        made = []
    plain = made and all(isinstance(value, str) for message in made for value in asdict(message).values())
    return made if plain else [Message("user", text)]


def read_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, blanks around it aside; None for anything else, and where a key stands twice."""
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def tool_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """The function calls of an assistant message, with ids that are unique in it.

    An id that is missing, empty, no text, or that an earlier call has, is replaced by `call_0`, `call_1` and so on,
    leaving out those that stand in the message. What stands in the place of a call and is none has an empty name.
    """
    rows = message.get("tool_calls")
    if message.get("role", "assistant") != "assistant" or not isinstance(rows, list):
        return []
    rows = [row if isinstance(row, dict) else {} for row in rows]
    given = {row["id"] for row in rows if isinstance(row.get("id"), str)}
    fresh = (name for name in map("call_{}".format, count()) if name not in given)
    calls, taken = [], {""}
    for row in rows:
        own = row.get("id")
        name = own if isinstance(own, str) and own not in taken else next(fresh)
        taken.add(name)
        function = row.get("function")
        function = function if isinstance(function, dict) else {}
        called = function.get("name")
        calls.append(ToolCall(name, called if isinstance(called, str) else "", function.get("arguments")))
    return calls


def reply_text(message: Mapping[str, Any]) -> str:
    """The reply that a chat server's assistant message is: its content, or its JSON where it calls functions."""
    content = message.get("content")
    content = content if isinstance(content, str) else ""
    calls = tool_calls(message)
    return json.dumps(_assistant(content, calls), ensure_ascii=False) if calls else content


def assistant(text: str) -> dict[str, Any]:
    """The assistant message that a reply is, as chat servers take it in a history.

    Arguments that are no JSON object become `{}`: servers refuse a whole conversation for them, and the answer to the
    call says what was wrong.
    """
    message = read_object(text) or {}
    calls = tool_calls(message)
    if not calls:
        return {"role": "assistant", "content": text}
    content = message.get("content")
    calls = [call._replace(arguments=arguments_of(call.arguments) or {}) for call in calls]
    return _assistant(content if isinstance(content, str) else "", calls)


def arguments_of(written: Any) -> dict[str, Any] | None:
    """The arguments of a call: an object, the JSON text of one, or nothing at all. None for anything else."""
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}
    found = read_object(written) if isinstance(written, str) else written
    return found if isinstance(found, dict) else None


def _assistant(content: str, calls: Sequence[ToolCall]) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [_row(call) for call in calls]}


def _row(call: ToolCall) -> dict[str, Any]:
    given = {} if call.arguments is None else call.arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
