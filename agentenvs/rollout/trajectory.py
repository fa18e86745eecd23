"""`Trajectory`: the record of one episode, one JSON line, complete enough to be played again and checked."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, DataError, quote
from agentenvs.core.info import canonical
from agentenvs.core.snapshot import finite, natural
from agentenvs.core.tools import Parameter, Tool
from agentenvs.policies.base import Exchange, Turn
from agentenvs.rollout.job import Job

SCHEMA_VERSION = 1
_HEAD = f'{{"schema":{SCHEMA_VERSION},'.encode()  # how every line begins


@dataclass(slots=True)
class Step:
    """What one `env.step` did. `digest` covers this step and, through the digest before it, all earlier ones.
    `natives` are the native actions in it, where the action is a reply.

    A step with `restore` set is none of the environment's: it went back to the state after step number `restore`
    (0: the state after reset); it has no action and its observation is the one seen then.
    """

    action: str
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    components: dict[str, float]
    info: dict[str, Any]
    digest: str
    natives: list[str] = field(default_factory=list)
    restore: int | None = None


@dataclass(slots=True)
class Decision:
    """One reply together with what was asked. `step` is the number of the step it led to, None for one that led to
    none (a note, a judgement); `seen` is how many steps had been taken when it was asked, `past` how many earlier
    exchanges of its agent it was shown (0 where the policy needs no history). `observation`, `instructions` and
    `tools` are there where they were not those of the environment and of the record's `spec`; `kept` where not all
    characters of the reply stayed in the transcript."""

    agent: str
    role: str
    number: int
    seed: int
    seen: int
    text: str
    step: int | None = None
    calls: list[str] = field(default_factory=list)
    past: int = 0
    menu: list[str] = field(default_factory=list)
    context: dict[str, str] = field(default_factory=dict)
    observation: str | None = None
    instructions: str | None = None
    tools: list[dict[str, Any]] | None = None
    kept: int | None = None
    prefix: list[int] = field(default_factory=list)
    sampling: dict[str, Any] = field(default_factory=dict)
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    choices: list[dict[str, Any]] | None = None
    finish_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    policy_version: str | None = None


@dataclass(slots=True)
class Trajectory:
    """One played episode.

    `spec` says what it was played with: package version, preset, configuration, codec, instructions, tools, hash of
    the data. `usage` counts steps, resets, restores, undone steps and tokens. `score`, `success` and `total_reward`
    are those of the last state; undone steps do not count. A void episode has `end_reason` "void" and no score.
    """

    job: Job
    spec: dict[str, Any]
    observation: str
    info: dict[str, Any]
    steps: list[Step]
    decisions: list[Decision]
    end_reason: str
    score: float
    success: bool
    total_reward: float
    usage: dict[str, int]
    digest: str
    origin: str = ""
    part: int = 0
    parts: int = 1

    def to_json(self) -> dict[str, Any]:
        """The trajectory as JSON data; absent values are left out."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body["job"] = self.job.to_json()
        body["steps"] = [_slim(step, _STEP_FIELDS) for step in self.steps]
        body["decisions"] = [_slim(decision, _DECISION_FIELDS) for decision in self.decisions]
        return {"schema": SCHEMA_VERSION, "key": self.job.key, **body}

    def to_line(self) -> str:
        """One line of JSON, without the line break."""
        return json.dumps(self.to_json(), separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, data: Any) -> Trajectory:
        """The trajectory that `to_json` wrote; raises `ConfigError` that names the fault for anything else."""
        if not isinstance(data, dict) or data.get("schema") != SCHEMA_VERSION:
            version = data.get("schema") if isinstance(data, dict) else data
            raise ConfigError(f"trajectory schema: expected {SCHEMA_VERSION}, got {quote(version)}")
        body = {name: value for name, value in data.items() if name not in ("schema", "key")}
        try:
            body["job"] = Job.from_json(body["job"])
            body["steps"] = [Step(**step) for step in body["steps"]]
            body["decisions"] = [Decision(**decision) for decision in body["decisions"]]
            made = cls(**body)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"trajectory: missing or unknown field: {error}") from None
        _check_types(made)
        if data.get("key") != made.job.key:
            raise ConfigError(f"trajectory key: expected that of its job, {made.job.key}, got {quote(data.get('key'))}")
        return made

    def turn(self, i: int) -> Turn:
        """The Turn that decision `i` answered, as the policy saw it.

        Its info holds what the record keeps of it: see `keep` in `collect`.
        """
        decision = self.decisions[i]
        state = self.steps[decision.seen - 1] if decision.seen else self
        shown = state.observation if decision.observation is None else decision.observation
        return Turn(
            episode=self.job.key,
            agent=decision.agent,
            role=decision.role,
            number=decision.number,
            seed=decision.seed,
            instructions=self.spec["instructions"] if decision.instructions is None else decision.instructions,
            tools=tuple(_tool(tool) for tool in (self.spec["tools"] if decision.tools is None else decision.tools)),
            observation=shown,
            info=state.info,
            history=tuple(self._history(i)),
            menu=tuple(decision.menu),
            prefix=tuple(decision.prefix),
            context=decision.context,
            sampling=decision.sampling,
        )

    def _history(self, i: int) -> Iterator[Exchange]:
        own = (j for j in range(i) if self.decisions[j].agent == self.decisions[i].agent)
        for j in itertools.islice(own, self.decisions[i].past):
            yield Exchange(self.turn_observation(j), self.decisions[j].text[: self.decisions[j].kept])

    def turn_observation(self, i: int) -> str:
        """The observation that decision `i` answered."""
        decision = self.decisions[i]
        if decision.observation is not None:
            return decision.observation
        return self.steps[decision.seen - 1].observation if decision.seen else self.observation


