"""Levels as text: XSB collections, Boxoban files, and one-line codes for task ids.

Cells: `#` wall, `@` player, `+` player on a goal, `$` box, `*` box on a goal, `.` goal; space, `-` and `_` are floor.
A level is a run of rows; blank lines, `;` comments, quoted titles and lines of other text separate levels. Reading
makes every level closed, as the rules need it:

- rows may be ragged; what lies beyond the last character of a row that is not a space is wall;
- floor that is connected to neither the player, a box nor a goal lies outside and becomes wall (boxes and goals in
  sealed parts of the board are kept: Microban has them);
- a level with a gap in its rim gets a ring of walls, so outside is wall.

Format of the collections: http://www.sokobano.de/wiki/index.php?title=Level_format; of Boxoban files: Guez et al. 2018
(a line `; N`, ten rows of ten cells, a blank line).
"""

from __future__ import annotations

from typing import NamedTuple

from agentenvs.core.errors import DataError, quote
from agentenvs.envs.sokoban.engine import Level, cells, flood, rim

MAX_SIDE = 64
MAX_LINE = 10_000
MAX_TEXT = 64 * 2**20

_CELLS = frozenset("#@+$*. -_")
_BITS = {symbol: {ord(char): "01"[char == symbol] for char in _CELLS} for symbol in "#@+$*."}


class _Block(NamedTuple):
    """The rows of one level and the number of the line that holds the first."""

    line: int
    rows: list[str]


def parse_levels(text: str, source: str) -> list[Level]:
    """All levels of a collection, in order. `source` names the text in errors.

    Raises `DataError` with the line number for anything that is not a level collection: see the messages below.
    Levels that are already solved are legal.
    """
    if len(text) > MAX_TEXT:
        raise DataError(source, "", expected=f"at most {MAX_TEXT} characters", found=f"{len(text)}", fix="split it")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks = _blocks(lines, source)
    if not blocks:
        found = "an empty file" if not text.strip() else "no row of cells"
        raise DataError(source, "", expected="at least one level", found=found, fix="see the cell list in levels.py")
    boxoban = _is_boxoban(lines)
    if boxoban:
        _check_complete(lines, blocks, source)
    levels = [_level(block, source) for block in blocks]
    if boxoban and levels[-1].rows != len(blocks[-1].rows):
        raise _torn(source, blocks[-1].line, "a level closed by walls", "an open rim")
    return levels


def parse_level(text: str, source: str = "level") -> Level:
    """The one level in `text`; its rows may also stand on one line, joined by `|`."""
    levels = parse_levels(text.replace("|", "\n"), source)
    if len(levels) != 1:
        raise DataError(source, "", expected="exactly one level", found=f"{len(levels)}", fix="pass one level")
    return levels[0]


def format_level(level: Level, player: int | None = None, boxes: int | None = None) -> str:
    """The level as XSB rows joined by line breaks, floor as a space; `player` and `boxes` default to the start."""
    player = level.player if player is None else player
    board = [" "] * (level.rows * level.cols)
    for mask, symbol in ((level.walls, "#"), (level.goals, "."), (level.boxes if boxes is None else boxes, "$")):
        for cell in cells(mask):
            board[cell] = "*" if symbol == "$" and board[cell] == "." else symbol
    board[player] = "+" if board[player] == "." else "@"
    text = "".join(board)
    return "\n".join(text[row * level.cols : (row + 1) * level.cols] for row in range(level.rows))


def encode_level(level: Level) -> str:
    """The level on one line without blanks: rows joined by `|`, floor as `-`. `decode_level` reads it back."""
    return format_level(level).replace("\n", "|").replace(" ", "-")


def decode_level(code: str) -> Level:
    """The level that `encode_level` wrote; raises `DataError` for any other text."""
    level = parse_level(code, "level code")
    if encode_level(level) != code:
        raise DataError("level code", "", expected=quote(encode_level(level), 200), found=quote(code, 200))
    return level


def _blocks(lines: list[str], source: str) -> list[_Block]:
    """Runs of rows; everything else separates."""
    blocks: list[_Block] = []
    inside = False
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise DataError(source, f"line {number}", expected=f"at most {MAX_LINE} characters", found=f"{len(line)}")
        if "\0" in line:
            raise DataError(source, f"line {number}", expected="text", found="a NUL byte", fix="is it a binary file?")
        if not _is_row(line, inside):
            inside = False
            continue
        _check_row(line, number, source)
        if not inside:
            blocks.append(_Block(number, []))
            inside = True
        blocks[-1].rows.append(line.rstrip(" "))
    return blocks


def _is_row(line: str, inside: bool) -> bool:
    """Whether the line is meant as a row. A line of other text may hold board characters ("Level #1"), and a row may
    hold a wrong one; the majority decides where the first character does not."""
    stripped = line.strip()
    if not stripped or stripped[0] in ";'\"":
        return False
    if not stripped.strip("-_"):
        return inside  # a ruler between levels, or a floor row of a level with an open rim
    board = sum(map(stripped.count, "#@+$*.-_"))
    if stripped[0] in "#@+$*.-_":
        return stripped[0] == "#" or 2 * board > len(stripped)
    return "#" in stripped and 2 * board > len(stripped)


