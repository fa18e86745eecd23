"""Statistics: hand-worked numbers, scipy as a second opinion, properties, coverage, pinned answers."""

from __future__ import annotations

import itertools
import json
import math
import time
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from agentenvs.core.errors import ConfigError
from agentenvs.evaluation import stats

UNIT = st.floats(0, 1, allow_subnormal=False)
EPISODES = st.lists(st.tuples(UNIT, st.sampled_from("abcdefgh")), min_size=1, max_size=40)
OUTCOMES = st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), min_size=1, max_size=30)


def clustered_data(seed: int, n_tasks: int = 40, repeats: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """0/1 episodes whose success rate is a property of the task, uniform in [0, 1]: the true mean is 0.5."""
    draw = np.random.default_rng(seed)
    rates = draw.uniform(size=n_tasks)
    return (draw.uniform(size=(n_tasks, repeats)) < rates[:, None]).ravel() * 1.0, np.arange(n_tasks).repeat(repeats)


# Interval


def test_interval_rounds_in_json_only():
    interval = stats.Interval(1 / 3, -1e-9, 2 / 3, 4, "bootstrap")
    assert interval.value == 1 / 3
    shown = interval.as_json()
    assert shown == {"value": 0.333333, "low": 0.0, "high": 0.666667, "n_tasks": 4, "method": "bootstrap"}
    assert "-0" not in json.dumps(shown)


# Interquartile mean


def test_iqm_by_hand():
    assert stats.iqm([0, 0, 1, 1, 1, 1, 10, 100]) == 1.0  # two dropped on each side
    assert stats.iqm([1, 2, 30]) == 11.0  # three values: nothing to drop
    assert stats.iqm([5, 1, 2, 4]) == 3.0


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=60))
def test_iqm_agrees_with_scipy(values):
    assert stats.iqm(values) == pytest.approx(reference.trim_mean(values, 0.25), abs=1e-9)


# Bootstrap


def test_bootstrap_pinned():
    """Known answers: they change only if the stream, the mapping or the quantile rule changes."""
    values, tasks = [1, 0, 1, 1, 0, 0, 0.5, 1], ["a", "a", "b", "b", "c", "c", "d", "d"]
    assert stats.bootstrap(values, tasks).as_json() == PINNED["mean"]
    assert stats.bootstrap(values, tasks, "iqm", seed=7).as_json() == PINNED["iqm"]
    assert stats.bootstrap(values, tasks, level=0.5, resamples=99).as_json() == PINNED["level"]


PINNED = {
    "mean": {"value": 0.5625, "low": 0.1875, "high": 0.875, "n_tasks": 4, "method": "bootstrap"},
    "iqm": {"value": 0.625, "low": 0.0, "high": 1.0, "n_tasks": 4, "method": "bootstrap"},
    "level": {"value": 0.5625, "low": 0.4375, "high": 0.6875, "n_tasks": 4, "method": "bootstrap"},
    "paired": {
        "difference": {"value": 0.061957, "low": -0.115329, "high": 0.228082, "n_tasks": 20, "method": "bootstrap"},
        "wins": 11,
        "ties": 1,
        "losses": 8,
        "p_value": 0.490051,
    },
}


def test_stream_is_the_documented_one():
    """numpy's guarantee, checked: the first outputs of PCG64(0), and their mapping to five tasks."""
    words = [int(word) for word in np.random.PCG64(0).random_raw(6)]
    assert words[:2] == [11749869230777074271, 4976686463289251617]
    expected = np.bincount([(word >> 32) * 5 >> 32 for word in words[:5]], minlength=5)
    assert next(stats._draw_counts(5, 1, 0)).tolist() == [expected.tolist()]


