"""Equal jobs and actions give equal bytes: across hash salts, processes, batch sizes, instances and threads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import pytest

import agentenvs.registration
from agentenvs.core.info import canonical
from agentenvs.rollout.job import Job
from tests.rollout.helpers import lines
from tests.rollout.programs_for_tests import PROGRAMS

IDS = agentenvs.registration.IDS


def jobs_of(env_id: str, count: int) -> list[Job]:
    source = gym.make(env_id).get_wrapper_attr("source")
    split = source.splits[0]
    return [Job(env_id, task, seed=i) for i, task in enumerate(source.ids(split, count))]


RUN = """
import sys
from tests.test_determinism import jobs_of
from tests.rollout.helpers import lines
from tests.rollout.programs_for_tests import PROGRAMS, Seeded
for program in PROGRAMS:
    print("\\n".join(lines(Seeded(), jobs_of(sys.argv[1], 3), program=program, num_envs=int(sys.argv[2]))))
print("\\n".join(lines("random", jobs_of(sys.argv[1], 5))))
"""


@pytest.mark.parametrize("env_id", IDS)
def test_hash_salts_and_processes_change_nothing(env_id):
    outputs = {
        subprocess.run(
            [sys.executable, "-c", RUN, env_id, num_envs],
            env={**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt, num_envs in (("1", "1"), ("4242", "2"))
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) > 3 * len(PROGRAMS)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("size", [2, 16])
def test_batch_sizes_change_nothing(env_id, size):
    todo = jobs_of(env_id, 8)
    alone = [line for job in todo for line in lines("random", [job])]
    assert lines("random", todo, num_envs=size) == alone


def actions_of(env: gym.Env, number: int) -> list[str]:
    """Forty actions for instance `number`, some of them nonsense."""
    env.reset(seed=number)
    menu = [*env.get_wrapper_attr("admissible_actions")(), "nonsense"]
    chooser = random.Random(number)
    return [chooser.choice(menu) for _ in range(40)]


def step(env: gym.Env, action: str) -> str:
    if env.get_wrapper_attr("status") != "playing":
        return canonical(list(env.reset()))
    return canonical(list(env.step(action)))


@pytest.mark.parametrize("env_id", IDS)
def test_instances_in_threads_do_not_disturb_each_other(env_id):
    """Sixteen instances; every step of each is taken by whichever of eight threads comes first."""
    envs = [gym.make(env_id, admissible=True) for _ in range(16)]
    actions = [actions_of(env, number) for number, env in enumerate(envs)]
    expected = []
    for number, env in enumerate(envs):
        env.reset(seed=number)
        expected.append([step(env, action) for action in actions[number]])
    for number, env in enumerate(envs):
        env.reset(seed=number)
    found: list[list[str]] = [[] for _ in envs]
    with ThreadPoolExecutor(8) as threads:
        for turn in range(40):
            taken = [threads.submit(step, env, actions[number][turn]) for number, env in enumerate(envs)]
            for number, future in enumerate(taken):
                found[number].append(future.result())
    assert found == expected


@pytest.mark.parametrize("env_id", IDS)
def test_a_used_instance_is_as_good_as_a_new_one(env_id):
    used, actions = gym.make(env_id), actions_of(gym.make(env_id), 3)
    for seed in (5, 6):
        used.reset(seed=seed)
        [step(used, action) for action in actions]
    fresh = gym.make(env_id)
    assert canonical(list(used.reset(seed=3))) == canonical(list(fresh.reset(seed=3)))
    assert [step(used, action) for action in actions] == [step(fresh, action) for action in actions]
