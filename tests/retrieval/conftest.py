"""A cache of its own for each test, and texts that were made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentenvs.core.rng import Stream
from agentenvs.retrieval import Corpus, make_corpus


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stored indexes."""
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "indexes"


def made_up(size: int, seed: int = 0, vocabulary: int = 60) -> Corpus:
    """`size` passages of 1 to 20 words, some words much more frequent than others."""
    stream = Stream("passages", seed)
    passages = []
    for number in range(size):
        picks = [int(vocabulary * stream.uniform() ** 2) for _ in range(stream.integer(1, 20))]
        passages.append({"id": f"p{number}", "contents": " ".join(f"w{pick}" for pick in picks)})
    return make_corpus(passages)


def made_up_queries(count: int, seed: int = 0, vocabulary: int = 60) -> list[str]:
    """`count` queries of 1 to 6 words, a few of them unknown."""
    stream = Stream("queries", seed)
    return [" ".join(f"w{stream.below(vocabulary + 5)}" for _ in range(stream.integer(1, 6))) for _ in range(count)]
