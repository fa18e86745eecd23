"""`check_contract`: what every environment of the suite promises, tested on one id.

Each promise is one function `check_...(make)`; `make()` builds a fresh environment. A broken promise is an
`AssertionError` that says which and where.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import fsum
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from agentenvs.core import info as schema
from agentenvs.core.errors import EpisodeOver
from agentenvs.core.rng import Stream
from agentenvs.core.snapshot import snapshot
from agentenvs.core.spaces import FreeText
from agentenvs.core.tools import ActionError, Tool

Make = Callable[..., gym.Env[str, str]]
#: Texts that no environment may choke on.
HOSTILE = (
    "",
    " ",
    "\n",
    "\0",
    "\x1b[31m",
    "a" * 100_000,
    "~" * 1_000_000,
    "[" * 5_000,
    "{}",
    "search[",
    "ÅÄ√\U0001f600",
    "\ud800",
    "None",
)
_MAX_STEPS = 200
#: Info keys that every info has.
_KEYS = (
    *("task_id", "split", "preset", "episode_seed", "turn", "is_valid", "is_effective", "tool_result"),
    *("score", "success", "reward_components", "state_key", "observed"),
)
TINY_TOKENS, TINY_TURNS, TINY_CHOICES = 60, 12, 20


def check_contract(env_id: str, **kwargs: Any) -> None:
    """Test every promise of the contract on `gym.make(env_id, **kwargs)`; raises `AssertionError` for a broken one."""

    def make(**more: Any) -> gym.Env[str, str]:
        return gym.make(env_id, **{**kwargs, **more})

    for check in CHECKS:
        try:
            check(make)
        except Exception as error:  # whatever the environment raises is a broken promise too
            told = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"{env_id} {kwargs}: {check.__name__.removeprefix('check_')}: {told}") from error


def check_gymnasium(make: Make) -> None:
    """Gymnasium's own checker is content, and has nothing to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(render_mode="ansi").unwrapped)


def check_description(make: Make) -> None:
    """Instructions and tools are there before reset, and describe an environment of texts."""
    env = make()
    assert env.observation_space == FreeText() == env.action_space, "both spaces must be FreeText()"
    assert isinstance(env.get_wrapper_attr("instructions"), str), "instructions must be text"
    tools = env.get_wrapper_attr("tools")
    assert tools, "there must be at least one tool"
    assert all(isinstance(tool, Tool) and tool.description for tool in tools), "every tool must be described"
    assert env.get_wrapper_attr("status") == "ready", "status before reset must be 'ready'"
    told = env.get_wrapper_attr("instructions"), tools
    for seed in range(3):
        *_, (*_, info) = playthrough(env, seed=seed)
        if "phase" not in info:
            now = env.get_wrapper_attr("instructions"), env.get_wrapper_attr("tools")
            assert now == told, "instructions and tools must not change"
    env.close()
    env.close()


def check_infos(make: Make) -> None:
    """Infos keep the schema; the reward is a float and the sum of its components, whose names never change."""
    env = make(admissible=True, reveal=["expert", "state", "gold"])
    extra = env.get_wrapper_attr("extra_info")
    names = None
    for observation, reward, _, _, info in playthrough(env, seed=5):
        assert isinstance(observation, str), "an observation must be text"
        faults = schema.violations(info, extra)
        assert not faults, "; ".join(faults)
        assert type(reward) is float, f"the reward must be a float, got {reward!r}"
        assert reward == fsum(info["reward_components"].values()), "the reward must be the sum of its components"
        assert all(type(part) is float for part in info["reward_components"].values()), "a component must be a float"
        assert names in (None, set(info["reward_components"])), "the names of the components must not change"
        names = set(info["reward_components"])
        assert 0.0 <= info["score"] <= 1.0, f"score must be in [0, 1], got {info['score']}"
        for key in _KEYS:
            assert key in info, f"info lacks {key!r}"


