"""Reciprocal rank fusion of several indexes over one corpus (Cormack, Clarke and Büttcher 2009).

The score of a passage is the sum of 1 / (constant + rank) over the indexes that find it, ranks from 1. Only the first
`depth` of each index count, or the first k where k is larger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from agentenvs.core.errors import ConfigError
from agentenvs.retrieval.base import LocalIndex, Spec, digest_of
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.ranking import Ranking, as_ranking, best, nothing

#: Defaults. The constant is the paper's k.
OPTIONS = {"indexes": ["bm25", "dense"], "constant": 60.0, "depth": 100}
DECIMALS = 12  # of scores; sums of the same ranks in another order are equal


class HybridIndex(LocalIndex):
    """What several indexes of `corpus` find, by their ranks alone."""

    def __init__(self, corpus: Corpus, spec: Spec, indexes: Sequence[LocalIndex]) -> None:
        super().__init__(corpus, spec)
        self._indexes = indexes

    @property
    def digest(self) -> str:
        return digest_of([index.digest for index in self._indexes], self.spec["constant"], self.spec["depth"])

    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        depth = max(k, self.spec["depth"])
        by_index = [index.rank(queries, depth) for index in self._indexes]
        return [fuse(rankings, self.spec["constant"], k) for rankings in zip(*by_index, strict=True)]


def fuse(rankings: Sequence[Ranking], constant: float, k: int) -> Ranking:
    """The `k` best of the sums of reciprocal ranks."""
    scores: dict[int, float] = defaultdict(float)
    for positions, _ in rankings:
        for rank, position in enumerate(positions.tolist(), 1):
            scores[position] += 1 / (constant + rank)
    if not scores:
        return nothing()
    return best(*as_ranking(list(scores), [round(score, DECIMALS) for score in scores.values()]), k)


def check_parts(parts: Sequence[Spec]) -> None:
    """Raise `ConfigError` unless there are parts, and all of them rank a corpus that is here."""
    if not parts:
        raise ConfigError("hybrid, indexes: expected at least one index, got none")
    if any(part["kind"] == "http" for part in parts):
        raise ConfigError("hybrid, indexes: expected indexes of a corpus that is here, got one of kind http")
