"""Drawing a token: which options there are, and one pure function from logits and one uniform number to a token."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.core.errors import ConfigError, quote, unknown


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn.

    - `temperature`: logits are divided by it; 0 takes the likeliest token.
    - `top_p`: only the smallest set of likeliest tokens whose mass reaches it is drawn from (nucleus sampling, Holtzman
      et al. 2020); 1 is all of them. The mass is that at `temperature`.
    - `max_tokens`: tokens a reply has at most.
    - `stop`: texts after which the reply ends; they stay in it. One text may be given as it is.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        if not isinstance(stop, (list, tuple)) or not all(isinstance(text, str) and text for text in stop):
            raise ConfigError(f"stop: expected a text or a list of texts, none of them empty, got {quote(stop)}")
        object.__setattr__(self, "stop", tuple(stop))
        if not (_is_number(self.temperature) and 0 <= self.temperature < math.inf):
            raise ConfigError(f"temperature: expected a number >= 0, got {quote(self.temperature)}")
        if not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise ConfigError(f"top_p: expected a number in (0, 1], got {quote(self.top_p)}")
        if not isinstance(self.max_tokens, int) or isinstance(self.max_tokens, bool) or self.max_tokens < 1:
            raise ConfigError(f"max_tokens: expected a whole number >= 1, got {quote(self.max_tokens)}")

    def changed(self, options: Mapping[str, Any]) -> Sampling:
        """These options with some of them replaced; None leaves one as it is."""
        known = [f.name for f in fields(self)]
        for name in options:
            if name not in known:
                raise unknown("sampling option", name, known)
        return replace(self, **{name: value for name, value in options.items() if value is not None})


def draw(logits: NDArray[np.floating], sampling: Sampling, uniform: float) -> tuple[int, float]:
    """The token that `uniform` in [0, 1) picks, and its log-probability.

    `logits`: (V,). The inverse of the distribution function over the tokens in the order of their ids, in float64, so
    noise in the last bits of the logits moves a token's bounds by as much and changes the draw only next to one. The
    log-probability is the model's own: at temperature 1, without truncation.
    """
    scores = logits.astype(np.float64)
    scores -= scores.max()
    token = int(scores.argmax()) if sampling.temperature == 0 else _invert(_masses(scores, sampling), uniform)
    return token, float(scores[token] - np.log(np.exp(scores).sum()))


def _masses(scores: NDArray[np.float64], sampling: Sampling) -> NDArray[np.float64]:
    """(V,) unnormalised probabilities, 0 outside the nucleus; `scores` are at most 0."""
    with np.errstate(over="ignore"):  # a tiny temperature: everything but the best becomes exp(-inf)
        masses = np.exp(scores / sampling.temperature)
    if sampling.top_p < 1:
        order = np.argsort(-masses, kind="stable")  # of equal tokens the lower id comes first
        reached = np.cumsum(masses[order])
        size = int(np.searchsorted(reached, sampling.top_p * reached[-1])) + 1
        masses[order[size:]] = 0.0
    return masses


def _invert(masses: NDArray[np.float64], uniform: float) -> int:
    """The first index whose cumulated mass exceeds the share `uniform`; never one without mass."""
    cumulated = np.cumsum(masses)
    last = int(np.flatnonzero(masses)[-1])  # where rounding brings `uniform` up to the whole
    return min(int(np.searchsorted(cumulated, uniform * cumulated[-1], side="right")), last)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
