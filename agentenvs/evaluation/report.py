"""A summary as a table in the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def print_summary(summary: dict[str, Any], console: Console | None = None) -> None:
    """Print the figures of a run; intervals are 95%, clustered by task."""
    console = console or Console()
    title = f"{summary['suite']} v{summary['suite_version']} · {summary['policy']} · seed {summary['seed']}"
    if summary["episodes"]:
        title += f" · first {summary['episodes']} tasks of each entry"
    title = "".join(char if char.isprintable() else "�" for char in title)  # the name of a stranger's policy
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    entries = summary["entries"].items()
    columns = {name: cells for name, cells in _columns([entry for _, entry in entries]).items() if any(cells)}
    table.add_column("environment", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for at, (name, _) in enumerate(entries):
        table.add_row(name, *(cells[at] for cells in columns.values()))
    if len(entries) > 1 and "score" in summary["overall"]:
        overall = {"score": _interval(summary["overall"]["score"], 3)}
        table.add_section()
        table.add_row("overall", *(overall.get(name, "") for name in columns))
    console.print(table)
    console.print("Means over episodes; scores with 95% intervals, clustered by task.", highlight=False)


def _columns(entries: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Cells by column; a column without any is not shown. Success has its own where it is not the score."""
    success = [f"{entry['success']['value']:.3f}" if "success" in entry else "" for entry in entries]
    if all(entry.get("success") == entry.get("score") for entry in entries):
        success = []
    return {
        "n": [str(entry["n_episodes"]) for entry in entries],
        "void": [str(entry["n_void"] or "") for entry in entries],
        "score": [_interval(entry.get("score"), 3) for entry in entries],
        "success": success or [""] * len(entries),
        "return": [_plain(entry["return"]["value"], 2) if "return" in entry else "" for entry in entries],
        "turns": [f"{entry['turns']['value']:.1f}" if "turns" in entry else "" for entry in entries],
        "norm.": [_plain(entry["normalised"]["value"], 3) if "normalised" in entry else "" for entry in entries],
    }


def _interval(figure: dict[str, Any] | None, digits: int) -> str:
    if figure is None:
        return ""
    value, low, high = (f"{figure[name]:.{digits}f}" for name in ("value", "low", "high"))
    return value if low == high else f"{value} \\[{low}, {high}]"


def _plain(value: float, digits: int) -> str:
    """The number without a sign before nothing but zeros."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not float(text) else text
