"""The expert: optimal on small rooms by comparison with exhaustive search, and sound everywhere."""

from __future__ import annotations

from collections import deque
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.core.errors import ConfigError
from agentenvs.core.rng import Stream
from agentenvs.envs.sokoban.deadlock import dead_squares
from agentenvs.envs.sokoban.distances import FAR, push_distances
from agentenvs.envs.sokoban.engine import Level, cells, floor, move, play, solved
from agentenvs.envs.sokoban.generate import generate
from agentenvs.envs.sokoban.levels import format_level, parse_level, parse_levels
from agentenvs.envs.sokoban.matching import Matching, assignment_bound, cheapest_by_subsets
from agentenvs.envs.sokoban.solver import lower_bound, search, shortest_moves, solve
from agentenvs.envs.sokoban.walking import layers, walk_path
from tests.envs.sokoban.naive import cheapest, step

UP, DOWN, LEFT, RIGHT = range(4)


def pushes_of(level: Level, player: int, boxes: int, plan: list[int]) -> int:
    """The number of pushes in a plan, which must solve the level; every one of its moves must do something."""
    count = 0
    for direction in plan:
        after = move(level, player, boxes, direction)
        assert after != (player, boxes)
        count += after[1] != boxes
        player, boxes = after
    assert solved(level, boxes)
    return count


def test_plans_by_hand():
    level = parse_level("#######|#-----#|#@$--.#|#-----#|#######")
    assert solve(level, level.player, level.boxes) == [RIGHT] * 3
    corner = parse_level("######|#.---#|#--$-#|#---@#|######")
    plan = solve(corner, corner.player, corner.boxes, optimise="moves")
    assert plan in ([LEFT, UP, RIGHT, UP, LEFT, LEFT], [UP, LEFT, LEFT, DOWN, LEFT, UP])
    assert shortest_moves(corner) == 6
    assert search(corner, corner.player, corner.boxes).pushes == 3


def test_a_solved_state_needs_nothing():
    level = parse_level("#####|#@*-#|#####")
    assert solve(level, level.player, level.boxes) == []
    assert solve(level, level.player, level.boxes, optimise="moves") == []
    assert shortest_moves(level) == 0


def test_no_way_is_none():
    for text in ("#####|#$@.#|#---#|#####", "#######|#@#-$.#|#######"):
        level = parse_level(text)
        assert solve(level, level.player, level.boxes) is None
        assert solve(level, level.player, level.boxes, optimise="moves") is None
        assert shortest_moves(level) is None


def test_the_budget_is_counted_in_nodes():
    level, _ = generate(Stream("test", "budget"), 10, 10, 4)
    needed = search(level, level.player, level.boxes).nodes
    assert needed > 1
    assert solve(level, level.player, level.boxes, max_nodes=needed) is not None
    assert solve(level, level.player, level.boxes, max_nodes=needed - 1) is None
    assert solve(level, level.player, level.boxes, max_nodes=0) is None
    assert solve(level, level.player, level.boxes, max_nodes=0, optimise="moves") is None
    assert shortest_moves(level, max_states=5) is None


def test_an_unknown_aim_is_refused():
    level = parse_level("#####|#@$.#|#####")
    with pytest.raises(ConfigError, match="did you mean 'pushes'"):
        solve(level, level.player, level.boxes, optimise="pushs")


def states_on_the_way(number: int) -> tuple[Level, int, int]:
    """A state of a small random level after a random walk, which may have spoilt it."""
    stream = Stream("test", "solver", number)
    rows, cols, boxes = stream.choice([(5, 5, 1), (5, 6, 2), (6, 6, 1), (6, 6, 2), (5, 7, 3), (7, 6, 2)])
    level, _ = generate(stream, rows, cols, boxes)
    return level, *play(level, [stream.below(4) for _ in range(stream.below(12))])


@pytest.mark.parametrize("number", range(60))
def test_optimal_on_small_rooms(number: int):
    level, player, boxes = states_on_the_way(number)
    text = format_level(level, player, boxes)
    found = search(level, player, boxes)
    pushes = cheapest(text, "pushes")
    assert (found is None) == (pushes is None)
    if found is None:
        assert solve(level, player, boxes, optimise="moves") is None
        return
    assert found.pushes == pushes == pushes_of(level, player, boxes, found.directions)
    assert lower_bound(level, boxes) <= pushes
    plan = solve(level, player, boxes, optimise="moves")
    assert len(plan) == cheapest(text, "moves")
    pushes_of(level, player, boxes, plan)
    for direction in plan:
        text = step(text, direction)
    assert "$" not in text


def test_small_rooms_include_spoilt_ones():
    outcomes = [solve(*states_on_the_way(number)) for number in range(60)]
    assert 3 < outcomes.count(None) < 40


