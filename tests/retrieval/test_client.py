"""The HTTP client: with our own server, and with servers that are down, slow or talk nonsense."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from agentenvs.core.errors import ConfigError, InfrastructureError
from agentenvs.retrieval import Hit, open_index, settle_spec
from agentenvs.retrieval.server import RetrieverServer
from tests.retrieval.conftest import made_up, made_up_queries


@contextmanager
def serving(index: Any) -> Iterator[str]:
    """Our server over `index`, on a free port."""
    with RetrieverServer(index, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def talking(*answers: bytes | Callable[[socket.socket], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives one answer to each connection, the last one again and again; its URL and what it was sent."""
    received: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        number = 0
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                received.append(request_from(connection))
                answer = answers[min(number, len(answers) - 1)]
                number += 1
                with suppress(OSError):
                    connection.sendall(answer) if isinstance(answer, bytes) else answer(connection)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/retrieve", received
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def request_from(connection: socket.socket) -> bytes:
    """Head and body of a request."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    length = int(re.search(rb"Content-Length: (\d+)", data)[1])  # type: ignore[index]
    while len(data.partition(b"\r\n\r\n")[2]) < length:
        data += connection.recv(65536)
    return data


def answer(body: Any, status: str = "200 OK") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def asked(url: str, queries: list[str] | None = None, **options: Any) -> list[list[Hit]]:
    spec = {"kind": "http", "url": url, "attempts": 2, "backoff_s": 0.01, "timeout_s": 2, **options}
    return open_index(None, spec).search(["fox"] if queries is None else queries, 3)


GOOD = answer({"result": [[{"document": {"id": "a", "contents": "red fox"}, "score": 1.5}]]})
FOX = [[Hit(None, "a", 1.5, "red fox")]]


@pytest.mark.parametrize("form", ["search-r1", "skyrl"])
def test_a_server_gives_what_its_index_gives(form: str) -> None:
    index, queries = open_index(made_up(120)), [*made_up_queries(10), "", "\ud800 ü \0", "zebra"]
    with serving(index) as url:
        found = asked(url, queries, form=form)
        expected = [[hit._replace(position=None) for hit in hits] for hits in index.search(queries, 3)]
        assert found == expected
        assert asked(url, [], form=form) == []
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda query: asked(url, [query], form=form)[0], queries * 4)) == expected * 4


@pytest.mark.parametrize(("form", "key", "value"), [("search-r1", "queries", ["fox"]), ("skyrl", "query", "fox")])
def test_what_is_sent(form: str, key: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_RETRIEVER_KEY", "s3cret-key")
    with talking(GOOD) as (url, received):
        assert asked(url, form=form) == FOX
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /retrieve HTTP/1.1\r\n")
    assert b"Authorization: Bearer s3cret-key" in head
    assert json.loads(body) == {key: value, "topk": 3, "return_scores": True}


def test_a_server_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        InfrastructureError, match=rf"retriever 127.0.0.1:{port}: no answer \(.*refused.*\(tried 2 times\)"
    ):
        asked(f"http://127.0.0.1:{port}/retrieve")


def drip(connection: socket.socket) -> None:
    """A byte now and then, for ever: no single read takes long."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.05)


def drip_head(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"H")
        time.sleep(0.05)


