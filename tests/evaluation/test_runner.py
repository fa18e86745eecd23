"""Runs: their files, how they go on after a kill, and what the summary says."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentenvs._version import __version__
from agentenvs.core.errors import ConfigError, InfrastructureError
from agentenvs.evaluation.runner import evaluate
from agentenvs.evaluation.suite import parse_suite
from agentenvs.policies.base import Turn
from agentenvs.rollout.trajectory import read

SUITE = """
name = "small"
version = 1
description = "x"
[[entry]]
name = "tiny"
id = "agentenvs/Sokoban-v0"
split = "test"
kwargs = { preset = "tiny" }
tasks = 6
attempts = 3
reference = { random = 0.25, expert = 1.0 }
"""


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_result_folder_holds_three_files_and_no_clock(tmp_path: Path) -> None:
    suite = parse_suite(SUITE, "small")
    summary = evaluate(suite, "random", tmp_path / "a")
    assert set(files(tmp_path / "a")) == {"run.json", "episodes.jsonl", "summary.json"}
    assert json.loads((tmp_path / "a" / "summary.json").read_text()) == summary
    evaluate(suite, "random", tmp_path / "b", backend="process", num_envs=3)
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_the_figures_of_the_summary_are_those_of_the_episodes(tmp_path: Path) -> None:
    summary = evaluate(parse_suite(SUITE, "small"), "random", tmp_path / "run")
    episodes = list(read(tmp_path / "run" / "episodes.jsonl"))
    entry = summary["entries"]["tiny"]
    wins = [episode.success for episode in episodes]
    assert (entry["n_episodes"], entry["n_tasks"], entry["n_void"]) == (18, 6, 0)
    assert entry["success"]["value"] == pytest.approx(sum(wins) / 18, abs=1e-6)
    assert entry["return"]["value"] == pytest.approx(sum(e.total_reward for e in episodes) / 18, abs=1e-6)
    assert entry["turns"]["value"] == pytest.approx(sum(len(e.decisions) for e in episodes) / 18, abs=1e-6)
    assert entry["usage"]["steps"] == sum(len(e.steps) for e in episodes)
    assert entry["score"]["low"] <= entry["score"]["value"] <= entry["score"]["high"]
    assert entry["normalised"]["value"] == pytest.approx((entry["score"]["value"] - 0.25) / 0.75, abs=1e-5)
    by_task = {e.job.task: [f.success for f in episodes if f.job.task == e.job.task] for e in episodes}
    assert entry["pass_at_k"]["3"] == pytest.approx(sum(map(any, by_task.values())) / 6, abs=1e-6)
    assert entry["pass_hat_k"]["3"] == pytest.approx(sum(map(all, by_task.values())) / 6, abs=1e-6)


def test_a_finished_run_is_not_played_again_and_another_is_refused(tmp_path: Path) -> None:
    suite = parse_suite(SUITE, "small")
    first = evaluate(suite, "random", tmp_path / "run")
    before = (tmp_path / "run" / "episodes.jsonl").stat().st_mtime_ns
    assert evaluate(suite, "random", tmp_path / "run") == first
    assert (tmp_path / "run" / "episodes.jsonl").stat().st_mtime_ns == before
    for change in ({"seed": 1}, {"episodes": 2}):
        with pytest.raises(ConfigError, match="another run"):
            evaluate(suite, "random", tmp_path / "run", **change)
    with pytest.raises(ConfigError, match="another run"):
        evaluate(suite, "expert", tmp_path / "run")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        evaluate("quick", "random", tmp_path)
    assert files(tmp_path) == {"thesis.tex": b"precious"}


def test_no_policy_but_the_expert_is_told_the_truth(tmp_path: Path) -> None:
    class Peeping:
        name = "peeping"
        needs = frozenset({"private"})

        def act(self, turns: Sequence[Turn]) -> list[str]:
            return ["Up" for _ in turns]

    with pytest.raises(ConfigError, match="peeping"):
        evaluate("quick", Peeping(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Failing:
    """Fails for some episodes, until it is repaired."""

    name = "failing"
    needs = frozenset({"admissible"})
    max_batch = 1

    def __init__(self, broken: bool) -> None:
        self.broken = broken

    def act(self, turns: Sequence[Turn]) -> list[str]:
        if self.broken and int(turns[0].episode, 16) % 3 == 0:
            raise InfrastructureError("the server is down")
        return [turn.menu[turn.seed % len(turn.menu)] for turn in turns]


def test_void_episodes_are_counted_left_out_and_tried_again(tmp_path: Path) -> None:
    suite = parse_suite(SUITE, "small")
    broken = evaluate(suite, Failing(True), tmp_path / "broken")["entries"]["tiny"]
    assert 0 < broken["n_void"] < 18
    assert broken["end_reasons"]["void"] == broken["n_void"]
    kept = [e for e in read(tmp_path / "broken" / "episodes.jsonl") if e.end_reason != "void"]
    assert broken["success"]["value"] == pytest.approx(sum(e.success for e in kept) / len(kept), abs=1e-6)
    repaired = evaluate(suite, Failing(False), tmp_path / "broken")
    assert repaired["entries"]["tiny"]["n_void"] == 0
    evaluate(suite, Failing(False), tmp_path / "whole")
    assert files(tmp_path / "broken") == files(tmp_path / "whole")


SLOW_RUN = """
import sys, time
from agentenvs.evaluation.runner import evaluate

class Slow:
    name = "slow"
    needs = frozenset({"admissible"})
    def act(self, turns):
        time.sleep(0.004)
        return [turn.menu[turn.seed % len(turn.menu)] for turn in turns]

