"""An index at a server that speaks Search-R1's protocol: `POST /retrieve {"queries", "topk", "return_scores"}`.

With `"form": "skyrl"` each query goes alone, as SkyRL sends it: `{"query", "topk", "return_scores"}`. The answer is
`{"result": [[{"document": {"id", "contents"}, "score"}, ...], ...]}` in both. The order of the hits is the server's.

A bearer token, where the server wants one, comes from the environment variable `AGENTENVS_RETRIEVER_KEY`, never from
the URL or the specification, which are recorded with every episode. Proxy settings and redirects are not followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from agentenvs.core.errors import ConfigError, InfrastructureError, quote
from agentenvs.core.rng import Stream
from agentenvs.retrieval.base import Hit, Spec, check_request, digest_of
from agentenvs.retrieval.options import at_least, one_of, settle

KEY_VARIABLE = "AGENTENVS_RETRIEVER_KEY"
MAX_ANSWER = 1 << 26  # bytes
MAX_PAUSE_S = 30.0
#: Defaults. `timeout_s` bounds a whole attempt; pauses between attempts double from `backoff_s`.
OPTIONS: dict[str, Any] = {
    "url": "http://127.0.0.1:8000/retrieve",
    "form": "search-r1",
    "timeout_s": 30.0,
    "attempts": 4,
    "backoff_s": 0.5,
}
_RETRYABLE = frozenset({408, 425, 429})


class _TryAgain(Exception):
    """An attempt that failed in a way that the next may not."""


class HttpIndex:
    """A server's index. Hits have no position and bring their contents; any number of threads may search."""

    corpus = None

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._url = urlsplit(spec["url"])

    @property
    def digest(self) -> str:
        """Of the specification: what the server holds cannot be known."""
        return digest_of(self.spec)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `Index.search`. Raises `InfrastructureError` that names the server where no attempt brought an answer."""
        check_request(queries, k)
        if self.spec["form"] == "skyrl":
            return [hits for query in queries for hits in self._ask({"query": query}, 1, k)]
        return self._ask({"queries": list(queries)}, len(queries), k) if queries else []

    def _ask(self, request: dict[str, Any], count: int, k: int) -> list[list[Hit]]:
        body = json.dumps({**request, "topk": k, "return_scores": True}).encode("ascii")
        attempts, fault = self.spec["attempts"], ""
        for attempt in range(attempts):
            if attempt:
                time.sleep(_pause_s(attempt - 1, self.spec["backoff_s"], body))
            try:
                return parse_answer(self._post(body), count, k)
            except _TryAgain as error:
                fault = str(error)
        raise InfrastructureError(f"retriever {self._where}: {fault} (tried {attempts} times)")

    @property
    def _where(self) -> str:
        return f"{self._url.hostname}:{self._url.port or self._url.scheme}"

    def _post(self, body: bytes) -> bytes:
        """One attempt, over a connection of its own. `timeout_s` bounds all of it, a dripping answer included."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {_key()}"} if _key() else {})
        timeout_s = self.spec["timeout_s"]
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        with closing(kind(self._url.hostname or "", self._url.port, timeout=timeout_s)) as connection:
            late = threading.Event()
            timer = threading.Timer(timeout_s, _hang_up, (connection, late))
            timer.daemon = True
            timer.start()
            try:
                connection.request("POST", self._url.path or "/", body, headers)
                with closing(connection.getresponse()) as response:
                    answer = response.read(MAX_ANSWER + 1)
            except (OSError, HTTPException) as error:
                if late.is_set() or isinstance(error, TimeoutError):
                    raise _TryAgain(f"no complete answer within {timeout_s:g} s") from None
                raise _TryAgain(f"no answer ({type(error).__name__}: {quote(_hidden(str(error)), 200)})") from None
            finally:
                timer.cancel()
        if late.is_set():  # what has come may be a part
            raise _TryAgain(f"no complete answer within {timeout_s:g} s")
        self._check_status(response.status, answer)
        return answer

    def _check_status(self, status: int, answer: bytes) -> None:
        if status == 200:
            return
        text = f"HTTP {status}: {quote(_hidden(answer.decode('utf-8', 'replace')), 200)}"
        if status >= 500 or status in _RETRYABLE:
            raise _TryAgain(text)
        hint = f"; is {KEY_VARIABLE} set and right?" if status in (401, 403) else ""
        raise InfrastructureError(f"retriever {self._where} refused the request: {text}{hint}")


def settle_http(given: Spec) -> dict[str, Any]:
    """The full specification; raises `ConfigError` for a URL that is malformed or carries a secret."""
    spec = settle("http", given, OPTIONS)
    one_of(spec, "form", ("search-r1", "skyrl"))
    at_least(spec, 1, "attempts")
    if not spec["timeout_s"]:
        raise ConfigError("http, timeout_s: expected a number above 0, got 0")
    wanted = "http://host:port/retrieve or https://host/retrieve"
    url = spec["url"]
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(f"http, url: expected {wanted}, got a malformed one") from None
    if parts.scheme not in ("http", "https") or not host or not (url.isascii() and url.isprintable()) or " " in url:
        raise ConfigError(f"http, url: expected {wanted}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(f"http, url at {host}: expected no user, password, query or #; for a key set {KEY_VARIABLE}")
    return spec


def parse_answer(answer: bytes, count: int, k: int) -> list[list[Hit]]:
    """The hits of `count` queries, at most `k` each; raises `_TryAgain` for an answer that is not that."""
    if len(answer) > MAX_ANSWER:
        raise _TryAgain(f"an answer of more than {MAX_ANSWER} bytes")
    try:
        data = json.loads(answer)
        lists = data["result"]
        if not isinstance(lists, list) or len(lists) != count:
            raise ValueError(f"expected {count} lists of hits")
        return [[_hit(item) for item in hits[:k]] for hits in lists]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise _TryAgain(f"an unusable answer ({type(error).__name__}: {quote(_hidden(str(error)))})") from None


def _hit(item: Any) -> Hit:
    document, score = item["document"], item["score"]
    contents = document["contents"]
    if not isinstance(contents, str) or isinstance(score, bool) or not np.isfinite(float(score)):
        raise ValueError(f"expected text and a score, got {quote(item)}")
    contents = contents.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
    known = document.get("id")
    if known is None:  # some servers tell none
        known = f"text:{hashlib.sha256(contents.encode('utf-8')).hexdigest()[:16]}"
    return Hit(None, str(known), float(score), contents)


def _pause_s(attempt: int, backoff_s: float, body: bytes) -> float:
    """Seconds after failed attempt `attempt` (from 0): doubling, with the request's own jitter in [1/2, 1)."""
    jitter = 0.5 + 0.5 * Stream("retriever-backoff", hashlib.sha256(body).hexdigest(), attempt).uniform()
    return min(MAX_PAUSE_S, backoff_s * 2 ** min(attempt, 30)) * jitter


def _hang_up(connection: HTTPConnection, late: threading.Event) -> None:
    late.set()
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(f"{KEY_VARIABLE}: expected printable ASCII without spaces")
    return key


def _hidden(text: str) -> str:
    return text.replace(_key(), "[key]") if _key() else text
