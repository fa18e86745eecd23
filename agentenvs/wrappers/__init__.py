"""Wrappers: formats of action, limits, named rewards. `build(env, specs)` puts a recorded stack together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from agentenvs.core.errors import ConfigError, unknown
from agentenvs.wrappers.actions import TextActions
from agentenvs.wrappers.base import StatefulWrapper
from agentenvs.wrappers.limits import Limits, kept
from agentenvs.wrappers.rewards import CallCost, FormatReward, SequenceReward, TurnCost, add_component
from agentenvs.wrappers.sequence import valid_sequence

#: The wrappers that a stack in a record can name. In a stack they stand in this order, innermost first.
WRAPPERS: dict[str, type[StatefulWrapper]] = {
    wrapper.__name__: wrapper for wrapper in (TextActions, Limits, FormatReward, SequenceReward, CallCost, TurnCost)
}

__all__ = [
    "WRAPPERS",
    "CallCost",
    "FormatReward",
    "Limits",
    "SequenceReward",
    "StatefulWrapper",
    "TextActions",
    "TurnCost",
    "add_component",
    "build",
    "kept",
    "protocol",
    "valid_sequence",
]


def build(env: gym.Env[str, str], specs: Sequence[Mapping[str, Any]]) -> gym.Env[str, str]:
    """`env` in the wrappers of `specs`, innermost first, each `{"name": ..., "kwargs": {...}}`."""
    for spec in specs:
        name = spec.get("name")
        if name not in WRAPPERS:
            raise unknown("wrapper", name, WRAPPERS)
        try:
            env = WRAPPERS[name](env, **spec.get("kwargs", {}))
        except TypeError as error:
            raise ConfigError(f"wrapper {name}: {error}") from None
    return env


def protocol(env: gym.Env[str, str]) -> gym.Env[str, str]:
    """`env` in the wrappers of its preset: the published format of action, limits and format reward."""
    return build(env, env.get_wrapper_attr("protocol"))
