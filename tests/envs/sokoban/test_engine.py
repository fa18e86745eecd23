"""The rules, by hand-worked positions and against a second implementation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban.engine import cells, flood, floor, move, on_goal, play, reachable, rim, solved
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import format_level, parse_level
from tests.envs.sokoban.naive import boxes_of, find_player, step

UP, DOWN, LEFT, RIGHT = range(4)
CORRIDOR = "########|#@$.$.-#|########"


def outcomes(text: str, directions: list[int]) -> list[tuple[str, int]]:
    """The board and the number of boxes on goals after each action."""
    level = parse_level(text)
    player, boxes = level.player, level.boxes
    seen = []
    for direction in directions:
        player, boxes = move(level, player, boxes, direction)
        seen.append((format_level(level, player, boxes).split("\n")[1], on_goal(level, boxes)))
    return seen


def test_corridor_by_hand():
    assert outcomes(CORRIDOR, [UP, LEFT, RIGHT, RIGHT, RIGHT]) == [
        ("#@$.$. #", 0),  # wall above
        ("#@$.$. #", 0),  # wall to the left
        ("# @*$. #", 1),  # a box goes on its goal
        ("# @*$. #", 1),  # two boxes in line do not move
        ("# @*$. #", 1),
    ]


def test_box_goes_on_and_off_a_goal():
    assert outcomes("#######|#@$.-.#|#--$--#|#######", [RIGHT, RIGHT, RIGHT]) == [
        ("# @* .#", 1),
        ("#  +$.#", 0),
        ("#  .@*#", 1),
    ]


def test_push_against_a_wall_changes_nothing():
    assert outcomes("#####|#@$.#|#####", [RIGHT, RIGHT]) == [("# @*#", 1), ("# @*#", 1)]


def test_there_is_no_pulling():
    assert outcomes("######|#-@$.#|######", [LEFT]) == [("#@ $.#", 0)]


def test_vertical_moves_and_pushes():
    level = parse_level("#####|#-@-#|#-$-#|#-.-#|#####")
    assert move(level, 7, 1 << 12, DOWN) == (12, 1 << 17)
    assert move(level, 7, 1 << 12, UP) == (7, 1 << 12)
    assert move(level, 17, 1 << 12, UP) == (12, 1 << 7)
    assert move(level, 7, 1 << 12, LEFT) == (6, 1 << 12)


def test_solved_counts_boxes_on_goals():
    level = parse_level("#######|#@$.-.#|#--*--#|#--$--#|#######")
    assert on_goal(level, level.boxes) == 1
    assert not solved(level, level.boxes)
    assert solved(level, level.goals)
    assert on_goal(level, level.goals) == 3
    assert not solved(level, level.goals | 1 << 8)


def test_play_follows_a_plan():
    level = parse_level("######|#-@$.#|######")
    assert play(level, [LEFT, RIGHT, RIGHT]) == (9, 1 << 10)


@pytest.mark.parametrize("number", range(30))
def test_random_play_equals_the_plain_rules(number: int):
    stream = Stream("test", "rules", number)
    shape = stream.choice([(5, 7, 1), (6, 6, 2), (8, 7, 3), (10, 10, 4)])
    level, _ = generate(stream, *shape)
    player, boxes, text = level.player, level.boxes, format_level(level)
    pushes = 0
    for _ in range(200):
        direction = stream.below(4)
        player, after = move(level, player, boxes, direction)
        text = step(text, direction)
        pushes += after != boxes
        boxes = after
        assert format_level(level, player, boxes) == text
        assert divmod(player, level.cols) == find_player(text.split("\n"))
        assert len(boxes_of(text)) == boxes.bit_count()
        assert on_goal(level, boxes) == text.count("*")
        assert solved(level, boxes) == ("$" not in text)
    assert pushes or number  # the first walk does push


@given(st.integers(0, 2**70))
def test_cells_lists_the_bits(mask: int):
    assert cells(mask) == [i for i in range(71) if mask >> i & 1]


def test_rim_of_a_small_board():
    assert cells(rim(3, 4)) == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("number", range(20))
def test_reachable_equals_a_walk_cell_by_cell(number: int):
    stream = Stream("test", "reach", number)
    level, _ = generate(stream, 9, 11, 5)
    free = set(cells(floor(level) & ~level.boxes))
    todo, seen = [level.player], {level.player}
    while todo:
        cell = todo.pop()
        for near in (cell - 11, cell + 11, cell - 1, cell + 1):
            if near in free and near not in seen:
                seen.add(near)
                todo.append(near)
    assert cells(reachable(level, level.player, level.boxes)) == sorted(seen)


def test_boxes_block_the_way():
    level = parse_level("#######|#@-$--#|#--##.#|#######")
    assert cells(reachable(level, level.player, level.boxes)) == [8, 9, 15, 16]
    assert cells(flood(floor(level), 1 << 8, 7)) == [8, 9, 10, 11, 12, 15, 16, 19]


def test_a_level_is_immutable():
    level = parse_level(CORRIDOR)
    with pytest.raises(AttributeError):
        level.player = 3  # type: ignore[misc]
    assert hash(level) == hash(parse_level(CORRIDOR))
