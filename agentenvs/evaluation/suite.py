"""A suite is data: which tasks of which environments are played, under which rules, and what counts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.core.snapshot import finite, natural
from agentenvs.rollout.job import Job, attributes_of, make_jobs

METRICS = ("score",)
FEEDBACK = ("none",)


@dataclass(frozen=True)
class Entry:
    """One environment of a suite.

    - `wrappers`: "native" (native actions), "protocol" (the published stack of the preset) or a list of
      `{name, kwargs}`.
    - `tasks`: how many tasks of the split are played, in its natural order; 0 for all of them.
    - `attempts`: episodes a task; each has its own course of chance. `feedback`: what passes between them.
    - `restores`: how often a program may go back in an episode. `completion_tokens`: the budget of an episode, 0 for
      none.
    - `reference`: measured scores of `random` and `expert`, where the normalised score is 0 and 1, and of `constant`,
      the best policy that always does the same (the constant answer of a question's kind).
    """

    name: str
    id: str
    split: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: str | Sequence[Mapping[str, Any]] = "native"
    tasks: int = 0
    attempts: int = 1
    feedback: str = "none"
    restores: int = 0
    completion_tokens: int = 0
    metric: str = "score"
    reference: Mapping[str, float] = field(default_factory=dict)

    def jobs(self, seed: int, episodes: int | None = None) -> list[Job]:
        """The jobs of the entry, at most `episodes` tasks of it."""
        source, published = attributes_of(self.id, self.kwargs, "source", "protocol")
        n = self.tasks or None
        if episodes is not None:
            n = min(episodes, len(source.ids(self.split)) if n is None else n)
        tasks = source.ids(self.split, n)
        named = {"native": (), "protocol": published}
        wrappers = named[self.wrappers] if isinstance(self.wrappers, str) else self.wrappers
        played = {"seed": seed, "repetitions": self.attempts, "kwargs": self.kwargs, "wrappers": tuple(wrappers)}
        return list(make_jobs(self.id, tasks, group=self.name, **played))


@dataclass(frozen=True)
class Suite:
    """A named, versioned list of entries. What is scored changes only with the version."""

    name: str
    version: int
    description: str
    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise unknown("suite entry", name, [entry.name for entry in self.entries])


def suite_names() -> list[str]:
    """The suites that come with the package."""
    folder = resources.files("agentenvs.evaluation") / "suites"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def load_suite(name: str | Path) -> Suite:
    """A suite by its name, or from the path of a TOML file."""
    text = str(name)
    if text.endswith(".toml"):
        try:
            return parse_suite(Path(text).expanduser().read_text(encoding="utf-8"), text)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"suite {text}: cannot be read: {error}") from None
    if text not in suite_names():
        raise unknown("suite", text, suite_names(), see="agentenvs list --suites")
    file = resources.files("agentenvs.evaluation") / "suites" / f"{text}.toml"
    return parse_suite(file.read_text(encoding="utf-8"), text)


def parse_suite(text: str, source: str) -> Suite:
    """A suite from TOML; raises `ConfigError` that names the key, what was expected and what was found."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"suite {source}: {error}") from None
    _check_keys(data, ("name", "version", "description", "entry"), f"suite {source}")
    entries = data.get("entry")
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"suite {source}: expected at least one [[entry]], got {quote(entries)}")
    for name, test, what in (
        ("name", lambda v: isinstance(v, str) and v, "text"),
        ("version", lambda v: natural(v) and v > 0, "a whole number >= 1"),
        ("description", lambda v: isinstance(v, str), "text"),
    ):
        if not test(data.get(name)):
            raise ConfigError(f"suite {source}: {name}: expected {what}, got {quote(data.get(name))}")
    made = tuple(_entry(entry, f"suite {source}, entry {i + 1}") for i, entry in enumerate(entries))
    names = [entry.name for entry in made]
    if len(set(names)) < len(names):
        raise ConfigError(f"suite {source}: two entries have the same name: {sorted(names)}")
    return Suite(data["name"], data["version"], data["description"], made)


def _moderate(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e9 and finite(value)


_SHAPE = {
    "name": (
        lambda v: isinstance(v, str) and v.replace("-", "").replace(".", "").isalnum(),
        "letters, digits, - and .",
    ),
    "id": (lambda v: isinstance(v, str), "an environment id"),
    "split": (lambda v: isinstance(v, str), "the name of a split"),
    "kwargs": (lambda v: isinstance(v, dict), "a table"),
    "wrappers": (
        lambda v: v in ("native", "protocol") or (isinstance(v, list) and all(isinstance(w, dict) for w in v)),
        '"native", "protocol" or a list of tables',
    ),
    "tasks": (natural, "a whole number >= 0"),
    "attempts": (lambda v: natural(v) and v > 0, "a whole number >= 1"),
    "feedback": (lambda v: v in FEEDBACK, f"one of {', '.join(FEEDBACK)}"),
    "restores": (natural, "a whole number >= 0"),
    "completion_tokens": (natural, "a whole number >= 0"),
    "metric": (lambda v: v in METRICS, f"one of {', '.join(METRICS)}"),
    "reference": (
        lambda v: (
            isinstance(v, dict)
            and set(v) <= {"random", "expert", "constant"}
            and all(map(_moderate, v.values()))
            and not ({"random", "expert"} <= set(v) and v["random"] == v["expert"])
        ),
        "a table of numbers, any of random, expert and constant; random and expert differ",
    ),
}


def _entry(data: Any, where: str) -> Entry:
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: expected a table, got {quote(data)}")
    _check_keys(data, [f.name for f in fields(Entry)], where)
    for name in ("name", "id", "split"):
        if name not in data:
            raise ConfigError(f"{where}: the key {name!r} is missing")
    for name, value in data.items():
        test, what = _SHAPE[name]
        if not test(value):
            raise ConfigError(f"{where}: {name}: expected {what}, got {quote(value)}")
    return Entry(**data)


def _check_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in data:
        if name not in known:
            raise ConfigError(f"{where}: {unknown('key', name, known)}")
