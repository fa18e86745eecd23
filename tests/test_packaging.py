"""What is installed, what importing costs, and which way imports point."""

from __future__ import annotations

import ast
import configparser
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_importing_imports_no_family_and_nothing_heavy() -> None:
    code = "import gymnasium, sys; before = set(sys.modules); import agentenvs; print(*set(sys.modules) - before)"
    new = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in new if name.startswith("agentenvs.envs")]
    assert not {name.split(".")[0] for name in new} & {"rich", "httpx", "torch", "transformers", "tomllib", "asyncio"}
    assert len(new) < 12, new


def test_every_public_name_is_there() -> None:
    import agentenvs

    for name in agentenvs.__all__:
        assert getattr(agentenvs, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'colect'"):
        _ = agentenvs.colect


def test_imports_point_one_way() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "setup.cfg", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_code_is_formatted_and_clean() -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_modules_and_functions_keep_to_their_size() -> None:
    """No module of the package over 500 lines, no function over 60 (`examples_to_follow.md`)."""
    long = {}
    for path in (ROOT / "agentenvs").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if (count := len(text.splitlines())) > 500:
            long[str(path.relative_to(ROOT))] = count
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count = node.end_lineno - node.lineno + 1 if node.end_lineno else 0
                if count > 60:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = count
    assert not long


def test_versions_agree() -> None:
    import agentenvs

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {agentenvs.__version__}" in changelog
    assert len((ROOT / "pyproject.toml").read_text().splitlines()) == 3
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["build-backend"]


def test_the_constraints_pin_everything_that_the_test_command_installs() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"]
    wanted = [*config["options"]["install_requires"].split(), *extras["dev"].split()]  # with the extras that dev names
    names = {line.split(">=")[0].lower() for line in wanted}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if line and not line.startswith("#")}
    assert names <= pinned, names - pinned


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_from_another_folder(tmp_path: Path) -> None:
    """Build from a copy of the checkout, install into a new virtual environment, and run the contract there."""
    copy = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".git", "*.egg-info", "build", "__pycache__", "runs", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=ignored)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(copy)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"agentenvs"}
    data = [name for name in names if not name.endswith(".py")]
    for kind in (".xsb", ".toml", ".html", ".css", ".js", "py.typed"):
        assert any(name.endswith(kind) for name in data), f"no {kind} in the wheel"
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AGENTENVS"))}
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, env=clean)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip(f"no package index within reach: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    code = (
        "import agentenvs, gymnasium; from agentenvs.testing import check_contract;"
        "assert 'venv' in agentenvs.__file__;"
        "[check_contract(env_id) for env_id in agentenvs.registration.IDS];"
        "check_contract('agentenvs/Sokoban-v0', levels='embedded', difficulty='easy')"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([str(python), "-c", code], cwd=elsewhere, check=True, env=clean)
    command = [str(python.with_name("agentenvs")), "eval", "--suite", "quick", "--policy", "expert"]
    subprocess.run(command, cwd=elsewhere, check=True, env=clean, capture_output=True)
