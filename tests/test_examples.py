"""Every example runs as it is, from any folder, without data of others and without a word on standard error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "AGENTENVS_DATA"}
    environment |= {"AGENTENVS_CACHE": str(tmp_path / "cache"), "PYTHONIOENCODING": "utf-8"}
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path / "empty",
        env=environment,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr, done.stderr
    assert not list((tmp_path / "empty").iterdir()), "an example leaves nothing behind"
