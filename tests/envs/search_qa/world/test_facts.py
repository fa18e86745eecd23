"""The real-world facts: form, aliases, splits. That they are true, a reader checks."""

from __future__ import annotations

import inspect

import pytest

from agentenvs.core.errors import UnknownName
from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.reward import exact_match
from agentenvs.envs.search_qa.scoring import holds
from agentenvs.envs.search_qa.world import facts
from tests.envs.search_qa.world.okapi import Okapi

ASKED = [one for split in SPLITS for one in facts.questions(split)]
TEXTS = dict(facts.passages())


def test_every_passage_has_one_question_and_tells_the_answer() -> None:
    assert len(TEXTS) == len(ASKED) == 151
    assert sorted(one.support for one in ASKED) == sorted((passage_id,) for passage_id in TEXTS)
    for one in ASKED:
        assert holds(TEXTS[one.support[0]].split("\n")[1], one.golds), one
        assert one.kind == "fact" and one.hops == 1 and one.question.endswith("?")
        assert all(exact_match(gold, one.golds) == 1.0 for gold in one.golds)
        assert not holds(one.question, one.golds), one


def test_titles_and_questions_differ() -> None:
    assert len({contents.split("\n")[0] for contents in TEXTS.values()}) == len(TEXTS)
    assert len({one.question for one in ASKED}) == len({one.key for one in ASKED}) == len(ASKED)


def test_a_quarter_trains_a_quarter_validates_and_half_tests() -> None:
    assert [len(facts.questions(split)) for split in SPLITS] == [38, 38, 75]
    for split in SPLITS:
        topics = " ".join(one.question for one in facts.questions(split))
        assert all(word in topics for word in ("capital", "symbol", "Who wrote", "year", "currency", "language"))


def test_questions_find_their_passage() -> None:
    index = Okapi(facts.passages())
    assert sum(one.support[0] in index.top(one.question, 3) for one in ASKED) >= 0.97 * len(ASKED)


def test_the_module_is_compact() -> None:
    assert len(inspect.getsource(facts).encode()) < 25_000


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'train'"):
        facts.questions("trein")
