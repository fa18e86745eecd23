"""`TextEnv`: seeds, options, life cycle, rewards, reveals. On Sokoban and on a counter small enough to work by hand."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils import seeding
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenvs
import agentenvs.registration
from agentenvs.core.errors import ConfigError, EpisodeOver, InfrastructureError, UnknownName
from agentenvs.core.info import violations
from tests.core.tiny_env import Counter

SOKOBAN = "agentenvs/Sokoban-v0"
ROOM = "#######|#@ $ .#|#######"


@pytest.fixture
def env() -> Counter:
    return Counter()


def tiny() -> gym.Env:
    return gym.make(SOKOBAN, preset="tiny")


# Seeds ----------------------------------------------------------------------------------------------------------------


def test_equal_seeds_equal_episodes(env):
    first = [env.reset(seed=7), *(env.step("jump") for _ in range(3))]
    again = Counter()
    assert first == [again.reset(seed=7), *(again.step("jump") for _ in range(3))]


@pytest.mark.parametrize("seed", [0, 7, 2**63])
def test_np_random_is_gymnasiums_for_the_same_seed(env, seed):
    env.reset(seed=seed)
    expected, _ = seeding.np_random(seed)
    assert env.np_random_seed == seed
    assert env.np_random.integers(2**60, size=5).tolist() == expected.integers(2**60, size=5).tolist()


def test_bare_resets_draw_their_seeds_from_np_random(env):
    env.reset(seed=7)
    expected, _ = seeding.np_random(7)
    drawn = [env.reset()[1]["episode_seed"] for _ in range(4)]
    assert drawn == [int(expected.integers(2**31)) for _ in range(4)]


def test_a_generator_of_the_user_is_used(env):
    env.np_random = np.random.default_rng(3)
    assert env.reset()[1]["episode_seed"] == int(np.random.default_rng(3).integers(2**31))


def test_a_seed_that_numpy_made_is_a_seed(env):
    _, info = env.reset(seed=np.int64(5))
    assert type(info["episode_seed"]) is int
    assert info["task_id"] == "counter/train/5"


@pytest.mark.parametrize("seed", [-1, True, "7", 1.0, 2**64, 10**6000], ids=range(6))
def test_bad_seeds_are_refused(env, seed):
    env.reset(seed=1)
    with pytest.raises(ConfigError, match="seed: expected a whole number"):
        env.reset(seed=seed)
    assert env.status == "playing"


def test_a_refused_reset_leaves_episode_and_generator_alone(env):
    env.reset(seed=3)
    env.step("up")
    with pytest.raises(ConfigError):
        env.reset(seed=4, options={"task": "counter/train/x"})
    assert env.np_random_seed == 3
    assert env.step("up")[0] == "at 2"


# Options --------------------------------------------------------------------------------------------------------------


def test_a_task_is_played_whatever_the_seed(env):
    observation, info = env.reset(seed=3, options={"task": "counter/test/4"})
    assert (observation, info["split"], info["episode_seed"]) == ("goal 6", "test", 3)


def test_a_split_is_played(env):
    assert env.reset(seed=3, options={"split": "validation"})[1]["task_id"] == "counter/validation/3"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tsak": 1}, UnknownName, "did you mean 'task'"),
        ({"task": "chess/test/0"}, UnknownName, "ids look like counter/test/<key>"),
        ({"task": "counter/test/007"}, ConfigError, "whole number"),
        ({"task": None}, UnknownName, "unknown task None"),
        ({"split": "tset"}, UnknownName, "did you mean 'test'"),
        ({"task": "counter/test/0", "split": "train"}, ConfigError, "not in the split 'train'"),
        ({"branch": -1}, ConfigError, "branch"),
        ({"branch": True}, ConfigError, "branch"),
        ({"branch": 2**64}, ConfigError, "branch"),
        ({"prefix": "up"}, ConfigError, "prefix is a list"),
        ({"prefix": [1]}, ConfigError, "prefix is a list"),
        ({"restart": True}, ConfigError, "nothing was played yet"),
        ({"restart": True, "branch": 1}, ConfigError, "'restart' does not go with 'branch'"),
        ({"snapshot": {}, "task": "counter/test/0"}, ConfigError, "'snapshot' does not go with 'task'"),
        (["task"], ConfigError, "options are a mapping"),
    ],
)
def test_bad_options_are_refused(env, options, error, message):
    with pytest.raises(error, match=message):
        env.reset(seed=1, options=options)
    assert env.status == "ready"


def test_branches_share_the_task_and_differ_in_chance(env):
    runs = {}
    for branch in range(4):
        observation, info = env.reset(seed=7, options={"branch": branch})
        runs[branch] = [env.step("jump")[0] for _ in range(2)]
        assert (observation, info["task_id"]) == ("goal 4", "counter/train/7")
    env.reset(seed=7)
    assert runs[0] == [env.step("jump")[0] for _ in range(2)]
    assert len({tuple(run) for run in runs.values()}) > 1


def test_a_prefix_is_played_before_the_agent_comes(env):
    observation, info = env.reset(seed=7, options={"prefix": ["up", "what?", "up"]})
    assert (observation, info["turn"]) == ("at 2", 3)
    assert "phase" not in info
    plain = Counter()
    plain.reset(seed=7)
    for action in ("up", "what?", "up"):
        expected = plain.step(action)
    assert (observation, info) == (expected[0], expected[4])
    assert env.step("jump") == plain.step("jump")


def test_a_prefix_that_ends_the_episode_is_refused(env):
    with pytest.raises(EpisodeOver, match="ends the episode at action 2"):
        env.reset(options={"task": "counter/test/0", "prefix": ["up", "up", "up"]})
    with pytest.raises(EpisodeOver, match="call reset"):
        env.step("up")


@pytest.mark.parametrize(
    "options", [{}, {"task": "counter/test/4"}, {"branch": 3}, {"prefix": ["jump"]}, {"split": "test", "branch": 1}]
)
def test_restart_plays_the_same_job_again(env, options):
    first = [env.reset(seed=9, options=options), env.step("jump"), env.step("jump")]
    assert [env.reset(options={"restart": True}), env.step("jump"), env.step("jump")] == first
    assert [env.reset(options={"restart": True}), env.step("jump"), env.step("jump")] == first


def test_restart_repeats_a_bare_reset(env):
    env.reset(seed=9)
    first = env.reset()
    assert env.reset(options={"restart": True}) == first
    assert env.reset() != first


def test_restart_after_a_snapshot_goes_back_to_the_snapshot(env):
    env.reset(seed=9)
    env.step("up")
    saved = agentenvs.snapshot(env)
    fresh = Counter()
    first = [fresh.reset(options={"snapshot": saved, "branch": 2}), fresh.step("jump")]
    saved["stack"][0]["turn"] = 5  # what the caller does to the data later is of no concern
    assert [fresh.reset(options={"restart": True}), fresh.step("jump")] == first


# Playing --------------------------------------------------------------------------------------------------------------


def test_rewards_add_up_and_ends_are_told(env):
    env.reset(options={"task": "counter/test/0"})
    assert env.step("up")[1:4] == (-0.25, False, False)
    observation, reward, terminated, truncated, info = env.step("up")
    assert (observation, reward, terminated, truncated) == ("at 2", 0.75, True, False)
    assert info["reward_components"] == {"move": -0.25, "goal": 1.0}
    assert (info["end_reason"], info["score"], info["success"], info["turn"]) == ("reached", 1.0, True, 2)


def test_the_turn_limit_truncates(env):
    env.reset(options={"task": "counter/test/4"})
    steps = [env.step("down") for _ in range(6)]
    assert [step[2:4] for step in steps] == [(False, False)] * 5 + [(False, True)]
    assert [step[4].get("end_reason") for step in steps] == [None] * 5 + ["turn_limit"]
    again = Counter()
    assert again.reset(options={"snapshot": agentenvs.snapshot(env)}) == (steps[5][0], steps[5][4])
    for ended in (env, again):
        with pytest.raises(EpisodeOver, match="over \\(turn_limit\\)"):
            ended.step("up")


def test_winning_on_the_last_turn_terminates():
    env = Counter(max_turns=2)
    env.reset(options={"task": "counter/test/0"})
    env.step("up")
    assert env.step("up")[2:4] == (True, False)


def test_life_cycle(env):
    assert env.status == "ready"
    with pytest.raises(EpisodeOver, match="before reset"):
        env.step("up")
    env.reset(options={"task": "counter/test/0"})
    assert env.status == "playing"
    env.step("up")
    env.step("up")
    assert env.status == "ended"
    saved = agentenvs.snapshot(env)
    with pytest.raises(EpisodeOver, match="over \\(reached\\)"):
        env.step("up")
    assert agentenvs.snapshot(env) == saved
    env.reset()
    assert env.status == "playing"
    env.close()
    env.close()


@pytest.mark.parametrize(("action", "error"), [("crash", ZeroDivisionError), ("outage", InfrastructureError)])
def test_a_failure_of_ours_voids_the_episode(env, action, error):
    env.reset(seed=1)
    with pytest.raises(error):
        env.step(action)
    assert env.status == "void"
    with pytest.raises(InfrastructureError, match="void"):
        env.step("up")
    with pytest.raises(agentenvs.errors.SnapshotError, match="void"):
        agentenvs.snapshot(env)
    assert env.reset(seed=1) == Counter().reset(seed=1)
    assert env.status == "playing"


BAD = [None, 3, b"up", ["up"], "", "Up", "up up", "x" * 1_000_001, "\0", "\ud800", "\u202eup"]


@pytest.mark.parametrize("action", BAD, ids=range(len(BAD)))
def test_bad_actions_cost_the_turn_and_change_nothing(env, action):
    env.reset(seed=1)
    env.step("up")
    observation, reward, terminated, truncated, info = env.step(action)
    assert (terminated, truncated, info["is_valid"], info["is_effective"]) == (False,) * 4
    assert info["tool_result"] == {"ok": False, "error_type": "invalid_action"}
    assert (reward, info["turn"], info["state_key"]) == (0.0, 2, "1")
    assert observation
    assert len(observation) < 400
    assert env.step("up")[0] == "at 2"


@settings(max_examples=30)
@given(st.text())
def test_no_text_breaks_sokoban(text):
    env = tiny()
    before = env.reset(seed=4)[1]["state_key"]
    _, reward, _, _, info = env.step(text)
    assert violations(info, env.unwrapped.extra_info) == []
    assert type(reward) is float
    assert info["is_valid"] or info["state_key"] == before


def test_infos_are_fresh(env):
    """What a caller does to an info does not reach the environment or later infos."""
    env = tiny()
    _, info = env.reset(seed=4)
    kept = agentenvs.snapshot(env)
    for value in (info["observed"], info["observed"]["walls"], info["reward_components"], info["tool_result"]):
        value.clear()
    assert agentenvs.snapshot(env) == kept
    _, reward, *_, info = env.step("nothing")
    info["reward_components"]["step"] = 55.0
    agentenvs.snapshot(env)["stack"][0]["last"]["rewards"]["step"] = 77.0
    assert reward == env.step("nothing")[1] == -0.1


# Reveals, rendering, configuration ------------------------------------------------------------------------------------


def test_reveals_bring_their_keys_and_no_others():
    plain = set(Counter().reset(seed=1)[1])
    env = Counter(reveal=("expert", "state", "gold"))
    _, first = env.reset(options={"task": "counter/test/0"})
    assert set(first) - plain == {"expert_action", "state_text", "gold"}
    assert (first["state_text"], first["gold"]) == ("<0>", "up, up")
    *_, second = env.step("up")
    assert (second["state_text"], second["next_state_text"]) == ("<0>", "<1>")
    *_, last = env.step("up")
    assert (last["state_text"], last["next_state_text"]) == ("<1>", "<2>")
    assert "expert_action" not in last


def test_admissible_actions_come_when_asked_for():
    assert "admissible_actions" not in Counter().reset(seed=1)[1]
    assert Counter(admissible=True).reset(seed=1)[1]["admissible_actions"] == ["up", "down", "jump"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "tran"}, "did you mean 'train'"),
        ({"max_turns": 0}, "max_turns: expected a whole number >= 1"),
        ({"max_turns": True}, "max_turns"),
        ({"reveal": ("experts",)}, "did you mean 'expert'"),
        ({"render_mode": "rgb_array"}, "unknown render mode"),
    ],
)
def test_bad_configuration_is_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Counter(**arguments)


def test_render_ansi_is_pure():
    env = Counter(render_mode="ansi")
    assert env.render() == ""
    env.reset(seed=1)
    saved = agentenvs.snapshot(env)
    assert env.render() == env.render() == "<0>"
    assert agentenvs.snapshot(env) == saved


def test_render_human_prints(capsys):
    env = Counter(render_mode="human")
    env.reset(options={"task": "counter/test/0"})
    env.step("up")
    assert env.render() is None
    assert capsys.readouterr().out == "goal 2\nat 1\n<1>\n"


def test_the_instance_draws_nothing_when_it_is_made():
    code = f"""
