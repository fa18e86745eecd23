"""`agentenvs serve retriever`: an index at a local port."""

from __future__ import annotations

import argparse
import sys

ABOUT = "Serve an index over a corpus, in Search-R1's /retrieve protocol."
EXAMPLE = "agentenvs serve retriever --corpus corpus.jsonl --index bm25 --port 8000"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of `serve`."""
    command.add_argument("what", choices=("retriever",), help="what to serve")
    command.add_argument("--corpus", required=True, help='JSONL file of passages {"id": ..., "contents": ...}')
    command.add_argument("--index", default="bm25", help="bm25, dense, hybrid, or a JSON object (default bm25)")
    command.add_argument("--host", default="127.0.0.1", help="address to listen at (default 127.0.0.1: this machine)")
    command.add_argument("--port", type=int, default=8000, help="port to listen at (default 8000; 0 takes a free one)")


def serve(options: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    from agentenvs.retrieval.corpus_file import read_corpus
    from agentenvs.retrieval.open import open_index, settle_spec
    from agentenvs.retrieval.options import parse_index
    from agentenvs.retrieval.server import RetrieverServer

    spec = settle_spec(parse_index(options.index))  # a mistake shows before the corpus is read
    corpus = read_corpus(options.corpus)
    index = open_index(corpus, spec)
    with RetrieverServer(index, options.host, options.port) as server:
        print(f"serving {spec['kind']} over {len(corpus)} passages at {server.url}; Ctrl-C stops", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
