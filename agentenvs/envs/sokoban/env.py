"""`agentenvs/Sokoban-v0`: the wiring of rules, text, reward, tasks and expert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.core.env import TextEnv
from agentenvs.core.info import Key
from agentenvs.core.outcome import Outcome
from agentenvs.core.snapshot import check_state, natural
from agentenvs.core.task import Task
from agentenvs.core.tools import Call, Grammar, Parameter, Tool
from agentenvs.envs.sokoban.engine import cells, floor, move, on_goal, solved
from agentenvs.envs.sokoban.expert import Expert, idle
from agentenvs.envs.sokoban.presets import CHANGEABLE, PRESETS, effect, instructions, rules_of, vocabulary
from agentenvs.envs.sokoban.reward import COMPONENTS, IDLE, reward
from agentenvs.envs.sokoban.tasks import given, make_source
from agentenvs.envs.sokoban.text import Board, check


class SokobanEnv(TextEnv):
    """Push every box onto a target.

    **Actions** (bare words, any case unless the preset says otherwise): `Up`, `Down`, `Left`, `Right`; a step into a
    box pushes it if the cell behind it is free. A blocked action is valid and changes nothing. Preset `gym` has the
    nine actions of gym-sokoban, `verl-agent` adds `still`.

    **Observation**: the whole board after each action; `observation` chooses `grid`, `coord`, `grid_coord` or `spa`
    (grid and coordinate line), `symbols` the alphabet (`ragen`, `letters`, `xsb`), `layout` `joined` or `tabbed`.

    **Reward**: components `step` (-0.1 always), `box` (+1 onto a target, -1 off it), `solved` (+10).
    `score` is 1.0 when all boxes are on targets, else 0.0; `success` is `score == 1`.

    **End**: terminated when solved; truncated after `max_turns` actions.

    **Levels** (`levels`, see `tasks.py`): `generated`, `ragen`, `vagen`, `boxoban`, `embedded`, `xsb` (`path=`),
    `given` (`level=`); one level for one episode: `reset(options={"level": text})`.

    **Presets**: default, gym, boxoban, ragen, spa, verl-agent, vagen, tiny. Every field of a preset can be replaced
    by a keyword of the same name; the preset is then reported with a `+`.

    Sources: Schrader 2018 (gym-sokoban), Guez et al. 2018 (Boxoban), Wang et al. 2025 (RAGEN, VAGEN), Feng et al.
    2025 (verl-agent), SPA (arXiv 2510.15047).

    Version 0: first release.
    """

    family = "sokoban"
    components = COMPONENTS
    observation_is_state = True
    presets = tuple(PRESETS)
    extra_info = {"generation_tries": Key(int, "private", "wall layouts drawn for this level; at reset, if generated")}

    def __init__(
        self,
        *,
        preset: str = "default",
        split: str = "train",
        max_turns: int | None = None,
        admissible: bool = False,
        reveal: Sequence[str] = (),
        render_mode: str | None = None,
        data_dir: str | None = None,
        path: str | None = None,
        level: str | None = None,
        **rules: Any,
    ) -> None:
        if max_turns is not None:
            rules["max_turns"] = max_turns
        self.preset, self.rules = rules_of(preset, rules)
        self.protocol = self.rules.protocol
        self.source = make_source(self.rules, data_dir=data_dir, path=path, level=level)
        if split == "train" and split not in self.source.splits:
            split = self.source.splits[0]
        check(self.rules.observation, self.rules.symbols, self.rules.layout)
        self._board_style = {"form": self.rules.observation, "symbols": self.rules.symbols, "layout": self.rules.layout}
        self.instructions = instructions(self.rules)
        action = Parameter("action", "enum", "what to do", choices=tuple(self.rules.actions))
        self.tools = (Tool("move", "Move the player one cell, pushing a box that is ahead.", (action,), "{action}"),)
        self._effects = {name: effect(name) for name in self.rules.actions}
        self._words = {direction: name for name, (direction, pushes) in self._effects.items() if pushes}
        super().__init__(
            config={"preset": self.preset, **{name: getattr(self.rules, name) for name in CHANGEABLE}},
            split=split,
            max_turns=self.rules.max_turns,
            grammar=Grammar(self.tools, ignore_case=self.rules.ignore_case),
            admissible=admissible,
            reveal=tuple(reveal) if isinstance(reveal, (list, tuple, set, frozenset)) else (reveal,),
            render_mode=render_mode,
        )

    def vocabulary(self) -> tuple[str, ...]:
        """Every token that observations and actions are made of (for the forms that are grids)."""
        return vocabulary(self.rules)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        if isinstance(options, Mapping) and "level" in options:
            options = dict(options)
            options["task"] = given(options.pop("level"), self.split)
        return super().reset(seed=seed, options=options)

    def begin(self, task: Task) -> str:
        self._set(task, task.data.player, task.data.boxes)
        return self.view()

    def _set(self, task: Task, player: int, boxes: int) -> None:
        self._level = level = task.data
        self._board = Board(level, **self._board_style)
        self._expert = Expert(level)
        self._room = f"{level.cols}:{level.walls:x}:{level.goals:x}"
        self._put(player, boxes)

    def _put(self, player: int, boxes: int) -> None:
        self._player, self._boxes, self._cells = player, boxes, cells(boxes)
        self._won = solved(self._level, boxes)
        self._key = f"{self._room}:{boxes:x}:"

    def play(self, call: Call) -> Outcome:
        direction, may_push = self._effects[call.arguments["action"]]
        before, level, tell = self._boxes, self._level, self._board.tell
        player, boxes = (
            move(level, self._player, before, direction) if direction is not None else (self._player, before)
        )
        if boxes == before:
            effective, self._player = player != self._player, player
            if self._won:  # the level was solved from the start: it ends with the first action, as in the original
                return Outcome(self.view(), reward(0, True), effective, "solved", "commit")
            return Outcome(tell(player, self._cells), IDLE, effective, "", "commit")
        if not may_push:
            return Outcome(tell(self._player, self._cells), IDLE, False, "", "commit")
        self._put(player, boxes)
        rewards = reward(on_goal(level, boxes) - on_goal(level, before), self._won)
        return Outcome(tell(player, self._cells), rewards, True, "solved" if self._won else "", "commit")

    def reject(self, reason: str) -> Outcome:
        text = f"{reason}\n{self.view()}" if self.rules.complaints else self.view()
        return Outcome(text, IDLE, valid=False, error_type="invalid_action")

    def view(self) -> str:
        return self._board.tell(self._player, self._cells)

    state_text = view

    def tell(self, info: dict[str, Any]) -> None:
        """In `observed` cells are numbered row by row, `row * cols + col`; `walls` has a string a row."""
        level, board, won = self._level, self._board, self._won
        info["score"] = 1.0 if won else 0.0
        info["success"] = won
        info["state_key"] = self._key + str(self._player)
        info["observed"] = {
            "rows": level.rows,
            "cols": level.cols,
            "walls": board.walls.copy(),
            "targets": board.targets.copy(),
            "boxes": self._cells.copy(),
            "player": self._player,
        }

    def admissible_actions(self) -> list[str]:
        return list(self.rules.actions)

    def expert_action(self) -> str:
        """The next action of a plan; where none is known, the first that pushes no box."""
        return self.expert_plan(1)[0]

    def expert_plan(self, n: int) -> list[str]:
        found = self._expert.plan(self._player, self._boxes, self.max_turns - self._turn)[:n]
        return [self._words[direction] for direction in found or [idle(self._level, self._player, self._boxes)]]

    def gold(self) -> str:
        """The actions of a plan from the start, separated by commas; empty where none is known."""
        found = Expert(self._level).plan(self._level.player, self._level.boxes, self.max_turns)
        return ", ".join(self._words[direction] for direction in found)

    def reset_info(self) -> dict[str, Any]:
        return dict(self._task.metadata)

    def save(self) -> dict[str, Any]:
        return {"player": self._player, "boxes": cells(self._boxes)}

    def load(self, task: Task, state: Mapping[str, Any]) -> None:
        free = set(cells(floor(task.data)))
        count = task.data.boxes.bit_count()
        check_state(
            state,
            {
                "player": lambda cell: natural(cell) and cell in free,
                "boxes": lambda found: (
                    isinstance(found, list)
                    and all(natural(cell) and cell in free for cell in found)
                    and len(set(found) - {state["player"]}) == len(found) == count
                ),
            },
        )
        self._set(task, state["player"], sum(1 << cell for cell in state["boxes"]))
