"""The back-end `rank-bm25`: BM25Okapi as that package computes it, the reference for small corpora.

Its idf is ln(N - df + 0.5) - ln(df + 0.5), and where that is negative, epsilon times the mean idf of all words; its
term frequency part has the factor k1 + 1. So its scores are not those of the other back-ends, nor always its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentenvs.retrieval.base import LocalIndex, Spec
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.ranking import Ranking, best, nothing
from agentenvs.retrieval.words import analyzer, terms

#: Scores are rounded to so many decimals before they are compared: its sums depend on the order of the words.
DECIMALS = 9


class OkapiIndex(LocalIndex):
    """BM25Okapi over passages that share a word with the query. Scores may be 0 or negative."""

    def __init__(self, corpus: Corpus, spec: Spec) -> None:
        from rank_bm25 import BM25Okapi

        super().__init__(corpus, spec)
        self._analyze = analyzer(spec["analyzer"])
        passages = [self._analyze(passage.contents) for passage in corpus]
        options = {name: spec[name] for name in ("k1", "b", "epsilon")}
        self._model = BM25Okapi(passages, **options) if any(passages) else None  # it divides by the number of words

    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        return [self._rank(query, k) for query in queries]

    def _rank(self, query: str, k: int) -> Ranking:
        if self._model is None:
            return nothing()
        found = [term for term in terms(query, self._analyze) if term in self._model.idf]
        scores = np.round(self._model.get_scores(found), DECIMALS)
        matches = scores != 0
        if any(self._model.idf[term] <= 0 for term in found):  # then a score of 0 may be that of a match
            matches |= [any(term in counts for term in found) for counts in self._model.doc_freqs]
        positions = np.flatnonzero(matches)
        return best(positions, scores[positions], k)
