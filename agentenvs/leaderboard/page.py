"""The public page of a leaderboard: one self-contained HTML file, from rows of scores and their replayed episodes.

Everything in a row was written by a stranger. It reaches the page in two ways only: escaped into HTML (`_text`), or as
JSON inside a data block in which `<`, `>` and `&` are escaped (`_json`), from where `page.js` shows it with
`textContent`. A Content-Security-Policy allows the page's own script and style by their hash and nothing else, so
even a hole in the above could neither run a script nor reach a network. Equal input gives equal bytes.

The table is plain HTML and needs no script; `page.js` adds sorting, the episode lists and the replay viewer.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote as percent_encode
from urllib.parse import urlsplit

from agentenvs.core.errors import ConfigError, quote

TIERS: Mapping[str, str] = {
    "replayed": "Every episode was executed again from its recorded actions; the score is true for these actions.",
    "reproduced": "Replayed, and we ran the policy ourselves from its published code and got the same result.",
    "hidden": "We ran the policy ourselves on unpublished seeds.",
    "reported": "A number printed in a paper or report. Nothing was executed here, so it has no rank.",
}


@dataclass(frozen=True)
class Score:
    """A score in [0, 1] and its 95% interval; `low == high` says that no interval is known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Frame:
    """One turn: what was done, what came back. Frame 0 has no action and holds the observation of the reset."""

    action: str
    observation: str
    reward: float
    reply: str = ""
    is_valid: bool = True


@dataclass(frozen=True)
class Replay:
    """One episode, to step through."""

    task: str
    score: float
    success: bool
    end_reason: str
    total_reward: float
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Row:
    """One submission. `tier` is a key of `TIERS`; `code` is a link or empty; `source` is where a reported row is from.

    `replays_omitted`: episodes that exist but were left out of `replays` for the size of the page.
    """

    name: str
    policy: str
    tier: str
    overall: Score | None
    entries: Mapping[str, Score] = field(default_factory=dict)
    episodes: int = 0
    date: str = ""
    code: str = ""
    source: str = ""
    replays: tuple[Replay, ...] = ()
    replays_omitted: int = 0


def build_page(title: str, subtitle: str, rows: Sequence[Row], notes: Sequence[str]) -> str:
    """The page as text, to be written as UTF-8. Rows may come in any order; unusable ones raise `ConfigError`."""
    for row in rows:
        _check(row)
    ordered = sorted(rows, key=_by_score)
    keys = _unique_keys(row.name for row in ordered)
    columns = list(dict.fromkeys(name for row in rows for name in row.entries))
    verified = [(row, key) for row, key in zip(ordered, keys, strict=True) if row.tier != "reported"]
    reported = [(row, key) for row, key in zip(ordered, keys, strict=True) if row.tier == "reported"]
    style, script = _template("page.css"), _template("page.js")
    parts = {
        "policy": _content_policy(style, script),
        "style": style,
        "script": script,
        "title": _text(title),
        "subtitle": _text(subtitle),
        "verified": _verified(verified, columns),
        "reported": _reported(reported, columns),
        "tiers": _tier_legend(row.tier for row in rows),
        "notes": _notes(notes),
        "data": "\n".join(_data_block(row, key) for row, key in zip(ordered, keys, strict=True)),
    }
    # One pass: text that looks like a placeholder is never filled in.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _template("page.html"))


# Tables


@dataclass(frozen=True)
class _Column:
    """A sortable column: `cell` gives (sort key, HTML), and an empty key sorts last in either direction."""

    title: str
    kind: str  # "number" or "text": how the sort key is compared
    cell: Callable[[Row, str], tuple[str, str]]
    style: str = ""


def _verified(rows: Sequence[tuple[Row, str]], entries: Sequence[str]) -> str:
    if not rows:
        return '<p class="empty">No submission has been verified yet.</p>'
    ranks = _ranks([row for row, _ in rows])
    by_key = {key: rank for (_, key), rank in zip(rows, ranks, strict=True)}
    rank = _Column("Rank", "number", lambda row, key: (by_key[key], by_key[key] or "–"), "rank")
    tier = _Column("Tier", "text", lambda row, key: (row.tier, _badge(row.tier)), "tier")
    columns = [rank, _NAME, _OVERALL, tier, *_entry_columns(rows, entries), _EPISODES, _DATE, _CODE]
    return _table("verified", "Verified submissions, by overall score", columns, rows)


def _reported(rows: Sequence[tuple[Row, str]], entries: Sequence[str]) -> str:
    if not rows:
        return ""
    columns = [_NAME, _OVERALL, _SOURCE, *_entry_columns(rows, entries), _EPISODES, _DATE, _CODE]
    table = _table("reported", "Reported by papers, by overall score", columns, rows)
    return (
        '<section class="reported" aria-labelledby="reported-title">\n<h2 id="reported-title">Reported by papers</h2>\n'
        '<p class="lead">Numbers as printed. Nothing here was executed again, so these rows have no rank.</p>\n'
        f"{table}\n</section>"
    )


