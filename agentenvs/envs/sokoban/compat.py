"""The published room generator of RAGEN, SPA, VAGEN and verl-agent, reproduced draw by draw.

It is gym-sokoban's generator (Schrader 2018) as changed by RAGEN (Wang et al. 2025): reverse play by pulls only. The
originals seed two global generators with one integer and draw from both; here the same two streams are local objects,
so equal seeds give equal rooms and nothing else in the process is touched. Where the originals go on with a salted
string hash after a failure (a different room in every process), the next seed here is `(seed + 1_000_003) % 2**32`.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from agentenvs.core.errors import ConfigError, unknown
from agentenvs.envs.sokoban.engine import Level, cells, rim

MAX_TRIES = 1_000
MAX_STATES = 300_000
_ATTEMPTS = 4
_RETRY_STEP = 1_000_003
_TURN_CHANCE = 0.35
_WALKS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_MASKS = (
    ((1, 0), (1, 1), (1, 2)),
    ((0, 1), (1, 1), (2, 1)),
    ((1, 0), (1, 1), (2, 1)),
    ((1, 0), (1, 1), (2, 0), (2, 1)),
    ((1, 1), (1, 2), (2, 1)),
)
_WANDERS = ("ragen", "vagen")


class _Reverse(NamedTuple):
    """A state of the reverse play."""

    player: int
    places: tuple[int, ...]  # where the box of the i-th target is
    mask: int  # the same as a mask
    pulled: int  # mask of the boxes that were ever pulled
    last: int  # index of the box pulled last; -1 before the first pull
    swaps: int  # how often another box than the last was pulled, the first pull included


def generate_room(
    seed: int,
    rows: int,
    cols: int,
    boxes: int,
    *,
    num_steps: int | None = None,
    search_depth: int = 300,
    wander: str = "ragen",
) -> tuple[Level, int]:
    """The room of `seed` and how many seeds were needed (1 unless the generator failed for `seed` itself).

    `num_steps`: steps of the carving walk, floor(1.7 * (rows + cols)) by default. `search_depth`: RAGEN 300, VAGEN
    100, verl-agent 30. `wander`: the chance that the player strolls at the end is 0.5, in "ragen" 0.8 if only one
    push is needed. Raises `ConfigError` for a seed outside [0, 2**32), a size without room, or an unknown `wander`.
    """
    if wander not in _WANDERS:
        raise unknown("wander", wander, _WANDERS)
    if not 0 <= seed < 2**32:
        raise ConfigError(f"expected a seed in [0, 2**32), as both published generators need; got {seed}")
    if not (4 <= rows <= 64 and 4 <= cols <= 64 and 1 <= boxes <= (rows - 2) * (cols - 2) - 2):
        raise ConfigError(
            f"expected 4 to 64 rows and cols and 1 to (rows - 2) * (cols - 2) - 2 boxes; got {rows}x{cols}, {boxes}"
        )
    steps = int(1.7 * (rows + cols)) if num_steps is None else num_steps
    for tries in range(1, MAX_TRIES + 1):
        level = room_of_seed(seed, rows, cols, boxes, steps, search_depth, wander)
        if level is not None:
            return level, tries
        seed = (seed + _RETRY_STEP) % 2**32
    raise ConfigError(
        f"expected a room of {rows}x{cols} with {boxes} boxes and search depth {search_depth} within {MAX_TRIES} "
        f"seeds, found none; use a larger room, fewer boxes or a larger depth (depth d explores d - 2 moves)"
    )


def room_of_seed(
    seed: int, rows: int, cols: int, boxes: int, num_steps: int, search_depth: int, wander: str
) -> Level | None:
    """The room of exactly this seed; None where the original fails and takes another seed."""
    draws, places = random.Random(seed), np.random.RandomState(seed)
    full = (1 << rows * cols) - 1
    for _ in range(_ATTEMPTS):
        free = _carve(draws, rows, cols, num_steps)
        if free.bit_count() <= boxes + 1:
            return None
        player, targets = _place(places, free, boxes)
        found = _farthest(free, player, targets, cols, search_depth)
        distance = _displacement(targets, found.places, cols)
        if distance == 0:
            continue
        chance = 0.8 if wander == "ragen" and distance == 1 else 0.5
        start = _stroll(draws, free & ~found.mask, found.player, cols, chance)
        return Level(rows, cols, full & ~free, sum(1 << target for target in targets), found.mask, start)
    return None


def _carve(draws: random.Random, rows: int, cols: int, num_steps: int) -> int:
    """The floor: a walk that stamps a mask at every step but the start."""
    direction = _WALKS[draws.randrange(4)]
    row = draws.randint(1, rows - 1)
    col = draws.randint(1, cols - 1)
    free = 0
    for _ in range(num_steps):
        if draws.random() < _TURN_CHANCE:
            direction = _WALKS[draws.randrange(4)]
        row = max(min(row + direction[0], rows - 2), 1)
        col = max(min(col + direction[1], cols - 2), 1)
        for down, right in _MASKS[draws.randrange(5)]:
            free |= 1 << ((row - 1 + down) * cols + col - 1 + right)
    return free & ~rim(rows, cols)


def _place(places: np.random.RandomState, free: int, boxes: int) -> tuple[int, tuple[int, ...]]:
    """Player and targets, each uniform over the cells still free, counted row by row."""
    left = cells(free)
    player = left.pop(places.randint(len(left)))
    return player, tuple(left.pop(places.randint(len(left))) for _ in range(boxes))


def _farthest(free: int, player: int, targets: tuple[int, ...], cols: int, depth: int) -> _Reverse:
    """Depth-first reverse play: the first of the states with the highest score, in the order up, down, left, right.

    A state counts as explored by its player, its pulled and its never pulled boxes, whatever the depth or the swaps it
    was reached with; that is the original's rule and decides what is found.
    """
    goals = sum(1 << target for target in targets)
    best, best_score = _Reverse(player, targets, goals, 0, -1, 0), 0
    explored: set[tuple[int, int, int]] = set()
    stack = [(best, depth - 1)]
    steps = (1, -1, cols, -cols)  # reversed, so that Up comes off the stack first
    while stack:
        state, left = stack.pop()
        player, places, mask, pulled, last, swaps = state
        key = (player, mask, pulled)
        if left <= 0 or key in explored:
            continue
        if len(explored) >= MAX_STATES:
            break
        explored.add(key)
        if not (mask | 1 << player) & goals:
            score = swaps * _displacement(targets, places, cols)
            if score > best_score:
                best, best_score = state, score
        if left == 1:
            continue
        empty = free & ~mask
        for step in steps:
            if not empty >> (player + step) & 1:
                continue
            behind = player - step
            if mask >> behind & 1:  # a box directly behind the player always follows
                box = places.index(behind)
                moved = 1 << behind | 1 << player
                after = _Reverse(
                    player + step,
                    (*places[:box], player, *places[box + 1 :]),
                    mask ^ moved,
                    pulled & ~moved | 1 << player,
                    box,
                    swaps + (box != last),
                )
            else:
                after = _Reverse(player + step, places, mask, pulled, last, swaps)
            stack.append((after, left - 1))
    return best


def _displacement(targets: tuple[int, ...], places: tuple[int, ...], cols: int) -> int:
    """Sum of the Manhattan distances of the boxes from their own targets."""
    total = 0
    for target, place in zip(targets, places, strict=True):
        total += abs(target // cols - place // cols) + abs(target % cols - place % cols)
    return total


def _stroll(draws: random.Random, empty: int, player: int, cols: int, chance: float) -> int:
    """Where the player is after up to three steps over cells not visited before."""
    if draws.random() > chance:
        return player
    visited = 1 << player
    for taken in range(3):
        ahead = [player + step for step in (-cols, cols, -1, 1) if empty & ~visited & 1 << player + step]
        if not ahead:
            break
        player = ahead[draws.randrange(len(ahead))]
        visited |= 1 << player
        if taken < 2 and draws.random() > 0.5:
            break
    return player
