"""The public page: structure, hostile input, determinism, and a real browser."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agentenvs.core.errors import ConfigError
from agentenvs.leaderboard.page import Frame, Replay, Row, Score, build_page

ATTACK = "</script><script>window.hacked = 1</script>"
HOSTILE = [
    ATTACK,
    "<img src=x onerror='window.hacked=1'>",
    "\"'><svg onload=window.hacked=1>",
    "<!--<script>",
    "{{data}} {{title}} \\1 \\g<0>",
    "\u202egnp.exe\u2066",
    "nul \0 escape \x1b[31m \x9b",
    "line\u2028separator\u2029",
    "lone \ud800 surrogate",
    "__proto__",
    "a&row=b#c=d%41+e",
    "`${window.hacked=1}`",
    "x" * 400,
    "",
]
SOKOBAN = "You are in a room.\n\n  #####\n  #@$.#\n  #####\n"


class Document(HTMLParser):
    """A small tree: every element as (tag, attributes, text inside), with the tags it lies in."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[dict] = []
        self._open: list[dict] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {attrs}"
        element = {"tag": tag, "attrs": dict(attrs), "text": "", "inside": [e["tag"] for e in self._open]}
        element["parents"] = list(self._open)
        self.elements.append(element)
        if tag not in {"meta", "link", "input", "path", "rect"}:
            self._open.append(element)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        if tag in {"path", "rect"}:
            return
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def find(self, tag, **attrs):
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}
        return [e for e in self.elements if e["tag"] == tag and wanted.items() <= e["attrs"].items()]

    def rows(self, table):
        lines = [e for e in self.find("tr") if "data-key" in e["attrs"]]
        return [e for e in lines if any(table in p["attrs"].get("class", "").split() for p in e["parents"])]


def episode(task="sokoban/test/1", success=True, turns=5, **changes):
    steps = [Frame("Up", SOKOBAN + f"step {i}", 0.1 * i, f"<think>{i}</think>Up", i != 2) for i in range(1, turns + 1)]
    values = {
        "task": task,
        "score": float(success),
        "success": success,
        "end_reason": "solved" if success else "max_turns",
        "total_reward": 1.5,
        "frames": (Frame("", SOKOBAN, 0.0), *steps),
    }
    return Replay(**values | changes)


def row(name="alpha", value=0.6, **changes):
    overall = None if value is None else Score(value, max(value - 0.1, 0), min(value + 0.1, 1))
    values = {
        "name": name,
        "policy": "chat:model",
        "tier": "replayed",
        "overall": overall,
        "entries": {"Sokoban": Score(0.5, 0.4, 0.6)},
        "episodes": 100,
        "date": "2026-01-02",
        "code": "https://example.org/code",
    }
    return Row(**values | changes)


ROWS = [
    row("beta", 0.4, tier="reproduced", episodes=50, replays=(episode("t/1"), episode("t/2", success=False))),
    row("alpha", 0.8, replays=(episode("t/1", turns=3), episode("t/1", success=False), episode("a b&c", turns=0))),
    row("gamma", None, tier="hidden", entries={"Hanoi": Score(0.25, 0.25, 0.25)}, date="", code=""),
    row("paper", 0.95, tier="reported", source="Doe et al. 2025, table 2", code="", episodes=0),
]


def built(rows=ROWS, title="Board", subtitle="Sub", notes=("A note.",)):
    return build_page(title, subtitle, rows, notes)


# Structure


def test_rows_are_ordered_by_overall_score_and_ranked():
    page = Document(built())
    assert [line["attrs"]["data-key"] for line in page.rows("verified")] == ["alpha", "beta", "gamma"]
    ranks = [e["text"] for e in page.find("td", class_="rank")]
    assert ranks == ["1", "2", "–"]


def test_equal_scores_share_a_rank():
    page = Document(built([row("a", 0.5), row("b", 0.5), row("c", 0.4)]))
    assert [e["text"] for e in page.find("td", class_="rank")] == ["1", "1", "3"]


def test_reported_rows_lie_apart_without_rank():
    page = Document(built())
    (line,) = page.rows("reported")
    assert line["attrs"]["data-key"] == "paper"
    assert "section" in line["inside"]
    assert "Doe et al. 2025, table 2" in line["text"]
    assert not [e for e in page.find("td", class_="rank") if line in e["parents"]]
    assert len(page.rows("verified")) == 3