@pytest.mark.parametrize("n_tasks", [1, 2, 7, 1000])
def test_draws_are_uniform_and_chunks_do_not_matter(n_tasks, monkeypatch):
    whole = np.concatenate(list(stats._draw_counts(n_tasks, 500, 3)))
    assert (whole.sum(axis=1) == n_tasks).all()
    assert reference.chisquare(whole.sum(axis=0)).pvalue > 1e-4 or n_tasks == 1
    monkeypatch.setattr(stats, "_CHUNK", 13)
    assert (np.concatenate(list(stats._draw_counts(n_tasks, 500, 3))) == whole).all()


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_bootstrap_equals_the_plain_loop(statistic):
    """The vectorised resampling against pooling the episodes of drawn tasks one resample at a time."""
    values, tasks = clustered_data(5, n_tasks=9, repeats=3)
    values = values + np.linspace(0, 0.3, len(values))
    keep = np.arange(len(values)) % 4 != 1  # tasks of different sizes
    values, tasks = values[keep], tasks[keep]
    words = np.random.PCG64(2).random_raw(9 * 200).reshape(200, 9)
    measure = np.mean if statistic == "mean" else lambda pooled: reference.trim_mean(pooled, 0.25)
    draws = [measure(np.concatenate([values[tasks == (int(word) >> 32) * 9 >> 32] for word in row])) for row in words]
    got = stats.bootstrap(values, tasks, statistic, resamples=200, seed=2, unit=False)
    assert (got.low, got.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=1e-12)
    assert got.value == pytest.approx(measure(values))


def test_bootstrap_agrees_with_scipy_on_independent_values():
    values = np.random.default_rng(0).normal(3, 2, 200)
    ours = stats.bootstrap(values, range(200), resamples=20_000, unit=False)
    other = reference.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((other.low, other.high), abs=0.02)


@given(EPISODES, st.randoms(use_true_random=False), st.sampled_from(["mean", "iqm"]))
def test_bootstrap_ignores_the_order_of_episodes(episodes, random, statistic):
    shuffled = random.sample(episodes, len(episodes))
    first, second = (
        stats.bootstrap(*zip(*given, strict=True), statistic, resamples=50) for given in (episodes, shuffled)
    )
    assert first == second or first.as_json() == second.as_json()
    assert (first.low, first.high) == (second.low, second.high)


@given(EPISODES, st.sampled_from(["mean", "iqm"]))
def test_bootstrap_stays_in_the_range_of_the_values(episodes, statistic):
    values, tasks = zip(*episodes, strict=True)
    got = stats.bootstrap(values, tasks, statistic, resamples=50, unit=False)
    assert min(values) - 1e-12 <= got.low <= got.high <= max(values) + 1e-12
    assert got.n_tasks == len(set(tasks))


@given(EPISODES)
def test_a_higher_level_gives_a_wider_interval(episodes):
    values, tasks = zip(*episodes, strict=True)
    narrow, wide = (stats.bootstrap(values, tasks, resamples=60, level=level) for level in (0.5, 0.95))
    assert wide.low <= narrow.low
    assert wide.high >= narrow.high


def test_bootstrap_with_nothing_to_resample():
    assert stats.bootstrap([0.2, 0.6], ["a", "a"]) == stats.Interval(0.4, 0.4, 0.4, 1, "point")
    assert stats.bootstrap([0.5, 0.5], ["a", "b"]) == stats.Interval(0.5, 0.5, 0.5, 2, "point")
    assert stats.bootstrap([1, 1], ["a", "b"], unit=False) == stats.Interval(1, 1, 1, 2, "point")


