"""How well an agent decides whether to search: its decisions against what the same model can answer without searching.

For a task x, k(x) = 1 where the model knows the answer, that is, solves the task closed-book, without a search tool.
For an episode, d = 1 where the agent says or shows that it knows: it answers `decide[yes]`, or it searches not once.
"Knows" is the positive class (F1_aware of AdaSearch, arXiv 2512.16883):

    precision = |d = 1 and k = 1| / |d = 1|      recall = |d = 1 and k = 1| / |k = 1|      F1 = 2 P R / (P + R)

each 0 where it would be 0 / 0. So an agent that always searches has 0, one that never does the recall 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agentenvs.core.errors import ConfigError, quote
from agentenvs.evaluation import stats
from agentenvs.rollout.trajectory import Step, Trajectory, read

#: The cells of the table of decisions (what the agent did) and knowledge (what the model can do).
CELLS = {
    "answered_known": (True, True),
    "answered_unknown": (True, False),
    "searched_known": (False, True),
    "searched_unknown": (False, False),
}
#: The figures of all episodes, in the order in which they are shown.
_SHARES = ("f1", "precision", "recall", "search_rate", "unnecessary_search", "missing_search")
FIGURES = (*_SHARES, "searches", "score")


class Case(NamedTuple):
    """What counts of an episode. `answers`: the agent decided to answer from its own knowledge (d = 1)."""

    task: str
    answers: bool
    searches: int
    score: float


def closed_book(trajectories: Iterable[Trajectory], threshold: float = 0.5) -> dict[str, bool]:
    """Whether the model knows each task, by task id: the share of its closed-book attempts that succeed reaches
    `threshold`, in (0, 1]. The suite says how many attempts there are (AdaSearch: 8)."""
    if not 0 < threshold <= 1:
        raise ConfigError(f"threshold: expected a share in (0, 1], got {quote(threshold)}")
    attempts: dict[str, list[bool]] = {}
    for trajectory in trajectories:
        _check_played(trajectory)
        attempts.setdefault(trajectory.job.task, []).append(trajectory.success)
    return {task: sum(won) / len(won) >= threshold for task, won in attempts.items()}


def answers(trajectory: Trajectory) -> bool:
    """The decision of an episode, d: what its first `decide[yes]` or `decide[no]` says; without one, that no search
    ran."""
    for native in (native for step in trajectory.steps for native in _natives(step)):
        if native.strip() in ("decide[yes]", "decide[no]"):
            return native.strip() == "decide[yes]"
    return searches(trajectory) == 0


def searches(trajectory: Trajectory) -> int:
    """How many searches ran: what the environment counted, where the run kept the info key `searches`; else the
    `search[...]` actions in steps that were valid."""
    counted = [step.info["searches"] for step in trajectory.steps if "searches" in step.info]
    if counted:
        return counted[-1]
    valid = (step for step in trajectory.steps if step.info.get("is_valid", True))
    return sum(native.strip().startswith("search[") for step in valid for native in _natives(step))


def decision_metrics(
    trajectories: Iterable[Trajectory], knows: Mapping[str, bool], *, allow_unlabelled: bool = False
) -> dict[str, Any]:
    """The figures of some episodes, given what the model `knows`, by task id.

    - `n`, `n_tasks`: episodes and tasks that count; `n_unlabelled`: tasks that `knows` lacks. They are an error unless
      `allow_unlabelled`, which leaves their episodes out.
    - `f1`, `precision`, `recall`; `unnecessary_search`: the share of episodes with d = 0 and k = 1; `missing_search`:
      with d = 1 and k = 0; `search_rate`: in which a search ran; `score`; `searches`: their mean number.
    - `cells`: for each of `CELLS` its number of episodes `n` and, where there are some, their `score`.

    Figures are `stats.Interval`s as JSON: 95%, by a bootstrap over tasks.
    """
    return _metrics([_case(trajectory) for trajectory in trajectories], knows, allow_unlabelled)


def decisions(
    run: str | Path, closed_book_run: str | Path, threshold: float = 0.5, *, allow_unlabelled: bool = False
) -> dict[str, dict[str, Any]]:
    """`decision_metrics` of each entry of a result folder. What the model knows comes from another result folder of
    the same model, that of a closed-book suite, joined by task id; all of its attempts at a task count together.

    Entries of which no task has a label are left out: their questions are not those of the closed-book suite. Raises
    `ConfigError` for unfinished runs, void episodes, where no entry is left, and, unless `allow_unlabelled`, for other
    tasks without a label.
    """
    knows = closed_book(_episodes(Path(closed_book_run)), threshold)
    cases: dict[str, list[Case]] = {}
    for trajectory in _episodes(Path(run)):
        cases.setdefault(trajectory.job.group, []).append(_case(trajectory))
    asked = {entry: found for entry, found in cases.items() if any(case.task in knows for case in found)}
    if not asked:
        raise ConfigError(f"{run} and {closed_book_run} have no task in common; play the run's closed-book suite")
    return {entry: _metrics(found, knows, allow_unlabelled) for entry, found in asked.items()}


def print_decisions(run: str, closed_book_run: str, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what `decisions` found as a table. The names are those of the policies of both runs."""
    title = escape(f"Decisions of {run}; known is what {closed_book_run} answers closed-book")
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("environment", "figure"):
        table.add_column(name, no_wrap=True)
    for name in ("value", "episodes"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry, figures in found.items():
        for name in FIGURES:
            table.add_row(entry, name.replace("_", " "), _interval(figures[name]), str(figures["n"]))
        for cell, inside in figures["cells"].items():
            value = _interval(inside["score"]) if inside["n"] else ""
            table.add_row(entry, f"score, {cell.replace('_', ', ')}", value, str(inside["n"]))
        table.add_section()
    console = Console()
    console.print(table)
    console.print("95% intervals, clustered by task; searches an episode, all else shares.", highlight=False)


def _natives(step: Step) -> Sequence[str]:
    return step.natives or [step.action]


def _case(trajectory: Trajectory) -> Case:
    _check_played(trajectory)
    return Case(trajectory.job.task, answers(trajectory), searches(trajectory), trajectory.score)


def _check_played(trajectory: Trajectory) -> None:
    if trajectory.end_reason == "void":
        raise ConfigError(f"the episode {trajectory.job.task} is void: it tells nothing; run agentenvs eval again")


def _episodes(folder: Path) -> Iterable[Trajectory]:
    file = folder / "episodes.jsonl"
    if not file.is_file():
        raise ConfigError(f"{folder} holds no finished run; finish it with agentenvs eval")
    return read(file)


def _metrics(cases: Sequence[Case], knows: Mapping[str, bool], allow_unlabelled: bool) -> dict[str, Any]:
    lacking = sorted({case.task for case in cases} - set(knows))
    if lacking and not allow_unlabelled:
        raise ConfigError(
            f"no closed-book label for {len(lacking)} tasks, such as {quote(lacking[0])}; play the closed-book suite "
            "over the same tasks, or leave these out with allow_unlabelled"
        )
    cases = [case for case in cases if case.task in knows]
    if not cases:
        raise ConfigError("decisions: expected at least one episode of a task with a closed-book label, got none")
    tasks = [case.task for case in cases]
    d, k = (np.array(flags, float) for flags in ([c.answers for c in cases], [knows[task] for task in tasks]))
    score, ran = [case.score for case in cases], [case.searches for case in cases]
    figures = {
        "f1": stats.ratio(2 * d * k, d + k, tasks),
        "precision": stats.ratio(d * k, d, tasks),
        "recall": stats.ratio(d * k, k, tasks),
        "search_rate": stats.bootstrap([float(n > 0) for n in ran], tasks),
        "unnecessary_search": stats.bootstrap((1 - d) * k, tasks),
        "missing_search": stats.bootstrap(d * (1 - k), tasks),
        "searches": stats.bootstrap(ran, tasks, unit=False),
        "score": stats.bootstrap(score, tasks),
    }
    return {
        "n": len(cases),
        "n_tasks": len(set(tasks)),
        "n_unlabelled": len(lacking),
        **{name: figure.as_json() for name, figure in figures.items()},
        "cells": {cell: _in_cell(cases, knows, *where) for cell, where in CELLS.items()},
    }


def _in_cell(cases: Sequence[Case], knows: Mapping[str, bool], answered: bool, known: bool) -> dict[str, Any]:
    inside = [case for case in cases if (case.answers, knows[case.task]) == (answered, known)]
    if not inside:
        return {"n": 0}
    score = stats.bootstrap([case.score for case in inside], [case.task for case in inside])
    return {"n": len(inside), "score": score.as_json()}


def _interval(figure: Mapping[str, Any]) -> str:
    value, low, high = (f"{figure[name]:.3f}" for name in ("value", "low", "high"))
    return value if low == high else f"{value} \\[{low}, {high}]"
