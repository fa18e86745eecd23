"""The people, generation by generation, and the ways in which they are tied to each other."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.names import CULTURES, Names
from agentenvs.envs.search_qa.world.places import FIRST, LAST
from agentenvs.envs.search_qa.world.question import words
from agentenvs.envs.search_qa.world.table import Entity, Table

ADULT = 24  # years: no earlier do people found, write, climb, command or hold an office
_OCCUPATIONS = words(
    "novelist novelist painter painter composer climber sailor soldier explorer naturalist naturalist physician "
    "astronomer glassblower cartographer clockmaker lawyer printer brewer architect merchant engraver"
)
_INSTRUMENTS = words("flute violin harp trumpet lute drum cello oboe organ zither")
_COLLECTIONS = words("coins shells maps buttons butterflies masks seals stamps keys fossils teapots globes")


class People:
    """Everybody, by year of birth."""

    def __init__(self, table: Table) -> None:
        self.everybody: Sequence[Entity] = table.of("person")
        self._born: dict[int, list[Entity]] = {}
        self._trades: dict[str, list[Entity]] = {}
        for person in self.everybody:
            self._born.setdefault(person.figure("born"), []).append(person)
            self._trades.setdefault(str(person.facts["occupation"]), []).append(person)

    def of_trade(self, stream: Stream, *occupations: str) -> Entity:
        """Somebody with one of the occupations, or anybody where nobody has them."""
        return stream.choice([one for trade in occupations for one in self._trades.get(trade, ())] or self.everybody)

    def aged(self, stream: Stream, year: int, ages: tuple[int, int], until: int) -> Entity | None:
        """Somebody of that age in a year who lives beyond the year `until`; None if ten tries find nobody."""
        for _ in range(10):
            peers = self._born.get(year - stream.integer(*ages))
            if peers and (person := stream.choice(peers)).figure("died") > until:
                return person
        return None


def working_year(person: Entity, stream: Stream) -> int:
    """A year in which the person is grown up and alive."""
    return stream.integer(person.figure("born") + ADULT, person.figure("died"))


def make_people(table: Table, names: Names, stream: Stream, count: int) -> People:
    """People with years, birthplace and occupation, then their families and the places where they died."""
    pool = _Pool(names, stream, count)
    born: dict[int, list[Entity]] = {}
    for year in sorted(stream.integer(FIRST, LAST - 90) for _ in range(count)):
        home, pronoun = stream.choice(table.of("town")), stream.choice(("he", "she"))
        parent, culture, title = pool.draw(born, year, home.culture, pronoun)
        person = table.add("person", title, culture)
        person.pronoun = pronoun
        person.facts |= {"born": year, "died": year + stream.integer(ADULT + 6, 88), "birthplace": home}
        person.facts["occupation"] = stream.choice(_OCCUPATIONS)
        if parent:
            person.facts["mother" if parent.pronoun == "she" else "father"] = parent
        born.setdefault(year, []).append(person)
    people = People(table)
    _tie(table, people, stream)
    _name_by_surname(people)
    return people


class _Pool:
    """Given names and surnames by culture; it gives out no full name twice."""

    def __init__(self, names: Names, stream: Stream, count: int) -> None:
        self._stream = stream
        self._families = [[names.coin(one, one.family) for _ in range(1 + count // 20)] for one in CULTURES]
        self._given = [
            {
                "she": [names.coin(one, one.female) for _ in range(4 + count // 30)],
                "he": [names.coin(one, one.male) for _ in range(4 + count // 30)],
            }
            for one in CULTURES
        ]
        self._titles: set[str] = set()

    def draw(
        self, born: dict[int, list[Entity]], year: int, culture: int, pronoun: str
    ) -> tuple[Entity | None, int, str]:
        """The parent (three in five have one), the culture and the full name of somebody; a surname is inherited."""
        stream = self._stream
        while True:
            parent = _parent(born, year, stream) if stream.below(5) < 3 else None
            people = parent.culture if parent else culture
            family = parent.title.split()[-1] if parent else stream.choice(self._families[people])
            title = f"{stream.choice(self._given[people][pronoun])} {family}"
            if title not in self._titles:
                self._titles.add(title)
                return parent, people, title


def _parent(born: dict[int, list[Entity]], year: int, stream: Stream) -> Entity | None:
    """Somebody 20 to 42 years older who is alive; None if five tries find nobody."""
    for _ in range(5):
        older = born.get(year - stream.integer(20, 42))
        if older and (parent := stream.choice(older)).figure("died") > year:
            return parent
    return None


def _tie(table: Table, people: People, stream: Stream) -> None:
    """Marriages, teachers, places of death, and what not everybody has."""
    married: set[int] = set()
    for person in people.everybody:
        year = person.figure("born")
        if stream.below(5) < 3 and person.number not in married:
            spouse = people.aged(stream, year + ADULT, (ADULT - 8, ADULT + 8), year + ADULT)
            if spouse and spouse.number not in married and _may_marry(person, spouse):
                person.facts["spouse"] = spouse
                married |= {person.number, spouse.number}
        teacher = people.aged(stream, year + 18, (30, 65), year + 18) if stream.below(2) else None
        if teacher:
            person.facts["teacher"] = teacher
        if stream.below(2):
            person.facts["deathplace"] = stream.choice(table.of("town"))
        if stream.below(2):
            person.facts["instrument"] = stream.choice(_INSTRUMENTS)
        if stream.below(3) == 0:
            person.facts["collection"] = stream.choice(_COLLECTIONS)


def _may_marry(one: Entity, other: Entity) -> bool:
    """A man and a woman of different families, both alive as adults."""
    return one.pronoun != other.pronoun and one.title.split()[-1] != other.title.split()[-1]


def _name_by_surname(people: People) -> None:
    """The surname alone is an alias of those who share it with nobody."""
    bearers: dict[str, list[Entity]] = {}
    for person in people.everybody:
        bearers.setdefault(person.title.split()[-1], []).append(person)
    for surname, found in bearers.items():
        if len(found) == 1:
            found[0].aliases = (surname,)
