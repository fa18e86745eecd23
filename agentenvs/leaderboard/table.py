"""The table of a suite: verified submissions and published numbers, as one HTML page and as Markdown."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError, VerificationError, quote
from agentenvs.core.snapshot import finite
from agentenvs.evaluation.runner import write_json
from agentenvs.evaluation.suite import load_suite
from agentenvs.leaderboard.bundle import read_bundle
from agentenvs.leaderboard.page import TIERS, Frame, Replay, Row, Score, build_page
from agentenvs.leaderboard.verify import Verified
from agentenvs.rollout.episode import same
from agentenvs.rollout.trajectory import Trajectory

REPLAYS = 20  # episodes a row that the page carries, failures first


def store(verified: Verified, root: Path) -> Path:
    """Put a verified submission into `root/<suite>/submissions/<name>/`; refuses to replace another one.

    One that lies there already keeps its tier if that is the higher one.
    """
    folder = root / verified.suite.name / "submissions" / verified.bundle.card.name
    target, record = folder / "bundle.zip", verified.to_json()
    if target.exists() and target.read_bytes() != verified.bundle.path.read_bytes():
        raise ConfigError(f"{folder} holds another submission of that name; change the card's name")
    folder.mkdir(parents=True, exist_ok=True)
    if target.resolve() != verified.bundle.path.resolve():
        copied = Path(shutil.copyfile(verified.bundle.path, folder / "bundle.zip.tmp"))
        if read_bundle(copied).manifest != verified.bundle.manifest:
            copied.unlink()
            raise VerificationError("wrong_hash", f"{verified.bundle.path} was changed while it was verified")
        os.replace(copied, target)
    if (folder / "verified.json").exists():
        record["tier"] = max(record["tier"], _stored(folder)["tier"], key=list(TIERS).index)
    write_json(folder / "verified.json", record)
    return folder


def _stored(folder: Path) -> dict[str, Any]:
    """The `verified.json` of a submission's folder; raises `ConfigError` where it is not one of its bundle."""
    file = folder / "verified.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not JSON: {error}") from None
    bundle = read_bundle(folder)
    tiers = [tier for tier in TIERS if tier != "reported"]
    if not isinstance(data, dict) or data.get("tier") not in tiers:
        raise ConfigError(f"{file}: expected a tier of {', '.join(tiers)}")
    held = {"tier": data["tier"], "card": bundle.card.to_json(), "summary": bundle.summary}
    if not same(data, held):
        raise ConfigError(f"{file} is not that of its bundle; verify it again: agentenvs verify {folder} --into ...")
    return data


def build(root: Path, suite_name: str) -> tuple[Path, Path]:
    """Write `root/<suite>/index.html` and `table.md` from what lies there; returns their paths."""
    folder = root / suite_name
    if not folder.is_dir():
        raise ConfigError(
            f"no leaderboard in {folder}; put a verified submission there: agentenvs verify FILE --into {root}"
        )
    suite = load_suite(suite_name)
    rows = [*_verified_rows(folder), *_reported_rows(folder)]
    notes = [
        "Scores are means with 95% intervals, clustered by task.",
        "Every verified row was played again, step by step, before it was put here.",
        "Reported rows are the numbers of papers; nothing here has checked them.",
    ]
    page = build_page(f"{suite.name} v{suite.version}", suite.description, rows, notes)
    (folder / "index.html").write_text(page, encoding="utf-8")
    (folder / "table.md").write_text(_markdown(suite.name, rows), encoding="utf-8")
    return folder / "index.html", folder / "table.md"


def _verified_rows(folder: Path) -> Iterator[Row]:
    for record in sorted(folder.glob("submissions/*/verified.json")):
        data = _stored(record.parent)
        card, summary = data["card"], data["summary"]
        replays, omitted = _replays(record.parent)
        partial = summary["episodes"]  # its tasks are not those of the other rows, so it has no overall score, no rank
        name = card["name"] + (f" (first {partial} tasks)" if partial else "")
        yield Row(
            name=name,
            policy=_policy(card["policy"], summary),
            tier=data["tier"],
            overall=None if partial else _score(summary["overall"].get("score")),
            entries={e: s for e, entry in summary["entries"].items() if (s := _score(entry.get("score")))},
            episodes=sum(entry["n_episodes"] for entry in summary["entries"].values()),
            date=card["date"],
            code=card["code"],
            source="",
            replays=replays,
            replays_omitted=omitted,
        )


