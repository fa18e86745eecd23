"""From trajectories to `summary.json`: pure, and the same for a run and for its verification."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from agentenvs._version import __version__
from agentenvs.core.errors import ConfigError, quote
from agentenvs.evaluation import stats
from agentenvs.evaluation.suite import Entry, Suite
from agentenvs.rollout.trajectory import Trajectory

SCHEMA_VERSION = 1


def summarise(suite: Suite, settings: dict[str, Any], trajectories: Iterable[Trajectory]) -> dict[str, Any]:
    """The summary of a run. Void episodes are counted and left out of every mean."""
    by_entry: dict[str, list[Trajectory]] = {entry.name: [] for entry in suite.entries}
    for trajectory in trajectories:
        if trajectory.job.group not in by_entry:
            raise ConfigError(f"an episode of {quote(trajectory.job.group)} is in no entry of the suite {suite.name}")
        by_entry[trajectory.job.group].append(_slim(trajectory))
    entries = {entry.name: summarise_entry(entry, by_entry[entry.name]) for entry in suite.entries}
    return {
        "schema": SCHEMA_VERSION,
        "package": __version__,
        **settings,
        "entries": entries,
        "overall": _overall(list(entries.values())),
    }


def summarise_entry(entry: Entry, trajectories: list[Trajectory]) -> dict[str, Any]:
    """The figures of one entry: each mean with a 95% interval that is clustered by task."""
    played = [one for one in trajectories if one.end_reason != "void"]
    counts = {
        "id": entry.id,
        "n_episodes": len(trajectories),
        "n_void": len(trajectories) - len(played),
        "n_tasks": len({one.job.task for one in played}),
        "end_reasons": _counts(one.end_reason for one in trajectories),
        "usage": _total(one.usage for one in played),
    }
    if not played:
        return counts
    tasks = [one.job.task for one in played]
    scores = [one.score for one in played]
    success = [float(one.success) for one in played]
    score = stats.bootstrap(scores, tasks)
    figures = {
        "score": score.as_json(),
        "score_iqm": stats.bootstrap(scores, tasks, "iqm").as_json(),
        "success": stats.bootstrap(success, tasks).as_json(),
        "return": stats.bootstrap([one.total_reward for one in played], tasks, unit=False).as_json(),
        "turns": stats.bootstrap([_turns(one) for one in played], tasks, unit=False).as_json(),
    }
    if entry.attempts > 1 and not counts["n_void"]:
        figures["pass_at_k"] = {str(k): stats.rounded(stats.pass_at(success, tasks, k)) for k in (1, entry.attempts)}
        attempts = stats.avg_and_final(scores, [one.job.repetition for one in played], tasks)
        figures["attempts"] = {"avg": stats.rounded(attempts.avg), "final": stats.rounded(attempts.final)}
        figures["pass_hat_k"] = {str(k): stats.rounded(stats.pass_hat(success, tasks, k)) for k in (1, entry.attempts)}
    if {"random", "expert"} <= set(entry.reference):
        bounds = [_normalised(entry, value) for value in (score.value, score.low, score.high)]
        figures["normalised"] = dict(zip(("value", "low", "high"), bounds, strict=True))
    return {**counts, **figures}


def _normalised(entry: Entry, value: float) -> float:
    return stats.rounded(stats.normalised(value, entry.reference["random"], entry.reference["expert"]))


def _overall(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The unweighted mean over entries; half-widths of independent entries add in quadrature."""
    scores = [entry["score"] for entry in entries if "score" in entry]
    if not scores:
        return {"n_entries": 0}
    mean = math.fsum(score["value"] for score in scores) / len(scores)  # `sum` differs among Python versions
    below = math.sqrt(math.fsum((score["value"] - score["low"]) ** 2 for score in scores)) / len(scores)
    above = math.sqrt(math.fsum((score["high"] - score["value"]) ** 2 for score in scores)) / len(scores)
    bounds = {"value": mean, "low": max(0.0, mean - below), "high": min(1.0, mean + above)}
    return {"n_entries": len(scores), "score": {name: stats.rounded(value) for name, value in bounds.items()}}


def _slim(trajectory: Trajectory) -> Trajectory:
    """The trajectory without what no figure needs: a suite may have very many episodes."""
    trajectory.usage["turns"] = len(trajectory.decisions)
    trajectory.steps, trajectory.decisions = [], []
    return trajectory


def _turns(trajectory: Trajectory) -> float:
    return float(trajectory.usage["turns"])


def _counts(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def _total(usages: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + value
    return dict(sorted(total.items()))
