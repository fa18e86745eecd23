"""The number that is told of most things of a kind, and of some is not: pages, acts, halls."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.table import Entity

#: kind -> the relation, its least and its greatest value.
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


def add_detail(entity: Entity, stream: Stream) -> None:
    """The number that is told of two in three of its kind."""
    name, low, high = _DETAILS[entity.kind]
    if stream.below(3):
        entity.facts[name] = stream.integer(low, high)
