"""`replay:FILE`: answers as recorded trajectories answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError
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
    from agentenvs.rollout.trajectory import read  # rollout imports policies, so this one import waits

    if path.is_dir():
        path = path / "episodes.jsonl"
    if not path.is_file():
        raise ConfigError(f"replay: expected a file of trajectories or a result folder, got {path}")
    replies: dict[tuple[str, str, int], Reply] = {}
    for trajectory in read(path):
        for decision in trajectory.decisions:
            key = trajectory.job.key, decision.agent, decision.number
            replies[key] = Reply(**_fields(decision))
    return replies


def _fields(decision: Any) -> dict[str, Any]:
    names = ("text", "finish_reason", "usage", "policy_version")
    lists = ("calls", "prompt_ids", "token_ids", "logprobs", "choices")
    given = {name: getattr(decision, name) for name in names}
    return given | {name: tuple(v) for name in lists if (v := getattr(decision, name)) is not None}
