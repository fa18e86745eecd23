"""Our generator: solvable for every seed, a function of the stream, and obedient to the split."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError
from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban import generate as module
from agentenvs.envs.sokoban.engine import cells, flood, floor, rim, solved
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import encode_level
from agentenvs.envs.sokoban.reverse import pullable
from agentenvs.envs.sokoban.rooms import room
from agentenvs.envs.sokoban.solver import search, solve

SHAPES = ((5, 5, 1), (6, 6, 1), (6, 6, 2), (8, 8, 2), (8, 8, 4), (10, 10, 3), (10, 10, 4))


def half(walls: int) -> bool:
    """A split of the layouts into halves."""
    return (walls * 0x9E3779B97F4A7C15 >> 40) % 2 == 0


def check_solvable(numbers: range) -> None:
    for number in numbers:
        shape = SHAPES[number % len(SHAPES)]
        level, tries = generate(Stream("test", "solvable", number), *shape, accept=half)
        found = search(level, level.player, level.boxes)
        assert found is not None, encode_level(level)
        assert found.pushes > 0
        assert half(level.walls)
        assert 1 <= tries <= 40


def test_all_levels_are_solvable():
    check_solvable(range(200))


@pytest.mark.slow
def test_ten_thousand_levels_are_solvable():
    check_solvable(range(10_000))


@settings(deadline=None)
@given(st.integers(3, 9), st.integers(3, 9), st.data())
def test_every_legal_size_gives_a_proper_level(rows: int, cols: int, data: st.DataObject):
    most = (rows - 2) * (cols - 2) - 2
    if max(rows, cols) < 5 or most < 1:
        return
    boxes = data.draw(st.integers(1, most))
    level, _ = generate(Stream("test", "sizes", data.draw(st.integers(0, 10**6))), rows, cols, boxes)
    edge = rim(rows, cols)
    assert (level.rows, level.cols) == (rows, cols)
    assert level.walls & edge == edge
    assert level.boxes.bit_count() == level.goals.bit_count() == boxes
    assert not level.walls & (level.boxes | level.goals)
    assert floor(level) & ~level.boxes & 1 << level.player
    assert not solved(level, level.boxes)
    assert flood(floor(level), 1 << level.player, cols) == floor(level)
    if boxes <= 3:
        assert solve(level, level.player, level.boxes) is not None


@pytest.mark.parametrize("shape", [(6, 6, 1), (6, 6, 2), (8, 8, 2), (10, 10, 4)])
def test_boxes_are_off_goals_and_layouts_vary(shape: tuple[int, int, int]):
    made = [generate(Stream("test", "variety", number), *shape)[0] for number in range(150)]
    assert sum(bool(level.boxes & level.goals) for level in made) <= 8
    assert len({level.walls for level in made}) > 100
    assert len({level.player for level in made}) > 8
    assert len(set(made)) >= 148


def test_every_floor_cell_can_hold_the_player_and_any_inner_cell_can_be_floor():
    made = [generate(Stream("test", "cover", number), 6, 6, 1)[0] for number in range(400)]
    inner = set(room(6, 6).spots)
    assert {level.player for level in made} == inner
    assert {cell for level in made for cell in cells(floor(level))} == inner
    assert {cell for level in made for cell in cells(level.walls)} == set(range(36))


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ((5, 5, 1), "#####|#####|##-@#|#.$-#|#####"),
        ((6, 6, 2), "######|######|##..##|##$$-#|#-@--#|######"),
        (
            (10, 10, 4),
            "##########|#--------#|#-$..-$-.#|#--------#|#-#####--#|#-####---#|######$-$#|#####-.--#|#######-@#|##########",
        ),
    ],
)
def test_known_levels(shape: tuple[int, int, int], code: str):
    assert encode_level(generate(Stream("known", 0), *shape)[0]) == code


def test_equal_streams_give_equal_levels():
    for number in range(20):
        first, second = (generate(Stream("test", "equal", number), 8, 8, 3, accept=half) for _ in range(2))
        assert first == second


def test_the_split_is_asked_before_anything_is_placed():
    asked: list[int] = []

    def fifth(walls: int) -> bool:
        asked.append(walls)
        return len(asked) == 5

    level, tries = generate(Stream("test", "split"), 7, 7, 2, accept=fifth)
    assert (tries, len(asked)) == (3, 5)
    assert level.walls == asked[-1]
    for drawn, turned in (asked[0:2], asked[2:4]):
        assert f"{turned:049b}" == f"{drawn:049b}"[::-1], "a refused layout is turned before another one is drawn"


def test_no_layout_is_in_both_halves():
    one = {generate(Stream("test", "one", n), 5, 6, 1, accept=half)[0].walls for n in range(200)}
    other = {generate(Stream("test", "two", n), 5, 6, 1, accept=lambda w: not half(w))[0].walls for n in range(200)}
    assert min(len(one), len(other)) > 20
    assert not one & other


def test_tries_are_bounded(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    monkeypatch.setattr(module, "MAX_TRIES", 7)
    with pytest.raises(ConfigError, match="6x6 level with 2 boxes among 7 layouts, found none"):
        generate(Stream("test", "never"), 6, 6, 2, accept=lambda walls: bool(asked.append(walls)))
    assert len(asked) == 2 * 7  # each as it was drawn, and turned


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 4, 1), "larger at least 5.*got 4x4"),
        ((2, 9, 1), "from 3 to 64.*got 2x9"),
        ((65, 9, 1), "got 65x9"),
        ((6, 6, 0), "expected 1 to 14 boxes.*got 0"),
        ((6, 6, 15), "expected 1 to 14 boxes.*got 15"),
        ((3, 5, 2), "expected 1 to 1 boxes.*got 2"),
    ],
)
def test_impossible_sizes_are_refused(shape: tuple[int, int, int], message: str):
    with pytest.raises(ConfigError, match=message):
        generate(Stream("x"), *shape)


@pytest.mark.parametrize(("shape", "least"), [((5, 5, 1), 2), ((6, 6, 1), 3), ((6, 6, 1), 4), ((6, 6, 2), 4)])
def test_difficulty_is_a_lower_bound_on_pushes(shape: tuple[int, int, int], least: int):
    free_choice, bounded = [], []
    for number in range(40):
        plain, _ = generate(Stream("test", "hard", number), *shape)
        level, _ = generate(Stream("test", "hard", number), *shape, difficulty=least, accept=half)
        free_choice.append(search(plain, plain.player, plain.boxes).pushes)
        bounded.append(search(level, level.player, level.boxes).pushes)
        assert half(level.walls)
    assert min(bounded) >= least > min(free_choice)


def test_a_difficulty_beyond_the_size_is_refused():
    with pytest.raises(ConfigError, match="5x5 level with 1 boxes and at least 3 pushes"):
        generate(Stream("x"), 5, 5, 1, difficulty=3)


def test_more_pulls_make_longer_levels():
    def mean_pushes(pulls: int) -> float:
        made = [generate(Stream("test", "pulls", number), 10, 10, 2, pulls=pulls)[0] for number in range(60)]
        return sum(search(level, level.player, level.boxes).pushes for level in made) / 60

    assert mean_pushes(2) + 1 < mean_pushes(12)


def test_pullable_cells_by_hand():
    # floor: cells 6, 7, 8 in a row and 13 below the middle one
    free = 1 << 6 | 1 << 7 | 1 << 8 | 1 << 12
    assert cells(pullable(free, 5)) == [6, 8]


def test_the_walk_visits_the_whole_interior():
    tables = room(5, 7)
    assert tables.spots == (8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 22, 23, 24, 25, 26)
    for walker, turns in tables.turns.items():
        for after in turns:
            assert after // 4 - walker // 4 in (-7, 7, -1, 1)
            assert tables.inner >> after // 4 & 1
    for walker, stamps in tables.stamps.items():
        for stamp in stamps:
            assert stamp & 1 << walker // 4
            assert not stamp & ~tables.inner
            assert flood(stamp, 1 << walker // 4, 7) == stamp
