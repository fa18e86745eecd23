"""Codecs: one environment, several formats of action. `codec(spec)` makes one from its name and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentenvs.core.errors import ConfigError, unknown
from agentenvs.wrappers.codecs.base import Codec, Message, Parsed, Span
from agentenvs.wrappers.codecs.plain import Plain
from agentenvs.wrappers.codecs.tagged import Tagged

CODECS: dict[str, type[Codec]] = {"plain": Plain, "tagged": Tagged}

__all__ = ["CODECS", "Codec", "Message", "Parsed", "Span", "codec"]


def codec(spec: str | Mapping[str, Any]) -> Codec:
    """The codec of a name, or of a mapping `{"name": ..., **options}`."""
    options = {"name": spec} if isinstance(spec, str) else dict(spec)
    name = options.pop("name", None)
    if name not in CODECS:
        raise unknown("codec", name, CODECS)
    try:
        return CODECS[name](**options)
    except TypeError as error:
        raise ConfigError(f"codec {name}: {error}") from None


def spec_of(made: Codec) -> dict[str, Any]:
    """The mapping that `codec` makes this codec from, with its version for the records."""
    return {"name": made.name, "version": made.version, **made.options}
