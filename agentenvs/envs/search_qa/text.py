"""The words of search QA: how passages and questions are shown, and what bad actions are told."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentenvs.envs.search_qa.items import LETTERS, Item
from agentenvs.retrieval.corpus import Passage


def title(passage: Passage) -> str:
    """The first line of a passage, without the quotes around it."""
    return passage.contents.partition("\n")[0].strip().strip('"')


def body(passage: Passage) -> str:
    """What follows the title."""
    return passage.contents.partition("\n")[2].strip()


def _plain(passages: Sequence[Passage]) -> str:
    return "\n\n".join(f"[{i}] {title(passage)}\n{body(passage)}" for i, passage in enumerate(passages, 1))


def _search_r1(passages: Sequence[Passage]) -> str:
    """The title is the first line as it stands, quotes included; the whole is stripped at both ends."""
    lines = []
    for i, passage in enumerate(passages, 1):
        first, _, rest = passage.contents.partition("\n")
        lines.append(f"Doc {i}(Title: {first}) {rest}\n")
    return "".join(lines).strip()


def _skyrl(passages: Sequence[Passage]) -> str:
    """A JSON object, so that line breaks and non-ASCII characters are escaped."""
    lines = [f"Doc {i}: {passage.contents.strip()}\n" for i, passage in enumerate(passages, 1)]
    return json.dumps({"result": "".join(lines) or NOTHING})


def _bare(passages: Sequence[Passage]) -> str:
    return "\n".join(body(passage) for passage in passages)


#: How passages are shown, by the name of the style.
PASSAGES = {"plain": _plain, "search-r1": _search_r1, "skyrl": _skyrl, "bare": _bare}

NOTHING = "No passage was found."
#: What a decision is told.
DECIDED = {"yes": "Answer now, from what you know.", "no": "Search, then answer."}


def show(passages: Sequence[Passage], style: str, limit: int) -> str:
    """The passages in a style. Cut after `limit` characters (0: no limit), and then ` ...` follows."""
    if not passages:
        return _skyrl(()) if style == "skyrl" else "nothing" if style == "bare" else NOTHING
    return PASSAGES[style](fitted(passages, limit))


def fitted(passages: Sequence[Passage], limit: int) -> list[Passage]:
    """The passages as far as `limit` characters of them go (0: no limit); the last one may be cut, which shows."""
    kept, left = [], limit
    for passage in passages:
        if not limit or len(passage.contents) <= left:
            kept.append(passage)
            left -= len(passage.contents)
            continue
        if left > 0:
            kept.append(passage._replace(contents=f"{passage.contents[:left].rstrip()} ..."))
        break
    return kept


def question_text(item: Item, wording: str) -> str:
    """The first observation. Search-R1 strips a question and ends it with a question mark."""
    question = item.question
    if wording == "search-r1":
        question = question.strip()
        question = question if question.endswith("?") else f"{question}?"
    if wording == "tiny":
        return question
    options = "".join(f"\n{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=False))
    return f"Question: {question}{options}"


def invalid_text(reason: str, wording: str) -> str:
    """What an action that cannot be read is told. Search-R1 answers in the agent's own voice, in tags."""
    if wording == "search-r1":
        return (
            "\nThat was not an action that I can take. A query to look up goes between <search> and </search>. "
            "A final answer goes between <answer> and </answer>. I will do it again.\n"
        )
    return "nothing" if wording == "tiny" else reason
