"""What counts as a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.errors import UnknownName
from agentenvs.retrieval.words import analyzer, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Fox's den, 1884!", ["the", "fox", "s", "den", "1884"]),
        ("Ærøskøbing — Straße_7", ["ærøskøbing", "straße_7"]),
        ("東京タワー 3つ", ["東京タワー", "3つ"]),
        ("?!… \n\t", []),
        ("", []),
        ("\ud800fox\0den", ["fox", "den"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_are_lower_case_runs_in_order(text: str) -> None:
    rest = text.lower()
    for word in words(text):
        before, found, rest = rest.partition(word)
        assert found
        assert not any(c.isalnum() or c == "_" for c in before)
    assert not any(c.isalnum() or c == "_" for c in rest)


def test_terms_are_each_word_once_in_order() -> None:
    assert terms("b a B c a") == ["b", "a", "c"]


def test_an_analyzer_that_is_unknown_is_named() -> None:
    with pytest.raises(UnknownName, match="unknown analyzer 'word'; did you mean 'words'"):
        analyzer("word")
