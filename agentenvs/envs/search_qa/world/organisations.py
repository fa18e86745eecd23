"""Schools, companies and museums: who founded them, headed them, studied or worked there."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.details import add_detail
from agentenvs.envs.search_qa.world.names import CULTURES, Names
from agentenvs.envs.search_qa.world.people import ADULT, People, working_year
from agentenvs.envs.search_qa.world.places import FIRST, LAST
from agentenvs.envs.search_qa.world.question import words
from agentenvs.envs.search_qa.world.schema import OFFICES
from agentenvs.envs.search_qa.world.table import Table, Term

_FORMS = {"school": ("{} Academy", "{} College"), "museum": ("{} Museum",), "company": ("{} Works", "{} Brothers")}
_PRODUCTS = words("ink soap nails ropes tiles pianos lenses matches locks barometers gloves sails bricks saws kettles")
_BEASTS = words("lion owl unicorn dolphin griffin peacock tortoise eagle")


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
        add_detail(made, stream)


def give_education_and_work(table: Table, people: People, stream: Stream) -> None:
    """Schools that were open when their pupils were 18, companies that existed before their employees were 40."""
    for person in people.everybody:
        born = person.figure("born")
        school, company = stream.choice(table.of("school")), stream.choice(table.of("company"))
        if school.figure("founded") <= born + 18 and school.facts["founder"] is not person:
            person.facts["school"] = school
        if (
            company.figure("founded") <= min(born + 40, person.figure("died") - 2)
            and company.facts["founder"] is not person
        ):
            person.facts["employer"] = company


def fill_offices(table: Table, people: People, stream: Stream) -> None:
    """Up to four heads for each region, school and museum, one after another, each alive to the end of the term."""
    for kind in OFFICES:
        for headed in table.of(kind):
            year = headed.figure("founded") if kind != "region" else stream.integer(FIRST + 70, LAST - 130)
            for _ in range(stream.integer(3, 4)):
                end = year + stream.integer(5, 16)
                person = people.aged(stream, year, (ADULT, 55), end)
                if person is None or any(person is term.person for term in headed.terms):
                    break
                headed.terms.append(Term(person, year, end))
                year = end
