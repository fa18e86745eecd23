"""What people founded, made, fought and found."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.names import CULTURES, Names
from agentenvs.envs.search_qa.world.people import ADULT, People, working_year
from agentenvs.envs.search_qa.world.places import FIRST, LAST
from agentenvs.envs.search_qa.world.question import words
from agentenvs.envs.search_qa.world.schema import OFFICES
from agentenvs.envs.search_qa.world.table import Entity, Table, Term

_FORMS = {"school": ("{} Academy", "{} College"), "museum": ("{} Museum",), "company": ("{} Works", "{} Brothers")}
_PRODUCTS = words("ink soap nails ropes tiles pianos lenses matches locks barometers gloves sails bricks saws kettles")
_BEASTS = words("lion owl unicorn dolphin griffin peacock tortoise eagle")
_COLOURS = words("scarlet violet turquoise ochre silver crimson amber indigo emerald ivory")
_FLOWERS = ("bellwort", "campion", "lily", "saxifrage", "orchid", "aster")
_DETAILS = {
    "company": ("workers", 12, 900),
    "museum": ("halls", 3, 60),
    "school": ("pupils", 40, 900),
    "novel": ("pages", 90, 950),
    "painting": ("width", 20, 400),
    "opera": ("acts", 2, 6),
    "ship": ("crew", 6, 300),
    "battle": ("days", 2, 30),
    "expedition": ("mules", 4, 90),
}

#: kind, who leads it, of which trades, title, the river that it is tied to.
_EVENTS = (
    ("battle", "victor", ("soldier",), "Battle of the {a} {n}", "place"),
    ("expedition", "leader", ("explorer", "sailor"), "{a} {n} Expedition", "goal"),
)


def make_organisations(table: Table, names: Names, people: People, stream: Stream, kind: str, count: int) -> None:
    """Schools, museums or companies with founder, year, seat. One in three has the name of a town that it is not in."""
    towns = list(table.of("town"))
    stream.shuffle(towns)
    for number in range(count):
        seat = stream.choice(table.of("town"))
        namesake = towns[number % len(towns)]
        borrowed = number % 3 == 0 and namesake is not seat and number < len(towns)
        name = namesake.title if borrowed else names.coin(CULTURES[seat.culture], ("", "ine", "os"))
        title = stream.choice(_FORMS[kind]).format(name)
        made = table.add(kind, title, seat.culture, f"the {title}" if kind != "company" else title)
        founder = stream.choice(people.everybody)
        made.facts |= {"founder": founder, "founded": working_year(founder, stream), "town": seat}
        if kind == "company":
            made.facts["product"] = stream.choice(_PRODUCTS)
        if kind == "school" and stream.below(2):
            made.facts["emblem"] = stream.choice(_BEASTS)
        _detail(made, stream)


def give_education_and_work(table: Table, people: People, stream: Stream) -> None:
    """Schools that were open when their pupils were 18, companies that existed before their employees were 40."""
    for person in people.everybody:
        born = person.year("born")
        school, company = stream.choice(table.of("school")), stream.choice(table.of("company"))
        if school.year("founded") <= born + 18 and school.facts["founder"] is not person:
            person.facts["school"] = school
        if (
            company.year("founded") <= min(born + 40, person.year("died") - 2)
            and company.facts["founder"] is not person
        ):
            person.facts["employer"] = company


def fill_offices(table: Table, people: People, stream: Stream) -> None:
    """Three or four heads for each region, school and museum, one after another, each alive to the end of the term."""
    for kind in OFFICES:
        for headed in table.of(kind):
            year = headed.year("founded") if kind != "region" else stream.integer(FIRST + 70, LAST - 130)
            for _ in range(stream.integer(3, 4)):
                end = year + stream.integer(5, 16)
                person = people.aged(stream, year, (ADULT, 55), end)
                if person is None or any(person is term.person for term in headed.terms):
                    break
                headed.terms.append(Term(person, year, end))
                year = end


def make_works(table: Table, names: Names, people: People, stream: Stream, counts: dict[str, int]) -> None:
    """Novels, paintings, operas, ships; what publishes or builds them existed by then."""
    for kind, maker, trade in (
        ("novel", "author", "novelist"),
        ("painting", "painter", "painter"),
        ("opera", "composer", "composer"),
    ):
        for _ in range(counts[kind]):
            person = people.of_trade(stream, trade)
            title = names.work()
            work = table.add(kind, title, person.culture, f'the {kind} "{title}"')
            work.facts |= {maker: person, "year": working_year(person, stream)}
            _place_work(table, people, work, stream)
            _detail(work, stream)
    for _ in range(counts["ship"]):
        captain = people.of_trade(stream, "sailor", "explorer")
        title = names.plain("{a} {n}")
        ship = table.add("ship", title, captain.culture, f'the ship "{title}"')
        ship.facts |= {"captain": captain, "year": working_year(captain, stream)}
        _made_by(table, ship, "builder", stream)
        _detail(ship, stream)


def _place_work(table: Table, people: People, work: Entity, stream: Stream) -> None:
    """What ties a work to other things than its maker."""
    towns = table.of("town")
    if work.kind == "novel":
        work.facts["setting"] = stream.choice(towns)
        _made_by(table, work, "publisher", stream)
    elif work.kind == "painting":
        work.facts |= {"museum": stream.choice(table.of("museum")), "motif": stream.choice(table.of("mountain"))}
    else:
        work.facts["premiere"] = stream.choice(towns)
        year = work.year("year")
        dedicatee = people.aged(stream, year, (5, 60), year)
        if dedicatee and dedicatee is not work.facts["composer"]:
            work.facts["dedicatee"] = dedicatee


def _made_by(table: Table, work: Entity, relation: str, stream: Stream) -> None:
    """A company that was there in the year of the work, if three tries find one."""
    for _ in range(3):
        company = stream.choice(table.of("company"))
        if company.year("founded") <= work.year("year"):
            work.facts[relation] = company
            return


def make_events(table: Table, names: Names, people: People, stream: Stream, counts: dict[str, int]) -> None:
    """Battles, expeditions, first ascents, and the discovery of minerals and flowers."""
    for kind, leader, trades, form, river in _EVENTS:
        for _ in range(counts[kind]):
            person, title = people.of_trade(stream, *trades), names.plain(form)
            event = table.add(kind, title, person.culture, f"the {title}")
            event.facts |= {
                leader: person,
                "year": working_year(person, stream),
                river: stream.choice(table.of("river")),
            }
            _detail(event, stream)
    for mountain in table.of("mountain"):
        climber = people.of_trade(stream, "climber", "naturalist")
        mountain.facts |= {"climber": climber, "climbed": working_year(climber, stream)}


def make_finds(table: Table, names: Names, people: People, stream: Stream, counts: dict[str, int]) -> None:
    """Minerals and flowers."""
    for kind, where, place in (("mineral", "site", "mountain"), ("flower", "river", "river")):
        for _ in range(counts[kind]):
            person = people.of_trade(stream, "naturalist", "physician")
            name = names.coin(CULTURES[person.culture], ("ite",) if kind == "mineral" else ("",))
            title = name if kind == "mineral" else f"{name} {stream.choice(_FLOWERS)}"
            find = table.add(kind, title, person.culture, f"the {kind} {title}", (name,) if kind == "flower" else ())
            find.facts |= {"discoverer": person, "year": working_year(person, stream)}
            find.facts[where] = stream.choice(table.of(place))
            if stream.below(3):
                find.facts["colour"] = stream.choice(_COLOURS)


def _detail(entity: Entity, stream: Stream) -> None:
    """The number that is told of two in three of its kind."""
    name, low, high = _DETAILS[entity.kind]
    if stream.below(3):
        entity.facts[name] = stream.integer(low, high)
