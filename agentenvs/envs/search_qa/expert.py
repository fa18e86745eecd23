"""The expert: searches for what supports the answer, passage by passage, then answers.

It knows the supporting passages and the accepted answers, but says an answer only when the passages that support it
were shown. Where the data name none, an accepted answer must stand in a shown passage, but for letters, yes, no and
maybe, which it says at once. So where support is named, its score is the ceiling that the retriever and the limits set,
not 1 by definition.
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


def next_action(item: Item, state: State, find: Find, lookup: Callable[[str], str], *, left: int, limit: int) -> str:
    """The native action. `find` is a search without effect, `lookup` gives the contents of a passage; `left` counts
    the searches after which an answer is still possible, and `limit` the characters of a query (0: no limit)."""
    if state.phase == "decide":
        return "decide[no]"
    if state.phase == "answer":
        return f"answer[{item.golds[0]}]"
    query = _query(item, state, find, lookup, limit or None) if left else ""
    return f"search[{query}]" if query else f"answer[{_answer(item, state)}]"


def _query(item: Item, state: State, find: Find, lookup: Callable[[str], str], limit: int | None) -> str:
    """The next search: one that shows a supporting passage that was not shown yet; empty where none does."""
    if not item.support:
        query = item.question[:limit].strip()
        return query if query not in state.asked and _answer(item, state) == UNKNOWN else ""
    for passage_id in item.support:
        if passage_id in state.seen:
            continue
        for query in _candidates(item, Passage(passage_id, lookup(passage_id)), limit):
            if query not in state.asked and any(found.id == passage_id for found in find(query)):
                return query
    return ""


def _candidates(item: Item, passage: Passage, limit: int | None) -> list[str]:
    """Queries for a passage as they are sent, from what a person would try first to what finds it if anything does."""
    name = title(passage)
    words = body(passage).split()
    queries = [name, f"{name} {item.question}", *(f"{name} {' '.join(words[:n])}" for n in (4, 8, 20, 60))]
    return list(dict.fromkeys(sent for query in queries if (sent := query.strip()[:limit].strip())))


def _answer(item: Item, state: State) -> str:
    """An accepted answer where what was shown supports it."""
    if item.support:
        known = state.support_seen(item.support) == 1.0
    else:
        texts = [passage.contents for passage in state.shown]
        known = bool(item.options) or item.golds[0].lower() in _YES_NO or any(holds(t, item.golds) for t in texts)
    return item.golds[0] if known else UNKNOWN
