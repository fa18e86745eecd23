"""Matchers by hand-worked values, multiple choice, and each published rule of reading a transcript by its own case."""

from __future__ import annotations

import re
import string
import time
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentenvs.envs.search_qa.reward import (
    MATCHERS,
    choice,
    exact_match,
    last_answer,
    normalise,
    sub_exact_match,
    token_f1,
)

YES_NO = ("yes", "no", "maybe")
TEXTS = st.lists(st.sampled_from([*"aAtThHeEnN .,-'\"01é—\n", " the ", " a ", " an ", "yes"]), max_size=20).map("".join)


# An answer ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Blue\tRiver\n", "blue river"),
        ("A.I.", "ai"),  # punctuation goes first, so nothing is left for the article to be
        ("a-b", "ab"),
        ("Anna, the theatre and an area", "anna theatre and area"),
        ("l’a vu", "l’ vu"),  # a typographic apostrophe is no ASCII punctuation, and it ends a word
        ("Émile – “Zo”", "émile – “zo”"),
        ("The the THE", ""),
        ("!?.,;", ""),
        ("", ""),
        ("ＡＢＣ", "ａｂｃ"),  # full width: no Unicode normalisation
    ],
)
def test_normalise(text: str, expected: str):
    assert normalise(text) == expected


@given(TEXTS)
def test_normalise_agrees_with_a_walk_over_words_and_is_a_fixed_point(text: str):
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    words = re.findall(r"\w+|[^\w\s]+|\s+", kept)
    walked = "".join(" " if word in ("a", "an", "the") else word for word in words).split()
    assert normalise(text) == " ".join(walked)
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("prediction", "golds", "em", "f1", "subem"),
    [
        ("The Red Fox", ("red fox",), 1, 1, 1),
        ("red fox den", ("red fox",), 0, 0.8, 1),
        ("fox", ("red fox",), 0, 2 / 3, 0),
        ("fox", ("wolf", "Fox!"), 1, 1, 1),
        ("red red fox", ("red fox fox",), 0, 2 / 3, 0),  # a multiset: red once, fox once
        ("a b a b", ("b b b",), 0, 0.8, 0),
        ("bus", ("us",), 0, 0, 1),  # containment does not ask for whole words
        ("yes", ("yes",), 1, 1, 1),
        ("yes it is", ("yes",), 0, 0, 1),  # HotpotQA's rule
        ("yes", ("yes it is",), 0, 0, 0),
        ("no answer", ("noanswer",), 0, 0, 0),
        ("No.", ("no way", "no"), 1, 1, 1),
        ("0", ("0",), 1, 1, 1),
        ("5 km", ("5km",), 0, 0, 0),
        ("anything", (), 0, 0, 0),
    ],
)
def test_matchers(prediction: str, golds: tuple[str, ...], em: float, f1: float, subem: float):
    got = {name: match(prediction, golds) for name, match in MATCHERS.items()}
    assert got == {"em": em, "f1": pytest.approx(f1), "subem": subem}
    assert all(type(value) is float for value in got.values())


@pytest.mark.parametrize("nothing", ["", " \n\t", ".", "?!...", "the", "A", "“”", "—", "…", "\u200b", "\u00a0", "、。"])
@pytest.mark.parametrize("golds", [("",), ("The",), ("...",), ("—",), ("", "word"), ("1900 — 1910",), ("x \u200b y",)])
def test_an_answer_that_says_nothing_scores_nothing(nothing: str, golds: tuple[str, ...]):
    assert [match(nothing, golds) for match in MATCHERS.values()] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("gold", ["", "the", "!", "—"])
def test_a_gold_that_says_nothing_matches_nothing(gold: str):
    assert [match("any words — at all", (gold,)) for match in MATCHERS.values()] == [0.0, 0.0, 0.0]


def test_signs_that_are_no_punctuation_can_be_answers():
    assert exact_match("∞", ("∞",)) == 1.0
    assert exact_match("°", ("∞",)) == 0.0


@given(TEXTS, st.lists(TEXTS, max_size=3))
@example("yes", ["yes"])
def test_matchers_keep_their_order_and_bounds(prediction: str, golds: list[str]):
    em, f1, subem = (match(prediction, golds) for match in (exact_match, token_f1, sub_exact_match))
    assert em <= f1 <= 1.0
    assert em <= subem
    assert f1 >= 0.0


@given(TEXTS, TEXTS)
def test_f1_agrees_with_precision_and_recall_counted_by_hand(prediction: str, gold: str):
    ours, theirs = normalise(prediction).split(), normalise(gold).split()
    left = Counter(theirs)
    hits = 0
    for token in ours:
        if left[token]:
            left[token] -= 1
            hits += 1
    wordless = not re.search(r"\w", " ".join(ours)) or not re.search(r"\w", " ".join(theirs))
    whole = {"yes", "no", "noanswer"} & {" ".join(ours), " ".join(theirs)}
    if wordless or not hits or (whole and ours != theirs):
        assert token_f1(prediction, [gold]) == 0.0
    else:
        precision, recall = hits / len(ours), hits / len(theirs)
        assert token_f1(prediction, [gold]) == pytest.approx(2 * precision * recall / (precision + recall))


