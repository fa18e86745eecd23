"""Reward wrappers: each adds named components, so that the reward stays the sum of its parts.

They stand outside of `TextActions` and `Limits`, in any order, and then see turns; or directly on a native environment,
and then see native actions, also those that a `TextActions` around them plays. `score` and `success` do not move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, SupportsFloat

import gymnasium as gym

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.core.snapshot import finite, natural
from agentenvs.core.tools import ActionError, Grammar
from agentenvs.wrappers.base import StatefulWrapper
from agentenvs.wrappers.limits import kept
from agentenvs.wrappers.sequence import BROKEN, Block, Blocks, State


def add_component(info: dict[str, Any], name: str, value: float) -> float:
    """Write the component into the info and return the new reward, the exact sum of all components."""
    info["reward_components"] = {**info["reward_components"], name: value}
    return fsum(info["reward_components"].values())


class RewardWrapper(StatefulWrapper):
    """Base of the wrappers here: adds the components that `worth` gives for a turn, 0 at reset.

    `adds` are their names; a reset raises `ConfigError` where one of them is taken.
    """

    def __init__(self, env: gym.Env[str, str], adds: Sequence[str], **arguments: Any) -> None:
        super().__init__(env, **arguments)
        self.adds = tuple(adds)
        self._last = dict.fromkeys(self.adds, 0.0)

    def worth(self, action: str, observation: str, over: bool, info: Mapping[str, Any]) -> dict[str, float]:
        """The value of each component for the turn that was just played."""
        raise NotImplementedError

    @property
    def state_shape(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"last": lambda last: isinstance(last, dict) and set(last) == set(self.adds) and _numbers(last)}

    def begin(self) -> None:
        self._last = dict.fromkeys(self.adds, 0.0)

    def save(self) -> dict[str, Any]:
        return {"last": dict(self._last)}

    def load(self, state: Mapping[str, Any]) -> None:
        self._last = {name: state["last"][name] for name in self.adds}

    def on_reset(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        for name in self.adds:
            if name in info["reward_components"]:
                raise ConfigError(f"{type(self).__name__}: a reward component {name!r} is there already; keep one")
            add_component(info, name, self._last[name])
        return observation, info

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._last = self.worth(action, observation, terminated or truncated, info)
        for name in self.adds:
            reward = add_component(info, name, self._last[name])
        return observation, reward, terminated, truncated, info


class FormatReward(RewardWrapper):
    """Adds the component `format`: `fault` for a turn that could not be read or was read in part, else `valid`.

    A turn is judged by `info["is_valid"]`, so this is also the penalty for invalid actions of environments that answer
    them for free: `FormatReward(fault=-0.1, component="invalid")`, beside a `SequenceReward` too.
    """

    def __init__(
        self, env: gym.Env[str, str], *, fault: float = 0.0, valid: float = 0.0, component: str = "format"
    ) -> None:
        _check_numbers("FormatReward", fault=fault, valid=valid)
        if not isinstance(component, str):
            raise ConfigError(f"FormatReward: expected a name for component, got {quote(component)}")
        super().__init__(env, (component,), fault=fault, valid=valid, component=component)
        self.fault, self.valid = float(fault), float(valid)

    def worth(self, action: str, observation: str, over: bool, info: Mapping[str, Any]) -> dict[str, float]:
        return {self.adds[0]: self.valid if info["is_valid"] else self.fault}


class TurnCost(RewardWrapper):
    """Adds the component `turn_cost`: minus `cost` for every turn, whatever was said."""

    def __init__(self, env: gym.Env[str, str], *, cost: float) -> None:
        _check_numbers("TurnCost", cost=cost)
        super().__init__(env, ("turn_cost",), cost=cost)
        self.cost = float(cost)

    def worth(self, action: str, observation: str, over: bool, info: Mapping[str, Any]) -> dict[str, float]:
        return {"turn_cost": 0.0 - self.cost}


class CallCost(RewardWrapper):
    """Adds the component `call_cost`: minus `cost` for each call of `tools`, as in R = EM - cost * searches.

    Only calls that ran and were answered with a result count (`ok`): refused, unreadable and failed ones are free, and
    so are the first `free` ones of an episode. Actions of a reset's `prefix` do not count.
    """

    def __init__(
        self, env: gym.Env[str, str], *, cost: float, tools: Sequence[str] = ("search",), free: int = 0
    ) -> None:
        _check_numbers("CallCost", cost=cost)
        if not natural(free):
            raise ConfigError(f"CallCost: expected a whole number >= 0 for free, got {quote(free)}")
        self._grammar: Grammar = env.get_wrapper_attr("grammar")
        for tool in (tools,) if isinstance(tools, str) else tools:
            if not isinstance(tool, str) or tool not in self._grammar.tools:
                raise unknown("tool", tool, self._grammar.tools)
        super().__init__(env, ("call_cost",), cost=cost, tools=tools, free=free)
        self.cost, self.free, self.charged = float(cost), free, frozenset(tools)
        self._calls = 0

    @property
    def state_shape(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {**super().state_shape, "calls": natural}

    def begin(self) -> None:
        super().begin()
        self._calls = 0

    def save(self) -> dict[str, Any]:
        return {**super().save(), "calls": self._calls}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._calls = state["calls"]

    def worth(self, action: str, observation: str, over: bool, info: Mapping[str, Any]) -> dict[str, float]:
        before = max(self._calls, self.free)
        self._calls += sum(self._tool(native) in self.charged for native in _ran(action, info))
        return {"call_cost": 0.0 - self.cost * (max(self._calls, self.free) - before)}

    def _tool(self, native: str) -> str:
        try:
            return self._grammar.parse(native).tool
        except ActionError:  # the environment reads more than its grammar does
            return ""


class SequenceReward(RewardWrapper):
    """Adds the component `format` at the end of an episode, and `retrieval`: the format reward of Search-R1 v0.3.

    Where the environment pays 1 for a correct answer (`info["success"]`) and nothing else, the reward becomes, by
    whether the transcript keeps the order of blocks (see `sequence`):

    | answer  | order kept                         | order broken      |
    |---------|------------------------------------|-------------------|
    | correct | 1                                  | 1 - `structure`   |
    | wrong   | `structure` (+ `retrieval`, below) | `final`           |

    `retrieval` is paid where a result that was shown held a gold answer (`info["gold_seen"]`; absent means no).

    The transcript is what the agent wrote, as far as the codec and the limits keep it, with an empty result after each
    turn; a turn that is not valid breaks the order. So nothing that a tool returns counts.
    `compat=True` judges the observations as they were shown, as the original did: a passage that holds a tag, or an
    observation whose closing tag was cut off, breaks the order. What comes after the last reply is never judged.

    `think`, `calls`, `result` and `answer`, the final block, are tags or pairs of marks (see `Blocks`).
    """

    def __init__(
        self,
        env: gym.Env[str, str],
        *,
        structure: float = 0.2,
        final: float = 0.1,
        retrieval: float = 0.0,
        compat: bool = False,
        think: Block = "think",
        calls: Sequence[Block] = ("search",),
        result: Block = "information",
        answer: Block = "answer",
    ) -> None:
        _check_numbers("SequenceReward", structure=structure, final=final, retrieval=retrieval)
        blocks = {"think": think, "calls": calls, "result": result}
        self._blocks = Blocks(**blocks, final=answer)
        numbers = {"structure": structure, "final": final, "retrieval": retrieval}
        super().__init__(env, ("format", "retrieval"), **numbers, compat=compat, **blocks, answer=answer)
        self.structure, self.final, self.retrieval = float(structure), float(final), float(retrieval)
        self.compat, self._state, self._reply = bool(compat), self._blocks.start, ""

    @property
    def state_shape(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {**super().state_shape, "sequence": self._blocks.is_state}

    def begin(self) -> None:
        super().begin()
        self._state = self._blocks.start

    def save(self) -> dict[str, Any]:
        return {**super().save(), "sequence": list(self._state)}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._state = State(*state["sequence"])

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        text = action if isinstance(action, str) else ""
        self._reply = text[: kept(self.env, text)]
        return super().step(action)

    def worth(self, action: str, observation: str, over: bool, info: Mapping[str, Any]) -> dict[str, float]:
        self._state, worth = self._blocks.advance(self._state, self._reply), dict.fromkeys(self.adds, 0.0)
        if not over:
            shown = observation if self.compat else self._blocks.empty_result
            readable = self.compat or info["is_valid"]
            self._state = self._blocks.advance(self._state, shown) if readable else BROKEN
            return worth
        ordered = self._blocks.complete(self._state)
        if info["success"]:
            worth["format"] = 0.0 if ordered else 0.0 - self.structure
        else:
            worth["format"] = self.structure if ordered else self.final
            worth["retrieval"] = self.retrieval if ordered and info.get("gold_seen", False) else 0.0
        return worth


def _ran(action: str, info: Mapping[str, Any]) -> list[str]:
    """The native actions of the turn that ran and were answered with a result."""
    if "calls" in info:
        return [call["native"] for call in info["calls"] if call["ok"]]
    return [action] if info["tool_result"]["ok"] else []


def _numbers(values: Mapping[str, Any]) -> bool:
    return all(map(finite, values.values()))


def _check_numbers(wrapper: str, **values: Any) -> None:
    for name, value in values.items():
        if not finite(value):
            raise ConfigError(f"{wrapper}: expected a finite number for {name}, got {quote(value)}")
