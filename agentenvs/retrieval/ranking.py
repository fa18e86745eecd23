"""The first k of many scores: best first, and among equals the one that comes first in the corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Positions = NDArray[np.intp]
#: Positions [n] in the corpus and their scores [n], best first.
Ranking = tuple[Positions, Scores]

_BLOCK = 128
#: How many more than k are asked for, so that a few that are tied cost no second question.
SPARE = 4


def nothing() -> Ranking:
    """The ranking of a query that finds nothing."""
    return np.empty(0, dtype=np.intp), np.empty(0)


def top(scores: Scores, k: int) -> Ranking:
    """The `k` best of the positive `scores` [n passages].

    The k-th largest of the maxima of blocks is no more than the k-th largest score: one pass finds a bound that leaves
    little to sort.
    """
    whole = len(scores) // _BLOCK
    if whole > k:
        maxima = scores[: whole * _BLOCK].reshape(whole, _BLOCK).max(axis=1)
        bound = np.partition(maxima, whole - k)[whole - k]
        candidates = np.flatnonzero(scores >= bound) if bound > 0 else np.flatnonzero(scores > 0)
    else:
        candidates = np.flatnonzero(scores > 0)
    return best(candidates, scores[candidates], k)


def best(positions: Positions, scores: Scores, k: int) -> Ranking:
    """The `k` best of `scores` [n], which belong to `positions` [n], in any order."""
    if len(scores) > 2 * k + 64:  # else sorting all is faster than dropping some first
        kept = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        positions, scores = positions[kept], scores[kept]
    order = np.lexsort((positions, -scores))[:k]
    return positions[order], scores[order]


def complete(fetch: Callable[[int], Ranking], k: int, size: int, *, slack: float = 0.0) -> Ranking:
    """The `k` best from an engine that breaks ties in its own way.

    `fetch(n)` gives its first n of `size` passages, in any order. More are asked for until the worst of them is more
    than `slack` below the k-th, so that whoever is tied with the k-th is among them.
    """
    limit = min(k + SPARE, size)
    while True:
        positions, scores = fetch(limit)
        ranked = best(positions, scores, k)
        if limit >= size or len(scores) < limit or scores.min() < ranked[1][-1] - slack:
            return ranked
        limit = min(4 * limit, size)


def as_ranking(positions: Any, scores: Any) -> Ranking:
    """Plain sequences as a `Ranking`."""
    return np.asarray(positions, dtype=np.intp), np.asarray(scores, dtype=np.float64)
