"""`Stage` and `Episode`: what a program holds in its hands.

A program asks the stage for an episode, asks the episode for turns, yields them, and gives the replies back to the
episode, which plays and records them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import gymnasium as gym

from agentenvs._version import __version__
from agentenvs.core.errors import ConfigError
from agentenvs.core.info import canonical, public
from agentenvs.core.rng import derive
from agentenvs.core.snapshot import snapshot
from agentenvs.core.tools import Tool
from agentenvs.policies.base import Exchange, Reply, Turn
from agentenvs.rollout.job import Job, make_env
from agentenvs.rollout.trajectory import Decision, Step, Trajectory, chain_digest
from agentenvs.wrappers import kept as kept_of
from agentenvs.wrappers.codecs import spec_of

#: Info keys that every record keeps.
KEPT = ("turn", "is_valid", "is_effective")


class Pool:
    """Environments that were played and can be played again, by stack: making one costs more than resetting it."""

    def __init__(self) -> None:
        self._idle: dict[str, list[gym.Env[str, str]]] = {}
        self._resolved: dict[tuple[str, str], dict[str, Any]] = {}

    def resolved(self, job: Job) -> dict[str, Any]:
        """`resolved`, worked out once for each stack and split: on a fresh environment, which is in its first phase."""
        key = job.stack, job.task.split("/")[1] if job.task.count("/") >= 2 else ""
        if key not in self._resolved:
            env = make_env(job)
            self._resolved[key] = resolved(env, key[1])
            self.give(job, env)
        return self._resolved[key]

    def take(self, job: Job) -> gym.Env[str, str]:
        idle = self._idle.get(job.stack)
        return idle.pop() if idle else make_env(job)

    def give(self, job: Job, env: gym.Env[str, str]) -> None:
        self._idle.setdefault(job.stack, []).append(env)

    def close(self) -> None:
        for envs in self._idle.values():
            for env in envs:
                env.close()
        self._idle.clear()


@dataclass(frozen=True)
class Run:
    """What all episodes of one `collect` share: the run seed, the info keys to keep, what each agent needs."""

    seed: int
    keep: tuple[str, ...]
    needs: Callable[[str], frozenset[str]]
    pool: Pool


class Stage:
    """Where the program of one job plays. `memory` is the fold over the earlier jobs of its chain."""

    def __init__(self, run: Run, job: Job, memory: Any = None) -> None:
        self.run, self.job, self.memory = run, job, memory
        self._open: list[Episode] = []
        self._begun: set[str] = set()
        self._made: list[Trajectory] = []

    def open(self, job: Job | None = None) -> Episode:
        """Start an episode of the stage's job, or of a job derived from it."""
        job = job or self.job
        if job.key in self._begun:
            raise ConfigError(
                "the program opened the same job twice, and both episodes would get the same chance and the same "
                "replies; tell them apart: stage.open(job.replace(attempt=1))"
            )
        episode = Episode(self, job)
        self._begun.add(job.key)
        self._open.append(episode)
        return episode

    def closed(self, episode: Episode, made: Trajectory | None = None) -> None:
        self._open.remove(episode)
        if made is not None:
            self._made.append(made)

    def void(self) -> list[Trajectory]:
        """All records of a program that failed: those it finished, then every open episode, ended as void.

        One empty record where there is none that is void.
        """
        lost = [episode.finish("void") for episode in list(self._open)]
        done = self._made[: len(self._made) - len(lost)]
        return [*done, *(lost or [_unplayed(self.job)])]

    def close(self) -> None:
        """Drop what is still open: the program was cancelled."""
        for episode in list(self._open):
            episode.env.close()
            self.closed(episode)


@dataclass(frozen=True)
class Mark:
    """A state of an episode to which it can go back."""

    steps: int
    total_reward: float
    observation: str
    info: Mapping[str, Any]
    snapshot: Mapping[str, Any]
    digest: str


