"""A corpus in a JSONL file: read once to check it, then looked up in place through a memory map.

A line is an object with the strings `id` and `contents`; other fields are ignored. In memory there are one offset and
one hash a passage, and for files of some size those lie on disk as well.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import threading
from array import array
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.core.errors import DataError
from agentenvs.datasets.locate import digest
from agentenvs.retrieval.corpus import Corpus, Passage, canonical, check_passage, no_passages, repeated_id
from agentenvs.retrieval.progress import progress
from agentenvs.retrieval.store import stored

MAX_LINE = 1 << 24  # bytes; a longer line is no passage but a file without line ends
#: Smaller files (bytes) are read anew by each process, which takes some tenths of a second.
STORED_FROM = 1 << 23

_lock = threading.Lock()


class _Table(NamedTuple):
    """Where the passages of a file lie. `hashes` is sorted; `order[i]` is the position of the id with `hashes[i]`."""

    offsets: NDArray[np.uint64]  # [len + 1], the last is the end of the file
    hashes: NDArray[np.uint64]  # [len]
    order: NDArray[np.int64]  # [len]
    digest: str


class FileCorpus(Corpus):
    """Passages that stay in their file, which must not change meanwhile; made by `read_corpus`."""

    def __init__(self, path: Path, table: _Table) -> None:
        self.name = str(path)
        self.digest = table.digest
        self._table = table
        with open(path, "rb") as stream:
            self._bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._table.order)

    def __getitem__(self, position: int) -> Passage:
        if not 0 <= position < len(self):
            raise IndexError(position)
        start, end = int(self._table.offsets[position]), int(self._table.offsets[position + 1])
        try:
            data = json.loads(self._bytes[start:end])
            return Passage(data["id"], data["contents"])
        except (ValueError, KeyError, TypeError):
            raise DataError(
                self.name, f"line {position + 1}", expected="the passage that was there", found="something else",
                fix="the file was changed while in use; start again",
            ) from None  # fmt: skip

    def find(self, passage_id: str) -> int | None:
        key = _hash(passage_id)
        at = int(np.searchsorted(self._table.hashes, key))
        while at < len(self) and self._table.hashes[at] == key:  # several only where 64 bits collide
            position = int(self._table.order[at])
            if self[position].id == passage_id:
                return position
            at += 1
        return None


def read_corpus(path: str | os.PathLike[str]) -> Corpus:
    """The corpus in a JSONL file; all who ask for the same unchanged file share one object.

    Raises `DataError` that names the file and the line: broken JSON, a field that is missing or no string, an id that
    comes twice, no passage at all.
    """
    place = Path(path).expanduser().resolve()
    try:
        state = place.stat()
    except OSError as error:
        raise DataError(str(place), "", expected="a readable file", found=error.strerror or str(error)) from None
    with _lock:
        return _read(place, state.st_size, state.st_mtime_ns, state.st_ino)


@cache
def _read(path: Path, size: int, *_: int) -> Corpus:
    if size < STORED_FROM:
        return FileCorpus(path, _scan(path))
    return FileCorpus(path, stored(f"corpus-{digest(path)}", lambda folder: _save(folder, _scan(path)), _load))


def _scan(path: Path) -> _Table:
    """Check every line. Linear in the file's size; holds one line at a time."""
    offsets, hashes, hasher = array("Q", [0]), array("Q"), hashlib.sha256()
    try:
        with open(path, "rb") as stream, progress(f"reading {path.name}", path.stat().st_size) as advance:
            while line := stream.readline(MAX_LINE + 1):
                passage = _parse(line, str(path), f"line {len(offsets)}")
                hasher.update(canonical(passage))
                hashes.append(_hash(passage.id))
                offsets.append(offsets[-1] + len(line))
                advance(offsets[-1])
    except OSError as error:
        raise DataError(str(path), "", expected="a readable file", found=error.strerror or str(error)) from None
    if not hashes:
        raise no_passages(str(path))
    keys = np.asarray(hashes, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    table = _Table(np.asarray(offsets, dtype=np.uint64), keys[order], order, hasher.hexdigest())
    _check_unique(path, table)
    return table


def _parse(line: bytes, source: str, where: str) -> Passage:
    if len(line) > MAX_LINE:
        raise DataError(source, where, expected=f"at most {MAX_LINE} bytes in a line", found="more")
    if not line.strip():
        raise DataError(source, where, expected="a JSON object", found="a blank line", fix="delete the line")
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(source, where, expected="UTF-8", found=str(error)) from None
    except (ValueError, RecursionError) as error:
        raise DataError(source, where, expected="a JSON object", found=f"broken JSON ({error})") from None
    return check_passage(value, source, where)


def _check_unique(path: Path, table: _Table) -> None:
    """Raise for the first line whose id came before; equal hashes alone prove nothing."""
    corpus, repeats = FileCorpus(path, table), []
    for at in np.flatnonzero(table.hashes[1:] == table.hashes[:-1]):
        later = int(table.order[at + 1])
        first = corpus.find(corpus[later].id)
        if first is not None and first != later:
            repeats.append((later, first))
    if repeats:
        later, first = min(repeats)
        raise repeated_id(str(path), f"line {later + 1}", corpus[later].id, f"line {first + 1}")


def _hash(passage_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(passage_id.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def _save(folder: Path, table: _Table) -> None:
    for name in ("offsets", "hashes", "order"):
        np.save(folder / f"{name}.npy", getattr(table, name))
    (folder / "digest").write_text(table.digest, encoding="ascii")


def _load(folder: Path) -> _Table:
    arrays = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("offsets", "hashes", "order"))
    return _Table(*map(np.asarray, arrays), (folder / "digest").read_text(encoding="ascii"))
