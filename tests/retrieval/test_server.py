"""The server: the protocol, its limits, and JSON for every fault."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentenvs.core.errors import ConfigError, InfrastructureError
from agentenvs.retrieval import make_corpus, open_index, server
from agentenvs.retrieval.server import RetrieverServer
from tests.retrieval.test_client import serving

CORPUS = make_corpus([{"id": name, "contents": f"{name} animal"} for name in ("fox", "whale", "owl", "cat", "dog")])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(open_index(CORPUS)) as url:
        yield url


def call(url: str, body: Any = None, method: str = "POST", path: str = "/retrieve", **headers: str) -> tuple[int, Any]:
    """Status and JSON of one request."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.request(method, path, data, headers)
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "application/json"
    result = response.status, json.loads(response.read())
    connection.close()
    return result


def test_both_forms_with_and_without_scores(url: str) -> None:
    status, data = call(url, {"queries": ["fox", "whale animal"], "topk": 2, "return_scores": True})
    assert status == 200
    assert [[item["document"]["id"] for item in hits] for hits in data["result"]] == [["fox"], ["whale", "fox"]]
    assert data["result"][0][0]["document"] == {"id": "fox", "contents": "fox animal"}
    assert data["result"][0][0]["score"] == open_index(CORPUS).search(["fox"], 1)[0][0].score
    assert call(url, {"query": "owl", "topk": 2})[1] == {"result": [[{"id": "owl", "contents": "owl animal"}]]}
    assert len(call(url, {"query": "animal"})[1]["result"][0]) == 3, "topk is 3 unless given"
    assert len(call(url, {"query": "animal", "topk": None})[1]["result"][0]) == 3
    assert call(url, {"queries": []}) == (200, {"result": []})


def test_health(url: str) -> None:
    status, data = call(url, method="GET", path="/health")
    assert (status, data["status"], data["passages"], data["spec"]["kind"]) == (200, "ok", 5, "bm25")


def test_a_connection_serves_many_requests(url: str) -> None:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    for _ in range(3):
        connection.request("POST", "/retrieve", b'{"query": "fox"}')
        response = connection.getresponse()
        assert json.loads(response.read())["result"]
        assert not response.will_close
    connection.close()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"\xff", "expected JSON"),
        (b"[" * 100_000, "expected JSON"),
        ([], 'expected an object with "queries" or "query"'),
        ({"topk": 3}, 'expected an object with "queries" or "query"'),
        ({"queries": [], "query": "a"}, 'expected an object with "queries" or "query"'),
        ({"queries": "fox"}, "expected queries that are strings"),
        ({"queries": [1]}, "expected queries that are strings"),
        ({"query": None}, "expected queries that are strings"),
        ({"queries": ["a"] * 1025}, "expected at most 1024 queries, got 1025"),
        ({"query": "a", "topk": 0}, "topk: expected a whole number from 1 to 1000, got 0"),
        ({"query": "a", "topk": 1001}, "topk: expected a whole number from 1 to 1000, got 1001"),
        ({"query": "a", "topk": True}, "topk: expected a whole number"),
        ({"query": "a", "topk": "3"}, "topk: expected a whole number"),
        ({"query": "a", "return_scores": 1}, "return_scores: expected true or false, got 1"),
    ],
)
def test_a_request_that_is_none_is_answered_with_400(url: str, body: Any, message: str) -> None:
    status, data = call(url, body)
    assert status == 400
    assert data["error"].startswith(message)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/", 404), ("GET", "/retrieve", 404), ("PUT", "/retrieve", 501), ("POST", "/" + "x" * 70_000, 414)],
)
def test_another_path_or_method(url: str, method: str, path: str, status: int) -> None:
    found, data = call(url, {"query": "a"}, method, path)
    assert found == status
    assert data["error"]


def test_bodies_without_a_length_and_too_long_ones(url: str) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"query": "fox"}'

    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    connection.request("POST", "/retrieve", chunks())
    with closing(connection), closing(connection.getresponse()) as response:
        assert response.status == 411
    for length in (str(server.MAX_BODY + 1), "9" * 5000):
        assert call(url, b"", **{"Content-Length": length})[0] == 413
    assert call(url, b"", **{"Content-Length": "-1"})[0] == 411


def test_clients_that_leave_or_talk_nonsense_do_no_harm(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    address = (urlsplit(url).hostname, urlsplit(url).port)
    for data in (b"", b"POST /retrieve HTTP/1.1\r\nContent-Length: 100\r\n\r\n{", b"\0\1\2\r\n\r\n", b"GET\r\n"):
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(data)
    assert call(url, {"query": "fox"})[0] == 200
    assert capfd.readouterr().err == ""


class Failing:
    """An index whose searches fail as they are told."""

    corpus, spec, digest = None, {"kind": "failing"}, ""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def search(self, queries: Any, k: int) -> Any:
        raise self.error


def test_an_index_that_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(Failing(InfrastructureError("the encoder failed"))) as url:
        assert call(url, {"query": "a"}) == (503, {"error": "the encoder failed"})
        assert call(url, method="GET", path="/health")[1]["passages"] is None
    with serving(Failing(ZeroDivisionError("secret"))) as url:
        assert call(url, {"query": "a"}) == (500, {"error": "internal error: ZeroDivisionError"})
    assert "ZeroDivisionError: secret" in capfd.readouterr().err


def test_a_port_that_is_taken(url: str) -> None:
    port = urlsplit(url).port
    assert port
    for host, number in (("127.0.0.1", port), ("127.0.0.1", 70_000), ("no-such-host.invalid", 0)):
        with pytest.raises(ConfigError, match=f"cannot serve at {host}:{number}: .*; choose another host or port"):
            RetrieverServer(open_index(CORPUS), host, number)
