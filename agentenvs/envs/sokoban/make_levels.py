"""Makes the embedded level set, and measures the generator.

    python -m agentenvs.envs.sokoban.make_levels OUT.xsb     # writes a new file; never overwrites one
    python -m agentenvs.envs.sokoban.make_levels --measure   # prints the difficulty table of generate.py

The set is a pure function of this package's generator and solver: levels are drawn tier by tier from fixed streams,
kept if their fewest pushes and the states that the solver needed fall into the tier, and if no rotation or reflection
of them was kept before.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agentenvs.core.errors import ConfigError
from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban.engine import Level
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import format_level
from agentenvs.envs.sokoban.solver import search

MEASURED = ((6, 6, 1), (6, 6, 2), (8, 8, 2), (8, 8, 4), (10, 10, 4))


class Tier(NamedTuple):
    """Which levels count: shapes (rows, cols, boxes) in turn, pushes from `low` to `high`, at least `nodes` states."""

    name: str
    shapes: tuple[tuple[int, int, int], ...]
    low: int
    high: int
    nodes: int


TIERS = (
    Tier("easy", ((8, 8, 2), (8, 9, 2), (9, 8, 2)), 4, 8, 0),
    Tier("medium", ((8, 8, 3), (9, 9, 3), (9, 10, 3)), 9, 15, 20),
    Tier("hard", ((10, 10, 4), (9, 10, 4), (10, 10, 3)), 16, 60, 100),
)


def make_tier(tier: Tier, count: int) -> list[tuple[Level, int]]:
    """`count` different levels with their fewest pushes, easier ones first."""
    found: list[tuple[int, int, int, Level]] = []
    seen: set[str] = set()
    number = 0
    while len(found) < count:
        shape = tier.shapes[number % len(tier.shapes)]
        level, _ = generate(Stream("sokoban", "embedded", tier.name, number), *shape, difficulty=tier.low // 2)
        number += 1
        solution = search(level, level.player, level.boxes)
        if solution is None or not tier.low <= solution.pushes <= tier.high or solution.nodes < tier.nodes:
            continue
        key = canonical(level)
        if key not in seen:
            seen.add(key)
            found.append((solution.pushes, solution.nodes, number, level))
    return [(level, pushes) for pushes, _, _, level in sorted(found, key=lambda item: item[:3])]


def canonical(level: Level) -> str:
    """A text that is equal for a level and its seven rotations and reflections, and different for all others."""
    rows = format_level(level).split("\n")
    forms = []
    for _ in range(4):
        forms += ["\n".join(rows), "\n".join(row[::-1] for row in rows)]
        rows = ["".join(column) for column in zip(*reversed(rows), strict=True)]
    return min(forms)


def document(count: int) -> str:
    """The whole level file: each level below a comment `; <tier> <index> pushes=<fewest pushes>`."""
    parts = ["; Sokoban levels in three tiers, made by agentenvs.envs.sokoban.make_levels (see README.md)\n"]
    for tier in TIERS:
        for index, (level, pushes) in enumerate(make_tier(tier, count)):
            parts.append(f"; {tier.name} {index} pushes={pushes}\n{format_level(level)}\n")
    return "\n".join(parts)


def measure(count: int) -> Iterator[str]:
    """Lines of the difficulty table: fewest pushes, and moves of that plan, as 10% / median / 90% / most."""
    for shape in MEASURED:
        pushes, moves = [], []
        for number in range(count):
            level, _ = generate(Stream("sokoban", "measure", number), *shape)
            solution = search(level, level.player, level.boxes)
            assert solution is not None
            pushes.append(solution.pushes)
            moves.append(len(solution.directions))
        name = "{}x{}, {} box".format(*shape) + "es" * (shape[2] > 1)
        yield f"{name:<16} pushes {_quantiles(pushes):<16} moves {_quantiles(moves)}"


def _quantiles(values: list[int]) -> str:
    values = sorted(values)
    picked = (values[len(values) // 10], values[len(values) // 2], values[len(values) * 9 // 10], values[-1])
    return " / ".join(map(str, picked))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the embedded Sokoban levels, or measure the generator.")
    parser.add_argument("out", nargs="?", type=Path, help="the level file to write; must not exist")
    parser.add_argument("--count", type=int, default=60, help="levels a tier (60)")
    parser.add_argument("--measure", action="store_true", help="print the difficulty of generated levels")
    options = parser.parse_args(arguments)
    if options.measure:
        for line in measure(2_000):
            print(line)
    elif options.out is None:
        parser.error("name the file to write, or give --measure")
    elif options.out.exists():
        raise ConfigError(f"expected a new file, {options.out} exists; choose another name or remove it first")
    else:
        options.out.write_text(document(options.count), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
