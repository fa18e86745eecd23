"""`agentenvs/SearchQA-v0`: the wiring of questions, retrieval, rules, text, scoring and expert."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.env import TextEnv
from agentenvs.core.errors import ConfigError
from agentenvs.core.info import Key, canonical
from agentenvs.core.outcome import Outcome
from agentenvs.core.rng import Stream
from agentenvs.core.task import Task
from agentenvs.core.tools import Call, Grammar, Parameter, Tool
from agentenvs.envs.search_qa import expert, saved, text
from agentenvs.envs.search_qa.engine import Search, State, decide, with_noise
from agentenvs.envs.search_qa.items import Item
from agentenvs.envs.search_qa.menu import TINY_WORDS, menu, tiny_menu
from agentenvs.envs.search_qa.presets import CHANGEABLE, PRESETS, instructions, rules_of
from agentenvs.envs.search_qa.scoring import compat_answer, gold_seen, matches
from agentenvs.envs.search_qa.tasks import make_source
from agentenvs.envs.search_qa.world import tiny
from agentenvs.retrieval import Passage, open_index, settle_spec

DECIDE = Tool(
    "decide",
    "Say whether you know the answer without searching.",
    (Parameter("knows", "enum", "yes: answer at once; no: search first", choices=("yes", "no")),),
    form="decide[{knows}]",
    kind="commit",
)
SEARCH = Tool(
    "search", "Search the passages.", (Parameter("query", "string", "what to look for, in words"),), kind="explore"
)
ANSWER = Tool("answer", "Give the final answer.", (Parameter("text", "string", "the answer alone"),), kind="commit")
_TOOLS = {"search": (SEARCH, ANSWER), "parametric": (ANSWER,), "decide": (DECIDE, SEARCH, ANSWER)}
_OF_PHASE = {"search": (SEARCH, ANSWER), "answer": (ANSWER,), "decide": (DECIDE,)}
_FIRST_PHASE = {"search": "search", "parametric": "answer", "decide": "decide"}
_SPARE = 5  # hits looked at for each that is shown, where some are replaced by noise


class SearchQAEnv(TextEnv):
    """Answer a question; search a collection of passages for what you do not know.

    **Actions**: `search[query]` and `answer[text]`. In the mode `parametric` there is no search. In the mode `decide`
    the episode begins with `decide[yes]` (know the answer: go on to answering) or `decide[no]` (go on to searching);
    the phase is in `info["phase"]`, and instructions and tools change with it.

    **Observation**: the question; after a search the `topk` best passages; a sentence after a bad action.

    **Reward**: one component, named by `reward`, paid with the answer: `em` (exact match after normalisation), `f1`
    (token F1), `subem` (a gold is contained) or `choice` (the right option). `score` is the matcher `metric` in
    [0, 1], `success` is `score == 1`; `info["matches"]` has all matchers.

    **End**: terminated by an answer; truncated after `max_turns` actions. With `last_search=False` a search in the
    last action is not run.

    **Data** (`data`, see `tasks.py`): `world`, `facts`, `mixed`, `tiny` embedded; official files by name; `file`.
    **Presets**: default, search-r1, search-r1-format, skyrl, r1-searcher, adasearch, mcq, chat, tiny. Every field of a
    preset can be replaced by a keyword of the same name; the preset is then reported with a `+`.

    Sources: Jin et al. 2025 (Search-R1, arXiv 2503.09516), SkyRL, R1-Searcher (arXiv 2503.05592), AdaSearch (arXiv
    2512.16883).

    Version 0: first release.
    """

    family = "search_qa"
    presets = tuple(PRESETS)
    extra_info = {
        "matches": Key(dict, "private", "em, f1 and subem (or choice) of the answer, 0 without one"),
        "searches": Key(int, "private", "searches that ran"),
        "repeats": Key(int, "private", "searches that asked what had been asked before"),
        "gold_seen": Key(bool, "private", "an accepted answer stands in a shown passage"),
        "support_seen": Key(float, "private", "share of the supporting passages shown, where the data name them"),
    }

    def __init__(
        self,
        *,
        preset: str = "default",
        split: str | None = None,
        max_turns: int | None = None,
        admissible: bool = False,
        reveal: Sequence[str] = (),
        render_mode: str | None = None,
        data_dir: str | None = None,
        questions: str | None = None,
        corpus: str | None = None,
        **rules: Any,
    ) -> None:
        if max_turns is not None:
            rules["max_turns"] = max_turns
        self.preset, self.rules = rules_of(preset, rules)
        self.protocol = self.rules.protocol
        self.components = (self.rules.reward,)
        self.source = make_source(self.rules, data_dir=data_dir, questions=questions, corpus=corpus)
        if split is None:
            split = self.source.splits[0]
        self._index = self._open()
        self._phase = _FIRST_PHASE[self.rules.mode]
        super().__init__(
            config={"preset": self.preset, **{name: getattr(self.rules, name) for name in CHANGEABLE}},
            split=split,
            max_turns=self.rules.max_turns,
            grammar=Grammar(_TOOLS[self.rules.mode]),
            admissible=admissible,
            reveal=tuple(reveal) if isinstance(reveal, (list, tuple, set, frozenset)) else (reveal,),
            render_mode=render_mode,
        )

    def _open(self) -> Any:
        """The index; None where nothing is searched."""
        if self.rules.mode == "parametric":
            return None
        if self.source.corpus is None and settle_spec(self.rules.retriever)["kind"] != "http":
            raise ConfigError(
                f"{self.rules.data}: these questions come without passages; give corpus=PATH, or "
                'retriever={"kind": "http", "url": ...}, or mode="parametric" (closed book)'
            )
        return open_index(self.source.corpus, self.rules.retriever)

    @property
    def instructions(self) -> str:
        return instructions(self.rules, self._phase)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return _OF_PHASE[self._phase]

    def vocabulary(self) -> tuple[str, ...]:
        """Every token that observations and actions are made of (data="tiny" only)."""
        return tuple(dict.fromkeys((*tiny.vocabulary(), *TINY_WORDS)))

    # An episode ---------------------------------------------------------------------------------------------------

    def begin(self, task: Task) -> str:
        self._set(task, State(_FIRST_PHASE[self.rules.mode]))
        return text.question_text(self._item, self.rules.wording)

    def _set(self, task: Task, state: State) -> None:
        self._item: Item = task.data
        self._state = state
        self._gold_seen = False
        self._judge(state.shown)

    def _judge(self, shown: Sequence[Passage] = ()) -> None:
        """Work out what the state is worth; called when it has changed, with the passages that were shown since."""
        state, rules = self._state, self.rules
        self._phase = state.phase
        answer = compat_answer(state, rules.passages, rules.max_chars) if rules.compat else state.answer
        self._matches = matches(self._item, answer)
        self._gold_seen = self._gold_seen or gold_seen(self._item, shown)
        key = canonical([self._item.question, state.phase, sorted(state.seen), state.answer])
        self._key = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()

    def play(self, call: Call) -> Outcome:
        phase = self._state.phase
        if call.tool not in {tool.name for tool in _OF_PHASE[phase]}:
            accepted = " | ".join(tool.usage for tool in _OF_PHASE[phase])
            return self.reject(f"There is no {call.tool} now. Accepted: {accepted}.")
        if call.tool == "decide":
            self._state = decide(self._state, call.arguments["knows"])
            self._judge()
            return Outcome(text.DECIDED[call.arguments["knows"]], {}, True, kind="commit")
        if call.tool == "search":
            return self._search(call.arguments["query"].strip())
        self._state.answer = call.arguments["text"].strip()
        self._judge()
        return Outcome("", {self.rules.reward: self._matches[self.rules.reward]}, True, "answered", "commit")

    def _search(self, query: str) -> Outcome:
        limit = self.rules.query_limit
        if limit and not query:
            return self.reject("The query was empty. Say what to look for.")
        if limit and len(query) > limit:
            return self.reject(f"A query has at most {limit} characters; this had {len(query)}.")
        if not self.rules.last_search and self._turn + 1 >= self.max_turns:
            self._state.add(Search(query, (), False))
            self._judge()
            told = "" if self.rules.wording == "search-r1" else "The search was not run: no action is left to answer."
            return Outcome(told, self._paid(), kind="explore", error_type="no_turn_left")
        passages = self._find(query)
        before = len(self._state.seen)
        self._state.add(Search(query, passages))
        self._judge(passages)
        shown = text.show(passages, self.rules.passages, self.rules.max_chars)
        return Outcome(shown, self._paid(), len(self._state.seen) > before, kind="explore")

    def _find(self, query: str) -> tuple[Passage, ...]:
        """What a search shows: the same for the same query, whenever it is asked in an episode."""
        k, noise = self.rules.topk, self.rules.noise
        [hits] = self._index.search([query], k * _SPARE if noise else k)
        found = [Passage(hit.id, hit.contents) for hit in hits]
        if not noise:
            return tuple(found)
        spare = [one for one in found[k:] if one.id not in self._item.support and not gold_seen(self._item, [one])]
        chance = Stream(self._task.id, self._episode_seed, self._branch, "noise", query)
        return with_noise(found, spare, k, noise, chance)

    def reject(self, reason: str) -> Outcome:
        if self.rules.compat:
            self._state.add(None)
            self._judge()
        told = text.invalid_text(reason, self.rules.wording)
        return Outcome(told, self._paid(), valid=False, error_type="invalid_action")

    def _paid(self) -> dict[str, float]:
        """What the last action brings where it is no answer: the original finds one in the text all the same."""
        last = self.rules.compat and self._turn + 1 >= self.max_turns
        return {self.rules.reward: self._matches[self.rules.reward]} if last else {}

    # What is told -------------------------------------------------------------------------------------------------

    def tell(self, info: dict[str, Any]) -> None:
        info["score"] = score = self._matches[self.rules.metric]
        info["success"] = score == 1.0
        info["state_key"] = self._key
        info["observed"] = self._observed()

    def _observed(self) -> dict[str, Any]:
        """The question and its options at first, then the passages that the last action showed."""
        if not self._turn:
            return {"question": self._item.question, "options": list(self._item.options)}
        if self._last.kind != "explore" or self._last.error_type:
            return {}
        found = [one for search in self._state.searches[-1:] for one in search.passages]
        shown = text.fitted(found, self.rules.max_chars)
        return {"passages": [{"title": text.title(one), "text": text.body(one)} for one in shown]}

    def more_info(self) -> dict[str, Any]:
        state, support = self._state, self._item.support
        found = {
            "matches": self._matches.copy(),
            "searches": len(state.searches),
            "repeats": state.repeats,
            "gold_seen": self._gold_seen,
        }
        if self.rules.mode == "decide":
            found["phase"] = state.phase
        if support:
            found["support_seen"] = state.support_seen(support)
        return found

    def state_text(self) -> str:
        state = self._state
        lines = [f"Question: {self._item.question}", f"Phase: {state.phase}"]
        lines += [f"Searched: {search.query}" for search in state.searches]
        lines += [f"Seen: {text.title(passage)}" for passage in state.shown]
        return "\n".join([*lines, *([f"Answer: {state.answer}"] if state.answer is not None else [])])

    def admissible_actions(self) -> list[str]:
        """A menu made of the visible text: free text cannot be listed."""
        if self._status not in ("playing", "ended"):
            return []
        if self.rules.data == "tiny":
            return tiny_menu(self._item, self._state)
        return menu(self._item, self._state, self.rules.query_limit)

    def expert_action(self) -> str:
        left = self.max_turns - self._turn - 1  # one to answer with
        limit = self.rules.query_limit
        return expert.next_action(self._item, self._state, self._find, self._contents, left=left, limit=limit)

    def gold(self) -> str:
        return self._item.golds[0]

    # Snapshots ----------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        return saved.save(self._state)

    def load(self, task: Task, state: Mapping[str, Any]) -> None:
        decisions = {"decide": "", "search": "no", "answer": "yes"}
        phases = decisions if self.rules.mode == "decide" else {_FIRST_PHASE[self.rules.mode]: ""}
        self._set(task, saved.load(state, phases, self.rules.topk, self._known))

    def _known(self, passage: Passage) -> bool:
        """Whether a passage of a snapshot can be one of this environment's; of a remote index nobody can tell."""
        return self._index.corpus is None or self._contents(passage.id) == passage.contents

    def _contents(self, passage_id: str) -> str:
        """The passage with this id; empty where it is not here."""
        corpus = self.source.corpus
        position = None if corpus is None else corpus.find(passage_id)
        return "" if corpus is None or position is None else corpus[position].contents
