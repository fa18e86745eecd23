"""The presets: published rules, texts and limits of search QA, each fixed under one name.

A preset that is changed gets a new revision. Deviations from the originals stand in the family's page (README.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.core.info import canonical
from agentenvs.core.snapshot import finite, natural
from agentenvs.envs.search_qa.reward import MATCHERS
from agentenvs.envs.search_qa.text import PASSAGES
from agentenvs.retrieval import settle_spec

MODES = ("search", "parametric", "decide")
WORDINGS = ("plain", "search-r1", "tiny")
_HERMES = ({"name": "TextActions", "kwargs": {"codec": "hermes", "max_calls": 1, "unreadable": "count"}},)


def _tags(unreadable: str = "count", **codec: Any) -> tuple[dict[str, Any], ...]:
    """Actions between tags."""
    return ({"name": "TextActions", "kwargs": {"codec": {"name": "xml", **codec}, "unreadable": unreadable}},)


@dataclass(frozen=True, slots=True)
class Preset:
    """Everything that fixes how search QA is played.

    - `data`: where questions and passages come from (see `tasks.py`); `hops` and `kinds` choose among them.
    - `retriever`: the index, as `retrieval.open_index` takes it; `topk` passages a search; `noise`: share of hits that
      are replaced by passages on the same topic that do not help.
    - `mode`: "search", "parametric" (closed book: there is no search) or "decide" (first whether to search).
    - `max_turns`: actions; with `last_search=False` a search in the last of them is not run.
    - `passages`: how they are shown, in at most `max_chars` characters (0: no limit); `wording`: of the rest.
    - `metric`: the matcher that `score` and `success` go by; `reward`: the matcher that is paid (its component).
    - `query_limit`: characters of a query (0: no limit, and an empty query is sent as it is).
    - `compat`: score as the original code did, with its faults: so a bad action changes the score, which the contract
      forbids to all others.
    """

    revision: int
    data: str = "world"
    hops: int | tuple[int, ...] | None = None
    kinds: tuple[str, ...] | None = None
    retriever: str | Mapping[str, Any] = "bm25"
    topk: int = 3
    noise: float = 0.0
    mode: str = "search"
    max_turns: int = 5
    last_search: bool = False
    passages: str = "plain"
    max_chars: int = 2000
    wording: str = "plain"
    metric: str = "em"
    reward: str = "em"
    query_limit: int = 512
    compat: bool = False
    protocol: tuple[dict[str, Any], ...] = _tags()


_R1_SEARCHER = {
    "marks": {"search": ["<|begin_of_query|>", "<|end_of_query|>"]},
    "result": ["<|begin_of_documents|>", "<|end_of_documents|>"],
}
PRESETS = {
    "default": Preset(1),
    "search-r1": Preset(
        1, passages="search-r1", wording="search-r1", query_limit=0, protocol=_tags(unreadable="play", escape=False)
    ),
    "search-r1-format": Preset(
        1,
        passages="search-r1",
        wording="search-r1",
        query_limit=0,
        protocol=(*_tags(unreadable="play", escape=False), {"name": "SequenceReward", "kwargs": {}}),
    ),
    "skyrl": Preset(
        1,
        max_turns=4,
        passages="skyrl",
        max_chars=0,
        query_limit=0,
        protocol=_tags(cut=False, around="\n", escape=False),
    ),
    "r1-searcher": Preset(1, max_turns=6, reward="f1", protocol=_tags(**_R1_SEARCHER)),
    "adasearch": Preset(1, data="mixed", mode="decide", max_turns=6, passages="search-r1"),
    "mcq": Preset(1, data="pubmedqa", metric="choice", reward="choice", passages="search-r1"),
    "chat": Preset(1, protocol=_HERMES),
    "tiny": Preset(
        1,
        data="tiny",
        hops=2,
        topk=1,
        max_turns=8,
        last_search=True,
        passages="bare",
        wording="tiny",
        protocol=({"name": "TextActions", "kwargs": {}},),
    ),
}

#: The rules that a keyword can replace.
CHANGEABLE = tuple(field.name for field in fields(Preset) if field.name not in ("revision", "protocol", "max_turns"))
_OTHERS = (
    *("preset", "split", "max_turns", "admissible", "reveal", "render_mode"),
    *("data_dir", "questions", "corpus", "difficulty"),
)


def rules_of(name: str, changes: Mapping[str, Any]) -> tuple[str, Preset]:
    """The rules of a preset with some of them replaced, and the name under which they are reported.

    `difficulty` is another word for `hops`.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    changes = dict(changes)
    if "difficulty" in changes:
        if "hops" in changes:
            raise ConfigError("difficulty is another word for hops; give one of them")
        changes["hops"] = changes.pop("difficulty")
    for rule in changes:
        if rule not in (*CHANGEABLE, "max_turns"):
            raise unknown("SearchQA option", rule, (*CHANGEABLE, *_OTHERS))
    preset = PRESETS[name]
    changes = {rule: tuple(value) if isinstance(value, list) else value for rule, value in changes.items()}
    if changes.get("data", preset.data) != preset.data:
        changes = {"hops": None, "kinds": None, **changes}
    rules = replace(preset, **changes)
    _check(rules)
    return f"{name}.{preset.revision}" + ("" if rules == preset else "+"), rules