def test_the_table_says_scores_intervals_and_every_column():
    page = Document(built())
    first = page.rows("verified")[0]
    for text in (
        "alpha",
        "chat:model",
        "0.800",
        "0.700–0.900",
        "0.500",
        "0.400–0.600",
        "100",
        "2026-01-02",
        "replayed",
    ):
        assert text in first["text"]
    heads = [e["text"] for e in page.find("span", class_="label") if any(p["tag"] == "table" for p in e["parents"])]
    assert heads[:9] == ["Rank", "Name", "Overall", "Tier", "Sokoban", "Hanoi", "Episodes", "Date", "Code"]
    (sorted_head,) = [e for e in page.find("th", aria_sort="descending") if "verified" in str(e["parents"])][:1]
    assert sorted_head["text"].startswith("Overall")
    assert "reproduced" in "".join(e["text"] for e in page.find("dt"))


def test_the_interval_is_drawn_on_one_axis():
    page = Document(built([row("a", 0.5, overall=Score(0.5, 0.25, 1.0), entries={})]))
    (band,), (mark,) = page.find("rect", class_="band"), page.find("rect", class_="value")
    assert (band["attrs"]["x"], band["attrs"]["width"]) == ("37.5", "97.5")  # the axis runs from 5 to 135
    assert (mark["attrs"]["x"], mark["attrs"]["width"]) == ("68.75", "2.5")
    point = Document(built([row("a", 0.5, overall=Score(0.5, 0.5, 0.5), entries={})]))
    assert not point.find("rect", class_="band")
    outside = Document(built([row("a", 0.5, overall=Score(1.4, -2, 3), entries={})]))
    assert outside.find("rect", class_="value")[0]["attrs"]["x"] == "133.75"


def test_data_blocks_hold_the_replays():
    blocks = Document(built()).find("script", class_="row-data")
    data = {block["attrs"]["data-key"]: json.loads(block["text"]) for block in blocks}
    assert list(data) == ["paper", "alpha", "beta", "gamma"]
    frames = data["beta"]["replays"][0]["frames"]
    assert frames[0] == {"action": "", "text": SOKOBAN, "reward": 0.0}
    assert frames[2]["invalid"] is True
    assert frames[2]["reply"] == "<think>2</think>Up"


def test_rows_of_one_name_keep_addresses_of_their_own():
    page = Document(built([row("a", 0.5), row("a", 0.4), row("a~2", 0.3)]))
    keys = [line["attrs"]["data-key"] for line in page.rows("verified")]
    assert keys == ["a", "a~2", "a~2~2"]
    assert [e["attrs"]["href"] for e in page.find("a", class_="open")] == ["#row=a", "#row=a~2", "#row=a~2~2"]


def test_empty_states():
    page = Document(built([], notes=()))
    assert "No submission has been verified yet." in page.find("p", class_="empty")[0]["text"]
    assert not page.rows("verified")
    only_reported = Document(built([ROWS[3]]))
    assert len(only_reported.rows("reported")) == 1
    assert "No submission" in only_reported.find("main")[0]["text"]


# Self-contained, deterministic


def test_nothing_is_loaded_from_elsewhere():
    page = Document(built())
    for element in page.elements:
        loads = {"src", "srcset", "data", "poster", "action", "style"} & set(element["attrs"])
        assert not loads, element
        assert not [name for name in element["attrs"] if name.startswith("on")], element
        if element["tag"] == "link":
            assert element["attrs"] == {"rel": "icon", "href": "data:,"}
    assert "url(" not in page.find("style")[0]["text"]
    assert "@import" not in page.find("style")[0]["text"]


def test_the_content_policy_allows_only_our_script_and_style():
    page = Document(built())
    (policy,) = [e["attrs"]["content"] for e in page.find("meta", http_equiv="Content-Security-Policy")]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    scripts = [e for e in page.find("script") if e["attrs"].get("type") != "application/json"]

    def hashed(text):
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert rules["default-src"] == "'none'"
    assert [rules["script-src"]] == [hashed(e["text"]) for e in scripts]
    assert [rules["style-src"]] == [hashed(e["text"]) for e in page.find("style")]


