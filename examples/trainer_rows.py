"""What a trainer needs: rows for its data set, episodes played from them, and rewards in groups of equal tasks.

The advantages at the end are those of group-relative training (reward minus the mean of its group, over its standard
deviation). Here the random policy answers; a trainer passes an object whose `act` samples from its model.

"""

from __future__ import annotations

import json
from statistics import mean, pstdev

import agentenvs
from agentenvs.rollout.collect import collect

CODEC = {"name": "tagged", "action": "answer", "separator": "||"}
GROUP = 6  # episodes a task

rows = agentenvs.rows("agentenvs/Sokoban-v0", "train", 4, codec=CODEC, kwargs={"preset": "ragen"})
row = json.loads(json.dumps(rows[0]))  # plain JSON: goes into any data set
print("keys of a row:", *row)
for message in row["prompt"]:
    print(f"--- {message['role']}\n{message['content']}")

jobs = [
    agentenvs.Job.from_json(row["job"]).replace(repetition=repetition, branch=repetition)
    for row in rows
    for repetition in range(GROUP)
]
groups: dict[str, list[agentenvs.Trajectory]] = {}
for trajectory in collect(None, "random", jobs, seed=1):
    groups.setdefault(trajectory.job.group, []).append(trajectory)

print("\nrewards of each group, then advantages")
for task, group in groups.items():
    rewards = [trajectory.total_reward for trajectory in group]
    spread = pstdev(rewards) or 1.0  # a group without spread teaches nothing
    advantages = [(reward - mean(rewards)) / spread for reward in rewards]
    print(task, *(f"{reward:+.1f}" for reward in rewards), "|", *(f"{value:+.2f}" for value in advantages))

first = groups[rows[0]["task_id"]][0]
turn = first.turn(0)  # the turn as the policy saw it, rebuilt from the record
print(f"\nfirst decision: {first.decisions[0].text!r} to an observation of {len(turn.observation)} characters")
