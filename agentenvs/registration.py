"""Every id of the suite. Entry points are strings: registering imports no family."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator


class Entry(NamedTuple):
    """An id, where its class lives, and what it is in a few words."""

    id: str
    entry_point: str
    summary: str

    def presets(self) -> tuple[str, ...]:
        """The presets of the environment; this imports its family."""
        return load_env_creator(self.entry_point).presets  # type: ignore[attr-defined]


ENTRIES = (
    Entry(
        "agentenvs/Sokoban-v0", "agentenvs.envs.sokoban.env:SokobanEnv", "push boxes onto targets; one mistake is final"
    ),
    Entry(
        "agentenvs/SearchQA-v0",
        "agentenvs.envs.search_qa.env:SearchQAEnv",
        "answer questions by searching passages, and decide whether to search",
    ),
)
IDS = tuple(entry.id for entry in ENTRIES)


def register_all() -> None:
    """Register every id with Gymnasium, once.

    Gymnasium's own checker and order enforcer are left out: `TextEnv` refuses what they refuse, at a tenth of the
    cost, and `agentenvs.testing.check_contract` tests far more than the passive checker does.
    """
    for entry in ENTRIES:
        if entry.id not in gym.registry:
            gym.register(entry.id, entry_point=entry.entry_point, order_enforce=False, disable_env_checker=True)