def test_all_failures_and_all_successes_get_a_wilson_bound_over_tasks():
    failures = stats.bootstrap([0] * 40, np.arange(20).repeat(2))
    z2 = NormalDist().inv_cdf(0.975) ** 2
    assert (failures.value, failures.low, failures.method, failures.n_tasks) == (0, 0, "wilson", 20)
    assert failures.high == pytest.approx(z2 / (20 + z2))  # 20 tasks, not 40 episodes
    successes = stats.bootstrap([True] * 20, range(20))
    assert (successes.low, successes.high) == pytest.approx((20 / (20 + z2), 1))
    middle = stats.bootstrap([1] * 3, range(3), "iqm")
    assert middle.low == pytest.approx(2 * (3 / (3 + z2)) - 0.5)
    assert stats.bootstrap([0] * 20, range(20), "iqm").high == 0  # fewer than a quarter can succeed


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (10, 10), (57, 100), (1, 1), (0, 1)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_scipy(successes, n, level):
    ours = stats.wilson(successes, n, level=level)
    other = reference.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((other.low, other.high), abs=1e-12)
    assert 0 <= ours.low <= ours.value <= ours.high <= 1


def test_coverage_needs_the_clusters():
    """Nominal 95% intervals of 200 simulated runs: clustered ones cover the truth, naive ones far too rarely."""
    covered = naive = 0
    for seed in range(200):
        values, tasks = clustered_data(seed)
        by_task = stats.bootstrap(values, tasks, resamples=300, seed=seed)
        by_episode = stats.bootstrap(values, range(len(values)), resamples=300, seed=seed)
        covered += by_task.low <= 0.5 <= by_task.high
        naive += by_episode.low <= 0.5 <= by_episode.high
    assert 0.89 <= covered / 200 <= 0.985
    assert naive / 200 < 0.85


@pytest.mark.parametrize("statistic", ["mean", "iqm"])
def test_a_thousand_tasks_take_well_under_a_second(statistic):
    values = np.random.default_rng(0).uniform(size=1000)
    began = time.perf_counter()
    stats.bootstrap(values, range(1000), statistic)
    assert time.perf_counter() - began < 2.0  # measured: 0.07 s; the bound allows a busy machine


# pass@k and pass^k


def test_pass_at_k_by_hand():
    assert stats.pass_at_k(4, 1, 2) == pytest.approx(0.5)  # 1 - C(3,2)/C(4,2) = 1 - 3/6
    assert stats.pass_hat_k(4, 3, 2) == pytest.approx(0.5)  # C(3,2)/C(4,2)
    assert stats.pass_at_k(5, 0, 3) == 0
    assert stats.pass_at_k(5, 3, 3) == 1  # only two failures: three attempts cannot all be failures
    assert stats.pass_hat_k(5, 5, 5) == 1
    assert stats.pass_at_k(5000, 1, 2500) == pytest.approx(0.5)  # binomials beyond floats


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_formulas_count_subsets(case):
    n, c, k = case
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert stats.pass_at_k(n, c, k) == pytest.approx(np.mean([any(subset) for subset in subsets]))
    assert stats.pass_hat_k(n, c, k) == pytest.approx(np.mean([all(subset) for subset in subsets]))


def test_pass_at_averages_over_tasks():
    success, tasks = [1, 0, 0, 0, 1, 1], ["a", "a", "a", "a", "b", "b"]
    assert stats.pass_at(success, tasks, 2) == pytest.approx((0.5 + 1) / 2)
    assert stats.pass_hat(success, tasks, 2) == pytest.approx((0 + 1) / 2)
    assert stats.pass_at(success, tasks, 1) == pytest.approx((0.25 + 1) / 2)


@given(OUTCOMES)
def test_pass_at_one_is_the_mean_of_task_means(outcomes):
    success, tasks = zip(*outcomes, strict=True)
    by_task = {task: [s for s, t in outcomes if t == task] for task in set(tasks)}
    expected = np.mean([np.mean(group) for group in by_task.values()])
    assert stats.pass_at(success, tasks, 1) == pytest.approx(expected)
    assert stats.pass_hat(success, tasks, 1) == pytest.approx(expected)


def test_too_few_episodes_are_an_error_that_counts_them():
    with pytest.raises(ConfigError, match=r"k=3 episodes a task, got fewer for 1 of 2 tasks \('b' has 2\)"):
        stats.pass_at([1, 1, 1, 0, 0], list("aaabb"), 3)


