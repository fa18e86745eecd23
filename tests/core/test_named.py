"""Objects by name: found, or told what is wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.core.named import factory


def test_a_factory_is_found():
    assert factory("py:collections:Counter", "thing") is Counter


@pytest.mark.parametrize(
    "name", ["", "py:", "py::", "py:collections", "py:collections:", "collections:Counter", "py::Counter"]
)
def test_a_name_in_another_form_is_refused(name):
    with pytest.raises(ConfigError, match="thing: expected py:module:factory"):
        factory(name, "thing")


@pytest.mark.parametrize("name", ["py:no_such_module:f", "py:collections:nothing", "py:..x:f", "py:math:pi"])
def test_what_cannot_be_had_is_told(name):
    with pytest.raises(ConfigError, match=f"thing {name}: .+"):
        factory(name, "thing")
