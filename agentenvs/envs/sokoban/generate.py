"""Our level generator: a carved room, goals in it, and boxes pulled away from the goals by reverse play.

Every level is solvable, whatever the seed, because the reverse play can be played forwards. Of all states on the way
the one with every box off its goal and the largest distance to the goals becomes the start.

Measured over 2,000 levels each (`python -m agentenvs.envs.sokoban.make_levels --measure`), fewest pushes and moves of
the push-optimal plan, as 10% / median / 90% / most:

               pushes                moves
6x6, 1 box       1 / 2 / 3 / 5         1 / 5 / 10 / 20
6x6, 2 boxes     2 / 3 / 4 / 8         3 / 6 / 12 / 38
8x8, 2 boxes     3 / 5 / 8 / 14        9 / 17 / 28 / 51
8x8, 4 boxes     5 / 7 / 10 / 18       17 / 27 / 41 / 71
10x10, 4 boxes   7 / 10 / 14 / 22      27 / 40 / 58 / 108
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from agentenvs.core.errors import ConfigError
from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban.engine import Level
from agentenvs.envs.sokoban.reverse import ALL_OFF, NOTHING, exact_start, random_start
from agentenvs.envs.sokoban.rooms import Room, byte_stream, carve, room, spot
from agentenvs.envs.sokoban.solver import lower_bound

MAX_SIDE = 64
MAX_TRIES = 1_000
"""Layouts drawn before giving up; with `accept` true half of the time all of them fail once in 2**1000 levels."""
PATIENCE = 8
"""Reverse plays tried in one layout before the best so far is taken."""


def generate(
    stream: Stream,
    rows: int,
    cols: int,
    boxes: int,
    *,
    accept: Callable[[int], bool] | None = None,
    difficulty: int | None = None,
    pulls: int | None = None,
) -> tuple[Level, int]:
    """A solvable level of `rows` x `cols` cells, rim included, and how many wall layouts were drawn for it.

    `accept` is asked about each wall layout (a mask) before anything is placed in it; a refused one is turned by 180
    degrees, and if it is refused again drawn anew.
    With `difficulty` no solution has fewer pushes than that (for one box found exactly, for more by the solver's
    lower bound, a millisecond a layout). `pulls` is the number of straight pulls of the reverse play (default: 3 + 3
    a box). The level is a pure function of the stream and the arguments. Raises `ConfigError` if no level of this
    size exists, or if none is found in `MAX_TRIES` layouts.
    """
    tables, least = _size(rows, cols, boxes)
    draw = byte_stream(stream)
    if pulls is None:
        pulls = 3 + 3 * boxes
    for tries in range(1, MAX_TRIES + 1):
        free = carve(tables, least, stream, draw)
        if accept is not None and not accept(tables.full ^ free):
            free = _turned(free, rows * cols)  # half a turn gives another layout, at a tenth of the price of a new one
            if not accept(tables.full ^ free):
                continue
        best = NOTHING
        for _ in range(PATIENCE):
            if difficulty is not None and boxes == 1:
                start = exact_start(tables, free, difficulty, draw)
            else:
                start = random_start(tables, free, boxes, pulls, draw)
            if start.score > best.score:
                best = start
                if best.score >= ALL_OFF:
                    break
        if best.score:
            player = spot(tables, best.walk, draw)
            level = Level(rows, cols, tables.full ^ free, best.goals, best.boxes, player)
            if difficulty is None or boxes == 1 or lower_bound(level, level.boxes) >= difficulty:
                return level, tries
    wish = f" and at least {difficulty} pushes" if difficulty else ""
    raise ConfigError(
        f"expected a {rows}x{cols} level with {boxes} boxes{wish} among {MAX_TRIES} layouts, found none; use a larger "
        f"room, fewer boxes, a lower difficulty, or an `accept` that takes more layouts"
    )


def _turned(mask: int, size: int) -> int:
    """The mask on the board turned by 180 degrees: its bits in reverse order."""
    return int(f"{mask:0{size}b}"[::-1], 2)


@lru_cache(maxsize=64)
def _size(rows: int, cols: int, boxes: int) -> tuple[Room, int]:
    """The tables of a size that was checked, and how many floor cells its rooms have at least."""
    check_size(rows, cols, boxes)
    tables = room(rows, cols)
    # room to turn around each box, but some wall too: a split by layouts needs more than one of them
    return tables, max(boxes + 2, min(4 * boxes + 1, len(tables.spots) * 7 // 8))


def check_size(rows: int, cols: int, boxes: int) -> None:
    """Raise `ConfigError` unless a level of this size with a push to make exists."""
    if not (3 <= rows <= MAX_SIDE and 3 <= cols <= MAX_SIDE and max(rows, cols) >= 5):
        raise ConfigError(
            f"expected rows and cols from 3 to {MAX_SIDE}, the larger at least 5 (the rim is wall and a push needs "
            f"three cells in line); got {rows}x{cols}"
        )
    most = (rows - 2) * (cols - 2) - 2
    if not 1 <= boxes <= most:
        raise ConfigError(f"expected 1 to {most} boxes on {rows}x{cols} (two inner cells stay free); got {boxes}")
