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
    """A state of the reverse play. `places[i]` is where the box of the i-th target is; `last` is the index of the box
    pulled last (-1 before the first pull); `pulled` is the mask of the cells of boxes that were ever pulled."""

    player: int
    places: tuple[int, ...]
    pulled: int
    last: int
    swaps: int


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
        mask = sum(1 << place for place in found.places)
        chance = 0.8 if wander == "ragen" and distance == 1 else 0.5
        start = _stroll(draws, free & ~mask, found.player, cols, chance)
        return Level(rows, cols, full & ~free, sum(1 << target for target in targets), mask, start)
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
    """Depth-first reverse play: the first of the states with the highest score.

    A state counts as explored by its player, its pulled and its never pulled boxes, whatever the depth or the swaps it
    was reached with; that is the original's rule and decides what is found.
    """
    goals = sum(1 << target for target in targets)
    root = _Reverse(player, targets, 0, -1, 0)
    best, best_score = root, 0
    explored: set[tuple[int, int, int]] = set()
    stack = [(root, depth - 1)]
    while stack:
        state, left = stack.pop()
        mask = sum(1 << place for place in state.places)
        key = (state.player, mask, state.pulled)
        if left <= 0 or key in explored:
            continue
        if len(explored) >= MAX_STATES:
            break
        explored.add(key)
        if not (mask | 1 << state.player) & goals:
            score = state.swaps * _displacement(targets, state.places, cols)
            if score > best_score:
                best, best_score = state, score
        for step in (1, -1, cols, -cols):  # reversed, so that Up is taken from the stack first
            after = _pull(state, step, free & ~mask)
            if after is not None:
                stack.append((after, left - 1))
    return best


def _pull(state: _Reverse, step: int, empty: int) -> _Reverse | None:
    """One step of the player; a box directly behind it always follows. None if the way is blocked."""
    player = state.player + step
    if not empty >> player & 1:
        return None
    behind = state.player - step
    if behind not in state.places:
        return state._replace(player=player)
    box = state.places.index(behind)
    places = (*state.places[:box], state.player, *state.places[box + 1 :])
    pulled = state.pulled & ~(1 << behind) | 1 << state.player
    return _Reverse(player, places, pulled, box, state.swaps + (box != state.last))


def _displacement(targets: tuple[int, ...], places: tuple[int, ...], cols: int) -> int:
    """Sum of the Manhattan distances of the boxes from their own targets."""
    pairs = [(divmod(a, cols), divmod(b, cols)) for a, b in zip(targets, places, strict=True)]
    return sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairs)


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
