"""`evaluate`: a policy plays a suite; the result is a folder that anyone can check.

A result folder holds `run.json` (what was asked for), `episodes.jsonl` (one trajectory a line, in suite order) and
`summary.json`. A run is cut into parts, each with a file of its own while it lasts; so processes can share a run, and
a killed one goes on where it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentenvs._version import __version__
from agentenvs.core.errors import ConfigError, quote
from agentenvs.core.rng import check_seed
from agentenvs.evaluation.suite import Suite, load_suite
from agentenvs.evaluation.summary import summarise
from agentenvs.policies.resolve import as_policy, name_of, needs_of
from agentenvs.policies.scripted import Expert
from agentenvs.rollout.collect import check_backend, collect
from agentenvs.rollout.job import Job
from agentenvs.rollout.programs import Program, play
from agentenvs.rollout.trajectory import Trajectory, append, read, recover

PART_SIZE = 100
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Part:
    """Some jobs of one entry of a run."""

    entry: str
    number: int
    jobs: tuple[Job, ...]

    @property
    def name(self) -> str:
        return f"{self.entry}.{self.number:04d}"


def evaluate(
    suite: str | Path | Suite,
    policy: Any,
    out: str | Path,
    *,
    episodes: int | None = None,
    seed: int = 0,
    backend: str = "sync",
    num_envs: int = 16,
    program: Program = play,
    keep: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Play `suite` with `policy` into the folder `out` and return the summary.

    `episodes` plays only the first so many tasks of each entry; the result says so. A folder that holds an unfinished
    run of the same settings is continued, one of other settings is refused. `progress(part, done, total)` is called
    after each episode.
    """
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    policy = as_policy(policy)
    check_backend(backend, num_envs)
    run = open_run(suite, policy, Path(out), episodes=episodes, seed=seed)
    with _alone(run.out):
        if (summary := finished_summary(run)) is not None:
            return summary
        done, total = 0, sum(len(part.jobs) for part in run.parts)
        for part in run.parts:
            for _ in play_part(run, part, policy, backend=backend, num_envs=num_envs, program=program, keep=keep):
                done += 1
                if progress is not None:
                    progress(part.name, done, total)
        return finish_run(run)


@dataclass(frozen=True)
class RunFolder:
    """A result folder and what belongs in it."""

    out: Path
    suite: Suite
    settings: dict[str, Any]
    parts: tuple[Part, ...]

    @property
    def episodes(self) -> Path:
        return self.out / "episodes.jsonl"

    @property
    def finished(self) -> bool:
        return self.episodes.exists()

    def part_file(self, part: Part) -> Path:
        return self.out / "parts" / f"{part.name}.jsonl"

    def summary(self) -> dict[str, Any]:
        """The summary, worked out from the episodes; also writes `summary.json`."""
        summary = summarise(self.suite, self.settings, self._own(read(self.episodes)))
        write_json(self.out / "summary.json", summary)
        return summary

    def _own(self, trajectories: Iterator[Trajectory]) -> Iterator[Trajectory]:
        """The episodes, all of this suite and package; raises `ConfigError` for those of another."""
        missing = {job.key for part in self.parts for job in part.jobs}
        for trajectory in trajectories:
            missing.discard(trajectory.origin)
            _check_version(trajectory, self.out)
            yield trajectory
        if missing:
            raise ConfigError(
                f"{self.out} lacks {len(missing)} episodes of the suite {self.suite.name}; was the suite changed? "
                "Give it another version, and choose another --out"
            )


def open_run(suite: Suite, policy: Any, out: Path, *, episodes: int | None, seed: int) -> RunFolder:
    """The result folder of a run, new or to be continued; raises `ConfigError` where it holds another run."""
    if episodes is not None and episodes < 1:
        raise ConfigError(f"episodes: expected at least 1, got {episodes}")
    check_seed("seed", seed)
    check_fair(policy)
    parts = tuple(cut(suite, seed, episodes))
    settings = {
        "suite": suite.name,
        "suite_version": suite.version,
        "policy": name_of(policy),
        "seed": seed,
        "episodes": episodes or 0,
    }
    record = out / "run.json"
    if record.exists():
        found = _read_json(record)
        if found != settings:
            held = quote(found, 400)
            raise ConfigError(f"{out} holds another run: expected {settings}, found {held}; choose another --out")
    else:
        out.mkdir(parents=True, exist_ok=True)
        if strange := sorted(file.name for file in out.iterdir() if not file.name.startswith("run.json")):
            raise ConfigError(f"{out} holds no run, but {strange[0]!r}; choose another --out")
        write_json(record, settings)
    return RunFolder(out, suite, settings, parts)