# Attempts, normalisation


def test_avg_and_final_by_hand():
    values, attempts, tasks = [0, 0.5, 1, 1, 0], [1, 2, 3, 1, 2], list("aaabb")
    avg, final = stats.avg_and_final(values, attempts, tasks)
    assert (avg, final) == (0.5, 0.5)  # a: 0.5 and 1; b: 0.5 and 0
    assert stats.avg_and_final([1, 0, 1, 1], [1, 1, 2, 2], list("aaaa")) == (0.75, 1)  # two repetitions


@given(st.lists(st.tuples(UNIT, st.integers(0, 3), st.sampled_from("ab")), min_size=1), st.randoms())
def test_avg_and_final_ignore_the_order(rows, random):
    shuffled = random.sample(rows, len(rows))
    assert stats.avg_and_final(*zip(*rows, strict=True)) == stats.avg_and_final(*zip(*shuffled, strict=True))


def test_normalised():
    assert stats.normalised(0.5, 0.2, 0.8) == pytest.approx(0.5)
    assert stats.normalised(0.2, 0.2, 0.8) == 0
    assert stats.normalised(-1, 0, -2) == 0.5  # costs: lower is better
    with pytest.raises(ConfigError, match="expert != random"):
        stats.normalised(0.5, 0.3, 0.3)
    with pytest.raises(ConfigError, match="finite"):
        stats.normalised(math.nan, 0, 1)


# Paired comparison


def test_paired_by_hand():
    got = stats.paired([1, 1, 1, 0], [0, 0, 0, 0], list("abcd"))
    assert (got.wins, got.ties, got.losses) == (3, 1, 0)
    assert got.difference.value == 0.75
    assert got.p_value == 0.25  # three tasks differ: 2 of the 8 sign patterns reach |3|


def test_paired_uses_task_means_and_any_order():
    a, tasks_a = [1, 0, 1], ["x", "x", "y"]
    b, tasks_b = [0, 0, 1, 0], ["y", "x", "y", "x"]
    got = stats.paired(a, b, tasks_a, tasks_b)
    assert (got.difference.value, got.wins, got.ties, got.losses) == (0.5, 2, 0, 0)


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=20))
def test_paired_is_antisymmetric(pairs):
    a, b = zip(*pairs, strict=True)
    tasks = range(len(pairs))
    ab, ba = (stats.paired(*runs, tasks, resamples=40, permutations=100) for runs in ((a, b), (b, a)))
    assert (ab.wins, ab.ties, ab.losses, ab.p_value) == (ba.losses, ba.ties, ba.wins, ba.p_value)
    assert ab.difference.value == -ba.difference.value
    assert (ab.difference.low, ab.difference.high) == pytest.approx((-ba.difference.high, -ba.difference.low))
    assert 0 < ab.p_value <= 1


def test_equal_runs_show_no_difference():
    values = [0.1, 0.2, 0.3] * 10
    got = stats.paired(values, values, range(30))
    assert got.difference == stats.Interval(0, 0, 0, 30, "point")
    assert (got.ties, got.p_value) == (30, 1)


@pytest.mark.parametrize("n_tasks", [8, 12, 13, 30])
def test_permutation_p_value_agrees_with_scipy(n_tasks):
    a, b = np.random.default_rng(n_tasks).normal([[0.4], [0]], 1, (2, n_tasks))
    ours = stats.paired(a, b, range(n_tasks), permutations=20_000)
    other = reference.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=20_000, rng=0
    )
    assert ours.p_value == pytest.approx(other.pvalue, abs=1e-12 if n_tasks <= 12 else 0.015)


def test_p_value_never_reaches_zero():
    got = stats.paired([1] * 50, [0] * 50, range(50), permutations=999)
    assert got.p_value == 1 / 1000


