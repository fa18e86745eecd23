"""The README: its commands are those that exist, its programs run, its table is the registry's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs.registration import ENTRIES, IDS

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_there_are_two_programs() -> None:
    assert len(PROGRAMS) == 2


@pytest.mark.parametrize("program", PROGRAMS, ids=["play", "policy"])
def test_the_programs_run(program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, input="Up\n" * 20, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "step" in done.stdout or "value" in done.stdout


def test_the_table_lists_every_id_and_preset() -> None:
    assert set(re.findall(r"\| `(agentenvs/[^`]+)` \|", TEXT)) == set(IDS)
    for entry in ENTRIES:
        row = next(line for line in TEXT.splitlines() if line.startswith(f"| `{entry.id}`"))
        assert set(re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])) == set(entry.presets())


def test_every_command_exists() -> None:
    from agentenvs.cli import _parser

    for line in re.findall(r"^(?:.*&& )?agentenvs (.+?)(?:\s+#.*)?$", TEXT, re.MULTILINE):
        _parser().parse_args(line.split())


@pytest.mark.parametrize("mark", ["main", "test"])
def test_ci_runs_the_commands_of_the_readme(mark: str) -> None:
    assert f"<!-- {mark} -->\n```sh\n" in TEXT
    assert f"<!-- /{mark} -->" in TEXT
    assert f"command_of {mark}" in (ROOT / ".ci" / "run").read_text()


def test_every_link_leads_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert link.startswith("https://") or (ROOT / link).exists(), link
