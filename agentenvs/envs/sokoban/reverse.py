"""Playing backwards: boxes start on goals and are pulled away, so that whatever comes out can be solved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agentenvs.envs.sokoban.engine import cells, flood
from agentenvs.envs.sokoban.rooms import Room, spot

ALL_OFF = 1 << 16
"""From this score on every box is off its goal; lower scores count the boxes that are."""


class Start(NamedTuple):
    """A start found by reverse play: masks of goals and boxes, and of the cells among which the player may stand."""

    score: int
    goals: int
    boxes: int
    walk: int


NOTHING = Start(0, 0, 0, 0)


def pullable(free: int, cols: int) -> int:
    """The cells of `free` from which a lone box can be pulled one step: two more free cells lie in line with it."""
    across = (free >> 1 & free >> 2) | (free << 1 & free << 2)
    return free & (across | (free >> cols & free >> 2 * cols) | (free << cols & free << 2 * cols))


def random_start(tables: Room, free: int, boxes: int, pulls: int, draw: Iterator[int]) -> Start:
    """Goals at random, then `pulls` random pulls: the best state on the way, `NOTHING` if no box moved.

    `free` must hold at least one cell more than there are boxes.
    """
    cols = tables.cols
    places = pullable(free, cols)
    if places.bit_count() <= boxes:
        places = free  # a crowded room: some boxes have to stay where they are
    goals = 0
    for _ in range(boxes):
        bit = 1 << spot(tables, places, draw)
        goals |= bit
        places ^= bit
    score, moved, player = _pull_back(tables, free, goals, pulls, draw)
    return Start(score, goals, moved, flood(free & ~moved, 1 << player, cols)) if score else NOTHING


def _pull_back(tables: Room, free: int, goals: int, pulls: int, draw: Iterator[int]) -> tuple[int, int, int]:
    """Random reverse play: (score, boxes, player) of the state farthest from the goals with every box off them, else
    of the last state. Score 0 if nothing could be pulled."""
    cols, orders = tables.cols, tables.orders
    far: tuple[int, ...] = ()
    best = (0, 0, 0)
    boxes, player = goals, 0
    walk = free ^ goals  # the player may begin anywhere
    last, back = 0, 0  # the box pulled last, and the step that would undo it
    for _ in range(pulls):
        byte = next(draw)
        empty = free ^ boxes
        fresh = boxes & goals
        chosen, along = 0, 0
        for step in orders[byte & 3]:
            if step > 0:
                movable = boxes & walk >> step & empty >> 2 * step
            else:
                movable = boxes & walk << -step & empty << -2 * step
            if step == back:
                movable &= ~last
            if movable & fresh:
                chosen, along = movable & fresh, step
                break
            if movable and not chosen:
                chosen, along = movable, step
                if not fresh:
                    break
        if not chosen:
            break
        bit = chosen & -chosen if byte & 4 else 1 << chosen.bit_length() - 1
        player = bit.bit_length() - 1 + 2 * along
        run = byte >> 3 & 3
        while run and empty >> (player + along) & 1:
            player += along
            run -= 1
        last, back = 1 << player - along, -along
        boxes ^= bit | last
        walk = flood(free ^ boxes, 1 << player, cols)
        if not boxes & goals:
            far = far or _rings(free, goals, cols)
            score = _score(boxes, far)
            if score > best[0]:
                best = (score, boxes, player)
    return best if best[0] else ((boxes & ~goals).bit_count(), boxes, player)


def _rings(free: int, goals: int, cols: int) -> tuple[int, ...]:
    """The floor cells more than 1, 2, 3 and 4 steps from all goals, as four masks."""
    near, found = goals, []
    for _ in range(4):
        near |= (near << 1 | near >> 1 | near << cols | near >> cols) & free
        found.append(free ^ near)
    return tuple(found)


def _score(boxes: int, far: tuple[int, ...]) -> int:
    """For boxes that are all off goals: the sum of their distances to the nearest goal, each cut off at 5."""
    one, two, three, four = far
    return (
        ALL_OFF
        + (boxes & one).bit_count()
        + (boxes & two).bit_count()
        + (boxes & three).bit_count()
        + (boxes & four).bit_count()
    )


def exact_start(tables: Room, free: int, pushes: int, draw: Iterator[int]) -> Start:
    """For one box: a random goal, and a random one of the starts whose best solution has at least `pushes` pushes.

    Breadth-first search over (box, cells where the player can walk), backwards from the goal. `NOTHING` if this goal
    has no such start.
    """
    cols = tables.cols
    places = pullable(free, cols)
    if not places:
        return NOTHING
    goal = spot(tables, places, draw)
    layer = {(goal, flood(free ^ 1 << goal, 1 << cell, cols)) for cell in cells(free ^ 1 << goal)}
    seen = set(layer)
    starts: list[tuple[int, int]] = []
    depth = 0
    while layer:
        depth += 1
        layer = {state for box, walk in layer for state in _pulled(free, box, walk, cols)} - seen
        seen |= layer
        if depth >= pushes:
            starts += sorted(layer)
    if not starts:
        return NOTHING
    box, walk = starts[(next(draw) << 8 | next(draw)) * len(starts) >> 16]
    return Start(ALL_OFF, 1 << goal, 1 << box, walk)


def _pulled(free: int, box: int, walk: int, cols: int) -> Iterator[tuple[int, int]]:
    """The states one pull before: the player next to the box steps away from it and drags it along."""
    for step in (-cols, cols, -1, 1):
        player = box + step
        if walk >> player & 1 and free >> (player + step) & 1:
            yield player, flood(free ^ 1 << player, 1 << (player + step), cols)
