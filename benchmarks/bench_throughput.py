"""How fast each environment is and how much memory it takes, on one core.

    python benchmarks/bench_throughput.py [--json OUT] [--seconds 2] [--id agentenvs/Sokoban-v0] [--preset ragen]

Every id is measured in each of its presets; one whose data files are absent is skipped with the reason. A random
policy draws from the admissible actions before the clock starts. The keys of the JSON carry their units:

- `steps_per_s`: whole episodes, resets included; `steps_alone_per_s`, `step_us`: steps only; `resets_per_s`,
  `reset_us`: resets only, each to a task not seen before;
- `make_ms`: one `gym.make`, after the first; `first_make_ms`: the first of the preset, with whatever it imports;
- `instance_kb`: Python memory of one more instance after its reset (tracemalloc), the mean of many;
  `rss_1000_mb`: growth of the process by 1,000 such instances (in a process of its own);
- `expert_ms`: planning of the expert over an episode, the mean of several tasks; `expert_solved`: the share it solves;
- `verified_episodes_per_min`: episodes of a bundle of the random policy on the suite `quick`, played again by `verify`.

Times are wall-clock times. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium as gym

import agentenvs
from agentenvs.core.errors import AgentEnvsError, ConfigError
from agentenvs.core.rng import Stream
from agentenvs.evaluation.runner import evaluate
from agentenvs.leaderboard.bundle import write_bundle
from agentenvs.leaderboard.card import Card
from agentenvs.leaderboard.verify import verify
from agentenvs.registration import ENTRIES, IDS

INSTANCES = 200  # for the mean of `instance_kb`
CROWD = 1_000
PRESETS = {entry.id: entry.presets for entry in ENTRIES}
SEEDS = 4_000_000  # a preset has so many to itself


def measure(env_id: str, preset: str, seconds: float, first: int) -> dict[str, Any]:
    """All figures of one preset; only `skipped` beside the names where it cannot be made.

    Seeds from `first` on are played and no seed twice, since levels that were made before are remembered.
    """
    row: dict[str, Any] = {"id": env_id, "preset": preset, "skipped": ""}
    began = perf_counter()
    try:
        env = gym.make(env_id, preset=preset)
    except AgentEnvsError as error:
        return {**row, "skipped": str(error)}
    row["first_make_ms"] = 1e3 * (perf_counter() - began)
    row |= play(env, seconds, first)
    row |= resets(env, seconds, first + SEEDS // 4)
    row |= expert(env, seconds, first + SEEDS // 2)
    env.close()
    row["make_ms"] = make_time(env_id, preset, seconds)
    row["instance_kb"] = instance_memory(env_id, preset)
    row["rss_1000_mb"] = crowd_memory(env_id, preset)
    return row


def play(env: gym.Env[str, str], seconds: float, first: int) -> dict[str, float]:
    """Whole episodes of random actions until `seconds` of them are timed."""
    steps, reset_s, step_s, seed = 0, 0.0, 0.0, first
    while seed == first or reset_s + step_s < seconds:
        began = perf_counter()
        env.reset(seed=seed)
        reset_s += perf_counter() - began
        stream, over = Stream("bench", seed), False
        while not over:
            # Drawn a few at a time, so that the draws are not timed and a menu that changes is followed closely.
            menu = env.get_wrapper_attr("admissible_actions")()
            actions = [stream.choice(menu) for _ in range(8)]
            began = perf_counter()
            for action in actions:
                _, _, terminated, truncated, _ = env.step(action)
                steps += 1
                over = terminated or truncated
                if over:
                    break
            step_s += perf_counter() - began
        seed += 1
    return {
        "episodes": seed - first,
        "steps_per_s": steps / (reset_s + step_s),
        "steps_alone_per_s": steps / step_s,
        "step_us": 1e6 * step_s / steps,
    }


def resets(env: gym.Env[str, str], seconds: float, first: int) -> dict[str, float]:
    count, began = 0, perf_counter()
    while not count or perf_counter() - began < seconds:
        env.reset(seed=first + count)
        count += 1
    taken = perf_counter() - began
    return {"resets_per_s": count / taken, "reset_us": 1e6 * taken / count}


def expert(env: gym.Env[str, str], seconds: float, first: int, least: int = 3, most: int = 200) -> dict[str, float]:
    """Planning time an episode: the expert is asked before each of its own actions, and only that is timed."""
    plan, total, solved, count = env.get_wrapper_attr("expert_plan"), 0.0, 0, 0
    while count < least or (count < most and total < seconds):
        _, info = env.reset(seed=first + count)
        over = env.get_wrapper_attr("status") != "playing"
        while not over:
            began = perf_counter()
            [action] = plan(1)
            total += perf_counter() - began
            _, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        solved += info["success"]
        count += 1
    return {"expert_ms": 1e3 * total / count, "expert_solved": solved / count, "expert_episodes": count}


def make_time(env_id: str, preset: str, seconds: float) -> float:
    count, began = 0, perf_counter()
    while not count or perf_counter() - began < seconds / 4:
        gym.make(env_id, preset=preset).close()
        count += 1
    return 1e3 * (perf_counter() - began) / count


def crowd(env_id: str, preset: str, count: int) -> list[gym.Env[str, str]]:
    """Instances that have been reset, each to a task of its own."""
    envs = [gym.make(env_id, preset=preset) for _ in range(count)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    return envs


def instance_memory(env_id: str, preset: str) -> float:
    """Python memory that one more instance keeps, in kB."""
    kept = crowd(env_id, preset, INSTANCES)  # fills the caches that all instances share
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [kept, crowd(env_id, preset, INSTANCES)]
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / INSTANCES / 1e3


def crowd_memory(env_id: str, preset: str) -> float | None:
    """Growth of a fresh process by `CROWD` instances, in MB; None where the system does not tell."""
    return afresh("--crowd", env_id, preset)


def afresh(*words: str) -> Any:
    """What this script prints, as JSON, when it is run with `words` in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), *words]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def print_crowd(env_id: str, preset: str) -> None:
    """The other side of `crowd_memory`."""
    kept = crowd(env_id, preset, 1)
    before = resident()
    kept += crowd(env_id, preset, CROWD)
    after = resident()
    print("null" if before is None or after is None else (after - before) / 1e6)