def test_equal_input_gives_equal_bytes():
    assert built() == built()
    pages = {built(list(order)) for order in itertools.permutations(dataclasses.replace(r, entries={}) for r in ROWS)}
    assert len(pages) == 1


# Hostile input


def hostile_row(text, tier="replayed"):
    frame = Frame(text, text, 0.0, text, is_valid=False)
    replay = Replay(text, 0.5, False, text, 0.0, (Frame("", text, 0.0), frame))
    score = Score(0.5, 0.4, 0.6)
    return Row(text, text, tier, score, {text: score}, 1, text, text, text, (replay, replay))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_text_changes_no_structure(text):
    """The page built from hostile text has the tags and attributes of the page built from harmless text."""

    def shape(text):
        page = build_page(text, text, [hostile_row(text), hostile_row(text, "reported")], [text])
        page.encode("utf-8")
        return [(e["tag"], sorted(e["attrs"]), e["inside"]) for e in Document(page).elements]

    assert shape(text) == shape("harmless" if text else "")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:20])
def test_hostile_text_is_shown_as_it_is(text):
    visible = text.replace("\0", "␀").replace("\x1b", "␛").replace("\x9b", "\ufffd").replace("\ud800", "\ufffd")
    page = Document(build_page("t", "s", [hostile_row(text)], [text]))
    assert page.find("li", dir="auto")[0]["text"] == visible
    assert page.find("tr", data_key=visible)
    data = json.loads(page.find("script", class_="row-data")[0]["text"])
    assert data["replays"][0]["frames"][1] == {"action": visible, "text": visible, "reward": 0.0, "invalid": True} | (
        {"reply": visible} if text else {}
    )


def test_embedded_json_has_no_markup_characters():
    page = build_page("t", "s", [hostile_row(text) for text in HOSTILE], [])
    for block in Document(page).find("script", class_="row-data"):
        assert not set("<>&\u2028\u2029") & set(block["text"])


def test_the_script_never_parses_markup():
    (script,) = [e["text"] for e in Document(built()).find("script") if not e["attrs"]]
    for unsafe in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc"):
        assert unsafe not in script


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://example.org/a/b?x=1&y=2", "example.org/a/b"),
        ("HTTP://example.org/", "example.org"),
        ("https://good.org@evil.org/x", "evil.org/x"),
        ("javascript:alert(1)", None),
        (" javascript:alert(1)", None),
        ("java\tscript:alert(1)", None),
        ("data:text/html,<script>alert(1)</script>", None),
        ("//example.org/x", None),
        ("https:evil.org", None),
        ("https://", None),
        ("https://[broken", None),
        ("https://a.org/\njavascript:alert(1)", None),
        ("https:\\\\evil.org", None),
    ],
)
def test_only_web_addresses_become_links(address, shown):
    page = Document(built([row(code=address)]))
    links = page.find("a", class_="address")
    if shown is None:
        assert not links
        assert page.find("bdi", class_="address")
    else:
        assert links[0]["attrs"]["href"] == address
        assert links[0]["text"] == shown
        assert "noopener" in links[0]["attrs"]["rel"]


# Errors


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(tier="gold"), "expected a tier of replayed, .* got 'gold'"),
        (row(overall=Score(math.nan, 0, 1)), "finite"),
        (row(entries={"Hanoi": Score(0.5, 0, math.inf)}), "'Hanoi'"),
        (row(overall=Score(0.5, 0.7, 0.6)), "low <= high"),
        (row(replays=(episode(total_reward=math.inf),)), "finite rewards"),
    ],
)
def test_unusable_rows_are_refused_by_name(bad, message):
    with pytest.raises(ConfigError, match=f"row 'alpha'.*{message}"):
        built([bad])


# A real browser


