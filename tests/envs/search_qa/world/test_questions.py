"""The questions of the world: one answer each, found again independently; where it stands; what the splits share."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.reward import exact_match
from agentenvs.envs.search_qa.scoring import holds
from agentenvs.envs.search_qa.world.mixture import BLOCK, MIXTURE
from agentenvs.envs.search_qa.world.question import Question
from agentenvs.envs.search_qa.world.table import Entity
from agentenvs.envs.search_qa.world.world import make_table, make_world
from tests.envs.search_qa.world.reader import Reader, Reading
from tests.envs.search_qa.world.shared import table, world


@cache
def reader() -> Reader:
    return Reader(table())


def asked(*kinds: str) -> list[Question]:
    return [one for split in SPLITS for one in world().questions(split) if not kinds or one.kind in kinds]


@cache
def texts() -> dict[str, str]:
    return dict(world().passages)


@cache
def titles() -> dict[str, Entity]:
    return {entity.id: entity for entity in table().entities}


def shown(value: object) -> str:
    return value.title if isinstance(value, Entity) else f"{value:,}" if isinstance(value, int) else str(value)


def answers(readings: list[Reading]) -> set[str]:
    return {shown(value) for reading in readings for value in reading.values}


def test_sizes_kinds_and_keys() -> None:
    assert [len(world().questions(split)) for split in SPLITS] == [4000, 500, 1000]
    for split in SPLITS:
        questions = world().questions(split)
        for start in range(0, len(questions), BLOCK):
            assert Counter((one.kind, one.hops) for one in questions[start : start + BLOCK]) == MIXTURE
    assert all(one.key.rpartition(".")[0] == f"{one.kind}{one.hops}" for one in asked())
    assert len({one.key for one in asked()}) == len(asked())


def test_no_two_questions_have_the_same_words_or_ask_the_same() -> None:
    assert len({one.question for one in asked()}) == len(asked())
    chains = [
        frozenset((reading.start, reading.path) for reading in reader().chains(one.question))
        for one in asked("single", "bridge")
    ]
    assert len(set(chains)) == len(chains)
    pairs = Counter((one.kind, frozenset(one.support), one.question.split()[0]) for one in asked("comparison"))
    assert max(pairs.values()) == 1


def test_an_independent_reader_finds_one_answer_to_every_chain() -> None:
    for one in asked("single", "bridge"):
        found = answers(reader().chains(one.question))
        assert len(found) == 1, (one, found)
        answer = found.pop()
        assert one.golds[0] == answer or (answer.replace(",", "") == one.golds[0] and answer.count(",") == 1), one


def test_it_finds_the_answer_to_every_pair_and_time() -> None:
    for one in asked("comparison"):
        assert reader().order(one.question) == one.golds[:1], one
    for one in asked("yesno"):
        assert reader().order(one.question) + reader().same(one.question) == one.golds, one
    for one in asked("temporal"):
        assert reader().times(one.question) == one.golds[:1], one


def test_it_finds_none_to_the_unanswerable() -> None:
    for one in asked("unanswerable"):
        assert one.golds == ("unanswerable",) and one.support == ()
        assert reader().chains(one.question) == [], one


def test_supports_are_different_passages_as_many_as_hops_and_the_last_tells_the_answer() -> None:
    for one in asked("single", "bridge", "comparison", "temporal", "yesno"):
        assert len(set(one.support)) == len(one.support) == one.hops
        if one.kind in ("single", "bridge"):
            assert holds(texts()[one.support[-1]].split("\n")[1], one.golds[:1]), one
        if one.kind == "comparison":
            assert one.golds[0] in [titles()[passage_id].title for passage_id in one.support]


def test_a_bridge_names_nothing_between_and_only_its_last_passage_tells_the_answer() -> None:
    for one in asked("bridge"):
        assert not holds(one.question, one.golds), one
        assert not any(holds(texts()[passage_id], one.golds) for passage_id in one.support[:-1]), one
        named = [
            titles()[passage_id].title
            for passage_id in one.support
            if holds(one.question, [titles()[passage_id].title])
        ]
        assert set(named) <= {titles()[one.support[0]].title}, one
        assert len({reading.start for reading in reader().chains(one.question)}) == 1


def test_answers_are_accepted_in_every_form_and_no_other_entity_of_the_pair_is() -> None:
    for one in asked():
        assert all(exact_match(gold, one.golds) == 1.0 for gold in one.golds)
    for one in asked("comparison"):
        accepted = [exact_match(titles()[passage_id].title, one.golds) for passage_id in one.support]
        assert sorted(accepted) == [0.0, 1.0], one


def test_yes_is_as_likely_as_no_and_no_constant_answer_is_likely() -> None:
    yes = Counter(one.golds[0] for one in asked("yesno"))
    assert set(yes) == {"yes", "no"} and abs(yes["yes"] / yes.total() - 0.5) < 0.06
    golds = Counter(one.golds[0] for one in asked())
    (_, first), (_, second), (_, third), (_, fourth) = golds.most_common(4)
    assert first / golds.total() == pytest.approx(0.1, abs=0.01)  # "unanswerable"
    assert second + third < 0.11 * golds.total() and fourth < 0.02 * golds.total()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_small_world_of_another_seed_is_as_sound(seed: int) -> None:
    small, there = make_world(seed, 400), Reader(make_table(seed, 400))
    for split in SPLITS:
        for one in small.questions(split):
            if one.kind in ("single", "bridge"):
                assert len(answers(there.chains(one.question))) == 1, one
            elif one.kind == "unanswerable":
                assert there.chains(one.question) == [], one
            elif one.kind == "temporal":
                assert there.times(one.question) == one.golds[:1], one
