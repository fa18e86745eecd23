"""One environment, several formats of reply: the engine executes native actions, a codec says how they are written."""

from __future__ import annotations

import gymnasium as gym

import agentenvs
from agentenvs.wrappers import TextActions, protocol


def make() -> gym.Env[str, str]:
    return gym.make("agentenvs/Sokoban-v0", preset="ragen", split="validation")


PIPES = {"name": "tagged", "action": "answer", "separator": "||"}
REPLIES = {
    "native": (make(), "Right"),
    "plain, several with commas": (TextActions(make(), codec={"name": "plain", "separator": ","}), "Right, Right"),
    "tagged": (
        TextActions(make(), codec="tagged"),
        "<think>The target is behind the box.</think><action>Right</action>",
    ),
    "tagged, other names, two at most": (
        TextActions(make(), codec=PIPES, max_calls=2),
        "<think>Around it.</think><answer>Up || Right || Right</answer>",
    ),
    "the published protocol of the preset": (protocol(make()), "Right"),  # refused: its format has tags
}
for name, (env, reply) in REPLIES.items():
    about = agentenvs.describe(env)  # works before the first reset
    print(f"=== {name}: at most {about.max_turns} turns of an episode\n{about.instructions.splitlines()[-1]}")
    env.reset(seed=1)
    observation, reward, *_, info = env.step(reply)
    print(f"\nreply:  {reply}\nvalid:  {info['is_valid']}   reward: {reward:+.1f} {info['reward_components']}")
    for call in info.get("calls", ()):
        print(f"  call {call['id']} {call['native']!r}: ok={call['ok']}")
    print(f"{observation}\n")
    env.close()

[tool] = about.tools
print("As a function schema, for models that call tools:", tool.schema(), sep="\n")
