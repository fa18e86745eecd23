"""`TextActions`: one reply, several native actions. Hand-worked on a room in which three pushes to the right win."""

from __future__ import annotations

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenvs
from agentenvs.core.errors import ConfigError, EpisodeOver, InfrastructureError, UnknownName
from agentenvs.core.info import violations
from agentenvs.wrappers import FormatReward, TextActions, build, protocol
from tests.core.tiny_env import Counter

SOKOBAN = "agentenvs/Sokoban-v0"
ONE_PUSH = "#####|#@$.#|#####"
ROOM = "#######|#@ $ .#|#######"  # walk, push, push onto the target
ANSWER = {"name": "tagged", "think": "", "action": "answer", "separator": ","}


def room(level: str = ROOM, **options) -> gym.Env:
    more = {name: options.pop(name) for name in ("reveal", "max_turns_inside") if name in options}
    if "max_turns_inside" in more:
        more["max_turns"] = more.pop("max_turns_inside")
    env = gym.make(SOKOBAN, levels="given", level=level, **more)
    return TextActions(env, **{"codec": ANSWER, **options})


def say(*actions: str) -> str:
    return f"<answer>{','.join(actions)}</answer>"


def natives(info: dict) -> list[tuple]:
    return [(call["native"], call["ok"], call["reward"]) for call in info["calls"]]


def test_one_push_wins():
    env = room(ONE_PUSH)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(say("Right"))
    assert (reward, terminated, truncated) == (10.9, True, False)
    assert info["reward_components"] == {"step": -0.1, "box": 1.0, "solved": 10.0}
    assert info["calls"] == [
        {"id": "1.0", "native": "Right", "ok": True, "observation": observation, "reward": 10.9},
    ]
    assert (info["end_reason"], env.status) == ("solved", "ended")


def test_components_are_summed_over_the_calls_of_a_reply():
    env = room()
    first, info = env.reset(seed=0)
    assert (info["turn"], info["calls"]) == (0, [])
    observation, reward, terminated, _, info = env.step(say("Right", "Right", "Right"))
    assert info["reward_components"] == {"step": pytest.approx(-0.3), "box": 1.0, "solved": 10.0}
    assert reward == sum(info["reward_components"].values())
    assert terminated
    assert (info["turn"], [call["id"] for call in info["calls"]]) == (1, ["1.0", "1.1", "1.2"])
    assert observation == info["calls"][-1]["observation"] != first


def test_calls_after_the_end_are_answered_and_not_run():
    env = room()
    env.reset(seed=0)
    *_, info = env.step(say("Right", "Right", "Right", "Left", "Up"))
    assert natives(info)[3:] == [("Left", False, 0.0), ("Up", False, 0.0)]
    assert info["calls"][3]["observation"] == "Not run: the episode was over."
    assert info["is_valid"]
    env.reset(seed=0)
    assert env.step(say("Right", "Right", "Right"))[4]["state_key"] == info["state_key"]


def test_the_cap_refuses_what_is_too_much():
    env = room(max_calls=2)
    env.reset(seed=0)
    *_, info = env.step(say("Right", "Right", "Right"))
    assert natives(info) == [("Right", True, -0.1), ("Right", True, -0.1), ("Right", False, 0.0)]
    assert info["calls"][2]["observation"] == "Not run: a reply has at most 2 actions."
    assert (info["is_valid"], info["reward_components"]["step"]) == (True, -0.2)


@pytest.mark.parametrize(
    ("rule", "run", "sentences"),
    [
        ("play", [("Right", True), ("fly", False), ("Right", True)], ["Unknown action 'fly'"]),
        ("skip", [("Right", True), ("Right", True), ("fly", False)], ["Not run: unknown action 'fly'."]),
        (
            "stop",
            [("Right", True), ("fly", False), ("Right", False)],
            ["Not run: unknown action 'fly'.", "Not run: it came after an unknown action."],
        ),
    ],
)
def test_the_rules_for_unknown_calls(rule, run, sentences):
    env = room(unknown=rule)
    env.reset(seed=0)
    _, reward, *_, info = env.step(say("Right", "fly", "Right"))
    assert [(native, ok) for native, ok, _ in natives(info)] == run
    told = [call["observation"] for call in info["calls"] if not call["ok"]]
    assert all(text.startswith(sentence) for text, sentence in zip(told, sentences, strict=True))
    assert not info["is_valid"]
    played = {"play": 3, "skip": 2, "stop": 1}[rule]
    assert reward == pytest.approx(-0.1 * played)


