"""The cheapest assignment of boxes to goals: the lower bound on pushes that the solver uses."""

from __future__ import annotations

from collections.abc import Sequence

SMALL = 6
"""Up to this many boxes the assignment is found by dynamic programming over sets of goals."""


def assignment_cost(rows: Sequence[Sequence[int]]) -> int:
    """The least sum of one entry per row, no column used twice. Shape of `rows`: n by n, entries >= 0.

    >>> assignment_cost([[1, 2], [1, 5]])
    3
    """
    return _by_subsets(rows) if len(rows) <= SMALL else _hungarian(rows)


def _by_subsets(rows: Sequence[Sequence[int]]) -> int:
    """Held-Karp style: the best cost of giving the first rows to each set of columns."""
    best = {0: 0}
    for row in rows:
        after: dict[int, int] = {}
        for used, cost in best.items():
            for column, price in enumerate(row):
                bit = 1 << column
                if not used & bit:
                    total = cost + price
                    if total < after.get(used | bit, total + 1):
                        after[used | bit] = total
        best = after
    return min(best.values())


def _hungarian(rows: Sequence[Sequence[int]]) -> int:
    """Shortest augmenting paths with potentials (Kuhn 1955, Jonker and Volgenant 1987), O(n^3)."""
    n = len(rows)
    row_price, col_price = [0] * n, [0] * (n + 1)
    owner = [-1] * (n + 1)  # owner[column] is its row; column n is the artificial start of each path
    for row in range(n):
        owner[n] = row
        previous, gap = _shortest_path(rows, row_price, col_price, owner)
        column = gap
        while column != n:
            owner[column] = owner[previous[column]]
            column = previous[column]
    return sum(rows[owner[column]][column] for column in range(n))


def _shortest_path(
    rows: Sequence[Sequence[int]], row_price: list[int], col_price: list[int], owner: list[int]
) -> tuple[list[int], int]:
    """Dijkstra from the artificial column to a column without owner; updates the prices so that reduced costs stay
    non-negative. Returns the predecessor of each column and the free column."""
    n = len(rows)
    slack = [1 << 60] * n
    previous = [n] * n
    open_columns = list(range(n))
    tree = [n]
    column = n
    while owner[column] >= 0:
        row = owner[column]
        costs, base = rows[row], row_price[row]
        for other in open_columns:
            reduced = costs[other] - base - col_price[other]
            if reduced < slack[other]:
                slack[other], previous[other] = reduced, column
        nearest = min(open_columns, key=slack.__getitem__)
        delta = slack[nearest]
        for other in tree:
            row_price[owner[other]] += delta
            col_price[other] -= delta
        for other in open_columns:
            slack[other] -= delta
        open_columns.remove(nearest)
        tree.append(nearest)
        column = nearest
    return previous, column
