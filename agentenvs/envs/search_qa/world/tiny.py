"""A closed world for very small policies: 40 names, four relations, one passage a fact, 50-odd tokens in all.

The table is fixed. Every relation is a permutation of the names without a fixed point, and the four values of a name
differ, so a guess is right once in 40 times, however it is made. A question asks for the end of a chain of 1 to 3
relations that meets no name twice: `who is the doctor of the friend of Ana`. Tokens are the words of passages and
questions, and the `"` on both sides of a title.

Searching for `friend of Ana` or `Ana friend` finds that fact first under BM25.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from agentenvs.core.rng import Stream
from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.world.question import Passage, Question, check_split, passage, spread, words

NAMES = words(
    "Ana Bo Cal Dee Eli Fay Gus Hal Ida Jo Kit Lea Max Ned Ola Pam Quin Ray Sam Tess "
    "Uma Van Wes Xia Yan Zoe Abe Bea Cy Dot Eve Flo Gil Hope Ivy Jed Kai Liv Mo Nan"
)
RELATIONS = ("friend", "teacher", "doctor", "guide")
MAX_HOPS = 3
_WORDS = ("who", "is", "the", "of", '"')
_SHARES = {"train": 8, "validation": 1, "test": 1}  # tenths of the questions of each number of hops


class Fact(NamedTuple):
    """`name`'s `relation` is `value`; `id` is that of its passage."""

    id: str
    name: str
    relation: str
    value: str


def vocabulary() -> tuple[str, ...]:
    """Every token of the passages and questions, each once."""
    return (*NAMES, *RELATIONS, *_WORDS)


@cache
def table() -> tuple[Fact, ...]:
    """All facts, 160: name by name, in the order of `RELATIONS`."""
    columns: list[list[str]] = []
    stream = Stream("search_qa", "tiny", "table")
    while len(columns) < len(RELATIONS):
        column = list(NAMES)
        stream.shuffle(column)
        if all(len({*row}) == len(row) for row in zip(NAMES, *columns, column, strict=True)):
            columns.append(column)
    facts = product(enumerate(NAMES), zip(RELATIONS, columns, strict=True))
    return tuple(
        Fact(f"t{number}", name, relation, column[row])
        for number, ((row, name), (relation, column)) in enumerate(facts)
    )


def passages() -> tuple[Passage, ...]:
    """One passage a fact, in the order of `table`: title `"Ana"`, text `the friend of Ana is Bo`."""
    return tuple(passage(fact.id, fact.name, f"the {fact.relation} of {fact.name} is {fact.value}") for fact in table())


@cache
def weights() -> dict[str, float]:
    """How often each fact would be met, by passage id: Zipf's law 1/rank over a random order, summing to 1.

    For experiments in which a model has seen frequent facts in training and must search for the rare ones.
    """
    order = [fact.id for fact in table()]
    Stream("search_qa", "tiny", "weights").shuffle(order)
    total = sum(1 / rank for rank in range(1, len(order) + 1))
    return {passage_id: 1 / rank / total for rank, passage_id in enumerate(order, 1)}


@cache
def questions(split: str) -> tuple[Question, ...]:
    """The questions of a split, 1 to 3 hops spread evenly; no (start, chain) is in two splits."""
    return spread([_part(check_split(split), _of(hops)) for hops in range(1, MAX_HOPS + 1)])


def _part(split: str, asked: Sequence[Question]) -> Sequence[Question]:
    """The share of a split, cut from a random order."""
    order = list(asked)
    Stream("search_qa", "tiny", "splits", asked[0].hops).shuffle(order)
    before = sum(_SHARES[other] for other in SPLITS[: SPLITS.index(split)])
    start, end = (len(order) * tenths // 10 for tenths in (before, before + _SHARES[split]))
    return order[start:end]


def _of(hops: int) -> list[Question]:
    """Every question of this many hops."""
    kind = "single" if hops == 1 else "bridge"
    return [
        Question(
            f"{kind}{hops}.{number}",
            f"who is {' of '.join(f'the {fact.relation}' for fact in reversed(chain))} of {chain[0].name}",
            (chain[-1].value,),
            tuple(fact.id for fact in chain),
            hops,
            kind,
        )
        for number, chain in enumerate(_chains(hops))
    ]


def _chains(hops: int) -> Iterator[list[Fact]]:
    """All chains of facts that meet no name twice."""
    facts = {(fact.name, fact.relation): fact for fact in table()}
    for start, relations in product(NAMES, product(RELATIONS, repeat=hops)):
        chain: list[Fact] = []
        for relation in relations:
            chain.append(facts[chain[-1].value if chain else start, relation])
        if len({start, *(fact.value for fact in chain)}) == hops + 1:
            yield chain
