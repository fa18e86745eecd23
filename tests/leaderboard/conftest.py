"""A real submission, and a workbench for forging it."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentenvs.core.errors import VerificationError
from agentenvs.evaluation.runner import evaluate
from agentenvs.leaderboard.bundle import FILES, write_bundle
from agentenvs.leaderboard.card import Card
from agentenvs.leaderboard.verify import REASONS, verify

CARD = Card(name="honest", policy="random", authors="a tester", date="2026-11-30")


class Forger:
    """Takes a bundle apart, changes it, and puts it together again with a manifest that fits: a careful cheat."""

    def __init__(self, bundle: Path, out: Path) -> None:
        with zipfile.ZipFile(bundle) as archive:
            self.files = {name: archive.read(name) for name in FILES}
        self.out = out
        self.episodes = [json.loads(line) for line in self.files["episodes.jsonl"].splitlines()]
        self.json = {name: json.loads(self.files[name]) for name in FILES if name.endswith(".json")}

    def write(self, *, fit: bool = True, more: dict[str, bytes] | None = None) -> Path:
        files = {name: json.dumps(value).encode() for name, value in self.json.items()}
        lines = (json.dumps(episode, separators=(",", ":")).encode() + b"\n" for episode in self.episodes)
        files["episodes.jsonl"] = b"".join(lines)
        if fit:
            manifest = copy.deepcopy(self.json["manifest.json"])
            manifest["sha256"] = {n: hashlib.sha256(c).hexdigest() for n, c in files.items() if n != "manifest.json"}
            files["manifest.json"] = json.dumps(manifest).encode()
        with zipfile.ZipFile(self.out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in {**files, **(more or {})}.items():
                archive.writestr(name, content)
        return self.out


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four tasks of each entry of `quick`, played by the random policy."""
    out = tmp_path_factory.mktemp("run") / "quick-random"
    evaluate("quick", "random", out, episodes=4, seed=3)
    return out


@pytest.fixture(scope="session")
def honest(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(run_folder, CARD, tmp_path_factory.mktemp("bundle") / "honest.zip")


@pytest.fixture
def forge(honest: Path, tmp_path: Path) -> Callable[[], Forger]:
    return lambda: Forger(honest, tmp_path / "forged.zip")


def refusal(path: Path, **more: Any) -> str:
    """The reason for which a bundle is refused."""
    with pytest.raises(VerificationError) as caught:
        verify(path, **more)
    assert caught.value.reason in REASONS
    assert len(str(caught.value)) < 1_000
    return caught.value.reason


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all leaves of a JSON value."""
    if isinstance(value, dict) and value:
        return [leaf for name, item in value.items() for leaf in leaves(item, (*path, name))]
    if isinstance(value, list) and value:
        return [leaf for at, item in enumerate(value) for leaf in leaves(item, (*path, at))]
    return [path]


def change(value: Any, path: tuple[Any, ...], new: Callable[[Any], Any]) -> None:
    """Replace the leaf at `path` by `new(leaf)`."""
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new(value[path[-1]])


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real Chromium, driven by chromedriver."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("needs chromium and chromedriver on the PATH (Debian: apt install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    flags = "headless=new no-sandbox disable-gpu disable-dev-shm-usage disable-background-networking"
    for flag in (flags + " disable-component-update disable-sync no-first-run window-size=1280,900").split():
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()
