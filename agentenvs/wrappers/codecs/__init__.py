"""Codecs: one environment, several formats of action. `codec(spec)` makes one from its name and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.core.tools import Grammar
from agentenvs.wrappers.codecs.base import Codec, Message, Parsed, Span
from agentenvs.wrappers.codecs.hermes import Hermes
from agentenvs.wrappers.codecs.json import Json
from agentenvs.wrappers.codecs.openai import OpenAI
from agentenvs.wrappers.codecs.plain import Plain
from agentenvs.wrappers.codecs.react import React
from agentenvs.wrappers.codecs.tagged import Tagged
from agentenvs.wrappers.codecs.xml import Xml

CODECS: dict[str, type[Codec]] = {made.name: made for made in (Plain, Tagged, React, Xml, Json, Hermes, OpenAI)}

__all__ = ["CODECS", "Codec", "Message", "Parsed", "Span", "codec", "spec_of"]


def codec(spec: str | Mapping[str, Any], grammar: Grammar | None = None) -> Codec:
    """The codec of a name, or of a mapping `{"name": ..., **options}`; a `version` in it must be the present one.

    `grammar` is that of the environment. Codecs with named arguments can read and write its calls only.
    """
    if not isinstance(spec, (str, Mapping)):
        raise ConfigError(f"codec: expected a name or {{'name': ..., **options}}, got {quote(spec)}")
    options = {"name": spec} if isinstance(spec, str) else dict(spec)
    name, version = options.pop("name", None), options.pop("version", None)
    if not isinstance(name, str) or name not in CODECS:
        raise unknown("codec", name, CODECS)
    try:
        made = CODECS[name](grammar, **options)
    except TypeError as error:
        raise ConfigError(f"codec {name}: {error}") from None
    if version not in (None, made.version):
        raise ConfigError(f"codec {name}: version {quote(version)} is asked for, this package has {made.version}")
    return made


def spec_of(made: Codec) -> dict[str, Any]:
    """The mapping that `codec` makes this codec from, with its version for the records."""
    return {"name": made.name, "version": made.version, **made.options}
