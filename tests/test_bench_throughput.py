"""`benchmarks/bench_throughput.py` runs and reports all it promises. Nothing here looks at how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from agentenvs.evaluation.suite import load_suite

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "bench_throughput.py"
FIGURES = {
    *("steps_per_s", "steps_alone_per_s", "step_us", "resets_per_s", "reset_us", "first_make_ms", "make_ms"),
    *("instance_kb", "rss_1000_mb", "expert_ms", "expert_solved", "expert_episodes", "episodes"),
}


def test_report(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    words = ["--seconds", "0.05", "--id", "agentenvs/Sokoban-v0", "--preset", "tiny", "boxoban", "--episodes", "2"]
    command = [sys.executable, str(SCRIPT), *words, "--json", str(out)]
    environment = {"AGENTENVS_CACHE": str(tmp_path / "none"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text(encoding="utf-8"))
    tiny, boxoban = report["environments"]
    assert set(tiny) == {"id", "preset", "skipped"} | FIGURES
    assert not tiny["skipped"]
    assert all(isinstance(tiny[name], (int, float)) for name in FIGURES - {"rss_1000_mb"})
    assert "agentenvs data get boxoban" in boxoban["skipped"]
    assert set(boxoban) == {"id", "preset", "skipped"}
    assert report["verification"]["episodes"] == 2 * len(load_suite("quick").entries)
    assert report["verification"]["verified_episodes_per_min"] > 0
    assert report["machine"]["cores_used"] == 1
    assert "…" not in done.stdout, "a table that fits into 80 columns"


def test_unknown_id_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--id", "agentenvs/Nothing-v0"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert "agentenvs/Nothing-v0" in done.stderr
