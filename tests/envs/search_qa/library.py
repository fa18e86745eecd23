"""A small library of our own for tests: five passages and the questions they answer, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym

import agentenvs  # noqa: F401
from agentenvs.wrappers import protocol

PASSAGES = [
    ("p0", '"Lighthouse of Orn"\nThe lighthouse of Orn was built by Dalia Mersk in the year 1841.'),
    ("p1", '"Dalia Mersk"\nDalia Mersk was an engineer who was born in the village of Tolle.'),
    ("p2", '"Tolle"\nTolle is a village on the river Anse, known for its windmills.'),
    ("p3", '"Windmills"\nWindmills grind grain; the oldest of them stand in the north.'),
    ("p4", '"Engineers"\nAn engineer designs bridges, lighthouses and windmills for a living.'),
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q0",
        "question": "Where was the builder of the lighthouse of Orn born",
        "golden_answers": ["Tolle", "the village of Tolle"],
        "supporting_ids": ["p0", "p1"],
    },
    {
        "id": "q1",
        "question": "When was the lighthouse of Orn built?",
        "golden_answers": ["1841"],
        "supporting_ids": ["p0"],
    },
    {"id": "q2", "question": "Is Tolle on a river?", "golden_answers": ["yes"]},
    {"id": "q3", "question": "Which city is named in the prompt?", "golden_answers": ["Beijing"]},
    {
        "id": "q4",
        "question": "What grinds grain?",
        "options": {"A": "a lighthouse", "B": "a windmill", "C": "a bridge"},
        "golden_answers": ["B"],
    },
]


def write(folder: Path, passages: list[tuple[str, str]] = PASSAGES, questions: Any = QUESTIONS) -> dict[str, str]:
    """The keyword arguments that play these questions over these passages."""
    corpus, asked = folder / "corpus.jsonl", folder / "questions.jsonl"
    corpus.write_text("".join(json.dumps({"id": i, "contents": text}) + "\n" for i, text in passages))
    asked.write_text("".join(json.dumps(question) + "\n" for question in questions))
    return {"data": "file", "questions": str(asked), "corpus": str(corpus), "split": "test"}


def make(files: dict[str, str], question: str = "q0", *, stack: bool = False, **kwargs: Any) -> gym.Env[str, str]:
    """An environment that stands at a question; with `stack` in the wrappers of its preset."""
    env = gym.make("agentenvs/SearchQA-v0", **{**files, **kwargs})
    env = protocol(env) if stack else env
    env.reset(seed=0, options={"task": f"search_qa/test/file.{question}"})
    return env
