"""`pytest benchmarks`: the same files as `agentenvs eval`, shared among processes, and what makes it fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs.evaluation.runner import evaluate
from agentenvs.evaluation.suite import parse_suite

ROOT = Path(__file__).resolve().parents[1]
SUITE = """
name = "two"
version = 1
description = "x"
[[entry]]
name = "tiny"
id = "agentenvs/Sokoban-v0"
split = "test"
kwargs = {{ preset = "tiny" }}
tasks = {tasks}
reference = {{ random = 0.0, expert = {expert} }}
[[entry]]
name = "ragen"
id = "agentenvs/Sokoban-v0"
split = "validation"
kwargs = {{ preset = "ragen" }}
wrappers = "protocol"
tasks = 3
"""


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SUITE.format(tasks=120, expert=1.0))
    return path


def same(a: Path, b: Path) -> bool:
    return all(
        (a / name).read_bytes() == (b / name).read_bytes() for name in ("episodes.jsonl", "summary.json", "run.json")
    )


def test_the_same_files_whether_alone_in_parallel_or_by_eval(tmp_path: Path, suite: Path) -> None:
    words = ("--suite", str(suite), "--policy", "random", "--policy", "expert")
    for results, more in (("alone", ()), ("parallel", ("-n", "2"))):
        done = bench(*words, "--results", str(tmp_path / results), *more)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "6 passed" in done.stdout
        assert "sokoban" not in done.stderr
    for policy in ("random", "expert"):
        evaluate(parse_suite(suite.read_text(), "two"), policy, tmp_path / "eval" / f"two-{policy}")
        for results in ("alone", "parallel"):
            assert same(tmp_path / "eval" / f"two-{policy}", tmp_path / results / f"two-{policy}")


def test_a_weak_policy_does_not_fail_unless_asked(tmp_path: Path, suite: Path) -> None:
    words = ("--suite", str(suite), "--policy", "random", "--episodes", "5", "--results", str(tmp_path))
    assert bench(*words).returncode == 0
    done = bench(*words, "--min-score", "0.99")
    assert done.returncode == 1
    assert "below --min-score 0.99" in done.stdout


def test_the_expert_below_its_published_score_fails(tmp_path: Path, suite: Path) -> None:
    suite.write_text(SUITE.format(tasks=3, expert=1.5))
    done = bench("--suite", str(suite), "--policy", "expert", "--results", str(tmp_path / "runs"))
    assert done.returncode == 1
    assert "below its published 1.5" in done.stdout


def test_an_interrupted_run_goes_on(tmp_path: Path, suite: Path) -> None:
    words = ("--suite", str(suite), "--policy", "random", "--results", str(tmp_path / "runs"))
    done = bench(*words, "-k", "tiny.0001")
    assert "lacks" in done.stdout
    assert [path.name for path in (tmp_path / "runs" / "two-random" / "parts").iterdir()] == ["tiny.0001.jsonl"]
    assert bench(*words).returncode == 0
    evaluate(parse_suite(suite.read_text(), "two"), "random", tmp_path / "whole")
    assert same(tmp_path / "whole", tmp_path / "runs" / "two-random")


FLAKY = """
import os
from agentenvs.core.errors import InfrastructureError

class Flaky:
    name = "flaky"
    def act(self, turns):
        if os.path.exists(os.environ["DOWN"]):
            raise InfrastructureError("the server is down")
        return ["Up" for _ in turns]
"""


def test_void_episodes_fail_the_run_and_are_played_again(
    tmp_path: Path, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flaky.py").write_text(FLAKY)
    (tmp_path / "down").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("DOWN", str(tmp_path / "down"))
    words = (
        "--suite",
        str(suite),
        "--policy",
        "py:flaky:Flaky",
        "--episodes",
        "3",
        "--results",
        str(tmp_path / "runs"),
    )
    done = bench(*words)
    assert done.returncode == 1
    assert "episodes are void" in done.stdout
    (tmp_path / "down").unlink()
    assert bench(*words, "-n", "2").returncode == 0
    assert {path.name for path in (tmp_path / "runs" / "two-flaky").iterdir()} == {
        *("episodes.jsonl", "run.json", "summary.json")
    }


def test_results_that_are_a_file_are_a_usage_error(tmp_path: Path, suite: Path) -> None:
    (tmp_path / "runs").touch()
    done = bench("--suite", str(suite), "--results", str(tmp_path / "runs"))
    assert done.returncode == 4, done.stdout + done.stderr


def test_a_wrong_name_is_a_usage_error(tmp_path: Path) -> None:
    done = bench("--suite", "quik", "--results", str(tmp_path))
    assert done.returncode == 4
    assert "did you mean 'quick'" in done.stdout + done.stderr


def test_the_plugin_leaves_other_projects_alone(tmp_path: Path) -> None:
    """A project with a --policy option of its own runs with the plugin installed."""
    (tmp_path / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--policy')\n")
    (tmp_path / "test_x.py").write_text("def test_x(request):\n    assert request.config.getoption('policy') == 'p'\n")
    command = [sys.executable, "-m", "pytest", "-q", "--policy", "p", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout
