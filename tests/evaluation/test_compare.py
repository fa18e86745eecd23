"""Two runs, paired by task."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.evaluation.compare import compare
from agentenvs.evaluation.runner import evaluate
from agentenvs.evaluation.suite import load_suite
from agentenvs.rollout.trajectory import read


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for policy in ("random", "expert"):
        evaluate("quick", policy, folder / policy, episodes=20)
    evaluate("quick", "random", folder / "short", episodes=5)
    return folder


def test_the_difference_is_that_of_the_scores(runs: Path) -> None:
    found = compare(runs / "expert", runs / "random")
    assert set(found) == {entry.name for entry in load_suite("quick").entries}
    for entry, result in found.items():
        scores = [
            [e.score for e in read(runs / name / "episodes.jsonl") if e.job.group == entry]
            for name in ("expert", "random")
        ]
        pairs = list(zip(*scores, strict=True))
        assert result["difference"]["value"] == pytest.approx(sum(a - b for a, b in pairs) / len(pairs), abs=1e-6)
        assert result["wins"] == sum(a > b for a, b in pairs)
        assert result["losses"] == 0
        assert result["p_value"] < 0.05
        assert result["difference"]["low"] > 0


def test_a_run_ties_with_itself(runs: Path) -> None:
    for result in compare(runs / "random", runs / "random").values():
        assert (result["wins"], result["losses"], result["p_value"]) == (0, 0, 1.0)


def test_other_tasks_are_not_compared(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task"):
        compare(runs / "random", runs / "short")
    with pytest.raises(ConfigError, match="no finished run"):
        compare(runs / "random", tmp_path)


def test_the_command(runs: Path) -> None:
    command = [sys.executable, "-m", "agentenvs.cli", "compare", str(runs / "expert"), str(runs / "random")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "expert minus random" in told
    assert "sokoban-ragen" in told
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(told) == compare(runs / "expert", runs / "random")
