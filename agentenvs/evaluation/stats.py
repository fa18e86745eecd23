"""Statistics of a benchmark run: pure functions on arrays of episode values with a task label each.

Throughout, `values` has shape (N,), one number an episode, and `tasks` is a sequence of N labels (all strings or all
integers). Episodes of one task are not independent, so every interval resamples *tasks* and keeps a task's episodes
together (the cluster bootstrap: Davison and Hinkley 1997, section 3.8). Results do not depend on the order in which
episodes are listed. Chance comes from `numpy.random.PCG64.random_raw`, whose bits are guaranteed stable across NumPy
versions (NEP 19), mapped to indices here; `numpy.random.Generator` carries no such promise and is not used.

A table of one number a method hides how sure we are of it; report the interval beside it (Agarwal et al. 2021,
"Deep Reinforcement Learning at the Edge of the Statistical Precipice").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.core.errors import ConfigError, quote

Floats = NDArray[np.float64]
Statistic = Literal["mean", "iqm"]
EXACT_TASKS = 12  # up to here all 2**12 sign patterns are enumerated
_CHUNK = 1 << 20  # numbers held at once by the resampling loops (8 MB an array)
_TIE = 1e-12  # task means closer than this are equal: they differ by rounding of the sum only


@dataclass(frozen=True)
class Interval:
    """A statistic with its confidence interval, and how many tasks stand behind it.

    `method`: `bootstrap` (percentile bootstrap over tasks), `wilson` (all values 0 or all 1) or `point` (nothing to
    resample: one task, or values that are all equal; then `low == high == value` and no interval should be printed).
    """

    value: float
    low: float
    high: float
    n_tasks: int
    method: Literal["bootstrap", "wilson", "point"]

    def as_json(self) -> dict[str, float | int | str]:
        """A JSON object; numbers are rounded to 6 decimals."""
        numbers = {name: rounded(getattr(self, name)) for name in ("value", "low", "high")}
        return {**numbers, "n_tasks": self.n_tasks, "method": self.method}


class Attempts(NamedTuple):
    """Several attempts at the same tasks: the mean over all of them, and the mean of each task's last one."""

    avg: float
    final: float


@dataclass(frozen=True)
class Paired:
    """Run `a` against run `b` on the same tasks; `difference` and `wins` are from the side of `a`."""

    difference: Interval
    wins: int
    ties: int
    losses: int
    p_value: float

    def as_json(self) -> dict[str, Any]:
        """A JSON object, rounded to 6 decimals."""
        counts = {"wins": self.wins, "ties": self.ties, "losses": self.losses}
        return {"difference": self.difference.as_json(), **counts, "p_value": rounded(self.p_value)}


def rounded(value: float) -> float:
    """`value` to 6 decimals, as every figure is written; never -0.0.

    Libraries of linear algebra add in an order of their own, so the last bits differ among machines. Rounding to 12
    decimals first makes a mean such as 4 / 2560, half-way between two figures, fall to the same side everywhere.
    """
    return round(round(value, 12), 6) + 0.0


def iqm(values: ArrayLike) -> float:
    """Interquartile mean: the mean without the lowest and highest quarter (`floor(N / 4)` values on each side).

    Agarwal et al. 2021, section 4.3; equals `scipy.stats.trim_mean(values, 0.25)`.
    """
    ordered = np.sort(_floats(values, "values"))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def bootstrap(
    values: ArrayLike,
    tasks: Sequence[Hashable],
    statistic: Statistic = "mean",
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    unit: bool = True,
) -> Interval:
    """`statistic` of all episodes with a percentile bootstrap interval clustered by task.

    A resample draws as many tasks as there are, with replacement, and pools all episodes of each; a task with more
    episodes weighs more. The interval spans the (1 - level) / 2 and (1 + level) / 2 quantiles of the resamples. With
    few tasks percentile intervals are too short: nominal 95% ones of uniform scores covered the truth in 83% of 1,500
    simulations at 5 tasks, 91% at 10, 93% at 20 and 94% at 50.

    Where the bootstrap has nothing to say: values that are all 0 or all 1 give the Wilson bound at one trial a task
    (of a success rate p; p <= mean <= 1 when p = P(value = 1), so it holds for any score in [0, 1]; the IQM of
    0/1 data is `clip((p - 1/4) / (1/2), 0, 1)`). Pass `unit=False` for quantities that do not live in [0, 1], such as
    rewards or turns. Otherwise one task, or values that are all equal, give `low == high == value`, method `point`.
    """
    _check_resampling(level, resamples, seed)
    if statistic not in ("mean", "iqm"):
        raise ConfigError(f"statistic: expected 'mean' or 'iqm', got {quote(statistic)}")
    array, index, labels = _clustered(values, tasks)
    value = float(array.mean()) if statistic == "mean" else iqm(array)
    n_tasks, is_constant = len(labels), bool(array[0] == array[-1] and np.all(array == array[0]))
    if unit and is_constant and value in (0.0, 1.0):
        rate = wilson(n_tasks if value else 0, n_tasks, level=level)
        low, high = (rate.low, rate.high) if statistic == "mean" else (_iqm_of(rate.low), _iqm_of(rate.high))
        return Interval(value, low, high, n_tasks, "wilson")
    if n_tasks == 1 or is_constant:
        return Interval(value, value, value, n_tasks, "point")
    resample = _mean_of_resamples if statistic == "mean" else _iqm_of_resamples
    draws = resample(array, index, n_tasks, resamples, seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), n_tasks, "bootstrap")


