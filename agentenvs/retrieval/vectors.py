"""The vectors of a corpus: encoded in blocks, so that an interrupted run goes on, and stored as one mapped array."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from agentenvs.core.errors import ConfigError
from agentenvs.retrieval.base import digest_of
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.encoders import Encoder, Vectors
from agentenvs.retrieval.progress import progress
from agentenvs.retrieval.store import stored

BLOCK = 1024  # passages that are lost at most when a run is interrupted
_FILE = "vectors.npy"


def corpus_vectors(corpus: Corpus, encoder: Encoder, prefix: str) -> Vectors:
    """The vectors [passages, dimensions] of `prefix` + contents of every passage.

    They are stored under the corpus's digest and the encoder's identity; an encoder without one is asked each time.
    """
    if not encoder.identity:
        return np.concatenate(list(_blocks(corpus, encoder, prefix, None)))
    name = f"vectors-{digest_of(corpus.digest, encoder.identity, prefix)}"
    return stored(name, lambda folder: _build(folder, corpus, encoder, prefix), _load, resume=True)


def _build(folder: Path, corpus: Corpus, encoder: Encoder, prefix: str) -> None:
    target, at = None, 0
    for block in _blocks(corpus, encoder, prefix, folder):
        if target is None:
            shape = (len(corpus), block.shape[1])
            target = np.lib.format.open_memmap(folder / _FILE, mode="w+", dtype=np.float32, shape=shape)
        if block.shape[1] != target.shape[1]:
            raise ConfigError(f"encoder: expected {target.shape[1]} dimensions as before, got {block.shape[1]}")
        target[at : at + len(block)] = block
        at += len(block)
    del target  # written out
    for path in folder.glob("block-*"):
        path.unlink()


def _blocks(corpus: Corpus, encoder: Encoder, prefix: str, folder: Path | None) -> Iterator[Vectors]:
    """Block after block, from `folder` where it was written there before."""
    passages = iter(corpus)
    with progress("encoding", len(corpus)) as advance:
        for first in range(0, len(corpus), BLOCK):
            texts = [prefix + passage.contents for passage in islice(passages, BLOCK)]
            path = None if folder is None else folder / f"block-{first}.npy"
            if path is None or (block := _read(path, len(texts))) is None:
                block = encoder.encode(texts)
                if path is not None:
                    _write(path, block)
            advance(first + len(texts))
            yield block


def _read(path: Path, size: int) -> Vectors | None:
    """A block that an earlier run finished, or None."""
    with contextlib.suppress(OSError, ValueError):
        block = np.load(path)
        if block.shape[0] == size:
            return block
    return None


def _write(path: Path, block: Vectors) -> None:
    part = path.with_suffix(".part")
    with open(part, "wb") as stream:
        np.save(stream, block)
    os.replace(part, path)


def _load(folder: Path) -> Vectors:
    return np.asarray(np.load(folder / _FILE, mmap_mode="r"))
