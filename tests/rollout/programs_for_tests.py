"""Programs as users would write them, none longer than 20 lines, and policies to go with them."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from agentenvs.core.errors import InfrastructureError
from agentenvs.core.rng import Stream
from agentenvs.policies.base import Reply, Turn
from agentenvs.rollout.episode import Stage
from agentenvs.rollout.job import Job
from agentenvs.rollout.trajectory import Trajectory

Playing = Generator[list[Turn], list[Reply], list[Trajectory]]


def rollback(job: Job, stage: Stage) -> Playing:
    """An action that changes nothing is taken back, up to three times an episode."""
    episode, left = stage.open(job), 3
    while not episode.over:
        mark = episode.mark()
        [reply] = yield [episode.turn()]
        episode.act(reply)
        if left and not episode.info["is_effective"]:
            episode.restore(mark)
            left -= 1
    return [episode.finish()]


def attempts(job: Job, stage: Stage) -> Playing:
    """Two attempts at one task; after each a writer takes notes, which the next attempt is given."""
    made, notes = [], ""
    for attempt in range(2):
        episode = stage.open(job.replace(attempt=attempt))
        while not episode.over:
            [reply] = yield [episode.turn(context={"notes": notes} if notes else None)]
            episode.act(reply)
        [reply] = yield [episode.turn("writer", "reflect")]
        notes = episode.note(reply)
        made.append(episode.finish())
    return made


def branches(job: Job, stage: Stage) -> Playing:
    """One action, then eight courses of play from the state it led to, all of them live at once."""
    trunk = stage.open(job)
    [reply] = yield [trunk.turn()]
    trunk.act(reply)
    start, made = {"snapshot": trunk.snapshot()}, [trunk.finish()]
    live = [stage.open(job.replace(start=start, branch=branch)) for branch in range(1, 9)]
    while any(not episode.over for episode in live):
        playing = [episode for episode in live if not episode.over]
        replies = yield [episode.turn() for episode in playing]
        for episode, reply in zip(playing, replies, strict=True):
            episode.act(reply)
    return made + [episode.finish() for episode in live]


def alternate(job: Job, stage: Stage) -> Playing:
    """Two agents take turns in one episode."""
    episode, agents = stage.open(job), ["left", "right"]
    while not episode.over:
        [reply] = yield [episode.turn(agents[0])]
        episode.act(reply)
        agents.reverse()
    return [episode.finish()]


PROGRAMS = (rollback, attempts, branches, alternate)


# Less usual ones ------------------------------------------------------------------------------------------------------


def remembering(job: Job, stage: Stage) -> Playing:
    """Tells its agent what is remembered of the chain."""
    episode = stage.open(job)
    while not episode.over:
        [reply] = yield [episode.turn(context={"memory": ",".join(stage.memory)})]
        episode.act(reply)
    return [episode.finish()]


def together(job: Job, stage: Stage) -> Playing:
    """Asks two agents about the same state at once, plays the answer of the first and notes that of the second."""
    episode = stage.open(job)
    while not episode.over:
        first, second = episode.turn("left"), episode.turn("right", observation="What do you think?", prefix=[1, 2])
        replies = yield [first, second]
        episode.act(replies[0], first)
        episode.note(replies[1], second)
    return [episode.finish()]


def stubborn(job: Job, stage: Stage) -> Playing:
    """One attempt that ends well, then one that meets with the failure of its policy."""
    made = []
    for attempt, agent in enumerate(("agent", "failing")):
        episode = stage.open(job.replace(attempt=attempt))
        [reply] = yield [episode.turn(agent)]
        episode.act(reply)
        made.append(episode.finish())
    return made


def tolerant(job: Job, stage: Stage) -> Playing:
    """Goes on with an action of its own when the policy fails."""
    episode = stage.open(job)
    while not episode.over:
        turn = episode.turn()
        try:
            [reply] = yield [turn]
        except InfrastructureError:
            reply = Reply("Up")
        episode.act(reply, turn)
    return [episode.finish()]


def dying(job: Job, stage: Stage) -> Playing:
    """Takes its process down when it is the job with seed 13."""
    import os

    episode = stage.open(job)
    [reply] = yield [episode.turn()]
    if job.seed == 13:
        os._exit(1)
    episode.act(reply)
    return [episode.finish()]


def bulky(job: Job, stage: Stage) -> Playing:
    """Asks with a megabyte and is answered with a megabyte."""
    episode = stage.open(job)
    for _ in range(3):
        [reply] = yield [episode.turn(context={"page": "x" * 1_000_000})]
        episode.act(reply)
    return [episode.finish()]


def not_a_generator(job: Job, stage: Stage) -> list[Trajectory]:
    return []


def yields_texts(job: Job, stage: Stage) -> Playing:
    yield ["Up"]  # type: ignore[list-item]
    return []


def returns_nothing(job: Job, stage: Stage) -> Playing:
    episode = stage.open(job)
    yield [episode.turn()]
    return []


def opens_twice(job: Job, stage: Stage) -> Playing:
    stage.open(job)
    yield [stage.open(job).turn()]
    return []


def finishes_twice(job: Job, stage: Stage) -> Playing:
    episode = stage.open(job)
    yield [episode.turn()]
    episode.finish()
    return [episode.finish()]


def answers_twice(job: Job, stage: Stage) -> Playing:
    episode = stage.open(job)
    [reply] = yield [episode.turn()]
    episode.act(reply)
    episode.act(reply)
    return [episode.finish()]


def leaves_one_open(job: Job, stage: Stage) -> Playing:
    kept, left = stage.open(job), stage.open(job.replace(attempt=1))
    yield [left.turn()]
    return [kept.finish()]


# Policies -------------------------------------------------------------------------------------------------------------


class Seeded:
    """One of four moves, by the seed of the turn and what it is told; also says that it used tokens."""

    name = "seeded"

    def __init__(self, words: Sequence[str] = ("Up", "Down", "Left", "Right")) -> None:
        self.words = words
        self.seen: list[Turn] = []

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        self.seen += turns
        return [self.answer(turn) for turn in turns]

    def answer(self, turn: Turn) -> Reply:
        told = (turn.observation, turn.role, len(turn.history), *sorted(turn.context.values()))
        word = Stream("seeded", turn.seed, *told).choice(self.words)
        return Reply(word, usage={"prompt_tokens": len(turn.observation), "completion_tokens": 1}, policy_version="v1")
