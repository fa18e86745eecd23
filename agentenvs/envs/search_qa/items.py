"""One question with what is known about its answer."""

from __future__ import annotations

from dataclasses import dataclass

#: The letters of a multiple choice; more options there are not.
LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True, slots=True)
class Item:
    """A question as data; nothing of it but `question` and `options` may be shown to a policy.

    - `golds`: the accepted answers; where there are options, the letter of the right one alone.
    - `options`: the texts of options A, B, C, ... of a multiple choice, else empty.
    - `support`: ids of the passages that lead to the answer, in the order of the data; empty where not annotated.
    - `hops`: how many facts have to be joined; 0 where not known.
    - `kind`: the sort of question in the words of the data ("bridge", "comparison"); "" where not known.
    """

    question: str
    golds: tuple[str, ...]
    options: tuple[str, ...] = ()
    support: tuple[str, ...] = ()
    hops: int = 0
    kind: str = ""
