"""Where the levels come from: generated, published generators, files, the embedded set, or one given level.

Task ids are `sokoban/<split>/<key>`:

| levels | key | splits |
|---|---|---|
| generated | `<rows>x<cols>x<boxes>[d<difficulty>].<number>` | by wall layout: no layout is in two splits |
| ragen, vagen | `<levels>.<rows>x<cols>x<boxes>[s<depth>].<seed>` | published: validation 123-378, train from 10000 |
| boxoban | `<difficulty>.<file>.<index>` | those of the files; `hard` has no split and counts as test |
| embedded | `<difficulty>.<index>` | of five levels one is train, one validation, three test |
| xsb | `<index>` | all are test |
| any | `given:<level on one line>` | any split |
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, DataError, quote, unknown
from agentenvs.core.rng import Stream
from agentenvs.core.snapshot import natural
from agentenvs.core.task import EndlessSource, FiniteSource, Task, TaskSource
from agentenvs.datasets import require
from agentenvs.envs.sokoban.engine import Level
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import decode_level, encode_level, parse_level, parse_levels
from agentenvs.envs.sokoban.presets import Preset
from agentenvs.envs.sokoban.solver import shortest_moves

_BOXOBAN_SPLITS = {"train": "train", "validation": "valid", "test": "test"}
_TRAIN_SEEDS = 10_000
_PUBLISHED_SEEDS = {"validation": range(123, 379), "test": range(379, _TRAIN_SEEDS)}
_RAGEN_DEPTH = 300
_VAGEN_MOVES = 5
_TIERS = ("easy", "medium", "hard")
_PRIME = 2**64 + 13
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio: spreads neighbouring layouts over the splits


class Levels(TaskSource):
    """A source of Sokoban tasks. Every one also knows the task `given:<level>`."""

    family = "sokoban"

    def task(self, task_id: str) -> Task:
        family, split, key = (*str(task_id).split("/", 2), "", "")[:3]
        if family == self.family and key.startswith("given:"):
            self.check_split(split)
            try:
                return Task(str(task_id), split, decode_level(key.removeprefix("given:")))
            except DataError as error:
                raise ConfigError(f"task {quote(task_id)}: {error}") from error
        return super().task(task_id)


def given(text: str, split: str = "test") -> str:
    """The id of the task that is the level `text` (XSB rows, or rows joined by `|`)."""
    _check_text("level", text)
    return f"sokoban/{split}/given:{encode_level(parse_level(text))}"


class Generated(Levels, EndlessSource):
    """Levels of our own generator."""

    def __init__(self, rows: int, cols: int, boxes: int, difficulty: int | None = None) -> None:
        if difficulty is not None and (not natural(difficulty) or not difficulty):
            raise ConfigError(f"difficulty of generated levels: expected a whole number >= 1, got {quote(difficulty)}")
        self.shape = rows, cols, boxes
        self.difficulty = difficulty
        self.prefix = f"{rows}x{cols}x{boxes}" + (f"d{difficulty}" if difficulty else "") + "."
        self.make("test", 0)  # an impossible size is refused here, not in the middle of a run

    def keys(self, split: str, n: int | None, seed: int) -> Sequence[str]:
        return [self.prefix + key for key in super().keys(split, n, seed)]

    def load(self, split: str, key: str) -> Task:
        if not key.startswith(self.prefix):
            raise ConfigError(f"task {quote(key)} is of other settings: expected {self.prefix}<number>")
        return super().load(split, key.removeprefix(self.prefix))

    def make(self, split: str, number: int) -> Task:
        return _generated(f"sokoban/{split}/{self.prefix}{number}", split, *self.shape, self.difficulty)


@lru_cache(maxsize=4096)  # the episodes of a group play one task
def _generated(task_id: str, split: str, rows: int, cols: int, boxes: int, difficulty: int | None) -> Task:
    stream = Stream(task_id)
    level, tries = generate(stream, rows, cols, boxes, accept=_ACCEPT[split], difficulty=difficulty)
    return Task(task_id, split, level, {"generation_tries": tries})


def _quarter(walls: int) -> int:
    """0 to 3, by wall layout alone. The remainder makes every cell of a large board count."""
    return (walls % _PRIME * _GOLDEN & 0xFFFFFFFFFFFFFFFF) >> 62


_ACCEPT = {
    "train": lambda walls: _quarter(walls) < 2,
    "validation": lambda walls: _quarter(walls) == 2,
    "test": lambda walls: _quarter(walls) == 3,
}


class Published(Levels, EndlessSource):
    """Rooms of the generator that RAGEN, SPA, verl-agent and VAGEN share, by their seeds."""

    def __init__(self, name: str, rows: int, cols: int, boxes: int, search_depth: int) -> None:
        self.name, self.shape, self.search_depth = name, (rows, cols, boxes), search_depth
        depth = "" if search_depth == _RAGEN_DEPTH else f"s{search_depth}"  # other depths give other rooms
        self.prefix = f"{name}.{rows}x{cols}x{boxes}{depth}."

    def seed_of(self, split: str, number: int) -> int:
        """The published seed ranges: numbers inside a range are seeds as they are, others are moved into it."""
        if split == "train":
            return number if number >= _TRAIN_SEEDS else _TRAIN_SEEDS + number
        seeds = _PUBLISHED_SEEDS[split]
        return seeds[(number - seeds[0]) % len(seeds)]

    def keys(self, split: str, n: int | None, seed: int) -> Sequence[str]:
        kept = list(islice(filter(self._keeps, self._order(split, n or 0, seed)), n))
        if len(kept) < (n or 0):
            raise ConfigError(
                f"the split {split!r} of the {self.name} seeds has {len(kept)}; expected n <= that, got {n}"
            )
        return [f"{self.prefix}{kept_seed}" for kept_seed in kept]

    def _order(self, split: str, n: int, seed: int) -> Iterator[int]:
        """The seeds of a split in the order of `seed`."""
        if split == "train":
            yield from (_TRAIN_SEEDS + int(key) for key in super().keys(split, 64 * n, seed))
            return
        order = list(_PUBLISHED_SEEDS[split])
        if seed:
            Stream("task order", self.family, split, seed).shuffle(order)
        yield from order

    def load(self, split: str, key: str) -> Task:
        task = super().load(split, key.removeprefix(self.prefix))
        if task.id != f"sokoban/{split}/{key}":
            raise ConfigError(f"task {quote(key)} is not in the split {split!r}: expected {task.id}")
        return task

    def make(self, split: str, number: int) -> Task:
        seed = self.seed_of(split, number)
        while not self._keeps(seed):
            seed = self.seed_of(split, seed + 1)
        level, tries = self._room(seed)
        return Task(f"sokoban/{split}/{self.prefix}{seed}", split, level, {"generation_tries": tries})

    def _keeps(self, seed: int) -> bool:
        """VAGEN keeps the seeds whose rooms are solved in few moves; the others keep all."""
        return self.name != "vagen" or (shortest_moves(self._room(seed)[0]) or 0) <= _VAGEN_MOVES

    def _room(self, seed: int) -> tuple[Level, int]:
        return _published(seed, *self.shape, self.search_depth, "vagen" if self.name == "vagen" else "ragen")


@lru_cache(maxsize=4096)
def _published(seed: int, rows: int, cols: int, boxes: int, search_depth: int, wander: str) -> tuple[Level, int]:
    from agentenvs.envs.sokoban import compat  # loads `random`: only where the published rooms are played

    return compat.generate_room(seed, rows, cols, boxes, search_depth=search_depth, wander=wander)


class Boxoban(Levels, FiniteSource):
    """The official Boxoban files (Guez et al. 2018). `difficulty`: unfiltered, medium or hard."""

    def __init__(self, difficulty: str, data_dir: str | None = None) -> None:
        if difficulty not in ("unfiltered", "medium", "hard"):
            raise unknown("Boxoban difficulty", difficulty, ("unfiltered", "medium", "hard"))
        self.difficulty = difficulty
        self.root = require("sokoban/boxoban", data_dir)
        present = [split for split in _BOXOBAN_SPLITS if self._files(split)]
        if not present:
            raise ConfigError(f"no Boxoban levels of difficulty {difficulty!r} in {self.root}; see: agentenvs data")
        self.splits = tuple(present)

    def _files(self, split: str) -> list[Path]:
        if self.difficulty == "hard":
            return sorted((self.root / "hard").glob("*.txt")) if split == "test" else []
        return sorted((self.root / self.difficulty / _BOXOBAN_SPLITS[split]).glob("*.txt"))

    def all_keys(self, split: str) -> Sequence[str]:
        return _boxoban_keys(self.difficulty, tuple(self._files(split)))

    def load(self, split: str, key: str) -> Task:
        difficulty, stem, index = (*key.split("."), "", "")[:3]
        paths = {path.stem: path for path in self._files(split)}
        if difficulty != self.difficulty or stem not in paths:
            raise ConfigError(f"no task {quote(key)} here; keys look like {self.difficulty}.{min(paths)}.0")
        levels = _levels(paths[stem])
        return Task(f"sokoban/{split}/{key}", split, levels[_index(index, len(levels), key)])

    def digest(self, split: str) -> str:
        return _digest(tuple(self._files(split)))


class Embedded(Levels, FiniteSource):
    """Our own small set, in three tiers of difficulty."""

    def __init__(self, difficulty: str) -> None:
        if difficulty not in _TIERS:
            raise unknown("difficulty", difficulty, _TIERS)
        self.difficulty = difficulty

    def all_keys(self, split: str) -> Sequence[str]:
        turns = {"train": (0,), "validation": (1,), "test": (2, 3, 4)}[split]
        return [f"{self.difficulty}.{i}" for i in range(len(_embedded()[self.difficulty])) if i % 5 in turns]

    def load(self, split: str, key: str) -> Task:
        difficulty, _, index = key.partition(".")
        if difficulty != self.difficulty or key not in self.all_keys(split):
            raise ConfigError(f"no task {quote(key)} here; keys look like {self.all_keys(split)[0]}")
        return Task(f"sokoban/{split}/{key}", split, _embedded()[difficulty][int(index)])

    def digest(self, split: str) -> str:
        return hashlib.sha256(_embedded_text().encode()).hexdigest()


class Collection(Levels, FiniteSource):
    """The levels of one XSB file, all of them test."""

    splits = ("test",)

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()
        self.levels = _levels(self.path)

    def all_keys(self, split: str) -> Sequence[str]:
        return [str(i) for i in range(len(self.levels))]

    def load(self, split: str, key: str) -> Task:
        return Task(f"sokoban/{split}/{key}", split, self.levels[_index(key, len(self.levels), key)])

    def digest(self, split: str) -> str:
        return _digest((self.path,))


class Single(Levels, FiniteSource):
    """One given level."""

    splits = ("test",)

    def __init__(self, text: str) -> None:
        self.level = parse_level(text)

    def all_keys(self, split: str) -> Sequence[str]:
        return [f"given:{encode_level(self.level)}"]

    def load(self, split: str, key: str) -> Task:
        return self.task(f"sokoban/{split}/{key}")


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{name}: expected text, got {quote(value)}")


def _index(text: str, count: int, key: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < count and str(int(text)) == text):
        raise ConfigError(f"no task {quote(key)} here; the index goes from 0 to {count - 1}")
    return int(text)


def _levels(path: Path) -> list[Level]:
    """The levels of a file; read again when the file changed."""
    try:
        stat = path.stat()
        return _read_levels(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise DataError(str(path), "", expected="a level file", found=error.strerror or str(error)) from None


@lru_cache(maxsize=256)
def _read_levels(path: Path, size: int, changed_ns: int) -> list[Level]:
    try:
        return parse_levels(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise DataError(str(path), f"byte {error.start}", expected="UTF-8 text", found="another encoding") from None


@lru_cache(maxsize=16)
def _boxoban_keys(difficulty: str, paths: tuple[Path, ...]) -> list[str]:
    return [f"{difficulty}.{path.stem}.{i}" for path in paths for i in range(len(_levels(path)))]


def _digest(paths: Sequence[Path]) -> str:
    """One hash over names and contents."""
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


@lru_cache(maxsize=1)
def _embedded_text() -> str:
    return (resources.files("agentenvs.envs.sokoban") / "data" / "levels.xsb").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _embedded() -> dict[str, list[Level]]:
    """The embedded levels by tier; each is headed by a comment `; <tier> <number> ...`."""
    text = _embedded_text()
    heads = [line[2:].split() for line in text.splitlines() if line.startswith("; ")]
    tiers = [head[0] for head in heads if head and head[0] in _TIERS]
    levels = parse_levels(text, "embedded levels")
    return {tier: [level for name, level in zip(tiers, levels, strict=True) if name == tier] for tier in _TIERS}


def make_source(rules: Preset, *, data_dir: str | None, path: str | None, level: str | None) -> TaskSource:
    """The source of a provider: generated, ragen, vagen, boxoban, embedded, xsb or given."""
    shape = rules.rows, rules.cols, rules.boxes
    makers = {
        "generated": lambda: Generated(*shape, rules.difficulty),
        "ragen": lambda: Published("ragen", *shape, rules.search_depth),
        "vagen": lambda: Published("vagen", *shape, rules.search_depth),
        "boxoban": lambda: Boxoban(rules.difficulty or "unfiltered", data_dir),
        "embedded": lambda: Embedded(rules.difficulty or "medium"),
        "xsb": lambda: Collection(path),
        "given": lambda: Single(level),
    }
    if rules.levels not in makers:
        raise unknown("level provider", rules.levels, makers)
    for name, value in (("data_dir", data_dir), ("path", path), ("level", level)):
        if value is not None:
            _check_text(name, value)
    for provider, name, value in (("xsb", "path", path), ("given", "level", level)):
        if (rules.levels == provider) != (value is not None):
            raise ConfigError(f"{name}=... goes with levels={provider!r}, and only with it; got {name}={value!r}")
    return makers[rules.levels]()
