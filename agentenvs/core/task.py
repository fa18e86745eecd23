"""Tasks and where they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentenvs.core.errors import ConfigError, UnknownName, quote, unknown
from agentenvs.core.rng import Stream, derive

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Task:
    """One instance to play. `id` is `family/split/key` and never changes; `data` belongs to the family."""

    id: str
    split: str
    data: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)


class TaskSource(ABC):
    """A collection of tasks in disjoint splits. All methods are pure: equal arguments, equal answers."""

    family: str
    splits: tuple[str, ...] = SPLITS
    finite: bool

    @abstractmethod
    def keys(self, split: str, n: int | None, seed: int) -> Sequence[str]:
        """The first `n` keys of a split in the order of `seed` (all of them for None, where finite)."""

    @abstractmethod
    def load(self, split: str, key: str) -> Task:
        """The task of a key; raises `UnknownName` where there is none."""

    @abstractmethod
    def sample(self, split: str, seed: int) -> Task:
        """The task that `reset(seed=seed)` plays."""

    def digest(self, split: str) -> str:
        """A hash of the data files behind a split; the empty string where tasks come from code alone."""
        return ""

    def ids(self, split: str, n: int | None = None, seed: int = 0) -> list[str]:
        """Task ids of a split, `n` of them: for one seed a longer list begins with the shorter one.

        Seed 0 is the natural order, any other seed another order. `n` may be None only where the split is finite.
        """
        self.check_split(split)
        if n is None and not self.finite:
            raise ConfigError(f"the {self.family} tasks have no end: expected ids(split, n=...), got n=None")
        if n is not None and n < 0:
            raise ConfigError(f"expected n >= 0, got {n}")
        return [f"{self.family}/{split}/{key}" for key in self.keys(split, n, seed)]

    def task(self, task_id: str) -> Task:
        """The task with this id; raises `UnknownName` that says what an id looks like here."""
        family, split, key = (*str(task_id).split("/", 2), "", "")[:3]
        if family != self.family or split not in self.splits:
            raise UnknownName(f"unknown task {quote(task_id)}; ids look like {self.family}/{self.splits[-1]}/<key>")
        return self.load(split, key)

    def check_split(self, split: str) -> None:
        if split not in self.splits:
            raise unknown("split", split, self.splits)


class FiniteSource(TaskSource):
    """Tasks that can be listed. Subclasses give `all_keys` and `load`."""

    finite = True

    @abstractmethod
    def all_keys(self, split: str) -> Sequence[str]:
        """Every key of the split, in the order of the data."""

    def keys(self, split: str, n: int | None, seed: int) -> Sequence[str]:
        order = list(self.all_keys(split))
        if n is not None and n > len(order):
            raise ConfigError(f"the split {split!r} has {len(order)} {self.family} tasks; expected n <= that, got {n}")
        if seed:
            Stream("task order", self.family, split, seed).shuffle(order)
        return order if n is None else order[:n]

    def sample(self, split: str, seed: int) -> Task:
        self.check_split(split)
        keys = self.all_keys(split)
        if not keys:
            raise ConfigError(f"the split {split!r} of these {self.family} tasks is empty; use one of the others")
        return self.load(split, keys[Stream("task", self.family, split, seed).below(len(keys))])


class EndlessSource(TaskSource):
    """Tasks made from an integer. Subclasses give `make(split, number)`; the key of a task is its number."""

    finite = False

    @abstractmethod
    def make(self, split: str, number: int) -> Task:
        """The task with this number, a non-negative integer."""

    def keys(self, split: str, n: int | None, seed: int) -> Sequence[str]:
        if not seed:
            return [str(i) for i in range(n or 0)]
        drawn: dict[str, None] = {}  # in order; a number that comes twice is left out
        i = 0
        while len(drawn) < (n or 0):
            drawn[str(derive("task", self.family, split, seed, i) >> 32)] = None
            i += 1
        return list(drawn)

    def load(self, split: str, key: str) -> Task:
        if not (key.isascii() and key.isdigit() and len(key) <= 20 and str(int(key)) == key):
            raise ConfigError(f"a {self.family} task id ends in a whole number, got {quote(key)}")
        return self.make(split, int(key))

    def sample(self, split: str, seed: int) -> Task:
        self.check_split(split)
        return self.make(split, seed)
