"""Chat messages, and the one text form of them where an observation or a reply is more than plain text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `call_id` joins a tool's answer to its call."""

    role: str
    content: str
    name: str = ""
    call_id: str = ""


def dump(messages: Sequence[Message]) -> str:
    """The messages as text: the content alone where it is one user message, else a JSON array of objects."""
    if len(messages) == 1 and messages[0] == Message("user", messages[0].content):
        return messages[0].content
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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
