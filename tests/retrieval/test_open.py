"""`open_index`: names, specifications, and one index for all who ask for the same."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import ConfigError, UnknownName
from agentenvs.retrieval import Index, corpus_file, make_corpus, open_index, read_corpus, settle_spec
from agentenvs.retrieval import open as opening
from tests.retrieval.conftest import made_up, made_up_queries


def test_the_default_is_bm25_with_all_options_written_out() -> None:
    expected = {"kind": "bm25", "backend": "bm25s", "analyzer": "words", "k1": 0.9, "b": 0.4}
    assert settle_spec("bm25") == settle_spec({"kind": "bm25"}) == settle_spec({"kind": "bm25", "k1": 0.9}) == expected
    assert open_index(made_up(5)).spec == expected


@pytest.mark.parametrize(
    "spec",
    [
        "bm25",
        {"kind": "bm25", "backend": "rank-bm25", "epsilon": 1},
        {"kind": "hybrid", "indexes": ["bm25", {"kind": "bm25", "b": 0}], "depth": 7},
    ],
)
def test_a_specification_in_json_makes_the_same_index_again(spec: Any) -> None:
    index = open_index(made_up(50), spec)
    assert isinstance(index, Index)
    again = json.loads(json.dumps(index.spec))
    assert settle_spec(again) == index.spec
    assert open_index(made_up(50), again) is index


def test_all_who_ask_for_the_same_share_it(tmp_path: Path) -> None:
    corpus = made_up(40)
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(passage._asdict()) + "\n" for passage in corpus))
    index = open_index(corpus, {"kind": "bm25", "k1": 1})
    assert open_index(read_corpus(path), {"k1": 1.0, "kind": "bm25"}) is index
    assert open_index(corpus, {"kind": "bm25", "k1": 1.1}) is not index
    assert open_index(made_up(41), {"kind": "bm25", "k1": 1}) is not index


def test_digests_tell_indexes_apart() -> None:
    corpora, specs = (made_up(40), made_up(41)), ("bm25", {"kind": "bm25", "k1": 1})
    digests = {open_index(corpus, spec).digest for corpus in corpora for spec in specs}
    assert len(digests) == 4
    hybrids = [{"kind": "hybrid", "indexes": [spec]} for spec in specs]
    assert len(digests | {open_index(corpora[0], spec).digest for spec in hybrids}) == 6


def test_threads_that_ask_at_once_build_once(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, built, gate = made_up(300, seed=3), [], threading.Barrier(8)
    original = opening._open

    def counting(*arguments: Any) -> Any:
        built.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(opening, "_open", counting)

    def ask(_: int) -> Index:
        gate.wait(timeout=30)
        return open_index(corpus)

    with ThreadPoolExecutor(8) as pool:
        indexes = list(pool.map(ask, range(8)))
    assert len(built) == 1
    assert all(index is indexes[0] for index in indexes)


def test_threads_that_search_at_once_get_what_one_alone_gets() -> None:
    index, queries = open_index(made_up(300)), made_up_queries(60)
    expected = index.search(queries, 5)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: index.search([query], 5)[0], queries * 5)) == expected * 5


def test_a_failed_build_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = made_up(30, seed=4)
    spec = {"kind": "dense", "encoder": str(tmp_path / "model")}
    for _ in range(2):
        with pytest.raises(ConfigError, match="expected minilm, py:module:factory or the folder of a model"):
            open_index(corpus, spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bm52", "unknown index 'bm52'; did you mean 'bm25'?"),
        ({"kind": "sparse"}, "unknown index 'sparse'"),
        ({"kind": "hybrid", "indexes": ["dens"]}, "unknown index 'dens'; did you mean 'dense'?"),
        ({"kind": "hybrid", "dept": 3}, "unknown option of hybrid 'dept'; did you mean 'depth'?"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(spec: Any, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        open_index(made_up(5), spec)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"k1": 1}, 'expected a name or {"kind": ..., option: value}'),
        (7, 'expected a name or {"kind": ..., option: value}, got 7'),
        (["bm25"], "expected a name or"),
        ({"kind": ["bm25"]}, "expected a name or"),
        ({"kind": "hybrid", "indexes": []}, "hybrid, indexes: expected at least one index"),
        ({"kind": "hybrid", "indexes": "bm25"}, "hybrid, indexes: expected a list"),
        ({"kind": "hybrid", "indexes": ["http"]}, "expected indexes of a corpus that is here, got one of kind http"),
        ({"kind": "hybrid", "indexes": ["bm25"], "depth": 0}, "hybrid, depth: expected at least 1, got 0"),
    ],
)
def test_a_specification_that_cannot_be(spec: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_index(made_up(5), spec)
    assert message in str(caught.value)


def test_without_a_corpus_only_a_server_can_be_asked() -> None:
    with pytest.raises(ConfigError, match="an index of kind bm25 needs a corpus; read one with read_corpus"):
        open_index(None)
    assert open_index(None, "http").corpus is None


def test_hits_bring_their_contents_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_file, "STORED_FROM", 0)
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "contents": "red fox"}\n{"id": "b", "contents": "blue \\u00fc"}\n')
    index = open_index(read_corpus(path))
    assert index.search(["ü"], 1)[0][0][::3] == (1, "blue ü")
    assert open_index(make_corpus([("a", "red fox")][:0] or [{"id": "a", "contents": "red fox"}])).corpus is not None
