"""The same bytes in every process: pinned digests of all that is generated."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from hashlib import sha256
from agentenvs.core.task import SPLITS
from agentenvs.envs.search_qa.world import facts, tiny
from agentenvs.envs.search_qa.world.world import make_world
for source in (make_world(), tiny, facts):
    passages = source.passages if isinstance(source.passages, tuple) else source.passages()
    asked = [tuple(one) for split in SPLITS for one in source.questions(split)]
    print(sha256(repr((passages, asked)).encode()).hexdigest())
"""
PINNED = [
    "world",
    "tiny",
    "facts",
]


@pytest.mark.parametrize("salt", ["1", "2"])
def test_processes_and_hash_salts_agree(salt: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": salt}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == PINNED
