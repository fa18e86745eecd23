"""The rules of Sokoban on bitmasks: moving, pushing, and where the player can walk.

Cell (row, col) is the index `row * cols + col`; a set of cells is an integer with those bits set. The rim of every
level is wall, so a shift by one cell never leaves the board or wraps into the next row, and no rule needs a bounds
check. A state is `(player, boxes)`: a cell index and a mask. Nothing here is random or kept between calls.
"""

from __future__ import annotations

from typing import NamedTuple

DIRECTIONS = ("Up", "Down", "Left", "Right")
"""Names of the directions 0 to 3; as (row, col) steps: (-1, 0), (1, 0), (0, -1), (0, 1)."""


class Level(NamedTuple):
    """A level and its start. `walls`, `goals` and `boxes` are masks over `rows * cols` cells, `player` a cell index.

    Invariant (loaders and generators establish it, the rules rely on it): every rim cell is wall, and neither the
    player, a box nor a goal is on a wall. Boxes and goals are equal in number.
    """

    rows: int
    cols: int
    walls: int
    goals: int
    boxes: int
    player: int


def move(level: Level, player: int, boxes: int, direction: int) -> tuple[int, int]:
    """The state after one step in `direction`: a push if a box is ahead and the cell behind it is free, a plain move
    if the cell ahead is free, else the same state.

    >>> level = Level(3, 5, walls=0b111111000111111, goals=1 << 8, boxes=1 << 7, player=6)
    >>> move(level, 6, 1 << 7, 3) == (7, 1 << 8)
    True
    """
    step = (-level.cols, level.cols, -1, 1)[direction]
    ahead = player + step
    bit = 1 << ahead
    if level.walls & bit:
        return player, boxes
    if not boxes & bit:
        return ahead, boxes
    behind = 1 << (ahead + step)
    if (level.walls | boxes) & behind:
        return player, boxes
    return ahead, boxes ^ bit ^ behind


def play(level: Level, directions: list[int]) -> tuple[int, int]:
    """The state after all of `directions`, from the start of the level."""
    player, boxes = level.player, level.boxes
    for direction in directions:
        player, boxes = move(level, player, boxes, direction)
    return player, boxes


def solved(level: Level, boxes: int) -> bool:
    """Whether every box is on a goal."""
    return boxes & ~level.goals == 0


def on_goal(level: Level, boxes: int) -> int:
    """How many boxes are on goals."""
    return (boxes & level.goals).bit_count()


def cells(mask: int) -> list[int]:
    """The cell indices in `mask`, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def reachable(level: Level, player: int, boxes: int) -> int:
    """Mask of the cells that the player can walk to without a push, its own cell included."""
    free = ((1 << level.rows * level.cols) - 1) & ~(level.walls | boxes)
    return flood(free, 1 << player, level.cols)


def flood(free: int, seed: int, cols: int) -> int:
    """All cells of `free` connected to the cells of `seed`, which are included. `free` holds no rim cell."""
    seen = 0
    while seen != seed:
        seen = seed
        seed |= (seed << 1 | seed >> 1) & free
        seed |= (seed << cols | seed >> cols) & free
    return seed


def floor(level: Level) -> int:
    """Mask of all cells that are not wall."""
    return ((1 << level.rows * level.cols) - 1) & ~level.walls


def rim(rows: int, cols: int) -> int:
    """Mask of the outermost rows and columns."""
    edge = (1 << cols) - 1
    sides = sum(1 << row * cols | 1 << (row * cols + cols - 1) for row in range(rows))
    return edge | edge << (rows - 1) * cols | sides
