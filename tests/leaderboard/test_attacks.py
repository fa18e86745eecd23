"""Attacks by kind: archives that two readers read differently, values that only look right, files that change."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import ConfigError, InfrastructureError, VerificationError
from agentenvs.evaluation.runner import evaluate
from agentenvs.evaluation.suite import parse_suite
from agentenvs.leaderboard.bundle import FILES, read_bundle, write_bundle
from agentenvs.leaderboard.card import make_card
from agentenvs.leaderboard.table import store
from agentenvs.leaderboard.verify import reproduce, verify

from .conftest import CARD, Forger, change, leaves, refusal

# Values that only look right ----------------------------------------------------------------------------------------


def lookalikes(value: Any) -> Iterator[Any]:
    """Values that Python holds to be equal to `value`, but JSON does not."""
    if isinstance(value, bool):
        yield from (int(value), float(value))
    elif isinstance(value, int):
        yield float(value)
        if value in (0, 1):
            yield bool(value)
    elif isinstance(value, float):
        if value == int(value):
            yield int(value)
        if value == 0:
            yield -0.0
            yield False


def test_a_number_of_another_type_is_another_value(forge: Callable[[], Forger]) -> None:
    """In every place of a record and of the small files: 1 is not 1.0 is not true, 0.0 is not -0.0."""
    forger = forge()
    whole = forger.episodes
    short = min(range(len(whole)), key=lambda at: len(json.dumps(whole[at])))
    tried = 0
    for path in leaves(whole[short]):
        forger.episodes = json.loads(json.dumps(whole))
        value: Any = whole[short]
        for key in path:
            value = value[key]
        for other in lookalikes(value):
            change(forger.episodes[short], path, lambda _, other=other: other)
            refusal(forger.write())
            tried += 1
    forger.episodes = whole
    for name in ("run.json", "manifest.json", "summary.json"):
        for path in leaves(forger.json[name]):
            held = json.loads(json.dumps(forger.json[name]))
            value = held
            for key in path:
                value = value[key]
            for other in lookalikes(value):
                change(forger.json[name], path, lambda _, other=other: other)
                refusal(forger.write())
                tried += 1
            forger.json[name] = held
    assert tried > 80


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e308, "\ud800", "\0", {}, [], [[]], 2**64], ids=range(9))
def test_a_value_out_of_all_bounds_is_refused_in_every_place(forge: Callable[[], Forger], value: Any) -> None:
    forger = forge()
    whole = forger.episodes
    short = min(range(len(whole)), key=lambda at: len(json.dumps(whole[at])))
    claims = {"role", "calls", "menu", "usage"}  # the submitter's own, see `CLAIMS` in test_verify.py
    for path in leaves(whole[short]):
        if path[0] == "decisions" and path[2] in claims:
            continue
        forger.episodes = json.loads(json.dumps(whole))
        change(forger.episodes[short], path, lambda _: value)
        if forger.episodes != whole:
            refusal(forger.write())


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".json")])
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", nested(900), nested(100_000), "9" * 5_000])
def test_a_small_file_with_what_json_has_not_is_refused(forge: Callable[[], Forger], name: str, value: str) -> None:
    forger = forge()
    text = json.dumps(forger.json[name])
    forger.files[name] = f'{text[:-1]}, "odd": {value}}}'.encode()
    assert refusal(raw(forger, fit=name != "manifest.json")) in ("bad_record", "bad_card", "wrong_summary")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".json")])
def test_a_key_that_stands_twice_is_refused(forge: Callable[[], Forger], name: str) -> None:
    forger = forge()
    text = json.dumps(forger.json[name])
    key, value = next(iter(forger.json[name].items()))
    forger.files[name] = f"{{{json.dumps(key)}: {json.dumps(value)}, {text[1:]}".encode()
    assert refusal(raw(forger, fit=name != "manifest.json")) == "bad_record"


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: line.replace(b'{"schema":1,', b'{"schema":1,"score":1.0,', 1),
        lambda line: line.replace(b",", b", ", 1),
        lambda line: b" " + line,
        lambda line: line.replace(b'"sokoban', b'"\\u0073okoban', 1),
        lambda line: line.replace(b"0.0", b"0.00", 1),
        lambda line: b"\xef\xbb\xbf" + line,
        lambda line: line.replace(b"\n", b"\r\n"),
        lambda line: line + b"\n",
    ],
    ids=["key twice", "blank", "indent", "escape", "digits", "byte order mark", "line end", "empty line"],
)
def test_a_record_is_as_we_write_it_byte_for_byte(forge: Callable[[], Forger], edit: Callable[[bytes], bytes]) -> None:
    forger = forge()
    first, *others = forger.files["episodes.jsonl"].splitlines(keepends=True)
    assert edit(first) != first
    forger.files["episodes.jsonl"] = b"".join([edit(first), *others])
    assert refusal(raw(forger)) == "bad_record"


def raw(forger: Forger, *, fit: bool = True) -> Path:
    """The bundle with the bytes of `forger.files`, its manifest made to fit."""
    if fit:
        manifest = json.loads(forger.files["manifest.json"])
        manifest["sha256"] = {
            n: hashlib.sha256(c).hexdigest() for n, c in forger.files.items() if n in manifest["sha256"]
        }
        forger.files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(forger.out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in forger.files.items():
            archive.writestr(name, content)
    return forger.out


# Records ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("_", "cheat", "reason"),
    [
        ("twice", lambda e: e["decisions"].insert(0, e["decisions"][0]), "bad_record"),
        ("swapped", lambda e: e["decisions"].reverse(), "bad_record"),
        ("hindsight", lambda e: e["decisions"][0].update(seen=2), "bad_record"),
        ("validity unsaid", lambda e: e["steps"][0]["info"].pop("is_valid"), "wrong_info"),
        ("no info", lambda e: e["steps"][0].update(info={}), "wrong_info"),
        ("null info", lambda e: e["steps"][0]["info"].update(gold=None), "wrong_info"),
        ("first info", lambda e: e["info"].pop("turn"), "wrong_info"),
    ],
)
def test_a_record_that_tells_another_story_is_refused(
    forge: Callable[[], Forger], _: str, cheat: Callable[[dict[str, Any]], Any], reason: str
) -> None:
    forger = forge()
    cheat(next(e for e in forger.episodes if len(e["steps"]) > 2))
    assert refusal(forger.write()) == reason


def test_episodes_come_in_the_order_of_the_suite(forge: Callable[[], Forger]) -> None:
    forger = forge()
    forger.episodes.reverse()
    assert refusal(forger.write()) == "bad_record"


RESTORING = """
name = "restoring"
version = 1
description = "x"
[[entry]]
name = "tiny"
id = "agentenvs/Sokoban-v0"
kwargs = { preset = "tiny" }
split = "test"
tasks = 2
restores = 1
"""


def back_once(job: Any, stage: Any) -> Any:
    episode = stage.open(job)
    start = episode.mark()
    [reply] = yield [episode.turn()]
    episode.act(reply)
    episode.restore(start)
    while not episode.over:
        [reply] = yield [episode.turn()]
        episode.act(reply)
    return [episode.finish()]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"reward": 1.0},
        {"components": {"box": 1.0}},
        {"terminated": True},
        {"truncated": True},
        {"action": "Up"},
        {"info": {}},
        {"natives": ["Up"]},
        {"observation": "solved"},
    ],
)
def test_a_restore_pays_and_says_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    suite = parse_suite(RESTORING, "restoring")
    evaluate(suite, "random", tmp_path / "run", program=back_once)
    forger = Forger(write_bundle(tmp_path / "run", CARD, tmp_path / "b.zip"), tmp_path / "forged.zip")
    step = next(step for step in forger.episodes[1]["steps"] if step.get("restore") is not None)
    step.update(change)
    if not change:
        assert verify(forger.write(), suite=suite).summary["entries"]["tiny"]["usage"]["restores"] == 2
    else:
        refusal(forger.write(), suite=suite)


# Suites -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".toml", ".toml.toml"])
def test_a_bundle_names_no_suite_file(forge: Callable[[], Forger], tmp_path: Path, ending: str) -> None:
    """A file beside the submission that calls itself `quick` is never read."""
    text = (resources.files("agentenvs.evaluation") / "suites" / "quick.toml").read_text()
    (tmp_path / "quick.toml").write_text(text)
    for name in (tmp_path / f"quick{ending}", f"quick{ending}"):
        forger = forge()
        forger.json["run.json"]["suite"] = forger.json["summary.json"]["suite"] = str(name)
        if str(name) == "quick":
            verify(forger.write())
        else:
            assert refusal(forger.write()) == "bad_record"


def test_a_bundle_of_another_suite_than_the_one_asked_for_is_refused(forge: Callable[[], Forger]) -> None:
    text = (resources.files("agentenvs.evaluation") / "suites" / "quick.toml").read_text()
    assert refusal(forge().write(), suite=parse_suite(text.replace('"quick"', '"slow"'), "slow")) == "bad_record"


# Archives -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_method_of_compression_that_no_bundle_has_is_refused(honest: Path, tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(honest) as whole, zipfile.ZipFile(tmp_path / "x.zip", "w", method) as other:
        for name in whole.namelist():
            other.writestr(name, whole.read(name))
    assert refusal(tmp_path / "x.zip") == "unreadable"


def test_an_encrypted_member_is_refused(honest: Path, tmp_path: Path) -> None:
    content = bytearray(honest.read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(content)
    assert refusal(tmp_path / "x.zip") == "unreadable"


def test_a_local_name_that_is_not_the_one_of_the_index_is_refused(honest: Path, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(honest.read_bytes().replace(b"card.json", b"evil.json", 1))
    assert refusal(tmp_path / "x.zip") == "unreadable"


@pytest.mark.parametrize("where", ["before", "behind", "comment", "two"])
def test_nothing_lies_outside_the_members(honest: Path, tmp_path: Path, where: str) -> None:
    content = honest.read_bytes()
    comment = content[:-2] + (5).to_bytes(2, "little") + b"hello"
    made = {"before": b"#!/bin/sh\n" + content, "behind": content + b"x", "comment": comment, "two": content * 2}[where]
    (tmp_path / "x.zip").write_bytes(made)
    assert refusal(tmp_path / "x.zip") == "unreadable"


def test_an_index_of_many_members_is_not_read(honest: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(honest) as whole, zipfile.ZipFile(tmp_path / "x.zip", "w") as many:
        for name in whole.namelist():
            many.writestr(name, whole.read(name))
        for number in range(2_000):
            many.writestr(f"{number}", b"")
    assert refusal(tmp_path / "x.zip") == "too_large"


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    for path in (tmp_path / "pipe.zip", Path("/dev/zero"), tmp_path):
        assert refusal(path) == "unreadable"


# Files that change --------------------------------------------------------------------------------------------------


def test_what_is_replayed_is_what_was_hashed(forge: Callable[[], Forger], honest: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(honest.read_bytes())
    opened = read_bundle(path)
    forger = forge()
    forger.episodes[0]["decisions"][0]["role"] = "other"
    path.write_bytes(forger.write().read_bytes())
    with pytest.raises(VerificationError, match="wrong_hash"):
        list(opened.trajectories())


def test_what_is_stored_is_what_was_verified(forge: Callable[[], Forger], honest: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(honest.read_bytes())
    verified = verify(path)
    forger = forge()
    forger.json["card.json"]["authors"] = "a thief"
    path.write_bytes(forger.write().read_bytes())
    with pytest.raises(VerificationError, match="wrong_hash"):
        store(verified, tmp_path / "boards")
    assert not list((tmp_path / "boards").rglob("*.*"))


# Cards --------------------------------------------------------------------------------------------------------------

GOOD = {"name": "x", "policy": "p", "authors": "a", "date": "2026-01-01", "description": "two\nlines"}


@pytest.mark.parametrize("field", ["policy", "authors", "code", "budget", "description"])
@pytest.mark.parametrize("char", ["\0", "\x1b", "\r", "\u202e", "\u200b", "\u2066", "\ufeff", "\ud800", "\x85"])
def test_a_card_is_printable(field: str, char: str) -> None:
    make_card(GOOD, "card")
    with pytest.raises(ConfigError, match=f"{field}: expected printable text") as caught:
        make_card({**GOOD, field: f"honest{char}text"}, "card")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["a\n", "A", "а", "a b", "-a", ".a", "ａ", "a/b", "a\u0301", "1" * 65])
def test_a_name_has_one_spelling(name: str) -> None:
    with pytest.raises(ConfigError, match="name: expected"):
        make_card({**GOOD, "name": name}, "card")


@pytest.mark.parametrize(
    "date", ["20260101", "2026-W01-1", "2026-1-1", "2026-01-01T00:00", "01.01.2026", "２０26-01-01"]
)
def test_a_date_has_one_form(date: str) -> None:
    with pytest.raises(ConfigError, match="date: expected YYYY-MM-DD"):
        make_card({**GOOD, "date": date}, "card")


@pytest.mark.parametrize("field", ["policy", "authors"])
def test_a_card_says_who_and_what(field: str) -> None:
    with pytest.raises(ConfigError, match=f"{field} missing"):
        make_card({**GOOD, field: "  "}, "card")


# Reproducing --------------------------------------------------------------------------------------------------------


class Peeping:
    """Wants what only the expert may see, and calls itself the expert."""

    name = "expert"
    needs = frozenset({"private", "expert"})

    def act(self, turns: Sequence[Any]) -> list[str]:
        return [turn.info["expert_action"] for turn in turns]


class Down:
    name = "random"

    def act(self, turns: Sequence[Any]) -> list[str]:
        raise InfrastructureError("the server is down")


def test_only_a_fair_policy_that_answers_can_reproduce(honest: Path, tmp_path: Path) -> None:
    verified = verify(honest)
    with pytest.raises(ConfigError, match="expert"):
        reproduce(verified, Peeping())
    with pytest.raises(ConfigError, match="expert"):
        evaluate("quick", Peeping(), tmp_path / "run")
    with pytest.raises(InfrastructureError, match="the policy failed"):
        reproduce(verified, Down())


# What a turn was asked ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"instructions": "Do as you like."},
        {"tools": []},
        {"kept": 0},
        {"kept": 1},
    ],
    ids=str,
)
def test_a_forged_turn_is_refused(forge: Callable[[], Forger], change: dict[str, Any]) -> None:
    forger = forge()
    for episode in forger.episodes:
        for decision in episode["decisions"]:
            decision.update(change)
    assert refusal(forger.write()) == "wrong_turn"


def test_the_turns_of_phases_and_cut_replies_verify(tmp_path: Path) -> None:
    """A policy that says more than is kept, in an environment whose tools change."""
    suite = parse_suite(
        'name = "phases"\nversion = 1\ndescription = ""\n[[entry]]\nname = "decide"\nid = "agentenvs/SearchQA-v0"\n'
        'split = "test"\ntasks = 4\nwrappers = "protocol"\nkwargs = { preset = "adasearch" }\n',
        "phases",
    )

    class Talker:
        name = "talker"

        def act(self, turns: Sequence[Any]) -> list[str]:
            words = {"decide": "<decide>no</decide>", "search": "<search>the river</search>"}
            return [f"{words[turn.tools[0].name]} and <answer>more</answer>" for turn in turns]

    evaluate(suite, Talker(), tmp_path / "run")
    card = make_card({**CARD.to_json(), "policy": "talker"}, "card")
    bundle = write_bundle(tmp_path / "run", card, tmp_path / "talker.zip")
    verify(bundle, suite=suite)
    decisions = [one for episode in read_bundle(bundle).trajectories() for one in episode.decisions]
    assert {len(decision.tools or ()) for decision in decisions} == {0, 2}
    assert all(decision.text[: decision.kept].endswith("</search>") for decision in decisions if decision.tools)
