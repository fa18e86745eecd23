"""The base of our wrappers: recorded arguments, and a state that snapshots can hold."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from agentenvs.core.snapshot import check_state, split_entry


class StatefulWrapper(gym.Wrapper[str, str, str, str], RecordConstructorArgs):
    """A wrapper whose state is saved and restored with the stack.

    Subclasses call `super().__init__(env, **kwargs)` with their own JSON arguments, so that the environment's spec
    rebuilds them, and override `begin` (a fresh episode), `save` and `load`.
    """

    #: What `save` returns: for each key a test of its value.
    state_shape: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, env: gym.Env[str, str], **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gym.Wrapper.__init__(self, env)
        self._origin: Mapping[str, Any] | None = None

    def begin(self) -> None:
        """Set the state to that of a fresh episode."""

    def save(self) -> dict[str, Any]:
        """The state as JSON data."""
        return {}

    def load(self, state: Mapping[str, Any]) -> None:
        """Set the state to one that `save` gave."""

    def on_reset(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """What the wrapper makes of the observation and info of a reset, after its own state is set."""
        return observation, info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        restart = isinstance(options, Mapping) and options.get("restart")
        entry = None
        if restart:
            entry = self._origin
        elif isinstance(options, Mapping) and "snapshot" in options:
            own, below = split_entry(self, options["snapshot"])
            entry = copy.deepcopy(own.get("state"))
            check_state(entry, self.state_shape)
            options = {**options, "snapshot": below}
        observation, info = self.env.reset(seed=seed, options=options)
        self._origin = entry
        if entry is None:
            self.begin()
        else:
            self.load(entry)
        return self.on_reset(observation, info)

    def snapshot_entry(self) -> dict[str, Any]:
        """This layer's part of a snapshot."""
        return {"state": self.save()}
