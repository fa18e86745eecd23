"""Playing a recorded episode again and comparing, step by step, what the record claims with what happens."""

from __future__ import annotations

from typing import Any

from agentenvs.core.errors import AgentEnvsError, InfrastructureError, VerificationError, quote
from agentenvs.core.rng import derive
from agentenvs.core.snapshot import snapshot
from agentenvs.rollout.episode import KEPT, Pool, described, reset_digest, restore_digest, same, step_digest
from agentenvs.rollout.trajectory import Decision, Step, Trajectory
from agentenvs.wrappers import kept as kept_of


def replay(trajectory: Trajectory, pool: Pool, run_seed: int) -> None:
    """Play the episode again; raises `VerificationError` that names the first thing that is not as recorded."""
    job = trajectory.job
    _check_spec(trajectory, pool.resolved(job))
    _check_decisions(trajectory, run_seed)
    env = pool.take(job)
    observation, info = env.reset(seed=job.seed, options=job.options())
    _Check(trajectory, env, observation, info).run()
    pool.give(job, env)


class _Check:
    """The comparison of one episode."""

    def __init__(self, trajectory: Trajectory, env: Any, observation: str, info: dict[str, Any]) -> None:
        self.record, self.env = trajectory, env
        self.observation, self.info = observation, info
        self.total, self.digest = 0.0, reset_digest(observation, info)
        self.targets = {step.restore for step in trajectory.steps if step.restore is not None}
        self.marks: dict[int, Any] = {}
        self.played = self.undone = 0
        self.asked: dict[int, list[Decision]] = {}
        self.answered = {one.step: one for one in trajectory.decisions if one.step is not None}
        for decision in trajectory.decisions:
            self.asked.setdefault(decision.seen, []).append(decision)

    def run(self) -> None:
        self._all_same(
            0,
            ("observation", self.record.observation, self.observation),
            ("info", self.record.info, self._known(self.record.info)),
            ("digest", self.record.digest, self.digest),
        )
        self._mark(0)
        self._turns(0)
        for number, step in enumerate(self.record.steps, 1):
            if step.restore is None:
                self._step(number, step)
            else:
                self._restore(number, step)
            self._mark(number)
            self._turns(number)
        self._end()

    def _mark(self, number: int) -> None:
        if number in self.targets:
            self.marks[number] = (self.observation, self.info, self.total, self.digest, snapshot(self.env))

    def _turns(self, number: int) -> None:
        """The instructions and tools of what was asked in this state."""
        for decision in self.asked.get(number, ()):
            spec, told, tools = self.record.spec, decision.instructions, decision.tools
            self._all_same(
                number,
                ("turn", spec["instructions"] if told is None else told, self.env.get_wrapper_attr("instructions")),
                ("turn", spec["tools"] if tools is None else tools, described(self.env.get_wrapper_attr("tools"))),
            )

    def _kept(self, number: int) -> None:
        """How much of the reply that the next step plays stayed in the transcript; of a mere note all of it does."""
        decision = self.answered.get(number)
        if decision is not None:
            recorded = len(decision.text) if decision.kept is None else decision.kept
            self._all_same(number, ("turn", recorded, kept_of(self.env, decision.text)))

    def _step(self, number: int, step: Step) -> None:
        self._kept(number)
        try:
            self.observation, reward, terminated, truncated, self.info = self.env.step(step.action)
        except InfrastructureError:
            raise
        except AgentEnvsError as error:
            raise VerificationError("wrong_flag", f"{self._where(number)}: the episode was over: {error}") from None
        self.played += 1
        self.total += float(reward)
        self.digest = step_digest(self.digest, step.action, self.observation, reward, terminated, truncated, self.info)
        self._all_same(
            number,
            ("observation", step.observation, self.observation),
            ("reward", [step.reward, step.components], [float(reward), self.info["reward_components"]]),
            ("flag", [step.terminated, step.truncated], [terminated, truncated]),
            ("info", step.info, self._known(step.info)),
            ("action", step.natives, [call["native"] for call in self.info.get("calls", ())]),
            ("digest", step.digest, self.digest),
        )

    def _restore(self, number: int, step: Step) -> None:
        if step.restore not in self.marks:
            raise VerificationError("bad_record", f"{self._where(number)}: goes back to step {quote(step.restore)}")
        self.undone += sum(past.restore is None for past in self.record.steps[step.restore : number - 1])
        self.observation, self.info, self.total, then, saved = self.marks[step.restore]
        self.env.reset(options={"snapshot": saved})
        self.digest = restore_digest(self.digest, step.restore, then)
        self._all_same(
            number,
            ("observation", step.observation, self.observation),
            ("reward", [step.reward, step.components], [0.0, {}]),
            ("flag", [step.terminated, step.truncated], [False, False]),
            ("info", step.info, self._known(step.info)),
            ("action", [step.action, step.natives], ["", []]),
            ("digest", step.digest, self.digest),
        )

    def _end(self) -> None:
        record, number = self.record, len(self.record.steps)
        restores = len(self.record.steps) - self.played
        counts = {"steps": self.played, "resets": 1, "restores": restores, "undone_steps": self.undone}
        tokens = ("prompt_tokens", "completion_tokens")
        self._all_same(
            number,
            ("end", record.end_reason, self.info.get("end_reason", "policy_budget")),
            ("score", [record.score, record.success], [float(self.info["score"]), self.info["success"]]),
            ("reward", record.total_reward, self.total),
            ("count", {n: v for n, v in record.usage.items() if n not in tokens}, counts),
        )

    def _known(self, recorded: dict[str, Any]) -> dict[str, Any]:
        """What the record of an info must hold: the keys that are always kept, and those it adds to them."""
        return {name: self.info[name] for name in {*recorded, *KEPT} if name in self.info}

    def _all_same(self, number: int, *claims: tuple[str, Any, Any]) -> None:
        """Refuse the first claim `(what, recorded, played)` that does not hold; one comparison where all do."""
        if _equal([recorded for _, recorded, _ in claims], [played for _, _, played in claims]):
            return
        for what, recorded, played in claims:
            if not _equal(recorded, played):
                detail = f"recorded {quote(recorded, 160)}, played {quote(played, 160)}"
                raise VerificationError(f"wrong_{what}", f"{self._where(number)}: {detail}")

    def _where(self, number: int) -> str:
        return f"{self.record.job.task}, " + (f"step {number}" if number else "reset")


