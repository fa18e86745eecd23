"""Reciprocal rank fusion by hand and over real indexes."""

from __future__ import annotations

import pytest

from agentenvs.retrieval import make_corpus, open_index
from agentenvs.retrieval.hybrid import fuse
from agentenvs.retrieval.ranking import as_ranking
from tests.retrieval.conftest import made_up, made_up_queries


def test_by_hand() -> None:
    """Passage 4 is first and third, 7 second and first, 9 third, 2 second; the scores of the parts do not matter."""
    one, two = as_ranking([4, 7, 9], [30.0, 2.0, 1.0]), as_ranking([7, 2, 4], [0.9, 0.8, 0.7])
    positions, scores = fuse([one, two], 60, 10)
    assert positions.tolist() == [7, 4, 2, 9]
    assert scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61 + 1 / 63, 1 / 62, 1 / 63], abs=1e-12)
    assert fuse([one, two], 60, 2)[0].tolist() == [7, 4]
    # With a small constant the first rank counts for more: 1 + 1/2 and 1 + 1/3 against 1/2 and 1/3.
    assert fuse([one, two], 0, 4)[1].tolist() == pytest.approx([1.5, 1 + 1 / 3, 0.5, 1 / 3], abs=1e-12)


def test_equal_sums_come_in_the_order_of_the_corpus() -> None:
    rankings = [as_ranking(order, [3.0, 2.0, 1.0]) for order in ([8, 5, 3], [5, 3, 8], [3, 8, 5])]
    for turned in (rankings, rankings[::-1], rankings[1:] + rankings[:1]):
        positions, scores = fuse(turned, 60, 3)
        assert positions.tolist() == [3, 5, 8]
        assert len(set(scores.tolist())) == 1


def test_over_indexes() -> None:
    corpus, queries = made_up(200), made_up_queries(20)
    parts = ["bm25", {"kind": "bm25", "backend": "rank-bm25"}]
    hybrid = open_index(corpus, {"kind": "hybrid", "indexes": parts, "constant": 10, "depth": 20})
    found = [open_index(corpus, part).search(queries, 20) for part in parts]
    for number, hits in enumerate(hybrid.search(queries, 20)):
        expected: dict[str, float] = {}
        for lists in found:
            for rank, hit in enumerate(lists[number], 1):
                expected[hit.id] = expected.get(hit.id, 0) + 1 / (10 + rank)
        ranked = sorted(expected, key=lambda name: (-round(expected[name], 9), corpus.position(name)))
        assert [hit.id for hit in hits] == ranked[:20]
        assert [hit.score for hit in hits] == pytest.approx([expected[name] for name in ranked[:20]], abs=1e-9)
    assert hybrid.search(queries, 3) == [hits[:3] for hits in hybrid.search(queries, 20)]
    assert hybrid.search(["", "zebra"], 3) == [[], []]


def test_one_index_alone_keeps_its_order() -> None:
    corpus = make_corpus([{"id": str(i), "contents": "fox " * (i % 7 + 1)} for i in range(30)])
    alone = open_index(corpus, {"kind": "hybrid", "indexes": ["bm25"], "depth": 5}).search(["fox"], 12)
    assert [hit.id for hit in alone[0]] == [hit.id for hit in open_index(corpus).search(["fox"], 12)[0]]
