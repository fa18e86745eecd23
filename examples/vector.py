"""Many environments at once with Gymnasium's vector classes, in this process and in processes of their own.

Text does not fit into shared memory, so the asynchronous class needs `shared_memory=False`.
"""

from __future__ import annotations

import gymnasium as gym

import agentenvs

ID, COUNT = "agentenvs/Sokoban-v0", 4
ACTIONS = ("Up", "Down", "Left", "Right")


def play(envs: gym.vector.VectorEnv, steps: int) -> list[tuple[str, ...]]:
    """What is seen when all environments get the same actions."""
    observations, _ = envs.reset(seed=11)  # environment i plays seed 11 + i
    seen = [tuple(observations)]
    for step in range(steps):
        observations, rewards, terminated, truncated, info = envs.step((ACTIONS[step % 4],) * COUNT)
        seen.append(tuple(observations))
    print(f"  rewards {rewards.tolist()}, ended {(terminated | truncated).tolist()}, turns {info['turn'].tolist()}")
    return seen


def main() -> None:
    results = {}
    for mode, more in (("sync", {}), ("async", {"vector_kwargs": {"shared_memory": False}})):
        print(f"{mode}, agentenvs {agentenvs.__version__}")
        envs = gym.make_vec(ID, num_envs=COUNT, vectorization_mode=mode, preset="tiny", split="train", **more)
        results[mode] = play(envs, steps=10)
        envs.close()
    print("both saw the same:", results["sync"] == results["async"])
    boards = [board.splitlines() for board in results["sync"][-1]]
    print(*("   ".join(lines) for lines in zip(*boards, strict=True)), sep="\n")


if __name__ == "__main__":  # the processes of the asynchronous class import this file
    main()
