"""The closed table: every claim of its docstring, checked over the whole of it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from agentenvs.core.errors import UnknownName
from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.world import tiny
from tests.envs.search_qa.world.okapi import Okapi


def ask(question: str) -> str:
    """The answer, read off the passages from right to left."""
    told = {}
    for _, contents in tiny.passages():
        _, relation, _, name, _, value = contents.split("\n")[1].split()
        told[relation, name] = value
    *relations, name = re.sub(r"^who is the ", "", question).replace(" the ", " ").split(" of ")
    for relation in reversed(relations):
        name = told[relation, name]
    return name


def test_relations_are_permutations_without_fixed_points_and_differ_everywhere() -> None:
    values: dict[str, list[str]] = {}
    for fact in tiny.table():
        values.setdefault(fact.relation, []).append(fact.value)
    assert set(values) == set(tiny.RELATIONS) and all(
        Counter(found) == Counter(tiny.NAMES) for found in values.values()
    )
    for row in zip(tiny.NAMES, *values.values(), strict=True):
        assert len(set(row)) == 5


def test_passages_are_short_and_use_the_vocabulary_only() -> None:
    known = set(tiny.vocabulary())
    assert len(known) == len(tiny.vocabulary()) == 49
    assert [passage_id for passage_id, _ in tiny.passages()] == [f"t{number}" for number in range(160)]
    for _, contents in tiny.passages():
        tokens = contents.replace('"', ' " ').split()
        assert set(tokens) <= known and len(contents.split("\n")[1].split()) == 6
    for split in SPLITS:
        assert {word for one in tiny.questions(split) for word in one.question.split()} <= known


def test_either_form_of_query_finds_its_fact_first() -> None:
    index = Okapi(tiny.passages())
    for fact in tiny.table():
        assert index.top(f"{fact.relation} of {fact.name}", 1) == [fact.id]
        assert index.top(f"{fact.name} {fact.relation}", 1) == [fact.id]


def test_answers_follow_from_the_passages_and_no_name_comes_twice() -> None:
    facts = {fact.id: fact for fact in tiny.table()}
    for split in SPLITS:
        for one in tiny.questions(split):
            chain = [facts[passage_id] for passage_id in one.support]
            assert one.golds == (ask(one.question),)
            assert len(chain) == one.hops and len({chain[0].name, *(fact.value for fact in chain)}) == one.hops + 1


def test_splits_are_disjoint_and_every_prefix_has_all_hops() -> None:
    asked = [one for split in SPLITS for one in tiny.questions(split)]
    assert len({one.key for one in asked}) == len({one.question for one in asked}) == len(asked) == 3175
    assert [len(tiny.questions(split)) for split in SPLITS] == [2539, 317, 319]
    for split in SPLITS:
        whole = Counter(one.hops for one in tiny.questions(split))
        part = Counter(one.hops for one in tiny.questions(split)[:100])
        assert whole.keys() == {1, 2, 3}
        assert all(abs(part[hops] - 100 * whole[hops] / len(tiny.questions(split))) <= 1 for hops in whole)


def test_weights_are_zipfs() -> None:
    weights = sorted(tiny.weights().values(), reverse=True)
    assert set(tiny.weights()) == {fact.id for fact in tiny.table()}
    assert sum(weights) == pytest.approx(1)
    assert weights[0] / weights[9] == pytest.approx(10) and weights[0] / weights[159] == pytest.approx(160)
    assert [*tiny.weights()][:3] != ["t0", "t1", "t2"]


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'validation'"):
        tiny.questions("valid")