def test_p_value_is_calibrated():
    """Without a difference, p <= 0.1 happens in about one of ten comparisons."""
    draws = np.random.default_rng(4).normal(size=(300, 2, 15))
    small = [stats.paired(*pair, range(15), resamples=1, permutations=199).p_value <= 0.1 for pair in draws]
    assert 0.05 < np.mean(small) < 0.16


def test_paired_json_and_pinned():
    a, b = ([i * 7 % 20 / 20 for i in range(20)], [i * 11 % 20 / 23 for i in range(20)])
    assert stats.paired(a, b, range(20)).as_json() == PINNED["paired"]


def test_different_tasks_are_an_error_that_names_them():
    with pytest.raises(ConfigError, match=r"1 only in a \(such as 'x'\) and 2 only in b \(such as 'p'\)"):
        stats.paired([1, 1], [1, 1, 1], ["x", "y"], ["y", "q", "p"])


# Errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.bootstrap([], []), "non-empty"),
        (lambda: stats.bootstrap([[1, 2]], ["a"]), r"shape \(1, 2\)"),
        (lambda: stats.bootstrap([1, math.nan], "ab"), "position 1"),
        (lambda: stats.bootstrap(["x"], "a"), "expected numbers"),
        (lambda: stats.bootstrap([1, 0], "a"), "expected 2 labels"),
        (lambda: stats.bootstrap([1, 0], ["a", 1]), "mixture"),
        (lambda: stats.bootstrap([1, 0], "ab", "median"), "'median'"),
        (lambda: stats.bootstrap([1, 0], "ab", level=95), "such as 0.95"),
        (lambda: stats.bootstrap([1, 0], "ab", resamples=0), "at least 1"),
        (lambda: stats.bootstrap([1, 0], "ab", seed=-1), "non-negative"),
        (lambda: stats.wilson(3, 2), "successes"),
        (lambda: stats.wilson(0, 0), "n >= 1"),
        (lambda: stats.pass_at_k(3, 4, 1), "c=4"),
        (lambda: stats.pass_at_k(3, 1, 4), "k=4"),
        (lambda: stats.pass_hat_k(3, 1, 0), "k=0"),
        (lambda: stats.pass_at([0.5], "a", 1), "threshold"),
        (lambda: stats.pass_at([1], "a", 0), "k=0"),
        (lambda: stats.avg_and_final([1, 0], [1], "ab"), "attempts"),
        (lambda: stats.paired([1], [1], "a", permutations=0), "at least 1"),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


# The interval of a ratio ----------------------------------------------------------------------------------------------


def test_a_ratio_over_ones_is_the_mean_and_its_interval() -> None:
    values, tasks = np.array([0.0, 1, 1, 0, 1, 0.5]), ["a", "a", "b", "c", "d", "d"]
    assert stats.ratio(values, np.ones(6), tasks) == stats.bootstrap(values, tasks)


def test_the_interval_resamples_tasks() -> None:
    """Of two tasks, one all right and one all wrong, a resample has both, or one twice: the mean is 0, 1/2 or 1."""
    tasks = ["a"] * 5 + ["b"] * 5
    found = stats.ratio(np.array([1.0] * 5 + [0.0] * 5), np.ones(10), tasks)
    assert (found.value, found.low, found.high, found.n_tasks) == (0.5, 0.0, 1.0, 2)


def test_the_interval_covers_the_truth() -> None:
    """With d ~ B(0.5), and k = d but in a fifth of all cases, F1 is 2 * 0.4 / (0.5 + 0.5) = 0.8."""
    covered, bits = 0, np.random.PCG64(5)
    for _ in range(100):
        uniform = (bits.random_raw(120) >> np.uint64(11)).astype(float).reshape(2, 60) / 2**53
        d = (uniform[0] < 0.5).astype(float)
        k = np.where(uniform[1] < 0.2, 1 - d, d)
        interval = stats.ratio(2 * d * k, d + k, range(60), resamples=300)
        covered += interval.low <= 0.8 <= interval.high
    assert 86 <= covered <= 100