def resident() -> int | None:
    """Bytes of this process in memory, on Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def verification(episodes: int | None) -> dict[str, float]:
    """`verify` on a bundle of the random policy, in a process that has not played it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        evaluate("quick", "random", folder / "run", episodes=episodes)
        card = Card(name="bench", policy="random", authors="bench", date="2000-01-01")
        bundle = write_bundle(folder / "run", card, folder / "bundle.zip")
        taken, played, turns = afresh("--verify", str(bundle))
        size = bundle.stat().st_size
    return {
        "suite": "quick",
        "episodes": played,
        "verified_episodes_per_min": 60 * played / taken,
        "verified_turns_per_s": turns / taken,
        "bundle_kb": size / 1e3,
    }


def print_verification(bundle: str) -> None:
    """The other side of `verification`: seconds, episodes, turns."""
    began = perf_counter()
    entries = verify(bundle).summary["entries"].values()
    taken = perf_counter() - began
    played, turns = sum(entry["n_episodes"] for entry in entries), sum(entry["usage"]["steps"] for entry in entries)
    print(json.dumps([taken, played, turns]))


COLUMNS = {
    "steps_per_s": "steps\nper s",
    "steps_alone_per_s": "alone\nper s",
    "reset_us": "reset\nµs",
    "make_ms": "make\nms",
    "instance_kb": "one\nkB",
    "rss_1000_mb": "1,000\nMB",
    "expert_ms": "expert\nms",
    "expert_solved": "\nsolved",
}


def show(report: dict[str, Any]) -> None:
    """Print the figures as a table, and why something is missing."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("environment\nand preset", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in COLUMNS.values():
        table.add_column(title, justify="right", no_wrap=True)
    for row in report["environments"]:
        name = f"{row['id'].removeprefix('agentenvs/')} {row['preset']}"
        table.add_row(name, *(_figure(row.get(column)) for column in COLUMNS))
    console.print(table)
    for row in report["environments"]:
        if row["skipped"]:
            console.print(f"{row['preset']}: skipped: {row['skipped']}", markup=False, highlight=False)
    found = report["verification"]
    console.print(
        f"verify, suite {found['suite']}: {found['verified_episodes_per_min']:,.0f} episodes a minute, "
        f"{found['verified_turns_per_s']:,.0f} turns a second",
        highlight=False,
    )


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> dict[str, Any]:
    return {
        "agentenvs": agentenvs.__version__,
        "gymnasium": gym.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores_used": 1,
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def selected(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    for env_id in options.id or IDS:
        for preset in options.preset or PRESETS[env_id]():
            yield env_id, preset


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    parser.add_argument("--seconds", type=float, default=2.0, help="timed seconds of each figure (default 2)")
    parser.add_argument("--id", action="extend", nargs="+", choices=IDS, help="only these ids")
    parser.add_argument("--preset", action="extend", nargs="+", help="only these presets")
    parser.add_argument("--episodes", type=int, help="tasks of each entry in the bundle to verify (default: all)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last allowed one)")
    parser.add_argument("--crowd", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--verify", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.crowd:
        return print_crowd(*options.crowd)
    if options.verify:
        return print_verification(options.verify)
    if hasattr(os, "sched_setaffinity"):
        core = max(os.sched_getaffinity(0)) if options.core is None else options.core
        os.sched_setaffinity(0, {core})
    rows = [
        measure(env_id, preset, options.seconds, SEEDS * number)
        for number, (env_id, preset) in enumerate(selected(options), 1)
    ]
    report = {
        "machine": machine(),
        "seconds": options.seconds,
        "environments": rows,
        "verification": verification(options.episodes),
    }
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(f"bench_throughput: {error}")
