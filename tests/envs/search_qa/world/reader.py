"""An independent way to the answers: it reads a question by the phrasings of the schema and looks through the table.

Nothing is shared with the makers of questions but the table and the phrasings. Every reading of a question counts, so a
phrasing that can be understood in two ways shows up as two answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agentenvs.envs.search_qa.world.relation import Relation
from agentenvs.envs.search_qa.world.schema import OFFICES, RELATIONS
from agentenvs.envs.search_qa.world.table import Entity, Table

OFFICE = r"(?:governor|rector|director)"


class Reading(NamedTuple):
    """One way to understand a phrase: where it starts, the relations it follows, what it may stand for."""

    start: str
    path: tuple[tuple[str, str, bool], ...]
    values: tuple[Any, ...]


class Reader:
    """Answers questions on a table."""

    def __init__(self, table: Table) -> None:
        self.named = {entity.mention: entity for entity in table.entities}
        self.subjects: dict[tuple[str, str, Any], list[Entity]] = {}
        for entity in table.entities:
            for name, value in entity.told.items():
                self.subjects.setdefault((entity.kind, name, value), []).append(entity)
        self._asks = [*_templates("ask", False), *_templates("back_ask", True)]
        self._nouns = [*_templates("noun", False), *_templates("back_noun", True)]
        self._known: dict[str, list[Reading]] = {}

    def chains(self, question: str) -> list[Reading]:
        """The readings as a question that follows relations from a named entity, of those that have an answer."""
        return [*self._readings(question, self._asks)]

    def order(self, question: str) -> tuple[str, ...]:
        """The answers to a question on which of two is first, or whether one is."""
        found = set()
        for relation in RELATIONS.values():
            for field, answer in (("less", 0), ("more", -1), ("is_less", None)):
                for form in getattr(relation, field):
                    for a, b in self._two(form, question, relation):
                        low_to_high = sorted((a, b), key=lambda entity: entity.facts[relation.name])
                        found.add(("no", "yes")[low_to_high[0] is a] if answer is None else low_to_high[answer].title)
        return tuple(sorted(found))

    def same(self, question: str) -> tuple[str, ...]:
        """The answers to whether two have a value in common."""
        return tuple(
            sorted(
                {
                    ("no", "yes")[a.facts[relation.name] == b.facts[relation.name]]
                    for relation in RELATIONS.values()
                    for form in relation.same
                    for a, b in self._two(form, question, relation)
                }
            )
        )

    def times(self, question: str) -> tuple[str, ...]:
        """The answers to a temporal question."""
        return tuple(sorted({*self._office(question), *self._when(question), *self._span(question)}))

    # Chains -----------------------------------------------------------------------------------------------------------

    def _readings(self, text: str, templates: list[tuple[Relation, bool, str, str]]) -> Iterator[Reading]:
        for relation, back, before, after in templates:
            if text.startswith(before) and text.endswith(after) and len(text) > len(before) + len(after):
                for inner in self._described(text[len(before) : len(text) - len(after)]):
                    yield from self._followed(inner, relation, back)

    def _described(self, phrase: str) -> list[Reading]:
        if phrase not in self._known:
            named = [Reading(phrase, (), (self.named[phrase],))] if phrase in self.named else []
            self._known[phrase] = [*named, *self._readings(phrase, self._nouns)]
        return self._known[phrase]

    def _followed(self, inner: Reading, relation: Relation, back: bool) -> Iterator[Reading]:
        values: list[Any] = []
        for value in inner.values:
            if back:
                values += self.subjects.get((relation.kind, relation.name, value), [])
            elif isinstance(value, Entity) and value.kind == relation.kind and relation.name in value.told:
                values.append(value.told[relation.name])
        if values:
            path = (*inner.path, (relation.kind, relation.name, back))
            yield Reading(inner.start, path, tuple(dict.fromkeys(values)))

    # Pairs and times --------------------------------------------------------------------------------------------------

    def _two(self, form: str, question: str, relation: Relation) -> Iterator[tuple[Entity, Entity]]:
        before, joint, after = re.split(r"\{[ab]\}", form)
        inner = question[len(before) : len(question) - len(after)]
        if question == f"{before}{inner}{after}":
            for a, b in _split(inner, joint):
                pair = self.named.get(a), self.named.get(b)
                if all(one and one.kind == relation.kind and relation.name in one.told for one in pair):
                    yield pair  # type: ignore[misc]

    def _office(self, question: str) -> Iterator[str]:
        forms = (
            rf"Who was the {OFFICE} of (?P<x>.+) in (?P<year>\d+)\?",
            rf"In (?P<year>\d+), who held the office of {OFFICE} of (?P<x>.+)\?",
            rf"Who followed (?P<before>.+) as {OFFICE} of (?P<x>.+)\?",
            rf"Who became {OFFICE} of (?P<x>.+) after (?P<before>.+)\?",
            rf"Who was {OFFICE} of (?P<x>.+) right before (?P<after>.+)\?",
            rf"Whom did (?P<after>.+) succeed as {OFFICE} of (?P<x>.+)\?",
            rf"For how many years was (?P<long>.+) {OFFICE} of (?P<x>.+)\?",
            rf"How many years did (?P<long>.+) spend as {OFFICE} of (?P<x>.+)\?",
        )
        for match in filter(None, (re.fullmatch(form, question) for form in forms)):
            groups = match.groupdict()
            terms = self.named[match["x"]].terms if match["x"] in self.named else []
            for at, (person, start, end) in enumerate(terms):
                if "year" in groups and start <= int(match["year"]) <= end:
                    yield person.title
                if "before" in groups and at and terms[at - 1].person.mention == match["before"]:
                    yield person.title
                if "after" in groups and at + 1 < len(terms) and terms[at + 1].person.mention == match["after"]:
                    yield person.title
                if groups.get("long") == person.mention:
                    yield str(end - start)

    def _when(self, question: str) -> Iterator[str]:
        forms = (
            rf"Who was the {OFFICE} of (?P<x>.+?) when (?P<when>.+)\?",
            rf"When (?P<when>.+), who was the {OFFICE} of (?P<x>.+)\?",
        )
        for match in filter(None, (re.fullmatch(form, question) for form in forms)):
            headed = self.named.get(match["x"])
            for year in self._years(match["when"], "when") if headed and headed.kind in OFFICES else ():
                yield from (term.person.title for term in headed.terms if term.start <= year <= term.end)

    def _span(self, question: str) -> Iterator[str]:
        forms = (
            r"How many years passed between (.+?) and (.+)\?",
            r"How many years lie between (.+?) and (.+)\?",
            r"By how many years did (.+?) precede (.+)\?",
        )
        for form in forms:
            if match := re.fullmatch(form, question):
                joint = " precede " if "precede" in form else " and "
                for first, second in _split(f"{match[1]}{joint}{match[2]}", joint):
                    for one in self._years(first, "event"):
                        yield from (str(other - one) for other in self._years(second, "event"))

    def _years(self, phrase: str, field: str) -> Iterator[int]:
        for relation, _, before, after in _templates(field, False):
            inner = phrase[len(before) : len(phrase) - len(after)]
            if phrase == f"{before}{inner}{after}" and inner in self.named:
                entity = self.named[inner]
                if entity.kind == relation.kind and relation.name in entity.told:
                    yield entity.figure(relation.name)


def _split(text: str, joint: str) -> Iterator[tuple[str, str]]:
    """Every way to take the text apart at one of its joints."""
    parts = text.split(joint)
    for at in range(1, len(parts)):
        yield joint.join(parts[:at]), joint.join(parts[at:])


def _templates(field: str, back: bool) -> list[tuple[Relation, bool, str, str]]:
    return [
        (relation, back, *form.split("{x}")) for relation in RELATIONS.values() for form in getattr(relation, field)
    ]
