"""BM25 by hand, against a plain program, against bm25s and rank-bm25, and its promises about ties and batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.retrieval import Corpus, Hit, Index, bm25, lucene, make_corpus, open_index, postings
from agentenvs.retrieval.words import words
from tests.retrieval.conftest import made_up, made_up_queries

BACKENDS = [
    {"kind": "bm25"},
    {"kind": "bm25", "backend": "rank-bm25"},
    pytest.param({"kind": "bm25", "backend": "tantivy"}, id="tantivy"),
]
ANIMALS = make_corpus(
    [
        {"id": "fox", "contents": "Red fox"},
        {"id": "pets", "contents": "red, red dog; cat"},
        {"id": "whale", "contents": "blue whale swims"},
    ]
)


@pytest.fixture(params=BACKENDS, ids=["bm25s", "rank-bm25", "tantivy"])
def spec(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The back-ends that are installed."""
    if request.param.get("backend") == "tantivy":
        pytest.importorskip("tantivy", reason="tantivy is an extra")
    return request.param


def plain(corpus: Corpus, query: str, k1: float = 0.9, b: float = 0.4) -> list[tuple[int, float]]:
    """Lucene's BM25, straight from the formula: positions and scores, best first."""
    texts = [words(passage.contents) for passage in corpus]
    average = sum(map(len, texts)) / len(texts)
    scores = {}
    for position, text in enumerate(texts):
        score = 0.0
        for term in set(words(query)) & set(text):
            df = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            tf = text.count(term)
            score += idf * tf / (tf + k1 * (1 - b + b * len(text) / average))
        if set(words(query)) & set(text):
            scores[position] = score
    return sorted(scores.items(), key=lambda pair: (-round(pair[1], 6), pair[0]))


def okapi(corpus: Corpus, query: str, k1: float = 0.9, b: float = 0.4, epsilon: float = 0.25) -> dict[int, float]:
    """The formula of the package rank-bm25: scores by position."""
    texts = [words(passage.contents) for passage in corpus]
    average = sum(map(len, texts)) / len(texts)
    idf = {}
    for term in {term for text in texts for term in text}:
        df = sum(term in text for text in texts)
        idf[term] = math.log((len(texts) - df + 0.5) / (df + 0.5))
    floor = epsilon * sum(idf.values()) / len(idf)
    scores = {}
    for position, text in enumerate(texts):
        common = set(words(query)) & set(text)
        parts = []
        for term in common:
            tf = text.count(term)
            weight = idf[term] if idf[term] >= 0 else floor
            parts.append(weight * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(text) / average)))
        if common:
            scores[position] = sum(parts)
    return scores


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def test_scores_by_hand() -> None:
    """Passages of 2, 4 and 3 words, 3 on average; 'red' in two of them (idf ln 1.6), 'fox' in one (ln 8/3)."""
    index = open_index(ANIMALS)
    [red, fox] = index.search(["red", "fox, FOX!"], 5)
    assert ids(red) == ["pets", "fox"]
    assert red[0].score == pytest.approx(math.log(1.6) * 2 / (2 + 0.9 * (0.6 + 0.4 * 4 / 3)), abs=1e-7)
    assert red[1].score == pytest.approx(0.264047, abs=1e-6)
    assert fox == [Hit(0, "fox", pytest.approx(0.551028, abs=1e-6), "Red fox")]


def test_against_a_plain_program() -> None:
    corpus = made_up(80)
    for options in ({}, {"k1": 1.2, "b": 0.75}, {"k1": 0.0}, {"b": 1}):
        index = open_index(corpus, {"kind": "bm25", **options})
        for query, hits in zip(queries := made_up_queries(20), index.search(queries, 80), strict=True):
            expected = plain(corpus, query, **options)
            assert [hit.position for hit in hits] == [position for position, _ in expected]
            assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=1e-5)


