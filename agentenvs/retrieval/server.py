"""A local server that speaks Search-R1's `/retrieve` protocol over any index, in both forms that `client` sends.

    POST /retrieve {"queries": [str, ...], "topk": 3, "return_scores": true}     or {"query": str, ...}
    -> {"result": [[{"document": {"id", "contents"}, "score"}, ...], ...]}       without scores: [[document, ...], ...]
    GET  /health -> {"status": "ok", "spec": {...}, "passages": n}

Faults are answered with a status and `{"error": "..."}`. `topk` is 3 and `return_scores` false unless given, as there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentenvs.core.errors import AgentEnvsError, ConfigError, InfrastructureError, quote
from agentenvs.retrieval.base import Index

MAX_BODY = 1 << 24  # bytes
MAX_QUERIES = 1024
MAX_K = 1000
DEFAULT_K = 3
IDLE_S = 60.0  # seconds a connection may say nothing


class _Refused(Exception):
    """A request that is answered with `status` and a message."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class RetrieverServer(ThreadingHTTPServer):
    """Serves an index at `http://host:port/retrieve`; port 0 takes a free one. A thread a connection."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of ours."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)

    def __init__(self, index: Index, host: str = "127.0.0.1", port: int = 8000) -> None:
        self.index = index
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(f"cannot serve at {host}:{port}: {error}; choose another host or port") from None

    @property
    def url(self) -> str:
        """Where to send requests."""
        return f"http://{self.server_address[0]}:{self.server_port}/retrieve"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RetrieverServer
    timeout = IDLE_S
    wbufsize = -1  # head and body leave together

    def do_POST(self) -> None:
        self._reply(self._retrieve)

    def do_GET(self) -> None:
        self._reply(self._health)

    def log_message(self, *_: Any) -> None:
        """Nothing: a line a request would drown what matters."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class refuses by itself (a malformed request line, another method), as JSON too."""
        self.close_connection = True
        self._send(code, {"error": message or self.responses.get(code, ("",))[0]})

    def _reply(self, make: Any) -> None:
        try:
            status, answer = 200, make()
        except _Refused as error:
            self.close_connection = True  # its body may not have been read
            status, answer = error.status, {"error": str(error)}
        except AgentEnvsError as error:
            status = 503 if isinstance(error, InfrastructureError) else 400
            answer = {"error": str(error)}
        except OSError:  # of the connection
            raise
        except Exception as error:
            self.server.handle_error(self.request, self.client_address)
            status, answer = 500, {"error": f"internal error: {type(error).__name__}"}
        self._send(status, answer)

    def _send(self, status: int, answer: Any) -> None:
        body = json.dumps(answer).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _health(self) -> Any:
        if self.path != "/health":
            raise _Refused(404, f"expected POST /retrieve or GET /health, got GET {quote(self.path)}")
        corpus = self.server.index.corpus
        return {"status": "ok", "spec": self.server.index.spec, "passages": None if corpus is None else len(corpus)}

    def _retrieve(self) -> Any:
        if self.path != "/retrieve":
            raise _Refused(404, f"expected POST /retrieve or GET /health, got POST {quote(self.path)}")
        queries, k, scores = parse_request(self._body())
        found = self.server.index.search(queries, k)
        return {"result": [[_shown(hit, scores) for hit in hits] for hits in found]}

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _Refused(411, "expected a Content-Length")
        if len(length) > 12 or int(length) > MAX_BODY:
            raise _Refused(413, f"expected a body of at most {MAX_BODY} bytes")
        return self.rfile.read(int(length))


def parse_request(body: bytes) -> tuple[list[str], int, bool]:
    """Queries, k and whether scores are wanted; raises `_Refused` with 400 for anything that is not the protocol."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refused(400, f"expected JSON: {quote(error)}") from None
    if not isinstance(data, Mapping) or ("queries" in data) == ("query" in data):
        raise _Refused(400, 'expected an object with "queries" or "query"')
    queries = data["queries"] if "queries" in data else [data["query"]]
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise _Refused(400, "expected queries that are strings")
    if len(queries) > MAX_QUERIES:
        raise _Refused(400, f"expected at most {MAX_QUERIES} queries, got {len(queries)}")
    k, scores = data.get("topk"), data.get("return_scores", False)
    k = DEFAULT_K if k is None else k
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise _Refused(400, f"topk: expected a whole number from 1 to {MAX_K}, got {quote(k)}")
    if not isinstance(scores, bool):
        raise _Refused(400, f"return_scores: expected true or false, got {quote(scores)}")
    return queries, k, scores


def _shown(hit: Any, scores: bool) -> Any:
    document = {"id": hit.id, "contents": hit.contents}
    return {"document": document, "score": hit.score} if scores else document
