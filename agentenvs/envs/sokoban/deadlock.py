"""States that can never be solved, recognised without search. Every test here is sound: no solvable state is flagged.

Two patterns are known: a box on a cell from which no goal can be reached even on an empty board (a dead square), and
a group of boxes that block each other for ever while one of them is off its goal (a freeze deadlock).
"""

from __future__ import annotations

from collections.abc import Callable

from agentenvs.envs.sokoban.engine import Level, floor


def dead_squares(level: Level) -> int:
    """Mask of the floor cells from which a lone box can reach no goal, wherever the player stands.

    Found by pulling a box backwards from all goals at once: it comes to `c` from `c - d` if the pusher's cell
    `c - 2d` is floor too. Goals are never dead.
    """
    free, cols = floor(level), level.cols
    alive, grown = 0, level.goals
    while alive != grown:
        alive = grown
        for step in (1, cols):
            grown |= (alive >> step) & free & (free << step)
            grown |= (alive << step) & free & (free >> step)
    return free & ~alive


def freeze_test(level: Level, dead: int) -> Callable[[int], int]:
    """A function from a mask of boxes to the mask of those that can never move again in any solution.

    The largest set of boxes such that each is blocked on both axes, where an axis is blocked by a wall on one side,
    by a box of the set on one side, or by dead squares on both sides. The first box of the set to move would have to
    leave along an axis that is still blocked, or step on a dead square, so in a solution none of them moves.
    """
    walls, cols = level.walls, level.cols
    fixed_h = walls << 1 | walls >> 1 | (dead << 1 & dead >> 1)
    fixed_v = walls << cols | walls >> cols | (dead << cols & dead >> cols)

    def frozen(boxes: int) -> int:
        last = 0
        while boxes != last:
            last = boxes
            boxes &= fixed_h | boxes << 1 | boxes >> 1
            boxes &= fixed_v | boxes << cols | boxes >> cols
        return boxes

    return frozen


def is_deadlock(level: Level, boxes: int, dead: int) -> bool:
    """Whether the boxes can certainly not all reach goals; `dead` is `dead_squares(level)`.

    False means unknown: there are deadlocks that only a search finds.
    """
    return bool(boxes & dead) or bool(freeze_test(level, dead)(boxes) & ~level.goals)
