"""Language models on disk: folders as Hugging Face transformers saves them, loaded once a process, never downloaded."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from agentenvs.core.errors import ConfigError, quote, unknown
from agentenvs.core.quiet import quiet
from agentenvs.datasets.locate import digest
from agentenvs.policies import smollm2
from agentenvs.policies.libraries import require

DTYPES = ("float32", "bfloat16", "float16")
_WEIGHTS = ("*.safetensors", "*.bin")
_LOCK = Lock()
_LOADED: dict[tuple[Path, str, str], tuple[Any, LanguageModel]] = {}


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model with its tokenizer, on a device, ready to be asked.

    `context`: the most tokens that prompt and reply may have together. `ends`: ids that end a reply. `version`: a
    digest of the weights.
    """

    model: Any
    tokenizer: Any
    context: int
    ends: frozenset[int]
    version: str

    def encode(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """The token ids of a prompt that asks for the assistant's next message; a last message that is the assistant's
        own is left open, to be continued.

        Written by the tokenizer's chat template. Where there is none, each message is `role: content`, with a blank
        line between two, and `assistant:` opens the reply. Special tokens in a content are broken up ("< |im_end|>"):
        whoever wrote it, an observation cannot end its message and forge another one.
        """
        shown = [{**message, "content": self._harmless(message["content"])} for message in messages]
        unfinished = messages[-1]["role"] == "assistant"
        if not self.tokenizer.chat_template:
            parts = [f"{one['role']}: {one['content']}" for one in shown] + ["assistant:"] * (not unfinished)
            return self.tokenizer("\n\n".join(parts))["input_ids"]
        from jinja2 import TemplateError

        opening = {"add_generation_prompt": not unfinished, "continue_final_message": unfinished}
        try:
            text = self.tokenizer.apply_chat_template(shown, tokenize=False, **opening)
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages[:4])
            raise ConfigError(
                f"the model's chat template refuses messages of {roles}: {error}; "
                "style='concatenated' writes everything into one user message"
            ) from None
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def read(self, ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens; bytes that are no character are U+FFFD."""
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def _harmless(self, text: str) -> str:
        """`text` without special tokens and lone surrogates."""
        text = text.encode("utf-8", "replace").decode("utf-8")
        return self._marks.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        marks = [str(token) for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        return re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))) or r"(?!)")


def check(name: str, dtype: str) -> None:
    """Raise the error that `load` would end in, as far as can be told at once."""
    require("torch", "transformers")
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    if name == smollm2.NAME:
        smollm2.source()
        return
    folder = Path(name).expanduser()
    if not folder.is_dir() and os.sep not in name:
        raise unknown("local model", name, [smollm2.NAME, "the path of a folder"])
    if not (folder / "config.json").is_file():
        wanted = f"{smollm2.NAME} or a folder with config.json, weights and tokenizer"
        raise ConfigError(f"local model {quote(name)}: expected {wanted}, found no config.json there")


def load(name: str, dtype: str = "float32", device: str | None = None) -> LanguageModel:
    """The model called `smollm2`, or in a folder. A process holds each once; changed weights are read again.

    `device` None is a GPU where there is one. Raises `ConfigError` for a folder that holds no usable model and
    `MissingExtra` for packages that are not there.
    """
    check(name, dtype)
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    with _LOCK:
        folder = smollm2.folder() if name == smollm2.NAME else Path(name).expanduser().resolve()
        state = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in _weight_files(folder)]
        found, model = _LOADED.get((folder, dtype, device), (None, None))
        if model is None or found != state:
            model = _load(folder, dtype, device)
            _LOADED[folder, dtype, device] = state, model
        return model


def fingerprint(folder: Path) -> str:
    """A digest of the weight files of a folder, 64 bits in hex."""
    files = "".join(f"{file.name} {digest(file)}\n" for file in _weight_files(folder))
    return hashlib.sha256(files.encode()).hexdigest()[:16]


def _weight_files(folder: Path) -> list[Path]:
    return sorted(file for pattern in _WEIGHTS for file in folder.glob(pattern))


def _load(folder: Path, dtype: str, device: str) -> LanguageModel:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"dtype": getattr(torch, dtype), "output_loading_info": True, "local_files_only": True}
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model, info = AutoModelForCausalLM.from_pretrained(folder, **options)
    except Exception as error:  # of any kind: whatever transformers and what it calls raise for a damaged folder
        raise ConfigError(
            f"local model {folder}: expected a causal language model that transformers can load, "
            f"found {type(error).__name__}: {str(error)[:300]}"
        ) from error
    if missing := sorted(info["missing_keys"]):
        raise ConfigError(f"local model {folder}: the weights lack {len(missing)} tensors, such as {missing[0]}")
    ends = model.generation_config.eos_token_id
    ends = {*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id} - {None}
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 1 << 30
    return LanguageModel(model.to(device).eval(), tokenizer, context, frozenset(ends), fingerprint(folder))
