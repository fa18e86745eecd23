"""A progress bar on standard error, where that is a terminal and the work is long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic

_AFTER_S = 1.0  # seconds; shorter work shows nothing
_EVERY_S = 0.1


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with the amount done so far, at most `total`; a call costs well under 1 µs."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task, due = bar.add_task(title, total=total), monotonic() + _AFTER_S

    def advance(done: int) -> None:
        nonlocal due
        now = monotonic()
        if now >= due:
            due = now + _EVERY_S
            bar.start()
            bar.update(task, completed=done)

    try:
        yield advance
    finally:
        bar.stop()
