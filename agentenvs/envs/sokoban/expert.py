"""The expert: follows a plan, and plans anew only when the play leaves it."""

from __future__ import annotations

from agentenvs.envs.sokoban.engine import Level, cells, move
from agentenvs.envs.sokoban.solver import solve

_LARGEST = 20_000  # cells times boxes; beyond, the tables that a search needs take minutes to build
_MOVE_OPTIMAL_BOXES = 2  # up to so many boxes the fewest moves are found quickly


class Expert:
    """Plans for one level. `max_nodes` bounds each search, so that no state can hold an episode up."""

    def __init__(self, level: Level, max_nodes: int = 200_000) -> None:
        self.level, self.max_nodes = level, max_nodes
        self._plan: list[int] = []
        self._states: dict[tuple[int, int], int] = {}

    def plan(self, player: int, boxes: int, budget: int) -> list[int]:
        """Directions (0 to 3) that solve the level from this state; empty where it is solved or no plan is known.

        A plan has the fewest pushes; one with the fewest moves is looked for where that would not fit into the
        `budget` of moves, and always for one or two boxes. While the play stays on the plan, its rest is the plan; so
        an expert that is first asked in the middle (after a restore) may name another plan, as good as this one.
        """
        state = player, boxes
        if state not in self._states:
            self._plan = self._make(player, boxes, budget)
            self._states = {state: 0}
            for at, direction in enumerate(self._plan, 1):
                state = move(self.level, *state, direction)
                self._states[state] = at
        return self._plan[self._states[player, boxes] :]

    def _make(self, player: int, boxes: int, budget: int) -> list[int]:
        if self.level.rows * self.level.cols * len(cells(boxes)) > _LARGEST:
            return []
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


def idle(level: Level, player: int, boxes: int) -> int:
    """A direction that pushes no box; 0 where there is none."""
    return next((d for d in range(4) if move(level, player, boxes, d)[1] == boxes), 0)
