"""The pinned playthroughs, and the tool that pins them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.testing import golden

FOLDER = Path(__file__).parents[1] / "golden"
CASES = dict(golden.cases())


@pytest.mark.parametrize("name", CASES)
def test_playthroughs_are_as_pinned(name: str) -> None:
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert golden.difference(recorded, golden.playthrough(CASES[name])) == ""


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(CASES)


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    name, job = next(golden.cases())
    path = tmp_path / f"{name}.json"
    golden.write(path, job)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="new revision"):
        golden.write(path, job)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("old", "new"), [(0.0, 0), (0.0, -0.0), (False, 0), (True, 1), (1, 1.0)])
def test_a_number_of_another_type_is_a_difference(old: float, new: float) -> None:
    record = {"job": {}, "instructions": "x", "steps": [{"reward": old}]}
    assert golden.difference(record, record) == ""
    assert "step 0, reward" in golden.difference({**record, "steps": [{"reward": new}]}, record)


def test_the_command_finds_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert golden.main([str(tmp_path), "--write"]) == 0
    assert golden.main([str(tmp_path)]) == 0
    path = sorted(tmp_path.glob("*.json"))[0]
    record = json.loads(path.read_text(encoding="utf-8"))
    record["steps"][1]["reward"] += 1.0
    path.write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "sokoban-tiny.json").unlink()
    capsys.readouterr()
    assert golden.main([str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "step 1, reward" in told
    assert "sokoban-tiny.json: missing" in told
