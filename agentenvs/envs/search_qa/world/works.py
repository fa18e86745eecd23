"""What people made, fought, climbed and found."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.details import add_detail
from agentenvs.envs.search_qa.world.names import CULTURES, Names
from agentenvs.envs.search_qa.world.people import People, working_year
from agentenvs.envs.search_qa.world.question import words
from agentenvs.envs.search_qa.world.table import Entity, Table

_COLOURS = words("scarlet violet turquoise ochre silver crimson amber indigo emerald ivory")
_FLOWERS = ("bellwort", "campion", "lily", "saxifrage", "orchid", "aster")
#: kind, its maker, the maker's trade.
_WORKS = (("novel", "author", "novelist"), ("painting", "painter", "painter"), ("opera", "composer", "composer"))
#: kind, who leads it, of which trades, title, the river that it is tied to.
_EVENTS = (
    ("battle", "victor", ("soldier",), "Battle of the {a} {n}", "place"),
    ("expedition", "leader", ("explorer", "sailor"), "{a} {n} Expedition", "goal"),
)


def make_works(table: Table, names: Names, people: People, stream: Stream, counts: dict[str, int]) -> None:
    """Novels, paintings, operas, ships; what publishes or builds them existed by then."""
    for kind, maker, trade in _WORKS:
        for _ in range(counts[kind]):
            person = people.of_trade(stream, trade)
            title = names.work()
            work = table.add(kind, title, person.culture, f'the {kind} "{title}"')
            work.facts |= {maker: person, "year": working_year(person, stream)}
            _place_work(table, people, work, stream)
            add_detail(work, stream)
    for _ in range(counts["ship"]):
        captain = people.of_trade(stream, "sailor", "explorer")
        title = names.plain("{a} {n}")
        ship = table.add("ship", title, captain.culture, f'the ship "{title}"')
        ship.facts |= {"captain": captain, "year": working_year(captain, stream)}
        _made_by(table, ship, "builder", stream)
        add_detail(ship, stream)


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
        year = work.figure("year")
        dedicatee = people.aged(stream, year, (5, 60), year)
        if dedicatee and dedicatee is not work.facts["composer"]:
            work.facts["dedicatee"] = dedicatee


def _made_by(table: Table, work: Entity, relation: str, stream: Stream) -> None:
    """A company that was there in the year of the work, if three tries find one."""
    for _ in range(3):
        company = stream.choice(table.of("company"))
        if company.figure("founded") <= work.figure("year"):
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
            add_detail(event, stream)
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
