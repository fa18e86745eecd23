"""Scores of an answer against the accepted ones, and the rule by which Search-R1 finds an answer.

Matchers take the answer alone, as the policy gave it, and return a float in [0, 1]. An answer that says nothing (empty,
or only articles and punctuation) scores 0 under all of them, and a gold that says nothing matches no answer.

Sources: SQuAD 1.1 (Rajpurkar et al. 2016) for normalisation and F1, HotpotQA (Yang et al. 2018) for the rule on yes and
no, Search-R1 (Jin et al. 2025, arXiv 2503.09516) for exact match and `last_answer`.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from agentenvs.envs.search_qa.items import LETTERS

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
#: In an option a lone A can be a name ("hepatitis A"); only at the start is it an article.
_OPTION_ARTICLES = re.compile(r"^\s*a\s+(?=\S)|\b(?:an|the)\b")
_LONE_LETTER = re.compile(r"[\W_]*([A-Za-z])(?![^\W_])[\W_]*")
_WHOLE_ANSWERS = ("yes", "no", "noanswer")


# An answer ------------------------------------------------------------------------------------------------------------


def normalise(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles (whole words), single spaces; in this order, so "A.I." gives "ai".

    Other punctuation stays and there is no Unicode normalisation, as in the published scorers.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if the prediction equals a gold after normalisation, else 0.0."""
    wanted = normalise(prediction)
    return float(_says(wanted) and any(wanted == normalise(gold) for gold in golds))


def sub_exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if a gold is contained in the prediction after normalisation (also inside a word), else 0.0.

    Also called cover-EM. A prediction that lists everything passes, so no preset uses it by default.
    """
    text = normalise(prediction)
    return float(_says(text) and any(gold in text for gold in map(normalise, golds) if _says(gold)))


def token_f1(prediction: str, golds: Sequence[str]) -> float:
    """The best F1 over the golds: overlap of normalised tokens, each counted as often as it occurs.

    If prediction or gold is "yes", "no" or "noanswer", only equality counts (HotpotQA's rule).
    """
    wanted = normalise(prediction)
    if not _says(wanted):
        return 0.0
    return max((_f1(wanted, gold) for gold in map(normalise, golds) if _says(gold)), default=0.0)


#: The matchers by name.
MATCHERS: dict[str, Callable[[str, Sequence[str]], float]] = {
    "em": exact_match,
    "f1": token_f1,
    "subem": sub_exact_match,
}


def choice(answer: str, options: Sequence[str]) -> str | None:
    """The letter of the one option (`LETTERS` in their order) that the answer names; None if it names none or several.

    It may be the letter in either case, with punctuation ("(A)", "a."), the text of the option up to case, punctuation
    and articles, or both if they agree ("A. yes"). A lone letter at the start is read as a letter, not as an article.
    """
    lead = _LONE_LETTER.match(answer)
    index = LETTERS[: len(options)].find(lead[1].upper()) if lead else -1
    rest = answer[lead.end() :] if lead else answer
    if index >= 0 and not rest:
        return LETTERS[index]
    if same := _positions(_plain(answer), map(_plain, options)):
        return _only(same)
    if index >= 0:
        return LETTERS[index] if _positions(_option(rest), map(_option, options[index : index + 1])) else None
    return _only(_positions(_option(answer), map(_option, options)))


def _says(normalised: str) -> bool:
    """Whether anything is left but punctuation, blanks and invisible characters of any script."""
    return any(unicodedata.category(char)[0] not in "PZC" for char in normalised)


def _f1(prediction: str, gold: str) -> float:
    """2PR / (P + R) of two normalised texts, neither of them empty."""
    if prediction in _WHOLE_ANSWERS or gold in _WHOLE_ANSWERS:
        return float(prediction == gold)
    ours, theirs = prediction.split(), gold.split()
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs))


def _plain(text: str) -> str:
    """The text up to case and spacing: what tells "1.5 mg" from "15 mg"."""
    return " ".join(text.lower().split())


def _option(text: str) -> str:
    return " ".join(_OPTION_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def _positions(wanted: str, texts: Iterator[str]) -> list[int]:
    return [i for i, text in enumerate(texts) if wanted and text == wanted]


def _only(positions: list[int]) -> str | None:
    return LETTERS[positions[0]] if len(positions) == 1 else None


# A transcript ---------------------------------------------------------------------------------------------------------


def last_answer(text: str) -> str | None:
    """The content of the last `<answer>...</answer>` without outer blanks; None where there is no complete pair.

    A pair begins at the leftmost opening tag after the pair before it and ends at the next closing tag, so openings in
    between belong to its content. Tags are case-sensitive, and it does not matter inside which other block they stand.
    """
    last = None
    start = text.find("<answer>")
    while start >= 0 and (end := text.find("</answer>", start)) >= 0:
        last = text[start + len("<answer>") : end].strip()
        start = text.find("<answer>", end)
    return last
