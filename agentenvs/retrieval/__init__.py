"""Retrieval: one interface over a corpus of passages, with BM25, dense, hybrid and remote indexes.

>>> from agentenvs.retrieval import make_corpus, open_index
>>> corpus = make_corpus([{"id": "a", "contents": "the red fox"}, {"id": "b", "contents": "the blue whale"}])
>>> [hit.id for hit in open_index(corpus, "bm25").search(["a whale"], k=3)[0]]
['b']
"""

from __future__ import annotations

from agentenvs.retrieval.base import Hit, Index, Spec
from agentenvs.retrieval.corpus import Corpus, Passage, make_corpus
from agentenvs.retrieval.corpus_file import read_corpus
from agentenvs.retrieval.open import open_index, settle_spec

__all__ = ["Corpus", "Hit", "Index", "Passage", "Spec", "make_corpus", "open_index", "read_corpus", "settle_spec"]
