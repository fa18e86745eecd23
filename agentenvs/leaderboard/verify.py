"""`verify`: a submission is played again, whole, and its table is worked out anew from the replay.

What the bundle says counts for nothing but the replies in it: every observation, reward, flag and digest must come
out again, and the episodes must be exactly those of the suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentenvs._version import __version__
from agentenvs.core.errors import AgentEnvsError, ConfigError, InfrastructureError, VerificationError, quote, unknown
from agentenvs.core.snapshot import natural
from agentenvs.evaluation.runner import check_fair, cut
from agentenvs.evaluation.suite import Suite, load_suite, suite_names
from agentenvs.evaluation.summary import summarise
from agentenvs.leaderboard.bundle import Bundle, read_bundle
from agentenvs.leaderboard.replay import replay
from agentenvs.policies.replay import Replay
from agentenvs.policies.resolve import as_policy
from agentenvs.rollout.collect import collect
from agentenvs.rollout.episode import Pool, same
from agentenvs.rollout.job import Job
from agentenvs.rollout.trajectory import Trajectory

#: Why a submission is refused.
REASONS = {
    "unreadable": "the file is no zip archive, or a damaged one",
    "unsafe_path": "a member's path leads out of the bundle",
    "unknown_file": "a member that no bundle has",
    "missing_file": "a member is not there",
    "too_large": "unpacked it is larger than the limit",
    "wrong_hash": "a file is not the one that the manifest was made for",
    "bad_card": "the card lacks something",
    "bad_record": "a file or line is not of its format",
    "wrong_version": "made with another version of the package or suite",
    "wrong_data": "played on other data files",
    "wrong_spec": "played with another preset, codec, instructions or tools",
    "wrong_seed": "played with other seeds than the run says",
    "wrong_count": "another number of episodes or steps than stated",
    "missing_episode": "an episode of the suite is not there",
    "duplicate_job": "an episode stands there twice",
    "unknown_job": "an episode that is not of the suite",
    "void_episode": "an episode failed for a reason of ours; run it again before submitting",
    "wrong_turn": "what a turn was asked, or what stays of its reply, does not come out again",
    "wrong_action": "an action that is not the reply that was given",
    "wrong_observation": "an observation does not come out again",
    "wrong_reward": "a reward does not come out again",
    "wrong_flag": "an end of the episode does not come out again",
    "wrong_info": "a recorded info value does not come out again",
    "wrong_digest": "a digest does not come out again",
    "wrong_score": "a score does not come out again",
    "wrong_end": "the reason of an end does not come out again",
    "budget_exceeded": "more restores or tokens than the suite allows",
    "wrong_summary": "the table is not that of the episodes",
    "not_reproduced": "the policy, run again, gives other episodes",
}
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Verified:
    """A submission that holds: its bundle, the suite, and the summary worked out from the replay."""

    bundle: Bundle
    suite: Suite
    summary: dict[str, Any]
    tier: str = "replayed"

    def to_json(self) -> dict[str, Any]:
        return {"tier": self.tier, "card": self.bundle.card.to_json(), "summary": self.summary}


def verify(path: str | Path, *, suite: Suite | None = None, progress: Progress | None = None) -> Verified:
    """Verify a bundle; raises `VerificationError` with the first of `REASONS` that applies."""
    bundle = read_bundle(Path(path))
    suite = suite or _suite(bundle)
    _check_run(bundle, suite)
    jobs = {
        job.key: job for part in cut(suite, bundle.run["seed"], bundle.run["episodes"] or None) for job in part.jobs
    }
    if not same(bundle.manifest.get("episodes"), len(jobs)):
        found = quote(bundle.manifest.get("episodes"))
        raise VerificationError("wrong_count", f"the manifest says {found} episodes, the suite has {len(jobs)}")
    try:
        summary = summarise(suite, bundle.run, _replayed(bundle, suite, jobs, progress))
    except VerificationError:
        raise
    except AgentEnvsError as error:
        raise VerificationError("bad_record", str(error)) from error
    if not same(summary, bundle.summary):
        raise VerificationError("wrong_summary", "summary.json is not what the episodes give; run agentenvs eval again")
    return Verified(bundle, suite, summary)


def reproduce(verified: Verified, policy: Any, *, progress: Progress | None = None) -> Verified:
    """Play the suite with the policy; the tier becomes `reproduced` if every episode comes out the same."""
    run, policy = verified.bundle.run, as_policy(policy)
    check_fair(policy)
    if isinstance(policy, Replay):
        raise ConfigError("a replay of the run reproduces nothing; name the policy itself")
    parts = cut(verified.suite, run["seed"], run["episodes"] or None)
    jobs = [job for part in parts for job in part.jobs]
    again = collect(None, policy, jobs, seed=run["seed"])
    for done, (recorded, played) in enumerate(zip(verified.bundle.trajectories(), again, strict=True), 1):
        if played.end_reason == "void":
            raise InfrastructureError(f"{played.job.task}: the policy failed; try again when its server is up")
        if recorded.to_json()["steps"] != played.to_json()["steps"]:
            raise VerificationError("not_reproduced", f"{recorded.job.task} goes differently")
        if progress is not None:
            progress(done, len(jobs))
    return replace(verified, tier="reproduced")


def _suite(bundle: Bundle) -> Suite:
    """The package's suite of the name that the run gives; a name of a stranger never opens a file."""
    name = bundle.run.get("suite")
    if name not in suite_names():
        raise VerificationError("bad_record", f"run.json: {unknown('suite', name, suite_names())}")
    return load_suite(str(name))


