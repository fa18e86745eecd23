"""The default world, made once for all tests."""

from __future__ import annotations

from functools import cache

from agentenvs.envs.search_qa.world.table import Table
from agentenvs.envs.search_qa.world.world import World, make_table, make_world


@cache
def world() -> World:
    """What the questions and passages are."""
    return make_world()


@cache
def table() -> Table:
    """What the facts are."""
    return make_table()
