"""`ChatPolicy` against a real local HTTP server that plays a script."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest

from agentenvs.core.errors import ConfigError, InfrastructureError, MissingExtra, UnknownName
from agentenvs.core.messages import Message, dump
from agentenvs.core.tools import Parameter, Tool
from agentenvs.policies import transport
from agentenvs.policies.base import Exchange, Turn
from agentenvs.policies.chat import ChatPolicy, read_completion
from agentenvs.rollout.collect import collect
from agentenvs.rollout.job import Job
from tests.rollout.helpers import COUNTER

pytest.importorskip("httpx")
KEY = "sk-secret-0123456789"


def make_turn(observation="now", **fields) -> Turn:
    return Turn(
        episode="e", agent="player", role="player", number=0, seed=5, instructions="Play.", tools=(),
        observation=observation, info={}, **fields,
    )  # fmt: skip


def completion(text="Up", **changes) -> dict:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 11, "completion_tokens": 3}
    return {"model": "served-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage} | changes


@dataclass
class Server:
    """A server whose answers come from `script`, one entry a request; the last entry is repeated.

    An entry is a body (dict or bytes), a tuple (status, headers, body), or a function of the request handler.
    """

    script: list
    bodies: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    busy: int = 0
    most_busy: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def handle(self, handler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        with self.lock:
            self.busy += 1
            self.most_busy = max(self.busy, self.most_busy)
            entry = self.script[min(len(self.bodies), len(self.script) - 1)]
            self.bodies.append(body)
            self.headers.append(dict(handler.headers))
        try:
            self.answer(handler, entry)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a client that gave up is part of several scripts
        finally:
            with self.lock:
                self.busy -= 1

    def answer(self, handler, entry) -> None:
        if callable(entry):
            return entry(handler)
        status, headers, body = entry if isinstance(entry, tuple) else (200, {}, entry)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        with self.lock:
            self.busy -= 1  # whoever has the answer may send the next request before this thread runs again
        handler.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        with self.lock:
            self.busy += 1


@pytest.fixture
def serve(monkeypatch):
    """`serve(*script)` starts a server; every server is stopped at the end of the test."""
    monkeypatch.delenv("AGENTENVS_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    started = []

    def start(*script) -> Server:
        server = Server(list(script))

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                server.handle(self)

            def log_message(self, *args):
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        http.handle_error = lambda *args: None  # clients that hang up are part of the scripts
        http.daemon_threads = True
        http.block_on_close = False
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        started.append((server, http))
        return server

    yield start
    for server, http in started:
        server.released.set()
        http.shutdown()
        http.server_close()


def policy_for(server, **options) -> ChatPolicy:
    return ChatPolicy("m", server.url, **({"backoff_s": 0.001, "timeout_s": 5.0, "max_retries": 2} | options))


def ask(policy, *turns):
    async def main():
        try:
            return await asyncio.gather(*(policy.reply(turn) for turn in turns))
        finally:
            await policy.aclose()

    return asyncio.run(main())


def nothing(handler) -> None:
    handler.close_connection = True


# ---- what goes out ----------------------------------------------------------------------------------------------


def test_success_and_request_content(serve):
    server = serve(completion("go to desk 1"))
    policy = policy_for(server, temperature=0.5, top_p=0.9, max_tokens=64, stop=("</action>",))
    (reply,) = ask(policy, replace(make_turn(), seed=2**31 + 7))
    assert reply.text == "go to desk 1"
    assert (reply.finish_reason, reply.policy_version) == ("stop", "served-1")
    assert reply.usage == {"prompt_tokens": 11, "completion_tokens": 3}
    assert json.loads(server.bodies[0]) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Play."}, {"role": "user", "content": "now"}],
        "seed": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 64,
        "stop": ["</action>"],
    }


def test_absent_options_are_not_sent_and_the_turn_overrides(serve):
    server = serve(completion())
    ask(policy_for(server, temperature=1.0), replace(make_turn(), sampling={"temperature": 0, "stop": "x"}))
    assert json.loads(server.bodies[0]).keys() == {"model", "messages", "seed", "temperature", "stop"}
    assert json.loads(server.bodies[0])["temperature"] == 0


def test_same_turn_same_bytes(serve):
    server = serve(completion())
    first, second = policy_for(server), policy_for(server)
    turn = make_turn("ünï\ud800", context={"b": "2", "a": "1"})
    ask(first, turn)
    ask(second, replace(turn, context={"a": "1", "b": "2"}))
    assert server.bodies[0] == server.bodies[1] == first.request(turn)


def test_style_and_menu(serve):
    server = serve(completion())
    policy = policy_for(server, style="stepwise:1", menu=True)
    assert policy.needs == {"history", "admissible"}
    assert policy_for(server).needs == {"history"}
    ask(policy, make_turn(menu=("Up", "Down")))
    assert "Up\nDown" in json.loads(server.bodies[0])["messages"][1]["content"]


TOOLS = (
    Tool("search", "Look it up.", (Parameter("query", "string", "what to look for"),)),
    Tool("answer", "Say it.", (Parameter("text", "string", "the answer"),)),
)
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "x"}'}}


def calling(*calls, content=None) -> dict:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls), "refusal": None}
    return completion(choices=[{"message": message, "finish_reason": "tool_calls"}])


def test_tools_are_sent_beside_the_messages(serve):
    server = serve(calling(CALL))
    policy = policy_for(server, style="tools", tool_choice="required")
    (reply,) = ask(policy, replace(make_turn(), tools=TOOLS))
    body = json.loads(server.bodies[0])
    assert body["tools"] == [tool.schema() for tool in TOOLS]
    assert body["tool_choice"] == "required"
    assert json.loads(reply.text) == {"role": "assistant", "content": "", "tool_calls": [CALL]}
    assert reply.finish_reason == "tool_calls"
    answers = dump([Message("tool", "found", "search", "c1")])
    ask(policy, replace(make_turn(answers), tools=TOOLS, history=(Exchange("now", reply.text),)))
    assert json.loads(server.bodies[1])["messages"][2:] == [
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
    ]


def test_without_tools_none_are_sent(serve):
    server = serve(completion())
    ask(policy_for(server, style="tools", tool_choice="auto"), make_turn())
    ask(policy_for(server, style="chat"), replace(make_turn(), tools=TOOLS))
    assert all(json.loads(body).keys() == {"model", "messages", "seed"} for body in server.bodies)
    with pytest.raises(ConfigError, match="tool_choice goes with the style 'tools'"):
        policy_for(server, tool_choice="auto")


def test_the_content_is_the_reply_where_no_function_is_called(serve):
    for body in (completion("Up"), completion("Up", choices=[{"message": {"content": "Up", "tool_calls": None}}])):
        assert ask(policy_for(serve(body), style="tools"), replace(make_turn(), tools=TOOLS))[0].text == "Up"


def test_calls_are_no_reply_in_other_styles(serve):
    assert ask(policy_for(serve(calling(CALL, content="Up"))), replace(make_turn(), tools=TOOLS))[0].text == "Up"


@pytest.mark.parametrize(
    "call",
    [
        {},
        {"function": 3},
        {"id": 5, "function": {"name": None, "arguments": [float("nan")]}},
        {"function": {"name": "fly", "arguments": "{not JSON"}},
        {"id": "\ud800"},
    ],
)
def test_malformed_calls_are_left_to_the_codec(serve, call):
    (reply,) = ask(policy_for(serve(calling(call)), style="tools"), replace(make_turn(), tools=TOOLS))
    assert len(json.loads(reply.text)["tool_calls"]) == 1
    reply.text.encode("utf-8")


@pytest.mark.parametrize("calls", ["garbage", 3, {"a": 1}, [3], [CALL, None]])
def test_garbage_calls_are_asked_for_again(serve, calls):
    bad = completion(choices=[{"message": {"content": "Up", "tool_calls": calls}}])
    policy = policy_for(serve(bad, calling(CALL)), style="tools")
    assert "search" in ask(policy, make_turn())[0].text
    assert policy.usage["retries"] == 1


def test_key_is_not_in_calls(serve, monkeypatch):
    monkeypatch.setenv("AGENTENVS_API_KEY", KEY)
    call = {"id": KEY, "function": {"name": KEY, "arguments": json.dumps({"query": KEY})}}
    (reply,) = ask(policy_for(serve(calling(call, content=KEY)), style="tools"), make_turn())
    assert KEY not in reply.text
    assert reply.text.count("[key]") == 4


def test_the_server_is_asked_to_continue(serve):
    server = serve(completion("<answer>x</answer>"))
    policy = policy_for(server, style="continued")
    ask(policy, make_turn("Question?"))
    ask(policy, make_turn("<information>y</information>", history=(Exchange("Question?", "<search>y</search>"),)))
    first, second = map(json.loads, server.bodies)
    assert first.keys() == {"model", "messages", "seed"}
    assert second["messages"] == [
        {"role": "user", "content": "Play.\n\nQuestion?"},
        {"role": "assistant", "content": "<search>y</search><information>y</information>"},
    ]
    assert (second["continue_final_message"], second["add_generation_prompt"]) == (True, False)


def test_query_of_the_url_is_kept(serve):
    server = serve(completion())
    seen = []
    server.script = [lambda handler: (seen.append(handler.path), server.answer(handler, completion()))]
    server.url += "/?api-version=1"
    ask(policy_for(server), make_turn())
    assert seen == ["/v1/chat/completions?api-version=1"]


def test_unfinished_reply_is_refused(serve):
    with pytest.raises(ConfigError, match="unfinished reply"):
        ask(policy_for(serve(completion())), replace(make_turn(), prefix=(1, 2)))


# ---- concurrency ------------------------------------------------------------------------------------------------


def test_requests_overlap_and_are_bounded(serve):
    server = serve(completion())

    def slow(handler):
        time.sleep(0.05)
        server.answer(handler, completion(handler.headers["Content-Length"]))

    server.script = [slow]
    turns = [make_turn("x" * i) for i in range(12)]
    policy = policy_for(server, concurrency=4)
    replies = ask(policy, *turns)
    assert [reply.text for reply in replies] == [str(len(policy.request(turn))) for turn in turns]
    assert server.most_busy == 4


def test_one_policy_on_several_event_loops(serve):
    policy = policy_for(serve(completion()), concurrency=1)
    for _ in range(3):
        assert [reply.text for reply in ask(policy, *[make_turn()] * 3)] == ["Up"] * 3
    assert policy.usage["requests"] == 9


def test_usage_sums(serve):
    server = serve((500, {}, b""), completion(), completion(usage=None), completion(usage={"prompt_tokens": True}))
    policy = policy_for(server)
    for _ in range(3):
        ask(policy, make_turn())
    assert policy.usage == {"requests": 4, "retries": 1, "prompt_tokens": 11, "completion_tokens": 3}


# ---- failures that pass -----------------------------------------------------------------------------------------

BAD_ANSWERS = {
    "garbage": b"<html>oops",
    "not UTF-8": b"\xff\xfe\x00",
    "empty": b"",
    "list": b"[1]",
    "no choices": {"error": {"message": "overloaded"}},
    "empty choices": {"choices": []},
    "no message": {"choices": [{"text": "x"}]},
    "null message": {"choices": [{"message": None}]},
    "number": {"choices": [{"message": {"content": 3}}]},
    "deep": b"[" * 200_000,
    "long integer": b"1" * 10_000,
}


@pytest.mark.parametrize("bad", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_unusable_answer_then_success(serve, bad):
    policy = policy_for(serve(bad, completion()))
    assert ask(policy, make_turn())[0].text == "Up"
    assert policy.usage["retries"] == 1


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_retryable_status_then_success(serve, status):
    policy = policy_for(serve((status, {}, b"busy"), completion()))
    assert ask(policy, make_turn())[0].text == "Up"
    assert policy.usage["requests"] == 2


def test_closed_connection_then_success(serve):
    assert ask(policy_for(serve(nothing, completion())), make_turn())[0].text == "Up"


def test_truncated_body_then_success(serve):
    def cut(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"choices"')
        handler.close_connection = True

    assert ask(policy_for(serve(cut, completion())), make_turn())[0].text == "Up"


def test_retry_after_is_waited_for(serve):
    policy = policy_for(serve((429, {"Retry-After": "0.2"}, b""), completion()))
    start = time.monotonic()
    ask(policy, make_turn())
    assert time.monotonic() - start >= 0.2


def test_hang_past_the_timeout_then_success(serve):
    server = serve(completion())
    server.script = [lambda handler: server.released.wait(10), completion()]
    assert ask(policy_for(server, timeout_s=0.2), make_turn())[0].text == "Up"


def test_slow_drip_is_bounded(serve):
    server = serve(completion())

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not server.released.wait(0.02):
            handler.wfile.write(b" ")

    server.script = [drip]
    start = time.monotonic()
    with pytest.raises(InfrastructureError, match=r"no complete answer within 0\.2 s"):
        ask(policy_for(server, timeout_s=0.2, max_retries=1), make_turn())
    assert time.monotonic() - start < 3


# ---- failures that stay -----------------------------------------------------------------------------------------


def test_retries_end_in_an_infrastructure_error(serve):
    server = serve((503, {}, b'{"error": {"message": "no\\u0000 GPU"}}'))
    policy = policy_for(server)
    with pytest.raises(InfrastructureError, match=r"chat:m: 3 failed attempts; HTTP 503: no +GPU"):
        ask(policy, make_turn())
    assert (len(server.bodies), policy.usage["retries"]) == (3, 2)


def test_nobody_listens(serve):
    policy = ChatPolicy("m", "http://127.0.0.1:9/v1", backoff_s=0.001, max_retries=1)
    with pytest.raises(InfrastructureError, match="2 failed attempts; ConnectError"):
        ask(policy, make_turn())


@pytest.mark.parametrize(("status", "error"), [(400, InfrastructureError), (422, InfrastructureError),
                                               (401, ConfigError), (403, ConfigError), (404, ConfigError)])  # fmt: skip
def test_other_4xx_fail_at_once(serve, status, error):
    server = serve((status, {}, {"error": {"message": "bad " + "x" * 5000}}))
    with pytest.raises(error, match=f"HTTP {status}: bad x") as caught:
        ask(policy_for(server), make_turn())
    assert len(server.bodies) == 1
    assert len(str(caught.value)) < 450


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "the request exceeds the available context size. try increasing the context size",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "context_length_exceeded",
    ],
)
def test_a_prompt_that_is_too_long_is_the_policys_failure(serve, message):
    server = serve((400, {}, {"error": {"message": message}}))
    (reply,) = ask(policy_for(server), make_turn())
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert len(server.bodies) == 1


def test_huge_body_is_refused(serve, monkeypatch):
    monkeypatch.setattr(transport, "MAX_BODY", 100_000)
    server = serve(completion("x" * 200_000))
    with pytest.raises(InfrastructureError, match="larger than 100000 bytes"):
        ask(policy_for(server), make_turn())
    assert len(server.bodies) == 1


def test_redirect_is_not_followed(serve, monkeypatch):
    monkeypatch.setenv("AGENTENVS_API_KEY", KEY)
    other = serve(completion())
    server = serve((307, {"Location": f"{other.url}/chat/completions"}, b""))
    with pytest.raises(ConfigError, match="redirects"):
        ask(policy_for(server), make_turn())
    assert other.bodies == []


# ---- the key ----------------------------------------------------------------------------------------------------


def test_key_is_sent_from_its_variable_only(serve, monkeypatch):
    server = serve(completion())
    policy = policy_for(server)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    ask(policy, make_turn())
    assert "Authorization" not in server.headers[0]
    monkeypatch.setenv("AGENTENVS_API_KEY", KEY)
    ask(policy, make_turn())
    assert server.headers[1]["Authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in server.bodies[1]
    assert KEY not in repr(policy) + str(vars(policy)) + policy.name
    assert KEY.encode() not in pickle.dumps(policy)


@pytest.mark.parametrize("status", [401, 400, 503])
def test_key_is_not_in_errors(serve, monkeypatch, status):
    monkeypatch.setenv("AGENTENVS_API_KEY", KEY)
    padding = "x" * (transport.MESSAGE_LENGTH - 5)  # a key that cutting would leave half of
    server = serve((status, {}, {"error": {"message": f"wrong key {KEY} {padding}{KEY}"}}))
    with pytest.raises((ConfigError, InfrastructureError), match=r"wrong key \[key\]") as caught:
        ask(policy_for(server), make_turn())
    assert "sk-sec" not in str(caught.value)


def test_key_is_not_in_replies(serve, monkeypatch):
    monkeypatch.setenv("AGENTENVS_API_KEY", KEY)
    (reply,) = ask(policy_for(serve(completion(f"I am {KEY}", model=KEY))), make_turn())
    assert (reply.text, reply.policy_version) == ("I am [key]", "[key]")
    monkeypatch.setenv("AGENTENVS_API_KEY", "EMPTY")
    (reply,) = ask(policy_for(serve(completion("EMPTY cell"))), make_turn())
    assert reply.text == "EMPTY cell"


@pytest.mark.parametrize("key", ["a b", "a\nb", "kéy", "a\x7f"])
def test_unsendable_key_is_not_shown(serve, monkeypatch, key):
    server = serve(completion())
    monkeypatch.setenv("AGENTENVS_API_KEY", key)
    with pytest.raises(ConfigError, match="AGENTENVS_API_KEY: expected printable ASCII") as caught:
        ask(policy_for(server), make_turn())
    assert key not in str(caught.value)


# ---- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "model", "url"),
    [
        ("chat:m@http://h:8000/v1", "m", "http://h:8000/v1"),
        ("chat:Qwen/Qwen3-4B:free@https://h/v1/", "Qwen/Qwen3-4B:free", "https://h/v1"),
        ("chat:a@b@http://h", "a@b", "http://h"),
        ("chat:a@http://x@https://h/v1", "a@http://x", "https://h/v1"),
        ("chat:m@HTTP://[::1]:80/v1?api-version=2", "m", "http://[::1]:80/v1?api-version=2"),
    ],
)
def test_parse(text, model, url):
    policy = ChatPolicy.parse(text, concurrency=3)
    assert (policy.model, policy.url, policy.concurrency, policy.name) == (model, url, 3, f"chat:{model}")
    assert policy.style == "chat"


@pytest.mark.parametrize("text", ["chat:", "chat:m", "chat:@http://h", "m@http://h", "chat:m@ftp://h", "chat:m@h:80",
                                  "chat:m@http://", "chat:m@http://h:99999", "chat:m@http://a b/",
                                  "chat:m@http://h/\n", "chat:m@http://[::1", ""])  # fmt: skip
def test_parse_errors_say_what_is_expected(text):
    with pytest.raises(ConfigError, match=r"expected (chat:MODEL@URL|http://host)"):
        ChatPolicy.parse(text)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("chat:m@http://h/v1#tools", "tools"),
        ("chat:m@http://h/v1/?a=1#stepwise:3", "stepwise:3"),
        ("chat:a#b@http://h/v1#continued", "continued"),
    ],
)
def test_a_fragment_names_the_style(text, style):
    policy = ChatPolicy.parse(text)
    assert (policy.style, "#" in policy.url) == (style, False)
    assert ChatPolicy.parse(text, style="chat").style == "chat"


def test_other_fragments_are_refused():
    with pytest.raises(UnknownName, match=r"unknown prompt style 'tool'; did you mean 'tools'"):
        ChatPolicy.parse("chat:m@http://h/v1#tool")
    with pytest.raises(ConfigError, match="expected no #fragment"):
        ChatPolicy("m", "http://h/v1#tools")


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@h/v1", "http://hunter2@h/v1", "https://h/v1?api_key=hunter2", "https://h/?KEY=hunter2",
            "https://h/v1?access_token=hunter2", "https://h:bad-hunter2/v1", f"https://h/{KEY}/hunter2",
            "ftp://u:hunter2@h", "ftp://u@x:hunter2@h", "://hunter2"]
)  # fmt: skip
def test_secrets_in_urls_are_refused_and_not_shown(monkeypatch, url):
    monkeypatch.setenv("AGENTENVS_API_KEY", KEY)
    with pytest.raises(ConfigError) as caught:
        ChatPolicy.parse(f"chat:m@{url}")
    assert "hunter2" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"timeout_s": 0}, {"max_retries": -1}, {"backoff_s": -1.0},
                                     {"timeout_s": float("nan")}])  # fmt: skip
def test_bad_options(options):
    with pytest.raises(ConfigError, match="expected concurrency >= 1"):
        ChatPolicy("m", "http://h", **options)


def test_unknown_style():
    with pytest.raises(UnknownName, match="prompt style"):
        ChatPolicy("m", "http://h", style="chatt")


def test_missing_httpx(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"agentenvs\[llm\]"):
        ask(ChatPolicy("m", "http://h"), make_turn())


# ---- parts ------------------------------------------------------------------------------------------------------


def test_pause_doubles_is_capped_and_repeats():
    pauses = [transport.pause_s(attempt, 3, 0.5) for attempt in range(12)]
    assert pauses == [transport.pause_s(attempt, 3, 0.5) for attempt in range(12)]
    assert all(0.25 * 2**i <= pause < 0.5 * 2**i for i, pause in enumerate(pauses[:6]))
    assert max(pauses) < transport.MAX_PAUSE
    assert transport.pause_s(0, 3, 0.5) != transport.pause_s(0, 4, 0.5)
    assert transport.pause_s(0, 3, 0.5, after=7.0) == 7.0
    assert transport.pause_s(0, 3, 0.5, after=1e6) == transport.MAX_PAUSE
    assert transport.pause_s(10**9, 3, 0.5) <= transport.MAX_PAUSE


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("Wed, 21 Oct 2015 07:28:10 GMT", 10.0), ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
     ("soon", None), ("", None), ("-1", None), ("inf", None), ("9" * 5000, None), ("٣", None)],
)  # fmt: skip
def test_retry_after(value, seconds):
    assert transport.retry_after_s({"retry-after": value, "date": "Wed, 21 Oct 2015 07:28:00 GMT"}) == seconds


def test_retry_after_date_without_the_servers_clock():
    assert transport.retry_after_s({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


@pytest.mark.parametrize(
    ("body", "text"),
    [(b'{"error": {"message": "a"}}', "a"), (b'{"error": "b"}', "b"), (b'{"detail": "c"}', "c"), (b"plain", "plain"),
     (b'{"message": "d"}', "d"), (b"[1]", "[1]"), (b'{"error": {"code": 3}}', "{'code': 3}"), (b"\xff\n", "\ufffd"),
     (b"", "")],
)  # fmt: skip
def test_server_message(body, text):
    assert transport.server_message(body) == text


@pytest.mark.parametrize("message", [{"content": None, "tool_calls": [{}]}, {"tool_calls": [{}]}, {"content": ""}])
def test_reply_without_content_is_empty(message):
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    reply = read_completion(body)
    assert (reply.text, reply.finish_reason, reply.policy_version, reply.usage) == ("", "tool_calls", None, {})


def test_reply_text_can_be_stored():
    body = json.dumps(completion("a\ud800b√")).encode()
    assert read_completion(body).text == "a?b√"


def test_policy_survives_pickling(serve):
    policy = pickle.loads(pickle.dumps(policy_for(serve(completion()), style="stepwise:3")))
    assert ask(policy, make_turn())[0].text == "Up"


# ---- from end to end --------------------------------------------------------------------------------------------


def test_function_calls_from_a_server_are_played(serve):
    """Three turns against the counter (goal 3): two calls at once, a tool that does not exist, the last step."""

    def call(name, tool):
        return {"id": name, "type": "function", "function": {"name": tool, "arguments": "{}"}}

    server = serve(calling(call("a", "up"), call("b", "up")), calling(call("a", "fly")), calling(call("a", "up")))
    wrappers = [{"name": "TextActions", "kwargs": {"codec": "openai"}}]
    job = Job(COUNTER, "counter/test/1", wrappers=wrappers)
    [made] = collect(None, policy_for(server, style="tools"), [job])
    assert (made.success, made.end_reason, len(made.steps)) == (True, "reached", 3)
    bodies = [json.loads(body) for body in server.bodies]
    assert [tool["function"]["name"] for tool in bodies[0]["tools"]] == ["up", "down", "jump", "crash", "outage"]
    for before, after in pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    shape = [(message["role"], message.get("tool_call_id")) for message in bodies[2]["messages"]]
    assert shape == [("system", None), ("user", None), ("assistant", None), ("tool", "a"), ("tool", "b"),
                     ("assistant", None), ("tool", "a")]  # fmt: skip
    assert "fly" in bodies[2]["messages"][-1]["content"]


def test_one_growing_message_against_an_environment(serve):
    server = serve(completion("<think>a</think><up></up> and a tail"), completion("nothing"), completion("<up></up>"))
    wrappers = [{"name": "TextActions", "kwargs": {"codec": {"name": "xml"}}}]
    [made] = collect(None, policy_for(server, style="continued"), [Job(COUNTER, "counter/test/0", wrappers=wrappers)])
    assert (made.success, len(made.steps)) == (True, 3)
    first, second, third = (json.loads(body)["messages"] for body in server.bodies)
    assert len(first) == 1 and first[0]["content"].endswith("goal 2")
    assert second[1]["content"] == "<think>a</think><up></up>\n\n<information>at 1</information>\n\n"
    assert third[1]["content"].startswith(second[1]["content"] + "nothing")
