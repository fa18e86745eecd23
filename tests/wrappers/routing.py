"""For tests of codecs: what the incremental reader says of every place in a reply."""

from __future__ import annotations

from agentenvs.wrappers.codecs import Codec


def labels(made: Codec, reply: str) -> list[str]:
    """For each place, the end included, the label of what comes next; the reply is fed character by character."""
    state, label = made.route("", "")
    after = [label]
    for character in reply:
        state, label = made.route(state, character)
        after.append(label)
    return after


def runs(made: Codec, reply: str) -> list[tuple[str, str]]:
    """The stretches of a reply that have one label, which is that of what came next before each character."""
    found: list[tuple[str, str]] = []
    for character, label in zip(reply, labels(made, reply), strict=False):
        if found and found[-1][0] == label:
            found[-1] = label, found[-1][1] + character
        else:
            found.append((label, character))
    return found
