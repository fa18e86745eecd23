"""Play a submission again, compare every step, and store it if it holds; the same as `agentenvs verify`.

python leaderboards/verify.py my-model.zip --store
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agentenvs.cli import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Play a submission again and compare every step.")
    parser.add_argument("bundle", help="a bundle, or a submission's folder")
    parser.add_argument("--store", action="store_true", help="put it into --into if it holds")
    parser.add_argument("--into", default=str(Path(__file__).parent), help="folder of leaderboards (default: this one)")
    parser.add_argument("--policy", help="also play the suite with this policy: it must give the same episodes")
    options = parser.parse_args()
    more = ["--into", options.into] if options.store else []
    more += ["--policy", options.policy] if options.policy else []
    sys.exit(main(["verify", options.bundle, *more]))