import random, numpy as np, gymnasium as gym, agentenvs
random.seed(1); np.random.seed(1)
before = random.getstate(), np.random.get_state()[1].tolist()
env = gym.make({SOKOBAN!r}); env.reset(seed=1); env.step("Up")
assert before == (random.getstate(), np.random.get_state()[1].tolist())
print("same")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "same\n"


# Gymnasium ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", agentenvs.registration.IDS)
def test_gymnasium_checks_every_id(env_id):
    """Warnings are errors in this suite."""
    check_env(gym.make(env_id).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("env_id", agentenvs.registration.IDS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_give_the_single_ones_results(env_id, mode):
    more = {"shared_memory": False} if mode == "async" else {}
    envs = gym.make_vec(env_id, num_envs=2, vectorization_mode=mode, vector_kwargs=more)
    try:
        observations, _ = envs.reset(seed=[3, 4])
        stepped = envs.step(["Up", "Down"])[0]
    finally:
        envs.close()
    for seed, action, first, second in zip((3, 4), ("Up", "Down"), observations, stepped, strict=True):
        single = gym.make(env_id)
        assert single.reset(seed=seed)[0] == first
        assert single.step(action)[0] == second


def test_seeds_of_any_size_make_tasks_that_can_be_named():
    env = Counter()
    for seed in (2**63, 2**64 - 1):
        task = env.reset(seed=seed)[1]["task_id"]
        assert env.reset(options={"task": task})[1]["task_id"] == task


def test_task_ids_are_prefix_stable_and_distinct():
    source = Counter().source
    for seed in (0, 5):
        long = source.ids("train", 200, seed=seed)
        assert source.ids("train", 50, seed=seed) == long[:50]
        assert len(set(long)) == 200
    assert source.ids("train", 5, seed=5) != source.ids("train", 5, seed=6)
    with pytest.raises(ConfigError, match="no end"):
        source.ids("train")


def test_many_task_ids_hold_no_number_twice():
    ids = Counter().source.ids("train", 150_000, seed=1)  # about five of the numbers drawn come twice
    assert len(set(ids)) == 150_000


@pytest.mark.parametrize(
    "components", [(-0.1, -1.0, 0.0, -0.1), (-0.1, 1.0, 10.0, -0.1), (0.1,) * 10, (1e16, 1.0, -1e16)]
)
def test_a_total_is_the_exact_sum_rounded_once(components):
    """Whatever `sum` of this Python does: from 3.12 on it gives other last bits than before."""
    from fractions import Fraction

    from agentenvs.core.outcome import Rewards

    exact = float(sum(map(Fraction, components), Fraction()))
    assert Rewards({str(i): value for i, value in enumerate(components)}).total == exact
