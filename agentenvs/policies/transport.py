"""One JSON POST that either gives an answer or says plainly why not: time-outs, retries, size limit, secrecy.

The key comes from the environment variable `AGENTENVS_API_KEY` and from nowhere else. It is read for each request, kept
in no object, and removed from whatever a server says.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from agentenvs.core.errors import ConfigError, InfrastructureError, MissingExtra
from agentenvs.core.rng import Stream

KEY_VARIABLE = "AGENTENVS_API_KEY"
MAX_BODY = 16 * 1024 * 1024  # bytes
MAX_PAUSE = 60.0  # seconds; also the most that a Retry-After is granted
MESSAGE_LENGTH = 300  # characters of a server's message that are shown
#: Answers that may differ if the same request is sent again; so may every 5xx.
RETRYABLE = frozenset({408, 409, 425, 429})
#: Answers that every request of the run would get: the run stops instead of voiding one episode after another.
MISCONFIGURED = frozenset({401, 403, 404, 405})
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|sig", re.IGNORECASE)
_PLACEHOLDER = 8  # characters; shorter "keys" (EMPTY, none, x) are placeholders and may occur in honest text

T = TypeVar("T")


class TryAgain(Exception):
    """An attempt that failed in a way that another one may not. `after`: seconds the server asked to wait."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


def check_url(url: str) -> str:
    """`url` without a final slash, if requests can be sent to it; no message quotes what may be a secret."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError("model URL: expected http://host:port/v1 or https://host/v1, found a malformed one") from None
    if parts.scheme.lower() not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise ConfigError("model URL: expected http://host:port/v1 or https://host/v1")
    secret = api_key()
    named = any(_SECRET_NAME.search(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    if "@" in parts.netloc or named or (len(secret) >= _PLACEHOLDER and secret in url):
        raise ConfigError(f"model URL at host {host}: a URL must not carry a key or password; set {KEY_VARIABLE}")
    if parts.fragment:
        raise ConfigError(f"model URL at host {host}: expected no #fragment")
    return parts._replace(path=parts.path.rstrip("/")).geturl()


def endpoint(url: str, path: str) -> str:
    """The address of `path` below a base URL, before its query: ("http://h/v1?a=1", "/x") -> "http://h/v1/x?a=1"."""
    parts = urlsplit(url)
    return parts._replace(path=parts.path + path).geturl()


def api_key() -> str:
    """The key, or "". One that could not be sent is an error that does not show it."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError(f"{KEY_VARIABLE}: expected printable ASCII without spaces")
    return key


def redact(text: str, *, shortest: int = 1) -> str:
    """`text` without the key, if the key has at least `shortest` characters."""
    key = api_key()
    return text.replace(key, "[key]") if len(key) >= shortest and key else text


def redact_reply(text: str) -> str:
    """What a model said, as text that can be stored: no key, no lone surrogates. Placeholder keys are left alone."""
    return redact(text, shortest=_PLACEHOLDER).encode("utf-8", "replace").decode("utf-8")


def pause_s(attempt: int, seed: int, backoff_s: float, after: float | None = None) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 0): doubling, with jitter in [1/2, 1).

    The jitter is a function of the turn's seed, so concurrent turns spread out and equal runs wait equally. A server's
    wish (`after`) is a lower bound, up to `MAX_PAUSE`.
    """
    jitter = 0.5 + 0.5 * Stream("chat-backoff", seed, attempt).uniform()
    own = min(MAX_PAUSE, backoff_s * 2 ** min(attempt, 30)) * jitter
    return max(own, min(MAX_PAUSE, after or 0.0))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header (RFC 9110, 10.2.3), a number or a date; None if absent or malformed."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII):
        return float(value)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    try:  # the server's own clock where it tells it: ours may be wrong
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        now = time.time()
    return max(0.0, until - now)


def server_message(body: bytes) -> str:
    """The first printable characters of what a failing server said, without the key."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
        error = data.get("error") or data.get("detail") or data.get("message")
        text = str(error.get("message") or error) if isinstance(error, dict) else str(error or text)
    except (ValueError, AttributeError, RecursionError):
        pass
    # Redact last but one: dropping characters may complete a key, cutting may leave part of one.
    return redact("".join(c if c.isprintable() else " " for c in text))[:MESSAGE_LENGTH].strip()


def import_httpx() -> Any:
    """The optional dependency, or the line that installs it."""
    try:
        import httpx
    except ImportError:
        raise MissingExtra("httpx", "llm") from None
    return httpx


class PromptTooLong(Exception):
    """The server says that the prompt does not fit into the model's context."""


_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum.{0,20}(context|tokens)|too (long|many tokens)", re.I
)


async def post(client: Any, url: str, body: bytes, parse: Callable[[bytes], T], timeout_s: float) -> T:
    """One attempt: send `body` and `parse` the answer. `timeout_s` bounds all of it, a dripping answer included.

    Raises `TryAgain` where another attempt may help, else `ConfigError` or `InfrastructureError`. A `ValueError` of
    `parse` means an unusable answer. Redirects are not followed: the key would travel to a host nobody named.
    """
    httpx, key = import_httpx(), api_key()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        async with asyncio.timeout(timeout_s), client.stream("POST", url, content=body, headers=headers) as response:
            answer = await _read(response)
    except TimeoutError:
        raise TryAgain(f"no complete answer within {timeout_s:g} s") from None
    except httpx.InvalidURL:
        raise ConfigError("model URL: expected http://host:port/v1 or https://host/v1, found a malformed one") from None
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise TryAgain(redact(f"{type(error).__name__}: {error}")) from None
    _check_status(response.status_code, response.headers, answer)
    try:
        return parse(answer)
    except (ValueError, RecursionError) as error:
        raise TryAgain(redact(f"unusable answer: {error}")[:MESSAGE_LENGTH]) from None


async def _read(response: Any) -> bytes:
    chunks, size = [], 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MAX_BODY:
            raise InfrastructureError(f"the model server's answer is larger than {MAX_BODY} bytes; refused")
        chunks.append(chunk)
    return b"".join(chunks)


def _check_status(status: int, headers: Mapping[str, str], body: bytes) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise ConfigError(f"the model server redirects (HTTP {status}), which is not followed; give the final URL")
    text = f"HTTP {status}: {server_message(body) or 'no message'}"
    if status in RETRYABLE or status >= 500:
        raise TryAgain(text, retry_after_s(headers))
    if status in (400, 413, 422) and _TOO_LONG.search(text):
        raise PromptTooLong(text)
    hint = f" (is {KEY_VARIABLE} set and right?)" if status in (401, 403) else ""
    error = ConfigError if status in MISCONFIGURED else InfrastructureError
    raise error(f"the model server refused the request: {text}{hint}")
