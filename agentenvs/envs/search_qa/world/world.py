"""A fictional world from a seed: an encyclopaedia of passages, and questions whose answers are known.

Nothing of it is stored; no model can have met it. The table (`table.py`) is filled by `places`, `people`,
`organisations` and `works`. `prose.py` tells it, but for the facts that `untold.py` picks; the makers that `mixture.py`
lists ask about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentenvs.core.errors import ConfigError, quote
from agentenvs.core.rng import Stream, check_seed
from agentenvs.envs.search_qa.world.draft import Book
from agentenvs.envs.search_qa.world.mixture import ask
from agentenvs.envs.search_qa.world.names import Names
from agentenvs.envs.search_qa.world.organisations import fill_offices, give_education_and_work, make_organisations
from agentenvs.envs.search_qa.world.people import make_people
from agentenvs.envs.search_qa.world.places import make_heights, make_regions, make_towns
from agentenvs.envs.search_qa.world.prose import write
from agentenvs.envs.search_qa.world.question import Passage, Question, check_split
from agentenvs.envs.search_qa.world.table import Table
from agentenvs.envs.search_qa.world.untold import hide_facts
from agentenvs.envs.search_qa.world.works import make_events, make_finds, make_works

__all__ = ["SIZE", "Question", "World", "make_table", "make_world"]
SIZE = 4000
_SIZES = range(400, 20_001)
#: Of a thousand passages, how many are of each kind; the rest are people.
_SHARES = {
    "region": 10,
    "town": 100,
    "river": 30,
    "mountain": 30,
    "school": 30,
    "company": 40,
    "museum": 25,
    "novel": 80,
    "painting": 60,
    "opera": 40,
    "ship": 40,
    "battle": 25,
    "expedition": 25,
    "mineral": 25,
    "flower": 25,
}


@dataclass(frozen=True)
class World:
    """Passages (id, contents) with ids w0, w1, ..., and the questions on them by split."""

    passages: tuple[Passage, ...]
    asked: Mapping[str, tuple[Question, ...]]

    def questions(self, split: str) -> tuple[Question, ...]:
        """The questions of a split; every 20 in a row have the same mixture of kinds."""
        return self.asked[check_split(split)]


def make_world(seed: int = 0, size: int = SIZE) -> World:
    """The world of a seed with `size` passages (400 to 20,000), and about 11 questions for every 8 of them:
    8 for training, 1 for validation, 2 for the test. The default has 4,000, 500 and 1,000."""
    table = make_table(seed, size)
    told = Stream("search_qa", "world", seed, size, "prose")
    passages = tuple(write(entity, told) for entity in table.entities)
    return World(passages, ask(Book(table, passages), seed, size))


def make_table(seed: int = 0, size: int = SIZE) -> Table:
    """The table of the same world."""
    check_seed("seed", seed)
    if not isinstance(size, int) or size not in _SIZES:
        raise ConfigError(f"size: expected a whole number from {_SIZES[0]} to {_SIZES[-1]}, got {quote(size)}")
    counts = {kind: size * share // 1000 for kind, share in _SHARES.items()}
    table, stream = Table(), Stream("search_qa", "world", seed, size, "facts")
    names = Names(Stream("search_qa", "world", seed, size, "names"))
    make_regions(table, names, stream, counts["region"])
    make_heights(table, names, stream, counts["mountain"], counts["river"])
    make_towns(table, names, stream, counts["town"])
    people = make_people(table, names, stream, size - sum(counts.values()))
    for kind in ("school", "company", "museum"):
        make_organisations(table, names, people, stream, kind, counts[kind])
    give_education_and_work(table, people, stream)
    fill_offices(table, people, stream)
    make_works(table, names, people, stream, counts)
    make_events(table, names, people, stream, counts)
    make_finds(table, names, people, stream, counts)
    hide_facts(table, Stream("search_qa", "world", seed, size, "untold"))
    table.close()
    return table