def _policy(told: str, summary: dict[str, Any]) -> str:
    """The policy as the card tells it, with what the run recorded where that is another name, and the run's seed."""
    more = [f"run as {summary['policy']}"] if summary["policy"] != told else []
    more += [f"seed {summary['seed']}"] if summary["seed"] else []
    return f"{told} ({', '.join(more)})" if more else told


def _score(figure: dict[str, float] | None) -> Score | None:
    return Score(figure["value"], figure["low"], figure["high"]) if figure else None


def _replays(folder: Path) -> tuple[tuple[Replay, ...], int]:
    """Replays of a submission: failures first, then successes, in suite order."""
    found = {False: [], True: []}
    count = 0
    for trajectory in read_bundle(folder).trajectories():
        count += 1
        if len(found[trajectory.success]) < REPLAYS:
            found[trajectory.success].append(_replay(trajectory))
    shown = (found[False][: REPLAYS // 2] + found[True])[:REPLAYS]
    return tuple(shown), count - len(shown)


def _replay(trajectory: Trajectory) -> Replay:
    frames = [Frame("", trajectory.observation, 0.0)]
    for step in trajectory.steps:
        action = f"back to step {step.restore}" if step.restore is not None else " · ".join(step.natives) or step.action
        reply = step.action if step.natives else ""
        frames.append(Frame(action, step.observation, step.reward, reply, bool(step.info.get("is_valid", True))))
    return Replay(
        task=trajectory.job.task + (f" #{trajectory.job.repetition + 1}" if trajectory.job.repetition else ""),
        score=trajectory.score,
        success=trajectory.success,
        end_reason=trajectory.end_reason,
        total_reward=trajectory.total_reward,
        frames=tuple(frames),
    )


def _reported_rows(folder: Path) -> Iterator[Row]:
    """The rows of `reported.toml`: `[[row]]` with name, policy, source, a table of scores by entry, and `overall` where
    the paper prints the mean over all entries."""
    file = folder / "reported.toml"
    if not file.exists():
        return
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8")).get("row", [])
        for row in rows:
            mean = [row["overall"]] if "overall" in row else []
            if strange := [v for v in (*row["scores"].values(), *mean) if not finite(v)]:
                raise TypeError(f"{strange[0]!r} is no number")
            if strange := [v for n, v in row.items() if n not in ("scores", "overall") and not isinstance(v, str)]:
                raise TypeError(f"{strange[0]!r} is no text")
            yield Row(
                name=row["name"],
                policy=row["policy"],
                tier="reported",
                overall=Score(mean[0], mean[0], mean[0]) if mean else None,
                entries={entry: Score(value, value, value) for entry, value in row["scores"].items()},
                episodes=0,
                date=row.get("date", ""),
                code="",
                source=row["source"],
                replays=(),
            )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        expected = "[[row]] with name, policy, source and scores = {entry = number}"
        raise ConfigError(f"{file}: expected {expected}; {quote(error)}") from None


def _markdown(title: str, rows: list[Row]) -> str:
    """The same table in Markdown, verified rows by overall score, reported ones apart."""
    entries = list(dict.fromkeys(entry for row in rows for entry in row.entries))
    lines = [f"# {_cell(title)}", ""]
    for heading, kept in (
        ("Verified", [row for row in rows if row.tier != "reported"]),
        ("Reported by papers, not verified", [row for row in rows if row.tier == "reported"]),
    ):
        if not kept:
            continue
        kept.sort(key=lambda row: (-(row.overall.value if row.overall else -1.0), row.name))
        lines += [f"## {heading}", "", f"| name | policy | tier | overall | {' | '.join(map(_cell, entries))} |"]
        lines += ["|" + " --- |" * (4 + len(entries))]
        for row in kept:
            scores = [row.overall, *(row.entries.get(entry) for entry in entries)]
            cells = [_cell(row.name), _cell(row.policy), row.tier, *map(_figure, scores)]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _figure(score: Score | None) -> str:
    if score is None:
        return "-"
    return f"{score.value:.3f}" if score.low == score.high else f"{score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"


def _cell(text: Any) -> str:
    """Text that cannot break out of a Markdown table cell, and is shown as it stands: no link, image, markup or maths.

    A dot after `www`, a colon before `//` and an `@` would make links by themselves.
    """
    safe = "".join(char if char.isprintable() else " " for char in str(text))
    safe = re.sub(r"[\\`*_~$|\[\]]", r"\\\g<0>", safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return re.sub(r":(?=//)|(?<=www)\.|@", lambda found: f"&#{ord(found[0])};", safe, flags=re.IGNORECASE)
