"""Published question files: every form by a file of our own, every fault by its message, the real files by count."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, DataError, UnknownName
from agentenvs.envs.search_qa.items import Item
from agentenvs.envs.search_qa.official import NAMES, load, read_questions, self_check
from agentenvs.envs.search_qa.reward import MATCHERS, choice, exact_match

Row = dict[str, Any]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ABCx"), inner, max_size=3),
)


def write(path: Path, rows: Iterable[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(count: int, **fields: Any) -> list[Row]:
    made = {"question": "What is {i} and {i}?", "golden_answers": ["{i}"], **fields}
    text = json.dumps(made)
    return [{"id": f"q{i}", **json.loads(text.replace("{i}", str(i)))} for i in range(count)]


# FlashRAG's form ------------------------------------------------------------------------------------------------------


def test_a_row_with_everything(tmp_path: Path):
    row = {
        "id": "x.1-é",
        "question": "Which of the two rivers is longer?",
        "golden_answers": ["the Ola", "Ola"],
        "supporting_ids": [4, "p 7"],
        "hops": 2,
        "kind": "comparison",
        "split": "train",
        "metadata": {"type": "other", "deep": [{}]},
    }
    read = read_questions(write(tmp_path / "questions.jsonl", [row]))
    item = Item(row["question"], ("the Ola", "Ola"), support=("4", "p 7"), hops=2, kind="comparison")
    assert read.splits == {"train": (("x.1-é", item),)}
    assert (read.name, read.corpus, read.files) == ("file", None, (tmp_path / "questions.jsonl",))


@pytest.mark.parametrize(
    ("golds", "expected"),
    [(["a1", "b"], ("a1", "b")), ("alone", ("alone",)), (7, ("7",)), ([1999, "x"], ("1999", "x")), ([-3], ("-3",))],
)
def test_golds_are_texts_numbers_or_one_of_them(tmp_path: Path, golds: Any, expected: tuple[str, ...]):
    read = read_questions(write(tmp_path / "q.jsonl", rows(1, golden_answers=golds)))
    assert read.splits["test"][0][1].golds == expected


def test_the_kind_of_hotpotqa_stands_in_the_metadata(tmp_path: Path):
    read = read_questions(write(tmp_path / "q.jsonl", rows(1, metadata={"type": "bridge"})))
    assert read.splits["test"][0][1].kind == "bridge"
    read = read_questions(write(tmp_path / "q2.jsonl", rows(1, metadata={"type": ["bridge"]}, kind=None, hops=None)))
    assert (read.splits["test"][0][1].kind, read.splits["test"][0][1].hops) == ("", 0)


def test_rows_name_their_split_and_are_test_otherwise(tmp_path: Path):
    made = rows(5)
    for row, split in zip(made, ("train", "dev", "validation", "test", None), strict=True):
        row["split"] = split
    read = read_questions(write(tmp_path / "q.jsonl", made))
    assert {split: [key for key, _ in items] for split, items in read.splits.items()} == {
        "train": ["q0"],
        "validation": ["q1", "q2"],
        "test": ["q3", "q4"],
    }
    assert read.report[f"{tmp_path.name}/q.jsonl"]["splits"] == {"train": 1, "validation": 2, "test": 2}


@pytest.mark.parametrize(
    "ids",
    [["a", "a"], ["a", "b c"], ["a", "b/c"], ["a", ""], ["a", None], ["a", "b\n"], ["a", "b" * 101], ["1", 1]],
    ids=["twice", "blank", "slash", "empty", "none", "break", "long", "number"],
)
def test_ids_that_cannot_be_keys_give_way_to_line_indices(tmp_path: Path, ids: list[Any]):
    made = [{**row, "id": name} for row, name in zip(rows(2), ids, strict=True)]
    path = tmp_path / "q.jsonl"
    path.write_text(f"{json.dumps(made[0])}\n\n{json.dumps(made[1])}\n")
    read = read_questions(path)
    assert [key for key, _ in read.splits["test"]] == ["0", "2"]  # lines, so that a blank one shifts no key
    assert read.report[f"{tmp_path.name}/q.jsonl"]["keys"] == "line indices"


def test_whole_numbers_can_be_ids(tmp_path: Path):
    read = read_questions(write(tmp_path / "q.jsonl", [{**row, "id": 10 + i} for i, row in enumerate(rows(2))]))
    assert [key for key, _ in read.splits["test"]] == ["10", "11"]


def test_golds_that_normalise_to_nothing_are_dropped_listed_and_never_playable(tmp_path: Path):
    golds = [["right"], ["The"], ["!?", ""], ["*", "star"], ["—"], ["∞"]]
    made = [{**row, "golden_answers": gold} for row, gold in zip(rows(6), golds, strict=True)]
    read = read_questions(write(tmp_path / "q.jsonl", made))
    assert {key: item.golds for key, item in read.splits["test"]} == {"q0": ("right",), "q3": ("star",), "q5": ("∞",)}
    assert read.report[f"{tmp_path.name}/q.jsonl"] == {
        "read": 6,
        "splits": {"test": 3},
        "keys": "ids",
        "skipped": {},
        "empty_golds": ["q1", "q2", "q3", "q4"],
        "unscorable": ["q1", "q2", "q4"],
    }


def test_the_ways_a_file_of_lines_can_be_written(tmp_path: Path):
    lines = [json.dumps(row) for row in rows(2)]
    texts = ["\n".join(lines), "\r\n".join(lines) + "\r\n", "\ufeff" + "\n".join(lines), "\n\n" + "\n \n".join(lines)]
    items = []
    for i, text in enumerate(texts):
        path = tmp_path / f"{i}.jsonl"
        path.write_bytes(text.encode())
        items.append([item for _, item in read_questions(path).splits["test"]])
    assert items[1:] == items[:-1]
    assert len(items[0]) == 2


GOOD = json.dumps(rows(1)[0])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('{"question": "Who?"', r"line 2: expected a JSON object.*is the file complete\?"),
        ("[1, 2]", r"line 2: expected a JSON object with fields, found '?\[1, 2\]"),
        ("{}", "line 2: expected a JSON object with fields"),
        ("[" * 100_000, "line 2: expected a JSON object"),
        ('{"n": ' + "9" * 5000 + "}", "line 2: expected a JSON object.*4300"),
        ('{"golden_answers": ["a b"]}', "line 2, question: expected a text, found no such field"),
        ('{"question": "  ", "golden_answers": ["x"]}', "line 2, question: expected a text, found '  '"),
        ('{"question": ["Who?"], "golden_answers": ["x"]}', "line 2, question: expected a text, found"),
        ('{"question": "\\ud800?", "golden_answers": ["x"]}', "line 2, question: expected a text, found"),
        ('{"question": "Who?"}', "line 2, golden_answers: expected at least one answer, found no such field"),
        (
            '{"question": "Who?", "golden_answers": []}',
            r"line 2, golden_answers: expected at least one answer, found \[\]",
        ),
        ('{"question": "Who?", "golden_answers": [1.5]}', r"golden_answers: expected a text or a list.*found \[1.5\]"),
        (
            '{"question": "Who?", "golden_answers": [true]}',
            r"golden_answers: expected a text or a list.*found \[True\]",
        ),
        ('{"question": "Who?", "golden_answers": {"a": 1}}', "golden_answers: expected a text or a list"),
        ('{"question": "Who?", "golden_answers": [null]}', "golden_answers: expected a text or a list"),
        ('{"question": "Who?", "golden_answers": ["\\udfff"]}', "golden_answers: expected a text or a list"),
        ('{"question": "Who?", "golden_answers": "x", "id": [1]}', "line 2, id: expected a text or a whole number"),
        ('{"question": "Who?", "golden_answers": "x", "split": "eval"}', "line 2, split: expected train, validation"),
        ('{"question": "Who?", "golden_answers": "x", "hops": -1}', "line 2, hops: expected a whole number"),
        ('{"question": "Who?", "golden_answers": "x", "hops": "2"}', "line 2, hops: expected a whole number"),
        ('{"question": "Who?", "golden_answers": "x", "kind": 3}', "line 2, kind: expected a text"),
        ('{"question": "Who?", "golden_answers": "x", "supporting_ids": [{}]}', "line 2, supporting_ids: expected"),
        ('{"question": "Who?", "golden_answers": "x", "options": ["x"]}', "line 2, options: expected 2 to 10 texts"),
        ('{"question": "Who?", "golden_answers": "x", "options": {"A": "x", "C": "y"}}', "options: expected texts by"),
        (
            '{"question": "Who?", "golden_answers": "z", "options": ["x", "y"]}',
            "golden_answers: expected the letter or",
        ),
        (
            '{"question": "Who?", "golden_answers": ["x", "y"], "options": ["x", "y"]}',
            "golden_answers: expected the let",
        ),
        ('{"question": "Who?", "golden_answers": "A", "options": ["B", "A"]}', r'if both fit, write "\(A\) text"'),
    ],
)
def test_faults_of_a_row_are_told_by_file_line_and_field(tmp_path: Path, second: str, message: str):
    path = tmp_path / "mine.jsonl"
    path.write_text(f"{GOOD}\n{second}\n{GOOD}\n")
    with pytest.raises(DataError, match=message) as caught:
        read_questions(path)
    assert str(caught.value).startswith(f"{path}, line 2")
    assert len(str(caught.value)) < 600


def test_faults_of_a_file(tmp_path: Path):
    path = tmp_path / "mine.jsonl"
    with pytest.raises(DataError, match="mine.jsonl: expected a file of questions, found No such file"):
        read_questions(path)
    with pytest.raises(DataError, match="null"):
        read_questions(f"{path}\0")
    with pytest.raises(DataError, match="expected a readable file, found Is a directory"):
        read_questions(tmp_path)
    for content, message in (
        (b"", "at least one question, found an empty file"),
        (b"\n \n", "at least one question"),
        (GOOD.encode() + b"\n\xff\xfe", "line 2: expected UTF-8 text, found byte 0xff"),
        (b"x" * (17 * 2**20), "line 1: expected at most 16777216 bytes"),
        (GOOD.replace('"0"', '"the"').encode(), "a question whose answer can be scored, found none"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            read_questions(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["id", "question", "golden_answers", "options", "split", "hops"]), JSON))
def test_any_json_is_read_or_refused_as_data(tmp_path: Path, row: Row):
    path = write(tmp_path / "any.jsonl", [row])
    try:
        read = read_questions(path)
    except DataError as error:
        assert str(path) in str(error)
    else:
        assert not [key for items in read.splits.values() for key in self_check(items)]


def test_a_changed_file_is_read_again_and_has_another_digest(tmp_path: Path):
    path = write(tmp_path / "q.jsonl", rows(2))
    first = read_questions(path)
    assert read_questions(path).splits["test"][0][1] is first.splits["test"][0][1]
    again = read_questions(write(path, rows(3)))
    assert [len(read.splits["test"]) for read in (first, again)] == [2, 3]
    assert first.digests.keys() == {"test"} and first.digests != again.digests
    same = read_questions(write(tmp_path / "sub" / "q.jsonl", rows(2)))
    assert same.digests == first.digests  # name and content count, the place does not


# The published sets ---------------------------------------------------------------------------------------------------


def test_an_unknown_name_and_an_absent_set(tmp_path: Path):
    with pytest.raises(UnknownName, match="did you mean 'hotpotqa'"):
        load("hotpotga", str(tmp_path))
    for name in NAMES:
        with pytest.raises(ConfigError, match=f"data '{name}': found none of .*{name}/.*; put the files there"):
            load(name, str(tmp_path))
    with pytest.raises(ConfigError, match="not found in"):
        load("nq", str(tmp_path / "nowhere"))


def test_the_test_file_is_the_benchmark_and_dev_then_validates(tmp_path: Path):
    write(tmp_path / "bamboogle" / "test.jsonl", rows(125))
    write(tmp_path / "bamboogle" / "dev.jsonl", rows(3))
    write(tmp_path / "bamboogle" / "train.jsonl", rows(4, split="test"))  # here the file says the split
    read = load("bamboogle", str(tmp_path))
    assert {split: len(items) for split, items in read.splits.items()} == {"train": 4, "validation": 3, "test": 125}
    assert read.report["bamboogle/dev.jsonl"]["splits"] == {"validation": 3}
    assert len(set(read.digests.values())) == 3
    assert [path.name for path in read.files] == ["train.jsonl", "dev.jsonl", "test.jsonl"]
    assert read.corpus is None


def test_without_a_test_file_dev_is_the_benchmark(tmp_path: Path):
    write(tmp_path / "bamboogle" / "dev.jsonl", rows(125))
    write(tmp_path / "bamboogle" / "train.jsonl", rows(4))
    write(tmp_path / "bamboogle" / "corpus.jsonl", [{"id": "1", "contents": "x"}])
    read = load("bamboogle", str(tmp_path))
    assert {split: len(items) for split, items in read.splits.items()} == {"train": 4, "test": 125}
    assert read.report["bamboogle/dev.jsonl"]["splits"] == {"test": 125}
    assert read.corpus == tmp_path / "bamboogle" / "corpus.jsonl"


def test_the_folder_of_the_set_goes_before_the_spare_file(tmp_path: Path):
    write(tmp_path / "questions_only" / "bamboogle_test.jsonl", rows(125))
    assert list(load("bamboogle", str(tmp_path)).report) == ["questions_only/bamboogle_test.jsonl"]
    write(tmp_path / "bamboogle" / "train.jsonl", rows(4))
    read = load("bamboogle", str(tmp_path))
    assert list(read.splits) == ["train"]  # training data alone are no benchmark, and are not counted


@pytest.mark.parametrize("part", ["test", "dev"])
def test_an_incomplete_benchmark_is_refused(tmp_path: Path, part: str):
    write(tmp_path / "nq" / f"{part}.jsonl", rows(12))
    with pytest.raises(DataError, match=f"{part}.jsonl: expected the 3610 questions of nq, found 12.*questions=PATH"):
        load("nq", str(tmp_path))


# Multiple choice ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"A": "iron", "B": "tin", "C": "lead"}, ["iron", "tin", "lead"]])
@pytest.mark.parametrize("gold", ["B", "b", "tin", ["B", "tin"], "(B) tin", "Tin."])
def test_golds_of_a_choice_become_one_letter(tmp_path: Path, options: Any, gold: Any):
    read = read_questions(write(tmp_path / "q.jsonl", rows(1, options=options, golden_answers=gold)))
    item = read.splits["test"][0][1]
    assert (item.golds, item.options) == (("B",), ("iron", "tin", "lead"))


def pubmed(folder: Path, count: int = 1000, truths: int = 500) -> tuple[dict[str, Any], dict[str, str]]:
    """A made-up PubMedQA in the original form."""
    verdicts = [("yes", "no", "maybe")[i % 3] for i in range(count)]
    rows = {
        str(100 + i): {"QUESTION": f"Is {i} odd?", "CONTEXTS": ["x"], "final_decision": verdicts[i]}
        for i in range(count)
    }
    truth = {pmid: rows[pmid]["final_decision"] for pmid in list(rows)[:truths]}
    folder.mkdir(exist_ok=True)
    (folder / "ori_pqal.json").write_text(json.dumps(rows))
    (folder / "test_ground_truth.json").write_text(json.dumps(truth))
    return rows, truth


def test_the_original_pubmedqa(tmp_path: Path):
    pubmed(tmp_path / "pubmedqa")
    read = load("pubmedqa", str(tmp_path))
    assert {split: len(items) for split, items in read.splits.items()} == {"train": 500, "test": 500}
    assert read.splits["test"][2] == ("102", Item("Is 2 odd?", ("C",), ("yes", "no", "maybe")))
    assert [path.name for path in read.files] == ["ori_pqal.json", "test_ground_truth.json"]
    assert self_check(read.splits["test"]) == ()


def test_faults_of_the_original_pubmedqa(tmp_path: Path):
    folder = tmp_path / "pubmedqa"
    for change, message in (
        (lambda rows, truth: truth.update({"101": "yes"}), "entry '101', final_decision: expected 'yes' as in test_gr"),
        (lambda rows, truth: truth.update({"9": "yes"}), "test_ground_truth.json, entry '9': expected a PMID of ori_p"),
        (lambda rows, truth: rows.update({"100": []}), r"ori_pqal.json, entry '100': expected an object, found \[\]"),
        (lambda rows, truth: rows["100"].update(final_decision="perhaps"), "final_decision: expected yes, no or maybe"),
        (
            lambda rows, truth: rows["100"].pop("QUESTION"),
            "entry '100', QUESTION: expected a text, found no such field",
        ),
        (lambda rows, truth: rows.pop("999"), "ori_pqal.json: expected the 1000 questions of pubmedqa, found 999"),
    ):
        made, truth = pubmed(folder)
        change(made, truth)
        (folder / "ori_pqal.json").write_text(json.dumps(made))
        (folder / "test_ground_truth.json").write_text(json.dumps(truth))
        with pytest.raises(DataError, match=message):
            load("pubmedqa", str(tmp_path))
    (folder / "test_ground_truth.json").unlink()
    with pytest.raises(DataError, match="test_ground_truth.json: expected a file of questions, found No such file"):
        load("pubmedqa", str(tmp_path))


MEDQA = {
    "question": "Which ore?",
    "answer": "tin",
    "options": {"A": "iron", "B": "tin", "C": "lead", "D": "zinc", "E": "gold"},
    "meta_info": "step1",
    "answer_idx": "B",
}


def test_medqa(tmp_path: Path):
    write(tmp_path / "medqa" / "test.jsonl", [MEDQA] * 1273)
    write(tmp_path / "medqa" / "dev.jsonl", [{**MEDQA, "answer_idx": "E", "answer": "gold"}])
    read = load("medqa", str(tmp_path))
    options = ("iron", "tin", "lead", "zinc", "gold")
    assert read.splits["test"][-1] == ("1272", Item("Which ore?", ("B",), options, kind="step1"))
    assert read.splits["validation"] == (("0", Item("Which ore?", ("E",), options, kind="step1")),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "iron"}, "line 1, answer: expected the text of option B, 'tin', found 'iron'"),
        ({"answer_idx": "F"}, "line 1, answer_idx: expected the letter or the text of one option"),
        ({"answer_idx": None}, "line 1, answer_idx: expected a text"),
        ({"options": None}, "line 1, options: expected texts by letter"),
    ],
)
def test_faults_of_medqa(tmp_path: Path, change: Row, message: str):
    write(tmp_path / "medqa" / "test.jsonl", [{**MEDQA, **change}])
    with pytest.raises(DataError, match=message):
        load("medqa", str(tmp_path))


def medmcqa(cops: list[Any], **fields: Any) -> list[Row]:
    texts = {"opa": "iron", "opb": "tin", "opc": "lead", "opd": "zinc"}
    same = {**texts, "choice_type": "single", "subject_name": "Ores", "exp": None, **fields}
    return [{"id": f"m{i}", "question": "Which ore?", **same, "cop": cop} for i, cop in enumerate(cops)]


@pytest.mark.parametrize(("first", "ending"), [(1, ".json"), (0, ".jsonl")], ids=["original", "hub"])
def test_medmcqa_counts_options_from_0_or_1(tmp_path: Path, first: int, ending: str):
    cops = [first + i % 4 for i in range(4183)]
    write(tmp_path / "medmcqa" / f"dev{ending}", medmcqa(cops))
    write(tmp_path / "medmcqa" / f"test{ending}", medmcqa([-1, None]))
    read = load("medmcqa", str(tmp_path))
    assert [item.golds[0] for _, item in read.splits["test"][:5]] == ["A", "B", "C", "D", "A"]
    assert read.splits["test"][0] == ("m0", Item("Which ore?", ("A",), ("iron", "tin", "lead", "zinc"), kind="Ores"))
    assert list(read.splits) == ["test"]
    assert read.report[f"medmcqa/test{ending}"]["skipped"] == {"no answer": 2}


def test_medmcqa_questions_with_several_answers_are_skipped_and_counted(tmp_path: Path):
    made = medmcqa([1 + i % 4 for i in range(4183)])
    for row in made[:100]:
        row["choice_type"] = "multi"
    write(tmp_path / "medmcqa" / "dev.jsonl", made)
    read = load("medmcqa", str(tmp_path))
    report = read.report["medmcqa/dev.jsonl"]
    assert (report["read"], report["splits"], report["skipped"]) == (
        4183,
        {"test": 4083},
        {"several right answers": 100},
    )


@pytest.mark.parametrize(
    ("cops", "message"),
    [
        (
            [1, 2, 3],
            "all rows, cop: expected values from 1 to 4, or from 0 to 3, found values from 1 to 3; which count",
        ),
        ([0, 4], "all rows, cop: .*found values from 0 to 4"),
        ([1, 5], "line 2, cop: expected a whole number from 0 to 4, -1 for none, found 5"),
        ([1, "2"], "line 2, cop: expected a whole number"),
        ([1, True], "line 2, cop: expected a whole number"),
        ([1, -2], "line 2, cop: expected a whole number"),
    ],
)
def test_faults_of_medmcqa(tmp_path: Path, cops: list[Any], message: str):
    write(tmp_path / "medmcqa" / "dev.jsonl", medmcqa(cops))
    with pytest.raises(DataError, match=message):
        load("medmcqa", str(tmp_path))


def test_medmcqa_needs_four_options(tmp_path: Path):
    write(tmp_path / "medmcqa" / "dev.jsonl", medmcqa([1, 4], opc=None))
    with pytest.raises(DataError, match="line 1, options: expected 2 to 10 texts"):
        load("medmcqa", str(tmp_path))


# The self-check and the real files ------------------------------------------------------------------------------------


def test_the_self_check_finds_what_is_scored_wrongly():
    good = Item("?", ("right", "correct"))
    bad = (Item("?", ("The",)), Item("?", ()), Item("?", ("D",), ("x", "y")), Item("?", ("right", "")))
    assert self_check((("good", good), *((str(i), item) for i, item in enumerate(bad)))) == ("0", "1", "2", "3")
    assert self_check((("yes", Item("?", ("yes", "yes indeed"))),)) == ()


REAL = {
    "nq": ({"test": 3608}, 4, 2),
    "hotpotqa": ({"test": 7403}, 2, 2),
    "musique": ({"test": 2417}, 0, 0),
    "bamboogle": ({"test": 125}, 0, 0),
    "hotpotqa_dev500": ({"test": 500}, 0, 0),
    "2wiki": ({"test": 843}, 0, 0),
    "pubmedqa": ({"train": 500, "test": 500}, 0, 0),
}


@pytest.mark.official
@pytest.mark.parametrize("name", REAL)
def test_gold_answers_score_one_and_empty_ones_zero_on_every_real_file(name: str, official: Path):
    counts, empty, unscorable = REAL[name]
    start = time.perf_counter()
    read = load(name)
    assert time.perf_counter() - start < 10
    assert {split: len(items) for split, items in read.splits.items()} == counts
    (report,) = read.report.values()
    assert (len(report["empty_golds"]), len(report["unscorable"])) == (empty, unscorable)
    assert report["read"] == sum(counts.values()) + unscorable
    for items in read.splits.values():
        assert len({key for key, _ in items}) == len(items)
        assert self_check(items) == ()
        for _, item in items:  # the same once more, without the help of the module under test
            if item.options:
                assert choice(f"({item.golds[0]})", item.options) == item.golds[0]
            else:
                assert all(exact_match(gold, item.golds) == 1.0 for gold in item.golds)
                assert [match(nothing, item.golds) for match in MATCHERS.values() for nothing in ("", "?!.")] == [0] * 6


@pytest.mark.official
@pytest.mark.parametrize(("name", "least"), [("hotpotqa_dev500", 2), ("2wiki", 2)])
def test_supporting_passages_of_the_real_files_are_in_their_corpus(
    name: str, least: int, official_data: Callable[[str], Path]
):
    read = load(name, str(official_data("search_qa")))
    assert read.corpus is not None
    ids = {json.loads(line)["id"] for line in read.corpus.read_text(encoding="utf-8").splitlines()}
    supports = [item.support for _, item in read.splits["test"]]
    assert min(map(len, supports)) >= least
    assert all(set(support) <= ids for support in supports)


@pytest.mark.official
def test_the_verdicts_of_the_real_pubmedqa(official: Path):
    read = load("pubmedqa")
    golds = [item.golds[0] for items in read.splits.values() for _, item in items]
    assert [golds.count(letter) for letter in "ABC"] == [552, 338, 110]
