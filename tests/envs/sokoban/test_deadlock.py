"""Deadlock detection: what it must find, and that it never flags a state that can be solved."""

from __future__ import annotations

from itertools import combinations

import pytest

from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban.deadlock import dead_squares, freeze_test, is_deadlock
from agentenvs.envs.sokoban.engine import Level, cells, floor, move, play, solved
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import format_level, parse_level, parse_levels
from agentenvs.envs.sokoban.solver import solve


def deadlocked(text: str) -> bool:
    level = parse_level(text)
    return is_deadlock(level, level.boxes, dead_squares(level))


def test_dead_squares_by_hand():
    level = parse_level("#######|#-----#|#-@$--#|#----.#|#-----#|#######")
    dead = format_level(Level(6, 7, level.walls, 0, dead_squares(level), 8)).split("\n")
    # corners, the rim rows without the goal, and the left column; the goal's column is alive from both ends
    assert dead == ["#######", "#@$$$$#", "#$    #", "#$    #", "#$$$$$#", "#######"]
    assert dead_squares(level) >> 8 & 1  # the corner under the player


def test_corridor_ends_are_dead():
    level = parse_level("#########|#-@-$-.-#|#########")
    assert cells(dead_squares(level)) == [10, 16]


@pytest.mark.parametrize(
    "text",
    [
        "#####|#$@.#|#---#|#####",  # corner
        "######|#-$$-#|#-$$@#|#....#|######",  # a 2x2 block
        "######|#-$$-#|#-@--#|#-..-#|######",  # two boxes side by side along a wall
        "######|#.-@-#|#-#$-#|#-$#-#|#-.--#|######",  # frozen by walls and each other, crosswise
        "######|#-*$-#|#-@--#|#--.-#|######",  # the box on its goal freezes the other
        "#######|#-----#|##$---#|#-$$--#|#--#@.#|#--..-#|#######",  # a chain of three between two walls
    ],
)
def test_deadlocks_are_found(text: str):
    assert deadlocked(text)
    level = parse_level(text)
    assert solve(level, level.player, level.boxes) is None


@pytest.mark.parametrize(
    "text",
    [
        "######|#-**-#|#-@--#|#-$.-#|######",  # frozen on goals
        "######|#@---#|#-$$-#|#..--#|######",  # side by side, no wall
        "#####|#.--#|#@$-#|#---#|#####",
        "######|#*---#|#-$.@#|######",  # a box in a corner that is a goal
    ],
)
def test_others_are_not_deadlocks(text: str):
    assert not deadlocked(text)


def test_frozen_names_the_boxes_that_stay():
    level = parse_level("#######|#-**--#|#-@-$.#|#-----#|#######")
    assert cells(freeze_test(level, dead_squares(level))(level.boxes)) == [9, 10]


def solvable_states(level: Level) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """All states with this many boxes in this room, and those from which it can be solved; by exhaustion."""
    places = cells(floor(level))
    count = level.boxes.bit_count()
    states = {
        (player, sum(1 << box for box in boxes))
        for boxes in combinations(places, count)
        for player in places
        if player not in boxes
    }
    before: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for player, boxes in states:
        for direction in range(4):
            before.setdefault(move(level, player, boxes, direction), []).append((player, boxes))
    todo = [state for state in states if solved(level, state[1])]
    good = set(todo)
    while todo:
        for state in before.get(todo.pop(), ()):
            if state not in good:
                good.add(state)
                todo.append(state)
    return states, good


def check_room(number: int) -> tuple[int, int]:
    """No solvable state of a random room is flagged; returns how many states are lost and how many of them flagged."""
    stream = Stream("test", "deadlock", number)
    rows, cols, boxes = stream.choice([(5, 5, 1), (5, 5, 2), (5, 6, 2), (6, 5, 3), (5, 7, 2), (4, 7, 3), (6, 6, 2)])
    level, _ = generate(stream, rows, cols, boxes)
    dead = dead_squares(level)
    states, good = solvable_states(level)
    flagged = {boxes for boxes in {boxes for _, boxes in states} if is_deadlock(level, boxes, dead)}
    wrong = [state for state in good if state[1] in flagged]
    assert not wrong, format_level(level, *wrong[0])
    lost = states - good
    return len(lost), sum(state[1] in flagged for state in lost)


def test_no_solvable_state_is_flagged():
    results = [check_room(number) for number in range(40)]
    lost, found = (sum(column) for column in zip(*results, strict=True))
    assert found > 0.8 * lost  # and most of the lost ones are


@pytest.mark.slow
def test_no_solvable_state_is_flagged_in_many_rooms():
    for number in range(40, 700):
        check_room(number)


@pytest.mark.official
@pytest.mark.parametrize("number", [58, 74])
def test_microban_levels_that_were_reported_unsolvable(official_data, number: int):
    path = official_data("sokoban") / "xsb" / "microban_155.xsb"
    level = parse_levels(path.read_text(encoding="utf-8"), path.name)[number - 1]
    dead = dead_squares(level)
    plan = solve(level, level.player, level.boxes)
    assert plan is not None
    assert solved(level, play(level, plan)[1])
    player, boxes = level.player, level.boxes
    for direction in plan:
        assert not is_deadlock(level, boxes, dead)
        player, boxes = move(level, player, boxes, direction)
