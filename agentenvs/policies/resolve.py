"""Turning what users write into policies: names, functions, objects, and one policy an agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.core.named import factory
from agentenvs.policies.base import NEEDS, AsyncPolicy, Policy, Reply, Turn

#: The names that `make_policy` takes.
POLICIES = (
    *("random", "expert", "human", "constant:ACTION", "replay:FILE"),
    *("chat:MODEL@URL[#STYLE]", "local:smollm2", "local:DIR", "py:module:factory"),
)


class FunctionPolicy:
    """A plain function `f(observation, info) -> text` as a policy."""

    needs = frozenset()

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def act(self, turns: Sequence[Turn]) -> list[str | Reply]:
        return [self.function(turn.observation, dict(turn.info)) for turn in turns]


class Needs:
    """What each agent's policy asks for beyond observation and public info. Small, so that workers can have it."""

    def __init__(self, by_agent: Mapping[str, frozenset[str]], default: frozenset[str] | None) -> None:
        self.by_agent, self.default = dict(by_agent), default

    def __call__(self, agent: str) -> frozenset[str]:
        found = self.by_agent.get(agent, self.default)
        if found is None:
            raise unknown("agent", agent, self.by_agent)
        return found


class Cast:
    """Who answers for which agent. One policy answers for all agents; a mapping names one for each."""

    def __init__(self, policies: Any) -> None:
        mapping = policies if isinstance(policies, Mapping) else {}
        self._by_agent = {agent: as_policy(policy) for agent, policy in mapping.items()}
        self._all = None if isinstance(policies, Mapping) else as_policy(policies)
        default = None if self._all is None else needs_of(self._all)
        self.needs = Needs({agent: needs_of(policy) for agent, policy in self._by_agent.items()}, default)

    def policy(self, agent: str) -> Policy | AsyncPolicy:
        """The policy of an agent; raises `UnknownName` where nobody plays it."""
        found = self._by_agent.get(agent) if self._all is None else self._all
        if found is None:
            raise unknown("agent", agent, self._by_agent)
        return found

    def map(self, change: Callable[[Any], Any]) -> Cast:
        """The cast with every policy replaced by what `change` makes of it."""
        if self._all is not None:
            return Cast(change(self._all))
        return Cast({agent: change(policy) for agent, policy in self._by_agent.items()})

    @property
    def everyone(self) -> list[Policy | AsyncPolicy]:
        return [self._all] if self._all is not None else list(self._by_agent.values())


def needs_of(policy: Any) -> frozenset[str]:
    """The policy's `needs`, by default the history."""
    needs = frozenset(getattr(policy, "needs", {"history"}))
    if strange := needs - NEEDS:
        raise unknown("policy need", min(strange), NEEDS)
    return needs


def as_policy(policy: Any) -> Policy | AsyncPolicy:
    """A policy from a name, a plain function, or an object that is one already."""
    if isinstance(policy, str):
        return make_policy(policy)
    if inspect.isclass(policy):
        raise ConfigError(f"expected a policy, got the class {policy.__name__}; make an instance of it")
    if inspect.iscoroutinefunction(getattr(policy, "reply", None)) or callable(getattr(policy, "act", None)):
        needs_of(policy)
        return policy
    if callable(policy):
        return FunctionPolicy(policy)
    raise ConfigError(
        f"expected a policy (act(turns), async reply(turn), f(observation, info), or a name), got {quote(policy)}"
    )


def is_async(policy: Any) -> bool:
    """Whether the policy answers turn by turn, many in flight."""
    return inspect.iscoroutinefunction(getattr(policy, "reply", None))


def name_of(policy: Any) -> str:
    """The name for records."""
    return str(getattr(policy, "name", type(policy).__name__))


def make_policy(spec: str) -> Policy | AsyncPolicy:
    """The policy of a command-line name: random, expert, human, constant:ACTION, replay:FILE, chat:MODEL@URL,
    local:smollm2, local:DIR, py:module:factory."""
    kind, _, rest = spec.partition(":")
    if kind in ("random", "expert", "human") and not rest:
        from agentenvs.policies import scripted

        return {"random": scripted.Random, "expert": scripted.Expert, "human": scripted.Human}[kind]()
    if kind == "constant" and rest:
        from agentenvs.policies.scripted import Constant

        return Constant(rest)
    if kind == "replay" and rest:
        from agentenvs.policies.replay import Replay

        return Replay(rest)
    if kind == "chat" and rest:
        from agentenvs.policies.chat import ChatPolicy

        return ChatPolicy.parse(spec)
    if kind == "local" and rest:
        from agentenvs.policies.local import LocalPolicy

        return LocalPolicy(rest)
    if kind == "py" and rest:
        return _from_module(rest)
    raise unknown("policy", spec, POLICIES)


def _from_module(path: str) -> Policy | AsyncPolicy:
    """`module:factory`: what calling the factory returns; a factory of two parameters is the policy itself."""
    made = factory(f"py:{path}", "policy")
    try:
        parameters = inspect.signature(made).parameters.values()
    except ValueError as error:
        raise ConfigError(f"py:{path}: {error}") from error
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in various]
    if len(required) not in (0, 2):
        wanted = "a factory without required parameters, or a policy f(observation, info)"
        raise ConfigError(f"py:{path}: expected {wanted}; it requires {', '.join(required)}")
    return as_policy(made if required else made())
