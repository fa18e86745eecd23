"""agentenvs: any text environment, any policy, one contract, and a score that anybody can re-run and check.

>>> import gymnasium as gym, agentenvs
>>> env = gym.make("agentenvs/Sokoban-v0", preset="ragen")
>>> observation, info = env.reset(seed=7)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentenvs._version import __version__
from agentenvs.registration import register_all

#: Public names and where they live; each is imported when it is first used.
_LAZY = {
    "Job": "agentenvs.rollout.job",
    "Policy": "agentenvs.policies.base",
    "Reply": "agentenvs.policies.base",
    "Tool": "agentenvs.core.tools",
    "Trajectory": "agentenvs.rollout.trajectory",
    "Turn": "agentenvs.policies.base",
    "acollect": "agentenvs.rollout.collect",
    "collect": "agentenvs.rollout.collect",
    "describe": "agentenvs.describe",
    "errors": "agentenvs.core",
    "evaluate": "agentenvs.evaluation.runner",
    "rows": "agentenvs.describe",
    "snapshot": "agentenvs.core.snapshot",
}

__all__ = [
    "Job",
    "Policy",
    "Reply",
    "Tool",
    "Trajectory",
    "Turn",
    "__version__",
    "acollect",
    "collect",
    "describe",
    "errors",
    "evaluate",
    "rows",
    "snapshot",
]

if TYPE_CHECKING:  # what type checkers and editors see; `__getattr__` does the same at run time
    from agentenvs.core import errors
    from agentenvs.core.snapshot import snapshot
    from agentenvs.core.tools import Tool
    from agentenvs.describe import describe, rows
    from agentenvs.evaluation.runner import evaluate
    from agentenvs.policies.base import Policy, Reply, Turn
    from agentenvs.rollout.collect import acollect, collect
    from agentenvs.rollout.job import Job
    from agentenvs.rollout.trajectory import Trajectory


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'agentenvs' has no attribute {name!r}; it has: {', '.join(__all__)}")
    if name == "errors":
        return import_module("agentenvs.core.errors")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


register_all()
