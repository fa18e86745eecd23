"""`open_index`: from a name or a JSON specification to an index, which all environments of a process share."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.retrieval.base import Index, LocalIndex, Spec
from agentenvs.retrieval.bm25 import open_bm25, settle_bm25
from agentenvs.retrieval.client import HttpIndex, settle_http
from agentenvs.retrieval.corpus import Corpus
from agentenvs.retrieval.dense import open_dense, settle_dense
from agentenvs.retrieval.hybrid import OPTIONS as HYBRID
from agentenvs.retrieval.hybrid import HybridIndex, check_parts
from agentenvs.retrieval.options import at_least, settle

KINDS = ("bm25", "dense", "hybrid", "http")

_lock = threading.Lock()
_opened: dict[tuple[str, str], Future[LocalIndex]] = {}


def open_index(corpus: Corpus | None, spec: str | Spec = "bm25") -> Index:
    """The index that `spec` describes over `corpus`, the same object for all who ask for the same.

    `spec` is a kind ("bm25", "dense", "hybrid", "http") or `{"kind": ..., option: value}`; see `settle_spec`. The first
    who asks builds it or loads it from the cache on disk, others wait. An index of kind `http` has its passages
    elsewhere and takes no notice of `corpus`. A dense index with a live encoder is made anew each time.

    Raises `ConfigError` for a specification that cannot be used, `MissingExtra` for a package that it needs.
    """
    full = settle_spec(spec)
    if full["kind"] == "http":
        return HttpIndex(full)
    if corpus is None:
        raise ConfigError(f"an index of kind {full['kind']} needs a corpus; read one with read_corpus(path)")
    try:
        key = corpus.digest, json.dumps(full, sort_keys=True, allow_nan=False)
    except TypeError:  # a live encoder somewhere
        return _open(corpus, full)
    with _lock:
        found = _opened.get(key)
        if found is None:
            ours = _opened[key] = Future()
    if found is not None:
        return found.result()
    try:
        ours.set_result(_open(corpus, full))
    except BaseException as error:
        with _lock:
            del _opened[key]  # the next who asks tries again
        ours.set_exception(error)
        raise
    return ours.result()


def settle_spec(spec: str | Spec) -> dict[str, Any]:
    """`spec` with every option written out: equal indexes have equal ones. Raises `ConfigError`."""
    given: Any = {"kind": spec} if isinstance(spec, str) else spec
    if not isinstance(given, Mapping) or not isinstance(given.get("kind"), str):
        raise ConfigError(f'index: expected a name or {{"kind": ..., option: value}}, got {quote(spec)}')
    if given["kind"] not in KINDS:
        raise unknown("index", given["kind"], KINDS)
    known = {"bm25": settle_bm25, "dense": settle_dense, "hybrid": _settle_hybrid, "http": settle_http}
    return known[given["kind"]](given)


def _settle_hybrid(given: Spec) -> dict[str, Any]:
    spec = settle("hybrid", given, HYBRID)
    at_least(spec, 1, "depth")
    spec["indexes"] = [settle_spec(part) for part in spec["indexes"]]
    check_parts(spec["indexes"])
    return spec


def _open(corpus: Corpus, spec: Spec) -> LocalIndex:
    if spec["kind"] == "bm25":
        return open_bm25(corpus, spec)
    if spec["kind"] == "dense":
        return open_dense(corpus, spec)
    parts: list[Any] = [open_index(corpus, part) for part in spec["indexes"]]
    return HybridIndex(corpus, {**spec, "indexes": [dict(part.spec) for part in parts]}, parts)
