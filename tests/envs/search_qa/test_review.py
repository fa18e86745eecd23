"""Faults found in review, each with the case that showed it: snapshots, settings, menus, the expert, long episodes."""

from __future__ import annotations

import json
import threading
import time

import gymnasium as gym
import pytest

import agentenvs
from agentenvs.core.errors import ConfigError, SnapshotError, UnknownName
from agentenvs.envs.search_qa.tasks import make_source
from agentenvs.retrieval import make_corpus, open_index
from agentenvs.retrieval.server import RetrieverServer
from agentenvs.testing import check_contract
from tests.envs.search_qa.library import PASSAGES, QUESTIONS, make, write

ID = "agentenvs/SearchQA-v0"


@pytest.fixture
def files(tmp_path):
    return write(tmp_path)


@pytest.fixture
def remote():
    corpus = make_corpus([{"id": i, "contents": text} for i, text in PASSAGES])
    with RetrieverServer(open_index(corpus), port=0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"kind": "http", "url": server.url}
        server.shutdown()


# Snapshots ------------------------------------------------------------------------------------------------------------


def test_passages_of_a_remote_retriever_come_back_over_embedded_questions(remote):
    env, fresh = (gym.make(ID, retriever=remote) for _ in range(2))
    env.reset(seed=0)
    env.step("search[Orn]")
    saved = json.loads(json.dumps(agentenvs.snapshot(env)))
    assert fresh.reset(options={"snapshot": saved})[1]["searches"] == 1
    assert fresh.step("search[Tolle]") == env.step("search[Tolle]")


def test_the_contract_holds_with_a_remote_retriever(remote, tmp_path):
    files = write(tmp_path, questions=QUESTIONS[:2])
    check_contract(ID, **files, retriever=remote, noise=0.5)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["events"][0].update(ran=False),
        lambda state: state["events"][0].update(passages=state["events"][0]["passages"] * 4),
        lambda state: state.update(decision="yes"),
        lambda state: state.update(decision=["no"]),
        lambda state: state.update(phase=["search"]),
        lambda state: state.update(phase="answer", decision="yes"),  # where nothing can have been searched
    ],
)
@pytest.mark.parametrize("preset", ["default", "adasearch"])
def test_what_no_episode_can_lead_to_is_refused(files, preset, change):
    env = make(files, preset=preset)
    if preset == "adasearch":
        env.step("decide[no]")
    env.step("search[Orn]")
    saved = agentenvs.snapshot(env)
    change(saved["stack"][0]["state"])
    other = make(files, preset=preset)
    before = agentenvs.snapshot(other)
    with pytest.raises(SnapshotError):
        other.reset(options={"snapshot": saved})
    assert agentenvs.snapshot(other) == before


def test_a_search_cannot_be_forged_into_a_closed_book(files):
    env = make(files, mode="parametric")
    saved = agentenvs.snapshot(env)
    saved["stack"][0]["state"]["events"] = [{"query": "q", "passages": [list(PASSAGES[0])], "ran": True}]
    with pytest.raises(SnapshotError):
        make(files, mode="parametric").reset(options={"snapshot": saved})


def test_a_snapshot_without_the_search_it_tells_of_shows_no_passage(files):
    env = make(files)
    env.step("search[Orn]")
    saved = agentenvs.snapshot(env)
    saved["stack"][0]["state"]["events"] = []
    _, info = make(files).reset(options={"snapshot": saved})
    assert info["observed"] == {"passages": []}


# Settings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "told"),
    [
        ({"retriever": 5}, "index: expected a name"),
        ({"retriever": None}, "index: expected a name"),
        ({"retriever": ["bm25"]}, "index: expected a name"),
        ({"retriever": "bm52", "mode": "parametric"}, "bm25"),
        ({"retriever": {"kind": "dense", "encoder": print}}, "py:module:factory"),
        ({"hops": 1, "difficulty": 2}, "another word for hops"),
        ({"metric": "choice"}, "both metric and reward"),
        ({"preset": "mcq", "reward": "em"}, "both metric and reward"),
        ({"preset": "mcq", "data": "world"}, "expected options, found none"),
        ({"data_dir": 5}, "data_dir: expected a path"),
        ({"data": "file", "questions": ""}, "questions: expected a path"),
        ({"corpus": "a\0b"}, "corpus: expected a path"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_told(kwargs, told):
    with pytest.raises((ConfigError, UnknownName), match=told):
        gym.make(ID, **kwargs)


def test_a_split_that_is_not_there_is_not_replaced_by_another(files):
    with pytest.raises(UnknownName, match="known: test"):
        gym.make(ID, **{**files, "split": "train"})
    without = {name: value for name, value in files.items() if name != "split"}
    assert gym.make(ID, **without).get_wrapper_attr("split") == "test"


def test_a_question_that_the_metric_does_not_fit_is_told_and_the_episode_goes_on(files):
    env = make(files)
    before = agentenvs.snapshot(env)
    with pytest.raises(ConfigError, match=r"file\.q4: expected no options, found some; .* metric=\"choice\""):
        env.reset(seed=0, options={"task": "search_qa/test/file.q4"})
    assert agentenvs.snapshot(env) == before
    with pytest.raises(ConfigError, match=r"file\.q0: expected options, found none"):
        make(files, "q0", preset="mcq")


def test_embedded_questions_are_part_of_the_hash_of_the_data():
    world, mixed = (gym.make(ID, data=data).get_wrapper_attr("source") for data in ("world", "mixed"))
    assert world.corpus.digest == mixed.corpus.digest
    assert len({source.digest(split) for source in (world, mixed) for split in source.splits}) == 6


def test_threads_share_what_is_read(tmp_path):
    files = write(tmp_path)
    rules = make(files).unwrapped.rules
    sources = []

    def read():
        sources.append(make_source(rules, questions=files["questions"], corpus=files["corpus"]))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(source) for source in sources}) == 1


