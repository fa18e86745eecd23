"""Sokoban once more, as plainly as possible: a list of lists of characters. The tests compare the package with it."""

from __future__ import annotations

from heapq import heappop, heappush

STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def grid_of(text: str) -> list[list[str]]:
    """XSB rows as a list of lists."""
    return [list(row) for row in text.split("\n")]


def text_of(grid: list[list[str]]) -> str:
    return "\n".join("".join(row) for row in grid)


def find_player(grid: list[list[str]]) -> tuple[int, int]:
    return next((r, c) for r, row in enumerate(grid) for c, cell in enumerate(row) if cell in "@+")


def leave(cell: str) -> str:
    """The cell when what stands on it is gone."""
    return "." if cell in "+*." else " "


def enter(cell: str, thing: str) -> str:
    """The cell with `thing` ("@" or "$") on it."""
    return {"@": "+", "$": "*"}[thing] if cell == "." else thing


def step(text: str, direction: int) -> str:
    """The level after one action."""
    grid = grid_of(text)
    r, c = find_player(grid)
    dr, dc = STEPS[direction]
    ahead = grid[r + dr][c + dc]
    if ahead == "#":
        return text
    if ahead in "$*":
        if grid[r + 2 * dr][c + 2 * dc] not in " .":
            return text
        grid[r + 2 * dr][c + 2 * dc] = enter(grid[r + 2 * dr][c + 2 * dc], "$")
        grid[r + dr][c + dc] = leave(ahead)
    grid[r + dr][c + dc] = enter(grid[r + dr][c + dc], "@")
    grid[r][c] = leave(grid[r][c])
    return text_of(grid)


def boxes_of(text: str) -> set[tuple[int, int]]:
    return {(r, c) for r, row in enumerate(text.split("\n")) for c, cell in enumerate(row) if cell in "$*"}


def cheapest(text: str, price: str) -> int | None:
    """The fewest "moves" or "pushes" to a state without "$": Dijkstra over whole boards. None if there is no way."""
    best = {text: 0}
    heap = [(0, text)]
    while heap:
        cost, text = heappop(heap)
        if cost > best[text]:
            continue
        if "$" not in text:
            return cost
        for direction in range(4):
            after = step(text, direction)
            paid = cost + (1 if price == "moves" else boxes_of(after) != boxes_of(text))
            if after != text and paid < best.get(after, paid + 1):
                best[after] = paid
                heappush(heap, (paid, after))
    return None
