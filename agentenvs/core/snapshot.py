"""Snapshots of a wrapper stack: versioned JSON data, read back as data and never unpickled.

A snapshot lists one entry for each layer that has a state, innermost first. Layers of ours know how to save
themselves (`snapshot_entry`) and take their entry back inside `reset`. Gymnasium's own stateless wrappers need
nothing; a wrapper that keeps a state we cannot see is refused rather than restored by half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

from agentenvs.core.errors import SnapshotError, quote
from agentenvs.core.info import is_json

FORMAT, VERSION = "agentenvs.snapshot", 1
#: Gymnasium wrappers that keep nothing which the rest of an episode depends on.
STATELESS = frozenset(
    {
        "OrderEnforcing",
        "PassiveEnvChecker",
        "TransformObservation",
        "TransformAction",
        "TransformReward",
        "ClipReward",
        "RecordEpisodeStatistics",
        "HumanRendering",
    }
)
_BASE = {
    "family": str,
    "config": dict,
    "task": str,
    "seed": int,
    "branch": int,
    "turn": int,
    "status": str,
    "before": str,
    "last": dict,
    "state": dict,
}
_LAST = {
    "observation": str,
    "rewards": dict,
    "valid": bool,
    "effective": bool,
    "end_reason": str,
    "error_type": str,
    "kind": str,
}


def snapshot(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """The state of the whole wrapper stack as JSON data; `env.reset(options={"snapshot": s})` is the way back in.

    Raises `SnapshotError` for a layer that cannot be saved and for an environment that was not reset.
    """
    stack = []
    for layer in reversed(layers(env)):
        entry = getattr(type(layer), "snapshot_entry", None)
        if entry is not None:
            stack.append({"layer": type(layer).__name__, **entry(layer)})
        elif type(layer).__name__ not in STATELESS or not type(layer).__module__.startswith("gymnasium."):
            raise SnapshotError(
                f"{type(layer).__name__} has no snapshot_entry(), so its state cannot be saved; "
                "snapshot below it (env.env), or derive it from agentenvs.wrappers.StatefulWrapper"
            )
    return {"format": FORMAT, "version": VERSION, "stack": stack}


def layers(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """The environments of a stack, outermost first."""
    found = [env]
    while isinstance(found[-1], gym.Wrapper):
        found.append(found[-1].env)
    return found


def split_entry(layer: gym.Env[Any, Any], snapshot: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entry of a wrapper of ours, which must be the outermost, and the snapshot of what it wraps.

    Raises `SnapshotError` where the snapshot is of another stack. Each layer takes its own entry off, so that a layer
    too many is noticed as well as one that is missing.
    """
    stack = _stack(snapshot)
    expected = [type(inner).__name__ for inner in reversed(layers(layer)) if hasattr(type(inner), "snapshot_entry")]
    found = [entry.get("layer") for entry in stack]
    if found != expected:
        raise SnapshotError(f"snapshot of another stack: expected {quote(expected, 200)}, got {quote(found, 200)}")
    return stack[-1], {**snapshot, "stack": stack[:-1]}


def base_entry(snapshot: Any) -> dict[str, Any]:
    """The innermost entry, with its types checked."""
    entry, *more = _stack(snapshot)
    if more:
        found = [layer.get("layer") for layer in more]
        raise SnapshotError(f"snapshot of another stack: expected no wrapper here, got {quote(found, 200)}")
    _check(entry, _BASE, "entry")
    _check(entry["last"], _LAST, "last outcome", exact=True)
    if not all(map(finite, entry["last"]["rewards"].values())):
        raise SnapshotError("snapshot: rewards must be numbers")
    if entry["status"] not in ("playing", "ended"):
        raise SnapshotError(f"snapshot: status must be playing or ended, not {quote(entry['status'])}")
    if not all(0 <= entry[name] < 2**64 for name in ("seed", "branch", "turn")):
        raise SnapshotError("snapshot: seed, branch and turn must be from 0 to 2**64 - 1")
    return entry


def check_state(state: Any, shape: Mapping[str, Callable[[Any], bool]]) -> None:
    """Raise `SnapshotError` unless `state` is a mapping with exactly these keys, each passing its test."""
    if not isinstance(state, Mapping) or set(state) != set(shape):
        raise SnapshotError(f"snapshot state: expected the keys {sorted(shape)}, got {quote(state)}")
    for name, test in shape.items():
        if not test(state[name]):
            raise SnapshotError(f"snapshot state: {name} cannot be {quote(state[name])}")


def natural(value: Any) -> bool:
    """Whether `value` is a whole number >= 0 (and no boolean)."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def finite(value: Any) -> bool:
    """Whether `value` is a finite number (and no boolean)."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


def _stack(snapshot: Any) -> list[dict[str, Any]]:
    if not isinstance(snapshot, Mapping) or snapshot.get("format") != FORMAT:
        raise SnapshotError(f"expected what agentenvs.snapshot(env) returned, got {quote(snapshot)}")
    if snapshot.get("version") != VERSION:
        raise SnapshotError(f"snapshot version: expected {VERSION}, got {quote(snapshot.get('version'))}")
    stack = snapshot.get("stack")
    if not isinstance(stack, list) or not stack or not all(isinstance(entry, dict) for entry in stack):
        raise SnapshotError("snapshot: expected a non-empty list of layers under 'stack'")
    try:
        sound = is_json(stack)
    except RecursionError:
        sound = False
    if not sound:
        raise SnapshotError("snapshot: expected finite JSON values only, not too deeply nested")
    return stack


def _check(entry: dict[str, Any], shape: Mapping[str, type], what: str, *, exact: bool = False) -> None:
    for name, kind in shape.items():
        if type(entry.get(name)) is not kind:
            got = quote(entry.get(name))
            raise SnapshotError(f"snapshot {what}: expected {name} of type {kind.__name__}, got {got}")
    if exact and set(entry) != set(shape):
        raise SnapshotError(f"snapshot {what}: expected the keys {sorted(shape)}, got {quote(sorted(entry))}")