def test_a_reply_of_unknown_calls_only_costs_the_turn_and_nothing_else():
    env = room(unknown="skip")
    before, _ = env.reset(seed=0)
    observation, reward, *_, info = env.step(say("fly", "run"))
    assert observation == f"Not run: unknown action 'fly'.\n{before}"
    assert (reward, info["turn"], info["tool_result"]) == (0.0, 1, {"ok": False, "error_type": "invalid_format"})


@pytest.mark.parametrize("reply", ["Right", "", None, 5, "<answer>Right", "<answer></answer>", "\ud800" * 1000])
def test_replies_without_the_format_leave_the_state_alone(reply):
    env = room()
    before, first = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(reply)
    assert observation.endswith(f"\n{before}")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert not (info["is_valid"] or info["is_effective"])
    assert info["reward_components"] == {"step": 0.0, "box": 0.0, "solved": 0.0}
    assert (info["state_key"], info["turn"], info["calls"]) == (first["state_key"], 1, [])


def test_a_reply_that_runs_nothing_reports_nothing_of_the_turn_before():
    env = room(reveal=["state"])
    _, first = env.reset(seed=0)
    *_, info = env.step("no format")
    assert info["state_text"] == info["next_state_text"] == first["state_text"]
    *_, info = env.step(say("Right"))
    after = info["next_state_text"]
    assert (info["state_text"], info["action_kind"]) == (first["state_text"], "commit")
    *_, info = env.step("no format")
    assert info["state_text"] == info["next_state_text"] == after
    assert "action_kind" not in info
    saved = agentenvs.snapshot(env)
    assert room(reveal=["state"]).reset(options={"snapshot": saved})[1] == info


def test_the_state_before_is_that_of_the_first_call():
    env = room(reveal=["state"])
    _, first = env.reset(seed=0)
    *_, info = env.step(say("Right", "Right"))
    assert info["state_text"] == first["state_text"]
    assert info["next_state_text"] == info["calls"][-1]["observation"]


def test_very_many_calls_are_answered_briefly():
    env = room(max_calls=1)
    env.reset(seed=0)
    *_, info = env.step(say(*["Left"] * 10_000))
    assert len(info["calls"]) == 33


def test_the_limit_of_replies_truncates_and_holds():
    env = room(max_turns=2)
    env.reset(seed=0)
    assert env.step(say("Left"))[2:4] == (False, False)
    *_, truncated, info = env.step("no format")
    assert truncated
    assert (info["end_reason"], env.status) == ("turn_limit", "ended")
    saved = agentenvs.snapshot(env)
    with pytest.raises(EpisodeOver, match="turn_limit"):
        env.step(say("Right"))
    assert agentenvs.snapshot(env) == saved
    env.reset(seed=0)
    assert env.status == "playing"


def test_the_environments_own_limit_truncates_in_the_middle_of_a_reply():
    env = room(max_turns_inside=2)
    env.reset(seed=0)
    *_, truncated, info = env.step(say("Left", "Left", "Left"))
    assert truncated
    assert [ok for _, ok, _ in natives(info)] == [True, True, False]
    assert info["end_reason"] == "turn_limit"


def test_winning_with_the_last_reply_is_no_truncation():
    env = room(ONE_PUSH, max_turns=1)
    env.reset(seed=0)
    assert env.step(say("Right"))[2:4] == (True, False)


def test_a_snapshot_remembers_the_limit_of_replies():
    env = room(max_turns=3)
    env.reset(seed=0)
    env.step(say("Right", "fly"))
    env.step("no format")
    saved = agentenvs.snapshot(env)
    expected = env.step(say("Right"))
    again = room(max_turns=3)
    _, info = again.reset(options={"snapshot": saved})
    assert (info["turn"], info["is_valid"]) == (2, False)
    assert again.step(say("Right")) == expected
    assert expected[3]
    _, restarted = again.reset(options={"restart": True})
    assert restarted == info


def test_restart_after_a_plain_reset_starts_anew():
    env = room()
    first = env.reset(seed=3)
    env.step(say("Right"))
    assert env.reset(options={"restart": True}) == first


def test_a_prefix_is_native_and_counts_no_reply():
    env = room()
    _, info = env.reset(seed=0, options={"prefix": ["Right", "Right"]})
    assert (info["turn"], info["calls"]) == (0, [])
    assert env.step(say("Right"))[2]


