"""What a word is: a run of Unicode letters, digits and underscores (`\\w` of regular expressions), in lower case.

Nothing is stemmed and there is no list of stop words. An analyzer has a name, which is part of an index's
specification.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agentenvs.core.errors import unknown

Analyzer = Callable[[str], list[str]]

_find = re.compile(r"\w+").findall


def words(text: str) -> list[str]:
    """The words of `text`, in order, repeats included. Linear in its length."""
    return _find(text.lower())


ANALYZERS: dict[str, Analyzer] = {"words": words}


def analyzer(name: str) -> Analyzer:
    """The analyzer of this name; raises `UnknownName`."""
    if name not in ANALYZERS:
        raise unknown("analyzer", name, ANALYZERS)
    return ANALYZERS[name]


def terms(text: str, analyze: Analyzer = words) -> list[str]:
    """The different words of a query, each once, in order of first occurrence."""
    return list(dict.fromkeys(analyze(text)))
