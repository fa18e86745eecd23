"""A lock on a file, which processes wait for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes that ask for `path` waiting; the file is made if need be. Raises `OSError`.

    The lock is let go when the block ends or the process dies. Where a system knows no such locks (Windows), everybody
    is let in.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(path, "wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
