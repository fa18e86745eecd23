"""`TextEnv`: the base class that does what all environments have in common.

A family gives its rules as a handful of methods (`begin`, `play`, `tell`, ...). The base parses actions, counts
turns, keeps the limit, sums reward components, builds infos, and saves and restores.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from agentenvs.core import info as schema
from agentenvs.core.errors import ConfigError, EpisodeOver, InfrastructureError, SnapshotError, quote, unknown
from agentenvs.core.outcome import TURN_LIMIT, Outcome, Rewards
from agentenvs.core.rng import Stream, check_seed
from agentenvs.core.snapshot import base_entry
from agentenvs.core.spaces import FreeText
from agentenvs.core.task import Task, TaskSource
from agentenvs.core.tools import ActionError, Call, Grammar, Tool

#: What `reveal` may name, and the info keys that each brings.
REVEALS = {"expert": ("expert_action",), "state": ("state_text", "next_state_text"), "gold": ("gold",)}
_OPTIONS = ("task", "split", "prefix", "snapshot", "branch", "restart")
_ACTION_LIMIT = 1_000_000
_KEYS = (
    *("turn", "is_valid", "is_effective", "tool_result", "reward_components"),
    *("score", "success", "state_key", "observed"),
)


class TextEnv(gym.Env[str, str]):
    """A text environment: observations and actions are strings, everything else is in the info.

    Life cycle: `ready` (never reset), `playing`, `ended`, `void` (a failure of ours; only `reset` clears it).

    Class attributes of a family:

    - `family`: first part of its task ids;
    - `components`: names of all reward components, in the order in which they are summed;
    - `observation_is_state`: each observation shows the whole state, so a later one replaces an earlier one;
    - `extra_info`: info keys of its own, as in `core.info.SCHEMA`;
    - `presets`: the names that its keyword `preset` takes.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "human"], "render_fps": 4}
    family: ClassVar[str]
    components: ClassVar[tuple[str, ...]]
    observation_is_state: ClassVar[bool] = False
    extra_info: ClassVar[dict[str, schema.Key]] = {}
    presets: ClassVar[tuple[str, ...]] = ()

    source: TaskSource
    tools: tuple[Tool, ...]
    instructions: str
    preset: str
    protocol: tuple[dict[str, Any], ...] = ()

    def __init__(
        self,
        *,
        config: Mapping[str, Any],
        split: str,
        max_turns: int,
        grammar: Grammar,
        admissible: bool = False,
        reveal: tuple[str, ...] = (),
        render_mode: str | None = None,
    ) -> None:
        self.source.check_split(split)
        if isinstance(max_turns, bool) or not isinstance(max_turns, int) or max_turns < 1:
            raise ConfigError(f"max_turns: expected a whole number >= 1, got {max_turns!r}")
        for name in reveal:
            if not isinstance(name, str) or name not in REVEALS:
                raise unknown("reveal", name, REVEALS)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise unknown("render mode", render_mode, self.metadata["render_modes"])
        given = {name: value for name, value in config.items() if value is not None}
        self.config: dict[str, Any] = json.loads(json.dumps({**given, "max_turns": max_turns}))
        self.split = split
        self.max_turns = max_turns
        self.grammar = grammar
        self._spelled = grammar.spelled
        self.render_mode = render_mode
        self.action_space = FreeText()
        self.observation_space = FreeText()
        self._admissible = bool(admissible)
        self._reveal = frozenset(reveal)
        self._more = bool(admissible or reveal or type(self).more_info is not TextEnv.more_info)
        self._status = "ready"
        self._generator: np.random.Generator | None = None
        self._np_random_seed: int | None = None
        self._restart: dict[str, Any] | None = None
        self._no_rewards = Rewards(dict.fromkeys(self.components, 0.0))

    # What a family gives ------------------------------------------------------------------------------------------

    def begin(self, task: Task) -> str:
        """Set the engine to the start of `task` and return the first observation."""
        raise NotImplementedError

    def play(self, call: Call) -> Outcome:
        """Carry out a well-formed call. Chance comes from `self.chance(...)` only."""
        raise NotImplementedError

    def reject(self, reason: str) -> Outcome:
        """The answer to an action that cannot be read; the state stays as it is."""
        return Outcome(reason, {}, valid=False, error_type="invalid_action")

    def tell(self, info: dict[str, Any]) -> None:
        """Write four facts of the current state into the info, as fresh JSON data: `score`, the suite's metric in
        [0, 1], and `success`, both as if the episode ended now; `state_key`, equal for equal states whatever the
        history; `observed`, what the observation says in structured form."""
        raise NotImplementedError

    def view(self) -> str:
        """The observation of the current state, without what the last action led to."""
        return self._last.observation

    def state_text(self) -> str:
        """The true state as text."""
        raise NotImplementedError

    def admissible_actions(self) -> list[str]:
        """The native actions that are accepted now. Empty where they cannot be listed."""
        raise NotImplementedError

    def expert_action(self) -> str:
        """The expert's native action for the current state; one that does no harm where nothing helps any more."""
        raise NotImplementedError

    def expert_plan(self, n: int) -> list[str]:
        """Up to `n` actions that the expert would take one after another from here; at least one."""
        return [self.expert_action()]

    def gold(self) -> str:
        """The reference solution of the task."""
        raise NotImplementedError

    def save(self) -> dict[str, Any]:
        """The engine's state as JSON data."""
        raise NotImplementedError

    def load(self, task: Task, state: Mapping[str, Any]) -> None:
        """Set the engine to a state of `task` that `save` gave; raises `SnapshotError` for anything else."""
        raise NotImplementedError

    def more_info(self) -> dict[str, Any]:
        """Info keys of the family's own (`extra_info`)."""
        return {}

    # Gymnasium ----------------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        `seed` chooses the task and its chance; without one the next seed is drawn from `np_random`. Options:
        `task` (an id) or `split`; `prefix` (native actions to play first); `branch` (another course of chance);
        `snapshot` (continue from `agentenvs.snapshot(env)`); `restart` (the same job again).
        """
        options = self._options(options)
        if seed is not None:
            seed = check_seed("seed", int(seed) if isinstance(seed, np.integer) else seed)
        given = seed
        if options.get("restart"):
            if self._restart is None:
                raise ConfigError("restart: nothing was played yet; call reset() first")
            seed, options = self._restart["seed"], self._restart["options"]
        elif "snapshot" not in options and seed is None:
            seed = int(self.np_random.integers(2**31))
        status, self._status = self._status, "void"
        try:
            if "snapshot" in options:
                self._restore(options["snapshot"], options.get("branch"))
            else:
                self._start(int(seed), options)
        except (ConfigError, SnapshotError):  # nothing was touched yet: the episode in play goes on
            self._status = status
            raise
        if given is not None:
            self._np_random_seed, self._generator = int(given), None
        self._restart = {"seed": seed, "options": copy.deepcopy(options) if options else {}}
        observation, info = self._last.observation, self._info()
        if not self._turn:
            info.update(self.reset_info())
        if self.render_mode == "human":
            print(observation)
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one native action. Any text is accepted; one that cannot be read costs the turn and changes nothing."""
        if self._status != "playing":
            self._refuse()
        if self._more and "state" in self._reveal:
            self._before = self.state_text()
        self._status = "void"  # until the turn is complete: whatever fails now leaves no half-played episode
        call = self._spelled.get(action) if action.__class__ is str else None
        self._last = outcome = self._outcome(action) if call is None else self.play(call)
        self._turn = turn = self._turn + 1
        terminated = truncated = False
        if outcome.end_reason:
            terminated, self._end_reason = True, outcome.end_reason
        elif turn >= self.max_turns:
            truncated, self._end_reason = True, TURN_LIMIT
        self._status = "ended" if terminated or truncated else "playing"
        info = self._info()
        if self.render_mode == "human":
            print(outcome.observation)
        return outcome.observation, outcome.rewards.total, terminated, truncated, info

    def render(self) -> str | None:
        """The current state as text (`ansi`), or printed (`human`)."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a mode: gym.make(id, render_mode="ansi")')
            return None
        text = self.state_text() if self._status in ("playing", "ended") else ""
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    @property
    def status(self) -> str:
        """ready, playing, ended or void."""
        return self._status

    # Seeds and chance ---------------------------------------------------------------------------------------------

    @property
    def _np_random(self) -> np.random.Generator | None:
        """Gymnasium's generator, made on first use: building one takes longer than a whole step."""
        if self._generator is None and self._np_random_seed is not None:
            self._generator, _ = seeding.np_random(self._np_random_seed)
        return self._generator

    @_np_random.setter
    def _np_random(self, value: np.random.Generator | None) -> None:
        self._generator = value

    def chance(self, *label: str | int) -> Stream:
        """The stream of chance for this moment: a function of (task, seed, branch, turn) and the label."""
        return Stream(self._task.id, self._episode_seed, self._branch, self._turn, *label)

    # Inside -------------------------------------------------------------------------------------------------------

    def _start(self, seed: int, options: Mapping[str, Any]) -> None:
        branch = check_seed("branch", options.get("branch", 0))
        self._set_episode(self._choose(seed, options), seed, branch)
        self._last = Outcome(self.begin(self._task), {})
        self._status = "playing"
        for i, action in enumerate(options.get("prefix", ())):
            if self._status != "playing":
                self._status = "ready"
                raise EpisodeOver(f"reset: the prefix ends the episode at action {i}; shorten it")
            self.step(action)

    def _choose(self, seed: int, options: Mapping[str, Any]) -> Task:
        """The task that the options or the seed name."""
        if "task" in options:
            task = self.source.task(options["task"])
            if options.get("split", task.split) != task.split:
                raise ConfigError(f"options: the task {task.id} is not in the split {options['split']!r}; drop one")
            return task
        return self.source.sample(options.get("split", self.split), seed)

    def _outcome(self, action: str) -> Outcome:
        if not isinstance(action, str):
            return self.reject(f"An action is text; this was of type {type(action).__name__}.")
        if len(action) > _ACTION_LIMIT:
            return self.reject(f"An action has at most {_ACTION_LIMIT} characters; this had {len(action)}.")
        try:
            call = self.grammar.parse(action)
        except ActionError as error:
            return self.reject(str(error))
        return self.play(call)

    def _info(self) -> dict[str, Any]:
        last = self._last
        rewards = last.rewards
        if rewards.__class__ is not Rewards:
            last.rewards = rewards = Rewards({**self._no_rewards, **rewards})
        info = self._same_info.copy()
        info["turn"] = self._turn
        info["is_valid"] = last.valid
        info["is_effective"] = last.effective
        info["tool_result"] = {"ok": False, "error_type": last.error_type} if last.error_type else {"ok": True}
        info["reward_components"] = rewards.copy()
        self.tell(info)
        if last.kind:
            info["action_kind"] = last.kind
        if self._end_reason:
            info["end_reason"] = self._end_reason
        if self._more:
            self._add_more(info)
        return info

    def _set_episode(self, task: Task, seed: int, branch: int) -> None:
        self._task, self._episode_seed, self._branch = task, seed, branch
        self._turn, self._before, self._end_reason = 0, "", ""
        constant = {"task_id": task.id, "split": task.split, "preset": self.preset, "episode_seed": seed}
        self._same_info = {**constant, **dict.fromkeys(_KEYS)}  # in full size, so that copies need not grow

    def reset_info(self) -> dict[str, Any]:
        """Info keys that only a fresh episode has; families extend it."""
        return {}

    def _add_more(self, info: dict[str, Any]) -> None:
        """The keys that only some settings and families have."""
        if self._admissible:
            info["admissible_actions"] = self.admissible_actions()
        info.update(self.more_info())
        if "expert" in self._reveal and self._status == "playing":
            info["expert_action"] = self.expert_action()
        if "state" in self._reveal:
            info["state_text"] = self.state_text()
            if self._before:
                info["state_text"], info["next_state_text"] = self._before, info["state_text"]
        if "gold" in self._reveal:
            info["gold"] = self.gold()

    def _options(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        if options is None:
            return {}
        if not isinstance(options, Mapping):
            raise ConfigError(f"reset: options are a mapping, got {type(options).__name__}")
        for name in options:
            if name not in _OPTIONS:
                raise unknown("reset option", name, _OPTIONS)
        for name, friends in (("restart", ()), ("snapshot", ("branch",))):
            given = options.get(name, False) not in (False, None)
            if given and (others := set(options) - {name, *friends}):
                raise ConfigError(f"reset: the option {name!r} does not go with {min(others)!r}; leave one out")
        prefix = options.get("prefix", [])
        if not isinstance(prefix, (list, tuple)) or not all(isinstance(action, str) for action in prefix):
            raise ConfigError(f"reset: prefix is a list of native actions, got {quote(prefix)}")
        return dict(options)

    def _refuse(self) -> NoReturn:
        if self._status == "ready":
            raise EpisodeOver("step() before reset(); call reset() first")
        if self._status == "void":
            raise InfrastructureError("the episode is void after a failure of ours; call reset()")
        raise EpisodeOver(f"the episode is over ({self._end_reason}); call reset()")

    # Snapshots ----------------------------------------------------------------------------------------------------

    def snapshot_entry(self) -> dict[str, Any]:
        """This environment's part of a snapshot; use `agentenvs.snapshot(env)` for the whole stack."""
        if self._status not in ("playing", "ended"):
            raise SnapshotError(f"only a played episode has a state to save; this environment is {self._status}")
        return {
            "family": self.family,
            "config": copy.deepcopy(self.config),
            "task": self._task.id,
            "seed": self._episode_seed,
            "branch": self._branch,
            "turn": self._turn,
            "status": self._status,
            "before": self._before,
            "last": self._last.to_json(),
            "state": self.save(),
        }

    def _restore(self, snapshot: Any, branch: int | None) -> None:
        entry = base_entry(snapshot)
        for name, ours in (("family", self.family), ("config", self.config)):
            if entry[name] != ours:
                got = quote(entry[name], 200)
                raise SnapshotError(f"snapshot of another {name}: expected {quote(ours, 200)}, got {got}")
        branch = check_seed("branch", entry["branch"] if branch is None else branch)
        turn, late = entry["turn"], entry["turn"] >= self.max_turns
        over = bool(entry["last"]["end_reason"]) or late
        if turn > self.max_turns or over != (entry["status"] == "ended"):
            raise SnapshotError(f"snapshot: turn {quote(turn)} of {self.max_turns} cannot be {entry['status']}")
        if strange := set(entry["last"]["rewards"]) - set(self.components):
            raise SnapshotError(f"snapshot: no reward component is called {quote(min(strange))}")
        try:
            task = self.source.task(entry["task"])
        except ConfigError as error:
            raise SnapshotError(f"snapshot: {error}") from error
        self.load(task, entry["state"])
        self._set_episode(task, entry["seed"], branch)
        self._turn, self._before = turn, entry["before"] if "state" in self._reveal else ""
        self._last = Outcome(**copy.deepcopy(entry["last"]))
        self._status = entry["status"]
        self._end_reason = "" if self._status == "playing" else self._last.end_reason or TURN_LIMIT
