"""All relations by kind and name, and the offices."""

from __future__ import annotations

from agentenvs.envs.search_qa.world import relations_people, relations_places, relations_things
from agentenvs.envs.search_qa.world.relation import Relation

#: (kind, name) -> the relation.
RELATIONS: dict[tuple[str, str], Relation] = {
    (relation.kind, relation.name): relation
    for relation in (*relations_people.RELATIONS, *relations_places.RELATIONS, *relations_things.RELATIONS)
}
#: The kind of what somebody heads for a term of years -> what its head is called.
OFFICES = {"region": "governor", "school": "rector", "museum": "director"}