def _table(name: str, caption: str, columns: Sequence[_Column], rows: Sequence[tuple[Row, str]]) -> str:
    columns = [c for c in columns if c not in _OPTIONAL or any(c.cell(row, key)[0] for row, key in rows)]
    head = "".join(_head(column) for column in columns)
    body = "\n".join(_line(row, key, columns) for row, key in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">\n'
        f'<table class="board {name}" data-sortable><caption class="unseen">{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n</div>"
    )


def _head(column: _Column) -> str:
    is_default = column is _OVERALL
    order = ' aria-sort="descending"' if is_default else ""
    axis = '<span class="axis" aria-hidden="true"><i>0</i><i>0.5</i><i>1</i></span>' if is_default else ""
    label = f'<span class="label" dir="auto">{_text(column.title)}</span>'
    return f'<th scope="col" class="{column.style}" data-kind="{column.kind}"{order}>{label}{axis}</th>'


def _line(row: Row, key: str, columns: Sequence[_Column]) -> str:
    cells = []
    for column in columns:
        sort_key, content = column.cell(row, key)
        tag, scope = ("th", ' scope="row"') if column is _NAME else ("td", "")
        cells.append(f'<{tag}{scope} class="{column.style}" data-value="{_text(sort_key)}">{content}</{tag}>')
    return f'<tr data-key="{_text(key)}">{"".join(cells)}</tr>'


def _name_cell(row: Row, key: str) -> tuple[str, str]:
    link = f'<a class="open" href="#row={percent_encode(key, safe="")}"><bdi>{_text(row.name)}</bdi></a>'
    return _sortable(row.name), f'{link}<bdi class="policy">{_text(row.policy)}</bdi>'


def _score_cell(score: Score | None, width: int) -> tuple[str, str]:
    if score is None:
        return "", '<span class="none">–</span>'
    numbers = f'<b>{score.value:.3f}</b> <span class="interval">{_interval(score)}</span>'
    return repr(float(score.value)), f'{_bar(score, width)}<span class="numbers">{numbers}</span>'


def _bar(score: Score, width: int) -> str:
    """The interval on an axis from 0 to 1, as SVG; presentation attributes only, which the policy allows."""
    at = {name: 5 + (width - 10) * min(max(getattr(score, name), 0), 1) for name in ("value", "low", "high")}
    ticks = "".join(f'<path class="tick" d="M{5 + (width - 10) * place:.1f} 3v10"/>' for place in (0, 0.5, 1))
    band = ""
    if score.low != score.high:
        band = f'<rect class="band" x="{at["low"]:.1f}" y="4" width="{at["high"] - at["low"]:.1f}" height="8" rx="1"/>'
    mark = f'<rect class="value" x="{at["value"] - 1.25:.2f}" y="1" width="2.5" height="14"/>'
    return (
        f'<svg class="bar" width="{width}" height="16" viewBox="0 0 {width} 16" aria-hidden="true">{ticks}'
        f'<path class="line" d="M5 8h{width - 10}"/>{band}{mark}</svg>'
    )


def _entry_columns(rows: Sequence[tuple[Row, str]], entries: Sequence[str]) -> list[_Column]:
    present = [name for name in entries if any(name in row.entries for row, _ in rows)]
    return [_entry_column(name) for name in present]


def _entry_column(name: str) -> _Column:
    return _Column(name, "number", lambda row, key: _score_cell(row.entries.get(name), 68), "entry")


_NAME = _Column("Name", "text", _name_cell, "name")
_OVERALL = _Column("Overall", "number", lambda row, key: _score_cell(row.overall, 140), "overall")
_EPISODES = _Column("Episodes", "number", lambda row, key: (str(row.episodes or ""), f"{row.episodes or '–'}"), "count")
_DATE = _Column("Date", "text", lambda row, key: (_sortable(row.date), f"<bdi>{_text(row.date or '–')}</bdi>"), "date")
_CODE = _Column("Code", "text", lambda row, key: (_sortable(row.code), _link(row.code)), "link")
_SOURCE = _Column("Source", "text", lambda row, key: (_sortable(row.source), _link(row.source)), "link")
_OPTIONAL = (_EPISODES, _DATE, _CODE, _SOURCE)  # left out of a table where no row has one


# Small parts


def _badge(tier: str) -> str:
    return f'<span class="badge {tier}" title="{_text(TIERS[tier])}">{tier}</span>'


def _tier_legend(tiers: Iterable[str]) -> str:
    used = set(tiers)
    return "\n".join(f"<dt>{_badge(tier)}</dt><dd>{_text(TIERS[tier])}</dd>" for tier in TIERS if tier in used)


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "\n".join(f'<li dir="auto">{_text(note)}</li>' for note in notes)
    return f"<section><h2>Notes</h2>\n<ul>\n{items}\n</ul></section>"