def _equal(recorded: Any, played: Any) -> bool:
    """`same`, and False for what is no JSON value."""
    try:
        return same(recorded, played)
    except (TypeError, ValueError):
        return False


def _check_spec(trajectory: Trajectory, spec: dict[str, Any]) -> None:
    task = trajectory.job.task
    for name, reason in (("package", "wrong_version"), ("data", "wrong_data")):
        if trajectory.spec.get(name) != spec.get(name):
            found = f"recorded {quote(trajectory.spec.get(name), 80)}, here {quote(spec.get(name), 80)}"
            raise VerificationError(reason, f"{task}: {name}: {found}")
    for name in sorted({*trajectory.spec, *spec}):
        if not same(trajectory.spec.get(name), spec.get(name)):
            found = f"recorded {quote(trajectory.spec.get(name), 120)}, here {quote(spec.get(name), 120)}"
            raise VerificationError("wrong_spec", f"{task}: {name}: {found}")


def _check_decisions(trajectory: Trajectory, run_seed: int) -> None:
    """Every action must be one decision's, every decision's seed that of its turn, and no turn answered twice."""
    job, texts, last = trajectory.job, {}, 0
    turns: set[tuple[str, int]] = set()
    for decision in trajectory.decisions:
        turn = decision.agent, decision.number
        if turn in turns or (decision.step is not None and decision.step <= max(decision.seen, last)):
            detail = f"turn {quote(decision.number)} of {quote(decision.agent)}: answered twice, or out of order"
            raise VerificationError("bad_record", f"{job.task}, {detail}")
        turns.add(turn)
        expected = derive("turn", run_seed, job.key, decision.agent, decision.number)
        if decision.seed != expected:
            detail = f"{job.task}, turn {quote(decision.number)}: recorded {quote(decision.seed)}, expected {expected}"
            raise VerificationError("wrong_seed", detail)
        if decision.step is not None:
            texts[decision.step], last = decision.text, decision.step
    actions = {number: step.action for number, step in enumerate(trajectory.steps, 1) if step.restore is None}
    if texts != actions:
        odd = min(n for n in {*texts, *actions} if texts.get(n) != actions.get(n))
        detail = f"decided {quote(texts.get(odd))}, played {quote(actions.get(odd))}"
        raise VerificationError("wrong_action", f"{job.task}, step {odd}: {detail}")
