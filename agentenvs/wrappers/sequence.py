"""Which order of blocks a transcript keeps: think, then calls each followed by a result and a thought, then the end.

The rule of Search-R1 v0.3 (Jin et al. 2025, arXiv 2503.09516), as a machine that is fed piece by piece:

    think (call result think)* final        with nothing but white space between the blocks

Inside a block stands any text but the machine's own marks, so marks that are nested, repeated, unclosed or closed twice
break the order; that every block is balanced follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from agentenvs.core.errors import ConfigError, quote

#: A block by the name of its tags, or by its opening and closing mark.
Block = str | Sequence[str]
_MARK = re.compile(r"<[^<>]+>")


class State(NamedTuple):
    """Where the machine stands: inside a block its opening mark, else what has to come; and a mark begun at the end."""

    place: str
    tail: str = ""


#: What no transcript comes back from.
BROKEN = State("broken")


class Blocks:
    """The blocks of a transcript: `think`, `calls` (each is answered by a `result`) and `final`.

    With `think=""` there is no reasoning: calls and final follow each other directly. A block is named by its tag
    ("search" for `<search>` and `</search>`) or by a pair of marks; a mark begins with `<`, ends with `>` and holds
    neither in between, and no two are equal, else `ConfigError`.
    """

    def __init__(
        self,
        *,
        think: Block = "think",
        calls: Sequence[Block] = ("search",),
        result: Block = "information",
        final: Block = "answer",
    ) -> None:
        if isinstance(calls, str):
            raise ConfigError(f"blocks: expected a list of calls, got the text {quote(calls)}")
        #: A result without content.
        self.empty_result = "".join(_marks(result))
        self.start = State("think is due" if think else "call is due")
        moves = [(self.start.place, think, "call is due")] if think else []
        moves += [("call is due", call, "result is due") for call in calls]
        moves += [("result is due", result, self.start.place), ("call is due", final, "end")]
        self._moves: dict[tuple[str, str], str] = {}
        for before, block, after in moves:
            opening, closing = _marks(block)
            self._moves |= {(before, opening): opening, (opening, closing): after}
        marks = [mark for _, block, _ in moves for mark in _marks(block)]
        if len(set(marks)) < len(marks):
            raise ConfigError(f"blocks: expected a mark of its own for each end of a block, got {quote(marks, 200)}")
        self._mark = re.compile("|".join(map(re.escape, marks)))
        self._begun = {mark[:n] for mark in marks for n in range(1, len(mark))}
        self._places = {self.start.place, *self._moves.values(), BROKEN.place}

    def advance(self, state: State, piece: str) -> State:
        """Feed the next piece. Cutting a transcript differently gives the same state; linear in the piece."""
        place, text, at = state.place, state.tail + piece, 0
        for mark in self._mark.finditer(text):
            if place == BROKEN.place:
                break
            place = self._passed(place, text[at : mark.start()])
            place = self._moves.get((place, mark[0]), BROKEN.place)
            at = mark.end()
        last = text.rfind("<", at)
        begun = last if last >= 0 and text[last:] in self._begun else len(text)
        place = self._passed(place, text[at:begun])
        return BROKEN if place == BROKEN.place else State(place, text[begun:])

    def complete(self, state: State) -> bool:
        """Whether the transcript may end here: after the final block and nothing but white space."""
        return state == State("end")

    def is_state(self, value: Any) -> bool:
        """Whether `value` is `[place, tail]` of a state, as JSON gives it."""
        return (
            isinstance(value, (list, tuple))
            and len(value) == 2
            and all(isinstance(part, str) for part in value)
            and value[0] in self._places
            and value[1] in {"", *self._begun}
        )

    @staticmethod
    def _passed(place: str, text: str) -> str:
        """The place after text without marks: outside of blocks only white space may stand."""
        return place if place.startswith("<") or not text.strip() else BROKEN.place


def valid_sequence(text: str, blocks: Blocks | None = None) -> bool:
    """Whether a whole transcript, from the agent's first character on, keeps the order (by default Search-R1's)."""
    blocks = blocks or Blocks()
    return blocks.complete(blocks.advance(blocks.start, text))


def _marks(block: Block) -> tuple[str, str]:
    """The opening and the closing mark of a block."""
    pair = (f"<{block}>", f"</{block}>") if isinstance(block, str) else tuple(block)
    if len(pair) != 2 or not all(isinstance(mark, str) and _MARK.fullmatch(mark) for mark in pair):
        raise ConfigError(f"block: expected a tag name or two marks like <a> and </a>, got {quote(block)}")
    return pair
