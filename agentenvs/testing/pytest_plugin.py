"""The pytest plugin: options for benchmark runs, with a prefix so that they meet no other project's.

`benchmarks/conftest.py` adds the short forms with the same destinations.
"""

from __future__ import annotations

import pytest

#: (name, keyword arguments) of each option; the prefixed form is `--agentenvs-NAME`.
OPTIONS = (
    ("policy", {"action": "append", "help": "policy to run, repeatable (default: random)"}),
    ("suite", {"action": "append", "help": "suite to run, repeatable (default: quick)"}),
    ("episodes", {"type": int, "help": "only the first so many tasks of each entry"}),
    ("results", {"help": "folder for result folders (default: runs)"}),
    ("seed", {"type": int, "default": 0, "help": "run seed (default 0)"}),
    ("min-score", {"type": float, "help": "fail where a policy's overall score is below this"}),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentenvs", "agentenvs benchmark runs")
    for name, settings in OPTIONS:
        group.addoption(f"--agentenvs-{name}", dest=destination(name), **settings)


def destination(name: str) -> str:
    """Where an option's value is found: `config.getoption(destination("policy"))`."""
    return "agentenvs_" + name.replace("-", "_")
