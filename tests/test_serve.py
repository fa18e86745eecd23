"""`serve retriever` as a process: starts, answers, stops on Ctrl-C."""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs import serve as command
from agentenvs.core.errors import ConfigError, DataError, UnknownName
from agentenvs.retrieval import open_index
from tests.retrieval.conftest import made_up

PROGRAM = """
import argparse, sys
from agentenvs.serve import add_arguments, serve

parser = argparse.ArgumentParser()
add_arguments(parser)
serve(parser.parse_args())
"""


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(["retriever", *words])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(passage._asdict()) + "\n" for passage in made_up(50)))
    return path


@pytest.mark.parametrize("index", ["bm25", '{"kind": "hybrid", "indexes": ["bm25"]}'])
def test_serve(corpus: Path, index: str) -> None:
    words = ["retriever", "--corpus", str(corpus), "--index", index, "--port", "0"]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"serving (bm25|hybrid) over 50 passages at (http://\S+/retrieve); Ctrl-C stops\n", line)
        assert found, line
        [hits] = open_index(None, {"kind": "http", "url": found[2]}).search(["w1 w2"], 5)
        assert [hit.id for hit in hits] == [hit.id for hit in open_index(made_up(50)).search(["w1 w2"], 5)[0]]
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "stopped\n")
        assert process.returncode == 0
    finally:
        process.kill()


def test_mistakes_are_named(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(DataError, match="expected a readable file"):
        command.serve(options("--corpus", str(tmp_path / "none.jsonl")))
    with pytest.raises(UnknownName, match="unknown index 'bm26'; did you mean 'bm25'"):
        command.serve(options("--corpus", str(corpus), "--index", "bm26"))
    with pytest.raises(ConfigError, match="--index: expected a name or a JSON object: "):
        command.serve(options("--corpus", str(corpus), "--index", "{kind: bm25}"))
    with pytest.raises(ConfigError, match="cannot serve at 127.0.0.1:99999"):
        command.serve(options("--corpus", str(corpus), "--port", "99999"))
