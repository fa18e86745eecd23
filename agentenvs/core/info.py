"""The info schema: which keys an info may hold, of which type, and who may see them.

Every key has one type always, because Gymnasium's vector environments merge infos by the type of the first one and
corrupt the others silently. Keys are absent rather than null. Values are JSON values and finite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

SCHEMA_VERSION = 1


class Key(NamedTuple):
    """One key: its type, who may see it ("public", "private" or "reveal"), and what it says."""

    type: type
    access: str
    says: str


SCHEMA: dict[str, Key] = {
    "task_id": Key(str, "public", "the task that is played: family/split/key"),
    "split": Key(str, "public", "train, validation or test"),
    "preset": Key(str, "public", "name and revision of the preset"),
    "turn": Key(int, "public", "turns taken so far"),
    "is_valid": Key(bool, "public", "the last action was read"),
    "is_effective": Key(bool, "public", "the last action changed the state"),
    "phase": Key(str, "public", "the current phase, in environments that have several"),
    "tool_result": Key(dict, "public", "{ok, error_type}: how the last call went"),
    "action_kind": Key(str, "public", "explore, commit, backtrack or note"),
    "admissible_actions": Key(list, "public", "native actions that are accepted now (with admissible=True)"),
    "observed": Key(dict, "public", "what the observation says, in structured form"),
    "calls": Key(list, "public", "the calls of a turn: {id, native, ok, observation, reward}"),
    "score": Key(float, "private", "the suite's metric in [0, 1] if the episode ended now"),
    "success": Key(bool, "private", "whether the task would count as solved if the episode ended now"),
    "reward_components": Key(dict, "private", "named parts whose sum is the reward; the same names always"),
    "state_key": Key(str, "private", "equal for equal states, whatever the history"),
    "new_facts": Key(list, "private", "what the last observation says for the first time"),
    "end_reason": Key(str, "private", "why the episode ended"),
    "episode_seed": Key(int, "private", "the seed of the episode"),
    "expert_action": Key(str, "reveal", "what the expert would do now"),
    "expert_plan": Key(list, "reveal", "what the expert would do now and next, for replies that hold several actions"),
    "state_text": Key(str, "reveal", "the true state before the last action; at reset the first state"),
    "next_state_text": Key(str, "reveal", "the true state after the last action"),
    "gold": Key(str, "reveal", "the reference solution"),
}

_PRIVATE = frozenset(name for name, key in SCHEMA.items() if key.access != "public")


def public(info: Mapping[str, Any], private: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The part of `info` that may enter a prompt; `private` names the keys of a family that may not."""
    shown = {name: value for name, value in info.items() if name not in _PRIVATE and name not in private}
    if "calls" in shown:  # a call's reward is as private as the reward
        shown["calls"] = [{name: call[name] for name in call if name != "reward"} for call in shown["calls"]]
    return shown


def violations(info: Mapping[str, Any], extra: Mapping[str, Key] | None = None) -> list[str]:
    """What is wrong with `info`, one sentence a fault; empty when it keeps the schema."""
    schema = {**SCHEMA, **(extra or {})}
    faults = []
    for name, value in info.items():
        key = schema.get(name)
        if key is None:
            faults.append(f"info key {name!r} is not in the schema")
        elif type(value) is not key.type:
            faults.append(f"info[{name!r}]: expected {key.type.__name__}, got {type(value).__name__}")
        elif not is_json(value):
            faults.append(f"info[{name!r}] is not a finite JSON value: {value!r}")
    return faults


def is_json(value: Any) -> bool:
    """Whether `value` survives a round trip through JSON unchanged, type by type."""
    if isinstance(value, dict):
        return all(type(k) is str and is_json(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return type(value) in (str, int, bool)


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, ASCII only. Digests are taken over it."""
    return _encode(value)
