"""What an episode is worth: the matchers on its answer, or on what the original code would take for its answer."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.envs.search_qa.engine import Search, State
from agentenvs.envs.search_qa.items import Item
from agentenvs.envs.search_qa.reward import MATCHERS, choice, last_answer, normalise
from agentenvs.envs.search_qa.text import invalid_text, show
from agentenvs.retrieval.corpus import Passage

#: What the original finds in its own prompt where an agent answers nothing.
_EXAMPLE = "Beijing"


def matches(item: Item, answer: str | None) -> dict[str, float]:
    """Every matcher on the answer, 0 without one: `choice` for questions with options, else em, f1 and subem."""
    if item.options:
        right = answer is not None and choice(answer, item.options) == item.golds[0]
        return {"choice": float(right)}
    return {name: 0.0 if answer is None else match(answer, item.golds) for name, match in MATCHERS.items()}


def holds(text: str, golds: Sequence[str]) -> bool:
    """Whether an accepted answer stands in a text, as whole words after normalisation."""
    words = f" {normalise(text)} "
    return any(gold and f" {gold} " in words for gold in map(normalise, golds))


def gold_seen(item: Item, passages: Sequence[Passage]) -> bool:
    """Whether a passage holds an accepted answer (for a multiple choice: the text of the right option)."""
    golds = [item.options[ord(item.golds[0]) - ord("A")]] if item.options else item.golds
    return any(holds(passage.contents, golds) for passage in passages)


def compat_answer(state: State, style: str, limit: int) -> str:
    """The answer that Search-R1's own scorer finds: the last complete pair of answer tags in the whole text, prompt,
    queries and passages included, and so the prompt's example where there is no other."""
    if state.answer is not None:
        return state.answer
    text = "".join(_transcript(event, style, limit) for event in state.events)
    return last_answer(f"<answer> {_EXAMPLE} </answer>{text}") or ""


def _transcript(event: Search | None, style: str, limit: int) -> str:
    if event is None:
        return invalid_text("", "search-r1")
    shown = f"\n\n<information>{show(event.passages, style, limit)}</information>\n\n" if event.ran else ""
    return f"<search>{event.query}</search>{shown}"
