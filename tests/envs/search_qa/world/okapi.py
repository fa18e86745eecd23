"""An independent BM25: word runs, k1 0.9, b 0.4, every query word once, ties by position."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np


class Okapi:
    """Scores of Robertson and Zaragoza (2009), with the inverse document frequency ln(1 + (N - n + .5) / (n + .5))."""

    def __init__(self, passages: Sequence[tuple[str, str]]) -> None:
        bags = [Counter(re.findall(r"\w+", contents.lower())) for _, contents in passages]
        lengths = [bag.total() for bag in bags]
        mean = sum(lengths) / len(lengths)
        postings: dict[str, list[tuple[int, float]]] = {}
        for position, bag in enumerate(bags):
            for word, count in bag.items():
                part = count / (count + 0.9 * (1 - 0.4 + 0.4 * lengths[position] / mean))
                postings.setdefault(word, []).append((position, part))
        self.ids = [passage_id for passage_id, _ in passages]
        self._scores = {
            word: (
                np.array([position for position, _ in found]),
                np.array([part for _, part in found])
                * math.log(1 + (len(bags) - len(found) + 0.5) / (len(found) + 0.5)),
            )
            for word, found in postings.items()
        }

    def top(self, query: str, k: int) -> list[str]:
        """The ids of the `k` best passages."""
        scores = np.zeros(len(self.ids))
        for word in dict.fromkeys(re.findall(r"\w+", query.lower())):
            if word in self._scores:
                positions, parts = self._scores[word]
                scores[positions] += parts
        return [self.ids[position] for position in np.argsort(-scores.round(9), kind="stable")[:k]]