def ratio(
    numerators: np.ndarray,
    denominators: np.ndarray,
    tasks: Sequence[str],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The ratio of two sums over episodes, (N,) each and not negative, with a percentile bootstrap interval clustered
    by task; 0 / 0 is 0, in a resample too. Precision, recall and F1 (2 |d k| / (|d| + |k|)) are such ratios, and the
    draws are those of `bootstrap`."""
    index, labels = _index(tasks, len(numerators))
    over, under = (np.bincount(index, values, len(labels)) for values in (numerators, denominators))
    value = float(_divide(over.sum(), under.sum()))
    drawn = _draw_counts(len(labels), resamples, seed)
    draws = np.concatenate([_divide(counts @ over, counts @ under) for counts in drawn])
    low, high = (float(bound) for bound in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]))
    return Interval(value, low, high, len(labels), "point" if low == high == value else "bootstrap")


def _divide(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    return np.divide(over, under, out=np.zeros_like(under), where=under > 0)


def wilson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Score interval of a success rate from `n` independent trials (Wilson 1927); of use at 0/n and n/n too.

    `(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)` with `z` the normal quantile of (1 + level) / 2.
    """
    if not 0 <= successes <= n or n < 1:
        raise ConfigError(f"expected 0 <= successes <= n and n >= 1, got successes={successes}, n={n}")
    _check_resampling(level, 1, 0)
    z, p = NormalDist().inv_cdf((1 + level) / 2), successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends are exactly 0 and 1 there; the formula misses them by rounding.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return Interval(p, low, high, n, "wilson")


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that one of `k` attempts succeeds, from `c` successes in `n`: `1 - C(n-c, k) / C(n, k)`.

    Unbiased (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1).
    """
    _check_counts(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Probability that all of `k` attempts succeed, from `c` successes in `n`: `C(c, k) / C(n, k)`.

    pass^k of tau-bench (Yao et al. 2024, section 4): how reliable an agent is, where pass@k says how lucky.
    """
    _check_counts(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def pass_at(success: ArrayLike, tasks: Sequence[Hashable], k: int) -> float:
    """`pass_at_k` averaged over tasks. A task with fewer than `k` episodes is an error, never left out silently."""
    return _over_tasks(pass_at_k, success, tasks, k)


def pass_hat(success: ArrayLike, tasks: Sequence[Hashable], k: int) -> float:
    """`pass_hat_k` averaged over tasks. A task with fewer than `k` episodes is an error."""
    return _over_tasks(pass_hat_k, success, tasks, k)


def avg_and_final(values: ArrayLike, attempts: ArrayLike, tasks: Sequence[Hashable]) -> Attempts:
    """Mean over attempts, and value of the last attempt; both are means of task means, so every task weighs the same.

    `attempts` (N,) are attempt numbers; a task's last attempt is its highest number (tasks may stop early). Where
    several episodes share it (repetitions), their mean counts.
    """
    array, numbers = _floats(values, "values"), _floats(attempts, "attempts")
    index, labels = _index(tasks, len(array))
    if len(numbers) != len(array):
        raise ConfigError(f"attempts: expected {len(array)} numbers, one a value, got {len(numbers)}")
    order = np.lexsort((array, numbers, index))
    array, numbers, index = array[order], numbers[order], index[order]
    last = np.full(len(labels), -np.inf)
    np.maximum.at(last, index, numbers)
    is_last = numbers == last[index]
    return Attempts(
        float(_task_means(array, index, len(labels)).mean()),
        float(_task_means(array[is_last], index[is_last], len(labels)).mean()),
    )


def normalised(value: float, random: float, expert: float) -> float:
    """`(value - random) / (expert - random)`: 0 is the random policy, 1 the expert; not clipped."""
    if not all(map(math.isfinite, (value, random, expert))):
        raise ConfigError(f"expected finite scores, got value={value}, random={random}, expert={expert}")
    if expert == random:
        raise ConfigError(
            f"expected expert != random, got both {expert}: this metric does not tell them apart; drop it"
        )
    return (value - random) / (expert - random)


def paired(
    a: ArrayLike,
    b: ArrayLike,
    tasks: Sequence[Hashable],
    tasks_b: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    permutations: int = 10_000,
    seed: int = 0,
) -> Paired:
    """Is run `a` better than run `b` on the same tasks?

    `tasks` labels the values of `a`, and those of `b` unless `tasks_b` is given; the sets of tasks must be equal, the
    numbers of episodes need not be. Everything is computed on d (T,), the difference of the task means: its mean with
    an interval clustered by task, the tasks won, tied and lost, and a two-sided sign-flip permutation test of
    "a and b are exchangeable within each task" on |sum of d|: exact where at most 12 tasks differ, else by
    `permutations` random sign patterns with p = (1 + hits) / (1 + permutations) (Phipson and Smyth 2010).
    """
    _check_resampling(level, min(resamples, permutations), seed)
    array_a, index_a, labels = _clustered(a, tasks)
    array_b, index_b, labels_b = _clustered(b, tasks if tasks_b is None else tasks_b)
    if labels != labels_b:
        raise ConfigError(_difference_of_tasks(labels, labels_b))
    d = _task_means(array_a, index_a, len(labels)) - _task_means(array_b, index_b, len(labels))
    d[np.abs(d) < _TIE] = 0.0
    difference = bootstrap(d, range(len(d)), level=level, resamples=resamples, seed=seed, unit=False)
    wins, losses = int(np.sum(d > 0)), int(np.sum(d < 0))
    return Paired(difference, wins, len(d) - wins - losses, losses, _sign_flip(d, permutations, seed))


def _sign_flip(d: Floats, permutations: int, seed: int) -> float:
    """Two-sided p-value of |sum of d| under random signs; tasks that tie cannot change the sum and are left out."""
    d = d[d != 0]
    target = abs(d.sum()) - 1e-9 * np.abs(d).sum()  # equal sums may differ by rounding: count them as reached
    if len(d) <= EXACT_TASKS:
        patterns = np.arange(1 << len(d))[:, None] >> np.arange(len(d)) & 1
        return float(np.mean(np.abs((1 - 2 * patterns) @ d) >= target))
    bits = np.random.PCG64([seed, 1])  # a second stream: not the draws of the bootstrap
    hits = 0
    for rows in _chunks(permutations, len(d)):
        signs = 1.0 - 2.0 * (bits.random_raw(rows * len(d)) >> np.uint64(63)).reshape(rows, len(d))
        hits += int(np.sum(np.abs(signs @ d) >= target))
    return (1 + hits) / (1 + permutations)


def _mean_of_resamples(array: Floats, index: NDArray[np.intp], n_tasks: int, resamples: int, seed: int) -> Floats:
    """(resamples,) means of the pooled episodes of resampled tasks."""
    sums, sizes = np.bincount(index, array, n_tasks), np.bincount(index, minlength=n_tasks)
    return np.concatenate([(drawn @ sums) / (drawn @ sizes) for drawn in _draw_counts(n_tasks, resamples, seed)])


def _iqm_of_resamples(array: Floats, index: NDArray[np.intp], n_tasks: int, resamples: int, seed: int) -> Floats:
    """(resamples,) interquartile means; a value drawn m times takes m places in the sorted resample."""
    order = np.argsort(array, kind="stable")
    ordered, owner, results = array[order], index[order], []
    for drawn in _draw_counts(n_tasks, resamples, seed, width=len(array)):
        ends = np.cumsum(drawn[:, owner], axis=1)
        total = ends[:, -1:]
        cut = total // 4
        kept = np.diff(np.clip(ends, cut, total - cut), axis=1, prepend=cut)
        results.append((kept @ ordered) / (total - 2 * cut)[:, 0])
    return np.concatenate(results)


def _draw_counts(n_tasks: int, resamples: int, seed: int, width: int = 0) -> Iterator[NDArray[np.int64]]:
    """(rows, n_tasks) chunks of how often each resample drew each task; `width` is the widest array the user makes.

    Draw i of the whole run is `(word_i >> 32) * n_tasks >> 32`, word_i the i-th output of PCG64(seed). The bias of a
    task is below n_tasks / 2**32, far under the Monte Carlo error, and no draw is rejected: draws stay aligned.
    """
    bits = np.random.PCG64(seed)
    for rows in _chunks(resamples, max(n_tasks, width)):
        high = bits.random_raw(rows * n_tasks) >> np.uint64(32)
        drawn = (high * np.uint64(n_tasks) >> np.uint64(32)).astype(np.int64).reshape(rows, n_tasks)
        flat = drawn + np.arange(rows)[:, None] * n_tasks
        yield np.bincount(flat.ravel(), minlength=rows * n_tasks).reshape(rows, n_tasks)


def _chunks(rows: int, width: int) -> Iterator[int]:
    """Split `rows` of `width` numbers into pieces of bounded size; the split does not change any draw."""
    step = max(1, _CHUNK // width)
    for start in range(0, rows, step):
        yield min(step, rows - start)


def _over_tasks(formula: Callable[[int, int, int], float], success: ArrayLike, tasks: Sequence[Any], k: int) -> float:
    array, index, labels = _clustered(success, tasks)
    if not np.all((array == 0) | (array == 1)):
        raise ConfigError("success: expected 0 or 1 (or booleans) an episode; a score needs a threshold first")
    episodes, wins = np.bincount(index), np.bincount(index, array)
    if k > (fewest := int(episodes.min())):
        short, named = int(np.sum(episodes < k)), quote(labels[int(episodes.argmin())])
        raise ConfigError(
            f"expected at least k={k} episodes a task, got fewer for {short} of {len(labels)} tasks "
            f"({named} has {fewest}); run more repetitions or lower k"
        )
    return float(np.mean([formula(int(n), int(c), k) for n, c in zip(episodes, wins, strict=True)]))


def _task_means(array: Floats, index: NDArray[np.intp], n_tasks: int) -> Floats:
    return np.bincount(index, array, n_tasks) / np.bincount(index, minlength=n_tasks)


def _iqm_of(rate: float) -> float:
    """The interquartile mean of infinitely many 0/1 values of which the fraction `rate` is 1."""
    return min(max(2 * rate - 0.5, 0.0), 1.0)


def _clustered(values: ArrayLike, tasks: Sequence[Any]) -> tuple[Floats, NDArray[np.intp], list[Any]]:
    """Values sorted by task and size (so that sums do not depend on the order given), their task index, the labels."""
    array = _floats(values, "values")
    index, labels = _index(tasks, len(array))
    order = np.lexsort((array, index))
    return array[order], index[order], labels


def _index(tasks: Sequence[Any], count: int) -> tuple[NDArray[np.intp], list[Any]]:
    listed = list(tasks)
    if len(listed) != count:
        raise ConfigError(f"tasks: expected {count} labels, one a value, got {len(listed)}")
    try:
        labels = sorted(set(listed))
    except TypeError as error:
        raise ConfigError(f"tasks: expected all strings or all integers, got a mixture ({error})") from None
    place = {label: i for i, label in enumerate(labels)}
    return np.array([place[label] for label in listed], dtype=np.intp), labels


def _floats(values: ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: expected numbers, got something else ({error})") from None
    if array.ndim != 1 or not array.size:
        raise ConfigError(f"{name}: expected a non-empty list of numbers, got shape {array.shape}")
    if not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ConfigError(f"{name}: expected finite numbers, got {array[at]} at position {at}; void episodes have none")
    return array


def _check_resampling(level: float, resamples: int, seed: int) -> None:
    if not 0 < level < 1:
        raise ConfigError(f"level: expected a number between 0 and 1 (such as 0.95), got {level}")
    if resamples < 1:
        raise ConfigError(f"resamples, permutations: expected at least 1, got {resamples}")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed: expected a non-negative integer, got {quote(seed)}")


def _check_counts(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ConfigError(f"expected 0 <= c <= n successes, got c={c}, n={n}")
    if not 1 <= k <= n:
        raise ConfigError(f"expected 1 <= k <= n={n} attempts, got k={k}; run more repetitions or lower k")


def _difference_of_tasks(labels: list[Any], labels_b: list[Any]) -> str:
    only_a, only_b = set(labels) - set(labels_b), set(labels_b) - set(labels)
    parts = [
        f"{len(only)} only in {name} (such as {quote(min(only, key=str))})"
        for name, only in (("a", only_a), ("b", only_b))
        if only
    ]
    return f"expected two runs over the same tasks, got {' and '.join(parts)}; restrict both to the tasks they share"
