"""Downloads from a real local HTTP server that misbehaves on request."""

from __future__ import annotations

import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentenvs.core.errors import ConfigError, DataError, InfrastructureError, UnknownName
from agentenvs.datasets import DataFile, Dataset, get, status

CONTENT = {"a.txt": b"alpha" * 200_000, "sub/b.txt": b"beta", "empty": b""}


def make_dataset(content=CONTENT, **changes) -> Dataset:
    files = tuple(DataFile(path, hashlib.sha256(data).hexdigest(), len(data)) for path, data in content.items())
    fields = {"name": "toy", "family": "toys", "version": "1", "licence": "MIT", "homepage": "-", "notes": ""}
    return Dataset(**(fields | {"source": "http://127.0.0.1:9/{path}", "files": files} | changes))


class Site:
    """What the server has and how it behaves; `requests` lists (path, Range header)."""

    def __init__(self) -> None:
        self.content = dict(CONTENT)
        self.requests: list[tuple[str, str | None]] = []
        self.ranges = True
        self.cut: int | None = None  # bytes after which the connection breaks
        self.status: int | None = None
        self.url = ""

    def answer(self, handler) -> None:
        path, span = handler.path.lstrip("/"), handler.headers.get("Range")
        self.requests.append((path, span))
        if self.status or path not in self.content:
            return handler.send_error(self.status or 404)
        data, start = self.content[path], 0
        if span and self.ranges:
            start = int(span.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                return handler.send_error(416)
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            handler.send_response(200)
        handler.send_header("Content-Length", str(len(data) - start))
        handler.end_headers()
        handler.wfile.write(data[start : self.cut])


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            site.answer(self)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *args: None  # clients that hang up are part of the tests
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield site
    server.shutdown()
    server.server_close()


def states(root) -> list[str]:
    return [file.state for file in status(make_dataset(), root)]


def leftovers(root) -> list[str]:
    return sorted(path.name for path in root.rglob("*.part"))


def test_full_download_then_nothing_to_do(site, tmp_path):
    seen = []
    root = get(make_dataset(), base_url=site.url, cache=tmp_path, progress=seen.append)
    assert root == tmp_path / "toy"
    assert {path: (root / path).read_bytes() for path in CONTENT} == CONTENT
    assert states(root) == ["present"] * 3
    assert leftovers(root) == []
    assert [(p.path, p.state) for p in seen if p.state != "running"] == [
        (path, state) for path in CONTENT for state in ("started", "done")
    ]
    assert max(p.done for p in seen) == len(CONTENT["a.txt"])
    seen.clear()
    get(make_dataset(), base_url=site.url, cache=tmp_path, progress=seen.append)
    assert [p.state for p in seen] == ["kept"] * 3
    assert len(site.requests) == 3


def test_official_source_is_the_default(site, tmp_path):
    get(make_dataset(source=site.url + "/{path}"), cache=tmp_path)
    assert len(site.requests) == 3


def test_broken_download_is_resumed(site, tmp_path):
    site.cut = 300_000
    with pytest.raises(InfrastructureError, match="ended after 300000 of 1000000 bytes; run the same again"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert states(tmp_path / "toy") == ["missing"] * 3
    site.cut, seen = None, []
    get(make_dataset(), base_url=site.url, cache=tmp_path, progress=seen.append)
    assert site.requests[1] == ("a.txt", "bytes=300000-")
    assert (seen[0].state, seen[0].done) == ("resumed", 300_000)
    assert states(tmp_path / "toy") == ["present"] * 3


def test_interrupt_keeps_what_came(site, tmp_path):
    def interrupt(progress):
        if progress.state == "running":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(make_dataset(), base_url=site.url, cache=tmp_path, progress=interrupt)
    assert leftovers(tmp_path) == ["a.txt.part"]
    get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert site.requests[1][1] is not None
    assert states(tmp_path / "toy") == ["present"] * 3


def test_range_ignored_by_the_server(site, tmp_path):
    site.ranges = False
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "a.txt.part").write_bytes(b"alpha" * 10)
    get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert site.requests[0] == ("a.txt", "bytes=50-")
    assert states(tmp_path / "toy") == ["present"] * 3


@pytest.mark.parametrize("left", [b"wrong" * 10, b"x" * 1_000_000, b"x" * 2_000_000, CONTENT["a.txt"]])
def test_any_leftover_ends_well(site, tmp_path, left):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "a.txt.part").write_bytes(left)
    get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert states(tmp_path / "toy") == ["present"] * 3
    assert [path for path, _ in site.requests].count("a.txt") == {50: 2, 1_000_000: 1, 2_000_000: 1}[len(left)] - (
        left == CONTENT["a.txt"]
    )


