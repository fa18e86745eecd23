"""Dense retrieval: the passages whose vectors have the largest inner product with the query's (Karpukhin et al. 2020).

`flat` compares with all passages; `ivf` looks into the `probes` nearest of `lists` cells, `hnsw` follows a graph with
`links` edges a node: faster on large corpora, and not all that should be found is found. Candidates come from faiss;
their scores are computed again in 64 bits and rounded, so that neither the batch nor the number of threads decides an
order.

What a query's vector is does not depend on the other queries as long as `query_batch` is 1. With more they go through
the model together, which pays on a GPU, and scores may then differ in the sixth decimal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from agentenvs.core.errors import AgentEnvsError, InfrastructureError, MissingExtra
from agentenvs.retrieval.base import LocalIndex, Spec, digest_of
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.encoders import POOLINGS, Encoder, Locked, Vectors, as_encoder, load_encoder
from agentenvs.retrieval.options import at_least, one_of, settle
from agentenvs.retrieval.ranking import SPARE, Ranking, best, complete, nothing
from agentenvs.retrieval.store import stored
from agentenvs.retrieval.vectors import corpus_vectors
from agentenvs.retrieval.words import words

DECIMALS = 6  # of scores
#: The scores of faiss are off by less than this, relative to the larger of 1 and the score.
_SLACK = 1e-4
#: Defaults. `max_tokens` 0, `pooling` and `normalise` "auto": as the model's folder says; `lists` 0: 4 sqrt(passages).
OPTIONS: dict[str, Any] = {
    "encoder": "minilm",
    "query_prefix": "",
    "passage_prefix": "",
    "max_tokens": 0,
    "pooling": "auto",
    "normalise": "auto",
    "device": "cpu",
    "query_batch": 1,
    "search": "flat",
    "lists": 0,
    "probes": 16,
    "links": 32,
    "ef_construction": 200,
    "ef_search": 128,
}


class DenseIndex(LocalIndex):
    """Passages by the inner product of vectors; made by `open_index`."""

    def __init__(self, corpus: Corpus, spec: Spec, encoder: Encoder) -> None:
        super().__init__(corpus, spec)
        self._encoder = Locked(encoder)
        self._vectors = corpus_vectors(corpus, self._encoder, spec["passage_prefix"])
        self._search = _searcher(self._vectors, spec, self._name())

    @property
    def digest(self) -> str:
        return digest_of(self.corpus.digest, {**self.spec, "encoder": self._encoder.identity})

    def _name(self) -> str:
        """Names the vectors; empty where the encoder has no identity."""
        identity = self._encoder.identity
        return digest_of(self.corpus.digest, identity, self.spec["passage_prefix"]) if identity else ""

    def rank(self, queries: Sequence[str], k: int) -> list[Ranking]:
        rankings = [nothing() for _ in queries]
        asked = [i for i, query in enumerate(queries) if words(query)]
        if asked:
            vectors = self._encoded([self.spec["query_prefix"] + queries[i] for i in asked])
            first = self._search(vectors, min(k + SPARE, len(self.corpus)))
            for i, vector, candidates in zip(asked, vectors, first, strict=True):
                rankings[i] = self._rank(vector, candidates, k)
        return rankings

    def _rank(self, vector: Any, candidates: Any, k: int) -> Ranking:
        """The `k` best, with `candidates` as the first answer of faiss."""

        def fetch(limit: int) -> Ranking:
            found = candidates if limit == len(candidates) else self._search(vector[None], limit)[0]
            return self._scored(vector, found)

        scale = max(1.0, float(np.abs(fetch(len(candidates))[1]).max(initial=0.0)))
        return complete(fetch, k, len(self.corpus), slack=_SLACK * scale)

    def _scored(self, vector: Any, positions: Any) -> Ranking:
        positions = positions[positions >= 0]  # faiss fills up with -1
        # Row by row: the result of a matrix product depends on how many rows there are.
        products = self._vectors[positions].astype(np.float64) * vector
        return best(positions, np.round(products.sum(axis=1), DECIMALS), len(positions))

    def _encoded(self, texts: list[str]) -> Vectors:
        texts = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]  # no lone surrogates
        size = self.spec["query_batch"]
        try:
            return np.concatenate([self._encoder.encode(texts[at : at + size]) for at in range(0, len(texts), size)])
        except AgentEnvsError:
            raise
        except Exception as error:
            raise InfrastructureError(f"the encoder failed: {type(error).__name__}: {error}") from error


def settle_dense(given: Spec) -> dict[str, Any]:
    """The full specification of a dense index; raises `ConfigError`. A live encoder stays as it is."""
    encoder = given.get("encoder", OPTIONS["encoder"])
    live = not isinstance(encoder, str)
    spec = settle("dense", {**given, "encoder": "" if live else encoder}, OPTIONS)
    one_of(spec, "search", ("flat", "ivf", "hnsw"))
    one_of(spec, "pooling", ("auto", *POOLINGS))
    one_of(spec, "normalise", ("auto", "yes", "no"))
    at_least(spec, 1, "query_batch", "probes", "ef_construction", "ef_search")
    at_least(spec, 2, "links")
    return {**spec, "encoder": as_encoder(encoder)} if live else spec


def open_dense(corpus: Corpus, spec: Spec) -> LocalIndex:
    """The index of a full specification. One with a live encoder says `"encoder": ""`: JSON cannot rebuild it."""
    if isinstance(spec["encoder"], str):
        return DenseIndex(corpus, spec, load_encoder(spec))
    return DenseIndex(corpus, {**spec, "encoder": ""}, spec["encoder"])


def _searcher(vectors: Vectors, spec: Spec, name: str) -> Any:
    """`search(queries [q, d], n) -> positions [q, n]`, -1 where there are fewer."""
    faiss = _faiss()
    if spec["search"] == "flat":
        inner = faiss.METRIC_INNER_PRODUCT
        return lambda queries, n: faiss.knn(queries, vectors, n, metric=inner)[1]
    if not name:
        index = _built(vectors, spec)
    else:
        tuned = {key: spec[key] for key in ("search", "lists", "links", "ef_construction")}
        index = stored(
            f"faiss-{digest_of(name, tuned)}",
            lambda folder: faiss.write_index(_built(vectors, spec), str(folder / "index.faiss")),
            lambda folder: faiss.read_index(str(folder / "index.faiss")),
        )
    if spec["search"] == "ivf":
        index.nprobe = spec["probes"]
    else:
        index.hnsw.efSearch = spec["ef_search"]
    return lambda queries, n: index.search(queries, n)[1]


def _built(vectors: Vectors, spec: Spec) -> Any:
    faiss, (size, dimensions) = _faiss(), vectors.shape
    inner = faiss.METRIC_INNER_PRODUCT
    with _one_thread(faiss):  # with more, the graph and the cells depend on which is first
        if spec["search"] == "hnsw":
            index = faiss.IndexHNSWFlat(dimensions, spec["links"], inner)
            index.hnsw.efConstruction = spec["ef_construction"]
        else:
            lists = min(spec["lists"] or round(4 * size**0.5), size)
            index = faiss.index_factory(dimensions, f"IVF{lists},Flat", inner)
            index.cp.min_points_per_centroid = 1  # no warning about small corpora
            index.train(vectors)
        index.add(vectors)
    return index


@contextlib.contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtra("faiss-cpu", "dense") from None
    return faiss
