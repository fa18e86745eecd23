"""`TextActions`: one step of the environment is one reply of a policy."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple, SupportsFloat

import gymnasium as gym

from agentenvs.core import errors
from agentenvs.core.info import violations
from agentenvs.core.messages import Message, dump
from agentenvs.core.outcome import TURN_LIMIT
from agentenvs.core.snapshot import natural
from agentenvs.core.tools import ActionError, Grammar, Tool
from agentenvs.wrappers.base import StatefulWrapper
from agentenvs.wrappers.codecs import Parsed
from agentenvs.wrappers.codecs import codec as make_codec

#: What happens to a call that the environment cannot read.
UNKNOWN_CALLS = ("play", "skip", "stop")
#: What happens to a reply in which no call can be read.
UNREADABLE_REPLIES = ("hold", "play", "count")
_OF_A_TURN = {
    *("turn", "is_valid", "is_effective", "reward_components", "calls"),
    *("tool_result", "state_text", "next_state_text", "new_facts", "end_reason"),
}
_REPORTED = 32  # calls without ids of one reply that are answered without having been run


class TextActions(StatefulWrapper):
    """Runs the calls of a reply in order and answers each.

    Only what the codec keeps of a reply is read. Rewards are summed component by component. `info["calls"]` lists
    `{id, native, ok, observation, reward}`; where the codec has ids for calls, those are the ids, and every one is
    answered. `info["turn"]` counts replies. The observation is `core.messages.dump` of what the codec makes of all
    answers: plain text for most codecs.

    A call that the codec finds faulty (an argument is missing, there is no such tool) is answered with the reason and
    not run; the others are, and the answers stand in the order of the calls. The turn is not valid.

    - `codec`: a name, or `{"name": ..., **options}`.
    - `max_calls`: calls of a reply that are run; further ones are answered with a refusal. None: no cap.
    - `max_turns`: replies an episode may have; None: as many as the environment allows actions.
    - `unknown`: a call that cannot be read is played as an invalid action ("play"), left out ("skip"), or ends the
      reply ("stop"). In any case the turn is not valid. Faulty calls are never played: "play" leaves them out too.
    - `unreadable`: a reply in which no call can be read, or which keeps no format, costs a turn. With "hold" it leaves
      the environment alone and is told what is wrong. With "play" the environment gets the empty text, which is no
      action of any grammar: it answers in its own words, and counts a turn and a penalty as it does for bad actions;
      that is the answer to the first call of the reply, where it has any. With "count" it does the same, and the
      agent is told in the codec's words (where an observation is the whole state, in the environment's).
    """

    state_shape = {
        "turn": natural,
        "observation": lambda value: isinstance(value, str),
        "info": lambda value: isinstance(value, dict) and not set(value) - _OF_A_TURN and not violations(value),
    }

    def __init__(
        self,
        env: gym.Env[str, str],
        *,
        codec: str | Mapping[str, Any] = "plain",
        max_calls: int | None = None,
        max_turns: int | None = None,
        unknown: str = "play",
        unreadable: str = "hold",
    ) -> None:
        for name, limit in (("max_calls", max_calls), ("max_turns", max_turns)):
            if limit is not None and not (natural(limit) and limit):
                raise errors.ConfigError(f"TextActions: expected {name} >= 1 or None, got {limit!r}")
        if unknown not in UNKNOWN_CALLS:
            raise errors.unknown("rule for unknown calls", unknown, UNKNOWN_CALLS)
        if unreadable not in UNREADABLE_REPLIES:
            raise errors.unknown("rule for unreadable replies", unreadable, UNREADABLE_REPLIES)
        rules = {"max_calls": max_calls, "max_turns": max_turns, "unknown": unknown, "unreadable": unreadable}
        super().__init__(env, codec=codec, **rules)
        self._grammar: Grammar = env.get_wrapper_attr("grammar")
        self.codec = make_codec(codec, self._grammar)
        self.max_calls, self.unknown, self.unreadable = max_calls, unknown, unreadable
        self.max_turns = max_turns or env.get_wrapper_attr("max_turns")
        self._replaces: bool = env.get_wrapper_attr("observation_is_state")
        self._turn = 0
        self._shown: str
        self._last: dict[str, Any]
        self._shown, self._last = "", {}
        self._inner: dict[str, Any] = {}

    @property
    def instructions(self) -> str:
        return self.codec.describe(self.env.get_wrapper_attr("instructions"), self.tools)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.env.get_wrapper_attr("tools")

    @property
    def status(self) -> str:
        return "ended" if "end_reason" in self._last else self.env.get_wrapper_attr("status")

    # State --------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._turn, self._shown, self._last = 0, "", {}

    def save(self) -> dict[str, Any]:
        return {"turn": self._turn, "observation": self._shown, "info": copy.deepcopy(self._last)}

    def load(self, state: Mapping[str, Any]) -> None:
        self._turn, self._shown, self._last = state["turn"], state["observation"], copy.deepcopy(dict(state["info"]))

    def on_reset(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        self._inner = info
        if self._turn:
            return self._shown, self._info()
        return dump([Message("user", observation)]), {**info, "turn": 0, "calls": []}

    # A turn -------------------------------------------------------------------------------------------------------

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one reply."""
        if "end_reason" in self._last and self.env.get_wrapper_attr("status") == "playing":
            raise errors.EpisodeOver(f"the episode is over ({self._last['end_reason']}); call reset()")
        if self.status != "playing":
            return self.env.step(action)  # which refuses and says why
        reply = action if isinstance(action, str) else ""
        parsed = self.codec.parse(reply[: self.codec.kept(reply)])
        run, refused = self._select(parsed)
        if not run and self.unreadable != "hold":
            played = self._play([""])
            run = refused.take_first()
        else:
            played = self._play([parsed.calls[at] for at in run])
        components = dict.fromkeys(self._inner["reward_components"], 0.0)
        for step in played:
            for name, value in step.info["reward_components"].items():
                components[name] += value
        self._turn += 1
        self._last = {
            "turn": self._turn,
            "is_valid": not (parsed.error or refused.unreadable) and all(step.info["is_valid"] for step in played),
            "is_effective": any(step.info["is_effective"] for step in played),
            "reward_components": components,
            "calls": self._answers(parsed, run, played, refused),
        }
        terminated = bool(played) and played[-1].terminated
        truncated = bool(played) and played[-1].truncated
        if played:
            self._inner = played[-1].info
            if "state_text" in self._inner:
                self._last["state_text"] = played[0].info["state_text"]
        else:
            self._last["tool_result"] = {"ok": False, "error_type": "invalid_format"}
            if "state_text" in self._inner:  # nothing was done: the state after is the state before
                state = self._inner.get("next_state_text", self._inner["state_text"])
                self._last["state_text"] = self._last["next_state_text"] = state
        if "new_facts" in self._inner:
            self._last["new_facts"] = [fact for step in played for fact in step.info.get("new_facts", ())]
        if not (terminated or truncated) and self._turn >= self.max_turns:
            truncated, self._last["end_reason"] = True, TURN_LIMIT
        told = self._observation(played, parsed.error or refused.sentence)
        if not parsed.calls and self.unreadable == "count" and not self._replaces:
            told = parsed.error
        self._shown = dump(self.codec.render(told, self._shown_answers(played)))
        return self._shown, fsum(components.values()), terminated, truncated, self._info()

    def _info(self) -> dict[str, Any]:
        """The info of the last native action, with what the whole turn amounts to in its place."""
        info = {**self._inner, **copy.deepcopy(self._last)}
        if "tool_result" in self._last:  # no action was run this turn, so there is none to be of a kind
            info.pop("action_kind", None)
        return info

    def _select(self, parsed: Parsed) -> tuple[list[int], _Refused]:
        """Which calls to run, and which not, each with the reason. Calls go by their place in the reply."""
        run: list[int] = []
        faults = parsed.faults or {}
        refused = _Refused(len(parsed.calls) if parsed.ids else _REPORTED, unreadable=bool(faults))
        for at, native in enumerate(parsed.calls):
            readable = at not in faults and (self.unknown == "play" or self._readable(native))
            if self.max_calls is not None and len(run) == self.max_calls and at not in faults:
                refused.add(at, f"Not run: a reply has at most {self.max_calls} actions.")
            elif readable:
                run.append(at)
            else:
                refused.unreadable = True
                refused.add(at, _not_run(faults.get(at) or f"unknown action {errors.quote(native)}."))
                if self.unknown == "stop":
                    for later in range(at + 1, len(parsed.calls)):
                        refused.add(later, "Not run: it came after an unknown action.")
                    break
        return run, refused

    def _readable(self, native: str) -> bool:
        try:
            self._grammar.parse(native)
        except ActionError:
            return False
        return True

    def _play(self, run: Sequence[str]) -> list[_Played]:
        played: list[_Played] = []
        for native in run:
            played.append(_Played(*self.env.step(native)))
            if played[-1].terminated or played[-1].truncated:
                break
        return played

    def _answers(
        self, parsed: Parsed, run: Sequence[int], played: Sequence[_Played], refused: _Refused
    ) -> list[dict[str, Any]]:
        """The answers: to calls that were run, that came too late and that were refused. Where some were faulty, in
        the order of the calls."""
        late = run[len(played) :]
        answers = [
            (at, step.info["tool_result"]["ok"], step.observation, float(step.reward))
            for at, step in zip(run, played, strict=False)
        ]
        answers += [(at, False, "Not run: the episode was over.", 0.0) for at in late[: refused.limit]]
        answers += [(at, False, reason, 0.0) for at, reason in refused.answers]
        if parsed.faults:
            answers.sort()
        ids = parsed.ids or tuple(f"{self._turn}.{i}" for i in range(len(answers)))
        return [
            {
                "id": ids[at if parsed.ids else i],
                "native": parsed.calls[at],
                "ok": ok,
                "observation": told,
                "reward": reward,
            }
            for i, (at, ok, told, reward) in enumerate(answers)
        ]

    def _observation(self, played: list[_Played], error: str) -> str:
        """What the agent reads: the last state where an observation is one, else all answers in order."""
        if not played:
            return f"{error}\n{self.env.get_wrapper_attr('view')()}" if self._replaces else error
        return played[-1].observation if self._replaces else "\n".join(step.observation for step in played)

    def _shown_answers(self, played: list[_Played]) -> list[dict[str, Any]]:
        """The answers as they are shown: one more look at the state where nothing was run and observations are it."""
        calls = self._last["calls"]
        if played or not calls or not self._replaces:
            return calls
        text = f"{calls[-1]['observation']}\n{self.env.get_wrapper_attr('view')()}"
        return [*calls[:-1], {**calls[-1], "observation": text}]


def _not_run(reason: str) -> str:
    return f"Not run: {reason[:1].lower()}{reason[1:]}"


class _Played(NamedTuple):
    observation: str
    reward: SupportsFloat
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class _Refused:
    """The calls of one reply that are not run; only the first `limit` are kept, since a reply may hold very many."""

    def __init__(self, limit: int, unreadable: bool) -> None:
        self.limit, self.unreadable = limit, unreadable
        self.answers: list[tuple[int, str]] = []

    def add(self, at: int, reason: str) -> None:
        if len(self.answers) < self.limit:
            self.answers.append((at, reason))

    def take_first(self) -> list[int]:
        """The first call, which is answered in another way; nothing where there is none."""
        first, self.answers = self.answers[:1], self.answers[1:]
        return [at for at, _ in first]

    @property
    def sentence(self) -> str:
        return self.answers[0][1] if self.answers else ""
