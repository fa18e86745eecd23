"""BM25: which passages share the rare words of the query. Three back-ends, one interface.

| backend | formula | for |
|---|---|---|
| `bm25s` (default) | Lucene's, exact passage lengths | anything up to some million passages |
| `rank-bm25` | that package's BM25Okapi, with its own idf | a reference for small corpora: 3 queries/s at 100,000 |
| `tantivy` | Lucene's with lengths rounded to 256 values, k1 1.2 and b 0.75 | millions of passages |

A passage is a hit if it shares a word with the query; each word of the query counts once, however often it is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.core.errors import ConfigError
from agentenvs.retrieval.base import LocalIndex, Spec, digest_of
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.options import one_of, settle
from agentenvs.retrieval.postings import Postings, build_postings
from agentenvs.retrieval.ranking import Ranking, Scores, nothing, top
from agentenvs.retrieval.store import stored
from agentenvs.retrieval.words import analyzer, terms

BACKENDS = ("bm25s", "rank-bm25", "tantivy")
#: Smaller corpora are indexed anew by each process, in some tenths of a second.
STORED_FROM = 10_000  # passages
#: Entries of the matrix that are copied for one step of a sum; only queries of hundreds of words need a second step.
AT_ONCE = 1 << 22
_COMMON = {"backend": "bm25s", "analyzer": "words"}
_OWN = {
    "bm25s": {"k1": 0.9, "b": 0.4},
    "rank-bm25": {"k1": 0.9, "b": 0.4, "epsilon": 0.25},
    "tantivy": {},  # its k1 and b cannot be set
}


class Bm25Index(LocalIndex):
    """BM25 by summing the columns of a precomputed sparse matrix; made by `open_index`."""

    def __init__(self, corpus: Corpus, spec: Spec, postings: Postings) -> None:
        super().__init__(corpus, spec)
        self._analyze = analyzer(spec["analyzer"])
        self._postings = postings

    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        return [self._rank(query, k) for query in queries]

    def _rank(self, query: str, k: int) -> Ranking:
        vocabulary = self._postings.vocabulary
        found = [vocabulary[term] for term in terms(query, self._analyze) if term in vocabulary]
        return top(self._scores(found), k) if found else nothing()

    def _scores(self, found: list[int]) -> Scores:
        """The score of every passage for the words `found`: sums of their columns, some millions of entries at once."""
        _, starts, passages, weights = self._postings
        scores: Scores | float = 0.0
        while found:
            sizes = np.cumsum([starts[word + 1] - starts[word] for word in found])
            count = max(1, int(np.searchsorted(sizes, AT_ONCE)))
            parts = [slice(starts[word], starts[word + 1]) for word in found[:count]]
            at, added = (np.concatenate([column[part] for part in parts]) for column in (passages, weights))
            scores = scores + np.bincount(at, added, len(self.corpus))
            found = found[count:]
        return np.asarray(scores)


def settle_bm25(given: Spec) -> dict[str, Any]:
    """The full specification of a BM25 index; raises `ConfigError`."""
    backend = settle("bm25", {name: given[name] for name in _COMMON if name in given}, _COMMON)
    one_of(backend, "backend", BACKENDS)
    spec = settle("bm25", given, {**_COMMON, **_OWN[backend["backend"]]})
    analyzer(spec["analyzer"])
    if spec.get("b", 0) > 1:
        raise ConfigError(f"bm25, b: expected a number from 0 to 1, got {spec['b']}")
    return spec


def open_bm25(corpus: Corpus, spec: Spec) -> LocalIndex:
    """The index of a full specification."""
    if spec["backend"] == "rank-bm25":
        from agentenvs.retrieval.okapi import OkapiIndex

        return OkapiIndex(corpus, spec)
    if spec["backend"] == "tantivy":
        from agentenvs.retrieval.lucene import open_tantivy

        return open_tantivy(corpus, spec)
    if len(corpus) < STORED_FROM:
        return Bm25Index(corpus, spec, _build(corpus, spec))
    name = f"bm25s-{digest_of(corpus.digest, spec)}"
    return Bm25Index(corpus, spec, stored(name, lambda folder: _save(folder, corpus, spec), _load))


def _build(corpus: Corpus, spec: Spec) -> Postings:
    return build_postings(corpus, analyzer(spec["analyzer"]), spec["k1"], spec["b"])


def _save(folder: Path, corpus: Corpus, spec: Spec) -> None:
    """Write the postings as an index of bm25s, which can load and search it by itself."""
    import bm25s

    postings = _build(corpus, spec)
    model = bm25s.BM25(k1=spec["k1"], b=spec["b"], method="lucene", auto_compile=False)
    model.vocab_dict = postings.vocabulary
    model.scores = {
        "data": postings.weights,
        "indices": postings.passages,
        "indptr": postings.starts,
        "num_docs": len(corpus),
    }
    model.nonoccurrence_array = None
    model.save(folder, show_progress=False)


def _load(folder: Path) -> Postings:
    import bm25s

    model = bm25s.BM25.load(folder, mmap=True, show_progress=False, auto_compile=False)
    # Plain views of the maps: np.memmap makes every slice cost microseconds.
    arrays = (np.asarray(model.scores[name]) for name in ("indptr", "indices", "data"))
    return Postings(model.vocab_dict, *arrays)
