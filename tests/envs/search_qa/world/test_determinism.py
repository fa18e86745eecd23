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
    "5295eefd2bd9bbe5932b80c4fd2e61ea04e43906ecb7318fc650ce6106495463",
    "bff65bb599be7a45adcd6faf4550620297a20b6a0129fd66f5042366f4917f89",
    "50636e3a6e978587209cafa2ce0f94e8834130ad52d485c84cdb7f623e822eb7",
]


@pytest.mark.parametrize("salt", ["1", "2"])
def test_processes_and_hash_salts_agree(salt: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": salt}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == PINNED