def test_against_bm25s() -> None:
    """The same weight for every pair of word and passage as bm25s computes, whatever the size of our blocks."""
    corpus = made_up(300)
    model = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    model.index([words(passage.contents) for passage in corpus], show_progress=False)
    ours = postings.build_postings(corpus, words, 0.9, 0.4)
    assert set(ours.vocabulary) == set(model.vocab_dict) - {""}
    for term, word in ours.vocabulary.items():
        part = slice(ours.starts[word], ours.starts[word + 1])
        dense = np.zeros(len(corpus))
        dense[ours.passages[part]] = ours.weights[part]
        assert np.all(np.diff(ours.passages[part]) > 0)
        assert dense == pytest.approx(model.get_scores([term]), abs=1e-6)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = made_up(100)
    whole = postings.build_postings(corpus, words, 0.9, 0.4)
    monkeypatch.setattr(postings, "BLOCK", 7)
    parts = postings.build_postings(corpus, words, 0.9, 0.4)
    assert parts.vocabulary == whole.vocabulary
    for one, other in zip(parts[1:], whole[1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_steps_of_a_sum_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    index, queries = open_index(made_up(200)), made_up_queries(20)
    expected = index.search(queries, 10)
    monkeypatch.setattr(bm25, "AT_ONCE", 1)
    assert index.search(queries, 10) == expected


def test_rank_bm25_against_its_own_formula() -> None:
    corpus = made_up(150, vocabulary=25)  # so few words that some are in more than half: negative idf
    index = open_index(corpus, {"kind": "bm25", "backend": "rank-bm25"})
    for query, hits in zip(queries := made_up_queries(30, vocabulary=25), index.search(queries, 150), strict=True):
        expected = okapi(corpus, query)
        assert {hit.position: hit.score for hit in hits} == pytest.approx(expected, abs=1e-8)
        ranked = sorted(expected, key=lambda position: (-round(expected[position], 8), position))
        assert [hit.position for hit in hits] == ranked


def test_a_match_with_a_score_of_0_is_a_hit_of_rank_bm25() -> None:
    """A word in half of the passages has an idf of ln 1."""
    rows = [{"id": str(i), "contents": "fox owl" if i % 2 else "cat dog emu"} for i in range(6)]
    [hits] = open_index(make_corpus(rows), {"kind": "bm25", "backend": "rank-bm25"}).search(["fox"], 6)
    assert [(hit.position, hit.score) for hit in hits] == [(1, 0.0), (3, 0.0), (5, 0.0)]


def test_tantivy_agrees_about_the_top() -> None:
    """Of what BM25 with the same k1 and b puts first, tantivy finds most: its lengths are rounded."""
    pytest.importorskip("tantivy", reason="tantivy is an extra")
    corpus, queries = made_up(500), made_up_queries(100)
    exact = open_index(corpus, {"kind": "bm25", "k1": 1.2, "b": 0.75}).search(queries, 10)
    rounded = open_index(corpus, {"kind": "bm25", "backend": "tantivy"}).search(queries, 10)
    overlap = [len(set(ids(a)) & set(ids(b))) / max(len(a), 1) for a, b in zip(exact, rounded, strict=True) if a]
    assert len(overlap) > 80
    assert np.mean(overlap) > 0.95
    for a, b in zip(exact, rounded, strict=True):
        assert len(a) == len(b)
        assert [hit.score * 2.2 for hit in a] == pytest.approx([hit.score for hit in b], rel=0.15)


def test_equal_passages_come_in_the_order_of_the_corpus(spec: dict[str, Any]) -> None:
    rows = [{"id": f"z{90 - i}", "contents": "one red fox" if i % 2 else "one blue whale"} for i in range(90)]
    index = open_index(make_corpus(rows), spec)
    for k in (1, 3, 44, 45, 46, 1000):
        [hits] = index.search(["fox red"], k)
        assert [hit.position for hit in hits] == list(range(1, 90, 2))[:k]


def test_the_order_of_words_in_a_query_makes_no_difference(spec: dict[str, Any]) -> None:
    index = open_index(made_up(200), spec)
    for query in made_up_queries(30, seed=5):
        forward, backward = index.search([query, " ".join(reversed(words(query)))], 200)
        assert forward == backward


def test_queries_without_a_known_word_find_nothing(spec: dict[str, Any]) -> None:
    index = open_index(ANIMALS, spec)
    assert index.search(["", "  \n", "?!", "zebra", "\ud800", "fo"], 3) == [[]] * 6
    assert index.search([], 3) == []
    assert open_index(make_corpus([{"id": "a", "contents": ""}, {"id": "b", "contents": "!"}]), spec).search(
        ["fox", "!"], 3
    ) == [[], []]


def test_there_is_no_list_of_stop_words(spec: dict[str, Any]) -> None:
    index = open_index(make_corpus([{"id": "a", "contents": "To be."}, {"id": "b", "contents": "fox"}] * 1), spec)
    assert ids(index.search(["to be or not to be"], 3)[0]) == ["a"]


def test_a_long_query_counts_each_word_once(spec: dict[str, Any]) -> None:
    index = open_index(made_up(200), spec)
    long = " ".join(f"w{i % 40} unknown{i}" for i in range(6_500))
    assert len(long) > 100_000
    assert index.search([long], 10) == index.search([" ".join(f"w{i}" for i in range(40))], 10)
    assert index.search(["x" * 100_000, "\0" * 100_000], 10) == [[], []]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*made_up_queries(20), "", "zebra"]), max_size=8), st.integers(1, 12))
