"""From the table to passages: a first sentence, one a fact in any order, something vague where that is short."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.question import Passage, article, capital, passage
from agentenvs.envs.search_qa.world.relation import Relation
from agentenvs.envs.search_qa.world.schema import OFFICES, RELATIONS
from agentenvs.envs.search_qa.world.table import Entity, Term, Value

MIN_WORDS, MAX_WORDS = 30, 100
_PRONOUNS = {
    "he": {"He": "He", "His": "His", "he": "he", "his": "his"},
    "she": {"He": "She", "His": "Her", "he": "she", "his": "her"},
    "it": {"He": "It", "His": "Its", "he": "it", "his": "its"},
}
_FIRST = {
    "region": ("{name} is a region.", "{name} is one of the old regions of the country."),
    "town": ("{name} is a town.", "{name} is a market town.", "The town of {name} is older than it looks."),
    "river": ("{The} is a river with few bends.", "{The} is a river that freezes in hard winters."),
    "mountain": ("{name} is a mountain.", "{name} is a peak that can be seen from far away."),
    "school": ("{The} is a school.", "{The} is a school of good repute."),
    "company": ("{name} is a company.", "{name} is a family company."),
    "museum": ("{The} is a museum.", "{The} is a museum with a varied collection."),
    "novel": ("{name} is a novel.", "{name} is a novel in three parts."),
    "painting": ("{name} is a painting.", "{name} is an oil painting."),
    "opera": ("{name} is an opera.", "{name} is a comic opera."),
    "ship": ("The {name} was a ship.", "The {name} was a sailing ship with a long career."),
    "battle": ("{The} was a battle.", "{The} was a battle that ended a long quarrel."),
    "expedition": ("{The} was an expedition.", "{The} was a journey into little known country."),
    "mineral": ("{name} is a mineral.", "{name} is a rare mineral."),
    "flower": ("The {name} is a flower.", "The {name} is a wild flower."),
}
#: Of people it depends on which of the years of birth and death are told.
_LIVED = {
    (True, True): (
        "{name} ({born} to {died}) was {who}.",
        "{name}, born in {born}, was {who} and died in {died}.",
        "{name} was {who} who lived from {born} to {died}.",
    ),
    (True, False): ("{name}, born in {born}, was {who}.", "{name} was {who} who was born in {born}."),
    (False, True): ("{name}, who died in {died}, was {who}.", "{name} was {who} and died in {died}."),
    (False, False): ("{name} was {who}.", "{name} was {who} of times past."),
}
_SOMEBODY = "somebody of note"
_VAGUE = {
    "person": (
        "Few letters of {name} survive.",
        "Neighbours remembered {name} as patient and a little stubborn.",
        "A street and a small square bear the name of {name} today.",
        "Most papers of {name} were lost in a fire.",
    ),
    "place": (
        "Travellers of all ages have written about {name}.",
        "In winter {name} is often hidden by fog.",
        "Several songs and proverbs mention {name}.",
        "Old maps spell {name} in more than one way.",
    ),
    "thing": (
        "Much has been written about {name}, and not all of it is true.",
        "Visitors and scholars still argue about {name}.",
        "There are several legends about {name}, most of them late.",
        "A short guide to {name} appeared some time ago and is long out of print.",
    ),
}
_PLACES = {"region", "town", "river", "mountain"}


def write(entity: Entity, stream: Stream) -> Passage:
    """The passage of an entity. It states every fact of the entity that is told once, and no other fact."""
    sentences = [
        _sentence(entity, RELATIONS[entity.kind, relation], value, stream)
        for relation, value in entity.told.items()
        if RELATIONS[entity.kind, relation].told
    ]
    if entity.terms:
        sentences.append(_heads(OFFICES[entity.kind], entity.terms, stream))
    stream.shuffle(sentences)
    sentences.insert(0, _first(entity, stream))
    vague = list(_VAGUE["person" if entity.kind == "person" else "place" if entity.kind in _PLACES else "thing"])
    stream.shuffle(vague)
    while sum(sentence.count(" ") + 1 for sentence in sentences) < MIN_WORDS:
        sentences.insert(stream.integer(1, len(sentences)), vague.pop().format(name=entity.mention))
    return passage(entity.id, entity.title, " ".join(sentences))


def shown(relation: Relation, value: Value) -> str:
    """A value as running text has it: a mention, a year, a number with commas and a unit, a word."""
    if isinstance(value, Entity):
        return value.mention
    return f"{value:,} {relation.units[0]}" if relation.units else str(value)


def _first(entity: Entity, stream: Stream) -> str:
    if entity.kind != "person":
        return stream.choice(_FIRST[entity.kind]).format(name=entity.title, The=capital(entity.mention))
    told = entity.told
    who = article(str(told["occupation"])) if "occupation" in told else _SOMEBODY
    forms = _LIVED["born" in told, "died" in told]
    return stream.choice(forms).format(name=entity.title, who=who, **told)


def _sentence(entity: Entity, relation: Relation, value: Value, stream: Stream) -> str:
    told = shown(relation, value)
    return capital(stream.choice(relation.told).format(o=told, a_o=article(told), **_PRONOUNS[entity.pronoun]))


def _heads(office: str, terms: list[Term], stream: Stream) -> str:
    """Who held an office, with years."""
    held = [f"{term.person.mention} ({term.start} to {term.end})" for term in terms]
    if len(held) == 1:
        return f"Its first {office} was {held[0]}."
    listed = f"{', '.join(held[:-1])} and {held[-1]}"
    return stream.choice((f"Its first {office}s were {listed}.", f"The {office}s on record are {listed}."))