def _check(rules: Preset) -> None:
    for name, known in (("mode", MODES), ("wording", WORDINGS), ("passages", PASSAGES)):
        if not isinstance(getattr(rules, name), str) or getattr(rules, name) not in known:
            raise unknown(name, getattr(rules, name), known)
    for name in ("metric", "reward"):
        if not isinstance(getattr(rules, name), str) or getattr(rules, name) not in (*MATCHERS, "choice"):
            raise unknown(name, getattr(rules, name), (*MATCHERS, "choice"))
    if (rules.metric == "choice") != (rules.reward == "choice"):
        got = f"metric={rules.metric!r} and reward={rules.reward!r}"
        raise ConfigError(f'expected "choice" for both metric and reward (questions with options) or none, got {got}')
    _check_retriever(rules.retriever)
    if not natural(rules.topk) or not 1 <= rules.topk <= 100:
        raise ConfigError(f"topk: expected a whole number from 1 to 100, got {quote(rules.topk)}")
    if not finite(rules.noise) or not 0 <= rules.noise <= 1:
        raise ConfigError(f"noise: expected a share from 0 to 1, got {quote(rules.noise)}")
    for name in ("max_chars", "query_limit"):
        if not natural(getattr(rules, name)):
            raise ConfigError(f"{name}: expected a whole number, 0 for no limit, got {quote(getattr(rules, name))}")
    hops = rules.hops if isinstance(rules.hops, tuple) else () if rules.hops is None else (rules.hops,)
    if not all(natural(one) and one for one in hops):
        raise ConfigError(f"hops: expected whole numbers >= 1, got {quote(rules.hops)}")
    kinds = rules.kinds or ()
    if not isinstance(kinds, tuple) or not all(isinstance(kind, str) for kind in kinds):
        raise ConfigError(f"kinds: expected a list of names, got {quote(rules.kinds)}")
    for name in ("last_search", "compat"):
        if not isinstance(getattr(rules, name), bool):
            raise ConfigError(f"{name}: expected true or false, got {quote(getattr(rules, name))}")


def _check_retriever(retriever: Any) -> None:
    """Refuse what `open_index` would, also where nothing is searched, and live objects: settings are JSON."""
    try:
        canonical(settle_spec(retriever))
    except TypeError:
        way_out = 'name an encoder as "py:module:factory"'
        raise ConfigError(f"retriever: expected JSON values, got {quote(retriever)}; {way_out}") from None


_HOW = {
    "search": "You may look things up: a search shows at most {passages}. You have {turns} actions in all{last}. ",
    "answer": "There is no search: answer from what you know. ",
    "decide": (
        "Before anything else, judge whether you know the answer for certain. If you say yes, you answer at once and "
        "cannot search. If you say no, you can search before you answer."
    ),
}
_ANSWER = "End with a short answer: a name, a date, a number, yes or no, and nothing else."
_NOTHING = ' If no passage tells the answer, the answer is "unanswerable".'
_LETTER = "End with the letter of the one right option, and nothing else."


def instructions(rules: Preset, phase: str) -> str:
    """The task in words, for a phase. The format of replies is the codec's to say."""
    if phase == "decide":
        return f"You are given a question. {_HOW['decide']}"
    last = "" if rules.last_search else ", the last of which can only be the answer"
    passages = "1 passage" if rules.topk == 1 else f"{rules.topk} passages"
    how = _HOW[phase].format(passages=passages, turns=rules.max_turns, last=last)
    end = _LETTER if rules.metric == "choice" else _ANSWER + (_NOTHING if rules.data == "world" else "")
    return f"Answer the question. {how}{end}"