def check_admissible(make: Make) -> None:
    """Every admissible action is read, and calls and native actions map one to one; the list is there on demand."""
    env = make()
    _, info = env.reset(seed=2)
    assert "admissible_actions" not in info, "the list must be in the info with admissible=True only"
    on_demand = env.get_wrapper_attr("admissible_actions")()
    env = make(admissible=True)
    grammar = env.get_wrapper_attr("grammar")
    _, info = env.reset(seed=2)
    assert info["admissible_actions"] == on_demand, "the list in the info must be the one on demand"
    for action in info["admissible_actions"]:
        try:
            assert grammar.format(grammar.parse(action)) == action, f"{action!r} does not come back from its call"
        except ActionError as error:
            raise AssertionError(f"admissible, but not read: {action!r}: {error}") from None
        *_, info = restored(env, env.reset, action)
        assert info["is_valid"], f"admissible, but not valid: {action!r}"


def restored(env: gym.Env[str, str], reset: Callable[..., Any], action: str) -> tuple[Any, ...]:
    """Step from the first state of the episode in play."""
    reset(options={"restart": True})
    return env.step(action)


def check_bad_actions(make: Make) -> None:
    """Any text is answered: not valid, state unchanged, one turn used."""
    env = make()
    for text in HOSTILE:
        _, before = env.reset(seed=3)
        saved = snapshot(env)["stack"][0]["state"]
        observation, reward, _, _, info = env.step(text)
        assert not info["is_valid"], f"{text[:20]!r} must not be valid"
        kept = (info["state_key"], snapshot(env)["stack"][0]["state"]) == (before["state_key"], saved)
        assert kept, f"{text[:20]!r} changed the state"
        assert info["turn"] == 1, "a bad action must use a turn"
        assert isinstance(observation, str), "a bad action must be answered with text"
        assert len(observation) < 20_000, "a bad action must be answered briefly"
        assert type(reward) is float, "the reward of a bad action must be a float"


def check_end(make: Make) -> None:
    """A limit truncates; a step after the end is refused and changes nothing."""
    env = make(max_turns=3)
    env.reset(seed=1)
    for _ in range(3):
        *_, terminated, truncated, info = env.step("no such action")
    assert (terminated, truncated, info["end_reason"]) == (False, True, "turn_limit"), "max_turns=3 must truncate at 3"
    before = snapshot(env)
    try:
        env.step("no such action")
    except EpisodeOver:
        assert snapshot(env) == before, "a refused step changed the state"
    else:
        raise AssertionError("a step after the end must raise EpisodeOver")
    env.close()
    env.close()


def check_determinism(make: Make) -> None:
    """Equal seeds and actions give equal episodes, in fresh and in used instances; other seeds give others."""
    used = make()
    list(playthrough(used, seed=11))
    for seed in (0, 7):
        assert list(playthrough(make(), seed=seed)) == list(playthrough(used, seed=seed)), f"seed {seed} differs"
    firsts = {env_reset(used, seed)[0] for seed in range(10)}
    assert len(firsts) > 1, "ten seeds give one and the same first observation"


