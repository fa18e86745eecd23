"""Published question files row by row: each form of record becomes a `Record` with an `Item`, or a reason to skip it.

A form is a function of the paths of its files. Every fault is a `DataError` that names file, row and field.

| form | files |
|---|---|
| `flashrag` | JSONL `id, question, golden_answers`, and optionally `metadata.type` (Jin et al. 2024, FlashRAG) |
| `pubmedqa` | `ori_pqal.json` and `test_ground_truth.json` of Jin et al. 2019 |
| `medqa` | JSONL `question, options {A, B, ...}, answer_idx` (Jin et al. 2020) |
| `medmcqa` | JSONL `id, question, opa ... opd, cop, choice_type` (Pal et al. 2022) |

Our additions to the first, all optional: `options` (texts, or an object by letter), `supporting_ids`, `split`, `hops`,
`kind`. A gold of a question with options is a letter or the text of an option.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.core.errors import DataError, quote
from agentenvs.core.snapshot import natural
from agentenvs.envs.search_qa.items import LETTERS, Item
from agentenvs.envs.search_qa.reward import choice

MAX_LINE = 16 * 2**20  # bytes; FlashRAG's metadata can hold whole articles
_SPLITS = {"train": "train", "validation": "validation", "dev": "validation", "test": "test"}
_SUPPORT = ("supporting_ids", "supporting_ids_heuristic")
_VERDICTS = ("yes", "no", "maybe")


class Record(NamedTuple):
    """A row that was read: `index` from 0, the file's own `id` and `split` ("" where it has none), and the item; or
    `skipped`, the reason why there is none."""

    index: int
    id: str = ""
    split: str = ""
    item: Item | None = None
    skipped: str = ""


class Row(NamedTuple):
    """A JSON object of a file; `place` names it in errors."""

    file: str
    place: str
    index: int
    data: Mapping[str, Any]

    def error(self, field: str, expected: str, fix: str = "") -> DataError:
        """The error for a field: what was expected there, and what it holds."""
        found = quote(self.data[field]) if field in self.data else "no such field"
        return DataError(self.file, f"{self.place}, {field}", expected=expected, found=found, fix=fix)

    def text(self, field: str) -> str:
        """A text that is not blank."""
        value = self.data.get(field)
        if not isinstance(value, str) or not value.strip() or not _encodable(value):
            raise self.error(field, "a text")
        return value

    def word(self, field: str) -> str:
        """A text, "" where the field is absent or null."""
        return "" if self.data.get(field) is None else self.text(field)

    def texts(self, field: str) -> tuple[str, ...]:
        """The texts of a list, or a single one; whole numbers become texts. Absent or null is the empty list."""
        value = self.data.get(field)
        values = [] if value is None else value if isinstance(value, list) else [value]
        if not all(map(_scalar, values)):
            raise self.error(field, "a text or a list of texts (whole numbers are taken as texts)")
        return tuple(str(one) for one in values)

    def key(self, field: str = "id") -> str:
        """An id: a text or a whole number, "" where there is none."""
        value = self.data.get(field)
        if value is not None and not _scalar(value):
            raise self.error(field, "a text or a whole number")
        return "" if value is None else str(value)

    def options(self) -> tuple[str, ...]:
        """The texts of the options in the order of their letters; empty where there are none."""
        value = self.data.get("options")
        if isinstance(value, dict):
            if sorted(value) != list(LETTERS[: len(value)]):
                raise self.error("options", "texts by the letters A, B, C, ... without a gap")
            value = [value[letter] for letter in LETTERS[: len(value)]]
        if value is None:
            return ()
        if not isinstance(value, list) or not 2 <= len(value) <= len(LETTERS) or not all(map(_scalar, value)):
            raise self.error("options", f"2 to {len(LETTERS)} texts")
        return tuple(str(one) for one in value)

    def letter(self, field: str, golds: tuple[str, ...], options: tuple[str, ...]) -> str:
        """The letter of the one option that the golds of a field name, each by its letter or its text."""
        by_letter = {choice(gold, options) for gold in golds}
        by_text = {letter for letter, text in zip(LETTERS, options, strict=False) if text in golds}
        if len(readings := by_letter | by_text) != 1 or None in readings:
            raise self.error(field, "the letter or the text of one option", 'if both fit, write "(A) text"')
        return min(by_letter)


# The forms ------------------------------------------------------------------------------------------------------------


def flashrag(path: Path) -> Iterator[Record]:
    """FlashRAG's form with our additions."""
    for row in read_lines(path):
        golds, options = row.texts("golden_answers"), row.options()
        if not golds:
            raise row.error("golden_answers", "at least one answer")
        if options:
            golds = (row.letter("golden_answers", golds, options),)
        support = next((found for field in _SUPPORT if (found := row.texts(field))), ())
        item = Item(row.text("question"), golds, options, support, _hops(row), _kind(row))
        yield Record(row.index, row.key(), _split(row), item)


def pubmedqa(path: Path, truth_path: Path) -> Iterator[Record]:
    """The original PubMedQA: one object by PMID; those with a ground truth are the test split, the others train."""
    truth = _object(truth_path)
    missing = dict(truth)
    for row in read_entries(path):
        pmid = row.key("PMID")
        decision = row.text("final_decision")
        if decision not in _VERDICTS:
            raise row.error("final_decision", "yes, no or maybe")
        if missing.pop(pmid, decision) != decision:
            raise row.error("final_decision", f"{quote(truth[pmid])} as in {truth_path.name}")
        item = Item(row.text("QUESTION"), (LETTERS[_VERDICTS.index(decision)],), _VERDICTS)
        yield Record(row.index, pmid, "test" if pmid in truth else "train", item)
    if missing:
        pmid = next(iter(missing))
        raise DataError(
            str(truth_path), f"entry {quote(pmid)}", expected=f"a PMID of {path.name}", found="a PMID that is not there"
        )


