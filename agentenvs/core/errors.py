"""Every error a user can meet: what was expected, what was found, what to do.

A model's bad action is not an error: the environment answers it with a sentence (see `TextEnv.step`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class AgentEnvsError(Exception):
    """Base of all errors of this package; the command line prints its text without a traceback."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[AgentEnvsError], args: tuple[Any, ...], state: dict[str, Any]) -> AgentEnvsError:
    """A pickled error, whatever arguments its class takes."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ConfigError(AgentEnvsError, ValueError):
    """A keyword argument, suite, card or command-line value that cannot be used."""


class UnknownName(ConfigError):
    """A name that is not registered: an id, preset, suite, codec, policy, task or option."""


class DataError(AgentEnvsError, ValueError):
    """A data file that does not hold what its format promises."""

    def __init__(self, source: str, where: str, *, expected: str, found: str, fix: str = "") -> None:
        self.source, self.where = source, where
        place = f"{source}, {where}" if where else source
        super().__init__(f"{place}: expected {expected}, found {found}" + (f"; {fix}" if fix else ""))


class SnapshotError(AgentEnvsError, ValueError):
    """A snapshot that does not belong to this environment, or whose content is malformed."""


class EpisodeOver(AgentEnvsError, RuntimeError):
    """A step on an environment that is not playing; its state is unchanged."""


class InfrastructureError(AgentEnvsError, RuntimeError):
    """A failure of ours (a tool crashed, a server is down): the episode is void, never a reward of 0."""


class MissingExtra(AgentEnvsError, ImportError):
    """An optional dependency that is not installed; the text holds the exact install line."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install 'agentenvs[{extra}]'")


class VerificationError(AgentEnvsError):
    """A submission that is refused. `reason` is one of the names listed in `leaderboard.verify.REASONS`."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}")


def unknown(kind: str, name: object, known: Iterable[str], *, see: str = "") -> UnknownName:
    """The error for a failed look-up: names the nearest known name and where all of them are listed."""
    import difflib

    names = sorted(known)
    text = quote(name)
    nearest = difflib.get_close_matches(name[:200] if isinstance(name, str) else text, names, n=1, cutoff=0.5)
    if nearest:
        hint = f"did you mean {nearest[0]!r}?"
    elif names:
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        hint = f"known: {shown}"
    else:
        hint = f"no {kind} is known here"
    return UnknownName(f"unknown {kind} {text}; {hint}" + (f" ({see} lists all)" if see else ""))


def quote(value: object, limit: int = 60) -> str:
    """`value` as a short printable literal, so that hostile text cannot flood or garble a message."""
    try:
        text = str(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list nested thousands deep
        return f"a {type(value).__name__} too large to print"
    return repr(value) if len(text) <= limit else f"{text[:limit]!r}... ({len(text)} characters)"
