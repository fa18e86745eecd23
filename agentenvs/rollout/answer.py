"""Having policies answer the turns of many programs, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentenvs.core.errors import ConfigError, InfrastructureError
from agentenvs.policies.base import Reply, Turn
from agentenvs.policies.resolve import Cast, name_of
from agentenvs.rollout.episode import as_reply


def answer_all(cast: Cast, asked: Sequence[tuple[Any, int]]) -> None:
    """Have the policies answer turns `(live, index)` in batches, and deliver the replies."""
    groups: dict[int, list[tuple[Any, int]]] = {}
    for one, i in asked:
        groups.setdefault(id(cast.policy(one.turns[i].agent)), []).append((one, i))
    for group in groups.values():
        policy = cast.policy(group[0][0].turns[group[0][1]].agent)
        size = getattr(policy, "max_batch", None) or len(group)
        for at in range(0, len(group), size):
            batch = [(one, i) for one, i in group[at : at + size] if not one.failed]
            deliver(batch, answers(policy, [one.turns[i] for one, i in batch]))
    for one in {id(one): one for one, _ in asked}.values():
        one.advance()


def answers(policy: Any, turns: Sequence[Turn]) -> list[Reply | InfrastructureError]:
    """The policy's replies. A failure that it raises hits the whole batch, one that it returns the turn in question."""
    if not turns:
        return []
    try:
        found = policy.act(turns)
    except InfrastructureError as error:
        return [error] * len(turns)
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise ConfigError(f"{name_of(policy)}: expected a list of {len(turns)} replies, got {type(found).__name__}")
    replies = [reply if isinstance(reply, InfrastructureError) else as_reply(reply) for reply in found]
    if len(replies) != len(turns):
        raise ConfigError(f"{name_of(policy)}: expected {len(turns)} replies, got {len(replies)}")
    return replies


def deliver(batch: Sequence[tuple[Any, int]], replies: Sequence[Reply | InfrastructureError]) -> None:
    """Hand replies and failures to the programs that asked."""
    for (one, i), reply in zip(batch, replies, strict=True):
        if isinstance(reply, InfrastructureError):
            one.failed = one.failed or reply
        else:
            one.replies[i] = reply
