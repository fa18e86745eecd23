"""The reward of gym-sokoban, as named components.

Every action costs 0.1, a blocked one and one that cannot be read as well; a box that comes onto a target pays 1, one
that leaves it costs 1; 10 are paid when all boxes are on targets. The components add: a winning push pays 10.9.
"""

from __future__ import annotations

from agentenvs.core.outcome import Rewards

COMPONENTS = ("step", "box", "solved")
STEP, BOX, SOLVED = -0.1, 1.0, 10.0
#: The reward by (boxes gained, solved): there are only so many, so each is made once.
_TABLE = {
    (gained, solved): Rewards({"step": STEP, "box": gained * BOX, "solved": SOLVED if solved else 0.0})
    for gained in (-1, 0, 1)
    for solved in (False, True)
}
IDLE = _TABLE[0, False]


def reward(gained: int, solved: bool) -> Rewards:
    """The reward of an action that moved `gained` boxes onto targets (-1, 0 or 1)."""
    return _TABLE[gained, solved]
