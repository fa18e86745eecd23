"""`Job`: everything that identifies an episode before it is played."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import gymnasium as gym

from agentenvs.core.errors import ConfigError, quote
from agentenvs.core.info import canonical
from agentenvs.core.snapshot import natural


@dataclass(frozen=True)
class Job:
    """One episode to play. Two jobs are the same episode exactly when all fields are equal.

    - `env_id`, `kwargs`, `wrappers`: the stack; wrappers innermost first, `{"name": ..., "kwargs": {...}}`.
    - `task`: the task id; `seed` and `branch`: the course of chance.
    - `start`: None (the task's start), `{"prefix": [native actions]}` or `{"snapshot": ...}`.
    - `group`, `repetition`, `attempt`, `chain`: labels. Jobs of one chain are played one after another.
    """

    env_id: str
    task: str
    seed: int = 0
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[Mapping[str, Any]] = ()
    branch: int = 0
    start: Mapping[str, Any] | None = None
    group: str = ""
    repetition: int = 0
    attempt: int = 0
    chain: str = ""

    def __post_init__(self) -> None:
        for name in ("seed", "branch", "repetition", "attempt"):
            if not natural(getattr(self, name)):
                raise ConfigError(f"job {name}: expected a whole number >= 0, got {quote(getattr(self, name))}")
        for name in ("env_id", "task", "group", "chain"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"job {name}: expected text, got {quote(getattr(self, name))}")
        for name in ("kwargs", "wrappers", "start"):
            object.__setattr__(self, name, _data(name, getattr(self, name)))
        if not isinstance(self.kwargs, dict):
            raise ConfigError(f"job kwargs: expected a mapping, got {quote(self.kwargs)}")
        listed = isinstance(self.wrappers, list)
        if not listed or not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in self.wrappers):
            raise ConfigError(f"job wrappers: expected [{{'name': ..., 'kwargs': ...}}], got {quote(self.wrappers)}")
        if self.start is not None and (
            not isinstance(self.start, dict) or set(self.start) not in ({"prefix"}, {"snapshot"})
        ):
            raise ConfigError(f"job start: expected None, a prefix or a snapshot, got {quote(self.start)}")

    def to_json(self) -> dict[str, Any]:
        """The job as JSON data."""
        return json.loads(canonical(asdict(self)))

    @classmethod
    def from_json(cls, data: Any) -> Job:
        """The job that `to_json` wrote; raises `ConfigError` for anything else."""
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or not {"env_id", "task"} <= set(data) <= names:
            raise ConfigError(f"job: expected an object with the keys {sorted(names)}, got {quote(data)}")
        return cls(**data)

    @cached_property
    def key(self) -> str:
        """A short digest of all fields: equal keys, equal jobs."""
        return blake2b(canonical(asdict(self)).encode(), digest_size=12).hexdigest()

    @cached_property
    def stack(self) -> str:
        """A text that is equal for jobs which can share an environment."""
        return canonical([self.env_id, self.kwargs, self.wrappers])

    def options(self) -> dict[str, Any]:
        """The options of the `reset` that starts this job."""
        start = dict(self.start or {})
        if "snapshot" in start:
            return {"snapshot": start["snapshot"], "branch": self.branch}
        return {"task": self.task, "branch": self.branch, **start}

    def replace(self, **changes: Any) -> Job:
        """The job with other values in some fields."""
        return replace(self, **changes)


def _data(name: str, value: Any) -> Any:
    """A copy of `value` as JSON data, so that a job never changes and equals the one read back from a record."""
    try:
        return json.loads(canonical(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"job {name}: expected JSON values, got {quote(value)}: {error}") from None


def make_env(job: Job) -> gym.Env[str, str]:
    """The environment stack of a job, not yet reset."""
    import agentenvs.registration
    from agentenvs.wrappers import build

    agentenvs.registration.register_all()
    try:
        env = gym.make(job.env_id, **job.kwargs)
    except TypeError as error:
        raise ConfigError(f"{job.env_id}: {error}") from None
    except (gym.error.Error, ModuleNotFoundError) as error:
        raise unknown_id(job.env_id) from error
    return build(env, job.wrappers)


def unknown_id(env_id: str) -> ConfigError:
    """The error for an id that is not registered."""
    from agentenvs.core.errors import unknown
    from agentenvs.registration import IDS

    return unknown("environment", env_id, IDS, see="agentenvs list")


def make_jobs(
    env_id: str,
    tasks: Sequence[str],
    *,
    seed: int = 0,
    repetitions: int = 1,
    kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Mapping[str, Any]] = (),
    group: str = "",
) -> Iterator[Job]:
    """One job a task and repetition. The repetitions of a task differ in their course of chance, not in the task.

    `group` labels all of them; without it the jobs of a task are a group.
    """
    for task in tasks:
        for repetition in range(repetitions):
            yield Job(
                env_id,
                task,
                seed=seed,
                kwargs=kwargs or {},
                wrappers=tuple(wrappers),
                branch=repetition,
                group=group or task,
                repetition=repetition,
            )


def attributes_of(env_id: str, kwargs: Mapping[str, Any], *names: str) -> list[Any]:
    """Attributes of an environment that is not played, e.g. its `source` of tasks or its preset's `protocol`."""
    env = make_env(Job(env_id, "", kwargs=kwargs))
    try:
        return [env.get_wrapper_attr(name) for name in names]
    finally:
        env.close()
