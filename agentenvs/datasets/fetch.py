"""Getting data sets: file by file, resumable, checked, from the official source or from a local folder.

A file appears under its name only when size and sha256 are right; until then it is a `.part`, from which an
interrupted download goes on. Standard library only.
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from agentenvs.core.errors import ConfigError, DataError, InfrastructureError
from agentenvs.datasets import locate
from agentenvs.datasets.manifest import PART, DataFile, Dataset, dataset, is_safe

CHUNK = 1 << 18  # bytes
TIMEOUT_S = 30.0  # seconds without a byte


@dataclass(frozen=True, slots=True)
class FileStatus:
    """How one file of a data set lies on disk."""

    path: str
    state: Literal["present", "missing", "corrupt"]
    size: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A report on one file: `done` of its `size` bytes are here. "kept" means it was already there."""

    path: str
    state: Literal["kept", "started", "resumed", "running", "done"]
    done: int
    size: int


Report = Callable[[Progress], None]


def get(
    name: str | Dataset,
    *,
    source_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Path:
    """Bring a data set into `<cache>/<name>` and return that folder; files that are there and right are kept.

    From `source_dir` (a local copy with the manifest's layout) if given, else below `base_url` (a mirror), else from
    the official source. Raises `DataError` for content that is not what the manifest says, `InfrastructureError` for
    a source that does not answer; calling again goes on where it stopped.
    """
    data = name if isinstance(name, Dataset) else dataset(name)
    if base_url is not None and not base_url.lower().startswith(("http://", "https://")):
        raise ConfigError("base URL: expected http:// or https://")
    root = (Path(cache).expanduser() if cache is not None else locate.cache_dir()) / data.name
    report = progress or (lambda _: None)
    for file in data.files:
        target = _inside(root, file.path)
        if _state(target, file) == "present":
            report(Progress(file.path, "kept", file.size, file.size))
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if source_dir is None:
                _download(data.url(file.path, base_url), target, file, report, timeout_s)
            else:
                _copy(_inside(Path(source_dir).expanduser(), file.path, links=True), target, file, report)
        except OSError as error:  # of the disk: those of the network are caught where they happen
            raise InfrastructureError(f"cannot write {target}: {error.strerror or error}") from None
    return root


def status(name: str | Dataset, data_dir: str | os.PathLike[str] | None = None) -> list[FileStatus]:
    """The state of every file, content included, where `locate.find` finds the data set (else in the cache)."""
    data = name if isinstance(name, Dataset) else dataset(name)
    root = locate.find(data.name, data_dir) or locate.candidates(data.name, data_dir)[-1]
    return [FileStatus(file.path, _state(root / file.path, file), file.size) for file in data.files]


def _state(target: Path, file: DataFile) -> Literal["present", "missing", "corrupt"]:
    if not target.is_file():
        return "missing"
    good = target.stat().st_size == file.size and locate.digest(target) == file.sha256
    return "present" if good else "corrupt"


def _inside(root: Path, path: str, *, links: bool = False) -> Path:
    """`root/path`, refused if it leaves `root` by its text or, unless `links` are allowed, through a symbolic link."""
    target = root / path
    if not is_safe(path) or not (links or target.resolve().is_relative_to(root.resolve())):
        raise DataError(str(root), path, expected="a path inside the data set's folder", found="one that leaves it")
    return target


def _copy(origin: Path, target: Path, file: DataFile, report: Report) -> None:
    try:
        stream = open(origin, "rb")  # noqa: SIM115 (closed below, apart from the errors of writing)
    except OSError as error:
        raise DataError(
            str(origin.parent), origin.name, expected="the file", found=error.strerror or str(error),
            fix="give the folder that has the data set's own layout",
        ) from None  # fmt: skip
    with closing(stream):
        report(Progress(file.path, "started", 0, file.size))
        _write(stream, _part(target), file, 0, str(origin), report)
    _finish(target, file, str(origin), report)


def _download(url: str, target: Path, file: DataFile, report: Report, timeout_s: float) -> None:
    part = _part(target)
    have = part.stat().st_size if part.exists() else 0
    if _state(part, file) != "present":
        have = _transfer(url, part, file, have if have < file.size else 0, report, timeout_s)
    try:
        _finish(target, file, url, report)
    except DataError:
        if not have:
            raise
        # What an earlier run left may be the fault: once more, from the start.
        _transfer(url, part, file, 0, report, timeout_s)
        _finish(target, file, url, report)


def _transfer(url: str, part: Path, file: DataFile, have: int, report: Report, timeout_s: float) -> int:
    """Fill `part` from byte `have` on; returns the byte at which the server really began (0 if it ignores ranges)."""
    headers = {"User-Agent": "agentenvs", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with closing(_open(Request(url, headers=headers), url, timeout_s)) as response:
        begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if response.status == 206 and not (have and begins):
            raise DataError(url, "", expected=f"the bytes from {have} on", found="another part of the file")
        have = have if response.status == 206 else 0
        report(Progress(file.path, "resumed" if have else "started", have, file.size))
        came = _write(response, part, file, have, url, report)
    if came < file.size:
        raise InfrastructureError(f"{url}: ended after {came} of {file.size} bytes; run the same again to go on")
    return have


def _open(request: Request, url: str, timeout_s: float) -> http.client.HTTPResponse:
    try:
        return urlopen(request, timeout=timeout_s)
    except HTTPError as error:
        error.close()
        if error.code == 416 and request.has_header("Range"):  # nothing after what we have: begin anew
            headers = {key: value for key, value in request.header_items() if key != "Range"}
            return _open(Request(url, headers=headers), url, timeout_s)
        if error.code >= 500 or error.code in (408, 425, 429):
            raise InfrastructureError(f"{url}: the server answered HTTP {error.code}; try again later") from None
        raise DataError(url, "", expected="the file", found=f"HTTP {error.code}") from None
    except (URLError, OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error or type(error).__name__
        raise InfrastructureError(
            f"{url}: no connection ({reason}); a local copy can be used with --from DIR"
        ) from None


def _pieces(stream: BinaryIO | http.client.HTTPResponse, origin: str) -> Iterator[bytes]:
    """The rest of `stream`; a connection that breaks is an error that keeps what has come."""
    read = getattr(stream, "read1", stream.read)
    try:
        while piece := read(CHUNK):
            yield piece
    except (OSError, http.client.HTTPException) as error:
        raise InfrastructureError(
            f"{origin}: broke off ({error or type(error).__name__}); run the same again"
        ) from None


def _write(stream: BinaryIO, part: Path, file: DataFile, have: int, origin: str, report: Report) -> int:
    """Append `stream` to the first `have` bytes of `part`, never more than the file's size; returns the new length."""
    with open(part, "ab" if have else "wb", buffering=0) as out:
        for piece in _pieces(stream, origin):
            have += len(piece)
            if have > file.size:
                break
            out.write(piece)
            report(Progress(file.path, "running", have, file.size))
        os.fsync(out.fileno())
    if have > file.size:
        part.unlink()
        raise DataError(origin, "", expected=f"{file.size} bytes", found="more")
    return have


def _finish(target: Path, file: DataFile, origin: str, report: Report) -> None:
    """Check `.part` and give it its name in one step."""
    part = _part(target)
    size, found = part.stat().st_size, locate.digest(part)
    if (size, found) != (file.size, file.sha256):
        part.unlink()
        raise DataError(
            origin, "", expected=f"{file.size} bytes with sha256 {file.sha256}", found=f"{size} bytes with {found}",
            fix="this is not the version that the manifest names",
        )  # fmt: skip
    os.replace(part, target)
    report(Progress(file.path, "done", file.size, file.size))


def _part(target: Path) -> Path:
    return target.with_name(target.name + PART)
