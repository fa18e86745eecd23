"""The table and its passages: consistent in time and place, each fact told once, names of their own."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.envs.search_qa.reward import normalise
from agentenvs.envs.search_qa.world import facts, tiny
from agentenvs.envs.search_qa.world.prose import MAX_WORDS, MIN_WORDS, shown
from agentenvs.envs.search_qa.world.schema import OFFICES, RELATIONS
from agentenvs.envs.search_qa.world.table import Entity, Table
from agentenvs.envs.search_qa.world.world import make_table, make_world
from tests.envs.search_qa.world.shared import table, world

MAKERS = {
    "novel": "author",
    "painting": "painter",
    "opera": "composer",
    "ship": "captain",
    "battle": "victor",
    "expedition": "leader",
    "mineral": "discoverer",
    "flower": "discoverer",
}


def text_of(entity: Entity) -> str:
    passage_id, contents = world().passages[entity.number]
    assert passage_id == entity.id
    return contents.partition("\n")[2]


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), size=st.integers(400, 900))
def test_every_world_is_consistent(seed: int, size: int) -> None:
    made = make_table(seed, size)
    assert len(made.entities) == size
    assert [entity.number for entity in made.entities] == list(range(size))
    titles = Counter(normalise(entity.title) for entity in made.entities)
    assert max(titles.values()) == 1
    check_people(made)
    check_makers(made)
    check_offices(made)
    check_places(made)


def check_people(made: Table) -> None:
    for person in made.of("person"):
        born, died = person.figure("born"), person.figure("died")
        assert born + 25 <= died <= born + 100
        for name, pronoun in (("mother", "she"), ("father", "he")):
            if name in person.facts:
                parent = person.link(name)
                assert (
                    parent.pronoun == pronoun
                    and 20 <= born - parent.figure("born") <= 42
                    and parent.figure("died") > born
                )
                assert parent.title.split()[1] == person.title.split()[1]
        assert not {"mother", "father"} <= set(person.facts)
        if "spouse" in person.facts:
            spouse = person.link("spouse")
            assert "spouse" not in spouse.facts and abs(spouse.figure("born") - born) <= 8
        if "teacher" in person.facts:
            assert (
                person.link("teacher").figure("born") <= born - 12 and person.link("teacher").figure("died") > born + 18
            )
        if "school" in person.facts:
            assert person.link("school").figure("founded") <= born + 18
        if "employer" in person.facts:
            assert person.link("employer").figure("founded") < died
    married = Counter(one.link("spouse").number for one in made.of("person") if "spouse" in one.facts)
    assert not married or max(married.values()) == 1


def check_makers(made: Table) -> None:
    for kind, maker, year in (
        *((kind, maker, "year") for kind, maker in MAKERS.items()),
        *((kind, "founder", "founded") for kind in ("school", "company", "museum")),
        ("mountain", "climber", "climbed"),
    ):
        for one in made.of(kind):
            person = one.link(maker)
            assert person.figure("born") + 18 <= one.figure(year) <= person.figure("died"), one.title
            for company in (one.link(name) for name in ("publisher", "builder") if name in one.facts):
                assert company.figure("founded") <= one.figure(year)


def check_offices(made: Table) -> None:
    for kind in OFFICES:
        for headed in made.of(kind):
            for at, (person, start, end) in enumerate(headed.terms):
                assert person.figure("born") + 24 <= start < end - 3 and end < person.figure("died")
                assert at == 0 or headed.terms[at - 1].end == start
            people = [term.person.number for term in headed.terms]
            assert len(set(people)) == len(people)
            assert kind == "region" or not headed.terms or headed.terms[0].start == headed.figure("founded")


def check_places(made: Table) -> None:
    for region in made.of("region"):
        assert region.link("capital").link("region") is region
    for river in made.of("river"):
        assert river.link("source").kind == "mountain" and river.link("mouth").kind == "region"


def test_passages_hold_30_to_100_words_under_a_title_of_their_own() -> None:
    assert len(world().passages) == 4000
    assert [passage_id for passage_id, _ in world().passages] == [f"w{number}" for number in range(4000)]
    for entity, (_, contents) in zip(table().entities, world().passages, strict=True):
        title, text = contents.split("\n")
        assert title == f'"{entity.title}"' and entity.title in text and entity.title in entity.mention
        assert MIN_WORDS <= len(text.split()) <= MAX_WORDS, contents
        assert "{" not in text and "  " not in text and text.endswith(".")


def test_titles_differ_after_normalisation_and_from_those_of_the_other_data() -> None:
    others = [contents.split("\n")[0] for _, contents in (*facts.passages(), *tiny.passages())]
    own = Counter(normalise(entity.title) for entity in table().entities)
    assert max(own.values()) == 1
    assert not set(own) & set(map(normalise, others))
    ids = [passage_id for passage_id, _ in (*world().passages, *facts.passages(), *tiny.passages())]
    assert len(set(ids)) == len(ids)


def test_every_fact_is_told_by_its_passage() -> None:
    for entity in table().entities:
        text = text_of(entity)
        for name, value in entity.told.items():
            told = shown(RELATIONS[entity.kind, name], value)
            assert re.search(rf"(?<!\w){re.escape(told)}(?!\w)", text, re.IGNORECASE), (name, text)
        for person, start, end in entity.terms:
            assert f"{person.mention} ({start} to {end})" in text


def test_no_passage_tells_what_is_not_in_the_table() -> None:
    people = {person.title: person.number for person in table().of("person")}
    for entity in table().entities:
        mentioned = {value.number for value in entity.told.values() if isinstance(value, Entity)}
        mentioned |= {term.person.number for term in entity.terms}
        for pair in re.findall(r"(?=\b([A-Z][a-z]+ [A-Z][a-z]+)\b)", text_of(entity)):
            assert pair not in people or people[pair] in {*mentioned, entity.number}, text_of(entity)


def test_no_passage_tells_an_untold_fact() -> None:
    for entity in table().entities:
        others = " ".join(shown(RELATIONS[entity.kind, name], value) for name, value in entity.told.items())
        others += " ".join(f"{term.person.mention} {term.start} {term.end}" for term in entity.terms)
        for name in entity.untold:
            value = re.escape(shown(RELATIONS[entity.kind, name], entity.facts[name]))
            if not re.search(rf"\b{value}\b", f"{others} {entity.mention}"):
                assert not re.search(rf"\b{value}\b", text_of(entity)), (name, text_of(entity))


def test_names_are_shared_so_that_search_is_not_trivial() -> None:
    surnames = Counter(person.title.split()[1] for person in table().of("person"))
    assert sum(count for count in surnames.values() if count > 1) > 0.9 * len(table().of("person"))
    towns = {town.title for town in table().of("town")}
    assert sum(river.aliases[0] in towns for river in table().of("river")) > 20
    assert sum(bool(towns & set(one.title.split())) for kind in OFFICES for one in table().of(kind)) > 50
    for kind in ("school", "museum", "company"):
        assert all(one.link("town").title not in one.title for one in table().of(kind))


def test_an_alias_belongs_to_one_entity_of_its_kind() -> None:
    owners = Counter((entity.kind, alias) for entity in table().entities for alias in entity.aliases)
    assert max(owners.values()) == 1
    alone = [person for person in table().of("person") if person.aliases]
    assert all(person.aliases == (person.title.split()[1],) for person in alone) and alone


def test_seeds_give_different_worlds_and_the_same_seed_the_same() -> None:
    one, again, other, larger = make_world(5, 400), make_world(5, 400), make_world(6, 400), make_world(5, 401)
    assert one == again
    titles = [{contents.split("\n")[0] for _, contents in made.passages} for made in (one, other, larger)]
    assert len(titles[0] & titles[1]) < 8 and len(titles[0] & titles[2]) < 8
    asked = [{question.question for question in made.questions("train")} for made in (one, other)]
    assert not asked[0] & asked[1]


@pytest.mark.parametrize("size", [399, 20_001, "many", 4000.0, None])
def test_a_size_out_of_range_is_refused(size: object) -> None:
    with pytest.raises(ConfigError, match=r"size: expected a whole number from 400 to 20000, got"):
        make_world(0, size)  # type: ignore[arg-type]


def test_a_wrong_seed_or_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed: expected"):
        make_world(-1)
    with pytest.raises(UnknownName, match="did you mean 'test'"):
        world().questions("tests")
