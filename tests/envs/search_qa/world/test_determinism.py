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
#: Of the world, the tiny world, the facts.
PINNED = [
    "e01a7933390d08455df17b81466cfc3fb593fabae7553d66848714f2888a6a90",
    "bff65bb599be7a45adcd6faf4550620297a20b6a0129fd66f5042366f4917f89",
    "e0893441274e1aa4325a11a2366b0d97a0d0bd60067c03df55c9b910345faa53",
]


@pytest.mark.parametrize("salt", ["1", "2"])
def test_processes_and_hash_salts_agree(salt: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": salt}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == PINNED
