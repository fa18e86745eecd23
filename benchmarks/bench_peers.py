"""Sokoban side by side with other libraries: whole episodes, steps alone and resets, on one core.

    python benchmarks/bench_peers.py [--peer gem] [--seconds 3] [--rounds 5] [--wall] [--json OUT]
                                     [--venvs DIR [--install]] [--venv gem=/path/to/venv]

Each peer runs in its own virtual environment, in a process that is this file again (`--worker`), so one loop times
both sides. Rounds alternate (peer, ours, peer, ours, ...) on the same core, and only one side runs at any moment. Both
sides play a uniform random policy over the four moves on boards of the same size, boxes and step limit; its draws are
not timed. "whole episodes" includes resets; a step of a side is whatever its user must call to act and see the result.
Time is the CPU time of the process, which other work on the machine disturbs least (both sides are single-threaded and
never wait); `--wall` takes wall-clock time.
A peer that cannot run is skipped with the reason. Nothing is asserted: targets are printed beside the ratios.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import subprocess
import sys
import threading
import venv
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

MOVES = ("Up", "Down", "Left", "Right")
MEASURES = {
    "whole episodes": "steps/s", "steps alone": "steps/s", "resets": "resets/s", "episodes": "episodes/s",
}  # fmt: skip
REPLY_TIMEOUT = 900  # seconds that a peer may take for one round
#: Exact versions, with what the packages need and do not ask for: pkg_resources left setuptools at 81.
PINS = {
    "gem": ["gem-llm==0.1.0"],
    "textarena": ["textarena==0.7.4", "numpy==2.4.6"],
    "gym-sokoban": ["gym-sokoban==0.0.6", "gym==0.26.2", "numpy==2.4.6", "setuptools==80.9.0"],
}


@dataclass(frozen=True)
class Setting:
    """One comparison. `limit` is the peer's own step limit; `targets` are the ratios we aim at, by measure."""

    peer: str
    peer_id: str
    rows: int
    cols: int
    boxes: int
    limit: int
    min_episodes: int = 20  # per round, however long they take
    preset: str = "default"
    actions: tuple[str, ...] = MOVES
    note: str = ""
    targets: dict[str, float] = field(default_factory=dict)


SETTINGS = (
    Setting("gem", "game:Sokoban-v0-easy", 6, 6, 2, 20, targets={"whole episodes": 100, "steps alone": 10}),
    Setting("gem", "game:Sokoban-v0-hard", 8, 8, 4, 50, 4, targets={"whole episodes": 1000, "steps alone": 10}),
    Setting("textarena", "Sokoban-v0", 6, 6, 3, 30, 10, note="the peer ends at the second move in a row into a wall"),
    Setting(
        "gym-sokoban", "SokobanEnv", 10, 10, 4, 120, 2, preset="gym", targets={"resets": 300},
        actions=("push up", "push down", "push left", "push right"), note="the peer draws pixels (its smallest mode)",
    ),
)  # fmt: skip

Reset = Callable[[int], object]
Step = Callable[[str], bool]  # plays one action; whether the episode is over


# ---- the sides ---------------------------------------------------------------------------------------------------


def open_ours(setting: Setting) -> tuple[Reset, Step, tuple[str, ...]]:
    """This library through `gym.make`, with Gymnasium's default wrappers."""
    import gymnasium

    import agentenvs  # noqa: F401 (registers the ids)

    board = {"rows": setting.rows, "cols": setting.cols, "boxes": setting.boxes, "max_turns": setting.limit}
    env = gymnasium.make("agentenvs/Sokoban-v0", preset=setting.preset, **board)
    for action in setting.actions:
        env.reset(seed=0)
        if not env.step(action)[4]["is_valid"]:
            raise ValueError(f"our own env does not know the action {action!r}")

    def step(action: str) -> bool:
        _, _, terminated, truncated, _ = env.step(action)
        return terminated or truncated

    return lambda seed: env.reset(seed=seed), step, setting.actions


def open_gem(setting: Setting) -> tuple[Reset, Step, tuple[str, ...]]:
    import gem

    env = gem.make(setting.peer_id)

    def step(action: str) -> bool:
        _, _, terminated, truncated, _ = env.step(action)
        return terminated or truncated

    return lambda seed: env.reset(seed=seed), step, tuple(f"\\boxed{{{move.lower()}}}" for move in MOVES)


def open_textarena(setting: Setting) -> tuple[Reset, Step, tuple[str, ...]]:
    import textarena

    env = textarena.make(setting.peer_id)

    def reset(seed: int) -> object:
        env.reset(num_players=1, seed=seed)
        return env.get_observation()

    def step(action: str) -> bool:
        done, _ = env.step(action)
        if not done:
            env.get_observation()
        return done

    return reset, step, tuple(f"[{move.lower()}]" for move in MOVES)


