"""How hard the world is to search: recall of an independent BM25 with the plain question, and with titles."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from agentenvs.envs.search_qa.world import facts
from agentenvs.envs.search_qa.world.question import Question
from tests.envs.search_qa.world.okapi import Okapi
from tests.envs.search_qa.world.shared import world


@cache
def index() -> Okapi:
    """Over the world and the facts, as they are searched together."""
    return Okapi((*world().passages, *facts.passages()))


def recall(questions: Iterable[Question]) -> tuple[float, float]:
    """The shares of the questions of which all supports, and of which any, are in the top 3."""
    found = [
        [passage_id in index().top(one.question, 3) for passage_id in one.support] for one in questions if one.support
    ]
    return sum(map(all, found)) / len(found), sum(map(any, found)) / len(found)


def of(kind: str, hops: int) -> list[Question]:
    return [one for one in world().questions("test") if (one.kind, one.hops) == (kind, hops)]


def test_a_title_finds_its_passage() -> None:
    found = [
        passage_id in index().top(contents.split("\n")[0], 3)
        for passage_id, contents in (*world().passages, *facts.passages())
    ]
    assert sum(found) > 0.99 * len(found)


def test_the_question_alone_finds_what_single_questions_need() -> None:
    assert recall(of("single", 1))[0] > 0.85
    assert recall(of("temporal", 1))[0] > 0.75


def test_it_finds_the_first_passage_of_a_bridge_and_rarely_the_rest() -> None:
    single = recall(of("single", 1))[0]
    for hops, most in ((2, 0.1), (3, 0.02), (4, 0.02)):
        whole, any_of_it = recall(of("bridge", hops))
        assert whole <= most < single and any_of_it > 0.7


def test_it_finds_both_of_most_pairs() -> None:
    assert recall(of("comparison", 2))[0] > 0.7
