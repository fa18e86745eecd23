"""Manifests: the shipped ones, and what a hostile or broken one meets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentenvs import datasets as package
from agentenvs.core.errors import DataError, UnknownName
from agentenvs.datasets import manifest

BOXOBAN = Path(__file__).parents[3] / "shared" / "data" / "sokoban" / "boxoban"


def make_toml(files=(("a.txt", "0" * 64, 3),), **changes) -> str:
    fields = {"name": "toy", "family": "toys", "version": "1", "licence": "MIT", "homepage": "https://h"}
    fields |= {"source": "https://h/{version}/{path}"} | changes
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items() if value is not None]
    for path, sha256, size in files:
        lines += ["[[files]]", f"path = {json.dumps(path)}", f'sha256 = "{sha256}"', f"size = {json.dumps(size)}"]
    return "\n".join(lines)


def test_every_shipped_manifest_is_named_for_its_data_set():
    folder = Path(manifest.__file__).parent / "manifests"
    assert {path.stem for path in folder.glob("*.toml")} == set(package.datasets())


def test_boxoban_is_pinned():
    boxoban = package.dataset("boxoban")
    assert (boxoban.family, boxoban.licence, len(boxoban.files)) == ("sokoban", "Apache-2.0", 13)
    assert boxoban.size == 12 * 116_890 + 38_734
    commit = "78011d8c86ad423bfb2e1005012393b4c3c24409"
    base = "https://raw.githubusercontent.com/google-deepmind/boxoban-levels"
    assert boxoban.url("hard/000.txt") == f"{base}/{commit}/hard/000.txt"


@pytest.mark.official
@pytest.mark.skipif(not BOXOBAN.is_dir(), reason="shared/data/sokoban/boxoban is not beside the checkout")
def test_boxoban_is_the_official_one():
    assert {file.state for file in package.status("boxoban", BOXOBAN)} == {"present"}
    assert {path.relative_to(BOXOBAN).as_posix() for path in BOXOBAN.rglob("*.txt")} == {
        file.path for file in package.dataset("boxoban").files
    }


def test_unknown_name_suggests():
    with pytest.raises(UnknownName, match="did you mean 'boxoban'"):
        package.dataset("boxobann")


def test_parse_and_url():
    toy = manifest.parse(make_toml([("a/b c.txt", "0" * 64, 3), ("b.txt", "1" * 64, 4)], notes="n"), "toy.toml")
    assert (toy.name, toy.size, toy.notes) == ("toy", 7, "n")
    assert toy.url("a/b c.txt") == "https://h/1/a/b%20c.txt"
    assert toy.url("b.txt", "http://mirror/x/") == "http://mirror/x/b.txt"


HOSTILE = ["../a", "a/../../b", "/etc/passwd", "a//b", "", ".", "./a", "C:/x", "C:x", "a\\b", "..\\a", "a\0b", "a\nb",
           ".hidden", "a/.git/config", "nul", "a/CON.txt", "x.part", "a.", "a ", " a", "~/x", "a:b", "x" * 300, "a/",
           "ä.txt", "$HOME", "%2e%2e/a"]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_paths_are_refused(path):
    assert not manifest.is_safe(path)
    with pytest.raises(DataError, match="files, row 2: expected a plain relative path"):
        manifest.parse(make_toml([("ok.txt", "0" * 64, 1), (path, "0" * 64, 1)]), "toy.toml")


@pytest.mark.parametrize("path", ["a", "a/b.txt", "2018-train_v1.1.json", "a b/c+d=e@f,g.tar.gz", "_x/-y"])
def test_plain_paths_are_accepted(path):
    assert manifest.is_safe(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= 1", "toy.toml: expected TOML"),
        (make_toml(name=None), "toy.toml, name: expected a text, found nothing"),
        (make_toml(name="Toy/.."), "toy.toml, name: expected lower-case"),
        (make_toml(licence=3), "licence: expected a text, found 3"),
        (make_toml(source="file:///etc/{path}"), "source: expected an http"),
        (make_toml(source="https://h/"), "source: expected an http"),
        (make_toml(surprise="x"), "found 'surprise'"),
        (make_toml([]), "files: expected at least one"),
        (make_toml([("a", "0" * 63, 1)]), "row 1: expected sha256"),
        (make_toml([("a", "A" * 64, 1)]), "row 1: expected sha256"),
        (make_toml([("a", "0" * 64, -1)]), "row 1: expected size"),
        (make_toml([("a", "0" * 64, True)]), "row 1: expected size"),
        (make_toml([("a", "0" * 64, 1), ("A", "0" * 64, 1)]), "row 2: expected a path of its own"),
        (make_toml([("a", "0" * 64, 1), ("a/b", "0" * 64, 1)]), "row 2: expected a path of its own"),
        (make_toml() + '\nextra = "x"', "row 1: expected path, sha256 and size"),
    ],
)
def test_broken_manifests_name_the_place(text, message):
    with pytest.raises(DataError, match=message):
        manifest.parse(text, "toy.toml")
