"""The stream of chance: a fixed, seekable sequence of bits for any key.

A stream is BLAKE2b (RFC 7693) in counter mode. Block `i` of the stream with key `k` is
`BLAKE2b-512(C(k) || i as 8 little-endian bytes)`, where `C(k)` is the canonical JSON of the key parts, then a zero
byte. A block is read as sixteen little-endian 32-bit words. Neither Python's nor NumPy's generators take part, so
equal keys give equal draws on every platform and version; known answers are pinned in `tests/core/test_rng.py`.
"""

from __future__ import annotations

import json
from collections.abc import MutableSequence, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

from agentenvs.core.errors import ConfigError, quote

T = TypeVar("T")
_encode = json.JSONEncoder(separators=(",", ":")).encode  # made once: json.dumps would make one a call
_INVERSE_2_53 = 2.0**-53


class Stream:
    """A reproducible stream of random numbers, named by its key.

    `Stream("sokoban", 7)` and `Stream("sokoban", 8)` are independent. Key parts are strings, integers, booleans or
    None. A stream is cheap (about 1 µs) and holds no global state; make a new one for every purpose.
    """

    __slots__ = ("_at", "_block", "_buffer", "_prefix")

    def __init__(self, *key: str | int | None) -> None:
        self._prefix = blake2b(_encode(key).encode("ascii") + b"\0")
        self._block = 0
        self._buffer = b""
        self._at = 0  # bytes of the buffer that were used, a multiple of 4

    def _refill(self, size: int) -> None:
        """Have at least `size` unused bytes in the buffer."""
        rest = self._buffer[self._at :]
        while len(rest) < size:
            digest = self._prefix.copy()
            digest.update(self._block.to_bytes(8, "little"))
            rest += digest.digest()
            self._block += 1
        self._buffer, self._at = rest, 0

    def word(self) -> int:
        """The next 32 bits, as an integer in [0, 2**32)."""
        end = self._at + 4
        if end > len(self._buffer):
            self._refill(4)
            end = 4
        self._at = end
        return int.from_bytes(self._buffer[end - 4 : end], "little")

    def bits(self, count: int) -> int:
        """The next `count` random bits, as a non-negative integer; each started word is used up."""
        size = (count + 31) // 32 * 4
        if self._at + size > len(self._buffer):
            self._refill(size)
        self._at = end = self._at + size
        return int.from_bytes(self._buffer[end - size : end], "little") & ((1 << count) - 1)

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), without bias (multiply and reject, Lemire 2019, on 32-bit words)."""
        if n <= 0:
            raise ValueError(f"expected n >= 1, got {n}")
        if n > 0xFFFFFFFF:
            return self._below_big(n)
        product = self.word() * n
        if product & 0xFFFFFFFF < n:
            threshold = (1 << 32) % n
            while product & 0xFFFFFFFF < threshold:
                product = self.word() * n
        return product >> 32

    def _below_big(self, n: int) -> int:
        size = (n - 1).bit_length()
        value = self.bits(size)
        while value >= n:
            value = self.bits(size)
        return value

    def integer(self, low: int, high: int) -> int:
        """A uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def uniform(self) -> float:
        """A float in [0, 1) with 53 random bits."""
        return self.bits(53) * _INVERSE_2_53

    def choice(self, items: Sequence[T]) -> T:
        """One of `items`, all equally likely."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Permute `items` in place (Fisher-Yates from the end)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """`k` different positions of `items`, in random order."""
        if not 0 <= k <= len(items):
            raise ValueError(f"expected k from 0 to {len(items)}, got {k}")
        pool = list(items)
        for i in range(k):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]


def check_seed(name: str, value: Any) -> int:
    """`value` if it is a seed or a branch, a whole number from 0 to 2**64 - 1; raises `ConfigError` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise ConfigError(f"{name}: expected a whole number from 0 to 2**64 - 1, got {quote(value)}")
    return value


def derive(*key: str | int | None) -> int:
    """A seed in [0, 2**63) for the key: the way to hand a child process or another library its own stream."""
    return Stream(*key).bits(63)
