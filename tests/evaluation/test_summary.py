"""What a summary makes of episodes, and how it is shown."""

from __future__ import annotations

import io
import math
import random

import pytest
from rich.console import Console

from agentenvs.evaluation import stats
from agentenvs.evaluation.report import print_summary
from agentenvs.evaluation.suite import Suite, parse_suite
from agentenvs.evaluation.summary import summarise
from agentenvs.rollout.job import Job
from agentenvs.rollout.trajectory import Trajectory

SETTINGS = {"suite": "s", "suite_version": 1, "policy": "p", "seed": 0, "episodes": 0}


def suite(attempts: int = 1) -> Suite:
    entries = "".join(
        f'[[entry]]\nname = "{name}"\nid = "x"\nsplit = "test"\nattempts = {attempts}\n' for name in "abc"
    )
    return parse_suite(f'name = "s"\nversion = 1\ndescription = "x"\n{entries}', "s")


def episode(entry: str, task: int, repetition: int, score: float, end: str = "solved") -> Trajectory:
    job = Job("x", f"t/test/{task}", group=entry, branch=repetition, repetition=repetition)
    usage = {"steps": 1, "resets": 1}
    return Trajectory(job, {}, "", {}, [], [], end, score, score == 1.0, score / 10, usage, "")


def test_figures_do_not_hang_on_the_order_of_additions() -> None:
    """A mean such as 4/2560 lies half-way between two figures of 6 decimals; its last bit must not decide."""
    once = 0
    for exact in (k / 2560 for k in range(2560)):
        near = (exact, math.nextafter(exact, -1), math.nextafter(exact, 2))
        assert len({stats.rounded(value) for value in near}) == 1
        once += len({round(value, 6) for value in near}) > 1
    assert once > 100, "rounding once would do"
    assert str(stats.rounded(-1e-9)) == "0.0"


def test_a_summary_does_not_hang_on_the_order_of_episodes() -> None:
    played = [episode(e, t, r, (t * 7 + r) % 10 / 10) for e in "abc" for t in range(9) for r in range(3)]
    expected = summarise(
        suite(3), SETTINGS, [episode(t.job.group, int(t.job.task[7:]), t.job.repetition, t.score) for t in played]
    )
    random.Random(1).shuffle(played)
    assert summarise(suite(3), SETTINGS, played) == expected


def test_void_episodes_weigh_nothing() -> None:
    played = [episode("a", t, r, float(t % 2)) for t in range(4) for r in range(2)]
    void = [episode("a", 4, 0, 0.0, "void"), episode("a", 4, 1, 0.0, "void")]
    figures = summarise(suite(2), SETTINGS, [*played, *void])["entries"]["a"]
    assert (figures["n_episodes"], figures["n_void"], figures["n_tasks"]) == (10, 2, 4)
    assert figures["score"]["value"] == figures["success"]["value"] == 0.5
    assert figures["usage"]["steps"] == 8
    assert "pass_at_k" not in figures, "pass@k needs every attempt"


def test_overall_is_the_mean_of_the_entries_that_have_a_score() -> None:
    played = [
        episode("a", 0, 0, 1.0),
        episode("a", 1, 0, 1.0),
        episode("b", 0, 0, 0.0),
        episode("c", 0, 0, 0.0, "void"),
    ]
    summary = summarise(suite(), SETTINGS, played)
    assert summary["overall"]["n_entries"] == 2
    assert summary["overall"]["score"]["value"] == 0.5
    nothing = summarise(suite(), SETTINGS, [episode("c", 0, 0, 0.0, "void")])
    assert nothing["overall"] == {"n_entries": 0}
    print_summary(nothing, Console(file=io.StringIO()))


@pytest.mark.parametrize("name", ["\x1b[2J", "\ud800", "a\rb", "\u202eevil", "[red]x[/red]", "[/]", "\0"])
def test_the_name_of_a_strangers_policy_does_nothing_to_the_terminal(name: str) -> None:
    out = io.StringIO()
    print_summary(
        summarise(suite(), {**SETTINGS, "policy": name}, [episode("a", 0, 0, 1.0)]), Console(file=out, width=100)
    )
    shown = out.getvalue()
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert not name.isprintable() or name in shown