def open_gym_sokoban(setting: Setting) -> tuple[Reset, Step, tuple[str, ...]]:
    import numpy
    from gym_sokoban.envs import SokobanEnv

    board = (setting.rows, setting.cols)
    env = SokobanEnv(dim_room=board, max_steps=setting.limit, num_boxes=setting.boxes, reset=False)

    def reset(seed: int) -> object:
        random.seed(seed)  # its generator draws from both global streams
        numpy.random.seed(seed)
        return env.reset(render_mode="tiny_rgb_array")

    return reset, lambda action: env.step(int(action), observation_mode="tiny_rgb_array")[2], ("1", "2", "3", "4")


PEERS = {"gem": open_gem, "textarena": open_textarena, "gym-sokoban": open_gym_sokoban}


# ---- timing ------------------------------------------------------------------------------------------------------


@dataclass
class Round:
    """What one side did in one round; times in seconds."""

    episodes: int
    steps: int
    reset_s: float
    step_s: float

    def rate(self, measure: str) -> float:
        """Events per second for one of `MEASURES`."""
        total = self.reset_s + self.step_s
        return {
            "whole episodes": self.steps / total,
            "steps alone": self.steps / self.step_s,
            "resets": self.episodes / self.reset_s,
            "episodes": self.episodes / total,
        }[measure]


class Side:
    """A player of random episodes; episode `i` is the same in every run."""

    def __init__(self, opened: tuple[Reset, Step, tuple[str, ...]], limit: int) -> None:
        self.reset, self.step, self.actions = opened
        self.limit, self.episode = limit, 0

    def play(self, seconds: float, min_episodes: int, wall: bool = False) -> Round:
        """Whole episodes until both `seconds` of timed work and `min_episodes` are reached."""
        done = Round(0, 0, 0.0, 0.0)
        reset, step, clock = self.reset, self.step, perf_counter if wall else process_time
        while done.episodes < min_episodes or done.reset_s + done.step_s < seconds:
            # Twice the limit, since a peer may not count refused moves.
            actions = random.Random(self.episode).choices(self.actions, k=2 * self.limit + 2)
            began = clock()
            reset(self.episode)
            started = clock()
            for count, action in enumerate(actions, 1):  # noqa: B007 (used below)
                if step(action):
                    break
            ended = clock()
            self.episode += 1
            done.episodes += 1
            done.steps += count
            done.reset_s += started - began
            done.step_s += ended - started
        return done


def pin(core: int | None) -> None:
    """Keep this process, and those it starts, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if core is None else core})


def work(index: int) -> None:
    """The peer's process: one JSON line in, one out, on the standard streams."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the peers print: keep it out of the answers
    setting = SETTINGS[index]
    side = Side(PEERS[setting.peer](setting), setting.limit)
    names = [requirement.split("==")[0] for requirement in PINS[setting.peer]]
    versions = {name: importlib.metadata.version(name) for name in names}
    print(json.dumps({"python": platform.python_version()} | versions), file=answers)
    for line in sys.stdin:
        print(json.dumps(asdict(side.play(**json.loads(line)))), file=answers)


