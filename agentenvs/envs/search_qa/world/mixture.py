"""The questions of a world: how many of each kind, which split they belong to, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.chains import ask_chain
from agentenvs.envs.search_qa.world.draft import Book, Draft
from agentenvs.envs.search_qa.world.nothing import ask_unknown, ask_untold
from agentenvs.envs.search_qa.world.pairs import ask_comparison, ask_yes_no
from agentenvs.envs.search_qa.world.question import Question
from agentenvs.envs.search_qa.world.times import ask_office, ask_office_when, ask_span

#: Of 20 questions in a row: how many are of a kind and a number of hops.
MIXTURE = {
    ("single", 1): 5,
    ("bridge", 2): 4,
    ("bridge", 3): 2,
    ("bridge", 4): 1,
    ("comparison", 2): 2,
    ("temporal", 1): 1,
    ("temporal", 2): 1,
    ("yesno", 2): 2,
    ("unanswerable", 1): 1,
    ("unanswerable", 2): 1,
}
BLOCK = sum(MIXTURE.values())
#: Passages of the world for each block of a split. The test is drawn first.
_PASSAGES_PER_BLOCK = {"test": 80, "validation": 160, "train": 20}


def ask(book: Book, seed: int, size: int) -> dict[str, tuple[Question, ...]]:
    """The questions by split. No two questions, of whatever splits, ask the same, or in the same words."""
    stream = Stream("search_qa", "world", seed, size, "questions")
    makers = _makers(book, stream)
    numbers: Counter[str] = Counter()
    asked: set[object] = set()
    splits = {}
    for split, share in _PASSAGES_PER_BLOCK.items():
        questions: list[Question] = []
        for _ in range(size // share):
            block = [
                _keyed(_fresh(makers[form], asked), *form, numbers)
                for form, count in MIXTURE.items()
                for _ in range(count)
            ]
            stream.shuffle(block)
            questions += block
        splits[split] = tuple(questions)
    return splits


def _makers(book: Book, stream: Stream) -> dict[tuple[str, int], Callable[[], Draft | None]]:
    """What drafts a question of each form; a draft that fails its checks is None."""
    return {
        ("single", 1): lambda: ask_chain(book, stream, 1),
        ("bridge", 2): lambda: ask_chain(book, stream, 2),
        ("bridge", 3): lambda: ask_chain(book, stream, 3),
        ("bridge", 4): lambda: ask_chain(book, stream, 4),
        ("comparison", 2): lambda: ask_comparison(book, stream),
        ("temporal", 1): lambda: ask_office(book, stream),
        ("temporal", 2): lambda: stream.choice((ask_office_when, ask_span))(book, stream),
        ("yesno", 2): lambda: ask_yes_no(book, stream),
        ("unanswerable", 1): lambda: ask_untold(book, stream, 1) if stream.below(5) < 3 else ask_unknown(book, stream),
        ("unanswerable", 2): lambda: ask_untold(book, stream, 2),
    }


def _fresh(make: Callable[[], Draft | None], asked: set[object]) -> Draft:
    """The first draft that passes its checks and that was not asked yet, by its words or by what it asks."""
    while True:
        draft = make()
        if draft and draft.question not in asked and draft.sign not in asked:
            asked |= {draft.question, draft.sign}
            return draft


def _keyed(draft: Draft, kind: str, hops: int, numbers: Counter[str]) -> Question:
    form = f"{kind}{hops}"
    numbers[form] += 1
    support = tuple(entity.id for entity in draft.support)
    return Question(f"{form}.{numbers[form]}", draft.question, draft.golds, support, hops, kind)
