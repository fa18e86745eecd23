"""How many pushes a lone box needs to a goal: the table behind the solver's lower bound."""

from __future__ import annotations

from agentenvs.envs.sokoban.engine import Level, cells, flood, floor

FAR = 1 << 20
"""The distance of a cell from which the goal cannot be reached; larger than any real one."""


def push_distances(level: Level) -> list[list[int]]:
    """`table[cell][k]`: the fewest pushes that bring a lone box from `cell` to the k-th goal (goals ascending).

    The player may stand on any side at first; after that it has to walk around the box. That is stronger than
    ignoring the player and still a lower bound when there are other boxes, which only get in the way. `FAR` where it
    is impossible. Shape: rows * cols by number of goals.
    """
    free, cols = floor(level), level.cols
    regions = {cell: _regions(free, cell, cols) for cell in cells(free)}
    goals = cells(level.goals)
    table = [[FAR] * len(goals) for _ in range(level.rows * cols)]
    for k, goal in enumerate(goals):
        _pull_from(goal, k, table, free, cols, regions)
    return table


def _regions(free: int, box: int, cols: int) -> tuple[int, int, int, int]:
    """For a lone box: where the player can walk if it stands above, below, left or right of it (0 for a wall)."""
    around = free & ~(1 << box)
    found: list[int] = []
    for step in (-cols, cols, -1, 1):
        bit = 1 << (box + step) & around
        known = next((region for region in found if region & bit), None)
        found.append(flood(around, bit, cols) if known is None and bit else known or 0)
    return found[0], found[1], found[2], found[3]


def _pull_from(
    goal: int, k: int, table: list[list[int]], free: int, cols: int, regions: dict[int, tuple[int, int, int, int]]
) -> None:
    """Breadth-first search backwards over (box, player region), filling column `k`."""
    layer = [(goal, region) for region in dict.fromkeys(regions[goal]) if region]
    seen = set(layer)
    table[goal][k] = 0
    pushes = 0
    while layer:
        pushes += 1
        after = []
        for box, region in layer:
            for side, step in enumerate((-cols, cols, -1, 1)):
                player = box + step
                if not region >> player & 1 or not free >> (player + step) & 1:
                    continue
                state = (player, regions[player][side])  # the box comes here, the player steps back beyond it
                if state not in seen:
                    seen.add(state)
                    after.append(state)
                    if table[player][k] > pushes:
                        table[player][k] = pushes
        layer = after
