"""`chat:MODEL@URL`: a model behind an OpenAI-compatible `/chat/completions` endpoint (vLLM, SGLang, llama.cpp, APIs).

A prompt style may follow as fragment, as in `chat:MODEL@URL#tools`. Equal turns give byte-equal requests. A server that
fails for good makes the episode void, never a failure of the model.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from agentenvs.core.errors import ConfigError, InfrastructureError, quote
from agentenvs.core.messages import reply_text
from agentenvs.policies import prompts, transport
from agentenvs.policies.base import Reply, Turn

#: Sampling options that are passed on; `turn.sampling` overrides the policy's own.
SAMPLING = ("temperature", "top_p", "max_tokens", "stop")
TOKENS = ("prompt_tokens", "completion_tokens")


class ChatPolicy:
    """Answers each turn with one chat completion; many turns in flight.

    `style` names a prompt style (`prompts.style`). With "tools" the tools of the turn are sent as function schemas, and
    `tool_choice` if given; a completion that calls functions is replied as the JSON of its assistant message, for the
    `openai` codec to read. With "continued" the server is asked to continue the assistant message, in the words of
    vLLM: `continue_final_message` and `add_generation_prompt`.

    `menu=True` asks for the admissible actions, which the styles "concatenated" and "stepwise" show. `timeout_s` bounds
    one attempt; up to `max_retries` more follow, after pauses that start near `backoff_s` seconds and double. At most
    `concurrency` requests are in flight on one event loop.

    `usage` sums, over the policy's life: requests (every attempt), retries, prompt_tokens, completion_tokens.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        style: str = "chat",
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        stop: str | Sequence[str] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        menu: bool = False,
        timeout_s: float = 120.0,
        max_retries: int = 5,
        backoff_s: float = 0.5,
        concurrency: int = 16,
        name: str | None = None,
    ) -> None:
        if not model:
            raise ConfigError("chat policy: expected a model name, found an empty one")
        if concurrency < 1 or max_retries < 0 or not timeout_s > 0 or not backoff_s >= 0:
            raise ConfigError("chat policy: expected concurrency >= 1, max_retries >= 0, timeout_s > 0, backoff_s >= 0")
        if tool_choice is not None and style != "tools":
            raise ConfigError(f"chat policy: tool_choice goes with the style 'tools', not with {quote(style)}")
        self.tool_choice = tool_choice
        self.model, self.url = model, transport.check_url(url)
        self.style, self._messages = style, prompts.style(style)
        self.sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "stop": stop}
        self.timeout_s, self.max_retries, self.backoff_s = timeout_s, max_retries, backoff_s
        self.concurrency, self.name = concurrency, name or f"chat:{model}"
        self.needs = frozenset({"history", "admissible"} if menu else {"history"})
        self.usage = dict.fromkeys(("requests", "retries", *TOKENS), 0)
        self._lock, self._loops = Lock(), WeakKeyDictionary()

    @classmethod
    def parse(cls, text: str, **options: Any) -> ChatPolicy:
        """The policy that `chat:MODEL@URL` or `chat:MODEL@URL#STYLE` names; options go to the constructor.

        A model name may hold ':', '/' and '@': the URL begins at the last '@' that http:// or https:// follows.
        """
        match = re.fullmatch(r"chat:(.+)@(https?://[^#]*)(?:#(.*))?", text, re.DOTALL | re.IGNORECASE)
        if not match:
            shown = quote(re.split("@|://", text)[0])  # the rest may be a misspelt URL with a password in it
            raise ConfigError(f"policy {shown}: expected chat:MODEL@URL, as in chat:qwen3-4b@http://127.0.0.1:8000/v1")
        named = {} if match[3] is None else {"style": match[3]}
        return cls(match[1], match[2], **named | options)

    def __repr__(self) -> str:
        return f"ChatPolicy({self.model!r}, {self.url!r}, style={self.style!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_loops")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock(), _loops=WeakKeyDictionary())

    def request(self, turn: Turn) -> bytes:
        """The request's body as canonical JSON: a pure function of the turn and the options."""
        if turn.prefix:
            raise ConfigError(f"{self.name}: a chat endpoint cannot continue the token ids of an unfinished reply")
        messages = self._messages(turn)
        body: dict[str, Any] = {"model": self.model, "messages": messages, "seed": turn.seed % 2**31}
        if self.style == "tools" and turn.tools:
            body["tools"] = [tool.schema() for tool in turn.tools]
            body |= {} if self.tool_choice is None else {"tool_choice": self.tool_choice}
        if self.style == "continued" and messages[-1]["role"] == "assistant":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        for option in SAMPLING:
            value = turn.sampling.get(option, self.sampling[option])
            if value is not None:
                body[option] = value if isinstance(value, str | int | float) else list(value)
        return json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii")

    async def reply(self, turn: Turn) -> Reply:
        """One completion. Raises `InfrastructureError` when the server cannot be made to give one.

        A prompt that the model's context cannot hold gets an empty reply with finish reason `length`: running out of
        context is the policy's failure, not one of ours that would make the episode void.
        """
        client, slots = self._connections()
        read = partial(read_completion, calls=self.style == "tools")
        body, url = self.request(turn), transport.endpoint(self.url, "/chat/completions")
        async with slots:  # kept while pausing: a struggling server is not offered the place of who waits for it
            for attempt in range(self.max_retries + 1):
                self._count(requests=1, retries=int(attempt > 0))
                try:
                    reply = await transport.post(client, url, body, read, self.timeout_s)
                except transport.PromptTooLong:
                    return Reply(finish_reason="length")
                except transport.TryAgain as error:
                    if attempt == self.max_retries:
                        raise InfrastructureError(f"{self.name}: {attempt + 1} failed attempts; {error}") from None
                    await asyncio.sleep(transport.pause_s(attempt, turn.seed, self.backoff_s, error.after))
                else:
                    self._count(**reply.usage)
                    return reply
        raise AssertionError("unreachable")

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a later reply opens new ones."""
        client, _ = self._loops.pop(asyncio.get_running_loop(), (None, None))
        if client is not None:
            await client.aclose()

    def _connections(self) -> tuple[Any, asyncio.Semaphore]:
        """The client and the free slots of the running loop: neither can be used from another one."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            httpx = transport.import_httpx()
            limits = httpx.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
            client = httpx.AsyncClient(timeout=None, limits=limits, follow_redirects=False)
            self._loops[loop] = client, asyncio.Semaphore(self.concurrency)
        return self._loops[loop]

    def _count(self, **amounts: int) -> None:
        with self._lock:  # loops of several threads may share a policy
            for key, amount in amounts.items():
                self.usage[key] += amount


def read_completion(body: bytes, calls: bool = False) -> Reply:
    """The reply in a chat completion; `ValueError` says what is missing.

    Content that is null or absent (a model that only called tools or was cut off) is an empty text. With `calls` the
    text of a message that calls functions is its JSON (`core.messages.reply_text`), whatever the calls hold.
    """
    data = json.loads(body)
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise ValueError("expected choices[0].message in a JSON object")
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise ValueError("expected choices[0].message.content to be a string or null")
    rows = message.get("tool_calls") or []
    if calls and not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
        raise ValueError("expected choices[0].message.tool_calls to be a list of objects or null")
    return Reply(
        text=transport.redact_reply(reply_text(message) if calls else content or ""),
        finish_reason=_label(choice.get("finish_reason")),
        usage=_tokens(data.get("usage")),
        policy_version=_label(data.get("model")),
    )


def _label(value: Any) -> str | None:
    return transport.redact_reply(value[:200]) if isinstance(value, str) else None


def _tokens(usage: Any) -> dict[str, int]:
    counts = {key: usage.get(key) for key in TOKENS} if isinstance(usage, dict) else {}
    return {key: n for key, n in counts.items() if isinstance(n, int) and not isinstance(n, bool) and n >= 0}
