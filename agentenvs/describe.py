"""What an environment says of itself before it is played, and data-set rows for trainers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium as gym

from agentenvs.core.tools import Tool
from agentenvs.rollout.episode import plain
from agentenvs.rollout.job import Job, attributes_of, make_env, make_jobs


@dataclass(frozen=True)
class Description:
    """Constant for an id, its keyword arguments and the phase: what the agent is told and what it can do."""

    instructions: str
    tools: tuple[Tool, ...]
    preset: str
    max_turns: int

    def to_json(self) -> dict[str, Any]:
        return plain(asdict(self))


def describe(env: gym.Env[Any, Any]) -> Description:
    """Instructions and tools of a stack, as its outermost codec words them. Works before the first reset."""
    return Description(
        instructions=env.get_wrapper_attr("instructions"),
        tools=env.get_wrapper_attr("tools"),
        preset=env.get_wrapper_attr("preset"),
        max_turns=env.get_wrapper_attr("max_turns"),
    )


def rows(
    env_id: str,
    split: str,
    n: int | None = None,
    codec: str | Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    kwargs: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Plain JSON rows for a trainer's data set, one a task.

    Each row holds `prompt` (chat messages: instructions as system, first observation as user), `tools` (function
    schemas), `task_id`, `split`, `seed` and `job`, from which `agentenvs.Job.from_json` and `collect` play the task.
    `codec` None means native actions, "protocol" the published stack of the preset; `n` may be None only where the
    split is finite.
    """
    if codec == "protocol":
        [wrappers] = attributes_of(env_id, kwargs or {}, "protocol")
    else:
        wrappers = () if codec is None else ({"name": "TextActions", "kwargs": {"codec": codec}},)
    env = make_env(Job(env_id, "", kwargs=kwargs or {}, wrappers=wrappers))
    try:
        tasks = env.get_wrapper_attr("source").ids(split, n)
        jobs = make_jobs(env_id, tasks, seed=seed, kwargs=kwargs, wrappers=wrappers)
        return [_row(env, job) for job in jobs]
    finally:
        env.close()


def _row(env: gym.Env[str, str], job: Job) -> dict[str, Any]:
    observation, info = env.reset(seed=job.seed, options=job.options())
    about = describe(env)
    messages: Sequence[tuple[str, str]] = (("system", about.instructions), ("user", observation))
    return {
        "prompt": [{"role": role, "content": content} for role, content in messages],
        "tools": [tool.schema() for tool in about.tools],
        "task_id": job.task,
        "split": info["split"],
        "seed": job.seed,
        "job": job.to_json(),
    }
