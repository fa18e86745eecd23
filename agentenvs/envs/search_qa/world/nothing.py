"""Questions that no passage answers: on a fact that is left untold, and on something that does not exist.

Both are drawn as the answerable ones are (`chains.draw_chain`), so that relations and phrasings come in the same
proportions.
"""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.chains import draw_chain
from agentenvs.envs.search_qa.world.draft import Book, Draft
from agentenvs.envs.search_qa.world.table import Entity

GOLDS = ("unanswerable",)


def ask_untold(book: Book, stream: Stream, hops: int) -> Draft | None:
    """On an untold fact; `hops` - 1 told ones lead to it."""
    draft = draw_chain(book, stream, stream.choice(book.table.entities), hops, told=False)
    return draft and draft._replace(golds=GOLDS, support=(), sign=(*draft.sign, "untold"))


def ask_unknown(book: Book, stream: Stream) -> Draft | None:
    """On a name that sounds like the others of its kind and belongs to nothing; an untold fact where there is none."""
    start = stream.choice(book.table.entities)
    draft = draw_chain(book, stream, start, 1, told=False)
    if draft is None:
        return None
    title = _crossed(book, stream, start) or start.title
    question = draft.question.replace(start.title, title)
    return Draft(question, GOLDS, (), (*draft.sign, "untold" if title == start.title else title))


def _crossed(book: Book, stream: Stream, one: Entity) -> str | None:
    """A title that ends in the last word of another title of the same kind and culture, if no passage has it.

    None for most things that are named by one word of their own: regions, towns, rivers, mountains, museums.
    """
    kin = [other for other in book.table.of(one.kind) if other.culture == one.culture]
    title = " ".join([*one.title.split()[:-1], stream.choice(kin).title.split()[-1]])
    return None if book.is_title(title) else title
