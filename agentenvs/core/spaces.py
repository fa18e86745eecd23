"""`FreeText`: the space of all Unicode strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium import Space
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory

_ALPHABET = "abcdefghijklmnopqrstuvwxyz "


class FreeText(Space[str]):
    """Any `str`, of any length. Unlike `gymnasium.spaces.Text` it has no alphabet and no limit.

    `sample()` draws a tilde and 8 to 24 lower-case letters and blanks: readable, and no valid action anywhere.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if mask is not None or probability is not None:
            raise ValueError("FreeText has no choices to mask or weigh: expected mask=None and probability=None")
        letters = self.np_random.integers(len(_ALPHABET), size=int(self.np_random.integers(8, 25)))
        return "~" + "".join(_ALPHABET[i] for i in letters)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def to_jsonable(self, sample_n: Sequence[str]) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        return [str(x) for x in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText)

    def __hash__(self) -> int:
        return 0x7E97

    def __repr__(self) -> str:
        return "FreeText()"


@create_shared_memory.register(FreeText)
def _no_shared_memory(space: FreeText, n: int = 1, ctx: Any = None) -> Any:
    raise CustomSpaceError(
        "text has no fixed size and cannot lie in shared memory; use "
        'gym.make_vec(id, vectorization_mode="async", vector_kwargs={"shared_memory": False})'
    )
