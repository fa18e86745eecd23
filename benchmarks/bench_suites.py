"""Plays the parts of the runs that `--policy` and `--suite` ask for; see conftest.py."""

from __future__ import annotations

from agentenvs.evaluation.runner import Part, RunFolder, play_part
from agentenvs.policies.resolve import make_policy


def bench_part(part: tuple[RunFolder, Part, str]) -> None:
    """Play one part of a run. How well the policy does is no matter here; that every job has its record is."""
    run, jobs, policy = part
    if run.finished:
        return
    played = list(play_part(run, jobs, make_policy(policy)))
    assert [trajectory.origin for trajectory in played] == [job.key for job in jobs.jobs]
