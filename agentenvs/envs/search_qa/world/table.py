"""The table behind the world: entities, and what holds of them.

An entity has at most one value for a relation, and a fact is stated in one place only, the passage of its subject, or,
if it is untold, nowhere. So a question that follows a relation forwards has one answer at most; one that follows it
backwards (`Table.subjects`) has one at most if exactly one subject points there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Term(NamedTuple):
    """Somebody's time in office, in years."""

    person: Entity
    start: int
    end: int


@dataclass(eq=False, slots=True)
class Entity:
    """Something that has a passage.

    - `title`: of the passage, unique; `mention`: what running text calls it, which contains the title.
    - `aliases`: other names that belong to nobody else.
    - `facts`: relation -> entity, number or word; `untold`: the relations among them that no passage states.
    - `terms`: of those who headed it, one after another.
    - `culture`: index into `names.CULTURES`; `pronoun`: he, she or it.
    """

    number: int
    kind: str
    title: str
    mention: str
    culture: int
    pronoun: str = "it"
    aliases: tuple[str, ...] = ()
    facts: dict[str, Value] = field(default_factory=dict)
    untold: set[str] = field(default_factory=set)
    terms: list[Term] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The id of its passage."""
        return f"w{self.number}"

    @property
    def told(self) -> dict[str, Value]:
        """The facts that its passage states."""
        return {relation: value for relation, value in self.facts.items() if relation not in self.untold}

    def figure(self, relation: str) -> int:
        """The value of a relation to a year or another number."""
        value = self.facts[relation]
        assert isinstance(value, int)
        return value

    def link(self, relation: str) -> Entity:
        """The value of a relation to an entity."""
        value = self.facts[relation]
        assert isinstance(value, Entity)
        return value


Value = Entity | int | str


class Table:
    """All entities in the order in which they were made."""

    def __init__(self) -> None:
        self.entities: list[Entity] = []
        self._kinds: dict[str, list[Entity]] = {}
        self._having: dict[tuple[str, str], list[Entity]] = {}
        self._sharing: dict[tuple[str, str, Value], list[Entity]] = {}
        self._subjects: dict[int, dict[tuple[str, str], list[Entity]]] = {}

    def add(self, kind: str, title: str, culture: int, mention: str = "", aliases: tuple[str, ...] = ()) -> Entity:
        """A new entity without facts."""
        entity = Entity(len(self.entities), kind, title, mention or title, culture, aliases=aliases)
        self.entities.append(entity)
        self._kinds.setdefault(kind, []).append(entity)
        return entity

    def of(self, kind: str) -> Sequence[Entity]:
        """The entities of a kind."""
        return self._kinds[kind]

    def close(self) -> None:
        """Index the facts for the look-ups below; call it when all facts are in, and marked if they are untold."""
        for subject in self.entities:
            for relation, value in subject.told.items():
                self._having.setdefault((subject.kind, relation), []).append(subject)
                self._sharing.setdefault((subject.kind, relation, value), []).append(subject)
            for relation, value in subject.facts.items():
                if isinstance(value, Entity):
                    found = self._subjects.setdefault(value.number, {})
                    found.setdefault((subject.kind, relation), []).append(subject)

    def having(self, kind: str, relation: str) -> Sequence[Entity]:
        """The entities of a kind of which the relation is told."""
        return self._having[kind, relation]

    def sharing(self, kind: str, relation: str, value: Value) -> Sequence[Entity]:
        """Those of them that have this value."""
        return self._sharing[kind, relation, value]

    def subjects(self, entity: Entity) -> dict[tuple[str, str], list[Entity]]:
        """(kind, relation) -> the subjects of that kind whose relation, told or not, has this entity as its value."""
        return self._subjects.get(entity.number, {})
