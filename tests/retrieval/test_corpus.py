"""Corpora: the same from memory and from a file, and a clear word about every fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.errors import DataError, UnknownName
from agentenvs.retrieval import Corpus, Passage, corpus_file, make_corpus, read_corpus

FOXES = [
    {"id": "a", "contents": '"Fox"\nA fox is small.', "year": 1},
    {"id": "b", "contents": ""},
    {"id": "ü", "contents": "naïve \u2028 text\r\n"},
]


def write(path: Path, rows: list[Any], *, ascii_only: bool = True) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    path.write_bytes(text.encode())
    return path


@pytest.fixture(params=["memory", "file", "stored"])
def maker(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Corpus]:
    """Three ways to a corpus: in memory, from a small file, from a file whose table is stored."""
    if request.param == "memory":
        return make_corpus
    if request.param == "stored":
        monkeypatch.setattr(corpus_file, "STORED_FROM", 0)
    return lambda rows: read_corpus(write(tmp_path / "corpus.jsonl", rows))


def test_what_a_corpus_holds(maker: Callable[..., Corpus]) -> None:
    corpus = maker(FOXES)
    assert len(corpus) == 3
    assert list(corpus) == [Passage(row["id"], row["contents"]) for row in FOXES]
    assert list(corpus.ids) == ["a", "b", "ü"]
    assert (corpus.ids[-1], corpus.ids[:2], len(corpus.ids)) == ("ü", ["a", "b"], 3)
    assert [corpus.position(name) for name in ("ü", "a", "b")] == [2, 0, 1]
    assert corpus.find("c") is None
    for outside in (3, -1):
        with pytest.raises(IndexError):
            corpus[outside]
    with pytest.raises(UnknownName, match="no passage with id 'c' among 3"):
        corpus.position("c")


def test_the_digest_is_that_of_ids_and_contents_in_order(maker: Callable[..., Corpus]) -> None:
    expected = hashlib.sha256()
    for row in FOXES:
        name, contents = row["id"].encode(), row["contents"].encode()
        expected.update(f"{len(name)}:{len(contents)}:".encode() + name + contents)
    assert maker(FOXES).digest == expected.hexdigest()
    assert make_corpus(FOXES[::-1]).digest != expected.hexdigest()


@given(st.lists(st.tuples(st.text(min_size=1, max_size=3), st.text(max_size=9)), min_size=1, unique_by=lambda t: t[0]))
def test_a_file_and_memory_agree(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    rows = [{"id": name, "contents": contents} for name, contents in pairs]
    here = make_corpus(rows)
    for ascii_only in (True, False):
        there = read_corpus(write(tmp_path_factory.mktemp("c") / "c.jsonl", rows, ascii_only=ascii_only))
        assert there.digest == here.digest
        assert list(there) == list(here)
        assert [there.position(name) for name in here.ids] == list(range(len(rows)))


def test_different_cuts_between_id_and_contents_have_different_digests() -> None:
    assert make_corpus([Passage("ab", "c")]).digest != make_corpus([Passage("a", "bc")]).digest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "b", "contents": "x"', r"line 2: expected a JSON object, found broken JSON"),
        (b"[" * 100_000, r"line 2: expected a JSON object, found broken JSON"),
        (b'["b", "x"]', r"line 2: expected an object with id and contents, found a list"),
        (b'{"id": "b"}', r"line 2: expected the field 'contents', found only \['id'\]"),
        (b'{"id": 7, "contents": "x"}', r"line 2: expected a string as 'id', found 7 \(int\); write the number in quo"),
        (b'{"id": "b", "contents": null}', r"line 2: expected a string as 'contents', found None \(NoneType\)"),
        (b'{"id": "", "contents": "x"}', r"line 2: expected an id of at least one character"),
        (b'{"id": "b", "contents": "\\ud800"}', r"line 2: expected Unicode text, found the lone surrogate '\\ud800'"),
        (b'{"id": "b", "contents": "\xff"}', r"line 2: expected UTF-8"),
        (b"", r"line 2: expected a JSON object, found a blank line; delete the line"),
        (b'{"id": "a", "contents": "x"}', r"line 2: expected an id that no other passage has, found 'a', as in line 1"),
    ],
)
def test_a_fault_is_named_with_file_and_line(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "faulty.jsonl"
    path.write_bytes(b'{"id": "a", "contents": "x"}\n' + line + b'\n{"id": "z", "contents": "x"}\n')
    with pytest.raises(DataError, match=message) as caught:
        read_corpus(path)
    assert str(caught.value).startswith(f"{path}, line 2")


def test_faults_in_memory_are_named_by_row() -> None:
    with pytest.raises(
        DataError, match="passages, row 2: expected an id that no other passage has, found 'a', as in r"
    ):
        make_corpus([Passage("a", ""), Passage("a", "")])
    with pytest.raises(DataError, match="mine, row 1: expected an object with id and contents, found a str"):
        make_corpus(["text"], name="mine")  # type: ignore[list-item]
    with pytest.raises(DataError, match="passages: expected at least one passage, found none"):
        make_corpus([])


def test_no_file_no_passages_and_endless_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="expected a readable file, found No such file"):
        read_corpus(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DataError, match="expected at least one passage, found none"):
        read_corpus(tmp_path / "empty.jsonl")
    with pytest.raises(DataError, match="expected a readable file"):
        read_corpus(tmp_path)
    monkeypatch.setattr(corpus_file, "MAX_LINE", 100)
    with pytest.raises(DataError, match="line 1: expected at most 100 bytes in a line, found more"):
        read_corpus(write(tmp_path / "long.jsonl", [{"id": "a", "contents": "x" * 100}]))


def test_the_last_line_need_not_end(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(b'{"id": "a", "contents": "x"}\r\n{"id": "b", "contents": "y"}')
    assert list(read_corpus(tmp_path / "c.jsonl")) == [("a", "x"), ("b", "y")]


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", FOXES)
    first = read_corpus(path)
    assert read_corpus(str(path)) is first
    write(path, FOXES[:2])
    assert len(read_corpus(path)) == 2


def test_a_file_that_is_changed_in_use_is_noticed(tmp_path: Path) -> None:
    corpus = read_corpus(write(tmp_path / "c.jsonl", FOXES))
    with open(tmp_path / "c.jsonl", "r+b") as stream:
        stream.write(b"!" * 20)
    with pytest.raises(DataError, match="line 1: .* the file was changed while in use"):
        corpus[0]


def test_a_stored_table_is_used_and_a_damaged_one_is_not(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_file, "STORED_FROM", 0)
    expected = make_corpus(FOXES).digest
    first = write(tmp_path / "one.jsonl", FOXES)
    assert read_corpus(first).digest == expected
    [entry] = [path for path in cache.iterdir() if path.is_dir()]
    monkeypatch.setattr(corpus_file, "_scan", None)  # nothing may scan again
    assert read_corpus(write(tmp_path / "two.jsonl", FOXES)).digest == expected
    monkeypatch.undo()
    monkeypatch.setattr(corpus_file, "STORED_FROM", 0)
    monkeypatch.setenv("AGENTENVS_CACHE", str(cache.parent))
    (entry / "offsets.npy").write_bytes(b"\0" * (entry / "offsets.npy").stat().st_size)
    third = read_corpus(write(tmp_path / "three.jsonl", FOXES))
    assert list(third) == list(make_corpus(FOXES))


def test_ids_whose_hashes_collide_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_file, "_hash", len)
    corpus = read_corpus(write(tmp_path / "c.jsonl", [{"id": name, "contents": ""} for name in ("a", "bb", "c", "d")]))
    assert [corpus.find(name) for name in ("a", "bb", "c", "d", "e", "ff", "ggg")] == [0, 1, 2, 3, None, None, None]
    with pytest.raises(DataError, match="line 4: .* found 'c', as in line 3"):
        read_corpus(write(tmp_path / "d.jsonl", [{"id": name, "contents": ""} for name in ("a", "b", "c", "c")]))
