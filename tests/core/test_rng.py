"""The stream of chance: its definition, and that draws are uniform and depend on the key alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.rng import Stream, derive

KEYS = [("sokoban", 7), ("", 0, True, None), ("√ text", -3, 2**63)]


def documented_word(key: tuple, index: int) -> int:
    """Word `index` by the definition in the module's docstring, without the module."""
    block, place = divmod(index, 16)
    data = json.dumps(list(key), separators=(",", ":")).encode("ascii") + b"\0" + block.to_bytes(8, "little")
    return int.from_bytes(blake2b(data).digest()[4 * place : 4 * place + 4], "little")


@pytest.mark.parametrize("key", KEYS)
def test_words_are_those_of_the_definition(key):
    stream = Stream(*key)
    assert [stream.word() for _ in range(40)] == [documented_word(key, i) for i in range(40)]


@pytest.mark.parametrize(
    ("key", "first"),
    [
        (("sokoban", 7), [1141222358, 2243973424, 422985905]),
        (("", 0, True, None), [1510743904, 496179489, 2247980529]),
        (("√ text", -3, 2**63), [871419785, 1356999989, 1992424197]),
    ],
)
def test_known_answers(key, first):
    stream = Stream(*key)
    assert [stream.word() for _ in range(3)] == first


def test_true_and_one_are_different_keys():
    words = {Stream(part).word() for part in (1, True, "1", None, "null", "True")}
    assert len(words) == 6


def test_derive_is_the_first_63_bits():
    low, high = documented_word(("a", 1), 0), documented_word(("a", 1), 1)
    assert derive("a", 1) == (low | high << 32) & (2**63 - 1)


@given(st.integers(0, 200))
def test_bits_take_whole_words_lowest_first(count):
    words = [documented_word(("bits",), i) for i in range(7)]
    value = sum(word << 32 * i for i, word in enumerate(words))
    stream = Stream("bits")
    assert stream.bits(count) == value % 2**count
    assert stream.word() == documented_word(("bits",), -(-count // 32))


@given(st.integers(1, 2**80), st.integers(0, 2**32))
def test_below_stays_below(n, seed):
    assert 0 <= Stream("below", seed).below(n) < n


@pytest.mark.parametrize("n", [2, 3, 7, 16])
def test_below_is_uniform(n):
    """Chi-squared with n - 1 degrees of freedom: its mean is n - 1, its variance 2(n - 1); five sigma are allowed."""
    draws, stream = 20_000, Stream("uniform", n)
    counts = Counter(stream.below(n) for _ in range(draws))
    statistic = sum((counts[i] - draws / n) ** 2 / (draws / n) for i in range(n))
    assert statistic < (n - 1) + 5 * (2 * (n - 1)) ** 0.5


def test_below_rejects_what_would_bias_it():
    """For n = 3 * 2**30 a plain multiplication would make every third value twice as likely."""
    stream, n = Stream("bias"), 3 << 30
    thirds = Counter(stream.below(n) % 3 for _ in range(9_000))
    assert all(abs(thirds[i] - 3_000) < 300 for i in range(3))


@pytest.mark.parametrize("n", [0, -1])
def test_below_refuses_empty_ranges(n):
    with pytest.raises(ValueError, match="expected n >= 1"):
        Stream("x").below(n)


def test_integer_includes_both_ends():
    stream = Stream("ends")
    assert {stream.integer(-1, 1) for _ in range(100)} == {-1, 0, 1}


def test_uniform_is_in_the_unit_interval_and_centred():
    stream = Stream("float")
    draws = [stream.uniform() for _ in range(10_000)]
    assert 0 <= min(draws) < 0.01
    assert 0.99 < max(draws) < 1
    assert abs(sum(draws) / len(draws) - 0.5) < 0.015


@given(st.lists(st.integers()), st.integers(0, 2**32))
def test_shuffle_permutes(items, seed):
    shuffled = items.copy()
    Stream("shuffle", seed).shuffle(shuffled)
    assert Counter(shuffled) == Counter(items)


def test_shuffle_reaches_every_order_about_equally():
    counts: Counter = Counter()
    for seed in range(6_000):
        items = [0, 1, 2]
        Stream("orders", seed).shuffle(items)
        counts[tuple(items)] += 1
    assert len(counts) == 6
    assert all(abs(count - 1_000) < 150 for count in counts.values())


@given(st.lists(st.integers(), max_size=20, unique=True), st.data())
def test_sample_takes_different_positions(items, data):
    k = data.draw(st.integers(0, len(items)))
    taken = Stream("sample", k).sample(items, k)
    assert len(taken) == len(set(taken)) == k
    assert set(taken) <= set(items)


@pytest.mark.parametrize("k", [-1, 4])
def test_sample_refuses_impossible_sizes(k):
    with pytest.raises(ValueError, match="from 0 to 3"):
        Stream("sample").sample([1, 2, 3], k)


def test_draws_do_not_depend_on_the_hash_salt():
    code = "from agentenvs.core.rng import Stream; s = Stream('a', 'b', 3); print([s.word() for _ in range(20)])"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in ("0", "1", "4321")
    }
    assert outputs == {f"{[documented_word(('a', 'b', 3), i) for i in range(20)]}\n"}
