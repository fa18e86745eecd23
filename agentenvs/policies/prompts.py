"""Prompt styles: pure functions from a `Turn` to chat messages.

`turn.instructions` already says how a reply must look (the codec wrote that), so a style only decides what of the past
is shown and in which messages. No style reads a clock, a generator or anything outside the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.policies.base import Turn

#: One chat message: `role` is "system", "user" or "assistant", `content` its text.
Message = dict[str, str]
Style = Callable[[Turn], list[Message]]


def chat(turn: Turn) -> list[Message]:
    """The whole history as a conversation: observations are user messages, replies are assistant messages.

    Append-only: as long as instructions and context stay the same, the messages of a turn are a prefix of those of
    the next one. So a menu is never shown: it would have to be taken back a turn later.
    """
    messages = _system(turn)
    for past in turn.history:
        messages += [_message("user", past.observation), _message("assistant", past.reply)]
    return [*messages, _message("user", turn.observation)]


def concatenated(turn: Turn) -> list[Message]:
    """Everything in one user message: instructions, context, the whole history, the present."""
    return [_message("user", _join([*_header(turn), *_past(turn, 0), *_present(turn)]))]


def stepwise(turn: Turn, h: int = 2) -> list[Message]:
    """Instructions and context as system message, then one user message with the last `h` exchanges and the present.

    The prompt's length does not grow with the episode. `h=0` shows the current observation alone.
    """
    skipped = max(0, len(turn.history) - h)
    note = [f"(Turns 1 to {skipped} are not shown.)"] if skipped else []
    return [*_system(turn), _message("user", _join([*note, *_past(turn, skipped), *_present(turn)]))]


#: The styles by name; `style` also takes `stepwise:H`.
STYLES: dict[str, Style] = {"chat": chat, "concatenated": concatenated, "stepwise": stepwise}


def style(name: str) -> Style:
    """The style called `name`: "chat", "concatenated", "stepwise" (2 exchanges) or "stepwise:H" (H exchanges).

    Raises `UnknownName` for any other name and `ConfigError` for an H that is not a whole number from 0 to 9999.
    """
    base, colon, argument = str(name).partition(":")
    if base not in STYLES or (colon and base != "stepwise"):
        raise unknown("prompt style", name, [*STYLES, "stepwise:5"])
    if not colon:
        return STYLES[base]
    if not (argument.isascii() and argument.isdigit() and len(argument) <= 4):
        raise ConfigError(f"prompt style {quote(name)}: expected a number of past turns, as in stepwise:5")
    return partial(stepwise, h=int(argument))


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _join(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _header(turn: Turn) -> list[str]:
    # Sorted, because equal mappings must give equal prompts whatever order they were filled in.
    return [turn.instructions, *(f"[{name}]\n{turn.context[name]}" for name in sorted(turn.context))]


def _system(turn: Turn) -> list[Message]:
    text = _join(_header(turn))
    return [_message("system", text)] if text else []


def _past(turn: Turn, start: int) -> list[str]:
    """The exchanges from index `start`, numbered from 1 as a reader counts."""
    parts = []
    for number, past in enumerate(turn.history[start:], start + 1):
        parts += [f"[Observation {number}]\n{past.observation}", f"[Your reply {number}]\n{past.reply}"]
    return parts


def _present(turn: Turn) -> list[str]:
    parts = [f"[Observation {len(turn.history) + 1}, now]\n{turn.observation}"]
    if turn.menu:
        parts.append("[Possible actions]\n" + "\n".join(turn.menu))
    return parts