if __name__ == "__main__":
    evaluate("quick", Slow(), sys.argv[1], num_envs=2, backend=sys.argv[2])
"""


@pytest.mark.parametrize("backend", ["sync", "process"])
def test_a_killed_run_goes_on_and_ends_like_an_unbroken_one(tmp_path: Path, backend: str) -> None:
    script = tmp_path / "run.py"
    script.write_text(SLOW_RUN)
    command = [sys.executable, str(script), str(tmp_path / "killed"), backend]
    for wanted in (2, 20):
        process = subprocess.Popen(command, start_new_session=True)
        deadline = time.monotonic() + 60
        while _recorded(tmp_path / "killed") < wanted and process.poll() is None:
            assert time.monotonic() < deadline, "the run records nothing"
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = _recorded(tmp_path / "killed")
    assert 2 <= before < 100
    subprocess.run(command, check=True, timeout=120)
    subprocess.run([*command[:2], str(tmp_path / "whole"), "sync"], check=True, timeout=120)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def _recorded(folder: Path) -> int:
    """Complete lines on disk."""
    return sum(part.read_bytes().count(b"\n") for part in (folder / "parts").glob("*.jsonl"))


def unreliable(folder: Path) -> Any:
    """A run with void episodes, and its suite."""
    suite = parse_suite(SUITE, "small")
    evaluate(suite, Failing(True), folder)
    return suite


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    evaluate(parse_suite(SUITE, "small"), Failing(False), folder)
    return files(folder)


STEPS = ("agentenvs.evaluation.runner.append", "os.replace", "pathlib.Path.unlink", "shutil.rmtree")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_breaks_off_anywhere_ends_like_an_unbroken_one(
    tmp_path: Path, whole: dict[str, bytes], step: str, after: bool
) -> None:
    """Break off before or after each use of a step that changes the folder, and go on, until nothing breaks."""
    suite = unreliable(tmp_path / "run")
    for number in range(200):
        used = 0
        with pytest.MonkeyPatch.context() as patch:
            real = _resolve(step)

            def breaking(*args: Any, number: int = number, real: Any = real, **kwargs: Any) -> Any:
                nonlocal used
                used += 1
                if used == number + 1 and not after:
                    raise KeyboardInterrupt
                done = real(*args, **kwargs)
                if used == number + 1 and after:
                    raise KeyboardInterrupt
                return done

            patch.setattr(step, breaking)
            try:
                evaluate(suite, Failing(False), tmp_path / "run")
            except KeyboardInterrupt:
                continue
            break
    assert files(tmp_path / "run") == whole


def _resolve(name: str) -> Any:
    for at in range(name.count("."), 0, -1):
        module = ".".join(name.split(".")[:at])
        try:
            found: Any = importlib.import_module(module)
        except ImportError:
            continue
        for attribute in name.split(".")[at:]:
            found = getattr(found, attribute)
        return found
    raise AssertionError(name)


def test_what_a_kill_between_the_last_steps_leaves_is_cleared_away(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """A torn part beside the whole file: the file counts, and nothing is added to the part."""
    suite = unreliable(tmp_path / "run")
    (tmp_path / "run" / "parts").mkdir()
    (tmp_path / "run" / "parts" / "tiny.0000.jsonl").write_bytes(b'{"schema":1,"key":"torn')
    evaluate(suite, Failing(False), tmp_path / "run")
    assert files(tmp_path / "run") == whole


@pytest.mark.parametrize(("old", "new"), [("tasks = 6", "tasks = 7"), ('"tiny" }', '"tiny", max_turns = 9 }')])
def test_a_suite_that_was_changed_without_a_new_version_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    evaluate(parse_suite(SUITE, "small"), "random", tmp_path / "run")
    before = files(tmp_path / "run")
    with pytest.raises(ConfigError, match="was the suite changed"):
        evaluate(parse_suite(SUITE.replace(old, new), "small"), "random", tmp_path / "run")
    assert files(tmp_path / "run") == before


def test_episodes_of_another_version_of_the_package_are_not_summed_up_as_of_this_one(tmp_path: Path) -> None:
    suite = parse_suite(SUITE, "small")
    evaluate(suite, "random", tmp_path / "run")
    episodes = tmp_path / "run" / "episodes.jsonl"
    episodes.write_text(episodes.read_text().replace(f'"package":"{__version__}"', '"package":"0.0.0"'))
    with pytest.raises(ConfigError, match=r"0\.0\.0"):
        evaluate(suite, "random", tmp_path / "run")


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    suite, inner = parse_suite(SUITE, "small"), []

    def also(*_: Any) -> None:
        if not inner:
            with pytest.raises(ConfigError, match="another process") as caught:
                evaluate(suite, "random", tmp_path / "run")
            inner.append(caught)

    evaluate(suite, "random", tmp_path / "run", progress=also)
    assert inner
    evaluate(suite, "random", tmp_path / "run")


@pytest.mark.parametrize("seed", [-1, 2**64, True, 1.0, "1"])
def test_a_seed_that_cannot_be_leaves_no_folder(tmp_path: Path, seed: Any) -> None:
    with pytest.raises(ConfigError, match="seed: expected a whole number"):
        evaluate("quick", "random", tmp_path / "run", seed=seed)
    assert not (tmp_path / "run").exists()


def test_progress_is_told_after_each_episode(tmp_path: Path) -> None:
    told: list[tuple[Any, ...]] = []
    evaluate("quick", "random", tmp_path / "run", episodes=2, progress=lambda *state: told.append(state))
    assert [state[1:] for state in told] == [(n, 8) for n in range(1, 9)]
