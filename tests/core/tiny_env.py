"""A counter as the smallest `TextEnv`: +1, -1, a random move, and ways to fail. For tests of the base class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.env import Outcome, TextEnv
from agentenvs.core.errors import InfrastructureError
from agentenvs.core.snapshot import check_state, natural
from agentenvs.core.task import EndlessSource, Task
from agentenvs.core.tools import Call, Grammar, Tool


class Goals(EndlessSource):
    """Task n: reach the number n % 5 + 2."""

    family = "counter"

    def make(self, split: str, number: int) -> Task:
        return Task(f"counter/{split}/{number}", split, number % 5 + 2)


class Counter(TextEnv):
    family = "counter"
    components = ("move", "goal")

    def __init__(self, *, split: str = "train", max_turns: int = 6, reveal: Sequence[str] = (), **more: Any) -> None:
        self.source, self.preset, self.instructions = Goals(), "default.1", "Reach the goal."
        names = ("up", "down", "jump", "crash", "outage")
        self.tools = tuple(Tool(name, f"{name} the counter") for name in names)
        super().__init__(
            config={"step": (1, 2), "nothing": None},
            split=split,
            max_turns=max_turns,
            grammar=Grammar(self.tools),
            reveal=tuple(reveal),
            **more,
        )

    def begin(self, task: Task) -> str:
        self._at = 0
        return f"goal {task.data}"

    def play(self, call: Call) -> Outcome:
        if call.tool == "crash":
            self._at = 99
            raise ZeroDivisionError("the engine broke")
        if call.tool == "outage":
            raise InfrastructureError("the server is down")
        moves = {"up": 1, "down": -1, "jump": self.chance("jump").integer(-3, 3)}
        self._at = max(0, self._at + moves.get(call.tool, 0))
        won = self._at == self._task.data
        rewards = {"move": -0.25, "goal": 1.0} if won else {"move": -0.25}
        return Outcome(f"at {self._at}", rewards, effective=True, end_reason="reached" if won else "", kind="explore")

    def tell(self, info: dict[str, Any]) -> None:
        goal = self._task.data
        info["score"] = min(1.0, self._at / goal)
        info["success"] = self._at == goal
        info["state_key"] = str(self._at)
        info["observed"] = {"at": self._at}

    def state_text(self) -> str:
        return f"<{self._at}>"

    def admissible_actions(self) -> list[str]:
        return ["up", "down", "jump"]

    def expert_action(self) -> str:
        return "up"

    def gold(self) -> str:
        return ", ".join(["up"] * self._task.data)

    def save(self) -> dict[str, Any]:
        return {"at": self._at}

    def load(self, task: Task, state: Mapping[str, Any]) -> None:
        check_state(state, {"at": natural})
        self._at = state["at"]

    def reset_info(self) -> dict[str, Any]:
        return {"phase": "start"}
