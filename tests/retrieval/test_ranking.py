"""Selection of the first k, against sorting everything."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.retrieval.ranking import Ranking, as_ranking, best, complete, top

# Few different values, so that most are tied.
SCORES = st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=60)


def naive(scores: list[float], k: int) -> list[tuple[int, float]]:
    ranked = sorted(enumerate(scores), key=lambda pair: (-pair[1], pair[0]))
    return [pair for pair in ranked if pair[1] > 0][:k]


def pairs(ranking: Ranking) -> list[tuple[int, float]]:
    return list(zip(ranking[0].tolist(), ranking[1].tolist(), strict=True))


@given(SCORES, st.integers(1, 70), st.integers(1, 40))
def test_top_is_sorting(scores: list[float], k: int, repeats: int) -> None:
    many = scores * repeats  # long enough for the bound by blocks
    assert pairs(top(np.array(many), k)) == naive(many, k)


@given(st.integers(0, 2**32), st.integers(300, 900), st.integers(1, 8))
def test_top_of_different_scores(seed: int, size: int, k: int) -> None:
    scores = np.random.default_rng(seed).random(size).tolist()
    assert pairs(top(np.array(scores), k)) == naive(scores, k)


@given(SCORES, st.integers(1, 70), st.randoms(use_true_random=False))
def test_best_does_not_depend_on_the_order(scores: list[float], k: int, random: object) -> None:
    shuffled = list(enumerate(scores))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    positions, values = as_ranking([p for p, _ in shuffled], [s for _, s in shuffled])
    expected = sorted(enumerate(scores), key=lambda pair: (-pair[1], pair[0]))[:k]
    assert pairs(best(positions, values, k)) == expected


@given(SCORES, st.integers(1, 20), st.randoms(use_true_random=False))
def test_complete_has_all_that_are_tied_with_the_last(scores: list[float], k: int, random: object) -> None:
    """An engine that breaks ties at random still gives the first in the corpus."""
    many = scores * 5
    noise = list(range(len(many)))
    random.shuffle(noise)  # type: ignore[attr-defined]
    order = sorted(range(len(many)), key=lambda i: (-many[i], noise[i]))

    def fetch(n: int) -> Ranking:
        return as_ranking(order[:n], [many[i] for i in order[:n]])

    expected = sorted(enumerate(many), key=lambda pair: (-pair[1], pair[0]))[:k]
    assert pairs(complete(fetch, k, len(many))) == expected
