"""`pytest benchmarks --policy P --suite S`: benchmark runs, selected, scheduled and reported by pytest.

Each test plays one part of a run (some jobs of one entry), so `-n 2` shares the parts among processes and a run that
was stopped goes on where it was. When all are played the controller puts the result folders together: they are the
same, byte for byte, as those of `agentenvs eval`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import AgentEnvsError
from agentenvs.evaluation.report import print_summary
from agentenvs.evaluation.runner import RunFolder, finish_run, finished_summary, folder_name, open_run
from agentenvs.evaluation.suite import load_suite
from agentenvs.policies.resolve import make_policy
from agentenvs.testing.pytest_plugin import OPTIONS, destination

_TOLERANCE = 1e-9


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentenvs", "agentenvs benchmark runs")
    for name, settings in OPTIONS:
        group.addoption(f"--{name}", dest=destination(name), **settings)


def option(config: pytest.Config, name: str, default: Any = None) -> Any:
    value = config.getoption(destination(name))
    return default if value is None else value


def runs_of(config: pytest.Config) -> list[tuple[RunFolder, str]]:
    """The runs that the options ask for, each with the name of its policy."""
    root = Path(option(config, "results", "runs"))
    found = []
    for suite_name in option(config, "suite", ["quick"]):
        for policy_name in option(config, "policy", ["random"]):
            suite, policy = load_suite(suite_name), make_policy(policy_name)
            settings = {"episodes": option(config, "episodes"), "seed": option(config, "seed", 0)}
            found.append((open_run(suite, policy, root / folder_name(suite, policy), **settings), policy_name))
    return found


def pytest_configure(config: pytest.Config) -> None:
    try:
        config.agentenvs_runs = runs = runs_of(config)  # type: ignore[attr-defined]
        if not (hasattr(config, "workerinput") or config.option.collectonly):
            for run, _ in runs:
                finished_summary(run)  # void episodes are played again, as by `agentenvs eval`
    except (AgentEnvsError, OSError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "part" not in metafunc.fixturenames:
        return
    runs = metafunc.config.agentenvs_runs  # type: ignore[attr-defined]
    cases = [
        pytest.param((run, part, policy), id=f"{run.suite.name}-{policy}-{part.name}")
        for run, policy in runs
        for part in run.parts
    ]
    metafunc.parametrize("part", cases)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Put the results together, in the controller, when every part was played."""
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly or exitstatus not in (0, 1):
        return
    config.agentenvs_reports = reports = []  # type: ignore[attr-defined]
    for run, policy in config.agentenvs_runs:  # type: ignore[attr-defined]
        try:
            summary = run.summary() if run.finished else finish_run(run)
        except AgentEnvsError as error:
            reports.append((None, str(error)))
            continue
        reports.append((summary, str(run.out)))
        faults = _faults(run, policy, summary, option(config, "min-score"))
        reports.extend((None, fault) for fault in faults)
        if faults:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _faults(run: RunFolder, policy: str, summary: dict[str, Any], min_score: float | None) -> list[str]:
    """What makes a run fail: void episodes, the expert below its published score, `--min-score`; no weak policy."""
    faults = []
    for name, entry in summary["entries"].items():
        if entry["n_void"]:
            faults.append(f"{name}: {entry['n_void']} episodes are void: a fault of the harness or of a server")
        published = run.suite.entry(name).reference.get("expert")
        complete = not summary["episodes"]
        if policy == "expert" and complete and published is not None and "score" in entry:
            score = entry["score"]["value"]
            if score < published - _TOLERANCE:
                faults.append(f"{name}: the expert scores {score}, below its published {published}")
    overall = summary["overall"].get("score", {}).get("value", 0.0)
    if min_score is not None and overall < min_score:
        faults.append(f"{run.suite.name}, {policy}: overall score {overall} is below --min-score {min_score}")
    return faults


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for summary, text in getattr(config, "agentenvs_reports", ()):
        terminalreporter.write_line("")
        if summary is not None:
            print_summary(summary)
        terminalreporter.write_line(text)
