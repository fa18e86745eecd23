"""Every registered id keeps the contract, in every preset; and the contract test can fail."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

import agentenvs  # noqa: F401 (registers the ids)
from agentenvs.core.env import Outcome
from agentenvs.core.rng import Stream
from agentenvs.core.tools import Call
from agentenvs.envs.sokoban.env import SokobanEnv
from agentenvs.envs.sokoban.presets import PRESETS
from agentenvs.registration import IDS
from agentenvs.testing import check_contract
from agentenvs.testing.contract import CHECKS

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((env_id, {}) for env_id in IDS),
    *(("agentenvs/Sokoban-v0", {"preset": preset}) for preset in PRESETS if preset != "boxoban"),
    ("agentenvs/Sokoban-v0", {"levels": "embedded", "difficulty": "easy"}),
    ("agentenvs/Sokoban-v0", {"observation": "grid_coord", "symbols": "xsb", "layout": "tabbed"}),
    ("agentenvs/Sokoban-v0", {"observation": "coord"}),
]


@pytest.mark.parametrize(("env_id", "kwargs"), VARIANTS, ids=lambda value: str(value).replace("agentenvs/", ""))
def test_the_contract_holds(env_id: str, kwargs: dict[str, Any]) -> None:
    check_contract(env_id, **kwargs)


@pytest.mark.official
@pytest.mark.usefixtures("official")
def test_the_contract_holds_on_official_levels() -> None:
    check_contract("agentenvs/Sokoban-v0", preset="boxoban", split="test")


class Forgetful(SokobanEnv):
    """Restores the player only."""

    def save(self) -> dict[str, Any]:
        return {**super().save(), "boxes": self._level.boxes and super().save()["boxes"]}

    def load(self, task: Any, state: Any) -> None:
        super().load(task, state)
        self._put(self._player, task.data.boxes)


class Salted(SokobanEnv):
    """Shows something that depends on the instance."""

    def view(self) -> str:
        return f"{super().view()}\n{id(self)}"


class Unsummed(SokobanEnv):
    """Pays in whole numbers."""

    def reject(self, reason: str) -> Outcome:
        return Outcome(reason, {"step": -1, "box": 0, "solved": 0}, valid=False, error_type="invalid_action")


class Listless(SokobanEnv):
    """Lists an action that it does not read."""

    def admissible_actions(self) -> list[str]:
        return [*super().admissible_actions(), "Fly"]


class Nervous(SokobanEnv):
    """Moves when it is told nonsense."""

    def reject(self, reason: str) -> Outcome:
        for name in ("Up", "Down", "Left", "Right"):
            self.play(Call("move", {"action": name}))
        return super().reject(reason)


class Lucky(SokobanEnv):
    """Draws from a stream that outlives the episode."""

    stream = Stream("lucky")

    def begin(self, task: Any) -> str:
        return f"{super().begin(task)}\n{self.stream.below(10**9)}"


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Forgetful, "snapshots"),
        (Salted, "determinism"),
        (Unsummed, "float"),
        (Listless, "admissible"),
        (Nervous, "changed the state"),
        (Lucky, "gymnasium"),
    ],
)
def test_a_broken_promise_is_found(kind: type[SokobanEnv], promise: str) -> None:
    env_id = f"agentenvs-tests/{kind.__name__}-v0"
    gym.register(env_id, entry_point=lambda **kwargs: kind(**kwargs), order_enforce=False, disable_env_checker=True)
    try:
        with pytest.raises((AssertionError, gym.error.Error), match=promise):
            check_contract(env_id)
    finally:
        del gym.registry[env_id]


def test_the_contract_has_a_check_for_each_promise() -> None:
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == 12


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_give_the_episodes_of_single_ones(mode: str) -> None:
    """Episode by episode, automatic resets included, and infos without corruption."""
    more = {} if mode == "sync" else {"vector_kwargs": {"shared_memory": False}}
    settings = {"preset": "tiny", "max_turns": 4, "admissible": True}
    vector = gym.make_vec("agentenvs/Sokoban-v0", num_envs=3, vectorization_mode=mode, **more, **settings)
    singles = [gym.make("agentenvs/Sokoban-v0", **settings) for _ in range(3)]
    observations, infos = vector.reset(seed=5)
    expected = [env.reset(seed=5 + i) for i, env in enumerate(singles)]
    over = [False] * 3
    for step in range(14):
        for i in range(3):
            observation, info = expected[i][0], expected[i][-1]
            assert observations[i] == observation
            assert _at(infos, i) == info
        actions = [Stream(step, i).choice(("Up", "Down", "Left", "Right", "nonsense")) for i in range(3)]
        expected = [env.reset() if over[i] else env.step(actions[i]) for i, env in enumerate(singles)]
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        for i, result in enumerate(expected):
            if not over[i]:
                assert (rewards[i], terminated[i], truncated[i]) == result[1:4]
        over = [len(result) == 5 and (result[2] or result[3]) for result in expected]
    vector.close()


def _at(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """The info of one environment, out of the merged one."""
    found = {}
    for name, values in infos.items():
        if name.startswith("_") or not infos.get(f"_{name}", [True] * (i + 1))[i]:
            continue
        if isinstance(values, dict):
            found[name] = _at(values, i)
        else:
            value = values[i]
            found[name] = value.item() if hasattr(value, "item") else value
    return found


def test_shared_memory_is_refused_with_the_line_that_works() -> None:
    with pytest.raises(Exception, match="shared_memory") as caught:
        gym.make_vec("agentenvs/Sokoban-v0", num_envs=2, vectorization_mode="async")
    told, cause = "", caught.value
    while cause is not None:
        told, cause = f"{told} {cause}", cause.__cause__
    assert '"shared_memory": False' in told or "shared_memory=False" in told
