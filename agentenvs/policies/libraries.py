"""The libraries of local models: whether they are there, and without their progress bars."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec

from agentenvs.core.errors import MissingExtra

EXTRA = "local"


def require(*packages: str) -> None:
    """Raise `MissingExtra` for the first package that is not installed; imports none."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, EXTRA)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars of transformers, which would mix with ours."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
