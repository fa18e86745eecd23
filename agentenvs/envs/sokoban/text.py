"""How a level is told: grids in several alphabets, coordinate lists, and both.

Sources of the published forms: RAGEN (grid, coord, grid_coord), SPA (spa: grid and one sentence of coordinates),
verl-agent and VAGEN (the tabbed grid).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
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


class Board:
    """Tells the states of one level. `boxes` below are cell indices, ascending."""

    __slots__ = ("_blank", "_goals", "_shown", "level", "targets", "tell", "walls")

    def __init__(self, level: Level, *, form: str = "grid", symbols: str = "ragen", layout: str = "joined") -> None:
        check(form, symbols, layout)
        self.level, self._goals = level, level.goals
        self.targets = cells(level.goals)
        #: The state in the form of this board: `tell(player, boxes)`.
        self.tell = {"grid": self.grid, "coord": self.coord, "grid_coord": self.grid_coord, "spa": self.spa}[form]
        size, cols = level.rows * level.cols, level.cols
        bits = f"{level.walls:0{size}b}"[::-1]
        #: One string a row, `#` for wall and `.` for the rest.
        self.walls = [bits[at : at + cols].translate(_WALLS) for at in range(0, size, cols)]
        before, after = LAYOUTS[layout]
        self._shown = shown = Symbols(*(before + symbol + after for symbol in SYMBOLS[symbols]))
        self._blank = [shown.wall if bit == "1" else shown.floor for bit in bits]
        for target in self.targets:
            self._blank[target] = shown.target
        for end in range(cols - 1, size - 1, cols):  # the rim is wall: what moves never overwrites a line break
            self._blank[end] += "\n"

    def grid(self, player: int, boxes: Sequence[int]) -> str:
        """Rows joined by line breaks."""
        text, goals, shown = self._blank.copy(), self._goals, self._shown
        for box in boxes:
            text[box] = shown.box_on_target if goals >> box & 1 else shown.box
        text[player] = shown.player_on_target if goals >> player & 1 else shown.player
        return "".join(text)

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

    def identity(self) -> str:
        """A short text that stands for walls and targets; equal for equal rooms."""
        level = self.level
        return blake2b(f"{level.cols}:{level.walls:x}:{level.goals:x}".encode(), digest_size=6).hexdigest()


def check(form: str, symbols: str, layout: str) -> None:
    """Raise `UnknownName` for a form, alphabet or layout that does not exist."""
    for kind, name, known in (
        ("observation form", form, FORMS),
        ("symbols", symbols, SYMBOLS),
        ("layout", layout, LAYOUTS),
    ):
        if name not in known:
            raise unknown(kind, name, known)
