"""Work with a large language model that `real_llm.py` times, each in a process of its own:

    python benchmarks/llm_work.py NAME KEYS OUT

NAME is a function of this module, KEYS are its arguments as a JSON object, and OUT becomes what it
returns, as JSON. Each is a plain loop over `transformers`, and returns `seconds` of the processor,
over all threads, without imports and without loading the model.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import torch

AT_ONCE = 32
"""Prompts of a batch of the plain loops."""


def load(folder: str, precision: str) -> tuple[Any, Any]:
    """Returns model and tokenizer, which pads on the left; on one thread."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, precision))
    return model.eval(), tokenizer


def chat_prompts(tokenizer: Any, instances: pl.DataFrame) -> list[str]:
    """Returns instances in the chat template.

    Args:
        tokenizer: the tokenizer.
        instances: `text` and, where it has them, `text_pair` and `system`, as String.
    """
    prompts = []
    for row in instances.iter_rows(named=True):
        texts = filter(None, [row.get("text_pair"), row["text"]])
        messages = [{"role": "user", "content": "\n".join(texts)}]
        if row.get("system"):
            messages.insert(0, {"role": "system", "content": row["system"]})
        prompts.append(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        )
    return prompts


def batches(prompts: Sequence[str], tokenizer: Any) -> Iterator[dict[str, torch.Tensor]]:
    """Yields padded prompts, some at once, in their order."""
    for first in range(0, len(prompts), AT_ONCE):
        some = list(prompts[first : first + AT_ONCE])
        yield tokenizer(some, return_tensors="pt", padding=True, add_special_tokens=False)


@torch.inference_mode()
def choose(model: str, precision: str, instances: str, last_only: bool) -> dict[str, Any]:
    """Reads the log-probabilities of the options' first tokens.

    Args:
        model: the folder of the checkpoint.
        precision: the precision.
        instances: a table with prompts and `candidate1`, ...
        last_only: whether logits are computed where they are read, not of all tokens.

    Returns:
        `seconds`; `scores`: by prompt and option the log-probability of its first token, NaN if it
        has more than one.
    """
    loaded, tokenizer = load(model, precision)
    table = pl.read_parquet(instances)
    options = table.select(pl.col("^candidate[0-9]+$")).rows()
    start = time.process_time()
    prompts = chat_prompts(tokenizer, table)
    keys = {"logits_to_keep": 1} if last_only else {}
    logs: list[torch.Tensor] = []
    for batch in batches(prompts, tokenizer):
        logits = loaded(**batch, use_cache=False, **keys).logits[:, -1]
        logs.extend(logits.float().log_softmax(dim=-1))
    scores = []
    for log, texts in zip(logs, options, strict=True):
        tokens = [tokenizer(text, add_special_tokens=False).input_ids for text in texts if text]
        firsts = log[[ids[0] for ids in tokens]].tolist()
        pairs = zip(tokens, firsts, strict=True)
        scores.append([first if len(ids) == 1 else math.nan for ids, first in pairs])
    return {"seconds": time.process_time() - start, "scores": scores}


@torch.inference_mode()
def write(model: str, precision: str, items: str, prompt: str, max_tokens: int) -> dict[str, Any]:
    """Writes a text about each item of BBQ, at temperature 0.

    Args:
        model: the folder of the checkpoint.
        precision: the precision.
        items: a file of items.
        prompt: a prompt with `{context}` and `{question}`.
        max_tokens: the largest number of tokens of a text.

    Returns:
        `seconds`; `texts`; `tokens`, how many these have together, without those that end them.
    """
    from transformers import GenerationConfig

    loaded, tokenizer = load(model, precision)
    ends = loaded.generation_config.eos_token_id
    padding = tokenizer.pad_token_id
    config = GenerationConfig(
        max_new_tokens=max_tokens, do_sample=False, eos_token_id=ends, pad_token_id=padding
    )
    lines = Path(items).read_text(encoding="utf-8").splitlines()
    asked = pl.DataFrame({"text": [prompt.format(**json.loads(line)) for line in lines]})
    start = time.process_time()
    written: list[list[int]] = []
    for batch in batches(chat_prompts(tokenizer, asked), tokenizer):
        whole = loaded.generate(**batch, generation_config=config)
        written += whole[:, batch["input_ids"].shape[1] :].tolist()
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    seconds = time.process_time() - start
    special = set(tokenizer.all_special_ids)
    tokens = sum(token not in special for text in written for token in text)
    return {"seconds": seconds, "texts": texts, "tokens": tokens}


@torch.inference_mode()
def read_once(model: str, precision: str, prompt: str) -> dict[str, Any]:
    """Reads one prompt, as the shortest script that asks a model does; `seconds` of reading."""
    loaded, tokenizer = load(model, precision)
    start = time.process_time()
    (batch,) = batches([prompt], tokenizer)
    loaded(**batch)
    return {"seconds": time.process_time() - start}


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    work.__name__: work for work in (choose, write, read_once)
}


def main() -> None:
    name, keys, out = sys.argv[1:]
    Path(out).write_text(json.dumps(WORK[name](**json.loads(keys))))


if __name__ == "__main__":
    main()
