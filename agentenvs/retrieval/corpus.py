"""A corpus: passages in a fixed order, each with an id that no other has.

`make_corpus` takes passages that are in memory, `corpus_file.read_corpus` a JSONL file that stays on disk. Equal
passages in equal order have an equal `digest` either way.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agentenvs.core.errors import DataError, UnknownName, quote


class Passage(NamedTuple):
    """A piece of text that is found as a whole. By convention `contents` is a quoted title, a newline and the text."""

    id: str
    contents: str


class Corpus(ABC):
    """Passages by position, from 0. Read-only; any thread may use it."""

    #: sha256 over ids and contents in order, in hex.
    digest: str
    #: What to call it in messages: the file's path, or "passages".
    name: str

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, position: int) -> Passage:
        """The passage at `position`; raises `IndexError` outside [0, len)."""

    @abstractmethod
    def find(self, passage_id: str) -> int | None:
        """The position of the passage with this id, or None."""

    def position(self, passage_id: str) -> int:
        """The position of the passage with this id; raises `UnknownName` if there is none."""
        found = self.find(passage_id)
        if found is None:
            raise UnknownName(f"{self.name}: there is no passage with id {quote(passage_id)} among {len(self)}")
        return found

    @property
    def ids(self) -> Sequence[str]:
        """All ids in order, read when they are asked for."""
        return _Ids(self)

    def __iter__(self) -> Iterator[Passage]:
        return (self[position] for position in range(len(self)))


class _Ids(Sequence[str]):
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return [self._corpus[i].id for i in range(*position.indices(len(self)))]
        return self._corpus[position + len(self) if position < 0 else position].id


class MemoryCorpus(Corpus):
    """Passages held in memory; made by `make_corpus`."""

    def __init__(self, passages: Sequence[Passage], name: str) -> None:
        self.name = name
        self._passages = passages
        self._positions = {passage.id: position for position, passage in enumerate(passages)}
        hasher = hashlib.sha256()
        for passage in passages:
            hasher.update(canonical(passage))
        self.digest = hasher.hexdigest()

    def __len__(self) -> int:
        return len(self._passages)

    def __getitem__(self, position: int) -> Passage:
        if position < 0:
            raise IndexError(position)
        return self._passages[position]

    def find(self, passage_id: str) -> int | None:
        return self._positions.get(passage_id)


def make_corpus(passages: Iterable[Passage | Mapping[str, Any]], name: str = "passages") -> Corpus:
    """The corpus of `passages`, each a `Passage` or a mapping with `id` and `contents` (other keys are ignored).

    Raises `DataError` with the number of the row (from 1) for a passage that is malformed or repeats an id, and for no
    passages at all.
    """
    checked: list[Passage] = []
    rows: dict[str, int] = {}
    for row, value in enumerate(passages, 1):
        data = value._asdict() if isinstance(value, Passage) else value
        passage = check_passage(data, name, f"row {row}")
        first = rows.setdefault(passage.id, row)
        if first != row:
            raise repeated_id(name, f"row {row}", passage.id, f"row {first}")
        checked.append(passage)
    if not checked:
        raise no_passages(name)
    return MemoryCorpus(checked, name)


def check_passage(value: Any, source: str, where: str) -> Passage:
    """The passage that `value` describes; raises `DataError` that names `source`, `where` and the fault."""
    if not isinstance(value, Mapping):
        raise DataError(source, where, expected="an object with id and contents", found=f"a {type(value).__name__}")
    for field in Passage._fields:
        if field not in value:
            raise DataError(source, where, expected=f"the field {field!r}", found=f"only {quote(list(value))}")
        if not isinstance(value[field], str):
            fix = "write the number in quotes" if isinstance(value[field], int) else ""
            found = f"{quote(value[field])} ({type(value[field]).__name__})"
            raise DataError(source, where, expected=f"a string as {field!r}", found=found, fix=fix)
    passage = Passage(value["id"], value["contents"])
    if not passage.id:
        raise DataError(source, where, expected="an id of at least one character", found="an empty one")
    try:
        canonical(passage)
    except UnicodeEncodeError as error:
        found = f"the lone surrogate {error.object[error.start]!a}"
        raise DataError(source, where, expected="Unicode text", found=found) from None
    return passage


def canonical(passage: Passage) -> bytes:
    """The bytes over which a corpus's digest goes. The lengths keep two passages from passing for others."""
    name, contents = passage.id.encode("utf-8"), passage.contents.encode("utf-8")
    return b"%d:%d:%b%b" % (len(name), len(contents), name, contents)


def repeated_id(source: str, where: str, passage_id: str, first: str) -> DataError:
    """The error for an id that two passages have."""
    found = f"{quote(passage_id)}, as in {first}"
    return DataError(source, where, expected="an id that no other passage has", found=found)


def no_passages(source: str) -> DataError:
    """The error for an empty corpus."""
    return DataError(source, "", expected="at least one passage", found="none")