def _check_types(made: Trajectory) -> None:
    kinds = {
        "observation": str,
        "spec": dict,
        "info": dict,
        "end_reason": str,
        "score": (int, float),
        "success": bool,
        "total_reward": (int, float),
        "usage": dict,
        "digest": str,
        "origin": str,
        "part": int,
        "parts": int,
    }
    for name, kind in kinds.items():
        value = getattr(made, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ConfigError(f"trajectory {name}: got {quote(getattr(made, name))}")
    if not 0 <= made.part < made.parts:
        raise ConfigError(f"trajectory part: expected 0 <= part < parts, got {made.part} of {made.parts}")
    for step in made.steps:
        _check_fields("step", step, _STEP)
        if step.restore is not None and not natural(step.restore):
            raise ConfigError(f"trajectory step: restore cannot be {quote(step.restore)}")
    for decision in made.decisions:
        _check_fields("decision", decision, _DECISION)
        if decision.seen > len(made.steps) or not (decision.step is None or natural(decision.step)):
            raise ConfigError(f"trajectory decision: seen {decision.seen} and step {quote(decision.step)} do not fit")
        if decision.kept is not None and not (natural(decision.kept) and decision.kept < len(decision.text)):
            raise ConfigError(f"trajectory decision: kept cannot be {quote(decision.kept)}")


def _all(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)


_STEP = {
    **dict.fromkeys(("action", "observation", "digest"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("components", "info"), lambda value: isinstance(value, dict)),
    **dict.fromkeys(("terminated", "truncated"), lambda value: isinstance(value, bool)),
    "reward": finite,
    "natives": lambda value: _all(str, value),
}
_DECISION = {
    **dict.fromkeys(("agent", "role", "text"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("number", "seed", "seen", "past"), natural),
    **dict.fromkeys(("calls", "menu"), lambda value: _all(str, value)),
    "prefix": lambda value: _all(int, value),
    **dict.fromkeys(("context", "sampling", "usage"), lambda value: isinstance(value, dict)),
}


def _check_fields(what: str, record: Any, shape: Mapping[str, Callable[[Any], bool]]) -> None:
    for name, test in shape.items():
        if not test(getattr(record, name)):
            raise ConfigError(f"trajectory {what}: {name} cannot be {quote(getattr(record, name))}")


def _slim(record: Any, fields_of: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record without None, and without those that may be left out and have their default."""
    found = ((name, getattr(record, name), default) for name, default in fields_of.items())
    return {name: value for name, value, default in found if value is not None and value != default}


#: The fields of the records with their defaults, which are left out; None where there is none.
_STEP_FIELDS, _DECISION_FIELDS = (
    {f.name: None if f.default_factory is MISSING else f.default_factory() for f in fields(kind)}
    for kind in (Step, Decision)
)
_DECISION_FIELDS["past"] = 0


def _tool(data: Mapping[str, Any]) -> Tool:
    parameters = tuple(Parameter(**{**p, "choices": tuple(p["choices"])}) for p in data["parameters"])
    return Tool(**{**data, "parameters": parameters})


def chain_digest(previous: str, *parts: Any) -> str:
    """The next link: a digest of the previous one and of the parts, 128 bits in hex."""
    return blake2b(canonical([previous, *parts]).encode(), digest_size=16).hexdigest()


def append(path: Path, trajectories: Iterable[Trajectory]) -> None:
    """Append lines and hand them to the operating system, so that a killed run loses none of them.

    Where not all can be written (a full disk), what was written of them is cut off again before the error is raised.
    """
    lines = "".join(trajectory.to_line() + "\n" for trajectory in trajectories).encode()
    with open(path, "ab", buffering=0) as stream:
        before = stream.tell()
        try:
            while lines:
                lines = lines[stream.write(lines) :]
        except OSError:
            stream.truncate(before)
            raise


def read(path: Path) -> Iterator[Trajectory]:
    """The trajectories of a file; raises `DataError` that names the line."""
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            yield parse_line(line, str(path), number)


def parse_line(line: bytes, source: str, number: int) -> Trajectory:
    """The trajectory on one line."""
    try:
        return Trajectory.from_json(json.loads(line, parse_constant=_no_constant))
    except (ValueError, RecursionError, ConfigError) as error:
        raise DataError(source, f"line {number}", expected="a trajectory", found=str(error)[:200]) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def recover(path: Path) -> tuple[dict[str, list[Trajectory]], int]:
    """What a run that was killed left behind: complete jobs by key of origin, and how many bytes were torn.

    The torn end (a line without its line break, or a job whose later parts are missing) is cut off the file. A file
    that does not look like one of ours is refused and stays as it is.
    """
    if not path.exists():
        return {}, 0
    done: dict[str, list[Trajectory]] = {}
    good = at = 0
    open_parts: list[Trajectory] = []
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            at += len(line)
            if not line.endswith(b"\n"):
                if line[: len(_HEAD)] != _HEAD[: len(line)]:
                    raise DataError(str(path), f"line {number}", expected="a trajectory", found=quote(line[:40]))
                break
            open_parts.append(parse_line(line, str(path), number))
            one, first = open_parts[-1], open_parts[0]
            if (one.origin, one.part, one.parts) != (first.origin, len(open_parts) - 1, first.parts):
                expected = f"part {len(open_parts) - 1} of the job {quote(first.origin)}"
                raise DataError(
                    str(path), f"line {number}", expected=expected, found=f"part {one.part} of {one.origin}"
                )
            if len(open_parts) == open_parts[0].parts:
                done[open_parts[0].origin] = open_parts
                open_parts, good = [], at
    torn = path.stat().st_size - good
    if torn:
        os.truncate(path, good)
    return done, torn
