"""A causal language model of a few thousand random weights, with a tokenizer trained on the spot, as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXTS = [
    "You play Sokoban. Push every box onto a target. Up | Down | Left | Right",
    "<search>who wrote it</search> <answer>a whale</answer> <think>perhaps</think>",
    "system user assistant: the quick brown fox jumps over the lazy dog 0123456789",
]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def save(folder: Path, *, seed: int = 0, template: str | None = TEMPLATE, context: int = 4096, **config: Any) -> Path:
    """Write the model into `folder` and return it. Its words are bytes and a few pairs of them; its text is noise."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

    from agentenvs.core.quiet import quiet

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer, bare.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>"]
    letters = pre_tokenizers.ByteLevel.alphabet()
    bare.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=letters, show_progress=False),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare, eos_token="<|im_end|>", bos_token="<|im_start|>")
    tokenizer.chat_template = template
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    made = LlamaConfig(
        vocab_size=len(tokenizer),
        num_key_value_heads=2,
        max_position_embeddings=context,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        initializer_range=0.6,  # so that likely and unlikely tokens differ
        **{**sizes, **config},
    )
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(seed)
        AutoModelForCausalLM.from_config(made).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
