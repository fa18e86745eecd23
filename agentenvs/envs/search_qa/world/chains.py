"""Questions that follow relations from a named entity: one step (single), or several (bridge)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.draft import Book, Draft, golds_of, names_of, plain, stands
from agentenvs.envs.search_qa.world.relation import Relation
from agentenvs.envs.search_qa.world.schema import RELATIONS
from agentenvs.envs.search_qa.world.table import Entity, Table, Value


class Step(NamedTuple):
    """From an entity to the one value of a relation, or back to its one subject; `told` by the passage of `support`."""

    relation: Relation
    back: bool
    support: Entity
    target: Value

    @property
    def told(self) -> bool:
        """Whether a passage states the fact."""
        return self.relation.name not in self.support.untold

    @property
    def nouns(self) -> Sequence[str]:
        """Descriptions of the target, with `{x}` for where the step starts."""
        return self.relation.back_noun if self.back else self.relation.noun

    @property
    def asks(self) -> Sequence[str]:
        """Questions for the target."""
        return self.relation.back_ask if self.back else self.relation.ask


def steps_from(table: Table, entity: Entity) -> list[Step]:
    """Every step that has exactly one end, told or not."""
    onwards = [Step(RELATIONS[entity.kind, name], False, entity, value) for name, value in entity.facts.items()]
    back = [
        Step(RELATIONS[key], True, subjects[0], subjects[0])
        for key, subjects in table.subjects(entity).items()
        if len(subjects) == 1 and RELATIONS[key].back_ask
    ]
    return onwards + back


def walk(table: Table, stream: Stream, start: Entity, hops: int) -> list[Step]:
    """A random chain that meets no entity and needs no passage twice; shorter than `hops` where it gets stuck.

    All but its last step are told; that one is told or not, as it comes.
    """
    chain: list[Step] = []
    here, met, used = start, {start.number}, set[int]()
    while len(chain) < hops:
        last = len(chain) == hops - 1
        ways = [
            step
            for step in steps_from(table, here)
            if step.support.number not in used
            and (last or (step.told and step.nouns))
            and not (isinstance(step.target, Entity) and step.target.number in met)
        ]
        if not ways:
            return chain
        step = stream.choice(ways)
        chain.append(step)
        used.add(step.support.number)
        if isinstance(step.target, Entity):
            here = step.target
            met.add(here.number)
    return chain


def described(start: Entity, chain: Sequence[Step], stream: Stream) -> str:
    """The end of a chain in words that name its start only; long descriptions come last in a phrase where they can."""
    phrase = start.mention
    for step in chain:
        last = [noun for noun in step.nouns if noun.endswith("{x}")] if step is not chain[0] else []
        phrase = stream.choice(last or step.nouns).format(x=phrase)
    return phrase


def sign_of(start: Entity, chain: Sequence[Step]) -> tuple[object, ...]:
    """What identifies a chain: the start and its relations."""
    return (start.number, *((step.relation.kind, step.relation.name, step.back) for step in chain))


def ask_chain(book: Book, stream: Stream, hops: int) -> Draft | None:
    """A question of so many hops from anywhere, or None."""
    return draw_chain(book, stream, stream.choice(book.table.entities), hops, told=True)


def draw_chain(book: Book, stream: Stream, start: Entity, hops: int, *, told: bool) -> Draft | None:
    """A question of so many hops whose last fact is told or is not, or None where the draw gives none.

    Nothing between start and answer is named, and no passage holds the answer but the last one, if it is told.
    """
    chain = walk(book.table, stream, start, hops)
    if len(chain) < hops or chain[-1].told != told:
        return None
    phrase = described(start, chain[:-1], stream)
    question, golds = stream.choice(chain[-1].asks).format(x=phrase), golds_of(chain[-1].relation, chain[-1].target)
    hidden = [name for step in chain[:-1] if isinstance(step.target, Entity) for name in names_of(step.target)]
    support = tuple(step.support for step in chain)
    silent = support[:-1] if told else support
    if stands([*hidden, *golds], plain(question)) or any(book.holds(passage, golds) for passage in silent):
        return None
    return Draft(question, golds, support, sign_of(start, chain))
