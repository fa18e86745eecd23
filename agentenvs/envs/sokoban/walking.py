"""Shortest walks of the player between pushes."""

from __future__ import annotations


def layers(free: int, start: int, cols: int) -> list[int]:
    """`layers[d]`: mask of the cells of `free` exactly `d` steps from `start`, which need not be free itself."""
    found = [1 << start]
    seen = 1 << start
    while True:
        last = found[-1]
        grown = (last << 1 | last >> 1 | last << cols | last >> cols) & free & ~seen
        if not grown:
            return found
        found.append(grown)
        seen |= grown


def walk_path(free: int, start: int, end: int, cols: int) -> list[int]:
    """Directions (0 to 3) of a shortest walk over `free`; among equals the lowest direction first.

    `end` must be connected to `start`.
    """
    reached = layers(free, end, cols)
    steps = (-cols, cols, -1, 1)
    left = next(distance for distance, mask in enumerate(reached) if mask >> start & 1)
    path, cell = [], start
    while left:
        left -= 1
        direction = next(d for d, step in enumerate(steps) if reached[left] >> (cell + step) & 1)
        path.append(direction)
        cell += steps[direction]
    return path
