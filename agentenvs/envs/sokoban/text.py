"""How a level is told: grids in several alphabets, coordinate lists, and both.

Sources of the published forms: RAGEN (grid, coord, grid_coord), SPA (spa: grid and one sentence of coordinates),
verl-agent and VAGEN (the tabbed grid).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from agentenvs.core.errors import unknown
from agentenvs.envs.sokoban.engine import Level, cells


class Symbols(NamedTuple):
    """One character for each kind of cell."""

    wall: str
    floor: str
    target: str
    box: str
    box_on_target: str
    player: str
    player_on_target: str


SYMBOLS = {
    "ragen": Symbols(*"#_OX√PS"),
    "letters": Symbols(*"W.GBCA@"),
    "xsb": Symbols(*"#-.$*@+"),
}
#: What stands before and after each cell of a grid.
LAYOUTS = {"joined": ("", ""), "tabbed": (" ", " \t")}
FORMS = ("grid", "coord", "grid_coord", "spa")
_WALLS = {ord("1"): "#", ord("0"): "."}


def legend(symbols: Symbols) -> str:
    """One line a kind of cell: symbol and meaning."""
    names = ("wall", "floor", "target", "box", "box on target", "player", "player on target")
    return "\n".join(f"{symbol} {name}" for symbol, name in zip(symbols, names, strict=True))


class _Skin(NamedTuple):
    """An alphabet in a layout, for boards of one size."""

    symbols: Symbols
    ground: dict[int, str]  # for str.translate: "1" is wall, "0" floor
    at: tuple[int, ...]  # where the symbol of each cell stands in the text


@lru_cache(maxsize=64)
def _skin(symbols: str, layout: str, rows: int, cols: int) -> _Skin:
    (before, after), shown = LAYOUTS[layout], SYMBOLS[symbols]
    ground = {ord("1"): before + shown.wall + after, ord("0"): before + shown.floor + after}
    width = len(before) + 1 + len(after)
    at = tuple(cell * width + len(before) + cell // cols for cell in range(rows * cols))
    return _Skin(shown, ground, at)


class Board:
    """Tells the states of one level. `boxes` below are cell indices, ascending; a list that is never changed."""

    __slots__ = (
        *("level", "targets", "tell", "walls"),
        *("_at", "_boxes", "_empty", "_goals", "_players", "_skin", "_with_boxes"),
    )

    def __init__(self, level: Level, *, form: str = "grid", symbols: str = "ragen", layout: str = "joined") -> None:
        self.level, self._goals, self._skin = level, level.goals, _skin(symbols, layout, level.rows, level.cols)
        self._at, self._players = self._skin.at, self._skin.symbols[5:]  # on floor, on a target
        #: The state in the form of this board: `tell(player, boxes)`.
        self.tell: Callable[[int, Sequence[int]], str] = getattr(self, form)
        self.targets = cells(level.goals)
        size, cols = level.rows * level.cols, level.cols
        bits = f"{level.walls:0{size}b}"[::-1]
        ground = "\n".join([bits[at : at + cols] for at in range(0, size, cols)])
        #: One string a row, `#` for wall and `.` for the rest.
        self.walls = ground.translate(_WALLS).split("\n")
        self._empty = ground.translate(self._skin.ground)
        for target in self.targets:
            self._empty = self._drawn(self._empty, target, self._skin.symbols.target)
        self._boxes: Sequence[int] | None = None
        self._with_boxes = ""

    def _drawn(self, text: str, cell: int, symbol: str) -> str:
        """The text with another symbol in one cell."""
        at = self._at[cell]
        return text[:at] + symbol + text[at + 1 :]

    def grid(self, player: int, boxes: Sequence[int]) -> str:
        """Rows joined by line breaks. Most actions move no box, so the text with the boxes is kept."""
        if boxes is not self._boxes:
            self._set_boxes(boxes)
        text, at = self._with_boxes, self._at[player]
        return f"{text[:at]}{self._players[self._goals >> player & 1]}{text[at + 1 :]}"

    def _set_boxes(self, boxes: Sequence[int]) -> None:
        text, symbols = self._empty, self._skin.symbols
        for box in boxes:
            text = self._drawn(text, box, symbols.box_on_target if self._goals >> box & 1 else symbols.box)
        self._boxes, self._with_boxes = boxes, text

    def coord(self, player: int, boxes: Sequence[int]) -> str:
        """RAGEN's lines of zero-indexed (row, col) pairs; kinds without members are left out, walls are not told."""
        goals = self._goals
        kinds = {
            "Targets": [t for t in self.targets if t != player and t not in boxes],
            "Boxes": [b for b in boxes if not goals >> b & 1],
            "Boxes on target": [b for b in boxes if goals >> b & 1],
            "Player": [] if goals >> player & 1 else [player],
            "Player on target": [player] if goals >> player & 1 else [],
        }
        size = f"Board size: {self.level.rows} rows x {self.level.cols} cols (zero-indexed)."
        return "\n".join([size, *(f"{kind}: {self._pairs(found, ', ')}" for kind, found in kinds.items() if found)])

    def grid_coord(self, player: int, boxes: Sequence[int]) -> str:
        return f"Coordinates: \n{self.coord(player, boxes)}\nGrid Map: \n{self.grid(player, boxes)}"

    def spa(self, player: int, boxes: Sequence[int]) -> str:
        """The grid and SPA's coordinate line."""
        clauses = [f"Player (P) is at {self._pairs([player], ',')}"]
        clauses += [f"box (X) is at {self._pairs([box], ',')}" for box in boxes]
        clauses += [f"target (O) is at {self._pairs([target], ',')}" for target in self.targets]
        return f"{self.grid(player, boxes)}\n{'; '.join(clauses)}."

    def _pairs(self, found: Sequence[int], comma: str) -> str:
        return ", ".join(f"({cell // self.level.cols}{comma}{cell % self.level.cols})" for cell in found)


def check(form: str, symbols: str, layout: str) -> None:
    """Raise `UnknownName` for a form, alphabet or layout that does not exist."""
    for kind, name, known in (
        ("observation form", form, FORMS),
        ("symbols", symbols, SYMBOLS),
        ("layout", layout, LAYOUTS),
    ):
        if name not in known:
            raise unknown(kind, name, known)