@pytest.mark.parametrize("slow", [lambda connection: connection.recv(1), drip, drip_head])
def test_a_server_that_is_slow(slow: Callable[[socket.socket], None]) -> None:
    with talking(slow) as (url, _):
        began = time.monotonic()
        with pytest.raises(InfrastructureError, match=r"no complete answer within 0.2 s \(tried 2 times\)"):
            asked(url, timeout_s=0.2)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "nonsense",
    [
        b"",
        b"SMTP ready\r\n",
        b"\0" * 100,
        answer(b""),
        answer(b"{"),
        answer(b"[" * 100_000),
        answer(b"\xff\xfe{}"),
        answer([]),
        answer({"result": None}),
        answer({"result": []}),
        answer({"result": [[], []]}),
        answer({"result": [3]}),
        answer({"result": [{"a": 1}]}),
        answer({"result": [["text"]]}),
        answer({"result": [[{"document": {"id": "a"}, "score": 1}]]}),
        answer({"result": [[{"document": {"id": "a", "contents": 3}, "score": 1}]]}),
        answer({"result": [[{"document": {"id": "a", "contents": "x"}}]]}),
        answer({"result": [[{"document": {"id": "a", "contents": "x"}, "score": None}]]}),
        answer({"result": [[{"document": {"id": "a", "contents": "x"}, "score": True}]]}),
        answer({"result": [[{"document": {"id": "a", "contents": "x"}, "score": float("nan")}]]}),
        answer({"result": [[{"document": {"id": "a", "contents": "x"}, "score": 10**400}]]}),
        GOOD[:-5],
        answer({"detail": "overloaded"}, "503 Service Unavailable"),
    ],
)
def test_a_server_that_talks_nonsense_is_asked_again_and_then_named(nonsense: bytes) -> None:
    with talking(nonsense, GOOD) as (url, _):
        assert asked(url) == FOX
    with talking(nonsense) as (url, received):
        with pytest.raises(InfrastructureError, match=r"^retriever 127.0.0.1:\d+: .*\(tried 2 times\)$") as caught:
            asked(url)
        assert len(received) == 2
        assert len(str(caught.value)) < 500


def test_a_server_that_recovers() -> None:
    broken = answer(b"<html>oops</html>", "500 Internal Server Error")
    with talking(broken, broken, GOOD) as (url, received):
        assert asked(url, attempts=3) == FOX
        assert len(received) == 3


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "404 Not Found", "302 Found"])
def test_a_refusal_is_not_repeated(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_RETRIEVER_KEY", "s3cret-key")
    with talking(answer({"error": "no, s3cret-key is wrong"}, status)) as (url, received):
        with pytest.raises(InfrastructureError, match=f"refused the request: HTTP {status[:3]}") as caught:
            asked(url)
        assert len(received) == 1
    assert "s3cret" not in str(caught.value)
    assert ("AGENTENVS_RETRIEVER_KEY" in str(caught.value)) == (status[:3] == "401")


def test_an_answer_of_other_servers() -> None:
    """A number as id, no id at all, more hits than asked for, other fields, lone surrogates."""
    documents = [{"id": 7, "contents": "x"}, {"contents": "y"}, {"contents": "y"}, {"id": "d", "contents": "\ud800"}]
    body = {"result": [[{"document": document, "score": 3, "rank": 1} for document in documents]], "took": 3}
    with talking(answer(body)) as (url, _):
        [hits] = asked(url)
    assert [hit.contents for hit in hits] == ["x", "y", "y"]
    assert hits[0].id == "7"
    assert hits[1].id == hits[2].id != "7"
    body["result"][0].reverse()
    with talking(answer(body)) as (url, _):
        assert asked(url)[0][0].contents == "?"


@pytest.mark.parametrize(
    "url",
    [
        "http://user:hunter2@host:8000/retrieve",
        "http://hunter2@host/retrieve",
        "http://host/retrieve?token=hunter2",
        "http://host/#hunter2",
        "ftp://hunter2/retrieve",
        "hunter2:8000/retrieve",
        "http://[hunter2/retrieve",
        "http://host:hunter2/retrieve",
        "http:///hunter2",
        "http://host/hunter2 \n",
        "http://höst/hunter2",
    ],
)
def test_a_url_that_is_none_or_carries_a_secret_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match="http, url") as caught:
        settle_spec({"kind": "http", "url": url})
    assert "hunter2" not in str(caught.value)


def test_options_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for options, message in (
        ({"timeout_s": 0}, "http, timeout_s: expected a number above 0, got 0"),
        ({"attempts": 0}, "http, attempts: expected at least 1, got 0"),
        ({"form": "rest"}, "unknown form of http 'rest'"),
        ({"timeout": 3}, "unknown option of http 'timeout'; did you mean 'timeout_s'?"),
    ):
        with pytest.raises(ConfigError, match=message):
            settle_spec({"kind": "http", **options})
    monkeypatch.setenv("AGENTENVS_RETRIEVER_KEY", "a\nb")
    with pytest.raises(ConfigError, match="AGENTENVS_RETRIEVER_KEY: expected printable ASCII without spaces"):
        asked("http://127.0.0.1:9/retrieve")
