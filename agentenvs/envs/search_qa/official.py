"""The published question sets: where their files lie, which split is which, and what of them can be scored.

Files lie in the folder `search_qa` of the data (`datasets.require`; `data_dir=` names that folder itself):

| name | files |
|---|---|
| nq, triviaqa, popqa, hotpotqa, 2wikimultihopqa, musique, bamboogle | `<name>/{train,dev,test}.jsonl`, FlashRAG's |
| nq, hotpotqa, musique, bamboogle for want of that | `questions_only/{nq_open_dev,hotpotqa_dev,...}.jsonl` |
| hotpotqa_dev500, 2wiki | `<name>/questions.jsonl`, `<name>/corpus.jsonl` |
| pubmedqa | the same, or `pubmedqa/ori_pqal.json` and `pubmedqa/test_ground_truth.json` |
| medqa, medmcqa | `<name>/{train,dev,test}.jsonl` (medmcqa also `.json`, its original name) |

The benchmark is the test file, and dev is our validation split; where there is no test file, or one without answers
(MedMCQA), the benchmark is dev, and it is our test split. A set in one file goes by the split that its rows name, else
all of it is test.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.core.errors import ConfigError, DataError, unknown
from agentenvs.datasets import digest, require
from agentenvs.envs.search_qa.items import Item
from agentenvs.envs.search_qa.records import Record, flashrag, medmcqa, medqa, pubmedqa
from agentenvs.envs.search_qa.reward import MATCHERS, choice, exact_match

Keyed = tuple[tuple[str, Item], ...]
Form = Callable[..., Iterator[Record]]

_KEY = re.compile(r"[^\s/\x00-\x1f\x7f]{1,100}")


class _Source(NamedTuple):
    """Where a part of a set may lie: the form of its files, and their paths below the root. `part` is train, dev or
    test, or "" where the rows say their split (test if they do not)."""

    part: str
    form: Form
    paths: tuple[str, ...]


class _Set(NamedTuple):
    """A published set: how many questions its benchmark file has, and the layouts in which it may lie here, of which
    the first that is there is taken."""

    count: int
    layouts: tuple[tuple[_Source, ...], ...]


def _parted(folder: str, form: Form, ending: str = ".jsonl") -> tuple[_Source, ...]:
    """A folder with a file for each part."""
    return tuple(_Source(part, form, (f"{folder}/{part}{ending}",)) for part in ("train", "dev", "test"))


def _whole(form: Form, *paths: str) -> tuple[_Source, ...]:
    """All of the set in one file, or in files that belong together."""
    return (_Source("", form, paths),)


def _spare(name: str) -> tuple[_Source, ...]:
    return _whole(flashrag, f"questions_only/{name}.jsonl")


_SETS = {
    "nq": _Set(3610, (_parted("nq", flashrag), _spare("nq_open_dev"))),
    "triviaqa": _Set(11313, (_parted("triviaqa", flashrag),)),
    "popqa": _Set(14267, (_parted("popqa", flashrag),)),
    "hotpotqa": _Set(7405, (_parted("hotpotqa", flashrag), _spare("hotpotqa_dev"))),
    "2wikimultihopqa": _Set(12576, (_parted("2wikimultihopqa", flashrag),)),
    "musique": _Set(2417, (_parted("musique", flashrag), _spare("musique_dev"))),
    "bamboogle": _Set(125, (_parted("bamboogle", flashrag), _spare("bamboogle_test"))),
    "hotpotqa_dev500": _Set(500, (_whole(flashrag, "hotpotqa_dev500/questions.jsonl"),)),
    "2wiki": _Set(843, (_whole(flashrag, "2wiki/questions.jsonl"),)),
    "pubmedqa": _Set(
        1000,
        (
            _whole(flashrag, "pubmedqa/questions.jsonl"),
            _whole(pubmedqa, "pubmedqa/ori_pqal.json", "pubmedqa/test_ground_truth.json"),
        ),
    ),
    "medqa": _Set(1273, (_parted("medqa", medqa),)),
    "medmcqa": _Set(4183, (_parted("medmcqa", medmcqa), _parted("medmcqa", medmcqa, ".json"))),
}
#: The names that `load` takes.
NAMES = tuple(_SETS)


@dataclass(frozen=True, slots=True)
class Official:
    """A question set as read.

    - `splits`: keys and items by split ("train", "validation", "test"; only those that hold any), in the file's order.
      Keys are the file's ids where all of them are distinct and without blanks and slashes, else line indices from 0.
    - `corpus`: the file of the passages that belong to it, None where there is none.
    - `report`: for each file its counts as JSON: questions `read`, `splits` they went to, `keys` ("ids" or "line
      indices"), `skipped` by reason; the keys of questions with `empty_golds`, those that normalise to nothing and were
      dropped, and of `unscorable` ones, left out of the splits because they have no other gold.
    - `files`: what was read; `digests`: a hash of the files behind each split.
    """

    name: str
    splits: Mapping[str, Keyed]
    corpus: Path | None
    report: Mapping[str, Mapping[str, Any]]
    files: tuple[Path, ...]
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What the files of a source hold: (split that the row names or "", key, item) in their order, and the report."""

    paths: tuple[Path, ...]
    items: tuple[tuple[str, str, Item], ...]
    read: int
    keys: str
    skipped: Mapping[str, int]
    empty_golds: tuple[str, ...]
    unscorable: tuple[str, ...]
    digest: str


def load(name: str, data_dir: str | None = None) -> Official:
    """The published set of that name. Files are read once a process, and again when they changed.

    Raises `UnknownName` for another name, `ConfigError` where its files are not there, `DataError` for what is wrong in
    them, the number of questions of the benchmark file included.
    """
    if name not in _SETS:
        raise unknown("question set", name, NAMES)
    root = require("search_qa", data_dir)
    readings = {source.part: _read(source.form, paths) for source, paths in _found(name, root)}
    splits = _splits_of(readings)
    for part, reading in readings.items():
        if splits[part] in ("", "test") and reading.items:
            _check_count(name, reading)
    corpus = root / name / "corpus.jsonl"
    parts = tuple((splits[part], reading) for part, reading in readings.items())
    return _joined(name, parts, corpus if corpus.is_file() else None)


def read_questions(path: str | Path) -> Official:
    """The questions of any file in FlashRAG's form, or with the additions that `records.py` lists; rows that name no
    split are test. Raises `DataError`."""
    path = Path(path).expanduser()
    return _joined("file", (("", _read(flashrag, (path,))),), None)


def self_check(items: Keyed) -> tuple[str, ...]:
    """The keys of items that are scored wrongly: a gold as the answer must score 1 under every matcher (or name its
    option), an empty answer and one of punctuation alone 0."""
    return tuple(key for key, item in items if not _scored_rightly(item))


def _scored_rightly(item: Item) -> bool:
    if item.options:
        return choice(item.golds[0], item.options) == item.golds[0] and choice("", item.options) is None
    right = all(match(gold, item.golds) == 1.0 for match in MATCHERS.values() for gold in item.golds)
    empty = any(match(nothing, item.golds) for match in MATCHERS.values() for nothing in ("", ".", " ?! "))
    return bool(item.golds) and right and not empty


def _scorable(gold: str) -> bool:
    return exact_match(gold, (gold,)) == 1.0


# Finding and joining --------------------------------------------------------------------------------------------------


def _found(name: str, root: Path) -> list[tuple[_Source, tuple[Path, ...]]]:
    """The sources that are there, and their files."""
    for layout in _SETS[name].layouts:
        if there := [source for source in layout if (root / source.paths[0]).is_file()]:
            return [(source, tuple(root / path for path in source.paths)) for source in there]
    looked = ", ".join(source.paths[0] for layout in _SETS[name].layouts for source in layout)
    way_out = 'put the files there, or use data="file", questions=PATH'
    raise ConfigError(f"data {name!r}: found none of {looked} in {root}; {way_out}")


def _splits_of(readings: Mapping[str, _Reading]) -> dict[str, str]:
    """Our split for each part (see the top of this module)."""
    answered = "test" in readings and readings["test"].items
    return {"train": "train", "dev": "validation" if answered else "test", "test": "test", "": ""}


def _check_count(name: str, reading: _Reading) -> None:
    count = _SETS[name].count
    if reading.read != count:
        fix = 'is it complete? Read a part of it or another version with data="file", questions=PATH'
        file = str(reading.paths[0])
        raise DataError(file, "", expected=f"the {count} questions of {name}", found=f"{reading.read}", fix=fix)


@lru_cache(maxsize=64)
def _joined(name: str, parts: tuple[tuple[str, _Reading], ...], corpus: Path | None) -> Official:
    """The readings by split; "" leaves the split to the rows."""
    items: dict[str, list[tuple[str, Item]]] = {"train": [], "validation": [], "test": []}
    report, digests = {}, {}
    for split, reading in parts:
        counts: Counter[str] = Counter()
        for named, key, item in reading.items:
            goes_to = split or named or "test"
            items[goes_to].append((key, item))
            counts[goes_to] += 1
        digests.update(dict.fromkeys(counts, reading.digest))
        report["/".join(reading.paths[0].parts[-2:])] = {
            "read": reading.read,
            "splits": dict(counts),
            "keys": reading.keys,
            "skipped": dict(reading.skipped),
            "empty_golds": list(reading.empty_golds),
            "unscorable": list(reading.unscorable),
        }
    if not digests:
        file = str(parts[0][1].paths[0])
        raise DataError(file, "", expected="a question whose answer can be scored", found="none")
    splits = {split: tuple(keyed) for split, keyed in items.items() if keyed}
    files = tuple(path for _, reading in parts for path in reading.paths)
    return Official(name, splits, corpus, report, files, digests)


# Reading --------------------------------------------------------------------------------------------------------------


def _read(form: Form, paths: tuple[Path, ...]) -> _Reading:
    """What the files hold; read again when one of them changed."""
    return _read_unchanged(form, paths, tuple(map(_stamp, paths)))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        found = getattr(error, "strerror", None) or str(error)
        raise DataError(str(path), "", expected="a file of questions", found=found) from None
    return stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=64)
def _read_unchanged(form: Form, paths: tuple[Path, ...], stamps: tuple[tuple[int, int], ...]) -> _Reading:
    records = list(form(*paths))
    ids = [record.id for record in records]
    by_id = len(set(ids)) == len(ids) and all(map(_KEY.fullmatch, ids))
    items, empty, unscorable = [], [], []
    for record in records:
        if (item := record.item) is None:
            continue
        key = record.id if by_id else str(record.index)
        golds = item.golds if item.options else tuple(filter(_scorable, item.golds))
        if golds != item.golds:
            empty.append(key)
        if golds:
            items.append((record.split, key, replace(item, golds=golds)))
        else:
            unscorable.append(key)
    return _Reading(
        paths,
        tuple(items),
        len(records),
        "ids" if by_id else "line indices",
        Counter(record.skipped for record in records if record.skipped),
        tuple(empty),
        tuple(unscorable),
        hashlib.sha256("".join(f"{path.name}\0{digest(path)}\n" for path in paths).encode()).hexdigest(),
    )