class Visitor:
    """A reader of one page in the browser; leaving checks that the console stayed silent and no attack ran."""

    def __init__(self, chrome, path: Path) -> None:
        self.chrome, self.url = chrome, path.as_uri()

    def open(self, fragment=""):
        self.chrome.get("about:blank")
        self.chrome.get_log("browser")
        self.chrome.get(self.url + fragment)
        return self

    def one(self, selector):
        return self.chrome.find_element("css selector", selector)

    def all(self, selector):
        return [e for e in self.chrome.find_elements("css selector", selector) if e.is_displayed()]

    def names(self):
        return [e.text for e in self.all(".verified .open")]

    def text(self, selector):
        return self.chrome.execute_script("return document.querySelector(arguments[0]).textContent", selector)

    def press(self, key):
        from selenium.webdriver import ActionChains

        ActionChains(self.chrome).send_keys(key).perform()

    def run(self, script, *values):
        return self.chrome.execute_script(script, *values)

    def follow(self, fragment):
        """Change the address and wait until the page has answered."""
        script = (
            "addEventListener('hashchange', () => setTimeout(arguments[1]), {once: true}); location.hash = arguments[0]"
        )
        self.chrome.execute_async_script(script, fragment)

    def is_clean(self):
        return not self.chrome.get_log("browser") and self.run("return window.hacked === undefined")


@pytest.fixture
def visit(browser, tmp_path):
    def start(rows=ROWS, fragment="", title="Board"):
        path = tmp_path / "page.html"
        path.write_text(built(rows, title), encoding="utf-8")
        return Visitor(browser, path).open(fragment)

    return start


@pytest.mark.browser
def test_sorting_by_click_and_by_keyboard(visit):
    page = visit()
    assert page.names() == ["alpha", "beta", "gamma"]
    page.one(".verified th.overall button").click()
    assert page.names() == ["beta", "alpha", "gamma"]  # the row without a score stays last
    assert page.one(".verified th.overall").get_attribute("aria-sort") == "ascending"
    page.run("document.querySelector('.verified th.name button').focus()")
    page.press("\ue007")
    assert page.names() == ["alpha", "beta", "gamma"]
    page.press("\ue007")
    assert page.names() == ["gamma", "beta", "alpha"]
    assert len(page.all(".verified th[aria-sort]")) == 1
    assert [e.text for e in page.all(".reported .open")] == ["paper"]
    page.one(".verified th.count button").click()
    assert page.names()[-1] == "beta"
    assert page.is_clean()


@pytest.mark.browser
def test_row_episode_and_arrow_keys(visit):
    page = visit()
    page.one(".verified tr[data-key=beta] td.count").click()
    assert page.text("#run-title") == "beta"
    assert [e.text for e in page.all("#episodes a")] == ["t/1", "t/2"]
    page.one("#filter label:nth-of-type(3)").click()
    assert [e.text for e in page.all("#episodes a")] == ["t/2"]
    page.one("#filter label:nth-of-type(1)").click()
    page.one("#episodes a").click()
    assert page.text("#observation") == SOKOBAN
    page.press("\ue014")
    page.press("\ue014")
    assert page.text("#position") == "Step 2 of 5"
    assert page.text("#observation") == SOKOBAN + "step 2"
    assert page.one("#observation").value_of_css_property("white-space").startswith("pre-wrap")
    assert page.one("#invalid").is_displayed()
    assert page.text("#reward") == "reward +0.2"
    assert page.run("return location.hash") == "#row=beta&episode=t%2F1&frame=2"
    page.press("\ue012")
    assert page.text("#position") == "Step 1 of 5"
    assert not page.one("#invalid").is_displayed()
    page.press("\ue010")
    assert page.text("#position") == "Step 5 of 5"
    assert not page.one("#next").is_enabled()
    page.press("\ue014")
    assert page.text("#position") == "Step 5 of 5"
    assert not page.one("#reply").is_displayed()
    page.one("summary").click()
    assert page.one("#reply").text == "<think>5</think>Up"
    page.one("#after").click()
    assert page.text("#replay-title") == "t/2"
    page.press("\ue00c")
    assert page.run("return document.activeElement.textContent") == "t/2"  # back where the reader was
    page.press("\ue00c")
    assert page.run("return document.activeElement.textContent") == "beta"
    assert page.is_clean()


