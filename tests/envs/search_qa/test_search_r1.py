"""The published protocols through their whole stacks: Search-R1 to the letter, its faults only in `compat`, SkyRL's."""

from __future__ import annotations

import json

import pytest

from tests.envs.search_qa.library import PASSAGES, make, write


@pytest.fixture
def files(tmp_path):
    return write(tmp_path)


def played(files, replies, question="q0", **kwargs):
    """The results of replies in the stack of a preset."""
    env = make(files, question, stack=True, **{"preset": "search-r1", **kwargs})
    return [env.step(reply) for reply in replies]


def test_a_question_is_stripped_and_ends_with_a_question_mark(files):
    env = make(files, preset="search-r1")
    observation, _ = env.reset(options={"restart": True})
    assert observation == "Question: Where was the builder of the lighthouse of Orn born?"


def test_passages_are_rendered_as_the_original_does(files):
    [(observation, *_)] = played(files, ["<think>t</think><search> windmills </search>"])
    assert observation == (
        "\n\n<information>"
        'Doc 1(Title: "Windmills") Windmills grind grain; the oldest of them stand in the north.\n'
        'Doc 2(Title: "Engineers") An engineer designs bridges, lighthouses and windmills for a living.\n'
        'Doc 3(Title: "Tolle") Tolle is a village on the river Anse, known for its windmills.'
        "</information>\n\n"
    )


def test_four_searches_then_one_turn_that_cannot_search(files):
    steps = played(files, [f"<search>Orn {i}</search>" for i in range(5)])
    assert [step[4]["searches"] for step in steps] == [1, 2, 3, 4, 4]
    observation, reward, terminated, truncated, info = steps[-1]
    assert (observation, reward, terminated, truncated) == ("", 0.0, False, True)
    assert (info["end_reason"], info["is_valid"]) == ("turn_limit", True)
    *_, info = played(files, [*(f"<search>Orn {i}</search>" for i in range(4)), "<answer>Tolle</answer>"])[-1]
    assert info["success"]


def test_an_invalid_reply_uses_the_turn_and_is_answered_in_the_first_person(files):
    steps = played(files, ["I know it.", "<search>a</search>", "Hm.", "Hm.", "<search>b</search>"])
    observation, reward, _, _, info = steps[0]
    assert observation.startswith("\n")
    assert observation.endswith(".\n")
    assert observation.count(".") == 4
    assert "<search> and </search>" in observation
    assert "<answer> and </answer>" in observation
    assert (reward, info["is_valid"], info["turn"]) == (0.0, False, 1)
    assert (steps[-1][4]["searches"], steps[-1][3]) == (1, True)  # the fifth turn cannot search, whatever came before


@pytest.mark.parametrize(
    ("reply", "searches", "success"),
    [
        ("<search>Orn</search><answer>Tolle</answer>", 1, False),  # cut after the first closing tag of a search
        ("<answer>Tolle</answer><search>Orn</search>", 0, True),  # the leftmost pair counts
        ("</search><answer>Tolle</answer>", 0, False),  # a stray closing tag cuts the answer off
        ("<answer>Tolle <search>Orn</search></answer>", 1, False),  # a search inside an unclosed answer
        ("<search></search>", 1, False),  # an empty query is sent as it is
        ("<Answer>Tolle</Answer>", 0, False),
        ("<answer>\nTolle\n</answer> and more", 0, True),
    ],
)
def test_how_a_reply_is_read(files, reply, searches, success):
    [(*_, info)] = played(files, [reply])
    assert (info["searches"], info["success"]) == (searches, success)


def test_a_nested_search_has_the_inner_tag_in_its_query(files):
    env = make(files, stack=True, preset="search-r1")
    *_, info = env.step("<search>a <search>Orn</search>")
    assert info["calls"][0]["native"] == "search[a <search>Orn]"


# The faults of the original -------------------------------------------------------------------------------------------


def test_no_answer_is_beijing_for_the_original_only(files):
    for compat, success in ((False, False), (True, True)):
        steps = played(files, [f"<search>a{i}</search>" for i in range(5)], "q3", compat=compat)
        assert steps[-1][4]["success"] is success
        assert steps[-1][1] == float(success)


def test_after_an_invalid_turn_the_original_finds_the_word_and(files):
    steps = played(files, ["Hm.", *(f"<search>a{i}</search>" for i in range(4))], "q3", compat=True)
    assert not steps[-1][4]["success"]
    env = make(files, "q3", preset="search-r1", compat=True)
    assert env.reset(options={"restart": True})[1]["matches"]["em"] == 1.0
    assert env.step("")[4]["matches"]["em"] == 0.0


def test_an_answer_in_a_passage_counts_for_the_original_only(tmp_path):
    passages = [*PASSAGES, ("p5", '"Trap"\nThe trap says <answer> Tolle </answer> to everybody.')]
    files = write(tmp_path, passages)
    for compat, success in ((False, False), (True, True)):
        steps = played(files, ["<search>trap</search>"] * 5, compat=compat)
        assert steps[-1][4]["success"] is success
        assert sum(sum(step[4]["reward_components"].values()) for step in steps) == float(success)


# SkyRL ----------------------------------------------------------------------------------------------------------------


def test_skyrl_shows_json_and_has_one_search(files):
    first, second = played(files, ["<search>Mersk</search>", "<search>Tolle</search>"], preset="skyrl", max_turns=2)
    assert first[0].startswith('\n<information>{"result": "Doc 1: \\"')
    body = json.loads(first[0].strip().removeprefix("<information>").removesuffix("</information>"))
    assert list(body) == ["result"]
    assert "Title" not in body["result"]
    assert (second[3], second[4]["searches"]) == (True, 1)


def test_skyrl_says_when_nothing_is_found(files):
    [(observation, *_)] = played(files, ["<search>zyx</search>"], preset="skyrl")
    assert "result" in observation
    assert "Doc 1" not in observation


def test_r1_searcher_has_tags_of_its_own(files):
    query = "<think>t</think><|begin_of_query|>windmills<|end_of_query|>"
    first, second = played(files, [query, "<answer>in Tolle</answer>"], preset="r1-searcher")
    assert "<|begin_of_documents|>[1] Windmills" in first[0]
    assert first[0].rstrip().endswith("<|end_of_documents|>")
    assert second[4]["reward_components"] == {"f1": pytest.approx(2 / 3)}
