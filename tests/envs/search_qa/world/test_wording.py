"""The words of questions and passages: they do not give away which questions have no answer, and they are English."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from agentenvs.core.rng import Stream
from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.world import facts
from agentenvs.envs.search_qa.world.names import Names
from agentenvs.envs.search_qa.world.question import Question, article
from agentenvs.envs.search_qa.world.schema import RELATIONS
from agentenvs.envs.search_qa.world.world import World, make_world
from tests.envs.search_qa.world.shared import table, world


def unanswerable(question: Question) -> bool:
    return question.kind == "unanswerable"


def words_of(question: Question) -> list[str]:
    return re.findall(r"\w+", question.question.lower())


def top_precision(made: World, k: int) -> float:
    """Of the `k` test questions that a naive Bayes with add-one smoothing, fitted on train, finds likeliest to be
    unanswerable: the share that is."""
    counts = {True: Counter[str](), False: Counter[str]()}
    for question in made.questions("train"):
        counts[unanswerable(question)].update(words_of(question))
    known = len(counts[True] | counts[False])

    def score(question: Question) -> float:
        none, some = (
            sum(math.log((count[word] + 1) / (count.total() + known)) for word in words_of(question))
            for count in (counts[True], counts[False])
        )
        return none - some

    return sum(map(unanswerable, sorted(made.questions("test"), key=score, reverse=True)[:k])) / k


@pytest.mark.parametrize("seed", [0, 1])
def test_words_do_not_tell_the_unanswerable(seed: int) -> None:
    assert top_precision(world() if seed == 0 else make_world(seed), 100) <= 0.25


@pytest.mark.parametrize("splits", [SPLITS, ("test",)])
def test_neither_do_the_first_two_words(splits: tuple[str, ...]) -> None:
    asked = [question for split in splits for question in world().questions(split)]
    groups: dict[str, list[bool]] = {}
    for question in asked:
        groups.setdefault(" ".join(question.question.split()[:2]), []).append(unanswerable(question))
    large = {start: found for start, found in groups.items() if len(found) >= 20}
    assert len(large) > 5
    assert {start for start, found in large.items() if sum(found) > 0.4 * len(found)} == set()


def test_one_in_eight_facts_of_every_relation_is_untold() -> None:
    facts_of = Counter((one.kind, name) for one in table().entities for name in one.facts)
    untold = Counter((one.kind, name) for one in table().entities for name in one.untold)
    assert set(facts_of) == set(untold) == set(RELATIONS)
    assert all(abs(untold[relation] - count / 8) <= 0.5 for relation, count in facts_of.items())


def test_a_capital_and_the_trade_of_a_maker_are_never_untold() -> None:
    for region in table().of("region"):
        assert "region" not in region.link("capital").untold
    for novel in table().of("novel"):
        assert "occupation" not in novel.link("author").untold


def test_a_number_of_unknown_names_is_asked_about() -> None:
    titles = {person.title for person in table().of("person")}
    pairs = {
        pair
        for split in SPLITS
        for question in filter(unanswerable, world().questions(split))
        for pair in re.findall(r"\b([A-Z][a-z]+ [A-Z][a-z]+)\b", question.question)
    }
    first, last = ({title.split()[at] for title in titles} for at in (0, 1))
    unknown = [pair for pair in pairs - titles if pair.split()[0] in first and pair.split()[1] in last]
    assert len(unknown) > 20


# Grammar --------------------------------------------------------------------------------------------------------------


def test_titles_of_works_have_the_right_article() -> None:
    names = Names(Stream("test", "titles"))
    titles = [names.work() for _ in range(2000)]
    assert [title for title in titles if re.match(r"A [AEIO]|An [^AEIO]", title)] == []
    assert any(title.startswith("An ") for title in titles) and any(title.startswith("A ") for title in titles)


def test_article() -> None:
    assert [article(noun) for noun in ("otter", "Ember", "unicorn", "heron")] == [
        "an otter",
        "an Ember",
        "a unicorn",
        "a heron",
    ]


def test_passages_and_questions_have_the_right_articles() -> None:
    texts = [contents.partition("\n")[2] for _, contents in (*world().passages, *facts.passages())]
    texts += [question.question for split in SPLITS for question in world().questions(split)]
    for text in texts:
        assert not re.search(r"\b[Aa] [aeioAEIO]|\b[Aa]n [^aeioAEIO]", text), text


def test_a_trade_in_the_plural_takes_no_singular_verb() -> None:
    trades = {str(town.facts["craft"]) for town in table().of("town") if "craft" in town.facts}
    text = "\n".join(contents for _, contents in world().passages)
    assert trades and not re.search(rf"\b({'|'.join(sorted(trades))}) (has|is|was)\b", text)


def test_facts_put_no_singular_verb_behind_a_plural() -> None:
    text = "\n".join(contents.partition("\n")[2] for _, contents in facts.passages())
    assert "Brandenburg Concertos" in text
    assert not re.search(r"^The (?:[A-Z]\w+ )+(?:Concertos|Seasons) (?:was|is)\b", text, re.MULTILINE)
