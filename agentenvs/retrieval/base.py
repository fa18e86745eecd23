"""One interface for all ways to search: `Index.search(queries, k)` gives a list of `Hit`s for each query.

What every index promises:

- best first; among hits of equal score, the one that comes first in the corpus;
- the same hits whatever else is in the batch, in any thread, and each time;
- at most `k` hits, fewer where fewer passages qualify; a query without a word has none.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from agentenvs.core.errors import ConfigError, quote
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.ranking import Ranking

#: JSON that rebuilds an index: `{"kind": ..., option: value, ...}`, every option present.
Spec = Mapping[str, Any]


class Hit(NamedTuple):
    """A passage that was found. `position` is that in the corpus, None where the corpus is a server's."""

    position: int | None
    id: str
    score: float
    contents: str


@runtime_checkable
class Index(Protocol):
    """What can be searched."""

    @property
    def corpus(self) -> Corpus | None:
        """The passages, or None where they are a server's."""

    @property
    def spec(self) -> Spec:
        """The specification from which `open_index` makes this index again."""

    @property
    def digest(self) -> str:
        """sha256 in hex of all that hits depend on and that can be known: corpus, options, weights."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The hits of each query, at most `k` (>= 1) each, best first.

        Raises `ConfigError` for queries that are no list of strings and for k < 1, `InfrastructureError` for a failure
        that is not the caller's.
        """


class LocalIndex(ABC):
    """An index over a corpus that is here. A subclass ranks; this makes the hits."""

    def __init__(self, corpus: Corpus, spec: Spec) -> None:
        self.corpus, self.spec = corpus, spec

    @property
    def digest(self) -> str:
        return digest_of(self.corpus.digest, self.spec)

    @abstractmethod
    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Positions and scores of each query's hits; queries and k have been checked."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `Index.search`."""
        check_request(queries, k)
        return [self._hits(ranking) for ranking in self.rank(queries, k)]

    def _hits(self, ranking: Ranking) -> list[Hit]:
        hits = []
        for position, score in zip(ranking[0].tolist(), ranking[1].tolist(), strict=True):
            passage = self.corpus[position]
            hits.append(Hit(position, passage.id, score, passage.contents))
        return hits


def check_request(queries: Sequence[str], k: int) -> None:
    """Raise `ConfigError` unless `queries` is a sequence of strings and `k` a whole number from 1."""
    if isinstance(queries, str) or not all(isinstance(query, str) for query in queries):
        raise ConfigError(f"queries: expected a list of strings, got {quote(queries)}")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigError(f"k: expected a whole number from 1, got {quote(k)}")


def digest_of(*parts: Any) -> str:
    """sha256 of JSON values, in hex."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode("ascii")).hexdigest()
