"""Recall by hand, the table, and the figures of the official files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError, DataError
from agentenvs.retrieval import make_corpus, open_index, read_corpus
from agentenvs.retrieval.recall import Question, Recall, main, read_questions, recall

ROWS = [
    {"id": name, "contents": text} for name, text in {"a": "fox fox", "b": "fox owl", "c": "owl", "d": "cat"}.items()
]
QUESTIONS = [
    {"question": "fox?", "supporting_ids": ["a"]},
    {"question": "fox and owl?", "supporting_ids": ["b", "d"]},
    {"question": "dog?", "supporting_ids": ["d"]},
    {"question": "cat?", "supporting_ids": ["d", "gone"]},
]


def test_by_hand() -> None:
    """Found are a, b; then b, a, c; then nothing; then d."""
    questions = [Question(row["question"], frozenset(row["supporting_ids"])) for row in QUESTIONS]
    found = recall(open_index(make_corpus(ROWS)), questions, [10, 1])
    assert found == {1: Recall(all=0.25, any=0.75), 10: Recall(all=0.25, any=0.75)}
    with pytest.raises(ConfigError, match="expected at least one question and one k"):
        recall(open_index(make_corpus(ROWS)), [], [3])


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, questions = write(tmp_path / "c.jsonl", ROWS), write(tmp_path / "q.jsonl", QUESTIONS)
    main(["--corpus", corpus, "--questions", questions, "--index", "bm25", '{"kind": "bm25", "b": 0}', "--k", "1", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 passages, 4 questions"
    assert lines[1].split() == ["index", "all@1", "any@1", "all@2", "any@2", "ms/query"]
    assert lines[2].split()[:5] == ["bm25", "0.2500", "0.7500", "0.2500", "0.7500"]
    assert len(lines) == 4


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        '{"question": "x"}',
        '{"question": 3, "supporting_ids": ["a"]}',
        '{"question": "x", "supporting_ids": []}',
        '{"question": "x", "supporting_ids": [1]}',
    ],
)
def test_a_question_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTIONS[0]) + "\n" + line + "\n")
    with pytest.raises(
        DataError, match=r"q.jsonl, line 2: expected an object with a string 'question' and a list of ids"
    ):
        read_questions(tmp_path / "q.jsonl", "supporting_ids")
    with pytest.raises(DataError, match="expected a readable UTF-8 file"):
        read_questions(tmp_path / "none.jsonl", "supporting_ids")


@pytest.mark.official
@pytest.mark.parametrize(
    ("name", "field", "all3", "any3", "all10"),
    [
        ("hotpotqa_dev500", "supporting_ids", 0.382, 0.894, 0.786),
        ("2wiki", "supporting_ids_heuristic", 0.5125, 0.982, 0.693),
    ],
)
def test_plain_questions_find_what_was_measured(
    official_data: Callable[[str], Path], name: str, field: str, all3: float, any3: float, all10: float
) -> None:
    folder = official_data("search_qa") / name
    questions = read_questions(folder / "questions.jsonl", field)
    found = recall(open_index(read_corpus(folder / "corpus.jsonl")), questions, [3, 10])
    assert (found[3].all, found[3].any, found[10].all) == pytest.approx((all3, any3, all10), abs=0.002)


@pytest.mark.official
def test_the_first_section_of_an_abstract(official_data: Callable[[str], Path]) -> None:
    folder = official_data("search_qa") / "pubmedqa"
    with open(folder / "questions.jsonl", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    questions = [Question(row["question"], frozenset([f"{row['id']}_0"])) for row in rows]
    found = recall(open_index(read_corpus(folder / "corpus.jsonl")), questions, [3])
    assert found[3].all == pytest.approx(0.912, abs=0.002)


@pytest.mark.official
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "field", "all3"),
    [("hotpotqa_dev500", "supporting_ids", 0.348), ("2wiki", "supporting_ids_heuristic", 0.479)],
)
def test_rank_bm25_ranks_otherwise(official_data: Callable[[str], Path], name: str, field: str, all3: float) -> None:
    """With the same k1 and b, for its idf is another."""
    folder = official_data("search_qa") / name
    questions = read_questions(folder / "questions.jsonl", field)
    index = open_index(read_corpus(folder / "corpus.jsonl"), {"kind": "bm25", "backend": "rank-bm25"})
    assert recall(index, questions, [3])[3].all == pytest.approx(all3, abs=0.002)
