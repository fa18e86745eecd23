"""The expert: plans with the fewest pushes or the fewest moves, within a budget counted in states.

States of the push search are (boxes, the part of the board where the player can walk); its successors are the legal
pushes. A* (Hart, Nilsson and Raphael 1968) with the cheapest box-to-goal assignment of lone-box push distances as the
lower bound, which is consistent, and with deadlocks pruned. Equal costs are settled by lower bound, then by order of
discovery, so equal questions have equal answers everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

from agentenvs.core.errors import unknown
from agentenvs.envs.sokoban.deadlock import dead_squares, freeze_test
from agentenvs.envs.sokoban.distances import FAR, push_distances
from agentenvs.envs.sokoban.engine import Level, flood, floor, move, solved
from agentenvs.envs.sokoban.matching import assignment_bound
from agentenvs.envs.sokoban.walking import layers, walk_path

MAX_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Solution:
    """A plan (directions 0 to 3), how many of its moves are pushes, and how many states the search expanded."""

    directions: list[int]
    pushes: int
    nodes: int


class _Board(NamedTuple):
    """What depends on walls and goals only."""

    cols: int
    free: int
    dead: int
    goals: int
    table: list[list[int]]
    frozen: Callable[[int], int]


def solve(
    level: Level, player: int, boxes: int, *, max_nodes: int = MAX_NODES, optimise: str = "pushes"
) -> list[int] | None:
    """Directions (0 to 3) that solve the level from any state of it; [] if it is solved already.

    With `optimise="pushes"` no plan has fewer pushes, with "moves" none has fewer moves. None if there is no solution
    or none was found within `max_nodes` expanded states.
    """
    found = search(level, player, boxes, max_nodes=max_nodes, optimise=optimise)
    return None if found is None else found.directions


def search(
    level: Level, player: int, boxes: int, *, max_nodes: int = MAX_NODES, optimise: str = "pushes"
) -> Solution | None:
    """As `solve`, with the number of pushes and of expanded states."""
    if optimise not in _SEARCHES:
        raise unknown("optimise", optimise, _SEARCHES)
    if solved(level, boxes):
        return Solution([], 0, 0)
    board = _board(level.rows, level.cols, level.walls, level.goals)
    return _SEARCHES[optimise](board, player, boxes, max_nodes)


def lower_bound(level: Level, boxes: int) -> int:
    """No solution from `boxes` has fewer pushes than this; `distances.FAR` or more if there is none."""
    return assignment_bound(_board(level.rows, level.cols, level.walls, level.goals).table)(boxes, 0)


@lru_cache(maxsize=256)
def _board(rows: int, cols: int, walls: int, goals: int) -> _Board:
    level = Level(rows, cols, walls, goals, 0, 0)
    dead = dead_squares(level)
    return _Board(cols, floor(level), dead, goals, push_distances(level), freeze_test(level, dead))


def _pushes(board: _Board, walk: int, boxes: int) -> Iterator[tuple[int, int]]:
    """Legal pushes as (box cell, step in cells), for a player that can walk on `walk`; none onto a dead square."""
    open_cells = board.free & ~boxes & ~board.dead
    cols = board.cols
    for step in (cols, 1):
        movable = boxes & (walk >> step) & (open_cells << step)
        while movable:
            low = movable & -movable
            movable ^= low
            yield low.bit_length() - 1, -step
        movable = boxes & (walk << step) & (open_cells >> step)
        while movable:
            low = movable & -movable
            movable ^= low
            yield low.bit_length() - 1, step


def _search_pushes(board: _Board, player: int, boxes: int, max_nodes: int) -> Solution | None:
    bound, frozen = assignment_bound(board.table), board.frozen
    free, goals, cols = board.free, board.goals, board.cols
    cost = bound(boxes, 0)
    if boxes & board.dead or cost >= FAR:
        return None
    # a node is (boxes, player, index of its parent, box cell pushed, step); the heap holds node numbers
    nodes: list[tuple[int, int, int, int, int]] = [(boxes, player, -1, 0, 0)]
    heap = [(cost, cost, 0)]
    closed: set[tuple[int, int]] = set()
    queued = {(boxes, player): cost}
    doomed: dict[int, bool] = {}
    expanded = 0
    while heap:
        total, rest, number = heappop(heap)
        boxes, player = nodes[number][:2]
        if not boxes & ~goals:
            return _solution(board, nodes, number, expanded)
        walk = flood(free & ~boxes, 1 << player, cols)
        state = (boxes, walk & -walk)
        if state in closed:
            continue
        closed.add(state)
        expanded += 1
        if expanded > max_nodes:
            return None
        done = total - rest + 1
        for box, step in _pushes(board, walk, boxes):
            after = boxes ^ 1 << box ^ 1 << (box + step)
            dead = doomed.get(after)
            if dead is None:
                dead = doomed[after] = bool(frozen(after) & ~goals)
            if dead:
                continue
            rest = bound(after, boxes)
            cost = done + rest
            key = (after, box)
            if rest >= FAR or queued.get(key, FAR) <= cost:
                continue
            queued[key] = cost
            heappush(heap, (cost, rest, len(nodes)))
            nodes.append((after, box, number, box, step))
    return None


def _solution(board: _Board, nodes: list[tuple[int, int, int, int, int]], number: int, expanded: int) -> Solution:
    """The pushes on the way to node `number`, with the walks between them."""
    chain = []
    while number > 0:
        chain.append(nodes[number])
        number = nodes[number][2]
    boxes, player = nodes[0][:2]
    directions: list[int] = []
    for after, standing, _, box, step in reversed(chain):
        directions += walk_path(board.free & ~boxes, player, box - step, board.cols)
        directions.append((-board.cols, board.cols, -1, 1).index(step))
        boxes, player = after, standing
    return Solution(directions, len(chain), expanded)


def _search_moves(board: _Board, player: int, boxes: int, max_nodes: int) -> Solution | None:
    """A* over (boxes, player cell) right after a push; an edge is a walk and a push, its cost their moves."""
    bound, frozen = assignment_bound(board.table), board.frozen
    free, goals, cols = board.free, board.goals, board.cols
    cost = bound(boxes, 0)
    if boxes & board.dead or cost >= FAR:
        return None
    nodes: list[tuple[int, int, int, int, int]] = [(boxes, player, -1, 0, 0)]
    heap = [(cost, cost, 0)]
    best = {(boxes, player): cost}
    expanded = 0
    while heap:
        total, rest, number = heappop(heap)
        boxes, player = nodes[number][:2]
        if not boxes & ~goals:
            return _solution(board, nodes, number, expanded)
        if best[boxes, player] < total:
            continue
        expanded += 1
        if expanded > max_nodes:
            return None
        reached = layers(free & ~boxes, player, cols)
        walk = sum(reached)
        done = total - rest + 1
        for box, step in _pushes(board, walk, boxes):
            after = boxes ^ 1 << box ^ 1 << (box + step)
            rest = bound(after, boxes)
            stance = 1 << (box - step)
            cost = done + rest + next(distance for distance, mask in enumerate(reached) if mask & stance)
            key = (after, box)
            if rest >= FAR or best.get(key, FAR) <= cost or frozen(after) & ~goals:
                continue
            best[key] = cost
            heappush(heap, (cost, rest, len(nodes)))
            nodes.append((after, box, number, box, step))
    return None


_SEARCHES = {"pushes": _search_pushes, "moves": _search_moves}


def shortest_moves(level: Level, max_states: int = 1_000_000) -> int | None:
    """The fewest moves that solve the level, by breadth-first search over single moves; None if there is no way (or
    none within `max_states` states). For small rooms, and independent of the search above.
    """
    seen = {(level.player, level.boxes)}
    layer = [(level.player, level.boxes)]
    moves = 0
    while layer and len(seen) <= max_states:
        after = []
        for player, boxes in layer:
            if solved(level, boxes):
                return moves
            for direction in range(4):
                state = move(level, player, boxes, direction)
                if state not in seen:
                    seen.add(state)
                    after.append(state)
        layer = after
        moves += 1
    return None
