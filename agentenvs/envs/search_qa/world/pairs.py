"""Questions on two entities of one kind: which is first or larger (comparison), and whether something holds (yesno)."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.draft import Book, Draft, names_of
from agentenvs.envs.search_qa.world.relation import Relation
from agentenvs.envs.search_qa.world.schema import RELATIONS
from agentenvs.envs.search_qa.world.table import Entity, Table

_ORDERED = [relation for relation in RELATIONS.values() if relation.less]
_SHARED = [relation for relation in RELATIONS.values() if relation.same]


def ask_comparison(book: Book, stream: Stream) -> Draft | None:
    """Which of two has the lower or the higher value; None where the draw gives no such pair."""
    relation = stream.choice(_ORDERED)
    a, b = _two(book.table, relation, stream)
    if a.facts[relation.name] == b.facts[relation.name]:
        return None
    lower = a if a.figure(relation.name) < b.figure(relation.name) else b
    forms, right = stream.choice(((relation.less, lower), (relation.more, a if lower is b else b)))
    question = stream.choice(forms).format(a=a.mention, b=b.mention)
    return Draft(question, names_of(right), (a, b), _sign("order", relation, a, b))


def ask_yes_no(book: Book, stream: Stream) -> Draft | None:
    """Whether one value is lower than another, or both are the same; yes as often as no."""
    yes = stream.below(2) == 0
    make = stream.choice((_lower, _same))
    while (draft := make(book.table, stream, yes)) is None:
        pass
    return draft


def _lower(table: Table, stream: Stream, yes: bool) -> Draft | None:
    relation = stream.choice(_ORDERED)
    a, b = _two(table, relation, stream)
    if a.facts[relation.name] == b.facts[relation.name]:
        return None
    if (a.figure(relation.name) < b.figure(relation.name)) != yes:
        a, b = b, a
    question = stream.choice(relation.is_less).format(a=a.mention, b=b.mention)
    return Draft(question, ("yes" if yes else "no",), (a, b), _sign("order", relation, a, b))


def _same(table: Table, stream: Stream, yes: bool) -> Draft | None:
    relation = stream.choice(_SHARED)
    a = stream.choice(table.having(relation.kind, relation.name))
    value = a.facts[relation.name]
    b = stream.choice(
        table.sharing(relation.kind, relation.name, value) if yes else table.having(relation.kind, relation.name)
    )
    if a is b or (b.facts[relation.name] == value) != yes:
        return None
    question = stream.choice(relation.same).format(a=a.mention, b=b.mention)
    return Draft(question, ("yes" if yes else "no",), (a, b), _sign("same", relation, a, b))


def _two(table: Table, relation: Relation, stream: Stream) -> tuple[Entity, Entity]:
    found = table.having(relation.kind, relation.name)
    return stream.choice(found), stream.choice(found)


def _sign(what: str, relation: Relation, a: Entity, b: Entity) -> tuple[object, ...]:
    return (what, relation.kind, relation.name, *sorted((a.number, b.number)))
