"""Questions that no passage answers: on what is not told of somebody, and on somebody who does not exist."""

from __future__ import annotations

from agentenvs.core.rng import Stream
from agentenvs.envs.search_qa.world.chains import described, sign_of, walk
from agentenvs.envs.search_qa.world.draft import Book, Draft, names_of, plain, stands
from agentenvs.envs.search_qa.world.names import CULTURES, Names
from agentenvs.envs.search_qa.world.schema import RELATIONS
from agentenvs.envs.search_qa.world.table import Entity

GOLDS = ("unanswerable",)
_OPTIONAL: dict[str, list[str]] = {}
for _kind, _name in RELATIONS:
    if RELATIONS[_kind, _name].optional:
        _OPTIONAL.setdefault(_kind, []).append(_name)
_COINED = {
    "town": "{}",
    "river": "the River {}",
    "mountain": "Mount {}",
    "museum": "the {} Museum",
    "school": "the {} Academy",
}


def ask_untold(book: Book, stream: Stream, hops: int) -> Draft | None:
    """On a detail that is told of others of the kind; `hops` - 1 steps lead to the entity, which is not named then."""
    start = stream.choice(book.table.entities)
    chain = walk(book.table, stream, start, hops - 1)
    end = chain[-1].target if chain else start
    if len(chain) < hops - 1 or not isinstance(end, Entity) or any(not step.nouns for step in chain):
        return None
    missing = [name for name in _OPTIONAL.get(end.kind, ()) if name not in end.facts]
    if not missing:
        return None
    relation = RELATIONS[end.kind, stream.choice(missing)]
    question = stream.choice(relation.ask).format(x=described(start, chain, stream))
    if chain and stands(names_of(end), plain(question)):
        return None
    return Draft(question, GOLDS, (), (*sign_of(start, chain), end.kind, relation.name, "untold"))


def ask_unknown(book: Book, stream: Stream, names: Names) -> Draft | None:
    """On a name that sounds like the others and belongs to nobody."""
    kind = stream.choice(("person", "person", "novel", *_COINED))
    if kind == "person":
        one, other = (stream.choice(book.table.of("person")).title.split() for _ in range(2))
        mention = f"{one[0]} {other[1]}"
        exists = book.is_title(mention)
    elif kind == "novel":
        title = names.work()
        mention, exists = f'the novel "{title}"', book.is_title(title)
    else:
        name = names.coin(stream.choice(CULTURES), ("a", "or", "el"))
        mention, exists = _COINED[kind].format(name), book.is_word(name)
    if exists:
        return None
    relation = RELATIONS[kind, stream.choice([name for of, name in RELATIONS if of == kind])]
    return Draft(stream.choice(relation.ask).format(x=mention), GOLDS, (), (mention, relation.name))