def _check_row(line: str, number: int, source: str) -> None:
    for col, char in enumerate(line, 1):
        if char not in _CELLS:
            fix = "replace tabs by spaces" if char == "\t" else "comments begin with ';', titles are quoted"
            where = f"line {number}, column {col}"
            raise DataError(source, where, expected="one of '#@+$*. -_'", found=quote(char), fix=fix)


def _is_boxoban(lines: list[str]) -> bool:
    """Whether the first line that is not blank is the number 0, as in every Boxoban file."""
    return next(line for line in lines if line.strip()).split() == [";", "0"]


def _check_complete(lines: list[str], blocks: list[_Block], source: str) -> None:
    """Refuse a Boxoban file that was cut off: all its levels are 10x10, and each number has its level."""
    last = blocks[-1]
    widths = [{len(row) for row in block.rows} for block in (blocks[0], last)]
    if widths[0] == {10} and len(blocks[0].rows) == 10 and (widths[1] != {10} or len(last.rows) != 10):
        found = f"{len(last.rows)} rows, the last of {len(last.rows[-1])}"
        raise _torn(source, last.line, "10 rows of 10 cells", found)
    numbers = [number for number, line in enumerate(lines, 1) if line.lstrip().startswith(";")]
    if numbers[-1] > last.line:
        raise _torn(source, numbers[-1], "a level after its number", "none")


def _torn(source: str, line: int, expected: str, found: str) -> DataError:
    fix = "the file is cut off: fetch it again"
    return DataError(source, f"line {line}", expected=expected, found=found, fix=fix)


def _level(block: _Block, source: str) -> Level:
    """A closed level from its rows."""
    rows, cols = len(block.rows), max(map(len, block.rows))
    where = f"line {block.line}"
    _check_size(rows, cols, source, where)
    board = "".join(row.ljust(cols, "#") for row in block.rows)
    masks = {symbol: _mask(board, symbol) for symbol in "#@+$*."}
    players = masks["@"] | masks["+"]
    boxes, goals = masks["$"] | masks["*"], masks["."] | masks["*"] | masks["+"]
    _check_counts(players, boxes, goals, block, cols, source)
    full = (1 << rows * cols) - 1
    walls = full & ~_inside(full & ~masks["#"], players | boxes | goals, rows, cols)
    if rim(rows, cols) & ~walls:
        _check_size(rows + 2, cols + 2, source, where)
        walls, goals, boxes, players = (_pad(mask, rows, cols) for mask in (walls, goals, boxes, players))
        rows, cols = rows + 2, cols + 2
        walls |= rim(rows, cols)
    return Level(rows, cols, walls, goals, boxes, players.bit_length() - 1)


def _mask(board: str, symbol: str) -> int:
    """The cells that show `symbol`; bit 0 is the first character."""
    return int(board.translate(_BITS[symbol])[::-1], 2)


def _inside(free: int, seed: int, rows: int, cols: int) -> int:
    """Cells of `free` connected to `seed`, on a board whose rim may be open (hence the padding)."""
    padded = flood(_pad(free, rows, cols), _pad(seed, rows, cols), cols + 2)
    line = (1 << cols) - 1
    return sum((padded >> ((row + 1) * (cols + 2) + 1) & line) << row * cols for row in range(rows))


def _pad(mask: int, rows: int, cols: int) -> int:
    """The mask on a board with one more row and column on each side."""
    line = (1 << cols) - 1
    return sum((mask >> row * cols & line) << ((row + 1) * (cols + 2) + 1) for row in range(rows))


def _check_size(rows: int, cols: int, source: str, where: str) -> None:
    if rows > MAX_SIDE or cols > MAX_SIDE:
        fix = "a missing blank line between levels?" if rows > MAX_SIDE else ""
        raise DataError(source, where, expected=f"at most {MAX_SIDE}x{MAX_SIDE} cells", found=f"{rows}x{cols}", fix=fix)


def _check_counts(players: int, boxes: int, goals: int, block: _Block, cols: int, source: str) -> None:
    where = f"line {block.line}"
    count = players.bit_count()
    if count == 0:
        raise DataError(source, where, expected="a player ('@', or '+' on a goal)", found="none", fix="add one")
    if count > 1:
        row, col = divmod(cells(players)[1], cols)
        where = f"line {block.line + row}, column {col + 1}"
        raise DataError(source, where, expected="one player", found=f"{count}", fix="remove the others")
    if not boxes:
        raise DataError(source, where, expected="at least one box ('$', or '*' on a goal)", found="none")
    if boxes.bit_count() != goals.bit_count():
        found = f"{boxes.bit_count()} boxes and {goals.bit_count()} goals"
        raise DataError(source, where, expected="as many boxes as goals", found=found, fix="compare '$*' with '.*+'")
