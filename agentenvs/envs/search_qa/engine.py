"""The rules of an episode of search QA: what was shown, what follows from it. Pure; the index is not its business."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from agentenvs.retrieval.corpus import Passage


class Search(NamedTuple):
    """A search and what it showed. One in the last action may be sent and not run."""

    query: str
    passages: tuple[Passage, ...]
    ran: bool = True


class Chance(Protocol):
    """The draws that noise needs (`core.rng.Stream` has them)."""

    def uniform(self) -> float: ...


@dataclass(slots=True)
class State:
    """Where an episode stands. `phase`: "decide" (know it or look it up?), "search" (search and answer) or "answer"
    (answer without searching). `decision`: "", "yes" or "no". `answer` is None until one is given. `events` holds the
    searches in order, and None for an action that could not be read; `add` appends to it.

    What follows from the events is kept, so that no step costs more for those before it: `searches`, those that ran;
    `seen`, the passages shown by id, in the order of their first appearance; `asked`, the queries."""

    phase: str
    decision: str = ""
    events: list[Search | None] = field(default_factory=list)
    answer: str | None = None
    searches: list[Search] = field(init=False, default_factory=list)
    seen: dict[str, Passage] = field(init=False, default_factory=dict)
    asked: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        given, self.events = self.events, []
        for event in given:
            self.add(event)

    def add(self, event: Search | None) -> None:
        """Append an event."""
        self.events.append(event)
        if event is not None and event.ran:
            self.searches.append(event)
            self.asked.add(event.query)
            for passage in event.passages:
                self.seen.setdefault(passage.id, passage)

    @property
    def shown(self) -> list[Passage]:
        """All passages shown so far, each once, in the order of their first appearance."""
        return list(self.seen.values())

    @property
    def repeats(self) -> int:
        """How many searches asked what had been asked before."""
        return len(self.searches) - len(self.asked)

    def support_seen(self, support: Sequence[str]) -> float:
        """The share of the supporting passages that were shown."""
        return sum(one in self.seen for one in support) / len(support)


def decide(state: State, knows: str) -> State:
    """The state after the decision: "yes" leads to answering at once, "no" to searching."""
    return State("answer" if knows == "yes" else "search", knows, state.events)


def with_noise(
    hits: Sequence[Passage], spare: Sequence[Passage], k: int, share: float, chance: Chance
) -> tuple[Passage, ...]:
    """The best `k` hits, each replaced with probability `share` by the next passage of `spare` (same-topic
    distractors, best first), as long as there are some."""
    left = list(spare)
    shown = []
    for hit in hits[:k]:
        noisy = chance.uniform() < share
        shown.append(left.pop(0) if noisy and left else hit)
    return tuple(shown)
