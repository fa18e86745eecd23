"""Save a state as JSON, come back to it, and value it by eight Monte Carlo branches played by a program."""

from __future__ import annotations

import json
from collections.abc import Generator

import gymnasium as gym

import agentenvs
from agentenvs import Job, Reply, Trajectory, Turn
from agentenvs.rollout.episode import Stage

ID, SETTINGS = "agentenvs/Sokoban-v0", {"preset": "tiny", "difficulty": 2}  # at least two pushes


def branches(job: Job, stage: Stage) -> Generator[list[Turn], list[Reply], list[Trajectory]]:
    """One step of the expert, then eight branches of the random policy from there, all at once."""
    episode = stage.open(job)
    [reply] = yield [episode.turn("guide")]
    episode.act(reply)
    start = {"snapshot": episode.snapshot()}
    done = [episode.finish("policy_budget")]
    live = [stage.open(job.replace(start=start, branch=1 + i)) for i in range(8)]
    while live:
        replies = yield [one.turn("explorer") for one in live]
        for one, reply in zip(live, replies, strict=True):
            one.act(reply)
        over = [one for one in live if one.over]
        live = [one for one in live if not one.over]
        done += [one.finish() for one in over]
    return done


env, other = gym.make(ID, **SETTINGS), gym.make(ID, **SETTINGS)
env.reset(seed=6)
env.step("Left")
saved = json.dumps(agentenvs.snapshot(env))  # plain JSON, for this or any other process
observation, info = other.reset(options={"snapshot": json.loads(saved)})
print(f"{len(saved)} bytes; restored at turn {info['turn']} of {info['task_id']}:\n{observation}")
print("both go on alike:", env.step("Down")[0] == other.step("Down")[0], "\n")

jobs = [Job.from_json(row["job"]) for row in agentenvs.rows(ID, "test", 4, kwargs=SETTINGS)]
values: dict[str, list[float]] = {}
for one in agentenvs.collect(None, {"guide": "expert", "explorer": "random"}, jobs, program=branches):
    if one.job.start is not None:
        values.setdefault(one.job.task, []).append(one.total_reward)
for task, returns in values.items():
    print(f"{task}: value {sum(returns) / len(returns):+.2f} from", *(f"{value:+.1f}" for value in returns))
