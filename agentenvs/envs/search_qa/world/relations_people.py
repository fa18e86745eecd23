"""The relations of people."""

from __future__ import annotations

from agentenvs.envs.search_qa.world.relation import Relation


def _parent(name: str) -> Relation:
    return Relation(
        "person",
        name,
        told=(f"{{His}} {name} was {{o}}.", f"{{He}} was a child of {{o}}, {{his}} {name}."),
        ask=(f"Who was the {name} of {{x}}?", f"What was the name of the {name} of {{x}}?"),
        noun=(f"the {name} of {{x}}",),
        back_ask=("Who was the child of {x}?", "What was the name of the child of {x}?"),
        back_noun=("the child of {x}",),
    )


RELATIONS = (
    Relation(
        "person",
        "born",
        ask=("In which year was {x} born?", "When was {x} born?", "What is the year of birth of {x}?"),
        event=("the birth of {x}",),
        when=("{x} was born",),
        less=("Who was born first, {a} or {b}?", "Which of the two was older, {a} or {b}?"),
        more=("Who was born later, {a} or {b}?", "Which of the two was younger, {a} or {b}?"),
        is_less=("Was {a} born before {b}?", "Was {a} older than {b}?"),
    ),
    Relation(
        "person",
        "died",
        ask=("In which year did {x} die?", "When did {x} die?"),
        event=("the death of {x}",),
        when=("{x} died",),
        less=("Who died first, {a} or {b}?", "Whose death came earlier, that of {a} or that of {b}?"),
        more=("Who died later, {a} or {b}?",),
        is_less=("Did {a} die before {b}?",),
    ),
    Relation(
        "person",
        "occupation",
        ask=("What was the occupation of {x}?", "What did {x} do for a living?"),
        same=("Did {a} and {b} have the same occupation?", "Were {a} and {b} of the same profession?"),
    ),
    Relation(
        "person",
        "birthplace",
        told=("{He} was born in {o}.", "{His} birthplace was {o}.", "{He} came into the world in {o}."),
        ask=("Where was {x} born?", "In which town was {x} born?", "What was the birthplace of {x}?"),
        noun=("the birthplace of {x}", "the town where {x} was born"),
        same=("Were {a} and {b} born in the same town?", "Did {a} and {b} have the same birthplace?"),
    ),
    Relation(
        "person",
        "deathplace",
        told=("{He} died in {o}.", "The last years of {his} life passed in {o}, where {he} died."),
        ask=("Where did {x} die?", "In which town did {x} die?"),
        noun=("the town where {x} died",),
        same=("Did {a} and {b} die in the same town?",),
    ),
    _parent("mother"),
    _parent("father"),
    Relation(
        "person",
        "spouse",
        told=("{He} married {o}.", "{He} was married to {o}."),
        ask=("Who was married to {x}?", "Whom did {x} marry?"),
        noun=("the person who was married to {x}", "the spouse of {x}"),
        back_ask=("Who was married to {x}?", "Whom did {x} marry?"),
        back_noun=("the person who was married to {x}", "the spouse of {x}"),
    ),
    Relation(
        "person",
        "school",
        told=("{He} studied at {o}.", "{He} attended {o}.", "{His} education took place at {o}."),
        ask=("Where did {x} study?", "Which school did {x} attend?"),
        noun=("the school that {x} attended", "the school where {x} studied"),
        same=("Did {a} and {b} attend the same school?", "Did {a} and {b} study at the same school?"),
    ),
    Relation(
        "person",
        "teacher",
        told=("{He} learned the craft from {o}.", "{He} was a pupil of {o}."),
        ask=("Who was the teacher of {x}?", "Who taught {x}?", "Whose pupil was {x}?"),
        noun=("the teacher of {x}",),
        back_ask=("Who was the pupil of {x}?", "Whom did {x} teach?"),
        back_noun=("the pupil of {x}",),
        same=("Did {a} and {b} have the same teacher?",),
    ),
    Relation(
        "person",
        "employer",
        told=("For some years {he} worked for {o}.", "{He} was employed by {o} for a time."),
        ask=("Which company did {x} work for?", "Which company employed {x}?"),
        noun=("the company that employed {x}", "the company for which {x} worked"),
        same=("Did {a} and {b} work for the same company?",),
    ),
    Relation(
        "person",
        "instrument",
        told=("{He} played the {o}.", "In the evenings {he} liked to play the {o}."),
        ask=("Which musical instrument did {x} play?", "What instrument did {x} play?"),
    ),
    Relation(
        "person",
        "collection",
        told=("{He} left behind a collection of {o}.", "{He} collected {o}."),
        ask=("What did {x} collect?", "What kind of things did {x} collect?"),
    ),
)
