"""Temporal questions: who held an office when, who came before or after, how many years passed."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.draft import Book, Draft, names_of, plain, stands, years_of
from agentenvs.envs.search_qa.world.relation import Relation
from agentenvs.envs.search_qa.world.schema import OFFICES, RELATIONS
from agentenvs.envs.search_qa.world.table import Entity

_DATED = [relation for relation in RELATIONS.values() if relation.event]
_HAPPENING = [relation for relation in _DATED if relation.when]
_TRIES = 300  # to find an event in a term; about one in 40 is
_IN = ("Who was the {office} of {x} in {year}?", "In {year}, who held the office of {office} of {x}?")
_AFTER = ("Who followed {p} as {office} of {x}?", "Who became {office} of {x} after {p}?")
_BEFORE = ("Who was {office} of {x} right before {p}?", "Whom did {p} succeed as {office} of {x}?")
_LONG = ("For how many years was {p} {office} of {x}?", "How many years did {p} spend as {office} of {x}?")
_WHEN = ("Who was the {office} of {x} when {when}?", "When {when}, who was the {office} of {x}?")
_SPAN = (
    "How many years passed between {first} and {second}?",
    "How many years lie between {first} and {second}?",
    "By how many years did {first} precede {second}?",
)


def ask_office(book: Book, stream: Stream) -> Draft | None:
    """On the list of heads in one passage."""
    headed, at = _term(book, stream)
    term = headed.terms[at]
    form, subject, golds = stream.choice(
        (
            (_IN, term, names_of(term.person)),
            (_AFTER, headed.terms[at - 1], names_of(term.person)),
            (_BEFORE, term, names_of(headed.terms[at - 1].person)),
            (_LONG, term, years_of(term.end - term.start)),
        )
    )
    if at == 0 and form in (_AFTER, _BEFORE):
        return None
    year = stream.integer(term.start + 1, term.end - 1)
    question = stream.choice(form).format(
        office=OFFICES[headed.kind], x=headed.mention, p=subject.person.mention, year=year
    )
    return _checked(book, Draft(question, golds, (headed,), ("office", form[0], headed.number, at)))


def ask_office_when(book: Book, stream: Stream) -> Draft | None:
    """Who was in office in the year of an event that another passage dates; None where the tries find none."""
    headed, at = _term(book, stream)
    term = headed.terms[at]
    tries = (_dated(book, stream, _HAPPENING) for _ in range(_TRIES))
    met = next(((one, dated) for one, dated in tries if term.start < one.figure(dated.name) < term.end), None)
    if met is None:
        return None
    event, relation = met
    when = stream.choice(relation.when).format(x=event.mention)
    question = stream.choice(_WHEN).format(office=OFFICES[headed.kind], x=headed.mention, when=when)
    sign = ("office when", headed.number, at, event.number, relation.name)
    return _checked(book, Draft(question, names_of(term.person), (event, headed), sign))


def ask_span(book: Book, stream: Stream) -> Draft | None:
    """The years between two events, each dated in a passage of its own."""
    (one, first), (other, second) = sorted(
        (_dated(book, stream, _DATED) for _ in range(2)), key=lambda dated: dated[0].figure(dated[1].name)
    )
    years = other.figure(second.name) - one.figure(first.name)
    if years == 0 or one is other:
        return None
    question = stream.choice(_SPAN).format(
        first=stream.choice(first.event).format(x=one.mention),
        second=stream.choice(second.event).format(x=other.mention),
    )
    return Draft(question, years_of(years), (one, other), ("span", one.number, first.name, other.number, second.name))


def _term(book: Book, stream: Stream) -> tuple[Entity, int]:
    """A random term: what is headed, and the place in its list."""
    while True:
        headed = stream.choice(book.table.of(stream.choice(tuple(OFFICES))))
        if headed.terms:
            return headed, stream.below(len(headed.terms))


def _dated(book: Book, stream: Stream, relations: list[Relation]) -> tuple[Entity, Relation]:
    """A random entity whose year is told."""
    relation = stream.choice(relations)
    return stream.choice(book.table.having(relation.kind, relation.name)), relation


def _checked(book: Book, draft: Draft) -> Draft | None:
    """The draft, unless the question or an earlier passage gives the answer away."""
    given = stands(draft.golds, plain(draft.question)) or any(
        book.holds(one, draft.golds) for one in draft.support[:-1]
    )
    return None if given else draft
