"""What `py:module:factory` may name, and what it may not."""

from __future__ import annotations

from typing import Any

from agentenvs.policies.base import Reply


class Constant:
    name = "constant"

    def __init__(self, word: str = "Up") -> None:
        self.word = word

    def act(self, turns: Any) -> list[Reply]:
        return [Reply(self.word) for _ in turns]


def down() -> Constant:
    return Constant("Down")


def various(*words: str, **options: Any) -> Constant:
    return Constant("Left")


def policy(observation: str, info: dict[str, Any]) -> str:
    return "Right"


def needy(model: str) -> Constant:
    return Constant(model)


def nothing() -> None:
    return None


NUMBER = 5