def test_a_result_does_not_depend_on_the_batch(queries: list[str], k: int) -> None:
    for backend in ("bm25s", "rank-bm25"):
        index = open_index(made_up(60), {"kind": "bm25", "backend": backend})
        assert index.search(queries, k) == [index.search([query], k)[0] for query in queries]
        assert index.search(queries, 1) == [hits[:1] for hits in index.search(queries, k)]


@pytest.mark.parametrize("k", [0, -1, True, 1.0, "3", None])
def test_k_that_is_no_number_from_1(k: Any) -> None:
    with pytest.raises(ConfigError, match="k: expected a whole number from 1, got"):
        open_index(ANIMALS).search(["fox"], k)


@pytest.mark.parametrize("queries", ["fox", [1], [None], ["fox", b"fox"]])
def test_queries_that_are_no_list_of_strings(queries: Any) -> None:
    with pytest.raises(ConfigError, match="queries: expected a list of strings"):
        open_index(ANIMALS).search(queries, 3)


def test_options_that_cannot_be() -> None:
    for options, message in (
        ({"b": 1.5}, "bm25, b: expected a number from 0 to 1, got 1.5"),
        ({"k1": -1}, "bm25, k1: expected a number from 0 to"),
        ({"k1": float("nan")}, "bm25, k1: expected a number from 0 to"),
        ({"k1": 10**400}, "bm25, k1: expected a number, got"),
        ({"k1": "1"}, "bm25, k1: expected a number, got '1'"),
        ({"backend": 3}, "bm25, backend: expected a string, got 3"),
    ):
        with pytest.raises(ConfigError, match=message):
            open_index(ANIMALS, {"kind": "bm25", **options})
    for options, message in (
        ({"k2": 1}, "unknown option of bm25 'k2'; did you mean 'k1'?"),
        ({"backend": "bm25"}, "unknown backend of bm25 'bm25'; did you mean 'bm25s'?"),
        ({"backend": "tantivy", "k1": 1}, "unknown option of bm25 'k1'"),
        ({"analyzer": "stems"}, "unknown analyzer 'stems'"),
    ):
        with pytest.raises(UnknownName) as caught:
            open_index(ANIMALS, {"kind": "bm25", **options})
        assert message in str(caught.value)


@pytest.mark.parametrize("backend", ["bm25s", "tantivy"])
def test_a_stored_index_answers_as_one_in_memory(backend: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "tantivy":
        pytest.importorskip("tantivy", reason="tantivy is an extra")
    corpus, queries = made_up(300), made_up_queries(40)
    spec = bm25.settle_bm25({"kind": "bm25", "backend": backend})
    expected = bm25.open_bm25(corpus, spec).search(queries, 10)
    assert not cache.exists(), "small corpora leave nothing on disk"
    monkeypatch.setattr(bm25, "STORED_FROM", 1)
    monkeypatch.setattr(lucene, "STORED_FROM", 1)
    built: Index = bm25.open_bm25(corpus, spec)
    assert built.search(queries, 10) == expected
    [entry] = [path for path in cache.iterdir() if path.is_dir()]
    assert entry.name.startswith(backend)
    stamps = {path: path.stat().st_mtime_ns for path in entry.iterdir()}
    assert bm25.open_bm25(corpus, spec).search(queries, 10) == expected
    assert {path: path.stat().st_mtime_ns for path in entry.iterdir()} == stamps, "nothing was built again"
    [victim] = sorted(entry.glob("data*"))[:1] or sorted(entry.glob("*.term"))[:1]
    victim.write_bytes(victim.read_bytes()[:-7])
    assert bm25.open_bm25(corpus, spec).search(queries, 10) == expected


def test_a_stored_index_is_one_of_bm25s(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That package loads it by itself and gives the same scores."""
    monkeypatch.setattr(bm25, "STORED_FROM", 1)
    corpus = made_up(300)
    index = bm25.open_bm25(corpus, bm25.settle_bm25({}))
    [entry] = [path for path in cache.iterdir() if path.is_dir()]
    model = bm25s.BM25.load(entry, show_progress=False)
    for query in made_up_queries(20):
        known = [term for term in dict.fromkeys(words(query)) if term in model.vocab_dict]
        if known:
            _, scores = model.retrieve([known], k=5, show_progress=False)
            found = [hit.score for hit in index.search([query], 5)[0]]
            assert found == pytest.approx([score for score in scores[0] if score > 0], abs=1e-5)