def _check_run(bundle: Bundle, suite: Suite) -> None:
    run = bundle.run
    if set(run) != {"suite", "suite_version", "policy", "seed", "episodes"} or not isinstance(run["policy"], str):
        raise VerificationError("bad_record", f"run.json: keys {quote(sorted(map(str, run)), 200)}")
    if not natural(run["seed"]) or not natural(run["episodes"]):
        raise VerificationError("bad_record", "run.json: seed and episodes are whole numbers >= 0")
    if run["suite"] != suite.name:
        raise VerificationError("bad_record", f"run.json: of the suite {quote(run['suite'])}, not {suite.name}")
    for what, found, expected in (
        ("suite", run["suite_version"], suite.version),
        ("package", bundle.manifest.get("package"), __version__),
    ):
        if not same(found, expected):
            detail = f"{what}: made with {quote(found)}, this is {expected}"
            raise VerificationError("wrong_version", f"{detail}; install the version it was made with to verify it")


def _replayed(bundle: Bundle, suite: Suite, jobs: dict[str, Job], progress: Progress | None) -> Iterator[Trajectory]:
    """The episodes of the bundle, each after its replay."""
    seen: dict[str, None] = {}
    pool = Pool()
    try:
        for trajectory in bundle.trajectories():
            try:
                _check_job(trajectory, jobs, seen)
                _check_budget(trajectory, suite)
                replay(trajectory, pool, bundle.run["seed"])
            except _STRANGE as error:
                if isinstance(error, AgentEnvsError):
                    raise
                raise VerificationError("bad_record", f"{quote(trajectory.job.task)}: {quote(error, 200)}") from error
            seen[trajectory.job.key] = None
            if progress is not None:
                progress(len(seen), len(jobs))
            yield trajectory
    finally:
        pool.close()
    if missing := [job.task for key, job in jobs.items() if key not in seen]:
        raise VerificationError("missing_episode", f"{len(missing)} of {len(jobs)}, the first is {missing[0]}")
    if list(seen) != list(jobs):
        raise VerificationError("bad_record", "episodes.jsonl: the episodes are not in the order of the suite")


#: What a value of a type or size that no record has may raise.
_STRANGE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


def _check_job(trajectory: Trajectory, jobs: dict[str, Job], seen: dict[str, None]) -> None:
    job = trajectory.job
    if job.key in seen:
        raise VerificationError("duplicate_job", f"{job.task}, repetition {job.repetition}")
    if job.key not in jobs:
        other_seeds = any(job.replace(seed=known.seed).key in jobs for known in list(jobs.values())[:1])
        reason = "wrong_seed" if other_seeds else "unknown_job"
        raise VerificationError(reason, f"{quote(job.task)}, seed {job.seed}, branch {job.branch}")
    if trajectory.end_reason == "void":
        raise VerificationError("void_episode", job.task)
    if not same([trajectory.origin, trajectory.part, trajectory.parts], [job.key, 0, 1]):
        raise VerificationError("bad_record", f"{job.task}: a record of one job has one part")


def _check_budget(trajectory: Trajectory, suite: Suite) -> None:
    entry = suite.entry(trajectory.job.group)
    restores = sum(step.restore is not None for step in trajectory.steps)
    if restores > entry.restores:
        detail = f"{restores} restores; the suite allows {entry.restores}"
        raise VerificationError("budget_exceeded", f"{trajectory.job.task}: {detail}")
    for name in ("prompt_tokens", "completion_tokens"):
        used = sum(_tokens(decision.usage, name) for decision in trajectory.decisions)
        if not same(trajectory.usage.get(name), used):
            raise VerificationError("wrong_count", f"{trajectory.job.task}: {name} are not those of its turns")
    if entry.completion_tokens and used > entry.completion_tokens:
        detail = f"{used} completion tokens; the suite allows {entry.completion_tokens}"
        raise VerificationError("budget_exceeded", f"{trajectory.job.task}: {detail}")


def _tokens(usage: Any, name: str) -> int:
    count = usage.get(name, 0) if isinstance(usage, dict) else None
    if not natural(count):
        raise VerificationError("bad_record", f"{name}: expected a whole number >= 0, got {quote(count)}")
    return count
