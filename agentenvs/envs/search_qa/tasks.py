"""Where the questions come from, and the passages that belong to them.

Task ids are `search_qa/<split>/<data>.<key>`; they are the same in every mode and with every retriever.

| data | questions | passages |
|---|---|---|
| world | a generated fictional world | all of it, and the facts |
| facts | well-known facts of the real world | the same |
| mixed | both, in turns; none unanswerable: closed-book that would be one to know | the same |
| tiny | a closed table of names | one a fact |
| a published name (`official.NAMES`) | the official files | those of the files, else `corpus=` |
| file | `questions=` | `corpus=` |
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from agentenvs.core.errors import ConfigError, UnknownName, quote, unknown
from agentenvs.core.info import canonical
from agentenvs.core.task import SPLITS, FiniteSource, Task
from agentenvs.envs.search_qa import official
from agentenvs.envs.search_qa.items import Item
from agentenvs.envs.search_qa.presets import Preset
from agentenvs.envs.search_qa.world import facts, tiny
from agentenvs.envs.search_qa.world.question import Question
from agentenvs.envs.search_qa.world.world import World, make_world
from agentenvs.retrieval import Corpus, make_corpus, read_corpus

Items = Mapping[str, Mapping[str, Item]]
EMBEDDED = ("world", "facts", "mixed", "tiny")
UNKNOWN = ("unanswerable",)
_read: dict[Any, Questions] = {}
_lock = threading.Lock()  # what is read or made is so once


class Questions(FiniteSource):
    """Questions in splits, and the corpus that belongs to them (None: there is none on this machine).

    With `lettered` those with options can be played, which are answered by a letter, else those without.
    """

    family = "search_qa"

    def __init__(
        self, name: str, items: Items, corpus: Corpus | None, digests: Mapping[str, str], lettered: bool = False
    ) -> None:
        self.name, self.corpus, self.digests, self.lettered = name, corpus, digests, lettered
        self.items = {split: items[split] for split in SPLITS if items.get(split)}
        self.splits = tuple(self.items)
        self._keys = {split: tuple(found) for split, found in self.items.items()}

    def all_keys(self, split: str) -> Sequence[str]:
        return self._keys[split]

    def load(self, split: str, key: str) -> Task:
        item = self.items[split].get(key)
        if item is None:
            raise UnknownName(f"no task {quote(key)} in {split} of {self.name}; keys look like {self._keys[split][0]}")
        if bool(item.options) != self.lettered:
            raise ConfigError(f"search_qa/{split}/{key}: {_unfit(self.lettered)}")
        known = {"hops": item.hops, "kind": item.kind}
        return Task(f"search_qa/{split}/{key}", split, item, {name: value for name, value in known.items() if value})

    def digest(self, split: str) -> str:
        """Of the files behind the split and of the passages."""
        parts = self.digests.get(split, ""), self.corpus.digest if self.corpus else ""
        return hashlib.sha256(":".join(parts).encode()).hexdigest()


def _unfit(lettered: bool) -> str:
    """Why a question cannot be played under a metric."""
    if lettered:
        return 'expected options, found none; without options give metric and reward "em", "f1" or "subem"'
    return 'expected no options, found some; with options give metric="choice", reward="choice"'


def make_source(
    rules: Preset, *, data_dir: str | None = None, questions: str | None = None, corpus: str | None = None
) -> Questions:
    """The source that the rules name. What was read or generated once is shared by the whole process."""
    for name, path in (("data_dir", data_dir), ("questions", questions), ("corpus", corpus)):
        if path is not None and not (isinstance(path, str) and path and "\0" not in path):
            raise ConfigError(f"{name}: expected a path, got {quote(path)}")
    if (rules.data == "file") != (questions is not None):
        raise ConfigError('data="file" and questions=PATH go together; give both or none')
    if rules.data not in (*EMBEDDED, *official.NAMES, "file"):
        raise unknown("data", rules.data, (*EMBEDDED, *official.NAMES, "file"))
    hops = rules.hops if isinstance(rules.hops, tuple) or rules.hops is None else (rules.hops,)
    with _lock:
        found = _embedded(rules.data) if rules.data in EMBEDDED else _official(rules.data, data_dir, questions)
        if corpus is not None:
            found = _over(found, read_corpus(corpus))
        if hops is not None or rules.kinds is not None:
            found = _chosen(found, hops, rules.kinds)
        return _scored(found, rules.metric == "choice")


@lru_cache(maxsize=32)
def _chosen(whole: Questions, hops: tuple[int, ...] | None, kinds: tuple[str, ...] | None) -> Questions:
    """The questions of some hops and kinds."""
    known = sorted({item.kind for items in whole.items.values() for item in items.values()})
    for kind in kinds or ():
        if kind not in known:
            raise unknown("kind of question", kind, known)
    items = {
        split: {
            key: item
            for key, item in found.items()
            if (hops is None or item.hops in hops) and (kinds is None or item.kind in kinds)
        }
        for split, found in whole.items.items()
    }
    if not any(items.values()):
        raise ConfigError(f"no question of {whole.name!r} has hops in {hops} and kinds in {kinds}; choose others")
    return Questions(whole.name, items, whole.corpus, whole.digests)


@lru_cache(maxsize=64)
def _scored(whole: Questions, lettered: bool) -> Questions:
    """The same questions for a metric that wants options, or none; refused where that suits none of them."""
    if all(bool(item.options) != lettered for items in whole.items.values() for item in items.values()):
        raise ConfigError(f"the questions of {whole.name!r}: {_unfit(lettered)}")
    return Questions(whole.name, whole.items, whole.corpus, whole.digests, lettered) if lettered else whole


@lru_cache(maxsize=32)
def _over(whole: Questions, corpus: Corpus) -> Questions:
    """The same questions over another corpus."""
    return Questions(whole.name, whole.items, corpus, whole.digests)


def _official(name: str, data_dir: str | None, questions: str | None) -> Questions:
    found = official.load(name, data_dir) if questions is None else official.read_questions(questions)
    key = found.files, tuple(found.digests.items())
    if key not in _read:
        corpus = read_corpus(found.corpus) if found.corpus is not None else None
        items = {split: {f"{found.name}.{key}": item for key, item in keyed} for split, keyed in found.splits.items()}
        _read[key] = Questions(found.name, items, corpus, found.digests)
    return _read[key]


@lru_cache(maxsize=len(EMBEDDED))
def _embedded(name: str) -> Questions:
    """The data that come with the package, made by its own generators."""
    if name == "tiny":
        return _generated(name, {split: tiny.questions(split) for split in SPLITS}, tiny.passages())
    world = _world()
    asked = {
        "world": {split: world.questions(split) for split in SPLITS},
        "facts": {split: facts.questions(split) for split in SPLITS},
    }
    answerable = {split: [one for one in found if one.golds != UNKNOWN] for split, found in asked["world"].items()}
    asked["mixed"] = {split: _in_turns(answerable[split], asked["facts"][split]) for split in SPLITS}
    return _generated(name, asked[name], (*world.passages, *facts.passages()))


@cache
def _world() -> World:
    return make_world()


def _generated(name: str, asked: Mapping[str, Sequence[Question]], passages: Sequence[tuple[str, str]]) -> Questions:
    items = {
        split: {f"{name}.{_opaque(name, one.key)}": _item(one) for one in questions}
        for split, questions in asked.items()
    }
    digests = {split: _digest(found) for split, found in items.items()}
    return Questions(name, items, make_corpus({"id": i, "contents": text} for i, text in passages), digests)


def _digest(items: Mapping[str, Item]) -> str:
    rows = [[key, one.question, one.golds, one.support] for key, one in items.items()]
    return hashlib.sha256(canonical(rows).encode()).hexdigest()


def _opaque(name: str, key: str) -> str:
    """A key that tells nothing: policies see task ids, and the generators' own keys name the kind of question."""
    return hashlib.blake2b(f"{name}.{key}".encode(), digest_size=5).hexdigest()


def _item(one: Question) -> Item:
    return Item(one.question, one.golds, support=one.support, hops=one.hops, kind=one.kind)


def _in_turns(*lists: Sequence[Question]) -> list[Question]:
    """One of each in turn, for as long as all of them last."""
    return [one for row in zip(*lists, strict=False) for one in row]