def check_snapshots(make: Make) -> None:
    """Continuing from a snapshot, taken anywhere and read back from JSON, equals the uninterrupted episode."""
    env = make()
    steps = list(playthrough(env, seed=4))
    actions = list(chosen(make(), seed=4))
    for at in sorted({0, 1, len(actions) // 2, len(actions)}):
        env.reset(seed=4)
        for action in actions[:at]:
            env.step(action)
        saved = json.loads(json.dumps(snapshot(env)))
        assert saved == snapshot(env), "a snapshot must be JSON data, the same after a round trip"
        fresh = make()
        observation, info = fresh.reset(options={"snapshot": saved})
        expected = steps[at]
        assert observation == expected[0], f"step {at}: the restored observation differs"
        for key in ("state_key", "turn", "score", "reward_components", "observed"):
            assert info[key] == expected[4][key], f"step {at}: the restored info[{key!r}] differs"
        tail = [fresh.step(action) for action in actions[at:]]
        assert [(*t,) for t in tail] == steps[at + 1 :], f"the episode restored at step {at} goes on differently"


def check_restart(make: Make) -> None:
    """`restart` plays the same job again."""
    env = make()
    first = env_reset(env, None)
    env.step("no such action")
    again = env.reset(options={"restart": True})
    assert again == first, "restart must give the same first observation and info"


def check_isolation(make: Make) -> None:
    """What an environment hands out is the caller's: changing it changes nothing inside."""
    settings = {"admissible": True, "reveal": ["expert", "state", "gold"]}
    expected = list(playthrough(make(**settings), seed=6))
    env = make(**settings)
    for number, (step, wanted) in enumerate(zip(playthrough(env, seed=6), expected, strict=True)):
        assert step == wanted, f"step {number} is another after the infos before it were changed by their reader"
        saved = snapshot(env)
        _spoil(step[4])
        _spoil(saved)


def _spoil(value: Any) -> None:
    """Empty everything in `value` that can be emptied."""
    if isinstance(value, (dict, list)):
        for item in list(value.values() if isinstance(value, dict) else value):
            _spoil(item)
        value.clear()


def check_pure(make: Make) -> None:
    """Looking changes nothing: rendering, listing, asking the expert, saving."""
    env = make(render_mode="ansi")
    expected = list(playthrough(make(), seed=8))
    for number, (step, wanted) in enumerate(zip(playthrough(env, seed=8), expected, strict=True)):
        assert step == wanted, f"step {number} is another after render, admissible_actions, expert_action or snapshot"
        before = snapshot(env)
        assert isinstance(env.render(), str), "render() in the mode ansi must return text"
        env.get_wrapper_attr("admissible_actions")()
        if env.get_wrapper_attr("status") == "playing":
            env.get_wrapper_attr("expert_action")()
        assert snapshot(env) == before, f"step {number}: looking at the state changed it"


def check_chance(make: Make) -> None:
    """Chance is the job's alone: no global generator is touched, and branch 0 is the default course."""
    before = random.getstate(), np.random.get_state()
    env = make()
    first = list(playthrough(env, seed=3))
    after = random.getstate(), np.random.get_state()
    assert after[0] == before[0], "the global generator of `random` was used"
    assert all(map(np.array_equal, after[1], before[1])), "the global generator of NumPy was used"
    assert list(playthrough(env, seed=3, branch=0)) == first, "branch 0 must be the default"
    other = list(playthrough(env, seed=3, branch=1))
    assert list(playthrough(make(), seed=3, branch=1)) == other, "a branch must be a fixed course of chance"


def check_seeds(make: Make) -> None:
    """A bare reset draws the next seed from the generator that the last seed began."""
    env = make()
    runs = []
    for _ in range(2):
        env.reset(seed=5)
        runs.append([env.reset()[1]["episode_seed"] for _ in range(4)])
    assert runs[0] == runs[1], "after equal seeds bare resets must play equal seeds"
    assert len(set(runs[0])) == 4, "every bare reset must draw another seed"


def check_prefix(make: Make) -> None:
    """An episode that starts with a prefix stands where playing the prefix leads, and goes on the same."""
    steps, actions = list(playthrough(make(), seed=4)), list(chosen(make(), seed=4))
    at = len(actions) // 2
    env = make()
    observation, info = env.reset(seed=4, options={"prefix": actions[:at]})
    assert (observation, info["state_key"], info["turn"]) == (
        steps[at][0],
        steps[at][4]["state_key"],
        at,
    ), "options={'prefix': ...} leads elsewhere"
    tail = [env.step(action) for action in actions[at:]]
    assert [(*t,) for t in tail] == steps[at + 1 :], "the episode goes on differently after a prefix"


def check_threads(make: Make) -> None:
    """An instance may be made in one thread and played in another, and instances play side by side."""
    expected = list(playthrough(make(), seed=2))
    envs = [make() for _ in range(4)]
    with ThreadPoolExecutor(2) as pool:
        played = list(pool.map(lambda env: list(playthrough(env, seed=2)), envs))
    assert all(steps == expected for steps in played), "an episode played in a thread differs"


def check_tiny(make: Make) -> None:
    """The preset `tiny` is small: a closed vocabulary, few tokens, turns and choices. Others are not measured."""
    env = make()
    if not re.fullmatch(r"tiny(\.\d+)?", env.get_wrapper_attr("preset")):
        return
    assert env.get_wrapper_attr("max_turns") <= TINY_TURNS, f"tiny has at most {TINY_TURNS} turns"
    words = sorted(env.get_wrapper_attr("vocabulary")(), key=len, reverse=True)
    token = re.compile("|".join(map(re.escape, words)))
    for seed in range(5):
        for observation, *_ in playthrough(env, seed=seed):
            menu = env.get_wrapper_attr("admissible_actions")()
            assert len(menu) <= TINY_CHOICES, f"tiny offers at most {TINY_CHOICES} choices, got {len(menu)}"
            for text in (observation, *menu):
                left = token.sub("", text).strip(" ")
                assert not left, f"{left[:60]!r} is not in the vocabulary"
            size = len(token.findall(observation))
            assert size <= TINY_TOKENS, f"tiny shows at most {TINY_TOKENS} tokens, got {size}"


def check_expert(make: Make) -> None:
    """The expert never raises, and solves what it plays more often than not."""
    env = make(reveal=["expert"])
    won = 0
    for seed in range(5):
        _, info = env.reset(seed=seed)
        while "expert_action" in info:
            *_, info = env.step(info["expert_action"])
        won += info["success"]
    assert won >= 3, f"the expert solved {won} of 5 episodes"


def check_tasks(make: Make) -> None:
    """Task ids are stable and prefix-stable, splits do not overlap, and every id can be played."""
    env = make()
    source = env.get_wrapper_attr("source")
    seen: dict[str, str] = {}
    for split in source.splits:
        n = 20 if not source.finite else min(20, len(source.ids(split)))
        ids = source.ids(split, n)
        assert ids == source.ids(split, n), "ids must not change from call to call"
        assert source.ids(split, n // 2) == ids[: n // 2], "a shorter list must begin the longer one"
        for task_id in ids:
            assert seen.setdefault(task_id, split) == split, f"{task_id} is in two splits"
            assert task_id.split("/")[1] == split, f"{task_id} does not name its split {split}"
        _, info = env.reset(seed=0, options={"task": ids[-1]})
        assert (info["task_id"], info["split"]) == (ids[-1], split), "options={'task': ...} played another task"


def check_spec(make: Make) -> None:
    """The spec survives JSON and rebuilds an environment that plays the same."""
    env = make()
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert list(playthrough(env, seed=9)) == list(playthrough(again, seed=9)), "the rebuilt environment differs"


CHECKS = (
    check_description,
    check_gymnasium,
    check_infos,
    check_admissible,
    check_bad_actions,
    check_end,
    check_determinism,
    check_snapshots,
    check_restart,
    check_isolation,
    check_pure,
    check_chance,
    check_seeds,
    check_prefix,
    check_threads,
    check_tiny,
    check_expert,
    check_tasks,
    check_spec,
)


def env_reset(env: gym.Env[str, str], seed: int | None) -> tuple[str, dict[str, Any]]:
    return env.reset(seed=seed)


def playthrough(
    env: gym.Env[str, str], seed: int, **options: Any
) -> Iterator[tuple[str, float, bool, bool, dict[str, Any]]]:
    """The steps of an episode of random admissible actions with a bad one now and then; first the reset."""
    observation, info = env.reset(seed=seed, options=options or None)
    yield observation, fsum(info["reward_components"].values()), False, False, info
    ended = False
    for number in range(_MAX_STEPS):
        if ended:
            return
        step = env.step(_choose(env, seed, number))
        ended = step[2] or step[3]
        yield step


def chosen(env: gym.Env[str, str], seed: int) -> Iterator[str]:
    """The actions of `playthrough`."""
    env.reset(seed=seed)
    for number in range(_MAX_STEPS):
        action = _choose(env, seed, number)
        yield action
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return


def _choose(env: gym.Env[str, str], seed: int, number: int) -> str:
    stream = Stream("contract", seed, number)
    menu = env.get_wrapper_attr("admissible_actions")()
    return "no such action" if not menu or stream.below(10) == 0 else stream.choice(menu)
