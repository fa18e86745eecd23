"""What a relation is: how its facts are told in passages, and how questions ask for them."""

from __future__ import annotations

from typing import NamedTuple


class Relation(NamedTuple):
    """A relation of entities of one kind. The middle fields are tuples of phrasings, empty where there is none.

    Placeholders in `told`: `{o}` the value, `{a_o}` with an article; `{He}`, `{His}`, `{he}`, `{his}` the subject. In
    the others: `{x}` the entity that is known, by name or by a longer description; `{a}` and `{b}`, two names.

    - `told`: sentences of the passage; a relation without any is told in its first sentence.
    - `ask`: questions for the value; `noun`: descriptions of the value.
    - `back_ask`, `back_noun`: the same for the subject where the value is known.
    - `event`: the happening that a year dates, as a noun; `when`: as a clause after "when".
    - `less`, `more`: which of two has the lower, the higher value; `is_less`, `same`: yes-no questions on two.
    - `units`: what may stand behind a number, the form used in `told` first.
    """

    kind: str
    name: str
    told: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    noun: tuple[str, ...] = ()
    back_ask: tuple[str, ...] = ()
    back_noun: tuple[str, ...] = ()
    event: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    is_less: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
