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


def legend(symbols: Symbols) -> str:
    """One line a kind of cell: symbol and meaning."""
    names = ("wall", "floor", "target", "box", "box on target", "player", "player on target")
    return "\n".join(f"{symbol} {name}" for symbol, name in zip(symbols, names, strict=True))


class Board:
    """Tells the states of one level. `boxes` below are cell indices, ascending."""

    __slots__ = ("_at", "_blank", "_goals", "_symbols", "_tell", "level", "targets")

    def __init__(self, level: Level, *, form: str = "grid", symbols: str = "ragen", layout: str = "joined") -> None:
        check(form, symbols, layout)
        self.level, self._symbols, self._goals = level, SYMBOLS[symbols], level.goals
        self.targets = cells(level.goals)
        self._tell = {"grid": self.grid, "coord": self.coord, "grid_coord": self.grid_coord, "spa": self.spa}[form]
        before, after = LAYOUTS[layout]
        cols, width = level.cols, len(before) + 1 + len(after)
        fill = self._symbols
        rows = [
            "".join(before + fill[self._kind(r * cols + c)] + after for c in range(cols)) for r in range(level.rows)
        ]
        self._blank = list("\n".join(rows))
        self._at = [r * (cols * width + 1) + c * width + len(before) for r in range(level.rows) for c in range(cols)]

    def _kind(self, cell: int) -> int:
        """0 wall, 1 floor, 2 target."""
        return 0 if self.level.walls >> cell & 1 else 2 if self._goals >> cell & 1 else 1

    def tell(self, player: int, boxes: Sequence[int]) -> str:
        """The state in the form of this board."""
        return self._tell(player, boxes)

    def grid(self, player: int, boxes: Sequence[int]) -> str:
        """Rows joined by line breaks."""
        text, at, goals, symbols = self._blank.copy(), self._at, self._goals, self._symbols
        for box in boxes:
            text[at[box]] = symbols.box_on_target if goals >> box & 1 else symbols.box
        text[at[player]] = symbols.player_on_target if goals >> player & 1 else symbols.player
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

    def walls(self) -> list[str]:
        """One string a row, `#` for wall and `.` for the rest."""
        walls, cols = self.level.walls, self.level.cols
        return ["".join("#" if walls >> r * cols + c & 1 else "." for c in range(cols)) for r in range(self.level.rows)]


def check(form: str, symbols: str, layout: str) -> None:
    """Raise `UnknownName` for a form, alphabet or layout that does not exist."""
    for kind, name, known in (
        ("observation form", form, FORMS),
        ("symbols", symbols, SYMBOLS),
        ("layout", layout, LAYOUTS),
    ):
        if name not in known:
            raise unknown(kind, name, known)