# A choice -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        *((form, "A") for form in ("A", "a", "(A)", "A.", "a)", "[A]", "A:", " A \n", "**A**", "_A_", "“A”")),
        *((form, "B") for form in ("no", "No.", "the NO", "B. no", "(b) No!", "B: no", "B - no", "B no")),
        ("C\nmaybe", "C"),
        *(
            (form, None)
            for form in ("", " ", ".", "D", "E.", "yes no", "yes, no", "A B", "A, B", "A or B", "AB", "A/B")
        ),
        *((form, None) for form in ("A. no", "A no", "a no", "B. yes", "A. yes B. no", "A. yes, no", "A yes yes")),
        *((form, None) for form in ("yes no maybe", "A B C", "yes!no", "not", "y", "1", "А", "Ａ")),
    ],
)
def test_choice_between_yes_no_and_maybe(answer: str, letter: str | None):
    assert choice(answer, YES_NO) == letter


def test_options_that_differ_in_punctuation_or_a_lone_letter_are_told_apart():
    doses = ("1.5 mg", "15 mg", "5 mg")
    assert [choice(dose, doses) for dose in doses] == ["A", "B", "C"]
    assert choice("1,5 mg", doses) is None  # without punctuation it reads like two of them
    assert choice("A. 1,5 mg", doses) == "A"
    livers = ("Hepatitis A", "Hepatitis B", "the liver", "A stroke")
    assert [choice(text, livers) for text in livers] == ["A", "B", "C", "D"]
    assert choice("hepatitis", livers) is None
    assert choice("Liver.", livers) == "C"
    assert choice("stroke", livers) == "D"


def test_options_that_are_letters_themselves():
    blood = ("O", "A", "AB")
    assert choice("A", blood) == "A"  # the letter goes first
    assert choice("O", blood) == "A"
    assert choice("B. A", blood) == "B"
    assert choice("A. A", blood) is None
    assert choice("AB", blood) == "C"
    assert choice("A B", blood) is None


def test_equal_and_empty_options():
    assert choice("same", ("same", "Same", "other")) is None
    assert choice("B) same", ("same", "Same", "other")) == "B"
    assert choice("", ("", "the")) is None
    assert choice("the", ("", "+")) is None
    assert choice("+", ("-", "+")) == "B"
    assert choice("A", ()) is None


@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=10), st.data())
def test_choice_of_a_letter_is_that_letter(options: list[str], data: st.DataObject):
    letter = data.draw(st.sampled_from("ABCDEFGHIJ"[: len(options)]))
    assert {choice(form, options) for form in (letter, letter.lower(), f"({letter})", f"{letter}.")} == {letter}


# A transcript ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("", None),
        ("<answer>one", None),
        ("one</answer>", None),
        ("<answer> one </answer>", "one"),
        ("<answer>one</answer> then <answer>\ntwo\n</answer>", "two"),
        ("<answer></answer><answer></answer>", ""),
        ("<answer>one<answer>two</answer>", "one<answer>two"),  # the leftmost opening counts
        ("<answer>one</answer>two</answer>", "one"),  # and the next closing
        ("</answer><answer>one</answer>", "one"),
        ("<answer>one</answer><answer>two", "one"),  # an incomplete pair is none
        ("<Answer>one</Answer>", None),
        ("<answer >one</answer>", None),
        ("<answer><search>q</search></answer>", "<search>q</search>"),
        # Tags inside a query or a passage count, and the last match wins.
        ("<answer>mine</answer><search><answer>in a query</answer></search>", "in a query"),
        ("<answer>mine</answer><information><answer>shown</answer></information>", "shown"),
    ],
)
def test_answers_in_a_transcript(text: str, last: str | None):
    assert last_answer(text) == last


@given(st.lists(st.sampled_from(["<answer>", "</answer>", "x", " ", "\n", "<answer", ">"]), max_size=12))
def test_answers_agree_with_a_regular_expression(pieces: list[str]):
    text = "".join(pieces)
    found = [match.strip() for match in re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)]
    assert last_answer(text) == (found[-1] if found else None)


@pytest.mark.parametrize("tag", ["<think>", "<answer>", "</answer>", "<", "<think></think>", " ", "\n", "a ", "(", "_"])
def test_a_megabyte_of_anything_is_read_in_linear_time(tag: str):
    text = tag * (1_000_000 // len(tag))
    start = time.perf_counter()
    for read in (last_answer, normalise):
        read(text)
    for match in MATCHERS.values():
        match(text, ("gold", "yes"))
    choice(text, YES_NO)
    choice("A. " + text, YES_NO)
    assert time.perf_counter() - start < 5.0