class Worker:
    """A peer in its own interpreter."""

    def __init__(self, python: Path, index: int) -> None:
        command = [str(python), str(Path(__file__).resolve()), "--worker", str(index)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
            env={key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        )  # fmt: skip
        self.errors: list[str] = []
        threading.Thread(target=self._drain, daemon=True).start()
        self.versions = self._answer()

    def play(self, seconds: float, min_episodes: int, wall: bool = False) -> Round:
        request = {"seconds": seconds, "min_episodes": min_episodes, "wall": wall}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return Round(**self._answer())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def _drain(self) -> None:
        for line in self.process.stderr:
            self.errors = [*self.errors[-9:], line.strip()]

    def _answer(self) -> dict:
        timer = threading.Timer(REPLY_TIMEOUT, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            self.process.wait()
            raise RuntimeError(next(filter(None, reversed(self.errors)), f"no answer in {REPLY_TIMEOUT} s"))
        return json.loads(line)


# ---- the comparison ----------------------------------------------------------------------------------------------


def compare(setting: Setting, python: Path, seconds: float, rounds: int, wall: bool) -> dict:
    """Alternate rounds of the peer and of ours; either may be missing, with a reason."""
    result = {"setting": asdict(setting), "skipped": None, "ours_skipped": None, "peer": [], "ours": []}
    try:
        if not python.is_file():
            raise RuntimeError(f"no interpreter at {python}; see --install")
        worker = Worker(python, SETTINGS.index(setting))
    except (OSError, RuntimeError) as error:
        return result | {"skipped": str(error)}
    try:
        ours = Side(open_ours(setting), setting.limit)
    except Exception as error:  # whatever is wrong with ours, the peer's numbers are worth having
        ours, result["ours_skipped"] = None, f"{type(error).__name__}: {error}"
    sides = [("peer", worker, setting.min_episodes)] + ([("ours", ours, 20)] if ours else [])
    try:
        for _, side, _ in sides:
            side.play(0.0, 1)  # warm-up
        for _ in range(rounds):
            for name, side, least in sides:
                result[name].append(asdict(side.play(seconds, least, wall)))
    except RuntimeError as error:
        result["skipped"] = str(error)
    finally:
        worker.close()
    return result | {"versions": worker.versions, "table": table(setting, result)}


def table(setting: Setting, result: dict) -> list[dict]:
    """One row a measure: rates over all rounds together, ratios as the median (and range) over pairs of rounds."""
    peer, ours = ([Round(**row) for row in result[side]] for side in ("peer", "ours"))
    rows = []
    for measure, unit in MEASURES.items() if peer else ():
        row = {"measure": measure, "unit": unit, "target": setting.targets.get(measure)}
        row["peer"] = pooled(peer).rate(measure)
        if ours:
            row["ours"] = pooled(ours).rate(measure)
            ratios = [b.rate(measure) / a.rate(measure) for a, b in zip(peer, ours, strict=False)]
            row |= {"ratio": median(ratios), "least": min(ratios), "most": max(ratios)}
            row["pooled"] = row["ours"] / row["peer"]
        rows.append(row)
    return rows


def pooled(rounds: list[Round]) -> Round:
    """All rounds as one."""
    return Round(*(sum(getattr(r, name) for r in rounds) for name in ("episodes", "steps", "reset_s", "step_s")))


def lines(result: dict) -> Iterator[str]:
    """The report on one setting."""
    s = result["setting"]
    note = f"; {s['note']}" if s["note"] else ""
    yield f"\n{s['peer']} {s['peer_id']}: {s['rows']}x{s['cols']}, {s['boxes']} boxes, {s['limit']} steps at most{note}"
    if result["skipped"]:
        yield f"  SKIPPED: {result['skipped']}"
    if result["ours_skipped"]:
        yield f"  ours is missing: {result['ours_skipped']}"
    for side in ("peer", "ours"):
        if result[side]:
            r = pooled([Round(**row) for row in result[side]])
            yield (
                f"  {side}: {r.episodes} episodes of {r.steps / r.episodes:.1f} steps, "
                f"reset {1e3 * r.reset_s / r.episodes:.3f} ms, step {1e6 * r.step_s / r.steps:.2f} µs"
            )
    if result.get("table"):
        head = f"{'median ratio':>13}{'least..most':>20}{'pooled':>10}{'target':>9}"
        yield f"  {'':16}{'peer':>12}{'ours':>14}  {'':11}{head}"
    for row in result.get("table", ()):
        start = f"  {row['measure']:16}{row['peer']:12,.1f}"
        if "ours" not in row:
            yield f"{start}{'-':>14}  {row['unit']}"
            continue
        spread = f"{row['least']:,.1f}..{row['most']:,.1f}"
        target = f">={row['target']:g}" if row["target"] else "-"
        yield (
            f"{start}{row['ours']:14,.1f}  {row['unit']:11}{row['ratio']:12,.1f}x{spread:>20}{row['pooled']:9,.1f}x"
            f"{target:>9}"
        )


def install(peer: str, folder: Path) -> None:
    """A fresh virtual environment with the peer's pinned packages, from PyPI."""
    print(f"installing {peer} into {folder}", flush=True)
    venv.create(folder, with_pip=True)
    subprocess.run([interpreter(folder), "-m", "pip", "install", "-q", *PINS[peer]], check=True)


def interpreter(place: Path) -> Path:
    """The Python of a virtual environment, given its folder or the interpreter itself."""
    return place if place.is_file() else place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", action="append", choices=PINS, help="only this peer (may be repeated)")
    parser.add_argument("--seconds", type=float, default=3.0, help="timed seconds of a side in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wall", action="store_true", help="wall-clock instead of CPU time")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last allowed one)")
    parser.add_argument("--venvs", type=Path, default=Path(".peers"), help="folder of the environments (.peers)")
    parser.add_argument("--venv", action="append", default=[], metavar="NAME=PATH", help="the environment of one peer")
    parser.add_argument("--install", action="store_true", help="create the environments that are missing")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write everything, raw rounds included")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    args = options(argv)
    if args.worker is not None:
        return work(args.worker)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    given = dict(pair.split("=", 1) for pair in args.venv)
    results = []
    for setting in SETTINGS:
        if args.peer and setting.peer not in args.peer:
            continue
        python = interpreter(Path(given.get(setting.peer, args.venvs / setting.peer)).absolute())
        if args.install and setting.peer not in given and not python.is_file():
            install(setting.peer, args.venvs / setting.peer)
        if not results:
            pin(args.core)
        results.append(compare(setting, python, args.seconds, args.rounds, args.wall))
        print(*lines(results[-1]), sep="\n", flush=True)
    machine = {"platform": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version()}
    machine["clock"] = "wall" if args.wall else "cpu"
    if args.json:
        args.json.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
