"""What an action led to, and what it was worth."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

#: The end reason of an episode that has used up its turns.
TURN_LIMIT = "turn_limit"
_OUTCOME = ("observation", "rewards", "effective", "end_reason", "kind", "valid", "error_type")


class Rewards(dict[str, float]):
    """All components of a reward and their `total`. Never changed; the common ones are made once.

    The total is `math.fsum`, the exact sum rounded once: `sum` gives other last bits from Python 3.12 on.
    """

    __slots__ = ("total",)

    def __init__(self, components: Mapping[str, float]) -> None:
        super().__init__(components)
        self.total = fsum(self.values())


class Outcome:
    """What a native action led to; what is not named did not happen.

    `rewards` is `Rewards`, or a mapping that may leave out components that are 0. `end_reason` is given exactly when
    the episode terminates.
    """

    __slots__ = _OUTCOME

    def __init__(
        self,
        observation: str,
        rewards: Mapping[str, float],
        effective: bool = False,
        end_reason: str = "",
        kind: str = "",
        valid: bool = True,
        error_type: str = "",
    ) -> None:
        self.observation = observation
        self.rewards = rewards
        self.effective = effective
        self.end_reason = end_reason
        self.kind = kind
        self.valid = valid
        self.error_type = error_type

    def to_json(self) -> dict[str, Any]:
        """The arguments that make an equal outcome."""
        return {name: getattr(self, name) for name in _OUTCOME} | {"rewards": dict(self.rewards)}
