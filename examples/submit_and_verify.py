"""From a run to a leaderboard: evaluate, bundle, verify, build the page; then a tampered bundle is refused.

The commands `agentenvs eval`, `submit`, `verify` and `leaderboard` do the same.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import agentenvs
from agentenvs.core.errors import VerificationError
from agentenvs.leaderboard.bundle import write_bundle
from agentenvs.leaderboard.card import make_card
from agentenvs.leaderboard.table import build, store
from agentenvs.leaderboard.verify import verify

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for policy in ("random", "expert"):
        agentenvs.evaluate("quick", policy, folder / policy, episodes=10)
        card = {"name": f"my-{policy}", "policy": policy, "authors": "me", "date": "2026-11-30"}
        bundle = write_bundle(folder / policy, make_card(card, "card"), folder / f"{policy}.zip")
        verified = verify(bundle)  # plays every episode again
        store(verified, folder / "leaderboards")
        score = verified.summary["overall"]["score"]
        print(f"{bundle.name}: {bundle.stat().st_size} bytes, tier {verified.tier}, score {score['value']:.3f}")
    page, table = build(folder / "leaderboards", "quick")
    print(f"{page.name}: {page.stat().st_size} bytes\n\n{table.read_text(encoding='utf-8')}")

    # Now cheat: claim the best reward for the first step of the random run, and bundle it anew.
    episodes = folder / "random" / "episodes.jsonl"
    first, *others = episodes.read_text(encoding="utf-8").splitlines(keepends=True)
    record = json.loads(first)
    record["steps"][0]["reward"] = 10.9
    episodes.write_text(json.dumps(record) + "\n" + "".join(others), encoding="utf-8")
    card |= {"name": "cheat", "policy": "random"}
    forged = write_bundle(folder / "random", make_card(card, "card"), folder / "cheat.zip")
    try:
        verify(forged)
    except VerificationError as error:
        print(f"{forged.name} refused: {error}")
