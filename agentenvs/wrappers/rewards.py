"""Reward wrappers: each adds one named component, so that the reward stays the sum of its parts."""

from __future__ import annotations

from math import fsum
from typing import Any, SupportsFloat

import gymnasium as gym

from agentenvs.core.errors import ConfigError
from agentenvs.core.snapshot import finite
from agentenvs.wrappers.base import StatefulWrapper


def add_component(info: dict[str, Any], name: str, value: float) -> float:
    """Write the component into the info and return the new reward, the exact sum of all components."""
    info["reward_components"] = {**info["reward_components"], name: value}
    return fsum(info["reward_components"].values())


class FormatReward(StatefulWrapper):
    """Adds the component `format`: `fault` for a turn that could not be read or was read in part, else `valid`."""

    state_shape = {"last": finite}

    def __init__(self, env: gym.Env[str, str], *, fault: float = 0.0, valid: float = 0.0) -> None:
        for name, value in (("fault", fault), ("valid", valid)):
            if not finite(value):
                raise ConfigError(f"FormatReward: expected a finite number for {name}, got {value!r}")
        super().__init__(env, fault=fault, valid=valid)
        self.fault, self.valid, self._last = float(fault), float(valid), 0.0

    def begin(self) -> None:
        self._last = 0.0

    def save(self) -> dict[str, Any]:
        return {"last": self._last}

    def load(self, state: Any) -> None:
        self._last = state["last"]

    def on_reset(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if "format" in info["reward_components"]:
            raise ConfigError("FormatReward stands twice in this stack; keep one")
        add_component(info, "format", self._last)
        return observation, info

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, _, terminated, truncated, info = self.env.step(action)
        self._last = self.valid if info["is_valid"] else self.fault
        return observation, add_component(info, "format", self._last), terminated, truncated, info
