"""The cheapest assignment of boxes to goals: the lower bound on pushes that the solver uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentenvs.envs.sokoban.engine import cells

SMALL = 6
"""Up to this many boxes the assignment is found by dynamic programming over sets of goals."""
_REMEMBERED = 20_000  # matchings kept as starting points for others; more would fill the memory of a long search


def cheapest_by_subsets(rows: Sequence[Sequence[int]]) -> int:
    """The least sum of one entry per row, no column used twice: dynamic programming over sets of used columns.

    Shape of `rows`: n by n, entries >= 0.

    >>> cheapest_by_subsets([[1, 2], [1, 5]])
    3
    """
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


class Matching:
    """A cheapest assignment with its prices (Kuhn 1955; shortest paths as in Jonker and Volgenant 1987).

    Rows are boxes, in the order of `rows`; `owner[column]` is the row matched to it. Reduced costs
    `rows[r][c] - row_price[r] - col_price[c]` are never negative, and 0 where matched. Column n is artificial.
    """

    __slots__ = ("col_price", "order", "owner", "row_price")

    def __init__(self, order: list[int], table: Sequence[Sequence[int]]) -> None:
        n = len(order)
        self.order = order
        self.row_price, self.col_price = [0] * n, [0] * (n + 1)
        self.owner = [-1] * (n + 1)
        for row in range(n):
            self._match(row, table)

    def moved(self, start: int, end: int, table: Sequence[Sequence[int]]) -> Matching:
        """The matching after the box at cell `start` went to cell `end`: one augmenting path instead of n."""
        other = object.__new__(Matching)
        other.order = self.order.copy()
        other.row_price, other.col_price = self.row_price.copy(), self.col_price.copy()
        other.owner = self.owner.copy()
        row = other.order.index(start)
        other.order[row] = end
        other.owner[other.owner.index(row)] = -1
        other.row_price[row] = 0  # column prices are never positive, so 0 keeps the reduced costs of the new row >= 0
        other._match(row, table)
        return other

    def cost(self, table: Sequence[Sequence[int]]) -> int:
        """The sum of the matched entries."""
        return sum(table[self.order[self.owner[column]]][column] for column in range(len(self.order)))

    def _match(self, row: int, table: Sequence[Sequence[int]]) -> None:
        """Give `row` a column: Dijkstra over reduced costs from the artificial column to one without owner."""
        n = len(self.order)
        owner, row_price, col_price = self.owner, self.row_price, self.col_price
        owner[n] = row
        slack = [1 << 60] * n
        previous = [n] * n
        unseen = list(range(n))
        tree = [n]
        column = n
        while owner[column] >= 0:
            at = owner[column]
            costs, base = table[self.order[at]], row_price[at]
            for other in unseen:
                reduced = costs[other] - base - col_price[other]
                if reduced < slack[other]:
                    slack[other], previous[other] = reduced, column
            column = min(unseen, key=slack.__getitem__)
            delta = slack[column]
            if delta:
                for other in tree:
                    row_price[owner[other]] += delta
                    col_price[other] -= delta
                for other in unseen:
                    slack[other] -= delta
            unseen.remove(column)
            tree.append(column)
        while column != n:
            owner[column] = owner[previous[column]]
            column = previous[column]
        owner[n] = -1
        col_price[n] = 0


def assignment_bound(table: Sequence[Sequence[int]]) -> Callable[[int, int], int]:
    """A function `(boxes, before) -> cost` for a table of push distances (cell by goal), remembering what it found.

    `before` is a mask that differs from `boxes` by one push, or 0: its matching is the starting point.
    """
    costs: dict[int, int] = {}
    matchings: dict[int, Matching] = {}

    def bound(boxes: int, before: int) -> int:
        cost = costs.get(boxes)
        if cost is None:
            if boxes.bit_count() <= SMALL:
                cost = cheapest_by_subsets([table[cell] for cell in cells(boxes)])
            else:
                known = matchings.get(before)
                if known is None:
                    matching = Matching(cells(boxes), table)
                else:
                    start, end = before & ~boxes, boxes & ~before
                    matching = known.moved(start.bit_length() - 1, end.bit_length() - 1, table)
                if len(matchings) >= _REMEMBERED:
                    matchings.clear()
                matchings[boxes] = matching
                cost = matching.cost(table)
            costs[boxes] = cost
        return cost

    return bound