class Episode:
    """One episode in play and its record.

    `observation` and `info` are the latest ones; `over` tells whether the environment still takes actions.
    """

    def __init__(self, stage: Stage, job: Job) -> None:
        self.stage, self.job = stage, job
        self._spec = stage.run.pool.resolved(job)
        self.env = stage.run.pool.take(job)
        try:
            self.observation, self.info = self.env.reset(seed=job.seed, options=job.options())
            for name, ours in (("task_id", job.task), ("episode_seed", job.seed)):
                if self.info[name] != ours:
                    raise ConfigError(f"job: its {name} is {ours!r}, but its snapshot's is {self.info[name]!r}")
        except BaseException:
            self.env.close()
            raise
        self._codec = getattr_or_none(self.env, "codec")
        self.total_reward = 0.0
        self._first = self.observation, self._recorded(self.info)
        self._digest = self._start = reset_digest(self.observation, self.info)
        self._steps: list[Step] = []
        self._decisions: list[Decision] = []
        self._history: dict[str, list[Exchange]] = {}
        self._asked: dict[str, int] = {}
        self._asked_at: dict[tuple[str, int], tuple[int, int]] = {}
        self._last_asked: Turn | None = None
        self._restores = self._undone = 0

    @property
    def over(self) -> bool:
        return self.env is _FINISHED or self.env.get_wrapper_attr("status") != "playing"

    # Asking -------------------------------------------------------------------------------------------------------

    def turn(
        self,
        agent: str = "agent",
        role: str = "act",
        *,
        observation: str | None = None,
        context: Mapping[str, str] | None = None,
        sampling: Mapping[str, Any] | None = None,
        prefix: Sequence[int] = (),
    ) -> Turn:
        """What to ask `agent` now. `observation` replaces what the environment shows, e.g. for a judge."""
        needs = self.stage.run.needs(agent)
        number = self._asked.get(agent, 0)
        self._asked[agent] = number + 1
        history = tuple(self._history.get(agent, ())) if "history" in needs else ()
        self._asked_at[agent, number] = len(self._steps), len(history)
        self._last_asked = Turn(
            episode=self.job.key,
            agent=agent,
            role=role,
            number=number,
            seed=derive("turn", self.stage.run.seed, self.job.key, agent, number),
            instructions=self.env.get_wrapper_attr("instructions"),
            tools=self.env.get_wrapper_attr("tools"),
            observation=self.observation if observation is None else observation,
            info=self._shown(needs),
            history=history,
            menu=tuple(self._menu()) if "admissible" in needs else (),
            prefix=tuple(prefix),
            context=dict(context or {}),
            sampling=dict(sampling or {}),
        )
        return self._last_asked

    def _menu(self) -> list[str]:
        return self.env.get_wrapper_attr("admissible_actions")()

    def _shown(self, needs: frozenset[str]) -> dict[str, Any]:
        extra = self.env.get_wrapper_attr("extra_info")
        hidden = frozenset(name for name, key in extra.items() if key.access != "public")
        info = dict(self.info) if "private" in needs else public(self.info, hidden)
        if "expert" in needs and not self.over:
            several = getattr_or_none(self.env, "max_calls") or 1
            info["expert_plan"] = self.env.get_wrapper_attr("expert_plan")(several)
            info["expert_action"] = info["expert_plan"][0]
        return info

    # Playing ------------------------------------------------------------------------------------------------------

    def act(self, reply: Reply | str, turn: Turn | None = None) -> None:
        """Play a reply to `turn` (by default the turn asked last) and record both."""
        turn, reply = turn or self._turn_asked(), as_reply(reply)
        text = self._worded(reply.calls) if reply.calls and not reply.text else reply.text
        self._decide(turn, reply, text, len(self._steps) + 1)
        self.step(text)

    def note(self, reply: Reply | str, turn: Turn | None = None) -> str:
        """Record a reply that plays nothing (a note, a judgement) and return its text."""
        turn, reply = turn or self._turn_asked(), as_reply(reply)
        self._decide(turn, reply, reply.text, None)
        return reply.text

    def step(self, action: str) -> None:
        """Play and record one step that no policy was asked for."""
        self.observation, reward, terminated, truncated, self.info = self.env.step(action)
        self._digest = step_digest(self._digest, action, self.observation, reward, terminated, truncated, self.info)
        self.total_reward += float(reward)
        self._steps.append(
            Step(
                action=action,
                observation=self.observation,
                reward=float(reward),
                terminated=terminated,
                truncated=truncated,
                components=self.info["reward_components"],
                info=self._recorded(self.info),
                digest=self._digest,
                natives=[call["native"] for call in self.info.get("calls", ())],
            )
        )

    def _turn_asked(self) -> Turn:
        if self._last_asked is None:
            raise ConfigError("the episode was asked for no turn yet: yield [episode.turn()] first")
        return self._last_asked

    def _worded(self, calls: Sequence[str]) -> str:
        """Native actions as a reply, in the codec of the stack."""
        return self._codec.format(calls) if self._codec is not None else "\n".join(calls)

    def _decide(self, turn: Turn, reply: Reply, text: str, step: int | None) -> None:
        if (turn.agent, turn.number) not in self._asked_at:
            raise ConfigError(
                f"turn {turn.number} of {turn.agent!r} is answered twice, or was not asked by this episode"
            )
        seen, past = self._asked_at.pop((turn.agent, turn.number))
        shown = self._steps[seen - 1].observation if seen else self._first[0]
        if not all(map(math.isfinite, reply.logprobs or ())):
            raise ConfigError("reply: log-probs must be finite; leave logprobs out where they are not known")
        kept = len(text) if step is None else kept_of(self.env, text)
        self._history.setdefault(turn.agent, []).append(Exchange(turn.observation, text[:kept]))
        tools = described(turn.tools)
        self._decisions.append(
            Decision(
                agent=turn.agent,
                role=turn.role,
                number=turn.number,
                seed=turn.seed,
                seen=seen,
                past=past,
                step=step,
                text=text,
                calls=list(reply.calls),
                menu=list(turn.menu),
                context=dict(turn.context),
                observation=None if turn.observation == shown else turn.observation,
                instructions=None if turn.instructions == self._spec["instructions"] else turn.instructions,
                tools=None if tools == self._spec["tools"] else tools,
                kept=None if kept == len(text) else kept,
                prefix=list(turn.prefix),
                sampling=dict(turn.sampling),
                prompt_ids=_listed(reply.prompt_ids),
                token_ids=_listed(reply.token_ids),
                logprobs=_listed(reply.logprobs),
                choices=None if reply.choices is None else [dict(choice) for choice in reply.choices],
                finish_reason=reply.finish_reason,
                usage=dict(reply.usage),
                policy_version=reply.policy_version,
            )
        )

    def _recorded(self, info: Mapping[str, Any]) -> dict[str, Any]:
        return {name: info[name] for name in (*KEPT, *self.stage.run.keep) if name in info}

    # Going back ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The state of the environment, for a job that starts from here."""
        return snapshot(self.env)

    def mark(self) -> Mark:
        """The present state, to go back to with `restore`."""
        seen = self.observation, self.info, self.snapshot()
        return Mark(len(self._steps), self.total_reward, *seen, self._digest)

    def restore(self, mark: Mark) -> None:
        """Go back to a state of this episode; the record keeps what was undone."""
        self.env.reset(options={"snapshot": mark.snapshot})
        self.observation, self.info, self.total_reward = mark.observation, dict(mark.info), mark.total_reward
        self._restores += 1
        self._undone += sum(step.restore is None for step in self._steps[mark.steps :])
        self._digest = restore_digest(self._digest, mark.steps, mark.digest)
        self._steps.append(
            Step(
                action="",
                observation=mark.observation,
                reward=0.0,
                terminated=False,
                truncated=False,
                components={},
                info=self._recorded(mark.info),
                digest=self._digest,
                restore=mark.steps,
            )
        )

    # Ending -------------------------------------------------------------------------------------------------------

    def finish(self, end_reason: str = "") -> Trajectory:
        """Close the episode and return its record. `end_reason` names a reason that is not the environment's own."""
        if self.env is _FINISHED:
            raise ConfigError("this episode is finished; it has one record only")
        void = end_reason == "void"
        reason = end_reason or self.info.get("end_reason", "policy_budget")
        tokens = [decision.usage for decision in self._decisions]
        usage = {
            "steps": sum(step.restore is None for step in self._steps),
            "resets": 1,
            "restores": self._restores,
            "undone_steps": self._undone,
            "prompt_tokens": sum(used.get("prompt_tokens", 0) for used in tokens),
            "completion_tokens": sum(used.get("completion_tokens", 0) for used in tokens),
        }
        made = Trajectory(
            job=self.job,
            spec=self._spec,
            observation=self._first[0],
            info=self._first[1],
            steps=self._steps,
            decisions=self._decisions,
            end_reason=reason,
            score=0.0 if void else float(self.info["score"]),
            success=not void and bool(self.info["success"]),
            total_reward=self.total_reward,
            usage=usage,
            digest=self._start,
        )
        self.stage.closed(self, made)
        self.stage.run.pool.give(self.job, self.env)
        self.env = _FINISHED
        return made


