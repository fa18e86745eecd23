"""Comparing two runs over the same tasks, task by task: a far sharper question than whether two intervals overlap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agentenvs.core.errors import ConfigError
from agentenvs.evaluation import stats
from agentenvs.rollout.trajectory import read


def compare(a: str | Path, b: str | Path) -> dict[str, dict[str, Any]]:
    """The paired comparison of the scores in two result folders, by entry: mean difference a - b with its interval,
    tasks won, tied and lost by `a`, and the p-value of a sign-flip permutation test.

    Raises `ConfigError` for unfinished runs and for entries whose tasks are not the same. Void episodes must not occur.
    """
    scores = [_scores(Path(folder)) for folder in (a, b)]
    shared = [entry for entry in scores[0] if entry in scores[1]]
    if not shared:
        raise ConfigError(f"{a} and {b} share no entry: {sorted(scores[0])} and {sorted(scores[1])}")
    found = {}
    for entry in shared:
        (values_a, tasks_a), (values_b, tasks_b) = (run[entry] for run in scores)
        found[entry] = stats.paired(values_a, values_b, tasks_a, tasks_b).as_json()
    return found


def _scores(folder: Path) -> dict[str, tuple[list[float], list[str]]]:
    """Scores and task ids of a finished run, by entry."""
    file = folder / "episodes.jsonl"
    if not file.is_file():
        raise ConfigError(f"{folder} holds no finished run; finish it with agentenvs eval")
    found: dict[str, tuple[list[float], list[str]]] = {}
    for trajectory in read(file):
        if trajectory.end_reason == "void":
            raise ConfigError(f"{folder}: the episode {trajectory.job.task} is void; run agentenvs eval again")
        values, tasks = found.setdefault(trajectory.job.group, ([], []))
        values.append(trajectory.score)
        tasks.append(trajectory.job.task)
    return found


def name_of_run(folder: str | Path) -> str:
    """The policy that a result folder records, else the folder's name."""
    try:
        return str(json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))["policy"])
    except (OSError, ValueError, KeyError, TypeError):
        return Path(folder).name


def print_comparison(a: str, b: str, compared: dict[str, dict[str, Any]]) -> None:
    """Print a comparison as a table."""
    table = Table(title=escape(f"{a} minus {b}"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("environment", no_wrap=True)
    for name in ("difference", "won", "tied", "lost", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry, found in compared.items():
        value, low, high = (f"{found['difference'][name]:+.3f}" for name in ("value", "low", "high"))
        counts = (str(found[name]) for name in ("wins", "ties", "losses"))
        table.add_row(entry, f"{value} \\[{low}, {high}]", *counts, f"{found['p_value']:.4f}")
    console = Console()
    console.print(table)
    console.print("Paired by task; 95% intervals; p by sign-flip permutation, two-sided.", highlight=False)
