"""The info schema: who sees what, and what breaks it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.info import SCHEMA, Key, canonical, is_json, public, violations

JSON = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
GOOD = {
    "task_id": "t/test/0",
    "turn": 1,
    "is_valid": True,
    "score": 0.5,
    "reward_components": {"step": -0.1},
    "calls": [{"id": "1.0", "native": "Up", "ok": True, "observation": "", "reward": -0.1}],
    "expert_action": "Up",
}


def test_only_public_keys_may_enter_a_prompt():
    assert public(GOOD) == {
        "task_id": "t/test/0",
        "turn": 1,
        "is_valid": True,
        "calls": [{"id": "1.0", "native": "Up", "ok": True, "observation": ""}],
    }
    assert GOOD["calls"][0]["reward"] == -0.1


def test_public_leaves_out_what_a_family_calls_private():
    assert public({"turn": 1, "secret": "x", "hint": "y"}, frozenset({"secret"})) == {"turn": 1, "hint": "y"}


def test_no_reward_score_or_gold_is_public():
    hidden = {name for name, key in SCHEMA.items() if key.access != "public"}
    assert {"score", "success", "reward_components", "end_reason", "state_key", "gold", "state_text"} <= hidden
    assert public({name: [] for name in SCHEMA}).keys() == SCHEMA.keys() - hidden


def test_a_good_info_has_no_violations():
    assert violations(GOOD) == []
    assert violations({"colour": 3}, {"colour": Key(int, "public", "")}) == []


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("scoer", 1.0, "not in the schema"),
        ("score", 1, "expected float, got int"),
        ("turn", True, "expected int, got bool"),
        ("is_valid", 1, "expected bool, got int"),
        ("end_reason", None, "expected str, got NoneType"),
        ("score", float("nan"), "not a finite JSON value"),
        ("observed", {"a": (1, 2)}, "not a finite JSON value"),
        ("observed", {1: 2}, "not a finite JSON value"),
        ("observed", {"a": [float("inf")]}, "not a finite JSON value"),
        ("observed", {"a": None}, "not a finite JSON value"),
    ],
)
def test_each_violation_is_named(name, value, fault):
    [found] = violations({**GOOD, name: value})
    assert repr(name) in found
    assert fault in found


@given(JSON)
def test_json_values_are_recognised_and_survive(value):
    assert is_json(value)
    assert json.loads(canonical(value)) == value


@given(st.dictionaries(st.text(), JSON))
def test_canonical_text_does_not_depend_on_order(value):
    assert canonical(value) == canonical(dict(reversed(list(value.items()))))
    assert canonical(value).isascii()


@pytest.mark.parametrize("value", [float("nan"), [float("inf")]])
def test_canonical_refuses_what_is_no_number(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(value)
