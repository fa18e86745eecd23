"""`replay:FILE`: answers as recorded trajectories answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, DataError
from agentenvs.policies.base import Reply, Turn


class Replay:
    """Gives each turn the reply that a trajectory file holds for the same episode, agent and turn number."""

    needs = frozenset()

    def __init__(self, path: str) -> None:
        self.name = f"replay:{Path(path).name}"
        self._replies = _replies(Path(path).expanduser())

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        return [self._find(turn) for turn in turns]

    def _find(self, turn: Turn) -> Reply:
        found = self._replies.get((turn.episode, turn.agent, turn.number))
        if found is None:
            raise ConfigError(
                f"{self.name} holds no reply for turn {turn.number} of {turn.agent!r} in this episode "
                f"({turn.info.get('task_id')}); replay with the suite, seed and episodes of the recorded run"
            )
        return found


def _replies(path: Path) -> dict[tuple[str, str, int], Reply]:
    """The recorded replies by episode, agent and turn number."""
    file = path / "episodes.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise ConfigError(f"replay: expected a file of trajectories or a result folder, got {path}")
    replies: dict[tuple[str, str, int], Reply] = {}
    with open(file, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                record = json.loads(line)
                for decision in record["decisions"]:
                    replies[record["key"], decision["agent"], decision["number"]] = _reply(decision)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                found = f"{type(error).__name__}: {error}"[:200]
                raise DataError(str(file), f"line {number}", expected="a trajectory", found=found) from None
    return replies


def _reply(decision: dict[str, Any]) -> Reply:
    plain = {name: decision[name] for name in ("text", "finish_reason", "usage", "policy_version") if name in decision}
    listed = ("calls", "prompt_ids", "token_ids", "logprobs", "choices")
    return Reply(**plain, **{name: tuple(decision[name]) for name in listed if name in decision})
