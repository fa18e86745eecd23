"""The libraries of local models: whether they are there."""

from __future__ import annotations

from importlib.util import find_spec

from agentenvs.core.errors import MissingExtra

EXTRA = "local"


def require(*packages: str) -> None:
    """Raise `MissingExtra` for the first package that is not installed; imports none."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(package, EXTRA)
