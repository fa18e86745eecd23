"""Every registered id keeps the contract, in every preset; and the contract test can fail."""

from __future__ import annotations

import random
import threading
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
from agentenvs.testing.contract import CHECKS, check_tiny

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


class Sharing(SokobanEnv):
    """Hands out its own list of boxes."""

    def tell(self, info: dict[str, Any]) -> None:
        super().tell(info)
        info["observed"]["boxes"] = self._cells


class Restless(SokobanEnv):
    """Moves when it is looked at."""

    def render(self) -> str | None:
        if self.status == "playing":
            self.play(Call("move", {"action": "Up"}))
            self.play(Call("move", {"action": "Left"}))
            self.play(Call("move", {"action": "Down"}))
        return super().render()


class Gambling(SokobanEnv):
    """Throws a die of everybody's."""

    def begin(self, task: Any) -> str:
        random.random()
        return super().begin(task)


class Branching(SokobanEnv):
    """Plays a branch of its own unless told otherwise."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed, options={"branch": 7} if options is None else options)

    def begin(self, task: Any) -> str:
        return f"{super().begin(task)}\n{self.chance('greeting').below(10**9)}"


class Stubborn(SokobanEnv):
    """Plays the same seed over and over."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        seed = 5 if seed is None and not options else seed
        return super().reset(seed=seed, options=options)


class Late(SokobanEnv):
    """Leaves the last action of a prefix out."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if options and options.get("prefix"):
            options = {**options, "prefix": options["prefix"][:-1]}
        return super().reset(seed=seed, options=options)


class Threadbound(SokobanEnv):
    """Works only where it was made."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._home = threading.get_ident()

    def begin(self, task: Any) -> str:
        assert threading.get_ident() == self._home
        return super().begin(task)


class Tupled(SokobanEnv):
    """Saves what JSON does not know."""

    def save(self) -> dict[str, Any]:
        return {**super().save(), "boxes": tuple(super().save()["boxes"])}


class Echoing(SokobanEnv):
    """Answers a very long action at length."""

    def step(self, action: str) -> Any:
        observation, *rest = super().step(action)
        return (observation + action if len(action) > 500_000 else observation, *rest)


class Grudging(SokobanEnv):
    """Keeps count of bad actions in a corner of its state."""

    grudges = 0

    def reject(self, reason: str) -> Outcome:
        self.grudges += 1
        return super().reject(reason)

    def save(self) -> dict[str, Any]:
        return {**super().save(), "grudges": self.grudges}

    def load(self, task: Any, state: Any) -> None:
        super().load(task, {name: value for name, value in state.items() if name != "grudges"})
        self.grudges = state["grudges"]


class Chatty(SokobanEnv):
    """Lists what is admissible without being asked."""

    def more_info(self) -> dict[str, Any]:
        return {"admissible_actions": self.admissible_actions()}


class Moody(SokobanEnv):
    """Gives other instructions after the first episode."""

    def begin(self, task: Any) -> str:
        self.instructions = f"Do as you like. {task.id}"
        return super().begin(task)


class Crashing(SokobanEnv):
    """Fails when it is closed a second time."""

    def close(self) -> None:
        del self._board_style


class Speaking(SokobanEnv):
    """Says a word that is not in its vocabulary."""

    def view(self) -> str:
        return f"{super().view()}\nhello"


class Wide(SokobanEnv):
    """Shows its board twice."""

    def view(self) -> str:
        return f"{super().view()}\n\n{super().view()}\n{super().view()}"


class Spoilt(SokobanEnv):
    """Has a choice for every day of the month."""

    def admissible_actions(self) -> list[str]:
        return super().admissible_actions() * 8


class Patient(SokobanEnv):
    """Waits longer than is tiny."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.preset == "tiny.1":
            self.max_turns = 13


BROKEN_TINY = [
    (Speaking, "tiny: 'hello' is not in the vocabulary"),
    (Wide, "tiny shows at most 60 tokens"),
    (Spoilt, "tiny offers at most 20 choices"),
    (Patient, "tiny has at most 12 turns"),
]


@pytest.mark.parametrize(("kind", "promise"), BROKEN_TINY)
def test_a_tiny_preset_that_is_not_tiny_is_found(kind: type[SokobanEnv], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise.removeprefix("tiny: ")):
        check_tiny(lambda **more: kind(preset="tiny", **more))
    check_tiny(lambda **more: kind(preset="ragen", **more))


@pytest.mark.parametrize("env_id", IDS)
def test_every_id_has_a_tiny_preset(env_id: str) -> None:
    env = gym.make(env_id, preset="tiny")
    assert env.get_wrapper_attr("preset").split(".")[0] == "tiny"


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Sharing, "isolation: step"),
        (Restless, "pure: step"),
        (Gambling, "chance: the global generator of `random`"),
        (Branching, "chance: branch 0"),
        (Stubborn, "seeds: every bare reset"),
        (Late, "prefix: "),
        (Threadbound, "threads: AssertionError|threads: "),
        (Tupled, "snapshots: a snapshot must be JSON"),
        (Echoing, "bad_actions: a bad action must be answered briefly"),
        (Grudging, "bad_actions: .*changed the state"),
        (Chatty, "admissible: the list must be in the info"),
        (Moody, "description: instructions and tools must not change"),
        (Crashing, "AttributeError"),
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
        with pytest.raises(AssertionError, match=promise):
            check_contract(env_id)
    finally:
        del gym.registry[env_id]


def test_the_contract_has_a_check_for_each_promise() -> None:
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == 19


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
