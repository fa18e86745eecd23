"""How much of what a question needs an index finds when the question itself is the query.

    python -m agentenvs.retrieval.recall --corpus corpus.jsonl --questions questions.jsonl --index bm25 dense hybrid

A line of the questions holds `question` and, in the field `--supports`, the ids of the passages that answer it. Printed
are, for each k, the share of questions with all of them, and with any of them, among the first k hits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from agentenvs.core.errors import AgentEnvsError, ConfigError, DataError
from agentenvs.retrieval.base import Index
from agentenvs.retrieval.corpus_file import read_corpus
from agentenvs.retrieval.open import open_index
from agentenvs.retrieval.options import parse_index


class Question(NamedTuple):
    """A question and the ids of the passages it needs, at least one."""

    text: str
    supports: frozenset[str]


class Recall(NamedTuple):
    """Shares of questions, in [0, 1]."""

    all: float
    any: float


def recall(index: Index, questions: Sequence[Question], ks: Iterable[int]) -> dict[int, Recall]:
    """The recall at each k. Passages that the corpus lacks are never found and so count as missed."""
    ks = sorted(ks)
    if not questions or not ks:
        raise ConfigError("recall: expected at least one question and one k")
    found = index.search([question.text for question in questions], ks[-1])
    shares = {}
    for k in ks:
        got = [{hit.id for hit in hits[:k]} for hits in found]
        every = sum(question.supports <= ids for question, ids in zip(questions, got, strict=True))
        some = sum(not question.supports.isdisjoint(ids) for question, ids in zip(questions, got, strict=True))
        shares[k] = Recall(every / len(questions), some / len(questions))
    return shares


def read_questions(path: Path, field: str) -> list[Question]:
    """The questions of a JSONL file; raises `DataError` that names the line."""
    questions = []
    try:
        with open(path, encoding="utf-8") as stream:
            for row, line in enumerate(stream, 1):
                questions.append(_question(line, str(path), f"line {row}", field))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(str(path), "", expected="a readable UTF-8 file", found=str(error)) from None
    return questions


def _question(line: str, source: str, where: str, field: str) -> Question:
    try:
        data = json.loads(line)
        text, supports = data["question"], data[field]
        if not isinstance(text, str) or not supports or not all(isinstance(name, str) for name in supports):
            raise ValueError(f"{text!r} and {supports!r}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        expected = f"an object with a string 'question' and a list of ids {field!r}"
        raise DataError(source, where, expected=expected, found=f"{type(error).__name__}: {error}"[:200]) from None
    return Question(text, frozenset(supports))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m agentenvs.retrieval.recall", description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--supports", default="supporting_ids", help="field of ids (default supporting_ids)")
    parser.add_argument("--index", nargs="+", default=["bm25"], help="kinds or JSON objects (default bm25)")
    parser.add_argument("--k", nargs="+", type=int, default=[3, 10])
    options = parser.parse_args(arguments)
    corpus, questions = read_corpus(options.corpus), read_questions(options.questions, options.supports)
    heads = [f"{kind}@{k}" for k in sorted(options.k) for kind in Recall._fields]
    print(f"{len(corpus)} passages, {len(questions)} questions")
    print(f"{'index':32}" + "".join(f"{head:>9}" for head in heads) + f"{'ms/query':>10}")
    for name in options.index:
        index = open_index(corpus, parse_index(name))
        index.search([questions[0].text], 1)  # what is loaded at the first query is not timed
        began = perf_counter()
        shares = recall(index, questions, options.k)
        taken = 1e3 * (perf_counter() - began) / len(questions)
        cells = "".join(f"{share:9.4f}" for k in sorted(options.k) for share in shares[k])
        print(f"{name:32}{cells}{taken:10.2f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except AgentEnvsError as error:
        sys.exit(f"recall: {error}")
