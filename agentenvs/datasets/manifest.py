"""What a data set consists of: every file with its size and sha256, from where, under which licence.

A manifest is a TOML file in `manifests/`; adding a data set is adding one. A manifest is checked when it is read, since
its paths become paths on the user's disk.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote as url_quote

from agentenvs.core.errors import DataError, quote, unknown

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
#: Suffix of an unfinished download.
PART = ".part"
_SEGMENT = re.compile(r"[A-Za-z0-9_+,=@-]([A-Za-z0-9_+,=@. -]*[A-Za-z0-9_+,=@-])?")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file: `path` relative to the data set's folder (with '/'), `sha256` in hex, `size` in bytes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set at one version. `source` is a URL with {path} and, where the source has one, {version}."""

    name: str
    family: str
    version: str
    licence: str
    source: str
    homepage: str
    files: tuple[DataFile, ...]
    notes: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    def url(self, path: str, base_url: str | None = None) -> str:
        """Where to get the file at `path`: below `base_url` (a mirror), else from the source."""
        template = self.source if base_url is None else base_url.rstrip("/") + "/{path}"
        return template.replace("{version}", url_quote(self.version)).replace("{path}", url_quote(path))


def parse(text: str, origin: str) -> Dataset:
    """The data set a manifest describes. `origin` names the manifest in errors; raises `DataError`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(origin, "", expected="TOML", found=str(error)) from None
    known = set(Dataset.__dataclass_fields__)
    if stray := sorted(data.keys() - known):
        raise DataError(origin, "", expected=f"the fields {', '.join(sorted(known))}", found=quote(stray[0]))
    fields = {key: _text(origin, key, data.get(key)) for key in sorted(known - {"files", "notes"})}
    for key in ("name", "family"):
        if not NAME.fullmatch(fields[key]):
            raise DataError(origin, key, expected="lower-case letters, digits, _ and -", found=quote(fields[key]))
    if not re.match("https?://", fields["source"]) or "{path}" not in fields["source"]:
        raise DataError(origin, "source", expected="an http(s) URL with {path}", found=quote(fields["source"]))
    notes = _text(origin, "notes", data["notes"]) if "notes" in data else ""
    return Dataset(**fields, files=_files(origin, data.get("files")), notes=notes)


@cache
def datasets() -> dict[str, Dataset]:
    """Every data set this package knows, by name; read once."""
    found = {}
    for entry in sorted(files(__package__).joinpath("manifests").iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml"):
            dataset = parse(entry.read_text("utf-8"), entry.name)
            found[dataset.name] = dataset
    return found


def dataset(name: str) -> Dataset:
    """The data set called `name`; `UnknownName` with the nearest name otherwise."""
    try:
        return datasets()[name]
    except KeyError:
        raise unknown("data set", name, datasets(), see="agentenvs data list") from None


def is_safe(path: str) -> bool:
    """Whether `path` stays below its folder on every system: plain relative segments, no "..", no drive, no device."""
    segments = path.split("/")
    plain = all(_SEGMENT.fullmatch(segment) for segment in segments)
    reserved = any(re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", segment) for segment in segments)
    return len(path) <= 200 and plain and not reserved and not path.lower().endswith(PART)


def _text(origin: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(origin, key, expected="a text", found="nothing" if value is None else quote(value))
    return value


def _files(origin: str, rows: Any) -> tuple[DataFile, ...]:
    if not isinstance(rows, list) or not rows:
        raise DataError(origin, "files", expected="at least one [[files]]", found=quote(rows))
    parsed = tuple(_file(origin, f"files, row {number}", row) for number, row in enumerate(rows, 1))
    taken: set[str] = set()  # lower-case, because some file systems know no other
    for number, file in enumerate(parsed, 1):
        folders = {str(folder).lower() for folder in PurePosixPath(file.path).parents}
        if file.path.lower() in taken or folders & {other.path.lower() for other in parsed}:
            raise DataError(origin, f"files, row {number}", expected="a path of its own", found=quote(file.path))
        taken.add(file.path.lower())
    return parsed


def _file(origin: str, where: str, row: Any) -> DataFile:
    if not isinstance(row, dict) or row.keys() != {"path", "sha256", "size"}:
        raise DataError(origin, where, expected="path, sha256 and size", found=quote(row))
    path, sha256, size = row["path"], row["sha256"], row["size"]
    if not isinstance(path, str) or not is_safe(path):
        raise DataError(origin, where, expected="a plain relative path inside the data set", found=quote(path))
    if not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
        raise DataError(origin, where, expected="sha256 as 64 lower-case hex digits", found=quote(sha256))
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise DataError(origin, where, expected="size in bytes", found=quote(size))
    return DataFile(path, sha256, size)
