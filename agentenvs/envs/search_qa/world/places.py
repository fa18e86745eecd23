"""The map: regions with their towns, rivers and mountains."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.names import CULTURES, Names
from agentenvs.envs.search_qa.world.question import words
from agentenvs.envs.search_qa.world.table import Entity, Table

#: Years of the world's history; towns are older.
FIRST, LAST = 1400, 1900
_BEASTS = words("heron badger otter ram stag falcon hare beaver toad swan lynx crane bear eel")
_CRAFTS = words("ropes cheese glass lace bells clocks barrels pottery candles paper saddles baskets honey knives")
_FISH = words("trout pike perch eel barbel carp bream salmon sturgeon roach")
_ROCKS = words("granite basalt limestone slate gneiss sandstone marble schist")


def make_regions(table: Table, names: Names, stream: Stream, count: int) -> None:
    """Regions, in turn of every culture; the capital comes with the towns."""
    for number in range(count):
        culture = CULTURES[number % len(CULTURES)]
        region = table.add("region", names.coin(culture, ("ia", "mark", "ova")), number % len(CULTURES))
        region.facts["language"] = names.coin(culture, ("ish", "ese", "ic"))
        region.facts["area"] = stream.integer(900, 40_000)
        if stream.below(3):
            region.facts["emblem"] = stream.choice(_BEASTS)


def make_heights(table: Table, names: Names, stream: Stream, mountains: int, rivers: int) -> None:
    """Mountains, and rivers that rise on them; some mountains have more than one river."""
    regions = table.of("region")
    for number in range(mountains):
        region = regions[number % len(regions)]
        name = names.coin(CULTURES[region.culture], ("", "or", "ax"))
        mountain = table.add("mountain", f"Mount {name}", region.culture, aliases=(name,))
        mountain.facts |= {"region": region, "height": stream.integer(1100, 5900)}
        if stream.below(3):
            mountain.facts["rock"] = stream.choice(_ROCKS)
    for _ in range(rivers):
        source = stream.choice(table.of("mountain"))
        name = names.coin(CULTURES[source.culture], ("", "a", "el"))
        river = table.add("river", f"River {name}", source.culture, f"the River {name}", (name,))
        near = [
            region for region in regions if region.culture == source.culture and region is not source.link("region")
        ]
        river.facts |= {"source": source, "mouth": stream.choice(near or regions), "length": stream.integer(30, 1900)}
        if stream.below(3):
            river.facts["fish"] = stream.choice(_FISH)


def make_towns(table: Table, names: Names, stream: Stream, count: int) -> None:
    """Towns; one in six has the name of a river in another part of the world."""
    regions, rivers = table.of("region"), list(table.of("river"))
    stream.shuffle(rivers)
    for number in range(count):
        region = regions[number % len(regions)]
        if number % 6 == 0 and rivers and rivers[-1].culture != region.culture:
            name = rivers.pop().aliases[0]
        else:
            name = names.coin(CULTURES[region.culture], CULTURES[region.culture].town)
        town = table.add("town", name, region.culture)
        town.facts |= {"region": region, "population": stream.integer(300, 99_000)}
        town.facts["founded"] = stream.integer(FIRST - 500, FIRST - 50)
        _details(table, town, stream)
    _twins(table, stream)
    _capitals(table, stream)


def _details(table: Table, town: Entity, stream: Stream) -> None:
    """What not every town has."""
    if stream.below(3):
        town.facts["river"] = stream.choice(table.of("river"))
    if stream.below(3):
        town.facts["craft"] = stream.choice(_CRAFTS)
    if stream.below(2):
        town.facts["bridges"] = stream.integer(2, 19)


def _twins(table: Table, stream: Stream) -> None:
    """Pairs of towns; the passage of one of them tells it."""
    order = list(table.of("town"))
    stream.shuffle(order)
    for one, other in zip(order[::4], order[1::4], strict=False):
        one.facts["twin"] = other


def _capitals(table: Table, stream: Stream) -> None:
    towns: dict[int, list[Entity]] = {}
    for town in table.of("town"):
        towns.setdefault(town.link("region").number, []).append(town)
    for region in table.of("region"):
        region.facts["capital"] = stream.choice(towns[region.number])
