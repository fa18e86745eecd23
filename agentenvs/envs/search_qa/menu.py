"""A menu of native actions for policies that choose from one: what the visible text offers, nothing more."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.envs.search_qa.engine import State
from agentenvs.envs.search_qa.items import LETTERS, Item
from agentenvs.envs.search_qa.text import body, title
from agentenvs.envs.search_qa.world import tiny

_TITLES = 7  # the latest ones shown; with question, yes, no and "unanswerable" that makes 18 choices
_NAMES = 4
_DECISIONS = ("decide[yes]", "decide[no]")
_FIXED = ("yes", "no", "unanswerable")
#: What `tiny` needs beside the words of its data.
TINY_WORDS = ("search[", "answer[", "]", "of", "nothing", "\n")


def menu(item: Item, state: State, limit: int) -> list[str]:
    """For the phase: decisions, or searches for the question and for titles shown, and answers (options, titles).
    Queries are cut to `limit` characters (0: no limit)."""
    if state.phase == "decide":
        return list(_DECISIONS)
    titles = [title(passage) for passage in state.shown[-_TITLES:]]
    answers = LETTERS[: len(item.options)] or (*_FIXED, *titles)
    asked = [item.question, *titles] if state.phase == "search" else []
    searches = [query for one in asked if (query := one[: limit or None].strip())]
    return [
        *(f"search[{one}]" for one in dict.fromkeys(searches)),
        *(f"answer[{one}]" for one in dict.fromkeys(answers)),
    ]


def tiny_menu(item: Item, state: State) -> list[str]:
    """Decisions, or searches for each relation in the question of each name seen, and those names as answers."""
    if state.phase == "decide":
        return list(_DECISIONS)
    relations = [word for word in item.question.split() if word in tiny.RELATIONS]
    texts = [item.question, *(body(passage) for passage in state.shown)]
    names = _last_names(texts)
    searches = [f"search[{relation} of {name}]" for name in names for relation in dict.fromkeys(relations)]
    return [*(searches if state.phase == "search" else ()), *(f"answer[{name}]" for name in names)]


def _last_names(texts: Sequence[str]) -> list[str]:
    """The names that the texts mention, each once, the latest `_NAMES` of them."""
    words = [word for text in texts for word in text.split() if word in tiny.NAMES]
    return list(dict.fromkeys(reversed(words)))[:_NAMES][::-1]
