"""Bundle a finished run and check that the bundle holds; the same as `agentenvs submit`.

python leaderboards/submit.py runs/my-model --card card.toml --out my-model.zip
"""

from __future__ import annotations

import argparse
import sys

from agentenvs.cli import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Bundle a finished run, and check that the bundle holds.")
    parser.add_argument("run", help="a result folder of `agentenvs eval`")
    parser.add_argument("--card", required=True, help="TOML file: name, policy, authors, date, ...")
    parser.add_argument("--out", help="the bundle (default: NAME.zip)")
    options = parser.parse_args()
    sys.exit(main(["submit", options.run, "--card", options.card, *(["--out", options.out] if options.out else [])]))
