"""The expert: follows a plan, and plans anew only when the play leaves it."""

from __future__ import annotations

from agentenvs.envs.sokoban.engine import Level, cells, move
from agentenvs.envs.sokoban.solver import solve

_MOVE_OPTIMAL_BOXES = 2  # up to so many boxes the fewest moves are found quickly


class Expert:
    """Plans for one level. `max_nodes` bounds each search, so that no state can hold an episode up."""

    def __init__(self, level: Level, max_nodes: int = 200_000) -> None:
        self.level, self.max_nodes = level, max_nodes
        self._plan: list[int] = []
        self._at: tuple[int, int] | None = None

    def direction(self, player: int, boxes: int, budget: int) -> int | None:
        """The next direction (0 to 3) of a plan from this state, or None where none is known.

        A plan has the fewest pushes; one with the fewest moves is looked for where that would not fit into the
        `budget` of moves, and always for one or two boxes.
        """
        if self._at != (player, boxes):
            self._plan = self._make(player, boxes, budget)
        if not self._plan:
            self._at = (player, boxes)
            return None
        direction, *self._plan = self._plan
        self._at = move(self.level, player, boxes, direction)
        return direction

    def _make(self, player: int, boxes: int, budget: int) -> list[int]:
        few = len(cells(boxes)) <= _MOVE_OPTIMAL_BOXES
        kinds = ("moves", "pushes") if few else ("pushes", "moves")
        best: list[int] = []
        for kind in kinds:
            plan = solve(self.level, player, boxes, max_nodes=self.max_nodes, optimise=kind)
            if plan is not None and (not best or len(plan) < len(best)):
                best = plan
            if best and len(best) <= budget:
                break
        return best
