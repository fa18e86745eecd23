"""The bar: only where somebody looks, and only for long work."""

from __future__ import annotations

import io
import sys

import pytest

from agentenvs.retrieval import progress as module
from agentenvs.retrieval.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, after_s: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "_AFTER_S", after_s)
    monkeypatch.setenv("TERM", "xterm")
    with progress("encoding", 1000) as advance:
        for done in range(1000):
            advance(done)
    return stream.getvalue()


def test_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), 0.0) == ""
    assert shown(monkeypatch, Terminal(), 60.0) == ""
    assert "encoding" in shown(monkeypatch, Terminal(), 0.0)
    monkeypatch.setattr(sys, "stderr", None)
    with progress("encoding", 10) as advance:
        advance(1)
