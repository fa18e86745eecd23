"""Prompt styles: pure functions from a `Turn` to chat messages.

`turn.instructions` already says how a reply must look (the codec wrote that), so a style only decides what of the past
is shown and in which messages. No style reads a clock, a generator or anything outside the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from agentenvs.core import messages
from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.policies.base import Turn

#: One chat message as JSON data: `role` is "system", "user", "assistant" or "tool", `content` its text; in the style
#: `tools` also `tool_calls` and `tool_call_id`.
Message = dict[str, Any]
Style = Callable[[Turn], list[Message]]


def chat(turn: Turn) -> list[Message]:
    """The whole history as a conversation: observations are user messages, replies are assistant messages.

    Append-only: as long as instructions and context stay the same, the messages of a turn are a prefix of those of
    the next one. So a menu is never shown: it would have to be taken back a turn later.
    """
    made = _system(turn)
    for past in turn.history:
        made += [_message("user", past.observation), _message("assistant", past.reply)]
    return [*made, _message("user", turn.observation)]


def tools(turn: Turn) -> list[Message]:
    """The conversation as function calls and their answers, for environments in the `openai` codec.

    The first observation is a user message. A reply is the assistant message that its JSON says (any other text is its
    content), an observation the `tool` messages that answer its calls, then what is left as user messages. Servers
    refuse calls without an answer and answers without a call: the former are left out, the latter are user messages.

    Append-only as `chat` is. The tools' schemas are no messages: whoever sends these sends `turn.tools` beside them.
    """
    made = [*_system(turn), _message("user", _first(turn))]
    for reply, observation in _exchanged(turn):
        made += _answered(reply, observation)
    return made


def continued(turn: Turn) -> list[Message]:
    """One user message, then one assistant message that grows: the form of Search-R1 (arXiv 2503.09516).

    The user message holds instructions, context and the first observation; the assistant message replies and later
    observations as they stand, one after another. On the first turn there is no assistant message.

    The last message is unfinished: it has to be continued, not answered. A policy that renders a chat template does so
    with `continue_final_message=True, add_generation_prompt=False`, on the first turn with a generation prompt as
    always; `ChatPolicy` asks its server for the same. As long as instructions and context stay the same, the text of
    a turn is a prefix of that of the next one.
    """
    made = [_message("user", _join([*_header(turn), _first(turn)]))]
    text = "".join(reply + observation for reply, observation in _exchanged(turn))
    return [*made, _message("assistant", text)] if turn.history else made


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
STYLES: dict[str, Style] = {
    "chat": chat,
    "tools": tools,
    "continued": continued,
    "concatenated": concatenated,
    "stepwise": stepwise,
}


def style(name: str) -> Style:
    """The style called `name`: one of `STYLES`, or "stepwise:H" (H exchanges; "stepwise" shows 2).

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


def _first(turn: Turn) -> str:
    """The observation that the conversation began with."""
    return turn.history[0].observation if turn.history else turn.observation


def _exchanged(turn: Turn) -> list[tuple[str, str]]:
    """The replies of the past, each with the observation that it led to."""
    seen = [*(past.observation for past in turn.history[1:]), turn.observation]
    return [(past.reply, observation) for past, observation in zip(turn.history, seen, strict=False)]


def _answered(reply: str, observation: str) -> list[Message]:
    """A reply, the answers to its calls, and the rest of the observation."""
    said = messages.assistant(reply)
    calls = {call["id"]: call for call in said.pop("tool_calls", ())}
    answers: dict[str, Message] = {}
    rest = []
    for message in messages.load(observation):
        if message.role == "tool" and message.call_id in calls and message.call_id not in answers:
            answers[message.call_id] = _message("tool", message.content) | {"tool_call_id": message.call_id}
        else:
            rest.append(_message("user", message.content))
    if answers:
        said["tool_calls"] = [call for name, call in calls.items() if name in answers]
    return [said, *answers.values(), *rest]


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
