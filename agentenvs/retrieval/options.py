"""Options of an index: every one named, of the right kind, and written out in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown


def parse_index(text: str) -> Any:
    """A kind, or the JSON object that the text holds."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--index: expected a name or a JSON object: {error}") from None


def settle(kind: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`{"kind": kind}` with all `defaults`, replaced where `given` says so.

    The type of a default is that of its option. Raises `UnknownName` for a stray option, `ConfigError` for a value of
    another type and for a number that is not from 0 to 2**31 - 1.
    """
    settled: dict[str, Any] = {"kind": kind, **defaults}
    for name, value in given.items():
        if name == "kind":
            continue
        if name not in defaults:
            raise unknown(f"option of {kind}", name, defaults)
        settled[name] = _checked(f"{kind}, {name}", value, type(defaults[name]))
    return settled


def _checked(what: str, value: Any, wanted: type) -> Any:
    if wanted is float and type(value) is int and abs(value) < _LIMIT:
        value = float(value)
    if type(value) is not wanted:
        raise ConfigError(f"{what}: expected {_NAMES[wanted]}, got {quote(value)}")
    if wanted in (int, float) and not 0 <= value < _LIMIT:
        raise ConfigError(f"{what}: expected a number from 0 to {_LIMIT - 1}, got {quote(value)}")
    return value


_LIMIT = 2**31
_NAMES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def at_least(spec: Mapping[str, Any], least: int, *names: str) -> None:
    """Raise `ConfigError` for an option below `least`."""
    for name in names:
        if spec[name] < least:
            raise ConfigError(f"{spec['kind']}, {name}: expected at least {least}, got {spec[name]}")


def one_of(spec: Mapping[str, Any], name: str, known: tuple[str, ...]) -> None:
    """Raise `UnknownName` for an option that is none of `known`."""
    if spec[name] not in known:
        raise unknown(f"{name} of {spec['kind']}", spec[name], known)
