"""How fast and how large our indexes are, beside the libraries they stand on, used directly, on one core.

    python benchmarks/bench_retrieval.py [--json OUT] [--passages 100000] [--queries 300] [--rounds 5] [--memory N]

The corpus is generated: 30 to 59 words a passage, 100,000 different ones with frequencies 1/rank (Zipf); queries are 6
words of the same kind, the first 10 hits are asked for. Ours and the direct use take turns, round after round; printed
are medians. The keys of the JSON carry their units:

- `build_s`: from passages in memory to an index that answers, once;
- `single_per_s`, `batch_per_s`: queries a second, one a call and all in one call. Words are found in the query on both
  sides; ours also brings id and contents of each hit;
- `layer_cost`: the time of ours over that of the direct use, less 1, for single and batched queries;
- `memory`: of `--memory N` passages in a file: bytes at most in memory while the stored index is built, and in another
  process that opens it and answers 100 queries, with the seconds both take. One million: `--memory 1000000`.

rank-bm25 is asked fewer queries (`--slow`), since each takes a good part of a second. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from agentenvs.core.rng import derive
from agentenvs.retrieval import Corpus, make_corpus, open_index, read_corpus
from agentenvs.retrieval.words import terms, words

VOCABULARY = 100_000
K = 10
Search = Callable[[Sequence[str]], Any]


def texts(count: int, least: int, most: int, *key: str) -> Iterator[str]:
    """`count` texts of `least` to `most` words."""
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    generator = np.random.default_rng(derive("bench-retrieval", *key))
    for _ in range(count):
        picks = np.searchsorted(shares, shares[-1] * generator.random(generator.integers(least, most + 1)))
        yield " ".join(f"w{pick}" for pick in picks.tolist())


def passages(count: int) -> Iterator[dict[str, str]]:
    return ({"id": str(i), "contents": text} for i, text in enumerate(texts(count, 30, 59, "passages")))


def queries(count: int) -> list[str]:
    return list(texts(count, 6, 6, "queries"))


# the libraries, used directly ---------------------------------------------------------------------------------------


def direct_bm25s(corpus: Corpus) -> Search:
    import bm25s

    model = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    model.index([words(passage.contents) for passage in corpus], show_progress=False)
    return lambda asked: model.retrieve([terms(query) for query in asked], k=K, show_progress=False, n_threads=0)


def direct_rank_bm25(corpus: Corpus) -> Search:
    from rank_bm25 import BM25Okapi

    model, positions = BM25Okapi([words(passage.contents) for passage in corpus], k1=0.9, b=0.4), range(len(corpus))
    return lambda asked: [model.get_top_n(terms(query), positions, K) for query in asked]


def direct_tantivy(corpus: Corpus) -> Search:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("position", fast=True)
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=256_000_000, num_threads=1)
    for position, passage in enumerate(corpus):
        writer.add_document(tantivy.Document(position=position, words=" ".join(words(passage.contents))))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher, should, term = index.searcher(), tantivy.Occur.Should, tantivy.Query.term_query

    def search(asked: Sequence[str]) -> Any:
        found = []
        for query in asked:
            clauses = [(should, term(schema, "words", word, "freq")) for word in terms(query)]
            hits = searcher.search(tantivy.Query.boolean_query(clauses), K, count=False).hits
            found.append(searcher.fast_field_values("position", [address for _, address in hits]))
        return found

    return search


DIRECT: dict[str, Callable[[Corpus], Search]] = {
    "bm25s": direct_bm25s,
    "rank-bm25": direct_rank_bm25,
    "tantivy": direct_tantivy,
}


def ours(backend: str) -> Callable[[Corpus], Search]:
    def build(corpus: Corpus) -> Search:
        index = open_index(corpus, {"kind": "bm25", "backend": backend})
        return lambda asked: index.search(asked, K)

    return build


# measuring ----------------------------------------------------------------------------------------------------------


def compare(backend: str, corpus: Corpus, asked: Sequence[str], rounds: int) -> dict[str, Any]:
    """Ours and the direct use of one back-end."""
    row: dict[str, Any] = {"backend": backend, "queries": len(asked)}
    searches = {}
    for name, build in (("ours", ours(backend)), ("direct", DIRECT[backend])):
        began = perf_counter()
        searches[name] = build(corpus)
        row[name] = {"build_s": perf_counter() - began}
    taken: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        for name in ("ours", "direct") if number % 2 else ("direct", "ours"):
            single, batch = timed(searches[name], asked)
            taken.setdefault((name, "single"), []).append(single)
            taken.setdefault((name, "batch"), []).append(batch)
    medians = {key: statistics.median(times) for key, times in taken.items()}
    for (name, way), seconds in medians.items():
        row[name][f"{way}_per_s"] = len(asked) / seconds
    row["layer_cost"] = {way: medians["ours", way] / medians["direct", way] - 1 for way in ("single", "batch")}
    return row


def timed(search: Search, asked: Sequence[str]) -> tuple[float, float]:
    """Seconds for all queries one by one, and for all of them in one call."""
    began = perf_counter()
    for query in asked:
        search([query])
    between = perf_counter()
    search(asked)
    return between - began, perf_counter() - between


def memory(count: int, folder: Path) -> dict[str, Any]:
    """Memory and time of building and of opening the index of a file, each in a process of its own."""
    path = folder / "corpus.jsonl"
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(passage) + "\n" for passage in passages(count))
    command = [sys.executable, str(Path(__file__).resolve()), "--open", str(path)]
    environment = {**os.environ, "AGENTENVS_CACHE": str(folder / "cache")}
    row: dict[str, Any] = {"passages": count, "file_bytes": path.stat().st_size}
    for name in ("build", "open"):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        row[name] = json.loads(done.stdout)
    return row


def print_opened(path: str) -> None:
    """The other side of `memory`."""
    began = perf_counter()
    index = open_index(read_corpus(path))
    opened = perf_counter()
    asked = queries(100)
    index.search(asked, K)
    taken = perf_counter() - opened
    with open("/proc/self/status", encoding="ascii") as stream:
        figures = dict(line.split(":", 1) for line in stream)
    sizes = {f"{key}_bytes": 1024 * int(figures[name].split()[0]) for key, name in _SIZES.items()}
    print(json.dumps({"seconds": opened - began, "queries_per_s": len(asked) / taken, **sizes}))


#: The most that was in memory, and of what is there now, what is not the mapping of a file.
_SIZES = {"peak": "VmHWM", "own": "RssAnon"}


def show(report: dict[str, Any]) -> None:
    """Print the figures as a table."""
    print(f"{report['passages']:,} passages, first {K} hits")
    print(f"{'':22}{'build s':>9}{'single/s':>10}{'batch/s':>10}")
    for row in report["engines"]:
        for name in ("ours", "direct"):
            figures = row[name]
            rates = f"{figures['single_per_s']:10,.1f}{figures['batch_per_s']:10,.1f}"
            print(f"{row['backend'] + ', ' + name:22}{figures['build_s']:9.2f}{rates}")
        cost = row["layer_cost"]
        print(f"{'  layer':22}{'':9}{cost['single']:+10.1%}{cost['batch']:+10.1%}")
    if found := report.get("memory"):
        for name in ("build", "open"):
            figures = found[name]
            print(
                f"{found['passages']:,} passages in a file, {name}: {figures['seconds']:.1f} s, at most "
                f"{figures['peak_bytes'] / 1e6:,.0f} MB ({figures['own_bytes'] / 1e6:,.0f} MB not mapped at the end), "
                f"{figures['queries_per_s']:,.0f} queries/s"
            )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    parser.add_argument("--passages", type=int, default=100_000, help="passages of the comparison (default 100000)")
    parser.add_argument("--queries", type=int, default=300, help="queries a round (default 300)")
    parser.add_argument("--slow", type=int, default=5, help="queries a round for rank-bm25 (default 5)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median is taken (default 5)")
    parser.add_argument("--backend", nargs="+", default=list(DIRECT), choices=list(DIRECT), help="only these")
    parser.add_argument("--memory", type=int, metavar="N", help="also measure the memory of N passages in a file")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last allowed one)")
    parser.add_argument("--open", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.open:
        return print_opened(options.open)
    if hasattr(os, "sched_setaffinity"):
        core = max(os.sched_getaffinity(0)) if options.core is None else options.core
        os.sched_setaffinity(0, {core})
    corpus, asked = make_corpus(passages(options.passages)), queries(options.queries)
    report: dict[str, Any] = {
        "machine": {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"},
        "passages": len(corpus),
        "k": K,
        "rounds": options.rounds,
    }
    with tempfile.TemporaryDirectory() as name:
        os.environ["AGENTENVS_CACHE"] = name
        report["engines"] = [
            compare(backend, corpus, asked[: options.slow] if backend == "rank-bm25" else asked, options.rounds)
            for backend in options.backend
        ]
        if options.memory:
            report["memory"] = memory(options.memory, Path(name))
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
