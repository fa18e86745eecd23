"""Fixtures of the Sokoban tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def official_data() -> Callable[[str], Path]:
    """The folder of real data files of a family; skips where it is absent."""

    def folder(family: str) -> Path:
        default = Path(__file__).resolve().parents[4] / "shared" / "data"
        path = Path(os.environ.get("AGENTENVS_DATA", default)) / family
        if not path.is_dir():
            pytest.skip(f"no official data in {path}; set AGENTENVS_DATA")
        return path

    return folder
