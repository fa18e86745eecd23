"""Bundles: one file that holds a whole submission, read as hostile data.

A bundle is a zip archive of exactly the files in `FILES`. Nothing is ever extracted: members are read in place, under
limits on their size, so that a path cannot climb and an archive cannot expand without end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from agentenvs._version import __version__
from agentenvs.core.errors import ConfigError, DataError, VerificationError, quote
from agentenvs.core.info import canonical
from agentenvs.leaderboard.card import Card, make_card
from agentenvs.rollout.episode import same
from agentenvs.rollout.trajectory import Trajectory, parse_line

FORMAT, VERSION = "agentenvs.bundle", 1
FILES = ("manifest.json", "card.json", "run.json", "summary.json", "episodes.jsonl")
MAX_TOTAL = 1 << 30
MAX_SMALL = 4 << 20
MAX_LINE = 64 << 20
_MAX_INDEX = 64 << 10  # bytes of the central directory, which is read whole before any limit of ours
_STAMP = (1980, 1, 1, 0, 0, 0)  # no clock: equal runs give equal bundles


@dataclass(frozen=True)
class Bundle:
    """An opened bundle, its small files read and their types checked."""

    path: Path
    card: Card
    run: dict[str, Any]
    summary: dict[str, Any]
    manifest: dict[str, Any]

    def trajectories(self) -> Iterator[Trajectory]:
        """The episodes, one at a time; raises `VerificationError` for what is no record.

        The file is opened anew, so at its end it must still be the one of the manifest. A line must be, byte for byte,
        what this package writes: a record that other readers could read differently (a key that stands twice) is none.
        """
        total = hashlib.sha256()
        for number, line in enumerate(_lines(self.path), 1):
            total.update(line)
            try:
                trajectory = parse_line(line, "episodes.jsonl", number)
                written = trajectory.to_line()
            except (DataError, TypeError, ValueError, OverflowError, RecursionError) as error:
                raise VerificationError("bad_record", str(error)[:300]) from None
            if written.encode() + b"\n" != line:
                raise VerificationError(
                    "bad_record", f"episodes.jsonl, line {number}: not as agentenvs writes a record"
                )
            yield trajectory
        if total.hexdigest() != self.manifest["sha256"]["episodes.jsonl"]:
            raise VerificationError("wrong_hash", "episodes.jsonl: the file was changed while it was read")


def write_bundle(run: Path, card: Card, out: Path) -> Path:
    """Bundle the finished run in the folder `run`."""
    for name in ("run.json", "summary.json", "episodes.jsonl"):
        if not (run / name).is_file():
            raise ConfigError(f"{run} holds no finished run: {name} is missing; finish it with agentenvs eval")
    contents: dict[str, bytes] = {"card.json": _dump(card.to_json())}
    contents |= {name: (run / name).read_bytes() for name in ("run.json", "summary.json", "episodes.jsonl")}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "package": __version__,
        "episodes": contents["episodes.jsonl"].count(b"\n"),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())},
    }
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; name a file for the bundle")
    temporary = out.with_name(out.name + ".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            content = _dump(manifest) if name == "manifest.json" else contents[name]
            archive.writestr(zipfile.ZipInfo(name, _STAMP), content, zipfile.ZIP_DEFLATED)
    temporary.replace(out)
    return out


def read_bundle(path: Path) -> Bundle:
    """Open a bundle (a zip file, or a folder that holds `bundle.zip`) and check all but its episodes."""
    path = path / "bundle.zip" if path.is_dir() else path
    with _archive(path) as archive:
        _check_members(archive)
        small = {name: _json(archive, name) for name in FILES if name.endswith(".json")}
        manifest = small["manifest.json"]
        _check_manifest(archive, manifest)
    try:
        card = make_card(small["card.json"], "card.json")
    except ConfigError as error:
        raise VerificationError("bad_card", str(error)) from None
    return Bundle(path, card, small["run.json"], small["summary.json"], manifest)


def _archive(path: Path) -> zipfile.ZipFile:
    if not path.is_file():
        raise VerificationError("unreadable", f"there is no file {path}")
    try:
        _check_frame(path)
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        raise VerificationError("unreadable", f"{path.name} is no zip archive: {error}") from None


def _check_frame(path: Path) -> None:
    """Refuse an archive with anything before its first member or after its index, and an index without end.

    Readers that begin at the front and readers that begin at the end must find the same archive.
    """
    size = path.stat().st_size
    if size > MAX_TOTAL:
        raise VerificationError("too_large", f"{size} bytes; at most {MAX_TOTAL} are read")
    with open(path, "rb") as stream:
        head = stream.read(4)
        stream.seek(max(0, size - 22))
        mark, *_, length, offset, comment = struct.unpack("<4s4H2LH", stream.read(22))
    if (head, mark, comment, offset + length + 22) != (b"PK\3\4", b"PK\5\6", 0, size):
        raise zipfile.BadZipFile("it must begin with a member and end with its index, without a comment")
    if length > _MAX_INDEX:
        raise VerificationError("too_large", f"an index of {length} bytes; at most {_MAX_INDEX} are read")


@contextlib.contextmanager
def _member(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    """A member to read from; whatever a damaged archive raises says that it is unreadable."""
    try:
        with archive.open(name) as stream:
            yield stream
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise VerificationError("unreadable", f"{name}: {error}") from None


def _check_members(archive: zipfile.ZipFile) -> None:
    names = [member.filename for member in archive.infolist()]
    for name in names:
        if name.startswith(("/", "\\")) or ".." in name or "\\" in name or ":" in name:
            raise VerificationError("unsafe_path", f"a member is called {quote(name)}")
        if name not in FILES:
            raise VerificationError("unknown_file", f"{quote(name)}; a bundle holds {', '.join(FILES)}")
    if len(set(names)) < len(names):
        raise VerificationError("unknown_file", "a member stands twice in the archive")
    if missing := [name for name in FILES if name not in names]:
        raise VerificationError("missing_file", ", ".join(missing))
    for member in archive.infolist():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise VerificationError("unreadable", f"{member.filename}: expected deflated or stored, not encrypted")
    if (total := sum(member.file_size for member in archive.infolist())) > MAX_TOTAL:
        raise VerificationError("too_large", f"{total} bytes unpacked; at most {MAX_TOTAL} are read")


def _json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    content = _read(archive, name)
    try:
        value = json.loads(content, object_pairs_hook=_unique)
        canonical(value)  # finite, and not too deeply nested
    except (ValueError, RecursionError) as error:
        raise VerificationError("bad_record", f"{name}: {error}"[:300]) from None
    if not isinstance(value, dict):
        raise VerificationError("bad_record", f"{name}: expected an object, got {quote(value)}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MAX_SMALL:
        raise VerificationError("too_large", f"{name} has more than {MAX_SMALL} bytes")
    with _member(archive, name) as stream:
        content = stream.read(MAX_SMALL + 1)
    if len(content) > MAX_SMALL:
        raise VerificationError("too_large", f"{name} has more than {MAX_SMALL} bytes")
    return content


def _check_manifest(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    found = [manifest.get("format"), manifest.get("version")]
    if not same(found, [FORMAT, VERSION]):
        raise VerificationError("bad_record", f"manifest.json: expected {FORMAT} {VERSION}, got {quote(found)}")
    if strange := set(manifest) - {"format", "version", "package", "episodes", "sha256"}:
        raise VerificationError("bad_record", f"manifest.json: unknown key {quote(min(strange))}")
    hashes = manifest.get("sha256")
    if not isinstance(hashes, dict) or set(hashes) != set(FILES) - {"manifest.json"}:
        raise VerificationError("bad_record", "manifest.json: expected the sha256 of every other file")
    for name, expected in hashes.items():
        with _member(archive, name) as stream:
            found = _digest(stream, name)
        if found != expected:
            raise VerificationError("wrong_hash", f"{name}: expected sha256 {quote(expected, 70)}, got {found}")


def _digest(stream: IO[bytes], name: str) -> str:
    """The sha256 of a member; the declared size may lie, so bytes are counted as they come."""
    total, count = hashlib.sha256(), 0
    while piece := stream.read(1 << 20):
        count += len(piece)
        if count > MAX_TOTAL:
            raise VerificationError("too_large", f"{name} has more than {MAX_TOTAL} bytes")
        total.update(piece)
    return total.hexdigest()


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the episodes, never more than `MAX_LINE` bytes of them in memory."""
    with _archive(path) as archive, _member(archive, "episodes.jsonl") as stream:
        while line := stream.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise VerificationError("too_large", f"an episode has more than {MAX_LINE} bytes")
            yield line


def _dump(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()
