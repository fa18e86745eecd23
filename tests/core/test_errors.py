"""Messages that help: the nearest name, and values that cannot flood them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import errors


def test_look_ups_suggest_the_nearest_name():
    error = errors.unknown("preset", "defualt", ["default", "ragen", "tiny"], see="agentenvs list")
    assert str(error) == "unknown preset 'defualt'; did you mean 'default'? (agentenvs list lists all)"


def test_look_ups_list_the_names_where_none_is_near():
    assert str(errors.unknown("codec", "xyzzy", {"tagged": 1, "plain": 2})) == (
        "unknown codec 'xyzzy'; known: plain, tagged"
    )
    assert str(errors.unknown("thing", "q", [f"name{i:02}" for i in range(50)])).endswith("name11, ...")
    assert str(errors.unknown("thing", "q", [])) == "unknown thing 'q'; no thing is known here"


STRANGE = [None, 5, ["a"], "x" * 10**6, "\0\ud800", 10**6000]


@pytest.mark.parametrize("name", STRANGE, ids=range(len(STRANGE)))
def test_look_ups_take_any_name(name):
    text = str(errors.unknown("id", name, ["a", "b"]))
    assert len(text) < 200
    text.encode()


@given(st.text(), st.integers(1, 100))
def test_quotes_are_short_and_printable(text, limit):
    quoted = errors.quote(text, limit)
    quoted.encode()
    assert "\n" not in quoted
    assert len(quoted) <= 10 * limit + 40
    if len(text) <= limit:
        assert quoted == repr(text)
    else:
        assert quoted.endswith(f"({len(text)} characters)")


def test_quotes_of_values():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert errors.quote(3) == "3"
    assert errors.quote({"a": 1}) == "{'a': 1}"
    assert errors.quote(10**6000) == "a int too large to print"
    assert errors.quote(deep) == "a list too large to print"


def test_data_errors_name_place_expected_found_and_way_out():
    error = errors.DataError("f.txt", "row 3", expected="5 columns", found="4", fix="run agentenvs data")
    assert str(error) == "f.txt, row 3: expected 5 columns, found 4; run agentenvs data"
    assert (error.source, error.where) == ("f.txt", "row 3")


@pytest.mark.parametrize(
    "error",
    [
        errors.DataError("f", "", expected="a", found="b"),
        errors.MissingExtra("torch", "local"),
        errors.VerificationError("wrong_reward", "step 3"),
        errors.UnknownName("x"),
    ],
)
def test_errors_cross_process_borders(error):
    """The process back-end and vector environments pickle them."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