def cluttered_room(number: int) -> Level:
    """Walls, goals, boxes and player at random: narrow, often split in parts, often unsolvable."""
    stream = Stream("test", "clutter", number)
    rows, cols, count = stream.choice([(6, 7, 2), (7, 7, 2), (6, 6, 3), (5, 8, 2), (7, 8, 2)])
    inner = [cell for cell in range(rows * cols) if 0 < cell // cols < rows - 1 and 0 < cell % cols < cols - 1]
    free = [cell for cell in inner if stream.below(100) < 72] or inner
    if len(free) < 2 * count + 2:
        free = inner
    walls = (1 << rows * cols) - 1 - sum(1 << cell for cell in free)
    goals = sum(1 << cell for cell in stream.sample(free, count))
    bare = Level(rows, cols, walls, goals, 0, 0)
    alive = cells(floor(bare) & ~dead_squares(bare))
    boxes = sum(1 << cell for cell in stream.sample(alive, count))  # elsewhere the level would be lost at once
    return bare._replace(boxes=boxes, player=stream.choice(cells(floor(bare) & ~boxes)))


def fewest_pushes(level: Level) -> int | None:
    """Breadth-first search in which plain moves are free."""
    front, seen = deque([(0, level.player, level.boxes)]), set()
    while front:
        cost, player, boxes = front.popleft()
        if solved(level, boxes):
            return cost
        if (player, boxes) in seen:
            continue
        seen.add((player, boxes))
        for direction in range(4):
            after = move(level, player, boxes, direction)
            if after[1] == boxes:
                front.appendleft((cost, *after))
            else:
                front.append((cost + 1, *after))
    return None


def check_cluttered(numbers: range) -> int:
    """Both aims against exhaustive search; returns how many rooms can be solved."""
    count = 0
    for number in numbers:
        level = cluttered_room(number)
        pushes, moves = fewest_pushes(level), shortest_moves(level)
        found = search(level, level.player, level.boxes)
        shortest = search(level, level.player, level.boxes, optimise="moves")
        assert (None if found is None else found.pushes) == pushes, format_level(level)
        assert (None if shortest is None else len(shortest.directions)) == moves, format_level(level)
        count += pushes is not None
        for solution in (found, shortest):
            if solution is not None:
                assert pushes_of(level, level.player, level.boxes, solution.directions) == solution.pushes
    return count


def test_optimal_in_cluttered_rooms():
    assert check_cluttered(range(400)) > 40


@pytest.mark.slow
def test_optimal_in_many_cluttered_rooms():
    assert check_cluttered(range(400, 6_000)) > 600


@pytest.mark.parametrize("number", range(12))
def test_shortest_moves_equals_the_plain_search(number: int):
    level, _ = generate(Stream("test", "moves", number), 6, 6, 1 + number % 2)
    assert shortest_moves(level) == cheapest(format_level(level), "moves")


def test_equal_questions_have_equal_answers():
    level, _ = generate(Stream("test", "again"), 9, 9, 4)
    first = search(level, level.player, level.boxes)
    twin = Level(level.rows, level.cols, level.walls, level.goals, 0, 11)  # the start of the level plays no part
    assert search(twin, level.player, level.boxes) == first


@pytest.mark.parametrize("number", range(20))
def test_lone_box_distances_are_those_of_the_plain_search(number: int):
    level, _ = generate(Stream("test", "distances", number), 5, 6, 1)
    table = push_distances(level)
    for box in cells(floor(level)):
        free = [cell for cell in cells(floor(level)) if cell != box]
        costs = [cheapest(format_level(level, player, 1 << box), "pushes") for player in free]
        known = [cost for cost in costs if cost is not None]
        assert table[box][0] == min(known, default=FAR)
    assert all(table[cell] == [FAR] for cell in cells(level.walls))


@given(st.integers(1, 6), st.data())
def test_assignment_costs_equal_trying_all(n: int, data: st.DataObject):
    entry = st.integers(0, 9) | st.just(FAR)
    table = data.draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=n, max_size=n))
    best = min(sum(table[row][column] for row, column in enumerate(order)) for order in permutations(range(n)))
    assert cheapest_by_subsets(table) == best
    assert Matching(list(range(n)), table).cost(table) == best


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_matchings_follow_a_moving_box(seed: int):
    stream = Stream("test", "matching", seed)
    n = 9
    table = [[stream.below(12) if stream.below(5) else FAR for _ in range(n)] for _ in range(20)]
    bound = assignment_bound(table)
    boxes = sum(1 << cell for cell in stream.sample(range(20), n))
    bound(boxes, 0)
    for _ in range(12):
        start = stream.choice(cells(boxes))
        end = stream.choice([cell for cell in range(20) if not boxes >> cell & 1])
        after = boxes ^ 1 << start ^ 1 << end
        assert bound(after, boxes) == cheapest_by_subsets([table[cell] for cell in cells(after)])
        boxes = after


def test_walks_by_hand():
    level = parse_level("#######|#@-$--#|#--##-#|#----.#|#######")
    free = floor(level)
    assert [cells(layer) for layer in layers(free, 8, 7)[:3]] == [[8], [9, 15], [10, 16, 22]]
    assert walk_path(free & ~level.boxes, 8, 12, 7) == [DOWN, DOWN, RIGHT, RIGHT, RIGHT, RIGHT, UP, UP]
    assert walk_path(free, 8, 8, 7) == []


@pytest.mark.official
def test_official_levels(official_data):
    root = official_data("sokoban") / "boxoban"
    lengths = []
    for name, count in (("unfiltered/test/000.txt", 100), ("hard/000.txt", 30)):
        for level in parse_levels((root / name).read_text(encoding="utf-8"), name)[:count]:
            found = search(level, level.player, level.boxes)
            assert found is not None
            assert found.pushes == pushes_of(level, level.player, level.boxes, found.directions)
            lengths.append(found.pushes)
    assert len(lengths) == 130


@pytest.mark.official
@pytest.mark.slow
def test_all_official_boxoban_test_and_hard_levels(official_data):
    root = official_data("sokoban") / "boxoban"
    nodes = []
    for path in [root / "unfiltered" / "test" / "000.txt", *sorted((root / "hard").glob("*.txt"))]:
        for level in parse_levels(path.read_text(encoding="utf-8"), path.name):
            found = search(level, level.player, level.boxes)
            assert found is not None
            assert solved(level, play(level, found.directions)[1])
            nodes.append(found.nodes)
    assert len(nodes) == 4_332
    assert max(nodes) < 20_000
