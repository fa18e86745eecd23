"""What the three embedded data sets have in common: the form of a question, and the order of a split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from agentenvs.core.errors import unknown
from agentenvs.core.task import SPLITS

T = TypeVar("T")
#: (id, contents) where contents is the title in double quotes, a line break, the text.
Passage = tuple[str, str]


class Question(NamedTuple):
    """A question with its answers.

    - `key`: `<kind><hops>.<number>`, unique in its data set over all splits.
    - `golds`: the accepted answers; the first is how the passage puts it.
    - `support`: ids of the passages that lead to the answer, in the order of the chain; empty for "unanswerable".
    - `hops`: how many facts have to be joined.
    - `kind`: single, bridge, comparison, temporal, yesno, unanswerable or fact.
    """

    key: str
    question: str
    golds: tuple[str, ...]
    support: tuple[str, ...]
    hops: int
    kind: str


def passage(passage_id: str, title: str, text: str) -> Passage:
    """A passage in the form of Search-R1's corpora (Jin et al. 2025): the first line is the title in double quotes."""
    return passage_id, f'"{title}"\n{text}'


def check_split(split: str) -> str:
    """The split, if there is one of this name; raises `UnknownName`."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    return split


def words(text: str) -> tuple[str, ...]:
    """The blank-separated words of a table written as text."""
    return tuple(text.split())


def article(noun: str) -> str:
    """The noun behind "a" or "an". No word of ours with a silent h needs it, and of those in u only unicorn."""
    return f"an {noun}" if noun[0].lower() in "aeio" else f"a {noun}"


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[0].upper() + text[1:]


def spread(groups: Iterable[Sequence[T]]) -> tuple[T, ...]:
    """All members of the groups, each group in its order and evenly spaced, so that a prefix is a fair sample."""
    placed = [
        ((position + 0.5) / len(group), number, member)
        for number, group in enumerate(groups)
        for position, member in enumerate(group)
    ]
    return tuple(member for _, _, member in sorted(placed, key=lambda one: one[:2]))
