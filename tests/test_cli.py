"""The command line, run as a user runs it: in a process of its own, in an empty folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentenvs.cli import INFRASTRUCTURE, INTERRUPTED, OK, REFUSED, USAGE

CARD = 'name = "mine"\npolicy = "random"\nauthors = "me"\ndate = 2026-11-30\n'


def run(*words: str, folder: Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command; whatever it says, it never shows a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "agentenvs.cli", *words],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "120", "AGENTENVS_CACHE": str(folder / "cache"), **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_help_names_every_command_with_examples_and_exit_codes(tmp_path: Path) -> None:
    told = run("--help", folder=tmp_path)
    assert told.returncode == OK
    for word in (
        "list",
        "play",
        "eval",
        "submit",
        "verify",
        "leaderboard",
        "data",
        "contract",
        "examples",
        "exit codes",
    ):
        assert word in told.stdout
    for command in ("list", "play", "eval", "submit", "verify", "leaderboard", "data", "contract"):
        told = run(command, "--help", folder=tmp_path)
        assert told.returncode == OK
        assert "example:" in told.stdout


def test_list_is_for_people_and_programs(tmp_path: Path) -> None:
    told = run("list", folder=tmp_path).stdout
    assert "agentenvs/Sokoban-v0" in told
    assert "core-v0" in told
    listed = json.loads(run("list", "--json", folder=tmp_path).stdout)
    assert "agentenvs/Sokoban-v0" in [entry["id"] for entry in listed["environments"]]
    assert "quick" in listed["suites"]


def test_the_whole_way_from_a_run_to_a_page(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text(CARD)
    eval_ = ("eval", "--suite", "quick", "--policy", "random", "--episodes", "3", "--out", "run")
    done = run(*eval_, folder=tmp_path)
    assert done.returncode == OK
    assert "sokoban-tiny" in done.stdout
    done = run("submit", "run", "--card", "card.toml", folder=tmp_path)
    assert done.returncode == OK, done.stderr
    done = run("verify", "mine.zip", "--into", "boards", folder=tmp_path)
    assert done.returncode == OK
    assert "accepted: replayed" in done.stdout
    assert run("verify", "boards/quick/submissions/mine", "--policy", "random", folder=tmp_path).returncode == OK
    assert run("leaderboard", "boards", folder=tmp_path).returncode == OK
    assert "mine (first 3 tasks)" in (tmp_path / "boards" / "quick" / "index.html").read_text(encoding="utf-8")
    assert "| mine (first 3 tasks) | random | replayed |" in (tmp_path / "boards" / "quick" / "table.md").read_text()
    replayed = run("eval", "--suite", "quick", "--policy", "replay:run", "--episodes", "3", folder=tmp_path)
    assert replayed.returncode == OK
    both = [json.loads((tmp_path / out / "summary.json").read_text()) for out in ("run", "runs/quick-replay-run")]
    assert both[0]["entries"] == both[1]["entries"]


def test_a_refused_submission(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("no archive")
    done = run("verify", "x.zip", folder=tmp_path)
    assert done.returncode == REFUSED
    assert done.stderr.startswith("refused: unreadable")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("evla",), "did you mean 'eval'"),
        (("e'v",), "did you mean 'eval'"),
        (("",), "unknown command ''"),
        (("--vresion",), "did you mean '--version'"),
        (("eval", "--suite", "quick", "--polcy", "expert"), "did you mean '--policy'"),
        (("eval", "--suite", "quick", "--polcy=expert"), "did you mean '--policy'"),
        (("list", "--sutes"), "did you mean '--suites'"),
        (("data", "gett"), "did you mean 'get'"),
        (("eval", "--suite", "quick", "--policy", "expert", "--seed", "-1"), "seed: expected a whole number"),
        (("eval", "--suite", "quick", "--policy", "expert", "--seed", str(2**64)), "seed: expected a whole number"),
        (("eval", "--suite", "folder.toml", "--policy", "expert"), "folder.toml: cannot be read"),
        (("eval", "--suite", "latin.toml", "--policy", "expert"), "latin.toml: cannot be read"),
        (("eval", "--suite", "quick", "--policy", "expert", "--out", "latin.toml"), "latin.toml"),
        (("play", "agentenvs/Sokoban-v0", "--policy", "random", "--seed", "-1"), "seed: expected"),
        (("play", "agentenvs/Sokoban-v0", "--policy", "random", "--split", "tset"), "did you mean 'test'"),
        (("submit", "nowhere", "--card", "folder.toml"), "folder.toml: cannot be read"),
        (("submit", "nowhere", "--card", "latin.toml"), "latin.toml: cannot be read"),
        (("verify", "nowhere.zip"), "nowhere.zip"),
        (("leaderboard", "latin.toml"), "no leaderboard"),
        ((), "COMMAND"),
        (("eval", "--suite", "quik", "--policy", "expert"), "did you mean 'quick'"),
        (("eval", "--suite", "quick", "--policy", "expret"), "did you mean 'expert'"),
        (("eval", "--suite", "quick", "--policy", "expert", "--episodes", "0"), "episodes: expected at least 1"),
        (("eval", "--suite", "quick", "--policy", "expert", "--episodes", "many"), "invalid int value"),
        (("eval", "--suite", "quick", "--policy", "expert", "--backend", "proces"), "did you mean 'process'"),
        (("eval", "--suite", "quick", "--policy", "py:no.such:module"), "No module named 'no'"),
        (("eval", "--suite", "quick", "--policy", "chat:gpt"), "chat:"),
        (("eval", "--suite", "quick", "--policy", "replay:nowhere"), "nowhere"),
        (("eval", "--suite", "boxoban-hard", "--policy", "expert"), "agentenvs data get boxoban"),
        (("play", "agentenvs/Sokobn-v0"), "did you mean 'agentenvs/Sokoban-v0'"),
        (("play", "foo:bar"), "unknown environment 'foo:bar'"),
        (("play", "agentenvs/Sokoban-v0", 'preset=["a"]'), "unknown preset"),
        (("play", "agentenvs/Sokoban-v0", "preset=tiyn"), "did you mean 'tiny'"),
        (("play", "agentenvs/Sokoban-v0", "boxes=99"), "boxes"),
        (("play", "agentenvs/Sokoban-v0", "rows=six"), "rows: expected int"),
        (("play", "agentenvs/Sokoban-v0", "nonsense"), "NAME=VALUE"),
        (("play", "agentenvs/Sokoban-v0", "path=/nowhere.xsb", "levels=xsb"), "nowhere.xsb"),
        (("submit", "nowhere", "--card", "nowhere.toml"), "nowhere.toml"),
        (("leaderboard", "nowhere"), "no leaderboard"),
        (("data", "get", "boxobn"), "did you mean 'boxoban'"),
        (("data", "get"), "boxoban"),
        (("contract", "agentenvs/Nothing-v0"), "unknown environment"),
    ],
    ids=lambda value: "_".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_a_mistake_is_told_in_a_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "latin.toml").write_bytes("name = 'Übel'".encode("latin-1"))
    done = run(*words, folder=tmp_path, AGENTENVS_DATA=str(tmp_path))
    assert done.returncode == USAGE, done.stderr
    assert says in done.stderr
    assert not (tmp_path / "runs").exists(), "a mistake leaves nothing behind"


@pytest.mark.parametrize("words", ["list", "list --json", "eval --help", "play agentenvs/Sokoban-v0 --policy random"])
def test_a_reader_that_leaves_early_is_no_failure(tmp_path: Path, words: str) -> None:
    for reader in ("head -1", "true"):
        command = f"set -o pipefail; {sys.executable} -m agentenvs.cli {words} | {reader}"
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (OK, "")


@pytest.mark.parametrize("stream", ["", ">&-", "2>&-", "</dev/null", ">&- 2>&- <&-"])
def test_a_closed_stream_is_no_failure(tmp_path: Path, stream: str) -> None:
    words = "eval --suite quick --policy random --episodes 1 --out run"
    command = f"exec {sys.executable} -m agentenvs.cli {words} {stream}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == OK, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize("columns", ["1", "20", "200"])
def test_any_terminal_will_do(tmp_path: Path, encoding: str, columns: str) -> None:
    words = ("eval", "--suite", "quick", "--policy", "random", "--episodes", "1", "--out", "run")
    done = run(*words, folder=tmp_path, PYTHONIOENCODING=encoding, COLUMNS=columns)
    assert done.returncode == OK, done.stderr


def test_playing_against_a_server_that_is_down(tmp_path: Path) -> None:
    words = ["play", "agentenvs/Sokoban-v0", "--policy", "chat:m@http://127.0.0.1:9/v1"]
    code = "import agentenvs.policies.transport as t; t.pause_s = lambda *a: 0.0; from agentenvs.cli import main; "
    command = [sys.executable, "-c", code + f"raise SystemExit(main({words!r}))"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == INFRASTRUCTURE, done.stderr


def test_a_server_that_is_down_voids_the_episodes(tmp_path: Path) -> None:
    words = ("eval", "--suite", "quick", "--policy", "chat:m@http://127.0.0.1:9/v1", "--episodes", "1", "--out", "run")
    code = "import agentenvs.policies.transport as t; t.pause_s = lambda *a: 0.0; from agentenvs.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", code + f"raise SystemExit(main({list(words)!r}))"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == INFRASTRUCTURE, done.stderr
    assert "void" in done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [entry["n_void"] for entry in summary["entries"].values()] == [1, 1, 1, 1]


def test_playing_by_hand(tmp_path: Path) -> None:
    done = run("play", "agentenvs/Sokoban-v0", "preset=tiny", given="Up\nDown\n", folder=tmp_path)
    assert done.returncode == INTERRUPTED  # the input ended before the episode
    assert "You play Sokoban" in done.stdout
    done = run("play", "agentenvs/Sokoban-v0", "preset=tiny", "--policy", "expert", folder=tmp_path)
    assert done.returncode == OK
    assert "solved: score 1" in done.stdout
    done = run("play", "agentenvs/Sokoban-v0", "preset=ragen", "--protocol", "--policy", "expert", folder=tmp_path)
    assert "<answer>" in done.stdout


def test_the_contract_command(tmp_path: Path) -> None:
    assert run("contract", "agentenvs/Sokoban-v0", "preset=tiny", folder=tmp_path).returncode == OK


def test_ctrl_c_ends_a_run_quietly_and_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n\ndef make():\n    return lambda observation, info: time.sleep(0.01) or 'Up'\n"
    )
    words = ["eval", "--suite", "quick", "--policy", "py:slow:make", "--out", "run"]
    command = [sys.executable, "-m", "agentenvs.cli", *words]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "run").glob("parts/*.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "run the same command again" in told
    assert "Traceback" not in told
    done = run(*words, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == OK


@pytest.mark.official
def test_data_list_and_get_from_a_folder(tmp_path: Path, official: Path) -> None:
    listed = run("data", folder=tmp_path, AGENTENVS_DATA="")
    assert "boxoban" in listed.stdout
    assert "agentenvs data get boxoban" in listed.stdout
    source = str(official / "sokoban" / "boxoban")
    done = run("data", "get", "boxoban", "--from", source, folder=tmp_path, AGENTENVS_DATA="")
    assert done.returncode == OK, done.stderr
    words = ("eval", "--suite", "boxoban-unfiltered", "--policy", "expert", "--episodes", "2")
    assert run(*words, folder=tmp_path, AGENTENVS_DATA="").returncode == OK
