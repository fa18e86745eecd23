"""Where the values of a JSON object stand in its text, found while the text is being written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentenvs.core.messages import read_object
from agentenvs.wrappers.codecs.base import Label, Span

_MARK = re.compile(r'\\.?|["{}\[\],:]', re.DOTALL)
_KEY = 64  # characters of a key that are looked at


class _At(NamedTuple):
    """Where a reader of JSON text is. `depth`: open brackets, -1 once the last was closed. `inside`: in a string.
    `escaped`: after a backslash. `value`: the object's key is over, and `key` is its text; before, as much as was
    read of it."""

    depth: int = 0
    inside: bool = False
    escaped: bool = False
    value: bool = False
    key: str = ""

    def label(self, labels: Mapping[str, Label]) -> Label:
        within = self.value and (self.depth > 1 or (self.depth == 1 and self.inside))
        return labels.get(self.key, "other") if within else "other"


def object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, with or without a Markdown fence around it; None for anything else."""
    text = text.strip()
    if len(text) >= 6 and text.startswith("```") and text.endswith("```"):
        word, brace, rest = text[3:-3].partition("{")
        text = brace + rest if word.strip().isalnum() else text[3:-3]
    return read_object(text)


def route(state: str, piece: str, labels: Mapping[str, Label]) -> tuple[str, Label]:
    """The incremental reader for `Codec.route`: the new state, and the label of what comes next.

    It takes the first object in the text. The label is that of the key (by `labels`, keys as they are written) inside
    the quotes or the brackets of a value of the object itself, and `other` everywhere else.
    """
    at, _ = _read(_load(state), piece, labels)
    return _dump(at), at.label(labels)


def spans(text: str, labels: Mapping[str, Label]) -> tuple[Span, ...]:
    """The labelled insides of the values of the first JSON object in `text`, in order; it must be whole."""
    found = []
    start, label = 0, "other"
    _, changes = _read(_At(), text, labels)
    for place, then in changes:
        if label != "other":
            found.append(Span(start, place - 1, label))  # the quote or bracket that ends a value is not its inside
        start, label = place, then
    return tuple(found)


def _read(at: _At, piece: str, labels: Mapping[str, Label]) -> tuple[_At, list[tuple[int, Label]]]:
    """Read on. Also gives where the label changes: the place after the character that changes it, and the new label.

    A plain loop over what matters in JSON, with nothing called in it: a megabyte of brackets takes under a second.
    """
    depth, inside, escaped, value, key = at
    if depth < 0 or not piece:
        return at, []
    changes: list[tuple[int, Label]] = []
    start, label, cut = 0, at.label(labels), False
    for found in _MARK.finditer(piece, int(escaped)):
        mark = found[0]
        if mark[0] == "\\":
            cut = len(mark) == 1
            continue
        if mark == '"':
            if inside and depth == 1 and not value:
                key = (key + piece[start : found.start()])[:_KEY]
            start, inside = found.end(), depth > 0 and not inside
        elif inside:
            continue
        elif mark in "{[":
            depth += mark == "{" or depth > 0
        elif mark in "}]":
            depth = -1 if depth == 1 else depth - (depth > 0)
        elif depth == 1:
            value, key = mark == ":", key if mark == ":" else ""
        then = labels.get(key, "other") if value and (depth > 1 or (depth == 1 and inside)) else "other"
        if then != label:
            changes.append((found.end(), then))
            label = then
        if depth < 0:
            break
    if inside and depth == 1 and not value:
        key = (key + piece[start:])[:_KEY]
    return _At(depth, inside, cut, value, key), changes


def _dump(at: _At) -> str:
    return f"{at.depth} {int(at.inside)}{int(at.escaped)}{int(at.value)} {at.key}"


def _load(state: str) -> _At:
    if not state:
        return _At()
    depth, flags, key = state.split(" ", 2)
    return _At(int(depth), *(flag == "1" for flag in flags), key)