def test_range_that_the_server_cannot_satisfy(site, tmp_path):
    site.content["a.txt"] = b"short"
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "a.txt.part").write_bytes(b"alpha" * 10)
    with pytest.raises(InfrastructureError, match="ended after 5 of"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert [span for _, span in site.requests] == ["bytes=50-", None]


def test_wrong_checksum(site, tmp_path):
    site.content["sub/b.txt"] = b"bete"
    with pytest.raises(DataError, match=r"sub/b.txt: expected 4 bytes with sha256 .*found 4 bytes with"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert states(tmp_path / "toy") == ["present", "missing", "missing"]
    assert leftovers(tmp_path) == []


def test_longer_than_promised(site, tmp_path):
    site.content["empty"] = b"not"
    with pytest.raises(DataError, match="expected 0 bytes, found more"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(("code", "error"), [(404, DataError), (403, DataError), (500, InfrastructureError),
                                             (503, InfrastructureError), (429, InfrastructureError)])  # fmt: skip
def test_http_errors(site, tmp_path, code, error):
    site.status = code
    with pytest.raises(error, match=rf"{site.url}/a.txt: .*HTTP {code}"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)


def test_server_down(tmp_path):
    with pytest.raises(InfrastructureError, match=r"no connection .*--from DIR"):
        get(make_dataset(), cache=tmp_path)


def test_server_that_says_nothing(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InfrastructureError, match=r"no connection .*timed out"):
            get(make_dataset(), base_url=url, cache=tmp_path, timeout_s=0.1)


@pytest.mark.parametrize("url", ["file:///etc", "ftp://h", "h"])
def test_other_schemes_are_refused(tmp_path, url):
    with pytest.raises(ConfigError, match="http"):
        get(make_dataset(), base_url=url, cache=tmp_path)


def test_corrupt_file_is_seen_and_replaced(site, tmp_path):
    root = get(make_dataset(), base_url=site.url, cache=tmp_path)
    (root / "sub/b.txt").write_bytes(b"bete")
    (root / "a.txt").unlink()
    assert states(root) == ["missing", "corrupt", "present"]
    get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert states(root) == ["present"] * 3


def make_folder(root, content=CONTENT):
    for path, data in content.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def test_copy_from_a_folder(tmp_path):
    seen = []
    root = get(make_dataset(), source_dir=make_folder(tmp_path / "from"), cache=tmp_path, progress=seen.append)
    assert states(root) == ["present"] * 3
    assert seen[-1].state == "done"


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"sub/b.txt": b"bete"}, "found 4 bytes with"), ({"sub/b.txt": b"bet"}, "found 3 bytes with"),
     ({"a.txt": b"x" * 1_000_001}, "found more")],
)  # fmt: skip
def test_copy_checks_the_content(tmp_path, changes, message):
    origin = make_folder(tmp_path / "from", CONTENT | changes)
    with pytest.raises(DataError, match=message):
        get(make_dataset(), source_dir=origin, cache=tmp_path)
    assert leftovers(tmp_path) == []


def test_copy_from_a_folder_without_the_file(tmp_path):
    with pytest.raises(DataError, match=r"a.txt: expected the file, found No such file.*own layout"):
        get(make_dataset(), source_dir=tmp_path, cache=tmp_path / "cache")


@pytest.mark.parametrize("path", ["../escaped", "/tmp/escaped", "a/../../escaped"])
def test_hostile_manifest_path(site, tmp_path, path):
    hostile = make_dataset({path: b"x"})
    for options in ({"base_url": site.url}, {"source_dir": tmp_path}):
        with pytest.raises(DataError, match="expected a path inside"):
            get(hostile, cache=tmp_path / "cache", **options)
    assert site.requests == []


def test_symbolic_link_out_of_the_cache(site, tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "toy" / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(DataError, match="expected a path inside"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)
    assert list((tmp_path / "outside").iterdir()) == []


def test_place_that_cannot_be_written(site, tmp_path):
    (tmp_path / "toy").write_text("a file where the folder should be")
    with pytest.raises(InfrastructureError, match="cannot write"):
        get(make_dataset(), base_url=site.url, cache=tmp_path)


def test_unknown_name():
    with pytest.raises(UnknownName):
        get("boxobann")


def test_status_without_any_data(monkeypatch, tmp_path):
    monkeypatch.delenv("AGENTENVS_DATA", raising=False)
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path))
    assert {file.state for file in status("boxoban")} == {"missing"}
