"""`benchmarks/bench_retrieval.py` runs and reports all it promises. Nothing here looks at how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "bench_retrieval.py"


def test_report(tmp_path: Path) -> None:
    pytest.importorskip("tantivy", reason="tantivy is an extra")
    out = tmp_path / "report.json"
    words = [
        "--passages",
        "300",
        "--queries",
        "4",
        "--slow",
        "2",
        "--rounds",
        "2",
        "--memory",
        "200",
        "--json",
        str(out),
    ]
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    report = json.loads(out.read_text(encoding="utf-8"))
    assert [row["backend"] for row in report["engines"]] == ["bm25s", "rank-bm25", "tantivy"]
    for row in report["engines"]:
        for name in ("ours", "direct"):
            assert set(row[name]) == {"build_s", "single_per_s", "batch_per_s"}
            assert all(value > 0 for value in row[name].values())
        assert set(row["layer_cost"]) == {"single", "batch"}
    for name in ("build", "open"):
        assert report["memory"][name]["peak_bytes"] > report["memory"][name]["own_bytes"] > 0
