"""The presets: published rules, texts and limits of Sokoban for language models, each fixed under one name.

A preset that is changed gets a new revision. Deviations from the originals stand in the family's page (README.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.envs.sokoban.engine import DIRECTIONS
from agentenvs.envs.sokoban.text import SYMBOLS, legend

MOVES = DIRECTIONS
LOWER = ("up", "down", "left", "right")
#: gym-sokoban's nine actions; a "move" never pushes.
FULL = (
    "no operation",
    *(f"push {name}" for name in LOWER),
    *(f"move {name}" for name in LOWER),
)

#: Every word that a preset may use for an action; `effect` says what it does.
WORDS = (*MOVES, *LOWER, *FULL, "still")


def _ragen(max_calls: int = 5, hint: str = "") -> tuple[dict[str, Any], ...]:
    """Think, then answer with actions joined by "||"; unknown ones are skipped and cost 0.1 a turn."""
    codec = {"name": "tagged", "action": "answer", "separator": "||"}
    if hint:
        codec["hint"] = hint
    turns = {"codec": codec, "max_calls": max_calls, "max_turns": 5, "unknown": "skip"}
    return ({"name": "TextActions", "kwargs": turns}, {"name": "FormatReward", "kwargs": {"fault": -0.1}})


_SPA_HINT = (
    "Begin the reasoning with <observation>the state in coordinates</observation> and end it with "
    "<prediction>the state after your actions</prediction>."
)
_VERL = (
    {"name": "TextActions", "kwargs": {"codec": "tagged", "max_calls": 1}},
    {"name": "FormatReward", "kwargs": {"fault": -0.1}},
)
_VAGEN_CODEC = {"name": "tagged", "action": "answer", "separator": ",", "whole": True}
_VAGEN = (
    {"name": "TextActions", "kwargs": {"codec": _VAGEN_CODEC, "max_calls": 3, "unknown": "stop"}},
    {"name": "FormatReward", "kwargs": {"valid": 0.5}},
)


@dataclass(frozen=True, slots=True)
class Preset:
    """Everything that fixes how Sokoban is played. Limits are native actions; `protocol` is the published stack.

    `complaints`: an unreadable action is answered by a sentence before the board; without, by the board alone.
    """

    revision: int
    rows: int
    cols: int
    boxes: int
    levels: str
    max_turns: int
    observation: str = "grid"
    symbols: str = "ragen"
    layout: str = "joined"
    actions: tuple[str, ...] = MOVES
    ignore_case: bool = True
    difficulty: str | int | None = None
    search_depth: int = 300
    complaints: bool = True
    protocol: tuple[dict[str, Any], ...] = ({"name": "TextActions", "kwargs": {"codec": "tagged"}},)


PRESETS = {
    "default": Preset(1, 8, 8, 2, "generated", 100),
    "gym": Preset(1, 10, 10, 3, "generated", 120, actions=FULL),
    "boxoban": Preset(1, 10, 10, 4, "boxoban", 120, difficulty="unfiltered"),
    "ragen": Preset(1, 6, 6, 1, "ragen", 10, protocol=_ragen()),
    "spa": Preset(1, 6, 6, 1, "ragen", 10, observation="spa", protocol=_ragen(hint=_SPA_HINT)),
    "verl-agent": Preset(
        1, 6, 6, 1, "ragen", 15, layout="tabbed", actions=(*LOWER, "still"), search_depth=30, protocol=_VERL
    ),
    "vagen": Preset(1, 6, 6, 1, "vagen", 100, layout="tabbed", ignore_case=False, search_depth=100, protocol=_VAGEN),
    "tiny": Preset(
        1, 5, 5, 1, "generated", 12, difficulty=1, complaints=False, protocol=({"name": "TextActions", "kwargs": {}},)
    ),
}


#: The rules that a keyword can replace.
CHANGEABLE = tuple(field.name for field in fields(Preset) if field.name not in ("revision", "protocol", "max_turns"))
_OTHERS = ("preset", "split", "max_turns", "admissible", "reveal", "render_mode", "data_dir", "path", "level")


def rules_of(name: str, changes: Mapping[str, Any]) -> tuple[str, Preset]:
    """The rules of a preset with some of them replaced, and the name under which they are reported."""
    if not isinstance(name, str) or name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    preset = PRESETS[name]
    for rule in changes:
        if rule not in (*CHANGEABLE, "max_turns"):
            raise unknown("Sokoban option", rule, (*CHANGEABLE, *_OTHERS))
    changes = {rule: tuple(value) if isinstance(value, list) else value for rule, value in changes.items()}
    if name == "tiny" and changes.get("difficulty") == 3:
        changes = {"rows": 6, "cols": 6, **changes}  # no 5x5 room takes three pushes
    rules = replace(preset, **changes)
    _check(rules)
    return f"{name}.{preset.revision}" + ("" if rules == preset else "+"), rules


def _check(rules: Preset) -> None:
    for name, kind in (("rows", int), ("cols", int), ("boxes", int), ("search_depth", int), ("levels", str)):
        value = getattr(rules, name)
        if type(value) is not kind:
            raise ConfigError(f"{name}: expected {kind.__name__}, got {quote(value)}")
    words = rules.actions if isinstance(rules.actions, tuple) else (rules.actions,)
    for word in words:
        if word not in WORDS:
            raise unknown("action word", word, WORDS)
    if not {0, 1, 2, 3} <= {direction for direction, pushes in map(effect, words) if pushes}:
        raise ConfigError(f"actions: expected words that push in all four directions, got {quote(words)}")


def effect(action: str) -> tuple[int | None, bool]:
    """What an action word does: the direction (0 to 3, None for nothing) and whether it may push."""
    verb, _, last = action.rpartition(" ")
    name = last.capitalize()
    return (MOVES.index(name) if name in MOVES else None), verb != "move"


def instructions(rules: Preset) -> str:
    """The task in words. The format of replies is the codec's to say."""
    full = " A move never pushes." if "move up" in rules.actions else ""
    text = (
        "You play Sokoban. Push every box onto a target. You push a box by walking into it; only one box can be pushed "
        f"at a time, boxes cannot be pulled, and nothing passes a wall.{full} "
        f"You have at most {rules.max_turns} actions."
    )
    if rules.observation == "coord":
        return f"{text}\n\nCells are (row, column), counted from (0, 0) at the top left."
    return f"{text}\n\nSymbols:\n{legend(SYMBOLS[rules.symbols])}"


def vocabulary(rules: Preset) -> tuple[str, ...]:
    """Every token of grid observations and of actions."""
    return (*SYMBOLS[rules.symbols], "\n", *rules.actions)
