"""The card of a submission: who made what, in a TOML file."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown

_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LIMITS = {"policy": 200, "authors": 300, "description": 2_000, "code": 500, "budget": 500}


@dataclass(frozen=True)
class Card:
    """What a submitter says of a submission.

    - `name`: of the row and its folder: lower-case letters, digits, `.`, `_`, `-`.
    - `policy`: what was run; `authors`: who ran it; `date`: when (YYYY-MM-DD).
    - `description`, `code` (a link), `budget` (training and inference compute, tokens): optional.

    All of it is printable text: no control, invisible or direction characters; `description` may have line breaks.
    """

    name: str
    policy: str
    authors: str
    date: str
    description: str = ""
    code: str = ""
    budget: str = ""

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def load_card(path: Path) -> Card:
    """The card of a TOML file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"card {path}: cannot be read: {error}") from None
    return make_card(data, f"card {path}")


def make_card(data: Any, where: str) -> Card:
    """A card from its fields; raises `ConfigError` that names the field."""
    names = [f.name for f in fields(Card)]
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where}: expected a table, got {quote(data)}")
    for name, value in data.items():
        if name not in names:
            raise ConfigError(f"{where}: {unknown('key', name, names)}")
        if isinstance(value, datetime.date):
            data = {**data, name: value.isoformat()}
        elif not isinstance(value, str) or len(value) > _LIMITS.get(name, 100):
            raise ConfigError(f"{where}: {name}: expected text of at most {_LIMITS.get(name, 100)} characters")
        elif not all(char.isprintable() or (char == "\n" and name == "description") for char in value):
            raise ConfigError(f"{where}: {name}: expected printable text, got {ascii(value)[:100]}")
    if missing := [name for name in names[:4] if not data.get(name, "").strip()]:
        raise ConfigError(f"{where}: {', '.join(missing)} missing; a card needs {', '.join(names[:4])}")
    if not _SLUG.fullmatch(data["name"]):
        raise ConfigError(f"{where}: name: expected lower-case letters, digits and . _ -, got {quote(data['name'])}")
    try:
        written = datetime.date.fromisoformat(data["date"]).isoformat()
    except ValueError:
        written = ""
    if data["date"] != written:
        raise ConfigError(f"{where}: date: expected YYYY-MM-DD, got {quote(data['date'])}")
    return Card(**data)
