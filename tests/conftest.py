"""What all tests share: the official data, a clean environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def official_data() -> Callable[[str], Path]:
    """`official_data("sokoban")`: the folder of a family's official files; skips where there is none."""

    def folder(family: str) -> Path:
        root = Path(os.environ.get("AGENTENVS_DATA") or ROOT.parent / "shared" / "data")
        if not (root / family).is_dir():
            pytest.skip(f"no official data in {root / family}; set AGENTENVS_DATA to the folder that holds {family}/")
        return root / family

    return folder


@pytest.fixture
def official(official_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """`AGENTENVS_DATA` set to the official files, for code that looks them up itself."""
    root = official_data("sokoban").parent
    monkeypatch.setenv("AGENTENVS_DATA", str(root))
    return root
