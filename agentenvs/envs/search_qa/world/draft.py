"""What the makers of questions share: a draft, its checks, and the accepted forms of a value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from agentenvs.envs.search_qa.world.question import Passage
from agentenvs.envs.search_qa.world.relation import Relation
from agentenvs.envs.search_qa.world.table import Entity, Table, Value

_find = re.compile(r"\w+").findall


class Draft(NamedTuple):
    """A question before it has a key. `sign` is what it asks, however it is worded: no two questions have the same."""

    question: str
    golds: tuple[str, ...]
    support: tuple[Entity, ...]
    sign: tuple[object, ...]


class Book:
    """The table with the texts of its passages, for checks on what stands where."""

    def __init__(self, table: Table, passages: Iterable[Passage]) -> None:
        self.table = table
        self._texts = [plain(contents) for _, contents in passages]
        self._titles = {plain(entity.title) for entity in table.entities}

    def holds(self, entity: Entity, golds: Iterable[str]) -> bool:
        """Whether the passage of the entity contains one of the golds, as whole words."""
        return stands(golds, self._texts[entity.number])

    def is_title(self, name: str) -> bool:
        """Whether a passage has the title."""
        return plain(name) in self._titles


def plain(text: str) -> str:
    """The words of a text in lower case, each between blanks."""
    return f" {' '.join(_find(text.lower()))} "


def stands(names: Iterable[str], text: str) -> bool:
    """Whether one of the names stands in a text that `plain` made."""
    return any(plain(name) in text for name in names)


def names_of(entity: Entity) -> tuple[str, ...]:
    """The title and what else a reader would accept for it."""
    return (entity.title, *entity.aliases)


def golds_of(relation: Relation, value: Value) -> tuple[str, ...]:
    """The accepted forms of a value. A number may stand with or without commas and unit."""
    if isinstance(value, Entity):
        return names_of(value)
    if not relation.units:
        return (str(value),)
    bare = dict.fromkeys((f"{value:,}", str(value)))
    return (*bare, *(f"{value:,} {unit}" for unit in relation.units))


def years_of(count: int) -> tuple[str, ...]:
    """The accepted forms of a span of years."""
    return (str(count), "1 year" if count == 1 else f"{count} years")
