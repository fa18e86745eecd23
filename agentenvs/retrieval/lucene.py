"""The back-end `tantivy`: a search library in Rust, for large corpora.

Scores are Lucene's BM25 with k1 1.2 and b 0.75 over passage lengths that are rounded to one of 256 values, as Lucene
does. A word of more than 65,530 bytes is not indexed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.core.errors import MissingExtra
from agentenvs.retrieval.base import LocalIndex, Spec, digest_of
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.progress import progress
from agentenvs.retrieval.ranking import Ranking, as_ranking, complete, nothing
from agentenvs.retrieval.store import stored
from agentenvs.retrieval.words import analyzer, terms

STORED_FROM = 10_000  # passages; smaller indexes stay in memory
#: Scores are rounded to so many decimals before they are compared: they are 32-bit sums in an order of its own.
DECIMALS = 4
_HEAP = 256_000_000  # bytes that the writer may fill before it starts another segment


class TantivyIndex(LocalIndex):
    """A tantivy index of words that were found by our analyzer; made by `open_index`."""

    def __init__(self, corpus: Corpus, spec: Spec, index: Any) -> None:
        super().__init__(corpus, spec)
        self._analyze = analyzer(spec["analyzer"])
        self._index = index
        self._searcher = index.searcher()

    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        return [self._rank(query, k) for query in queries]

    def _rank(self, query: str, k: int) -> Ranking:
        import tantivy

        found = terms(query, self._analyze)
        if not found:
            return nothing()
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._index.schema, "words", term, "freq"))
            for term in found
        ]
        parsed = tantivy.Query.boolean_query(clauses)

        def fetch(limit: int) -> Ranking:
            hits = self._searcher.search(parsed, limit, count=False).hits
            positions = self._searcher.fast_field_values("position", [address for _, address in hits])
            return as_ranking(positions, np.array([score for score, _ in hits]).round(DECIMALS))

        return complete(fetch, k, len(self.corpus))


def open_tantivy(corpus: Corpus, spec: Spec) -> LocalIndex:
    """The index of a full specification, on disk for corpora of some size."""
    try:
        import tantivy
    except ImportError:
        raise MissingExtra("tantivy", "tantivy") from None
    if len(corpus) < STORED_FROM:
        index = tantivy.Index(_schema())
        _fill(index, corpus, spec)
        return TantivyIndex(corpus, spec, index)

    def build(folder: Path) -> None:
        _fill(tantivy.Index(_schema(), path=str(folder)), corpus, spec)
        for lock in folder.glob(".*.lock"):
            lock.unlink()

    name = f"tantivy-{digest_of(corpus.digest, spec)}"
    return TantivyIndex(corpus, spec, stored(name, build, lambda folder: tantivy.Index.open(str(folder))))


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("position", fast=True)
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _fill(index: Any, corpus: Corpus, spec: Spec) -> None:
    import tantivy

    analyze = analyzer(spec["analyzer"])
    writer = index.writer(heap_size=_HEAP, num_threads=1)
    with progress("indexing", len(corpus)) as advance:
        for position, passage in enumerate(corpus):
            document = tantivy.Document()
            document.add_unsigned("position", position)
            document.add_text("words", " ".join(analyze(passage.contents)))
            writer.add_document(document)
            advance(position)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
