"""The expert: searches for what supports the answer, passage by passage, then answers.

It knows the supporting passages and the accepted answers, but says an answer only when the passages that support it
were shown (where the data name none: when an accepted answer stands in a shown passage). So its score is the ceiling
that the retriever and the limits set, not 1 by definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentenvs.envs.search_qa.engine import State
from agentenvs.envs.search_qa.items import Item
from agentenvs.envs.search_qa.scoring import holds
from agentenvs.envs.search_qa.text import body, title
from agentenvs.retrieval.corpus import Passage

Find = Callable[[str], Sequence[Passage]]
UNKNOWN = "unanswerable"
_YES_NO = {"yes", "no", "maybe"}


def next_action(item: Item, state: State, find: Find, lookup: Callable[[str], str], left: int) -> str:
    """The native action. `find` is a search without effect, `lookup` gives the contents of a passage; `left` counts
    the searches that may still run."""
    if state.phase == "decide":
        return "decide[no]"
    if state.phase == "answer":
        return f"answer[{item.golds[0]}]"
    query = _query(item, state, find, lookup) if left else ""
    return f"search[{query}]" if query else f"answer[{_answer(item, state)}]"


def _query(item: Item, state: State, find: Find, lookup: Callable[[str], str]) -> str:
    """The next search: one that shows a supporting passage that was not shown yet; empty where none does."""
    asked = {search.query for search in state.searches}
    if not item.support:
        return item.question if item.question not in asked and _answer(item, state) == UNKNOWN else ""
    seen = {passage.id for passage in state.shown}
    for passage_id in item.support:
        if passage_id in seen:
            continue
        for query in _candidates(item, Passage(passage_id, lookup(passage_id))):
            if query not in asked and any(found.id == passage_id for found in find(query)):
                return query
    return ""


def _candidates(item: Item, passage: Passage) -> list[str]:
    """Queries for a passage, from what a person would try first to what finds it if anything does."""
    name = title(passage)
    words = body(passage).split()
    return [name, f"{name} {item.question}", *(f"{name} {' '.join(words[:n])}" for n in (4, 8, 20, 60))]


def _answer(item: Item, state: State) -> str:
    """An accepted answer where what was shown supports it."""
    if item.support:
        known = state.support_seen(item.support) == 1.0
    else:
        texts = [passage.contents for passage in state.shown]
        known = bool(item.options) or item.golds[0].lower() in _YES_NO or any(holds(t, item.golds) for t in texts)
    return item.golds[0] if known else UNKNOWN