# Menus and the expert -------------------------------------------------------------------------------------------------


def test_a_menu_offers_decisions_while_they_are_due():
    env = gym.make(ID, preset="tiny", mode="decide")
    env.reset(seed=0)
    assert env.get_wrapper_attr("admissible_actions")() == ["decide[yes]", "decide[no]"]
    env.step("decide[no]")
    assert env.get_wrapper_attr("admissible_actions")()[0].startswith("search[")


def test_what_a_menu_offers_is_accepted_however_long_question_and_title_are(tmp_path):
    long = [("p0", '"' + "windmill " * 100 + '"\nIt grinds.'), ("p1", '""\nA windmill without a title.')]
    asked = [{"id": "q0", "question": "Which windmill " * 50 + "grinds?", "golden_answers": ["all"]}]
    files = write(tmp_path, long, asked)
    env = make(files, max_turns=50)
    env.step("search[windmill]")
    for action in env.get_wrapper_attr("admissible_actions")():
        if action.startswith("search["):
            *_, info = env.step(action)
            assert info["is_valid"], action


def test_the_expert_keeps_to_the_limit_of_a_query(tmp_path):
    """The title finds nothing new by itself, so the expert adds words, more than a query may have."""
    passages = [(f"p{i}", '"Mill"\n' + f"word{i} " * 200) for i in range(9)]
    asked = [{"id": "q0", "question": "mill " * 200, "golden_answers": ["x"], "supporting_ids": ["p8"]}]
    env = make(write(tmp_path, passages, asked), query_limit=15, topk=1, reveal=["expert"])
    _, info = env.reset(options={"restart": True})
    while "expert_action" in info:
        *_, info = env.step(info["expert_action"])
        assert info["is_valid"]
    assert info["success"]


def test_the_expert_leaves_an_action_to_answer_with(tmp_path):
    asked = [{"id": "q0", "question": "mill?", "golden_answers": ["unanswerable"], "supporting_ids": ["p0", "p1"]}]
    env = make(write(tmp_path, questions=asked), last_search=True, max_turns=2, topk=1, reveal=["expert"])
    _, info = env.reset(options={"restart": True})
    while "expert_action" in info:
        *_, info = env.step(info["expert_action"])
    assert (info["end_reason"], info["success"]) == ("answered", True)


# The original's faults, and long episodes -----------------------------------------------------------------------------


def test_the_original_is_paid_after_a_last_search_that_ran_too(files):
    env = make(files, "q3", preset="search-r1", compat=True, last_search=True, max_turns=1)
    _, reward, _, truncated, info = env.step("search[Orn]")
    assert (info["searches"], truncated, info["score"], reward) == (1, True, 1.0, 1.0)


def test_the_original_sees_what_came_before_a_decision(files):
    env = make(files, "q3", preset="adasearch", compat=True)
    assert env.step("Hm.")[4]["matches"]["em"] == 0.0  # "and", from the sentence about it, is no longer "Beijing"
    assert env.step("decide[no]")[4]["matches"]["em"] == 0.0


def test_a_step_costs_no_more_for_the_searches_before_it(tmp_path):
    many = [(f"d{i}", f'"Engineer {i}"\nEngineer number {i} designs bridges.' + " and more" * 200) for i in range(800)]
    env = make(write(tmp_path, many), max_turns=10_000, topk=20)

    def seconds(numbers):
        start = time.process_time()
        for i in numbers:
            env.step(f"search[{i}]")
            for _ in range(5):
                env.step("no action")
        return time.process_time() - start

    first = seconds(range(100))
    seconds(range(100, 700))
    assert seconds(range(700, 800)) < 4 * first + 0.2
