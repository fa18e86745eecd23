"""The thin policy interface: a `Turn` goes in, a `Reply` comes out.

A policy is any object with `act(turns) -> replies`, or with `async def reply(turn)`, or a plain function
`f(observation, info) -> str`. Nothing here knows about prompts: those are built policy-side, in `prompts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from agentenvs.core.tools import Tool

#: What a policy may ask for beyond the observation and the public info, in its attribute `needs`.
NEEDS = frozenset({"admissible", "history", "private", "expert"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """One past turn as a policy may quote it: what was observed, what was replied."""

    observation: str
    reply: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What one agent is asked. Everything a reply may depend on is in here, so equal turns get equal replies.

    `seed` is a function of (run seed, job, turn, agent): policies draw sampling noise from it and from nothing else.
    `info` holds the public keys of the info schema, and the private ones for policies that need them.
    `menu` is the list of admissible native actions, for policies that need it, else empty.
    `prefix` holds the token ids of an unfinished reply; `context` named blocks of text (skills, memory).
    """

    episode: str
    agent: str
    role: str
    number: int
    seed: int
    instructions: str
    tools: tuple[Tool, ...]
    observation: str
    info: Mapping[str, Any]
    history: tuple[Exchange, ...] = ()
    menu: tuple[str, ...] = ()
    prefix: tuple[int, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent says. Absent log-probs mean "recompute"; `calls` are native actions, for policies that write none.

    A reply with `calls` and no `text` is put into words by the codec of the environment it is played in.
    """

    text: str = ""
    calls: tuple[str, ...] = ()
    prompt_ids: tuple[int, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    choices: tuple[Mapping[str, Any], ...] | None = None
    finish_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    policy_version: str | None = None


@runtime_checkable
class Policy(Protocol):
    """Answers whichever turns are ready; the replies come in the order of the turns.

    Optional attributes: `needs` (a subset of `NEEDS`; default {"history"}), `max_batch` (turns a call),
    `concurrency` (turns in flight, for `reply`), `name`.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[str | Reply]: ...


@runtime_checkable
class AsyncPolicy(Protocol):
    """A policy that answers one turn at a time, many in flight."""

    async def reply(self, turn: Turn) -> str | Reply: ...


@runtime_checkable
class Scorer(Policy, Protocol):
    """A policy that can also rate the choices of a menu."""

    def score(self, turns: Sequence[Turn], menus: Sequence[Sequence[str]]) -> Sequence[Sequence[float]]: ...
