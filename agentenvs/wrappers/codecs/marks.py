"""Marks: the fixed texts, tags above all, by which a codec knows where something begins and ends.

Tags look like `<...>` with no further angle bracket, so that different ones never overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agentenvs.core.errors import ConfigError, quote

#: A word that can name a key or begin a line.
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_TAG = re.compile(r"<[^<>\s]+>")


def check_tags(codec: str, *tags: str) -> None:
    """Raise ConfigError unless every text is a tag and no two are the same."""
    for tag in tags:
        if not isinstance(tag, str) or not _TAG.fullmatch(tag):
            raise ConfigError(f"{codec} codec: expected a tag like <name>, without blanks, got {quote(tag)}")
    if twice := [tag for i, tag in enumerate(tags) if tag in tags[:i]]:
        raise ConfigError(f"{codec} codec: {twice[0]} would mark two things; give one of them another tag")


def pair(name: str) -> tuple[str, str]:
    """The opening and the closing tag of a name."""
    return f"<{name}>", f"</{name}>"


def any_of(marks: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds the first of several marks; without marks it finds nothing."""
    return re.compile("|".join(map(re.escape, marks)) or r"(?!)")


def escape(text: str, tags: re.Pattern[str]) -> str:
    """`text` with the `<` of every tag that the pattern finds written `&lt;`: no tag is left, and none comes about."""
    return tags.sub(lambda found: "&lt;" + found[0][1:], text)


def unfinished(text: str, begin: int, marks: Sequence[str]) -> int:
    """Where, from `begin` on, one of the marks has begun at the end of the text without being complete; the end of
    the text where none has. All marks begin with the same character, which stands nowhere else in them."""
    if not marks:
        return len(text)
    last = text.rfind(marks[0][0], max(begin, len(text) - max(map(len, marks)) + 1))
    if last < 0:
        return len(text)
    end = text[last:]
    return last if any(len(end) < len(mark) and mark.startswith(end) for mark in marks) else len(text)
