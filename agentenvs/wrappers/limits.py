"""`Limits`: how long replies, observations and episodes may be, in characters, words or tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import gymnasium as gym

from agentenvs.core.errors import ConfigError, EpisodeOver, quote
from agentenvs.core.messages import Message, dump, load
from agentenvs.core.named import factory
from agentenvs.core.snapshot import natural
from agentenvs.wrappers.base import StatefulWrapper

#: The end reason of an episode whose agent has written as much as it may.
REPLY_BUDGET = "reply_budget"
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Unit:
    """What lengths are counted in: the `size` of a text, and how many characters its first n units take (`cut`)."""

    size: Callable[[str], int]
    cut: Callable[[str, int], int]


class Limits(StatefulWrapper):
    """Bounds what an agent writes and reads, as training set-ups do. It stands on `TextActions`, inside of rewards.

    - `reply`: only the first so many units of a reply are read.
    - `observation`: an observation is cut from the right to so many units, so that it may lose a closing tag. That of
      a fresh episode is the task and stays whole; where an observation is several chat messages, their contents are
      cut as if they were one text. The info is left as it is.
    - `episode`: all replies of an episode together. A reply is cut to what is left; when nothing is left the episode
      is truncated with the end reason "reply_budget", unless it is over anyway.
    - `unit`: "characters", "words" (runs of anything but white space) or "py:module:factory", a function without
      parameters that makes a tokenizer with `encode(text) -> list[int]`, without special tokens, and
      `decode(ids) -> str`. It is made once a process.

    None means no bound. What is cut off a text leaves a beginning of it: half a character that a tokenizer's cut may
    leave is dropped. As in Search-R1 (arXiv 2503.09516): 500 tokens a reply, 500 an observation.
    """

    state_shape = {"used": natural, "over": lambda value: isinstance(value, bool)}

    def __init__(
        self,
        env: gym.Env[str, str],
        *,
        reply: int | None = None,
        observation: int | None = None,
        episode: int | None = None,
        unit: str = "characters",
    ) -> None:
        for name, limit in (("reply", reply), ("observation", observation), ("episode", episode)):
            if limit is not None and not (natural(limit) and limit):
                raise ConfigError(f"Limits: expected {name} >= 1 or None, got {quote(limit)}")
        if env.has_wrapper_attr("adds"):
            raise ConfigError("Limits: it stands outside of a reward wrapper, which would not see it end an episode")
        super().__init__(env, reply=reply, observation=observation, episode=episode, unit=unit)
        self.unit = unit_of(unit)
        self._reply, self._observation, self._episode = reply, observation, episode
        self._used, self._over = 0, False

    def begin(self) -> None:
        self._used, self._over = 0, False

    def save(self) -> dict[str, Any]:
        return {"used": self._used, "over": self._over}

    def load(self, state: Mapping[str, Any]) -> None:
        self._used, self._over = state["used"], state["over"]

    @property
    def status(self) -> str:
        return "ended" if self._over else self.env.get_wrapper_attr("status")

    def on_reset(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if self._over:
            info["end_reason"] = REPLY_BUDGET
        return self._shown(observation) if info["turn"] else observation, info

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        if self._over:
            raise EpisodeOver(f"the episode is over ({REPLY_BUDGET}); call reset()")
        read = action[: self._read(action)] if isinstance(action, str) else action
        observation, reward, terminated, truncated, info = self.env.step(read)
        if self._episode is not None and isinstance(action, str):
            self._used += min(self.unit.size(action), self._bound)
            self._over = self._used >= self._episode and not (terminated or truncated)
        if self._over:
            truncated, info["end_reason"] = True, REPLY_BUDGET
        return self._shown(observation), reward, terminated, truncated, info

    def kept(self, reply: str) -> int:
        """How many characters of the next reply stay in the transcript: those that are read here and further in."""
        return kept(self.env, reply[: self._read(reply)])

    @property
    def _bound(self) -> int | float:
        """Units of the next reply that are read."""
        left = math.inf if self._episode is None else self._episode - self._used
        return min(self._reply or math.inf, left)

    def _read(self, reply: str) -> int:
        """How many characters of the next reply are read."""
        return len(reply) if self._bound == math.inf else self.unit.cut(reply, int(self._bound))

    def _shown(self, observation: str) -> str:
        """The observation, its contents cut."""
        if self._observation is None:
            return observation
        messages = load(observation)
        if messages == [Message("user", observation)] or dump(messages) != observation:  # text, whatever it looks like
            return observation[: self.unit.cut(observation, self._observation)]
        cut, left = [], self._observation
        for message in messages:
            cut.append(replace(message, content=message.content[: self.unit.cut(message.content, left)]))
            left -= min(left, self.unit.size(message.content))
        return dump(cut)


def kept(env: gym.Env[str, str], reply: str) -> int:
    """How many characters of a reply stay in the transcript, by the limits and the codec of a stack.

    To be asked before the reply is played: what a budget leaves depends on what was said so far.
    """
    if env.has_wrapper_attr("kept"):
        return env.get_wrapper_attr("kept")(reply)
    return env.get_wrapper_attr("codec").kept(reply) if env.has_wrapper_attr("codec") else len(reply)


# Units ----------------------------------------------------------------------------------------------------------------


def unit_of(name: str) -> Unit:
    """The unit of a name: "characters", "words" or "py:module:factory"."""
    if isinstance(name, str) and name.startswith("py:"):
        return _tokens(name)
    if not isinstance(name, str) or name not in _UNITS:
        raise ConfigError(f"Limits: expected the unit characters, words or py:module:factory, got {quote(name)}")
    return _UNITS[name]


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def _cut_words(text: str, n: int) -> int:
    end = 0
    for number, word in enumerate(_WORD.finditer(text)):
        if number == n:
            return end
        end = word.end()
    return len(text)


_UNITS = {"characters": Unit(len, lambda text, n: min(n, len(text))), "words": Unit(_words, _cut_words)}


@cache
def _tokens(name: str) -> Unit:
    """Tokens of the tokenizer that `py:module:factory` makes."""
    made = factory(name, "Limits: unit")
    try:
        tokenizer = made()
        encode, decode = tokenizer.encode, tokenizer.decode
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"Limits: the unit {quote(name)}: {error}; expected a factory of a tokenizer") from error

    def ids(text: str) -> list[int]:
        return list(encode(_sound(text)))

    def cut(text: str, n: int) -> int:
        found = ids(text)
        if len(found) <= n:
            return len(text)
        begun = decode(found[:n])
        return next(
            (i for i, (one, other) in enumerate(zip(_sound(text), begun, strict=False)) if one != other), len(begun)
        )

    return Unit(lambda text: len(ids(text)), cut)


def _sound(text: str) -> str:
    """The text with a question mark for each lone surrogate, which tokenizers do not take."""
    return text.encode("utf-8", "replace").decode()
