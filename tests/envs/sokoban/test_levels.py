"""Reading and writing level files: every form that occurs, and every fault by its message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import DataError
from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban import levels as module
from agentenvs.envs.sokoban.engine import cells, floor, reachable, rim
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import decode_level, encode_level, format_level, parse_level, parse_levels

SMALL = "#####\n#@$.#\n#####"


def boxoban(count: int) -> str:
    """A file in the Boxoban format with levels of our own."""
    made = [generate(Stream("test", "boxoban", number), 10, 10, 4)[0] for number in range(count)]
    return "".join(f"; {number}\n{format_level(level)}\n\n" for number, level in enumerate(made))


def test_every_symbol():
    level = parse_level("#######\n#@$.* #\n#-_$.$#\n#-.$. #\n#######")
    assert (level.rows, level.cols, level.player) == (5, 7, 8)
    assert cells(level.boxes) == [9, 11, 17, 19, 24]
    assert cells(level.goals) == [10, 11, 18, 23, 25]


def test_player_on_a_goal():
    level = parse_level("####\n#+$#\n#  #\n####")
    assert level.player == 5
    assert cells(level.goals) == [5]


@pytest.mark.parametrize(
    "text",
    [
        SMALL,
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", "\r"),
        SMALL.replace("\n", "|"),
        "\ufeff" + SMALL,
        "\n\n" + SMALL + "\n\n\n",
        "; 1\n'Title'\n" + SMALL,
        "; 1\n\n'One'\n'Two'\n\"Three\"\n" + SMALL + "\n; comment below",
        "Level #1\n" + SMALL + "\nTitle: box #2\nAuthor: somebody",
        "-----\n" + SMALL,
        SMALL + "   \n \n\t\n",
    ],
    ids=["xsb", "crlf", "cr", "bars", "bom", "blank", "title", "titles", "text", "ruler", "trailing"],
)
def test_forms_of_one_level(text: str):
    assert parse_level(text) == parse_level("#####\n#@$.#\n#####")


def test_outside_is_wall_and_rows_are_ragged():
    level = parse_level("  ####\n###  #\n#@$. #\n#  ###\n####")
    assert format_level(level) == "######\n###  #\n#@$. #\n#  ###\n######"


def test_sealed_boxes_and_goals_are_kept_and_sealed_floor_is_not():
    level = parse_level("########\n#@$.#* #\n########\n#  #####\n########")
    assert format_level(level) == "########\n#@$.#* #\n########\n########\n########"


def test_an_open_rim_gets_a_ring_of_walls():
    assert format_level(parse_level(" @$.")) == "######\n# @$.#\n######"
    assert format_level(parse_level("####\n#@$.\n####")) == "######\n######\n##@$.#\n######\n######"


def test_beyond_a_short_row_of_an_open_level_is_wall():
    assert format_level(parse_level("-@$.-\n--")) == "#######\n# @$. #\n#  ####\n#######"


def test_trailing_floor_of_an_open_level_is_kept_as_dashes():
    assert format_level(parse_level("@$.-")) == "######\n#@$. #\n######"


def test_a_solved_level_is_legal():
    level = parse_level("#####\n#@*-#\n#####")
    assert level.boxes == level.goals == 1 << 7


def test_several_levels_in_order():
    text = "; 0 first\n" + SMALL + "\n\n; 1\n" + "####\n#+$#\n#  #\n####" + "\n'end'\n" + SMALL
    found = parse_levels(text, "f")
    assert [(level.rows, level.cols) for level in found] == [(3, 5), (4, 4), (3, 5)]
    assert found[0] == found[2]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["f:", "at least one level", "empty file"]),
        (" \n\n", ["at least one level", "empty file"]),
        ("hello\nworld", ["at least one level", "no row"]),
        ("\n#####\n# $.#\n#####", ["line 2", "a player", "none"]),
        ("\n#####\n#@$.#\n# @ #\n#####", ["line 4, column 3", "one player", "2"]),
        ("#####\n#+@ #\n# $ #\n#####", ["one player", "2"]),
        ("#####\n#@$ #\n#####", ["line 1", "as many boxes as goals", "1 boxes and 0 goals"]),
        ("#####\n#@$.#\n#..*#\n#####", ["2 boxes and 4 goals"]),
        ("#####\n#@ .#\n#####", ["at least one box"]),
        ("#####\n#@$.#\n#a  #\n#####", ["line 3, column 2", "'a'"]),
        ("#####\n#@$.#\nx## #\n#####", ["line 3, column 1", "'x'"]),
        ("#####\n#@\t$.#\n#####", ["line 2, column 3", "tabs"]),
        ("#####\n#@$.\0#\n#####", ["line 2", "NUL"]),
        ("#" * 65, ["line 1", "64x64", "1x65"]),
        ("#####\n" * 65, ["64x64", "65x5"]),
        ("@$." + "-" * 60, ["64x64", "3x65"]),
        (SMALL + "\n" + "#" * 10_001, ["line 4", "at most 10000", "10001"]),
    ],
)
def test_faults_are_named(text: str, parts: list[str]):
    with pytest.raises(DataError) as caught:
        parse_levels(text, "f")
    for part in parts:
        assert part in str(caught.value)


def test_the_fault_of_a_later_level_has_its_line():
    with pytest.raises(DataError, match=r"f, line 6: expected a player"):
        parse_levels(SMALL + "\n\n; 2\n#####\n# $.#\n#####\n\n" + SMALL, "f")


def test_a_line_of_ten_million_characters_is_refused_with_a_short_message():
    with pytest.raises(DataError, match="line 1: expected at most 10000") as caught:
        parse_levels("#" * 10_000_000, "f")
    assert len(str(caught.value)) < 200


def test_a_file_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch):
    assert module.MAX_TEXT == 64 * 2**20
    monkeypatch.setattr(module, "MAX_TEXT", len(SMALL))
    parse_levels(SMALL, "f")
    with pytest.raises(DataError, match="expected at most 17 characters, found 18"):
        parse_levels(SMALL + "\n", "f")


def test_exactly_one_level_is_asked_for():
    with pytest.raises(DataError, match="exactly one level, found 2"):
        parse_level(SMALL + "\n\n" + SMALL)


def test_boxoban_files():
    found = parse_levels(boxoban(12), "f")
    assert found == [generate(Stream("test", "boxoban", number), 10, 10, 4)[0] for number in range(12)]


def test_a_boxoban_file_cut_anywhere_in_its_last_level_is_refused():
    text = boxoban(3)
    start = text.index("; 2") + 1
    last = len(text.rstrip("\n"))
    assert len(parse_levels(text[:last], "f")) == 3
    assert len(parse_levels(text[: start - 1], "f")) == 2  # cut between levels: nothing shows it
    for end in range(start, last):
        with pytest.raises(DataError, match="cut off"):
            parse_levels(text[:end], "f")


def test_a_boxoban_file_cut_in_its_only_level_is_refused():
    text = boxoban(1)
    rows = text.split("\n")
    bottom = max(i for i, row in enumerate(rows) if row.strip("#"))
    for count in range(1, bottom + 1):
        with pytest.raises(DataError):
            parse_levels("\n".join(rows[:count]), "f")


def test_a_plain_collection_may_end_with_a_level_of_another_size():
    assert len(parse_levels("; 1\n" + format_level(parse_level(SMALL)) + "\n\n; 2\n####\n#+$#\n####", "f")) == 2


@settings(deadline=None)  # the first level of a large size builds its tables
@given(st.integers(0, 10_000), st.sampled_from([(5, 5, 1), (6, 6, 2), (3, 9, 1), (10, 10, 4), (64, 64, 7)]))
def test_round_trips(seed: int, shape: tuple[int, int, int]):
    level, _ = generate(Stream("test", "text", seed), *shape)
    assert parse_level(format_level(level)) == level
    assert decode_level(encode_level(level)) == level
    assert not set(encode_level(level)) & set(" \n/")


def test_format_shows_a_given_state():
    level = parse_level("######|#@$.-#|######")
    assert format_level(level, 8, 1 << 9) == "######\n# @* #\n######"
    assert format_level(level, 9, 1 << 10) == "######\n#  +$#\n######"


@pytest.mark.parametrize("code", ["#####|#@$.#|####", "@$.", "#####\n#@$.#\n#####", "#####|#@$. #|######", ""])
def test_only_the_canonical_code_is_decoded(code: str):
    with pytest.raises(DataError):
        decode_level(code)


@given(st.text(alphabet="#@$.*+ -_\n\n;'a1|\r\t", max_size=200) | st.text(max_size=60))
def test_any_text_gives_closed_levels_or_a_data_error(text: str):
    try:
        found = parse_levels(text, "f")
    except DataError:
        return
    for level in found:
        edge = rim(level.rows, level.cols)
        assert level.walls & edge == edge
        assert not level.walls & (level.boxes | level.goals | 1 << level.player)
        assert not level.boxes >> level.player & 1
        assert level.boxes.bit_count() == level.goals.bit_count() > 0
        assert decode_level(encode_level(level)) == level


@pytest.mark.official
def test_official_boxoban_files(official_data):
    counts = {}
    for path in sorted((official_data("sokoban") / "boxoban").rglob("*.txt")):
        found = parse_levels(path.read_text(encoding="utf-8"), path.name)
        counts[path.parent.parent.name, path.parent.name, path.stem] = len(found)
        for level in found:
            assert (level.rows, level.cols) == (10, 10)
            assert level.boxes.bit_count() == level.goals.bit_count() == 4
            assert not level.boxes & level.goals
    assert counts["boxoban", "hard", "003"] == 332
    assert sum(counts.values()) == 12_332


@pytest.mark.official
@pytest.mark.parametrize(
    ("name", "count", "expected_sealed"), [("microban_155.xsb", 155, 1), ("microban_II_135.xsb", 135, 0)]
)
def test_official_xsb_files(official_data, name: str, count: int, expected_sealed: int):
    found = parse_levels((official_data("sokoban") / "xsb" / name).read_text(encoding="utf-8"), name)
    assert len(found) == count
    sealed = 0  # levels with boxes or goals that the player cannot reach
    for level in found:
        assert rim(level.rows, level.cols) & ~level.walls == 0
        assert decode_level(encode_level(level)) == level
        walk = reachable(level, level.player, 0)
        sealed += bool((level.boxes | level.goals) & ~walk)
        outside = floor(level) & ~walk
        assert not outside or (level.boxes | level.goals) & outside
    assert sealed == expected_sealed
