"""The decoding loop of a local language model: token by token, with a cache of keys and values.

It is our own rather than the library's because the noise of a reply must come from its turn and from nothing else, and
because a trainer needs the very tokens that were drawn.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.core.rng import Stream
from agentenvs.policies.sampling import Sampling, draw


class Draft:
    """A reply in the making.

    - `prompt`: the token ids that come before it, those of an unfinished reply (`prefix`) included.
    - `limit`: how many tokens may be drawn. `ends`: the ids that end a reply.
    - `read`: the text of token ids.

    `ids` and `logprobs` grow token by token; `finish_reason` is "stop" or "length" at the end, "" before. Token number
    t of a reply, those of the prefix counted, is drawn with uniform number t of the stream of `seed`: a reply that is
    continued goes on as it would have gone.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        prefix: Sequence[int],
        seed: int,
        sampling: Sampling,
        limit: int,
        ends: Collection[int],
        read: Callable[[Sequence[int]], str],
    ) -> None:
        self.prompt, self.seed, self.sampling, self.limit = prompt, seed, sampling, limit
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.finish_reason = ""
        self._prefix, self._ends, self._read = list(prefix), ends, read
        # A character of which the prefix has the first bytes only belongs to what is drawn.
        self._begin = len(read(prefix).rstrip("\ufffd")) if prefix else 0
        self._end: int | None = None

    @property
    def text(self) -> str:
        """What was drawn, as text, up to the end of the first stop text; the token that ends a reply has none."""
        ended = bool(self.ids) and self.ids[-1] in self._ends
        return self._read([*self._prefix, *self.ids[: len(self.ids) - ended]])[self._begin : self._end]

    def take(self, logits: NDArray[np.floating]) -> bool:
        """Draw the next token from `logits` (V,); whether the reply goes on."""
        noise = Stream("local policy", self.seed, len(self._prefix) + len(self.ids)).uniform()
        token, logprob = draw(logits, self.sampling, noise)
        self.ids.append(token)
        self.logprobs.append(logprob)
        if token in self._ends or self._stopped():
            self.finish_reason = "stop"
        elif len(self.ids) == self.limit:
            self.finish_reason = "length"
        return not self.finish_reason

    def _stopped(self) -> bool:
        """Look for a stop text, in the whole reply: it may begin in the prefix, and tokens do not end where it ends."""
        if not self.sampling.stop:
            return False
        whole = self._read([*self._prefix, *self.ids])
        found = [(whole.find(stop, max(0, self._begin - len(stop) + 1)), len(stop)) for stop in self.sampling.stop]
        self._end = min((at + size for at, size in found if at >= 0), default=None)
        return self._end is not None


def decode(model: Any, drafts: Sequence[Draft]) -> None:
    """Draw all drafts to their ends, in one batch, padded on the left; those that are done leave the batch.

    A draft alone is not padded, and its tokens are a function of model, prompt and seed. In a larger batch the same
    sums are formed in another order: logits differ in their last bits, and a token can differ where two candidates are
    as close as that.
    """
    import torch

    drafts, device = list(drafts), model.device
    ids, mask = (torch.tensor(rows, device=device) for rows in _left_padded([draft.prompt for draft in drafts]))
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    name = _cache_name(model)
    cache: dict[str, Any] = {}
    with torch.inference_mode():
        while True:
            shown = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
            seen = model(**shown, **cache, use_cache=True, logits_to_keep=1)
            cache = {name: seen[name]}
            logits = seen.logits[:, -1].float().cpu().numpy()
            going = [i for i, draft in enumerate(drafts) if draft.take(logits[i])]
            if not going:
                return
            if len(going) < len(drafts):
                rows = torch.tensor(going, device=device)
                cache[name].batch_select_indices(rows)
                mask, positions, drafts = mask[rows], positions[rows], [drafts[i] for i in going]
            ids = torch.tensor([[draft.ids[-1]] for draft in drafts], device=device)
            mask = torch.cat([mask, mask.new_ones(len(drafts), 1)], dim=1)
            positions = positions[:, -1:] + 1


def _left_padded(prompts: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """(B, T) token ids and mask; what is masked has id 0, which is a token of every vocabulary."""
    width = max(map(len, prompts))
    gaps = [[0] * (width - len(prompt)) for prompt in prompts]
    ids = [[*gap, *prompt] for gap, prompt in zip(gaps, prompts, strict=True)]
    return ids, [[*gap, *([1] * len(prompt))] for gap, prompt in zip(gaps, prompts, strict=True)]


def _cache_name(model: Any) -> str:
    """What this version of transformers calls the cache of keys and values."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
