"""Build `table.md` and `index.html` of the leaderboards; the same as `agentenvs leaderboard`.

python leaderboards/build.py --suite core-v0
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agentenvs.cli import main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the page and table of a leaderboard.")
    parser.add_argument("root", nargs="?", default=str(Path(__file__).parent), help="folder (default: this one)")
    parser.add_argument("--suite", help="only this one (default: all that have submissions)")
    options = parser.parse_args()
    sys.exit(main(["leaderboard", options.root, *(["--suite", options.suite] if options.suite else [])]))
