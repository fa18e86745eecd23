"""Drawing a token: hand-worked distributions, the share of each token, what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.policies.sampling import Sampling, draw

HALF = np.log([0.5, 0.25, 0.125, 0.125]).astype(np.float32)  # tokens 0 to 3


@pytest.mark.parametrize(
    ("uniform", "token"),
    [(0.0, 0), (0.49, 0), (0.51, 1), (0.74, 1), (0.76, 2), (0.87, 2), (0.88, 3), (1 - 2**-53, 3)],
)
def test_the_inverse_of_the_distribution_function(uniform: float, token: int) -> None:
    found, logprob = draw(HALF, Sampling(temperature=1.0), uniform)
    assert found == token
    assert logprob == pytest.approx(HALF[token], abs=1e-6)


def test_temperature_zero_takes_the_likeliest_and_the_lower_id_of_equals() -> None:
    assert draw(HALF, Sampling(), 0.99) == (0, pytest.approx(np.log(0.5), abs=1e-6))
    assert draw(np.array([0.0, 3.0, 3.0]), Sampling(), 0.99)[0] == 1


def test_temperature_divides_the_logits_and_leaves_the_logprob_the_models_own() -> None:
    """At temperature 1/2 probabilities are squared: 16, 4, 1 and 1 parts of 22."""
    cold = Sampling(temperature=0.5)
    for uniform, token in [(15.9 / 22, 0), (16.1 / 22, 1), (20.1 / 22, 2), (21.1 / 22, 3)]:
        found, logprob = draw(HALF, cold, uniform)
        assert (found, logprob) == (token, pytest.approx(HALF[token], abs=1e-6))
    assert draw(HALF, Sampling(temperature=1e-300), 0.999)[0] == 0


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [
        (0.1, [0]),
        (0.49, [0]),
        (0.51, [0, 1]),
        (0.74, [0, 1]),
        (0.76, [0, 1, 2]),
        (0.9, [0, 1, 2, 3]),
        (1.0, [0, 1, 2, 3]),
    ],
)
def test_the_nucleus_is_the_smallest_set_that_reaches_top_p(top_p: float, kept: list[int]) -> None:
    drawn = {draw(HALF, Sampling(1.0, top_p), (i + 0.5) / 400)[0] for i in range(400)}
    assert sorted(drawn) == kept


def test_a_token_without_mass_is_never_drawn() -> None:
    logits = np.array([-np.inf, 0.0, -np.inf, 0.0, -np.inf])
    uniforms = [0.0, 0.25, 0.5, 0.75, 1 - 2**-53]
    assert [draw(logits, Sampling(1.0), uniform)[0] for uniform in uniforms] == [1, 1, 3, 3, 3]


LOGITS = st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=12)


@settings(deadline=None, max_examples=40)
@given(logits=LOGITS, temperature=st.floats(0.2, 3), top_p=st.floats(0.05, 1))
def test_shares_are_those_of_the_renormalised_nucleus(logits: list[float], temperature: float, top_p: float) -> None:
    """Against a plain computation, token by token; an even grid of uniforms draws each token in proportion."""
    weights = [float(np.exp((x - max(logits)) / temperature)) for x in logits]
    total, mass, nucleus = sum(weights), 0.0, set()
    for token in sorted(range(len(logits)), key=lambda i: (-weights[i], i)):
        if mass < top_p * total * (1 - 1e-12):
            nucleus.add(token)
        mass += weights[token]
    grid = 500
    counts = Counter(draw(np.array(logits), Sampling(temperature, top_p), (i + 0.5) / grid)[0] for i in range(grid))
    assert set(counts) <= nucleus
    inside = sum(weights[token] for token in nucleus)
    for token in nucleus:
        assert abs(counts[token] - grid * weights[token] / inside) <= 1 + 1e-6


@given(logits=LOGITS, uniform=st.floats(0, 1, exclude_max=True), shift=st.sampled_from([0.0, 64.0, -512.0]))
def test_the_logprob_is_the_log_softmax(logits: list[float], uniform: float, shift: float) -> None:
    token, logprob = draw(np.array(logits) + shift, Sampling(1.0), uniform)
    assert logprob == pytest.approx(logits[token] - np.logaddexp.reduce(logits), abs=1e-9)


def test_options_are_replaced_where_they_are_given() -> None:
    own = Sampling(0.7, 0.9, 50, ("</a>",))
    assert own.changed({}) == own == own.changed({"temperature": None, "stop": None})
    assert own.changed({"stop": "x", "max_tokens": 3}) == Sampling(0.7, 0.9, 3, ("x",))
    assert Sampling(stop="</answer>").stop == ("</answer>",)
    with pytest.raises(UnknownName, match="did you mean 'top_p'"):
        own.changed({"topp": 1})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"temperature": -0.1}, "temperature: expected a number >= 0"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, r"top_p: expected a number in \(0, 1\]"),
        ({"top_p": 1.1}, "top_p"),
        ({"max_tokens": 0}, "max_tokens: expected a whole number >= 1"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"stop": [""]}, "stop: expected a text"),
        ({"stop": [1]}, "stop"),
        ({"stop": 5}, "stop"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict, says: str) -> None:
    for refused in (lambda: Sampling(**options), lambda: Sampling().changed(options)):
        with pytest.raises(ConfigError, match=says):
            refused()