def test_a_failure_in_the_middle_of_a_reply_voids_the_episode():
    env = TextActions(Counter(), codec=ANSWER)
    env.reset(seed=1)
    with pytest.raises(InfrastructureError, match="server is down"):
        env.step(say("up", "outage", "up"))
    assert env.status == "void"
    with pytest.raises(InfrastructureError, match="void"):
        env.step(say("up"))
    env.reset(seed=1)
    assert env.step(say("up"))[0] == "at 1"


def test_observations_that_are_no_states_are_all_shown():
    env = TextActions(Counter(), codec=ANSWER)
    env.reset(seed=1)
    assert env.step(say("up", "up"))[0] == "at 1\nat 2"
    assert env.step("what")[0] == "Reply in this form: <answer>action , action</answer>"


def test_instructions_name_tools_and_form():
    env = room()
    assert env.instructions.startswith(env.unwrapped.instructions)
    assert env.instructions.endswith("Reply in this form: <answer>action , action</answer>")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=12) | st.sampled_from(["Right", "Left", "fly"]).map(say), max_size=6), st.data())
def test_infos_keep_the_schema_and_rewards_their_sum(replies, data):
    rule = data.draw(st.sampled_from(["play", "skip", "stop"]))
    env = FormatReward(room(unknown=rule, max_calls=2, max_turns=4), fault=-0.5)
    _, info = env.reset(seed=0)
    extra = env.unwrapped.extra_info
    for reply in replies:
        if env.get_wrapper_attr("status") != "playing":
            break
        assert violations(info, extra) == []
        _, reward, terminated, truncated, info = env.step(reply)
        assert reward == sum(info["reward_components"].values())
        assert (terminated or truncated) == ("end_reason" in info)
    assert violations(info, extra) == []


# Specs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["default", "ragen", "spa", "verl-agent", "vagen", "tiny", "gym"])
def test_the_spec_rebuilds_the_stack(preset):
    env = protocol(gym.make(SOKOBAN, preset=preset))
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    first, second = env.reset(seed=5), again.reset(seed=5)
    assert first == second
    replies = ["<think></think><answer>Up</answer>", "<think></think><action>down</action>", "Left"]
    assert [env.step(reply) for reply in replies] == [again.step(reply) for reply in replies]
    assert agentenvs.snapshot(env) == agentenvs.snapshot(again)
    assert again.get_wrapper_attr("instructions") == env.get_wrapper_attr("instructions")


def test_build_puts_a_recorded_stack_together():
    env = build(Counter(), [{"name": "TextActions", "kwargs": {"codec": ANSWER}}, {"name": "FormatReward"}])
    assert isinstance(env, FormatReward)
    assert isinstance(env.env, TextActions)


@pytest.mark.parametrize(
    ("specs", "error", "message"),
    [
        ([{"name": "TextAction"}], UnknownName, "did you mean 'TextActions'"),
        ([{}], UnknownName, "unknown wrapper None"),
        ([{"name": "TextActions", "kwargs": {"max_call": 1}}], ConfigError, "wrapper TextActions: .*max_call"),
        ([{"name": "TextActions", "kwargs": [1]}], ConfigError, "wrapper TextActions"),
        ([{"name": "TextActions", "kwargs": {"max_calls": 0}}], ConfigError, "max_calls >= 1"),
        ([{"name": "TextActions", "kwargs": {"max_turns": True}}], ConfigError, "max_turns >= 1"),
        ([{"name": "TextActions", "kwargs": {"unknown": "halt"}}], UnknownName, "rule for unknown calls"),
        ([{"name": "TextActions", "kwargs": {"codec": "xml2"}}], UnknownName, "unknown codec"),
        ([{"name": "FormatReward", "kwargs": {"fault": "x"}}], ConfigError, "finite number for fault"),
    ],
)
def test_bad_stacks_are_refused(specs, error, message):
    with pytest.raises(error, match=message):
        build(Counter(), specs)


class Reporting(Counter):
    """A counter that reports where it is as news."""

    def more_info(self) -> dict:
        return {"new_facts": [self.state_text()]}


def test_news_of_all_calls_of_a_reply_are_reported_and_none_twice():
    env = TextActions(Reporting(), codec=ANSWER)
    env.reset(options={"task": "counter/test/4"})
    assert env.step(say("up", "up"))[4]["new_facts"] == ["<1>", "<2>"]
    *_, info = env.step("no format")
    assert info["new_facts"] == []
    again = TextActions(Reporting(), codec=ANSWER)
    assert again.reset(options={"snapshot": agentenvs.snapshot(env)})[1] == info
