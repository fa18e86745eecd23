"""The smallest program: make an environment, play an episode, look at the info."""

from __future__ import annotations

import gymnasium as gym

import agentenvs

env = gym.make("agentenvs/Sokoban-v0", preset="ragen", split="test", reveal=["expert"])
print(agentenvs.describe(env).instructions, "\n")

observation, info = env.reset(seed=7)
print(f"task {info['task_id']}\n{observation}\n")

total, terminated, truncated = 0.0, False, False
while not (terminated or truncated):
    action = info["expert_action"]  # revealed for this example; a policy of yours reads the observation
    observation, reward, terminated, truncated, info = env.step(action)
    total += reward
    print(f"> {action}   reward {reward:+.1f} = {info['reward_components']}\n{observation}\n")

print(f"return {total:.1f}, score {info['score']}, success {info['success']}, end: {info['end_reason']}")

# A word that is no action costs a turn and changes nothing; it never raises.
env.reset(options={"task": info["task_id"]})
observation, reward, *_, info = env.step("fly")
print(f"\n> fly   valid: {info['is_valid']}, reward {reward:+.1f}\n{observation.splitlines()[0]}")
env.close()
