"""Decisions to search: hand-worked tables, laws that hold for any of them, result folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError
from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.world import facts
from agentenvs.evaluation.decisions import (
    CELLS,
    answers,
    closed_book,
    decision_metrics,
    decisions,
    print_decisions,
    searches,
)
from agentenvs.evaluation.runner import evaluate
from agentenvs.evaluation.suite import Suite, load_suite
from agentenvs.policies.base import Reply
from agentenvs.rollout.job import Job
from agentenvs.rollout.trajectory import Step, Trajectory, append

KNOWN, LOOKED_UP = ["answer[a]"], ["search[q]", "answer[a]"]


def step(action: str, natives: list[str] | None = None, valid: bool = True, **info) -> Step:
    shown = {"turn": 1, "is_valid": valid, "is_effective": valid, **info}
    return Step(action, "", 0.0, False, False, {}, shown, "", natives or [])


def episode(task: str, steps: list, score: float = 1.0, *, repetition: int = 0, group: str = "qa") -> Trajectory:
    played = [one if isinstance(one, Step) else step(one) for one in steps]
    job = Job("agentenvs/SearchQA-v0", task, repetition=repetition, branch=repetition, group=group)
    usage = {"steps": len(played), "resets": 1}
    return Trajectory(job, {}, "?", {}, played, [], "answered", score, score == 1, score, usage, "", job.key)


# What an episode decided ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "knows", "ran"),
    [
        (["answer[a]"], True, 0),
        (["search[q]", "search[r]", "answer[a]"], False, 2),
        (["decide[yes]", "answer[a]"], True, 0),
        (["decide[no]", "search[q]", "answer[a]"], False, 1),
        (["decide[no]", "answer[a]"], False, 0),  # said that it would search, and did not
        ([step("search[]", valid=False), "answer[a]"], True, 0),
        (["research[q]", "I would search[q]"], True, 0),
        (['answer[{"search[": 1}]'], True, 0),
        ([step("<search>q</search>", ["search[q]"]), step("<answer>a</answer>", ["answer[a]"])], False, 1),
        ([step("both", ["search[q]", "search[r]", "answer[a]"])], False, 2),
        ([step("decide[yes]", ["decide[no]", "search[q]"])], False, 1),
        ([step("well, decide[no]", valid=False), " decide[yes] "], True, 0),
        ([step("decide[maybe]", valid=False), "search[q]"], False, 1),
        ([step("search[q]", searches=1), step("search[q]", searches=1)], False, 1),  # the last one was not run
        ([step("search[q]", searches=0)], True, 0),
        ([], True, 0),
    ],
)
def test_decision_and_searches_of_an_episode(steps: list, knows: bool, ran: int) -> None:
    played = episode("t", steps)
    assert answers(played) is knows
    assert searches(played) == ran


def test_a_search_that_was_undone_ran() -> None:
    back = step("")
    back.restore = 0
    assert searches(episode("t", ["search[q]", back, "answer[a]"])) == 1


# What the model knows -------------------------------------------------------------------------------------------------


def attempts(task: str, won: int, of: int) -> list[Trajectory]:
    return [episode(task, KNOWN, float(i < won), repetition=i) for i in range(of)]


def test_a_task_is_known_where_the_solve_rate_reaches_the_threshold() -> None:
    played = [*attempts("a", 4, 8), *attempts("b", 3, 8), *attempts("c", 8, 8), *attempts("d", 0, 8)]
    assert closed_book(played) == {"a": True, "b": False, "c": True, "d": False}
    assert closed_book(played, 0.375) == {"a": True, "b": True, "c": True, "d": False}
    assert closed_book(played, 1) == {"a": False, "b": False, "c": True, "d": False}
    assert closed_book([]) == {}


def test_a_partial_score_is_no_success() -> None:
    assert closed_book([episode("a", KNOWN, 0.9)]) == {"a": False}


@pytest.mark.parametrize("threshold", [0, -0.5, 1.5, float("nan")])
def test_a_threshold_is_a_share(threshold: float) -> None:
    with pytest.raises(ConfigError, match="threshold"):
        closed_book([], threshold)


# The figures ----------------------------------------------------------------------------------------------------------


def test_figures_by_hand() -> None:
    """d = 1 1 1 0 0 0 0 0, k = 1 1 0 1 0 0 0 1: two rightly answered, one over-confident, two searches in vain."""
    table = [
        ("a", KNOWN, 1.0, True),
        ("b", KNOWN, 0.0, True),
        ("c", KNOWN, 0.0, False),
        ("d", LOOKED_UP, 1.0, True),
        ("e", LOOKED_UP, 1.0, False),
        ("f", ["search[q]", "search[r]", "answer[a]"], 0.5, False),
        ("g", ["decide[no]", "answer[a]"], 0.0, False),
        ("h", LOOKED_UP, 0.0, True),
    ]
    found = decision_metrics([episode(*row[:3]) for row in table], {row[0]: row[3] for row in table})
    assert (found["n"], found["n_tasks"], found["n_unlabelled"]) == (8, 8, 0)
    values = {name: figure["value"] for name, figure in found.items() if isinstance(figure, dict) and "value" in figure}
    assert values == {
        "precision": 0.666667,  # 2 / 3
        "recall": 0.5,  # 2 / 4
        "f1": 0.571429,  # 2 * (2/3) * (1/2) / (2/3 + 1/2) = 4 / 7
        "search_rate": 0.5,  # g decided to search and did not
        "unnecessary_search": 0.25,
        "missing_search": 0.125,
        "searches": 0.625,
        "score": 0.4375,
    }
    cells = {name: (cell["n"], cell["score"]["value"]) for name, cell in found["cells"].items()}
    assert cells == {
        "answered_known": (2, 0.5),
        "answered_unknown": (1, 0.0),
        "searched_known": (2, 0.5),
        "searched_unknown": (3, 0.5),
    }


def test_every_episode_of_a_task_counts() -> None:
    played = [episode("a", KNOWN), episode("a", LOOKED_UP, repetition=1), episode("b", KNOWN, 0.0)]
    found = decision_metrics(played, {"a": True, "b": False})
    assert (found["n"], found["n_tasks"]) == (3, 2)
    assert (found["precision"]["value"], found["recall"]["value"]) == (0.5, 0.5)


def test_tasks_without_a_label_are_an_error_unless_told() -> None:
    played = [episode("a", KNOWN), episode("b", KNOWN), episode("b", KNOWN, repetition=1)]
    with pytest.raises(ConfigError, match="no closed-book label for 1 tasks, such as 'b'"):
        decision_metrics(played, {"a": True})
    found = decision_metrics(played, {"a": True}, allow_unlabelled=True)
    assert (found["n"], found["n_unlabelled"], found["f1"]["value"]) == (1, 1, 1.0)
    for nothing in ([], [episode("c", KNOWN)]):
        with pytest.raises(ConfigError, match="at least one episode"):
            decision_metrics(nothing, {"a": True}, allow_unlabelled=True)


def test_a_void_episode_is_refused() -> None:
    lost = episode("a", [])
    lost.end_reason = "void"
    for use in (lambda: closed_book([lost]), lambda: decision_metrics([lost], {"a": True})):
        with pytest.raises(ConfigError, match="void"):
            use()


LABELS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12)


@settings(deadline=None, max_examples=30)
@given(labels=LABELS)
def test_laws_of_the_figures(labels: list[tuple[bool, bool]]) -> None:
    knows = {f"t{i}": k for i, (_, k) in enumerate(labels)}
    played = [episode(f"t{i}", KNOWN if d else LOOKED_UP, float(i % 2)) for i, (d, _) in enumerate(labels)]
    found = decision_metrics(played, knows)
    value = {name: found[name]["value"] for name in ("f1", "precision", "recall", "search_rate", "missing_search")}
    hits = sum(d and k for d, k in labels)
    said, known = sum(d for d, _ in labels), sum(k for _, k in labels)
    assert value["precision"] == pytest.approx(hits / said if said else 0, abs=1e-6)
    assert value["recall"] == pytest.approx(hits / known if known else 0, abs=1e-6)
    both = value["precision"] + value["recall"]
    assert value["f1"] == pytest.approx(2 * value["precision"] * value["recall"] / both if both else 0, abs=1e-5)
    assert value["search_rate"] == pytest.approx(1 - said / len(labels), abs=1e-6)
    assert sum(cell["n"] for cell in found["cells"].values()) == found["n"] == len(labels)
    total = sum(cell["n"] * cell["score"]["value"] for cell in found["cells"].values() if cell["n"])
    assert total / len(labels) == pytest.approx(found["score"]["value"], abs=1e-5)
    for name in value:
        assert found[name]["low"] <= value[name] <= found[name]["high"]
    assert found == decision_metrics(played[::-1], knows), "the order of episodes is nothing"


@given(known=st.lists(st.booleans(), min_size=1, max_size=12))
@settings(deadline=None, max_examples=20)
def test_always_searching_has_nothing_and_an_oracle_all(known: list[bool]) -> None:
    knows = {str(i): k for i, k in enumerate(known)}
    always = decision_metrics([episode(task, LOOKED_UP) for task in knows], knows)
    assert [always[name]["value"] for name in ("precision", "recall", "f1", "search_rate")] == [0, 0, 0, 1]
    assert (always["f1"]["low"], always["f1"]["high"], always["f1"]["method"]) == (0, 0, "point")
    never = decision_metrics([episode(task, KNOWN) for task in knows], knows)
    assert never["recall"]["value"] == float(any(known))
    assert never["unnecessary_search"]["value"] == 0
    oracle = decision_metrics([episode(task, KNOWN if k else LOOKED_UP) for task, k in knows.items()], knows)
    assert oracle["f1"]["value"] == oracle["precision"]["value"] == oracle["recall"]["value"] == float(any(known))
    assert oracle["unnecessary_search"]["value"] == oracle["missing_search"]["value"] == 0


# Result folders -------------------------------------------------------------------------------------------------------


def folder(path: Path, trajectories: list[Trajectory]) -> Path:
    path.mkdir()
    append(path / "episodes.jsonl", trajectories)
    return path


def test_folders_are_joined_by_task_and_told_by_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    closed = [*attempts("q/test/1", 8, 8), *attempts("q/test/2", 1, 8), *attempts("q/test/3", 4, 8)]
    closed = [one for one in closed if one.job.group == "qa"]
    run = [
        episode("q/test/1", KNOWN, group="easy"),
        episode("q/test/2", LOOKED_UP, 0.0, group="hard"),
        episode("q/test/3", LOOKED_UP, group="hard"),
    ]
    folders = folder(tmp_path / "run", run), folder(tmp_path / "closed", closed)
    found = decisions(*folders)
    assert list(found) == ["easy", "hard"]
    assert found["easy"]["f1"]["value"] == 1
    assert found["hard"]["unnecessary_search"]["value"] == 0.5
    assert decisions(*folders, threshold=0.6)["hard"]["unnecessary_search"]["value"] == 0
    print_decisions("model[x]", "model", found)
    told = capsys.readouterr().out
    assert "Decisions of model[x]" in told
    assert all(f"score, {cell.replace('_', ', ')}" in told for cell in CELLS)
    assert "0.500 [" in told


def test_folders_of_a_run_by_evaluate(tmp_path: Path) -> None:
    """In Sokoban nothing is searched: every decision is to answer, and right where a run of the expert has success."""
    quick = load_suite("quick")
    sokoban = Suite("sokoban", 1, "", tuple(quick.entry(name) for name in ("sokoban-tiny", "sokoban-ragen")))
    for policy in ("expert", "constant:wait"):
        evaluate(sokoban, policy, tmp_path / policy[:6], episodes=4)
    own = decisions(tmp_path / "expert", tmp_path / "expert")
    assert list(own) == ["sokoban-tiny", "sokoban-ragen"]
    assert all(entry["f1"]["value"] == 1 and entry["search_rate"]["value"] == 0 for entry in own.values())
    unknown = decisions(tmp_path / "expert", tmp_path / "consta")
    assert all(entry["missing_search"]["value"] == 1 and entry["f1"]["value"] == 0 for entry in unknown.values())


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", [episode("q/test/1", KNOWN)])
    other = folder(tmp_path / "other", [episode("q/test/2", KNOWN)])
    both = folder(tmp_path / "both", [episode("q/test/1", KNOWN), episode("q/test/2", KNOWN)])
    with pytest.raises(ConfigError, match="no finished run"):
        decisions(run, tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no task in common"):
        decisions(run, other)
    with pytest.raises(ConfigError, match="no closed-book label"):
        decisions(both, other)


# On the environment that it is for ------------------------------------------------------------------------------------


class Scholar:
    """Knows the facts of the real world by heart; of the fiction it knows nothing, and says so."""

    name = "scholar"
    needs = frozenset({"history"})

    def __init__(self) -> None:
        self.facts = {one.question: one.golds[0] for split in SPLITS for one in facts.questions(split)}

    def act(self, turns):
        return [Reply(calls=(self.call(turn),)) for turn in turns]

    def call(self, turn) -> str:
        first = turn.history[0].observation if turn.history else turn.observation
        question = first.removeprefix("Question: ")
        if [tool.name for tool in turn.tools] == ["decide"]:
            return f"decide[{'yes' if question in self.facts else 'no'}]"
        if turn.number == 1 and question not in self.facts and len(turn.tools) == 2:
            return f"search[{question}]"
        return f"answer[{self.facts.get(question, 'I do not know')}]"


def test_who_searches_just_what_it_does_not_know_has_an_f1_of_one(tmp_path: Path) -> None:
    evaluate("search-closed-book", Scholar(), tmp_path / "closed", episodes=10)
    evaluate("search-core-v0", Scholar(), tmp_path / "core", episodes=10)
    found = decisions(tmp_path / "core", tmp_path / "closed")["decide"]
    assert (found["f1"]["value"], found["search_rate"]["value"], found["score"]["value"]) == (1.0, 0.5, 0.5)
    assert found["cells"]["answered_known"] == {"n": 5, "score": found["cells"]["answered_known"]["score"]}


def test_a_run_of_the_expert_searches_what_it_knows(tmp_path: Path) -> None:
    evaluate("search-closed-book", "expert", tmp_path / "closed", episodes=6)
    evaluate("search-core-v0", "expert", tmp_path / "core", episodes=6)
    [(entry, found)] = decisions(tmp_path / "core", tmp_path / "closed").items()
    assert entry == "decide"
    assert (found["n"], found["search_rate"]["value"], found["unnecessary_search"]["value"]) == (6, 1.0, 1.0)
    assert (found["f1"]["value"], found["score"]["value"], found["cells"]["searched_known"]["n"]) == (0.0, 1.0, 6)
