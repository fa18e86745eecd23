"""Golden playthroughs: what a policy can observe, pinned in files.

A golden file holds a job and the record of playing it with fixed actions. A change of text, reward or chance shows as
a difference. Files are written once: a preset that is meant to change gets a new revision and a new file.

    python -m agentenvs.testing.golden tests/golden            compare
    python -m agentenvs.testing.golden tests/golden --write    write those that are missing; never overwrites
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError
from agentenvs.core.rng import Stream
from agentenvs.registration import ENTRIES
from agentenvs.rollout.episode import getattr_or_none, same
from agentenvs.rollout.job import Job, attributes_of, make_env
from agentenvs.wrappers.codecs import CODECS

_MAX_STEPS = 40


#: Presets that are not pinned, since their data are not ours to keep; the rules are those of the others.
_OFFICIAL = {"agentenvs/Sokoban-v0": ("boxoban",), "agentenvs/SearchQA-v0": ("mcq",)}


def cases() -> Iterator[tuple[str, Job]]:
    """What is pinned: for each preset of each id native actions and the published protocol; every codec; some more."""
    for entry in ENTRIES:
        for preset in entry.presets():
            if preset not in _OFFICIAL.get(entry.id, ()):
                yield from _preset(entry.id, preset)
    yield from _sokoban()
    yield from _codecs()


def _preset(env_id: str, preset: str) -> Iterator[tuple[str, Job]]:
    kwargs = {"preset": preset}
    source, protocol, family = attributes_of(env_id, kwargs, "source", "protocol", "family")
    task = source.ids("test", 3)[2]
    name = f"{family.replace('_', '-')}-{preset}"
    yield name, Job(env_id, task, kwargs=kwargs)
    yield f"{name}-protocol", Job(env_id, task, kwargs=kwargs, wrappers=protocol)


def _sokoban() -> Iterator[tuple[str, Job]]:
    """The forms of observation that no preset has."""
    env_id = "agentenvs/Sokoban-v0"
    for observation in ("coord", "grid_coord"):
        kwargs = {"preset": "ragen", "observation": observation, "symbols": "letters"}
        task = attributes_of(env_id, kwargs, "source")[0].ids("validation", 1)[0]
        yield f"sokoban-{observation}", Job(env_id, task, kwargs=kwargs)


def _codecs() -> Iterator[tuple[str, Job]]:
    """Every codec, on an environment with two tools."""
    env_id = "agentenvs/SearchQA-v0"
    task = attributes_of(env_id, {}, "source")[0].ids("test", 1)[0]
    for name in CODECS:
        yield f"codec-{name}", Job(env_id, task, wrappers=({"name": "TextActions", "kwargs": {"codec": name}},))


def playthrough(job: Job) -> dict[str, Any]:
    """The record of an episode: a third each of the expert's, random and unreadable actions."""
    env = make_env(job)
    codec, several = getattr_or_none(env, "codec"), getattr_or_none(env, "max_calls") or 1
    observation, info = env.reset(seed=job.seed, options=job.options())
    steps: list[dict[str, Any]] = [{"observation": observation, "info": info}]
    record = {"job": job.to_json(), "instructions": env.get_wrapper_attr("instructions"), "steps": steps}
    stream = Stream("golden", job.task)
    while env.get_wrapper_attr("status") == "playing" and len(steps) <= _MAX_STEPS:
        menu = env.get_wrapper_attr("admissible_actions")()
        turn = len(steps) % 3
        natives = [stream.choice(menu)] if turn == 1 else env.get_wrapper_attr("expert_plan")(several)
        action = "no such action" if turn == 2 else codec.format(natives) if codec else natives[0]
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append(
            {
                "action": action,
                "observation": observation,
                "reward": reward,
                "terminated": terminated,
                "truncated": truncated,
                "info": info,
            }
        )
    env.close()
    return json.loads(json.dumps(record))


def difference(recorded: Mapping[str, Any], played: Mapping[str, Any]) -> str:
    """Where two records part, in one sentence; empty where they are the same, type by type (1 is not 1.0)."""
    for name in ("job", "instructions"):
        if not same(recorded.get(name), played[name]):
            return f"{name}: recorded {recorded.get(name)!r}, played {played[name]!r}"
    for number, (a, b) in enumerate(zip(recorded["steps"], played["steps"], strict=False)):
        for name in sorted({*a, *b}):
            if not same(a.get(name), b.get(name)):
                return f"step {number}, {name}: recorded {a.get(name)!r}, played {b.get(name)!r}"
    if len(recorded["steps"]) != len(played["steps"]):
        return f"recorded {len(recorded['steps'])} steps, played {len(played['steps'])}"
    return ""


def write(path: Path, job: Job) -> None:
    """Write a golden file; raises `ConfigError` where there is one."""
    if path.exists():
        raise ConfigError(f"{path} exists; a changed preset gets a new revision and a new file, not new contents")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(playthrough(job), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m agentenvs.testing.golden", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write the files that are missing")
    options = parser.parse_args(arguments)
    faults = 0
    for name, job in cases():
        path = options.folder / f"{name}.json"
        if not path.exists() and options.write:
            write(path, job)
            print(f"wrote {path}")
        elif not path.exists():
            faults += 1
            print(f"{path}: missing; write it with --write")
        elif fault := difference(json.loads(path.read_text(encoding="utf-8")), playthrough(job)):
            faults += 1
            print(f"{path}: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
