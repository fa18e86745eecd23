"""An inverted index with the BM25 weight of every word in every passage, computed once.

The arrays are those of bm25s (Lù 2024, arXiv:2407.03618, "eager sparse scoring"): a sparse matrix passages x words by
columns. They are counted here in blocks of passages, so that a million short passages fit into 1 GB on the way.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.progress import progress
from agentenvs.retrieval.words import Analyzer

BLOCK = 100_000  # passages
#: Weights are multiples of this. In sums of 64-bit floats nothing is then rounded, so the order of the words in a query
#: cannot make two equal scores differ.
STEP = 2.0**-24


class Postings(NamedTuple):
    """`weights[starts[w]:starts[w + 1]]` are the weights of word w in the passages at the same places of `passages`.

    Passages are in ascending order within a word.
    """

    vocabulary: dict[str, int]
    starts: NDArray[np.int64]  # [words + 1]
    passages: NDArray[np.int32]  # [pairs of passage and word]
    weights: NDArray[np.float32]  # [pairs of passage and word], at least STEP


class _Block(NamedTuple):
    """How often each word occurs in each passage of a block: one entry a pair, by word, then by passage."""

    words: NDArray[np.int32]
    passages: NDArray[np.int32]
    counts: NDArray[np.int32]


def build_postings(corpus: Corpus, analyze: Analyzer, k1: float, b: float) -> Postings:
    """The postings of all passages, weighted by `weigh`."""
    vocabulary: dict[str, int] = {}
    lengths = np.zeros(len(corpus), dtype=np.int64)
    blocks = list(_count(corpus, analyze, vocabulary, lengths))
    frequency = np.zeros(len(vocabulary), dtype=np.int64)  # of passages
    for block in blocks:
        frequency += np.bincount(block.words, minlength=len(vocabulary))
    starts = np.concatenate(([0], np.cumsum(frequency)))
    passages, weights = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.float32)
    idf = np.log1p((len(corpus) - frequency + 0.5) / (frequency + 0.5))
    norm = k1 * (1 - b + b * lengths / (lengths.mean() or 1.0))
    free = starts[:-1].copy()  # the next free place of each word
    for number, block in enumerate(blocks):
        heads = np.flatnonzero(np.diff(block.words, prepend=-1))
        runs = np.diff(heads, append=len(block.words))
        at = np.repeat(free[block.words[heads]] - heads, runs) + np.arange(len(block.words))
        free[block.words[heads]] += runs
        passages[at] = block.passages
        weights[at] = weigh(block.counts, idf[block.words], norm[block.passages])
        blocks[number] = _Block(*(np.empty(0, dtype=np.int32),) * 3)  # done with
    return Postings(vocabulary, starts, passages, weights)


def weigh(count: NDArray[np.int32], idf: NDArray[np.float64], norm: NDArray[np.float64]) -> NDArray[np.float32]:
    """BM25 in Lucene's form, `idf * tf / (tf + k1 * (1 - b + b * dl / avgdl))`, rounded to a multiple of `STEP`.

    `count` is tf, `idf` is ln(1 + (N - df + 0.5) / (df + 0.5)), `norm` the second term of the denominator; all [n].
    (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"; the idf is Lucene's: Kamphuis et al. 2020.)
    """
    exact = idf * count / (count + norm)
    return (np.maximum(np.rint(exact / STEP), 1.0) * STEP).astype(np.float32)


def _count(
    corpus: Corpus, analyze: Analyzer, vocabulary: dict[str, int], lengths: NDArray[np.int64]
) -> Iterator[_Block]:
    """Block after block; fills `vocabulary` (numbers in order of first occurrence) and `lengths` (words a passage)."""
    passages = iter(corpus)
    with progress("indexing", len(corpus)) as advance:
        for first in range(0, len(corpus), BLOCK):
            found = array("i")
            for position, passage in enumerate(islice(passages, BLOCK), first):
                before = len(found)
                found.extend([vocabulary.setdefault(word, len(vocabulary)) for word in analyze(passage.contents)])
                lengths[position] = len(found) - before
                advance(position)
            yield _pairs(np.asarray(found, dtype=np.int64), lengths[first : first + BLOCK], first)


def _pairs(found: NDArray[np.int64], lengths: NDArray[np.int64], first: int) -> _Block:
    """Count equal pairs of word and passage. `found` holds the words of the passages from `first` on, one by one."""
    keys = found * BLOCK + np.repeat(np.arange(len(lengths)), lengths)
    keys.sort()
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    words, passages = np.divmod(keys[heads], BLOCK)
    counts = np.diff(heads, append=len(keys))
    return _Block(words.astype(np.int32), (passages + first).astype(np.int32), counts.astype(np.int32))
