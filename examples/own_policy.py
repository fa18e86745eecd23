"""A policy of your own, as an object with `act(turns)` or as a plain function; then a run of the suite `quick`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentenvs import Job, Reply, Turn, collect, evaluate, rows
from agentenvs.evaluation.report import print_summary


class Greedy:
    """Walks towards the nearest box; every third turn or so it draws an action, so as not to get stuck."""

    name = "greedy"
    needs = frozenset({"admissible"})  # fills turn.menu

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        return [Reply(calls=(self.choose(turn),)) for turn in turns]

    def choose(self, turn: Turn) -> str:
        state = turn.info["observed"]  # what the observation says, so that nothing needs to be parsed
        if "player" not in state:  # not Sokoban
            return turn.menu[turn.seed % len(turn.menu)]
        row, col = divmod(state["player"], state["cols"])
        boxes = [divmod(box, state["cols"]) for box in state["boxes"] if box not in state["targets"]]
        if not boxes or turn.seed % 3 == 0:
            return turn.menu[turn.seed // 3 % len(turn.menu)]  # chance comes from the seed of the turn only
        down, right = min(((r - row, c - col) for r, c in boxes), key=lambda way: abs(way[0]) + abs(way[1]))
        if abs(down) > abs(right):
            return "Down" if down > 0 else "Up"
        return "Right" if right > 0 else "Left"


def zigzag(observation: str, info: Mapping[str, object]) -> str:
    return "Right" if info["turn"] % 2 else "Down"


def main() -> None:
    jobs = [Job.from_json(row["job"]) for row in rows("agentenvs/Sokoban-v0", "test", 8, kwargs={"preset": "tiny"})]
    for policy in (Greedy(), zigzag):
        ends = [f"{one.end_reason} after {one.usage['steps']}" for one in collect(None, policy, jobs)]
        print(getattr(policy, "name", "zigzag"), *ends, sep=" | ")
    with tempfile.TemporaryDirectory() as folder:
        print_summary(evaluate("quick", Greedy(), Path(folder) / "run"))


if __name__ == "__main__":
    main()