def folder_name(suite: Suite, policy: Any) -> str:
    """The name of a result folder: suite and policy, safe for every file system."""
    name = f"{suite.name}-{name_of(policy)}"
    return "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in name)[:100]


def cut(suite: Suite, seed: int, episodes: int | None) -> Iterator[Part]:
    """The parts of a run, in order."""
    for entry in suite.entries:
        jobs = entry.jobs(seed, episodes)
        for number, at in enumerate(range(0, len(jobs), PART_SIZE)):
            yield Part(entry.name, number, tuple(jobs[at : at + PART_SIZE]))


def play_part(
    run: RunFolder,
    part: Part,
    policy: Any,
    *,
    backend: str = "sync",
    num_envs: int = 16,
    program: Program = play,
    keep: Sequence[str] = (),
) -> Iterator[Trajectory]:
    """Play what is left of a part; yields all its trajectories in order."""
    file = run.part_file(part)
    file.parent.mkdir(parents=True, exist_ok=True)
    yield from collect(
        None,
        policy,
        part.jobs,
        program=program,
        backend=backend,
        num_envs=num_envs,
        seed=run.settings["seed"],
        keep=keep,
        out=file,
    )


def finish_run(run: RunFolder) -> dict[str, Any]:
    """Put the parts together, in suite order, and return the summary. Nothing is lost if this is interrupted."""
    temporary = run.out / "episodes.jsonl.tmp"
    with open(temporary, "wb") as stream:
        for part in run.parts:
            done, _ = recover(run.part_file(part))
            missing = [job for job in part.jobs if job.key not in done]
            if missing:
                raise ConfigError(f"{run.out}: part {part.name} lacks {len(missing)} episodes; run the command again")
            for trajectory in (trajectory for job in part.jobs for trajectory in done[job.key]):
                _check_version(trajectory, run.out)
                stream.write(trajectory.to_line().encode() + b"\n")
    os.replace(temporary, run.episodes)
    summary = run.summary()
    shutil.rmtree(run.out / "parts", ignore_errors=True)
    return summary


def finished_summary(run: RunFolder) -> dict[str, Any] | None:
    """The summary of a finished run. One with void episodes is reopened, and None says that there is more to play."""
    if not run.finished:
        return None
    shutil.rmtree(run.out / "parts", ignore_errors=True)  # left by a kill between the last steps: all is in one file
    summary = run.summary()
    if any(entry["n_void"] for entry in summary["entries"].values()):
        reopen(run)
        return None
    return summary


def reopen(run: RunFolder) -> None:
    """Take a finished run apart again, so that its void episodes are played once more."""
    of_part = {job.key: part for part in run.parts for job in part.jobs}
    for trajectory in read(run.episodes):
        file = run.part_file(of_part[trajectory.origin])
        file.parent.mkdir(exist_ok=True)
        append(file, [trajectory])
    run.episodes.unlink()


def _check_version(trajectory: Trajectory, out: Path) -> None:
    played = trajectory.spec.get("package", __version__)  # an episode that failed at its start has no spec
    if played != __version__:
        raise ConfigError(
            f"{out} holds episodes of agentenvs {quote(played)}, this is {__version__}; install that version or choose "
            "another --out"
        )


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep other processes from the run in `out`; where a file system knows no locks, everybody is let in."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"another process plays into {out}; wait for it or choose another --out") from None
        except OSError:
            pass
        yield
    finally:
        os.close(folder)


def check_fair(policy: Any) -> None:
    """Refuse a policy that asks for what only the expert may see, whatever it calls itself."""
    hidden = needs_of(policy) & {"private", "expert"}
    if hidden and type(policy) is not Expert:
        raise ConfigError(f"a suite gives no policy but the expert what {name_of(policy)!r} needs: {sorted(hidden)}")


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that the file is whole or not there, also when several processes write it at once."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