def medqa(path: Path) -> Iterator[Record]:
    """MedQA, US part."""
    for row in read_lines(path):
        options = row.options()
        if not options:
            raise row.error("options", "texts by letter")
        letter = row.letter("answer_idx", (row.text("answer_idx"),), options)
        if row.word("answer") not in ("", options[LETTERS.index(letter)]):
            raise row.error("answer", f"the text of option {letter}, {quote(options[LETTERS.index(letter)])}")
        yield Record(
            row.index, row.key(), item=Item(row.text("question"), (letter,), options, kind=row.word("meta_info"))
        )


def medmcqa(path: Path) -> Iterator[Record]:
    """MedMCQA. `cop` counts from 1 in the authors' files and from 0 in the copy on the Hugging Face hub: decided for
    the whole file. Rows without an answer (-1 or none, the published test split) or with several are skipped."""
    read = [(row, _right_option(row)) for row in map(_slim, read_lines(path))]
    base = _base(str(path), {right for _, right in read if right is not None})
    for row, right in read:
        if row.data["choice_type"] == "multi" or right is None:
            yield Record(row.index, row.key(), skipped="no answer" if right is None else "several right answers")
            continue
        item = Item(row.text("question"), (LETTERS[right - base],), row.options(), kind=row.word("subject_name"))
        yield Record(row.index, row.key(), item=item)


def _slim(row: Row) -> Row:
    """The row without its long explanation, and with its options in one list."""
    options = [row.data.get(field) for field in ("opa", "opb", "opc", "opd")]
    kept = {field: row.data.get(field) for field in ("id", "question", "cop", "choice_type", "subject_name")}
    return row._replace(data={**kept, "options": options})


def _right_option(row: Row) -> int | None:
    right = row.data["cop"]
    if right is None or right == -1:
        return None
    if not natural(right) or right > 4:
        raise row.error("cop", "a whole number from 0 to 4, -1 for none")
    return right


def _base(file: str, seen: set[int]) -> int:
    """What `cop` counts from, by its least and greatest value."""
    if not seen or (0 in seen) != (4 in seen):
        return 0 if 0 in seen else 1
    fix = 'which count it is cannot be told: write the rows with options and golden_answers, and use data="file"'
    found = f"values from {min(seen)} to {max(seen)}"
    raise DataError(file, "all rows, cop", expected="values from 1 to 4, or from 0 to 3", found=found, fix=fix)


def _split(row: Row) -> str:
    name = row.word("split")
    if name and name not in _SPLITS:
        raise row.error("split", "train, validation (or dev) or test")
    return _SPLITS.get(name, "")


def _hops(row: Row) -> int:
    hops = row.data.get("hops")
    if hops is not None and not natural(hops):
        raise row.error("hops", "a whole number, 0 if not known")
    return hops or 0


def _kind(row: Row) -> str:
    """Our `kind`, else FlashRAG's `metadata.type` (HotpotQA, 2WikiMultiHopQA)."""
    metadata = row.data.get("metadata")
    kind = metadata.get("type") if isinstance(metadata, dict) else None
    return row.word("kind") or (kind if isinstance(kind, str) and _encodable(kind) else "")


# Files ----------------------------------------------------------------------------------------------------------------


def read_lines(path: Path) -> Iterator[Row]:
    """The JSON objects of a file, one a line; blank lines are passed over."""
    found = False
    try:
        with path.open("rb") as stream:
            for index, line in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b"")):
                place = f"line {index + 1}"
                if len(line) > MAX_LINE:
                    raise DataError(str(path), place, expected=f"at most {MAX_LINE} bytes", found="more")
                if line.strip():
                    found = True
                    yield Row(str(path), place, index, _parse(line, str(path), place))
    except OSError as error:
        raise _unreadable(path, error) from None
    if not found:
        raise DataError(str(path), "", expected="at least one question", found="an empty file")


def read_entries(path: Path) -> Iterator[Row]:
    """The entries of one JSON object whose values are objects; the name of an entry is its field `PMID`."""
    for index, (name, entry) in enumerate(_object(path).items()):
        place = f"entry {quote(name)}"
        if not isinstance(entry, dict):
            raise DataError(str(path), place, expected="an object", found=quote(entry))
        yield Row(str(path), place, index, {**entry, "PMID": name})


def _object(path: Path) -> dict[str, Any]:
    try:
        return _parse(path.read_bytes(), str(path), "")
    except OSError as error:
        raise _unreadable(path, error) from None


def _parse(text: bytes, file: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(file, place, expected="UTF-8 text", found=f"byte {text[error.start]:#x}") from None
    except (ValueError, RecursionError) as error:
        fix = "is the file complete?" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(file, place, expected="a JSON object", found=quote(str(error)), fix=fix) from None
    if not isinstance(value, dict) or not value:
        raise DataError(file, place, expected="a JSON object with fields", found=quote(value))
    return value


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(str(path), "", expected="a readable file", found=error.strerror or str(error))


def _scalar(value: Any) -> bool:
    return (isinstance(value, str) and _encodable(value)) or (isinstance(value, int) and not isinstance(value, bool))


def _encodable(text: str) -> bool:
    """Whether the text is Unicode: JSON can spell half a surrogate pair, which no file or pipe would take."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