class _Finished:
    """Stands where the environment of a finished episode was, which may be another episode's by now."""

    def __getattr__(self, name: str) -> Any:
        raise ConfigError("this episode is finished; open another one")


_FINISHED: Any = _Finished()


def as_reply(reply: Reply | str) -> Reply:
    """A reply, from a reply or its text."""
    if isinstance(reply, Reply):
        return reply
    if isinstance(reply, str):
        return Reply(reply)
    raise ConfigError(f"a policy answers with text or a Reply, got {type(reply).__name__}")


def resolved(env: gym.Env[str, str], split: str) -> dict[str, Any]:
    """What the episodes of a stack and split are played with, for their records."""
    codec = getattr_or_none(env, "codec")
    digest = env.get_wrapper_attr("source").digest(split)
    return {
        "package": __version__,
        "preset": env.get_wrapper_attr("preset"),
        "config": plain(env.get_wrapper_attr("config")),
        "instructions": env.get_wrapper_attr("instructions"),
        "tools": described(env.get_wrapper_attr("tools")),
        **({"codec": plain(spec_of(codec))} if codec is not None else {}),
        **({"data": digest} if digest else {}),
    }


@lru_cache(maxsize=256)
def described(tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
    """Tools as JSON data; the same list each time, so not to be changed."""
    return [plain(asdict(tool)) for tool in tools]


def plain(value: Any) -> Any:
    """The value with tuples as lists, as it will be read back from JSON."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def getattr_or_none(env: gym.Env[str, str], name: str) -> Any:
    """An attribute of the stack, or None where no layer has it."""
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None


def reset_digest(observation: str, info: Mapping[str, Any]) -> str:
    """The first link of the chain of digests."""
    return chain_digest("", observation, *(info[name] for name in ("task_id", "episode_seed", "score", "success")))


def step_digest(
    previous: str,
    action: str,
    observation: str,
    reward: Any,
    terminated: bool,
    truncated: bool,
    info: Mapping[str, Any],
) -> str:
    """The link of a step."""
    seen = [info[name] for name in ("reward_components", "score", "success", "is_valid", "is_effective", "turn")]
    return chain_digest(previous, action, observation, float(reward), terminated, truncated, *seen)


def restore_digest(previous: str, steps: int, digest: str) -> str:
    """The link of a return to the state after `steps` steps."""
    return chain_digest(previous, "restore", steps, digest)


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _unplayed(job: Job) -> Trajectory:
    """The record of an episode that failed before it began."""
    return Trajectory(job, {}, "", {}, [], [], "void", 0.0, False, 0.0, {"steps": 0, "resets": 0}, "")


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same, type by type (0 is not 0.0, and True is not 1)."""
    return canonical(a) == canonical(b)
