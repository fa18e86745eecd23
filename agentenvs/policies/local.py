"""`local:DIR` and `local:smollm2`: a causal language model of Hugging Face transformers, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentenvs.core.errors import ConfigError
from agentenvs.policies import prompts, weights
from agentenvs.policies.base import Exchange, Reply, Turn
from agentenvs.policies.decoding import Draft, decode
from agentenvs.policies.sampling import Sampling


class LocalPolicy:
    """Answers turns with a language model that lies in a folder, or with `smollm2` (see `weights`).

    - `style`: a prompt style (`prompts.style`), but for "tools", whose calls a server would have to take out of the
      text: models that call functions write them as text here, for the codec `hermes`.
    - `temperature`, `top_p`, `max_tokens`, `stop`: see `Sampling`; `turn.sampling` overrides them. What a model's
      own generation settings say beyond the tokens that end a reply is not used.
    - `max_batch`: turns decoded together. With 1 a reply depends on its turn alone, bit by bit. Larger batches are
      faster, and a token can differ where two are all but equally likely: see `decode`.
    - `shots`: worked examples (`rollout.shots.worked_examples`), shown as chat turns between the instructions and the
      episode's own messages.
    - `dtype`: "float32", "bfloat16" or "float16"; on CPUs float32 is the fastest. `device`: as torch names it; None is
      a GPU where there is one.
    - `name`: for records; by default `local:` and the name of the folder.

    The model is loaded at the first `act`. A reply has `prompt_ids` (with the turn's `prefix`), `token_ids` exactly as
    drawn (with the token that ended it, and those of which a stop text needed only the beginning), `logprobs` (the
    model's own, at temperature 1) and as `policy_version` a digest of the weights. Its text continues `turn.prefix`
    from the last whole character of it. A prompt that leaves no room in the context gets an empty reply with finish
    reason "length".
    """

    needs = frozenset({"history"})

    def __init__(
        self,
        model: str,
        *,
        style: str = "chat",
        temperature: float = 0.0,
        top_p: float = 1.0,
        max_tokens: int = 256,
        stop: str | Sequence[str] = (),
        max_batch: int = 1,
        shots: Sequence[Exchange] = (),
        dtype: str = "float32",
        device: str | None = None,
        name: str | None = None,
    ) -> None:
        if max_batch < 1:
            raise ConfigError(f"max_batch: expected at least 1, got {max_batch}")
        if style == "tools":
            raise ConfigError("local model: it has no style 'tools'; use 'chat', and the codec hermes for calls")
        self.model = str(model)
        weights.check(self.model, dtype)
        self.style, self._messages = style, prompts.style(style)
        self.sampling = Sampling(temperature, top_p, max_tokens, stop)  # type: ignore[arg-type]
        self.max_batch, self.shots, self.dtype, self.device = max_batch, tuple(shots), dtype, device
        self.name = name or f"local:{Path(self.model).name}"
        self._loaded: weights.LanguageModel | None = None

    def __repr__(self) -> str:
        return f"LocalPolicy({self.model!r}, style={self.style!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}

    def act(self, turns: Sequence[Turn]) -> list[Reply]:
        """One reply a turn, at most `max_batch` of them decoded at a time."""
        replies: list[Reply] = []
        for at in range(0, len(turns), self.max_batch):
            replies += self._answer(turns[at : at + self.max_batch])
        return replies

    def messages(self, turn: Turn) -> list[prompts.Message]:
        """The chat messages of a turn, worked examples included."""
        messages = self._messages(turn)
        begin = sum(message["role"] == "system" for message in messages[:1])
        shots = prompts.chat(replace(turn, instructions="", context={}, history=self.shots))[:-1]
        return [*messages[:begin], *shots, *messages[begin:]]

    def _answer(self, turns: Sequence[Turn]) -> list[Reply]:
        if self._loaded is None:
            self._loaded = weights.load(self.model, self.dtype, self.device)
        drafts = [self._draft(self._loaded, turn) for turn in turns]
        if ready := [draft for draft in drafts if draft.limit > 0]:
            decode(self._loaded.model, ready)
        return [_reply(draft, self._loaded.version) for draft in drafts]

    def _draft(self, lm: weights.LanguageModel, turn: Turn) -> Draft:
        sampling = self.sampling.changed(turn.sampling)
        prompt = [*lm.encode(self.messages(turn)), *turn.prefix]
        limit = min(sampling.max_tokens, lm.context - len(prompt))
        return Draft(prompt, turn.prefix, turn.seed, sampling, limit, lm.ends, lm.read)


def _reply(draft: Draft, version: str) -> Reply:
    if draft.limit < 1:  # nothing was asked of the model, so nothing was used
        return Reply(finish_reason="length", policy_version=version)
    return Reply(
        text=draft.text,
        prompt_ids=tuple(draft.prompt),
        token_ids=tuple(draft.ids),
        logprobs=tuple(draft.logprobs),
        finish_reason=draft.finish_reason,
        usage={"prompt_tokens": len(draft.prompt), "completion_tokens": len(draft.ids)},
        policy_version=version,
    )
