"""Random wall layouts: a walk that stamps small shapes out of solid rock until a drawn share of the room is floor.

One byte of the stream is one step of the walk, and the tables of a room size are built once: a layout takes some ten
microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban.engine import cells, rim

_ROUNDS = 8
_GUESSES = 6


def _block(rows: int, cols: int) -> tuple[tuple[int, int], ...]:
    """The (row, col) offsets of a rectangle around (0, 0)."""
    return tuple((r - rows // 2, c - cols // 2) for r in range(rows) for c in range(cols))


# every shape is connected and holds (0, 0), so that the walk leaves one connected room behind
_SMALL_SHAPES = (
    _block(1, 2),
    _block(2, 1),
    _block(1, 3),
    _block(1, 3),
    _block(3, 1),
    _block(3, 1),
    ((0, 0), (0, 1), (1, 0)),
    ((0, 0), (0, -1), (-1, 0)),
)
_LARGE_SHAPES = (
    _block(1, 3),
    _block(3, 1),
    _block(1, 5),
    _block(5, 1),
    _block(2, 2),
    _block(2, 3),
    _block(3, 2),
    (*_block(1, 3), (-1, 0), (1, 0)),
)
_LARGE = 30  # inner cells from which on the large shapes are used


class Room(NamedTuple):
    """Tables for one size, in masks and cell indices. A walker is the integer `4 * cell + direction`."""

    cols: int
    full: int  # all cells
    inner: int  # all cells but the rim
    spots: tuple[int, ...]  # the inner cells, ascending
    turns: dict[int, tuple[int, ...]]  # walker -> the walker one step on, for each of 8 draws; half keep the direction
    stamps: dict[int, tuple[int, ...]]  # walker -> the mask of each of 8 shapes around its cell
    orders: tuple[tuple[int, ...], ...]  # four orders in which to try the four steps


@lru_cache(maxsize=32)
def room(rows: int, cols: int) -> Room:
    """The tables for `rows` x `cols` cells, rim included."""
    full = (1 << rows * cols) - 1
    inner = full ^ rim(rows, cols)
    offsets = _LARGE_SHAPES if inner.bit_count() > _LARGE else _SMALL_SHAPES
    turns, stamps = {}, {}
    for cell in cells(inner):
        ahead = tuple(cell + step if inner >> (cell + step) & 1 else 0 for step in (-cols, cols, -1, 1))
        shapes = tuple(_stamp(inner, cols, cell, shape) for shape in offsets)
        for direction in range(4):
            turns[4 * cell + direction] = tuple(_turn(ahead, wish) for wish in (0, 1, 2, 3, *(direction,) * 4))
            stamps[4 * cell + direction] = shapes
    orders = ((1, cols, -1, -cols), (-cols, -1, cols, 1), (-1, cols, 1, -cols), (cols, 1, -cols, -1))
    return Room(cols, full, inner, tuple(cells(inner)), turns, stamps, orders)


def _turn(ahead: tuple[int, ...], wish: int) -> int:
    """The walker after a step in direction `wish`, or in the next direction that the rim does not block."""
    turn = next(turn for turn in (wish, wish ^ 2, wish ^ 3, wish ^ 1) if ahead[turn])
    return 4 * ahead[turn] + turn


def _stamp(inner: int, cols: int, cell: int, shape: tuple[tuple[int, int], ...]) -> int:
    """Mask of the shape around `cell`, cut off at the rim."""
    row, col = divmod(cell, cols)
    places = ((row + r) * cols + col + c for r, c in shape if row + r > 0 and 0 < col + c < cols - 1)
    return sum(1 << place for place in places) & inner


def byte_stream(stream: Stream) -> Iterator[int]:
    """The stream byte by byte."""
    while True:
        yield from stream.bits(256).to_bytes(32, "little")


def spot(tables: Room, mask: int, draw: Iterator[int]) -> int:
    """A random inner cell of `mask`, which must hold one: some guesses, then the next cell after the last guess."""
    spots = tables.spots
    count = len(spots)
    cell = 0
    for _ in range(_GUESSES):
        cell = spots[next(draw) * count >> 8 if count <= 256 else (next(draw) << 8 | next(draw)) * count >> 16]
        if mask >> cell & 1:
            return cell
    rest = mask >> cell << cell or mask
    return (rest & -rest).bit_length() - 1


def carve(tables: Room, least: int, stream: Stream, draw: Iterator[int]) -> int:
    """Floor of a connected room: 55% to 85% of the inner cells, and `least` of them where there are as many."""
    turns, stamps = tables.turns, tables.stamps
    count = len(tables.spots)
    target = min(count, max(count * (140 + next(draw) * 76 // 255) >> 8, least))
    walker = 4 * tables.spots[stream.below(count)]
    free = 0
    size = 4 * (2 + (target >> 3))
    for _ in range(_ROUNDS):
        for byte in stream.bits(8 * size).to_bytes(size, "little"):
            walker = turns[walker][byte & 7]
            free |= stamps[walker][byte >> 5]
            if free.bit_count() >= target:
                return free
    return tables.inner
