"""Which facts no passage tells: one in eight of every relation, so that how a question is put never says whether it has
an answer."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.schema import OFFICES
from agentenvs.envs.search_qa.world.table import Entity, Table, Value

_ONE_IN = 8


def hide_facts(table: Table, stream: Stream) -> None:
    """Mark one in eight of the facts of every relation as untold; of fewer than four none."""
    subjects: dict[tuple[str, str], list[Entity]] = {}
    for entity in table.entities:
        for relation in entity.facts:
            subjects.setdefault((entity.kind, relation), []).append(entity)
    obvious = _makers(table) | _capitals(table)
    for (_, relation), found in subjects.items():
        free = [entity for entity in found if (entity.number, relation) not in obvious]
        stream.shuffle(free)
        for entity in free[: (len(found) + _ONE_IN // 2) // _ONE_IN]:
            _hide(entity, relation)


def _hide(entity: Entity, relation: str) -> None:
    """Without the founding goes the list of heads that starts in the same year."""
    entity.untold.add(relation)
    if relation == "founded" and entity.kind in OFFICES:
        entity.terms.clear()


def _makers(table: Table) -> set[tuple[int, str]]:
    """The occupations that can be guessed from what somebody made, led or found."""
    values: list[Value] = [value for one in table.entities if one.kind != "person" for value in one.facts.values()]
    return {(value.number, "occupation") for value in values if isinstance(value, Entity) and value.kind == "person"}


def _capitals(table: Table) -> set[tuple[int, str]]:
    """The regions of towns that follow from what they are the capital of."""
    return {(region.link("capital").number, "region") for region in table.of("region")}
