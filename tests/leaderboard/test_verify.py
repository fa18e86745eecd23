"""Submissions: the honest one is accepted, and every kind of cheat is refused for its own reason."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import ConfigError, VerificationError
from agentenvs.evaluation.runner import evaluate
from agentenvs.evaluation.suite import parse_suite
from agentenvs.leaderboard import bundle as bundles
from agentenvs.leaderboard.bundle import write_bundle
from agentenvs.leaderboard.verify import REASONS, reproduce, verify
from agentenvs.policies.base import Reply
from agentenvs.rollout.job import Job

from .conftest import CARD, Forger, change, leaves, refusal


def test_the_honest_bundle_is_accepted_and_its_table_is_the_one_of_the_run(honest: Path, run_folder: Path) -> None:
    verified = verify(honest)
    assert verified.summary == json.loads((run_folder / "summary.json").read_text())
    assert verified.tier == "replayed"


def test_equal_runs_give_equal_bundles(honest: Path, run_folder: Path, tmp_path: Path) -> None:
    assert write_bundle(run_folder, CARD, tmp_path / "again.zip").read_bytes() == honest.read_bytes()


def test_a_forged_manifest_alone_changes_nothing(forge: Callable[[], Forger]) -> None:
    assert verify(forge().write()).summary["policy"] == "random"


# One change in the record of an episode ------------------------------------------------------------------------------


def reply_instead(episode: dict[str, Any]) -> None:
    """Another reply, in decision and step alike, where it makes a difference."""
    step = next(step for step in episode["steps"] if step["info"]["is_effective"])
    other = {"Up": "Down", "Down": "Up", "Left": "Right", "Right": "Left"}[step["action"]]
    number = episode["steps"].index(step)
    step["action"] = episode["decisions"][number]["text"] = other


def rewind(episode: dict[str, Any]) -> None:
    """A return to the start, with the step taken back left out of the count."""
    back = {**episode["steps"][0], "action": "", "observation": episode["observation"], "restore": 0}
    episode["steps"].insert(1, back)


def other_job(episode: dict[str, Any], **fields: Any) -> None:
    """The job with other fields, its keys made to fit."""
    episode["job"].update(fields)
    episode["key"] = episode["origin"] = Job.from_json(episode["job"]).key


FORGERIES: list[tuple[str, Callable[[dict[str, Any]], Any], set[str]]] = [
    ("reward", lambda e: e["steps"][0].update(reward=5.0), {"wrong_reward"}),
    ("component", lambda e: e["steps"][0]["components"].update(box=1.0), {"wrong_reward"}),
    ("total", lambda e: e.update(total_reward=9.0), {"wrong_reward"}),
    ("action", lambda e: e["steps"][0].update(action="Left "), {"wrong_action"}),
    ("reply", reply_instead, {"wrong_observation"}),
    ("observation", lambda e: e["steps"][0].update(observation="solved"), {"wrong_observation"}),
    ("first observation", lambda e: e.update(observation="solved"), {"wrong_observation"}),
    ("digest", lambda e: e["steps"][0].update(digest="0" * 32), {"wrong_digest"}),
    ("first digest", lambda e: e.update(digest="0" * 32), {"wrong_digest"}),
    ("terminated", lambda e: e["steps"][0].update(terminated=True), {"wrong_flag"}),
    ("truncated", lambda e: e["steps"][0].update(truncated=True), {"wrong_flag"}),
    ("validity", lambda e: e["steps"][0]["info"].update(is_valid=False), {"wrong_info"}),
    ("success", lambda e: e.update(success=not e["success"]), {"wrong_score"}),
    ("score", lambda e: e.update(score=0.5), {"wrong_score"}),
    ("end", lambda e: e.update(end_reason="given_up"), {"wrong_end"}),
    ("steps cut", lambda e: (e["steps"].pop(), e["decisions"].pop()), {"wrong_end", "wrong_score", "wrong_reward"}),
    ("step count", lambda e: e["usage"].update(steps=1), {"wrong_count"}),
    ("token count", lambda e: e["usage"].update(completion_tokens=1), {"wrong_count"}),
    ("job seed", lambda e: other_job(e, seed=99), {"wrong_seed"}),
    ("turn seed", lambda e: e["decisions"][0].update(seed=1), {"wrong_seed"}),
    ("task", lambda e: other_job(e, task="sokoban/test/5x5x1d1.9999"), {"unknown_job"}),
    ("branch", lambda e: other_job(e, branch=1), {"unknown_job"}),
    ("prefix", lambda e: other_job(e, start={"prefix": ["Up"]}), {"unknown_job"}),
    ("version", lambda e: e["spec"].update(package="9.9.9"), {"wrong_version"}),
    ("data", lambda e: e["spec"].update(data="0" * 64), {"wrong_data"}),
    ("preset", lambda e: e["spec"].update(preset="tiny.2"), {"wrong_spec"}),
    ("instructions", lambda e: e["spec"].update(instructions="You may pull."), {"wrong_spec"}),
    ("restore", rewind, {"budget_exceeded"}),
    ("void", lambda e: e.update(end_reason="void"), {"void_episode"}),
    ("another part", lambda e: e.update(part=1, parts=2), {"bad_record"}),
    ("no job", lambda e: e.pop("job"), {"bad_record"}),
    ("strange key", lambda e: e.update(bonus=1), {"bad_record"}),
]


@pytest.mark.parametrize(("_", "cheat", "reasons"), FORGERIES, ids=[name for name, *_ in FORGERIES])
def test_a_changed_episode_is_refused(
    forge: Callable[[], Forger], _: str, cheat: Callable[[dict[str, Any]], Any], reasons: set[str]
) -> None:
    forger = forge()
    cheat(next(e for e in forger.episodes if len(e["steps"]) > 2 and e["steps"][0]["components"]["box"] == 0.0))
    assert refusal(forger.write()) in reasons


#: What a record says of how a reply came about; no replay can know it.
CLAIMS = {"menu", "role", "agent", "calls", "context", "finish_reason", "usage", "policy_version", "sampling"}


def test_every_leaf_that_a_replay_can_know_is_checked(forge: Callable[[], Forger]) -> None:
    """The whole kind at once: whatever single value of a record is changed, the bundle is refused."""
    forger = forge()
    whole = forger.episodes
    short = min(range(len(whole)), key=lambda at: len(json.dumps(whole[at])))
    paths = [p for p in leaves(whole[short]) if not (p[0] == "decisions" and len(p) > 2 and p[2] in CLAIMS)]
    assert len(paths) > 60
    for path in paths:
        forger.episodes = json.loads(json.dumps(whole))
        change(forger.episodes[short], path, lambda old: {"odd": 1} if isinstance(old, list) else [old])
        refusal(forger.write())


# The set of episodes ------------------------------------------------------------------------------------------------


def test_a_dropped_episode_is_missed(forge: Callable[[], Forger]) -> None:
    forger = forge()
    del forger.episodes[2]
    assert refusal(forger.write()) == "missing_episode"


def test_a_dropped_episode_with_a_fitting_count_is_missed(forge: Callable[[], Forger]) -> None:
    forger = forge()
    del forger.episodes[2]
    forger.json["manifest.json"]["episodes"] -= 1
    assert refusal(forger.write()) == "wrong_count"


def test_a_doubled_episode_is_refused(forge: Callable[[], Forger]) -> None:
    forger = forge()
    forger.episodes[2] = forger.episodes[3]
    assert refusal(forger.write()) == "duplicate_job"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("seed", 4, "wrong_seed"),
        ("suite_version", 99, "wrong_version"),
        ("suite", "core-v0", "wrong_count"),
        ("suite", "no-such-suite", "bad_record"),
        ("suite", "/etc/passwd.toml", "bad_record"),
        ("episodes", 3, "wrong_count"),
        ("episodes", -1, "bad_record"),
        ("seed", "3", "bad_record"),
        ("policy", "expert", "wrong_summary"),
    ],
)
def test_other_settings_are_refused(forge: Callable[[], Forger], field: str, value: Any, reason: str) -> None:
    forger = forge()
    forger.json["run.json"][field] = value
    assert refusal(forger.write()) == reason


def test_a_better_table_is_refused(forge: Callable[[], Forger]) -> None:
    forger = forge()
    forger.json["summary.json"]["overall"]["score"]["value"] = 1.0
    assert refusal(forger.write()) == "wrong_summary"


@pytest.mark.parametrize(
    ("card", "says"),
    [
        ({"name": "../../etc", "policy": "p", "authors": "a", "date": "2026-01-01"}, "name"),
        ({"name": "x", "policy": "p", "authors": "a", "date": "yesterday"}, "date"),
        ({"name": "x", "policy": "p", "date": "2026-01-01"}, "authors"),
        ({"name": "x", "policy": "p", "authors": "a", "date": "2026-01-01", "polcy": "q"}, "did you mean 'policy'"),
        ({"name": "x", "policy": "p" * 10_000, "authors": "a", "date": "2026-01-01"}, "policy"),
    ],
)
def test_a_bad_card_is_refused(forge: Callable[[], Forger], card: dict[str, str], says: str) -> None:
    forger = forge()
    forger.json["card.json"] = card
    with pytest.raises(VerificationError, match=says) as caught:
        verify(forger.write())
    assert caught.value.reason == "bad_card"


def test_a_manifest_of_another_version_is_refused(forge: Callable[[], Forger]) -> None:
    forger = forge()
    forger.json["manifest.json"]["package"] = "0.0.1"
    assert refusal(forger.write()) == "wrong_version"


def test_a_careless_change_is_caught_by_the_hash(forge: Callable[[], Forger]) -> None:
    forger = forge()
    forger.episodes[0]["score"] = 1.0
    assert refusal(forger.write(fit=False)) == "wrong_hash"


# The archive --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil", "C:evil"])
def test_a_path_that_climbs_is_refused(forge: Callable[[], Forger], name: str) -> None:
    assert refusal(forge().write(more={name: b"x"})) == "unsafe_path"


def test_a_stranger_in_the_archive_is_refused(forge: Callable[[], Forger]) -> None:
    assert refusal(forge().write(more={"extra.py": b"x"})) == "unknown_file"


def test_a_missing_member_is_refused(honest: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(honest) as whole, zipfile.ZipFile(tmp_path / "part.zip", "w") as part:
        for name in whole.namelist()[:-1]:
            part.writestr(name, whole.read(name))
    assert refusal(tmp_path / "part.zip") == "missing_file"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_twice_is_refused(forge: Callable[[], Forger], tmp_path: Path) -> None:
    path = forge().write()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("run.json", b"{}")
    assert refusal(path) == "unknown_file"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello", b"\0" * 1000])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert refusal(tmp_path / "x.zip") == "unreadable"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere.zip") == "unreadable"


def test_a_torn_archive_is_refused(honest: Path, tmp_path: Path) -> None:
    content = honest.read_bytes()
    for keep in (len(content) // 2, len(content) - 1):
        (tmp_path / "torn.zip").write_bytes(content[:keep])
        assert refusal(tmp_path / "torn.zip") == "unreadable"


def test_a_damaged_archive_is_refused(honest: Path, tmp_path: Path) -> None:
    """One byte flipped, anywhere: never a traceback, never accepted as another submission."""
    content = honest.read_bytes()
    summary = verify(honest).summary
    for at in range(0, len(content), len(content) // 40):
        broken = bytearray(content)
        broken[at] ^= 0xFF
        (tmp_path / "broken.zip").write_bytes(broken)
        try:
            assert verify(tmp_path / "broken.zip").summary == summary  # a byte that means nothing, such as a time stamp
        except VerificationError as error:
            assert error.reason in REASONS


def test_an_archive_that_says_it_expands_too_far_is_not_read(
    forge: Callable[[], Forger], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forge().write()
    monkeypatch.setattr(bundles, "MAX_TOTAL", 1_000)
    assert refusal(path) == "too_large"


@pytest.mark.slow
def test_two_gigabytes_of_nothing_are_not_read(honest: Path, tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(honest) as whole, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bomb:
        for name in whole.namelist():
            if name != "episodes.jsonl":
                bomb.writestr(name, whole.read(name))
        with bomb.open("episodes.jsonl", "w", force_zip64=True) as stream:
            for _ in range(2 << 10):
                stream.write(bytes(1 << 20))
    assert path.stat().st_size < 20 << 20
    assert refusal(path) == "too_large"


def test_a_huge_small_file_is_not_read(forge: Callable[[], Forger]) -> None:
    forger = forge()
    forger.json["card.json"]["description"] = "x" * (5 << 20)
    assert refusal(forger.write()) == "too_large"


@pytest.mark.parametrize("line", ["[" * 100_000, "{}", "null", "NaN", "\x00", '{"schema": 1e999}', ""])
def test_a_line_that_is_no_record_is_refused(forge: Callable[[], Forger], line: str) -> None:
    forger = forge()
    path = forger.write()
    content = dict(zip(bundles.FILES, map(forger.files.get, bundles.FILES), strict=True))
    lines = content["episodes.jsonl"].splitlines(keepends=True)
    lines[1] = line.encode() + b"\n"
    forger.files["episodes.jsonl"] = b"".join(lines)
    rewrite(path, forger)
    assert refusal(path) == "bad_record"


def rewrite(path: Path, forger: Forger) -> None:
    """The bundle with the raw bytes of `forger.files`, its manifest made to fit."""
    import hashlib

    manifest = json.loads(forger.files["manifest.json"])
    manifest["sha256"] = {n: hashlib.sha256(c).hexdigest() for n, c in forger.files.items() if n != "manifest.json"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**forger.files, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, content)


# Budgets, tiers, unfinished runs ------------------------------------------------------------------------------------

BUDGETED = """
name = "budgeted"
version = 1
description = "two tasks, few tokens"
[[entry]]
name = "tiny"
id = "agentenvs/Sokoban-v0"
kwargs = { preset = "tiny", max_turns = 3 }
split = "test"
tasks = 2
completion_tokens = 100
"""


class Talker:
    """Spends a number of tokens a turn."""

    name = "talker"

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    def act(self, turns: Any) -> list[Reply]:
        return [Reply("nothing", usage={"completion_tokens": self.tokens}) for _ in turns]


@pytest.mark.parametrize(("tokens", "fits"), [(33, True), (34, False)])
def test_the_token_budget_of_an_episode(tmp_path: Path, tokens: int, fits: bool) -> None:
    suite = parse_suite(BUDGETED, "budgeted")
    evaluate(suite, Talker(tokens), tmp_path / "run")
    path = write_bundle(tmp_path / "run", CARD, tmp_path / "b.zip")
    if fits:
        assert verify(path, suite=suite).summary["entries"]["tiny"]["usage"]["completion_tokens"] == 3 * 2 * tokens
    else:
        assert refusal(path, suite=suite) == "budget_exceeded"


def test_the_tier_reproduced_is_for_a_policy_that_does_the_same_again(honest: Path) -> None:
    verified = verify(honest)
    assert reproduce(verified, "random").tier == "reproduced"
    with pytest.raises(VerificationError, match="not_reproduced"):
        reproduce(verified, "expert")


def test_a_folder_is_no_name_for_a_bundle(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        write_bundle(run_folder, CARD, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_replay_of_the_run_reproduces_nothing(honest: Path, run_folder: Path) -> None:
    with pytest.raises(ConfigError, match="name the policy itself"):
        reproduce(verify(honest), f"replay:{run_folder}")


def test_an_unfinished_run_is_not_bundled(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(ConfigError, match="agentenvs eval"):
        write_bundle(tmp_path / "run", CARD, tmp_path / "b.zip")


@pytest.mark.official
def test_other_levels_are_other_data(official: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle played on the official levels is refused where the files differ in one character."""
    evaluate("boxoban-unfiltered", "expert", tmp_path / "run", episodes=2)
    path = write_bundle(tmp_path / "run", CARD, tmp_path / "b.zip")
    assert verify(path).summary["overall"]["score"]["value"] == 1.0
    folder = tmp_path / "data" / "sokoban" / "boxoban" / "unfiltered" / "test"
    folder.mkdir(parents=True)
    text = (official / "sokoban" / "boxoban" / "unfiltered" / "test" / "000.txt").read_text()
    assert text.count("\n; 999\n") == 1
    (folder / "000.txt").write_text(text.replace("\n; 999\n", "\n;  999\n"))
    monkeypatch.setenv("AGENTENVS_DATA", str(tmp_path / "data"))
    assert refusal(path) == "wrong_data"
