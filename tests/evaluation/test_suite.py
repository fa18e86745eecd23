"""Suites: those that come with the package, and how a wrong file is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.evaluation.suite import Entry, Suite, load_suite, parse_suite, suite_names
from agentenvs.evaluation.summary import summarise
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import make_jobs

GOOD = """
name = "mine"
version = 1
description = "x"
[[entry]]
name = "a"
id = "agentenvs/Sokoban-v0"
split = "test"
kwargs = { preset = "tiny" }
tasks = 3
attempts = 2
"""


#: How the names of suites begin that need official files.
OFFICIAL = ("boxoban", "search-official", "search-r1")


@pytest.mark.parametrize("name", [name for name in suite_names() if not name.startswith(OFFICIAL)])
def test_the_packages_suites_play_offline(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    for entry in suite.entries:
        jobs = entry.jobs(seed=0)
        assert len(jobs) == len({job.key for job in jobs}) > 0
        assert {job.group for job in jobs} == {entry.name}
        assert set(entry.reference) >= {"random", "expert"}, "an entry states the scores of random and expert"


@pytest.mark.official
@pytest.mark.usefixtures("official")
@pytest.mark.parametrize(
    ("name", "levels"), [("boxoban-unfiltered", 1000), ("boxoban-medium", 1000), ("boxoban-hard", 3332)]
)
def test_official_suites_cover_their_split_exactly(name: str, levels: int) -> None:
    [entry] = load_suite(name).entries
    assert len({job.task for job in entry.jobs(seed=0)}) == levels


def test_attempts_are_branches_of_the_same_task() -> None:
    [entry] = parse_suite(GOOD, "mine").entries
    jobs = entry.jobs(seed=4)
    assert [(job.repetition, job.branch) for job in jobs] == [(0, 0), (1, 1)] * 3
    assert len({job.task for job in jobs}) == 3
    assert {job.seed for job in jobs} == {4}


def test_a_shorter_run_is_the_beginning_of_a_longer_one() -> None:
    [entry] = parse_suite(GOOD, "mine").entries
    assert entry.jobs(0, episodes=2) == entry.jobs(0)[:4]
    assert entry.jobs(0, episodes=99) == entry.jobs(0)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("tasks = 3", "taskz = 3", "did you mean 'tasks'"),
        ("version = 1", "versoin = 1", "did you mean 'version'"),
        ("version = 1", "version = 0", "version: expected a whole number >= 1"),
        ("version = 1", "version = true", "version: expected a whole number >= 1"),
        ("tasks = 3", "tasks = -1", "tasks: expected a whole number"),
        ("tasks = 3", "tasks = 1.5", "tasks: expected a whole number"),
        ("attempts = 2", "attempts = 0", "attempts: expected a whole number >= 1"),
        ("attempts = 2", 'metric = "reward"', "metric: expected one of score"),
        ("attempts = 2", 'wrappers = "hermes"', "wrappers: expected"),
        ("attempts = 2", 'feedback = "hints"', "feedback: expected"),
        ("attempts = 2", "reference = { human = 1.0 }", "reference: expected"),
        ("attempts = 2", "reference = { random = nan }", "reference: expected"),
        ("attempts = 2", "reference = { random = true }", "reference: expected"),
        ("attempts = 2", "reference = { random = [1] }", "reference: expected"),
        ("attempts = 2", f"reference = {{ random = 1{'0' * 400} }}", "reference: expected"),
        (
            "attempts = 2",
            "reference = { random = 1.0, expert = 1.0 }",
            "reference: expected a table of numbers, .*random and expert differ",
        ),
        ("attempts = 2", "reference = { constant = inf }", "reference: expected"),
        ('split = "test"', "", "the key 'split' is missing"),
        ('name = "a"', 'name = "a/../b"', "name: expected"),
        ("[[entry]]", "[entry]", "at least one"),
        ('description = "x"', "description = x", "Invalid value"),
        ("tasks = 3", 'tasks = 3\n[[entry]]\nname = "a"\nid = "x"\nsplit = "test"', "the same name"),
    ],
)
def test_a_wrong_suite_is_refused_with_the_place(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError, match=says) as caught:
        parse_suite(GOOD.replace(old, new, 1), "mine.toml")
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("random = 0.1, expert = 1.0, constant = 0.1", {"random": 0.1, "expert": 1.0, "constant": 0.1}),
        ("constant = 0.5", {"constant": 0.5}),
        ("expert = 1, constant = 1", {"expert": 1, "constant": 1}),
        ("", {}),
    ],
)
def test_references_are_any_of_three(written: str, read: dict[str, float]) -> None:
    [entry] = parse_suite(GOOD.replace("attempts = 2", f"reference = {{ {written} }}"), "mine").entries
    assert entry.reference == read


def test_the_normalised_score_uses_random_and_expert_whatever_a_constant_has() -> None:
    tiny = {"preset": "tiny"}
    tasks = ["sokoban/train/5x5x1d1.0"]
    bounds = {"random": -1.0, "expert": 3.0}
    for reference, normalised in [({**bounds, "constant": 1.0}, 0.25), (bounds, 0.25), ({"constant": 1.0}, None)]:
        suite = Suite("s", 1, "", (Entry("a", "agentenvs/Sokoban-v0", "train", tiny, reference=reference),))
        lost = collect(None, "constant:wait", make_jobs("agentenvs/Sokoban-v0", tasks, kwargs=tiny, group="a"))
        assert summarise(suite, {}, lost)["entries"]["a"].get("normalised", {}).get("value") == normalised


def test_names_and_paths(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    assert load_suite(tmp_path / "mine.toml") == parse_suite(GOOD, "mine")
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        load_suite("quik")
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load_suite(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_suite(tmp_path / "binary.toml")


def test_an_unknown_environment_or_setting_of_an_entry() -> None:
    with pytest.raises(ConfigError, match="did you mean 'agentenvs/Sokoban-v0'"):
        Entry("a", "agentenvs/Sokobar-v0", "test").jobs(0, 1)
    with pytest.raises(ConfigError, match="did you mean 'tiny'"):
        Entry("a", "agentenvs/Sokoban-v0", "test", {"preset": "tny"}).jobs(0, 1)
    with pytest.raises(ConfigError, match="unknown split 'tset'"):
        Entry("a", "agentenvs/Sokoban-v0", "tset").jobs(0, 1)
