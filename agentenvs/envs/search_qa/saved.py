"""The state of an episode as JSON data, and back; what comes back is checked, since a snapshot may be anybody's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentenvs.core.snapshot import check_state
from agentenvs.envs.search_qa.engine import Search, State
from agentenvs.retrieval.corpus import Passage


def save(state: State) -> dict[str, Any]:
    """The state as JSON data. Passages are saved whole: a remote index need not show them again."""
    events = [
        {} if event is None else {**event._asdict(), "passages": [list(passage) for passage in event.passages]}
        for event in state.events
    ]
    answer = {} if state.answer is None else {"answer": state.answer}
    return {"phase": state.phase, "decision": state.decision, "events": events, **answer}


def load(data: Mapping[str, Any], phases: Mapping[str, str], topk: int, known: Callable[[Passage], bool]) -> State:
    """The state that `save` gave. `phases` are the possible ones with the decision that leads to each, `topk` is how
    many passages a search can show, `known` tells whether a passage is one of the corpus. Raises `SnapshotError`."""
    check_state(
        {"answer": "", **data} if isinstance(data, Mapping) else data,
        {
            "phase": lambda value: isinstance(value, str) and value in phases,
            "decision": lambda value: value == phases.get(data["phase"]),
            "answer": lambda value: isinstance(value, str),
            "events": lambda value: (
                isinstance(value, list)
                and (data["phase"] == "search" or not any(value))
                and all(_is_event(event, topk, known) for event in value)
            ),
        },
    )
    events = [
        Search(event["query"], tuple(Passage(*row) for row in event["passages"]), event["ran"]) if event else None
        for event in data["events"]
    ]
    return State(data["phase"], data["decision"], events, data.get("answer"))


def _is_event(event: Any, topk: int, known: Callable[[Passage], bool]) -> bool:
    if event == {}:
        return True
    return (
        isinstance(event, dict)
        and set(event) == {"query", "passages", "ran"}
        and isinstance(event["query"], str)
        and isinstance(event["ran"], bool)
        and isinstance(event["passages"], list)
        and len(event["passages"]) <= (topk if event["ran"] else 0)
        and all(
            isinstance(row, list)
            and len(row) == 2
            and all(isinstance(part, str) for part in row)
            and known(Passage(*row))
            for row in event["passages"]
        )
    )
