"""How hard the levels of the presets are: the tables of the family's page.

python -m agentenvs.envs.sokoban.measure
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from agentenvs.envs.sokoban.env import SokobanEnv
from agentenvs.envs.sokoban.levels import encode_level
from agentenvs.envs.sokoban.solver import search, shortest_moves

_ONE_BOX = (
    ("ragen", "validation", 256),
    ("ragen", "test", 512),
    ("ragen", "train", 512),
    ("verl-agent", "validation", 256),
    ("vagen", "validation", 199),
    ("tiny", "test", 500),
)
_MORE_BOXES = (("default", "test", 300), ("gym", "test", 200))


def _ninth(values: Sequence[int]) -> int:
    """The value that nine of ten do not exceed."""
    return sorted(values)[len(values) * 9 // 10]


def main() -> None:
    print("| preset, split | tasks | levels | walls | mean | median | 90% | most | share <= 5 | beyond the limit |")
    for preset, split, n in _ONE_BOX:
        env = SokobanEnv(preset=preset)
        levels = [env.source.task(task).data for task in env.source.ids(split, n)]
        moves = [shortest_moves(level) or 0 for level in levels]
        kinds = f"{len(set(map(encode_level, levels)))} | {len({level.walls for level in levels})}"
        spread = f"{mean(moves):.2f} | {median(moves):g} | {_ninth(moves)} | {max(moves)}"
        share = f"{sum(m <= 5 for m in moves) / n:.2f} | {sum(m > env.max_turns for m in moves)}"
        print(f"| `{preset}`, {split} | {n} | {kinds} | {spread} | {share} |")
    print("\n| preset, split | tasks | pushes: median, 90%, most | moves: median, 90%, most |")
    for preset, split, n in _MORE_BOXES:
        source = SokobanEnv(preset=preset).source
        found = [
            search(level, level.player, level.boxes) for level in (source.task(i).data for i in source.ids(split, n))
        ]
        plans = [plan for plan in found if plan is not None]
        cells = [
            f"{median(values):g}, {_ninth(values)}, {max(values)}"
            for values in ([plan.pushes for plan in plans], [len(plan.directions) for plan in plans])
        ]
        print(f"| `{preset}`, {split} | {n} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
