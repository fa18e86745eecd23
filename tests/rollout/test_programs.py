"""Programs: four of them in a few lines each, the same trajectories whatever plays them; and what a bad one is told."""

from __future__ import annotations

import inspect

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import Job
from agentenvs.rollout.programs import play
from tests.rollout import programs_for_tests as ours
from tests.rollout.helpers import SOKOBAN, jobs, lines
from tests.rollout.programs_for_tests import PROGRAMS, Seeded

REFERENCE: dict[str, list[str]] = {}


def reference(program) -> list[str]:
    """One episode at a time, in this process."""
    if program.__name__ not in REFERENCE:
        REFERENCE[program.__name__] = lines(Seeded(), jobs(6), program=program, num_envs=1)
    return REFERENCE[program.__name__]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_short(program):
    assert len(inspect.getsource(program).splitlines()) <= 20


@pytest.mark.parametrize("program", (*PROGRAMS, play))
@pytest.mark.parametrize("num_envs", [3, 16])
def test_the_number_of_live_episodes_changes_nothing(program, num_envs):
    assert lines(Seeded(), jobs(6), program=program, num_envs=num_envs) == reference(program)


@pytest.mark.parametrize("program", (*PROGRAMS, play))
@pytest.mark.parametrize("num_envs", [1, 3, 16])
def test_processes_change_nothing(program, num_envs):
    options = {"program": program, "num_envs": num_envs, "backend": "process", "workers": 2}
    assert lines(Seeded(), jobs(6), **options) == reference(program)


def test_rollback_undoes_what_failed():
    for trajectory in collect(None, Seeded(), jobs(6), program=ours.rollback):
        undone = [i for i, step in enumerate(trajectory.steps) if step.restore is not None]
        assert trajectory.usage["restores"] == trajectory.usage["undone_steps"] == len(undone)
        for i in undone:
            assert not trajectory.steps[i - 1].info["is_effective"]
            assert trajectory.steps[i].restore == i - 1
            assert trajectory.steps[i].observation == (
                trajectory.steps[i - 2].observation if i > 1 else trajectory.observation
            )
        played = [step for step in trajectory.steps if step.restore is None]
        assert trajectory.usage["steps"] == len(played)
        kept = [step for i, step in enumerate(trajectory.steps) if step.restore is None and i + 1 not in undone]
        assert trajectory.total_reward == pytest.approx(sum(step.reward for step in kept))
        assert len(kept) <= 12


def test_notes_reach_the_second_attempt_and_no_other():
    policy = Seeded()
    made = list(collect(None, policy, jobs(3), program=ours.attempts))
    assert [(t.job.seed, t.job.attempt, t.part, t.parts) for t in made] == [
        (seed, attempt, attempt, 2) for seed in range(3) for attempt in range(2)
    ]
    for first, second in zip(made[::2], made[1::2], strict=True):
        assert first.origin == second.origin == first.job.key != second.job.key
        note = first.decisions[-1]
        assert (note.agent, note.role, note.step) == ("writer", "reflect", None)
        players = [decision for decision in second.decisions if decision.agent == "agent"]
        assert {decision.context["notes"] for decision in players} == {note.text}
        assert not any(decision.context for decision in first.decisions)


def test_eight_branches_start_from_one_state_and_are_live_at_once():
    batches = []

    class Watching(Seeded):
        def act(self, turns):
            batches.append(len(turns))
            return super().act(turns)

    trunk, *rest = collect(None, Watching(), jobs(1), program=ours.branches)
    assert batches[:2] == [1, 8]
    assert len(rest) == 8
    assert {branch.observation for branch in rest} == {trunk.steps[0].observation}
    assert [branch.job.branch for branch in rest] == list(range(1, 9))
    assert len({tuple(step.action for step in branch.steps) for branch in rest}) > 1


def test_two_agents_alternate_and_know_their_own_history_only():
    trajectory = next(iter(collect(None, {"left": Seeded(), "right": Seeded(["Up"])}, jobs(1), program=ours.alternate)))
    assert len(trajectory.decisions) > 2
    for i, decision in enumerate(trajectory.decisions):
        assert decision.agent == ("left", "right")[i % 2]
        assert decision.number == len(trajectory.turn(i).history) == i // 2
        assert decision.agent == "left" or decision.text == "Up"


def test_a_program_may_go_on_after_a_failure_of_its_policy():
    from agentenvs.core.errors import InfrastructureError

    def failing(observation, info):
        if info["turn"] % 2:
            raise InfrastructureError("down")
        return "Left"

    wide = "########|#------#|#------#|#--@---#|#----$.#|########"  # neither Left nor Up ever moves the box
    job = Job(SOKOBAN, f"sokoban/test/given:{wide}", kwargs={"levels": "given", "level": wide, "max_turns": 4})
    [trajectory] = collect(None, failing, [job], program=ours.tolerant)
    assert [step.action for step in trajectory.steps] == ["Left", "Up", "Left", "Up"]
    assert trajectory.end_reason == "turn_limit"


@pytest.mark.parametrize("backend", ["sync", "process"])
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (ours.not_a_generator, "a program is a generator function"),
        (ours.yields_texts, "yields non-empty lists of Turns"),
        (ours.returns_nothing, "returns a non-empty list of Trajectories"),
        (ours.opens_twice, "opened the same job twice"),
        (ours.finishes_twice, "this episode is finished"),
        (ours.answers_twice, "answered twice"),
    ],
)
def test_a_bad_program_is_told_what_is_wrong(program, message, backend):
    with pytest.raises(ConfigError, match=message):
        lines(Seeded(), jobs(1), program=program, backend=backend, workers=1)


def test_an_episode_left_open_does_no_harm():
    [trajectory] = collect(None, Seeded(), jobs(1), program=ours.leaves_one_open)
    assert (trajectory.end_reason, trajectory.usage["steps"]) == ("policy_budget", 0)