@pytest.mark.browser
def test_buttons_slider_and_step_list(visit):
    page = visit(fragment="#row=beta&episode=t%2F1")
    page.one("#next").click()
    assert page.text("#position") == "Step 1 of 5"
    page.run("document.querySelector('#slider').focus()")
    page.press("\ue014")
    assert page.text("#position") == "Step 2 of 5"
    page.all("#steps button")[4].click()
    assert page.text("#position") == "Step 4 of 5"
    assert page.one("#steps [aria-current=step]").text.startswith("4")
    page.one("#previous").click()
    assert page.one("#slider").get_attribute("value") == "3"
    assert page.is_clean()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("fragment", "title", "position"),
    [
        ("#row=alpha&episode=t%2F1&frame=3", "t/1", "Step 3 of 3"),
        ("#row=alpha&episode=t/1~2&frame=2", "t/1~2", "Step 2 of 5"),
        ("#row=alpha&episode=t/1&frame=99", "t/1", "Step 3 of 3"),
        ("#row=alpha&episode=t/1&frame=x", "t/1", "Step 0 of 3"),
        ("#row=alpha&episode=a%20b%26c", "a b&c", "Step 0 of 0"),
    ],
)
def test_deep_links(visit, fragment, title, position):
    page = visit(fragment=fragment)
    assert (page.text("#replay-title"), page.text("#position")) == (title, position)
    assert page.is_clean()


@pytest.mark.browser
def test_back_button_and_unknown_addresses(visit):
    page = visit(fragment="#row=nobody")
    assert page.one("#message").text == "This page has no row named nobody."
    assert page.one("#board").is_displayed()
    page.one(".verified tr[data-key=beta] .open").click()
    page.one("#episodes a").click()
    for _ in range(3):
        page.press("\ue014")
    page.chrome.back()  # stepping left nothing in the history
    assert page.one("#run").is_displayed()
    page.follow("#row=beta&episode=nope")
    assert "no published episode of nope" in page.one("#message").text
    assert page.is_clean()


@pytest.mark.browser
def test_rows_without_episodes_say_so(visit):
    page = visit([row("bare"), row("cut", replays_omitted=7), row("hollow", replays=(episode(frames=()),))])
    page.follow("#row=bare")
    assert "No episodes are published with this row." in page.text("#episodes-note")
    page.open("#row=cut")
    assert "7 more episodes are left out" in page.text("#episodes-note")
    page.open("#row=hollow&episode=sokoban%2Ftest%2F1&frame=2")
    assert page.text("#observation") == "This episode has no recorded steps."
    assert page.is_clean()
    assert "No submission has been verified yet." in visit([]).one("#board").text
    assert page.is_clean()


@pytest.mark.browser
def test_hostile_pages_run_nothing(visit):
    page = visit([hostile_row(text) for text in HOSTILE], title=ATTACK)
    links = page.run("return [...document.querySelectorAll('.verified .open')].map((a) => a.getAttribute('href'))")
    assert len(links) == len(HOSTILE)
    for link in links:
        page.follow(link)
        assert page.one("#run").is_displayed()
        episodes = page.run("return [...document.querySelectorAll('#episodes a')].map((a) => a.getAttribute('href'))")
        assert len(episodes) == 2
        page.follow(episodes[1])
        assert page.one("#replay").is_displayed()
        page.press("\ue014")
        assert page.text("#position") == "Step 1 of 1"
        assert page.is_clean()
        page.open(page.run("return location.hash"))  # its own address leads back to it
        assert page.text("#position") == "Step 1 of 1"
    assert page.text("#replay h2").endswith("~2")
    assert page.is_clean()


@pytest.mark.browser
def test_the_content_policy_stops_an_injected_script(visit):
    """The second wall: even a script that got into the page does not run."""
    page = visit()
    page.run("const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)")
    assert page.run("return window.hacked === undefined")


@pytest.mark.browser
def test_phone_width_does_not_scroll_sideways(visit):
    many = {f"Entry{i}": Score(0.5, 0.4, 0.6) for i in range(8)}
    page = visit([row("alpha", entries=many, replays=(episode("t" * 300),)), ROWS[3]])
    page.chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 375, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    )
    try:
        for fragment in ("", "#row=alpha", "#row=alpha&episode=" + "t" * 300 + "&frame=2"):
            page.open(fragment)
            assert page.run("return document.documentElement.scrollWidth") <= 375
    finally:
        page.chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