def _link(address: str) -> str:
    """A link if the address is http or https, else the text; the host is shown, so that it cannot hide."""
    if not address:
        return '<span class="none">–</span>'
    shown = _web_host_and_path(address)
    if shown is None:
        return f'<bdi class="address">{_text(address)}</bdi>'
    safe = _text(address)
    return (
        f'<a class="address" href="{safe}" title="{safe}" rel="noopener noreferrer nofollow ugc"><bdi>{_text(shown)}'
        "</bdi></a>"
    )


def _web_host_and_path(address: str) -> str | None:
    if not re.match(r"https?://", address, re.IGNORECASE) or re.search(r"[\s\\\x00-\x20\x7f-\x9f]", address):
        return None
    try:
        parts = urlsplit(address)
        return f"{parts.hostname}{parts.path.rstrip('/')}" if parts.hostname else None
    except ValueError:  # such as a broken IPv6 address
        return None


def _interval(score: Score) -> str:
    return "" if score.low == score.high else f"{score.low:.3f}–{score.high:.3f}"


def _by_score(row: Row) -> tuple[bool, float, str]:
    return (True, 0.0, row.name) if row.overall is None else (False, -row.overall.value, row.name)


def _ranks(ordered: Sequence[Row]) -> list[str]:
    """1, 2, 2, 4: equal scores share a rank; a row without a score has none."""
    values = [row.overall.value if row.overall else None for row in ordered]
    return ["" if value is None else str(1 + values.index(value)) for value in values]


def _unique_keys(names: Iterable[str]) -> list[str]:
    """The name of each row in addresses: its own, or with `~2`, `~3` where it was taken."""
    keys: dict[str, None] = {}
    for name in map(_clean, names):
        key, number = name, 1
        while key in keys:
            number += 1
            key = f"{name}~{number}"
        keys[key] = None
    return list(keys)


# Text, JSON, policy

_VISIBLE = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)} | {127: "\u2421"}
_VISIBLE |= dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd")


def _clean(text: str) -> str:
    """Control characters made visible (NUL is shown as ␀); lone surrogates, which UTF-8 cannot hold, replaced."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def _text(text: str) -> str:
    return escape(_clean(text), quote=True)


def _sortable(text: str) -> str:
    return text.casefold()


def _json(value: Any) -> str:
    """JSON that cannot end the script element around it, and that old JavaScript could parse as a literal too."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _data_block(row: Row, key: str) -> str:
    """What the script needs of a row; one block a row, so that a visitor's browser parses only what is opened."""
    score = f"{row.overall.value:.3f}" if row.overall else ""
    data = {
        "key": key,
        "name": _clean(row.name),
        "policy": _clean(row.policy),
        "tier": row.tier,
        "score": score,
        "interval": _interval(row.overall) if row.overall else "",
        "omitted": row.replays_omitted,
        "replays": [_replay(replay) for replay in row.replays],
    }
    return f'<script type="application/json" class="row-data" data-key="{_text(key)}">{_json(data)}</script>'


def _replay(replay: Replay) -> dict[str, Any]:
    return {
        "task": _clean(replay.task),
        "score": float(replay.score),
        "success": bool(replay.success),
        "end": _clean(replay.end_reason),
        "reward": float(replay.total_reward),
        "frames": [_frame(frame) for frame in replay.frames],
    }


def _frame(frame: Frame) -> dict[str, Any]:
    """`reply` and `invalid` are left out where they say nothing: most of a page is frames."""
    data = {"action": _clean(frame.action), "text": _clean(frame.observation), "reward": float(frame.reward)}
    if frame.reply:
        data["reply"] = _clean(frame.reply)
    return data if frame.is_valid else data | {"invalid": True}


def _content_policy(style: str, script: str) -> str:
    """`img-src data:` is for the icon in the head alone; without one, browsers ask the server for a file."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _template(name: str) -> str:
    # Line ends as a browser sees them, else a checkout with CRLF would break the hashes.
    return files(__package__).joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _check(row: Row) -> None:
    if row.tier not in TIERS:
        raise ConfigError(f"row {quote(row.name)}: expected a tier of {', '.join(TIERS)}, got {quote(row.tier)}")
    scores = {"overall": row.overall, **row.entries}
    for name, score in scores.items():
        if score and not all(map(math.isfinite, (score.value, score.low, score.high))):
            raise ConfigError(
                f"row {quote(row.name)}, {quote(name)}: expected finite numbers, got {score}; leave it out"
            )
        if score and score.low > score.high:
            raise ConfigError(f"row {quote(row.name)}, {quote(name)}: expected low <= high, got {score}")
    for replay in row.replays:
        numbers = (replay.score, replay.total_reward, *(frame.reward for frame in replay.frames))
        if not all(map(math.isfinite, numbers)):
            raise ConfigError(f"row {quote(row.name)}, episode {quote(replay.task)}: expected finite rewards and score")
