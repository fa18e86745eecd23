"""Encoders that tests name as py:module:factory: how often each of 16 letters occurs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LETTERS = "w0123456789 abcd"


class Letters:
    """Counts what it encodes, and stops after `most` texts."""

    identity = "letters-1"

    def __init__(self, most: int = 10**9) -> None:
        self.seen, self.most = 0, most

    def encode(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.seen += len(texts)
        if self.seen > self.most:
            raise RuntimeError("out of memory")
        return np.array([[text.count(letter) for letter in LETTERS] for text in texts], dtype=np.float64)


def letters() -> Letters:
    return Letters()


def needs_an_argument(name: str) -> str:
    return name


def number() -> int:
    return 3
