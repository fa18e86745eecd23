"""`py:module:factory`: live objects that a JSON value names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from agentenvs.core.errors import ConfigError


def factory(name: str, what: str) -> Callable[..., Any]:
    """The function or class that `py:module:factory` names; `what` says in errors what it is for.

    Raises `ConfigError` where the module cannot be imported or has nothing of that name that can be called.
    """
    module, _, attribute = name.removeprefix("py:").partition(":")
    if not name.startswith("py:") or not module or not attribute:
        raise ConfigError(f"{what}: expected py:module:factory, got {name}")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError, SyntaxError) as error:
        raise ConfigError(f"{what} {name}: {error}; expected py:module:factory, its folder on PYTHONPATH") from error
    if not callable(found):
        raise ConfigError(f"{what} {name}: expected a function or class, got {type(found).__name__}")
    return found
