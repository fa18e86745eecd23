"""Policies without a model: random, constant, expert, human."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agentenvs.core.errors import ConfigError
from agentenvs.core.rng import Stream
from agentenvs.policies.base import Reply, Turn


class Random:
    """Uniform over the admissible actions, as a function of the turn's seed."""

    name = "random"
    needs = frozenset({"admissible"})

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        for turn in turns:
            if not turn.menu:
                raise ConfigError("random: this environment lists no admissible actions here; it needs a menu")
        return [Reply(calls=(Stream("random policy", turn.seed).choice(turn.menu),)) for turn in turns]


class Constant:
    """Always the same native action, such as `answer[yes]`: what a score is worth that needs no look at the task."""

    needs = frozenset()

    def __init__(self, action: str) -> None:
        self.action, self.name = action, f"constant:{action}"

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        return [Reply(calls=(self.action,)) for _ in turns]


class Expert:
    """Does what the environment's own expert would do, in replies as long as the format allows."""

    name = "expert"
    needs = frozenset({"expert"})

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        return [Reply(calls=tuple(turn.info["expert_plan"])) for turn in turns]


class Human:
    """Asks at the terminal. An end of input (Ctrl-D) stops the run."""

    name = "human"
    needs = frozenset()
    max_batch = 1

    def act(self, turns: Sequence[Turn]) -> list[str]:
        return [self._ask(turn) for turn in turns]

    def _ask(self, turn: Turn) -> str:
        if turn.number == 0:
            print(f"\n{turn.instructions}\n")
        print(f"{turn.observation}\n")
        for name, text in turn.context.items():
            print(f"[{name}]\n{text}\n")
        try:
            return input("> ")
        except EOFError:
            sys.stdout.write("\n")
            raise KeyboardInterrupt from None
