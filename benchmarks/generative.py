"""Options behind a prefix of 200 tokens and short questions, on one core: the engine against two plain ways.

The plain ways read whole prompts: row by row and option by option, as a loop over a model does; and in batches of one
length, with the logits that are needed. All give the same log-probabilities. Times are those of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from stopwatch import print_table
from transformers import LlamaConfig, LlamaForCausalLM

from biasgrid.engine.hardware import use_one_dnn
from biasgrid.models.generation.options import Asked, Tokens
from biasgrid.models.generation.prefix import Prefix
from biasgrid.models.generation.scores import Reads, batches, read

ROWS = 64
PREFIX, OWN = 200, (8, 16)
TOKEN_BUDGET = 4096
LARGEST_DIFFERENCE = 1e-4
VOCABULARY = 32_000


def make_model() -> Any:
    """A random Llama of 34 million parameters, with weights so large that rows differ."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 6}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, initializer_range=0.05, **sizes)).eval()


def make_rows(longest: int) -> list[Asked]:
    """Prompts with a common prefix, each with two options of 1 to `longest` tokens."""
    draw = np.random.default_rng(1)
    shared = draw.integers(5, VOCABULARY, PREFIX).tolist()
    rows = []
    for _ in range(ROWS):
        own = draw.integers(5, VOCABULARY, draw.integers(OWN[0], OWN[1] + 1)).tolist()
        options = [tuple(draw.integers(5, VOCABULARY, draw.integers(1, longest + 1)).tolist()) for _ in range(2)]
        rows.append(Asked([*shared, *own], tuple((option,) for option in options)))
    return rows


def joint(logits: torch.Tensor, tokens: Tokens) -> float:
    """The log-probability of tokens, given the logits of the places before each."""
    return float(logits.float().log_softmax(dim=-1)[range(len(tokens)), list(tokens)].sum())


@torch.inference_mode()
def row_by_row(model: Any, rows: Sequence[Asked]) -> list[float]:
    """One pass for each option, with the logits of all places."""
    said = []
    for row in rows:
        for (tokens,) in row.options:
            logits = model(input_ids=torch.tensor([[*row.context, *tokens]]), use_cache=False).logits[0]
            said.append(joint(logits[len(row.context) - 1 : -1], tokens))
    return said


def whole_prompts(model: Any, rows: Sequence[Asked]) -> list[float]:
    """Batches of one length, whole prompts, needed logits alone."""
    return scored(model, rows, Prefix())


def behind_prefix(model: Any, rows: Sequence[Asked]) -> list[float]:
    """The same behind the prefix's keys and values."""
    return scored(model, rows, Prefix.of_all(model, [row.context for row in rows]))


def scored(model: Any, rows: Sequence[Asked], prefix: Prefix) -> list[float]:
    """Log-probabilities of all options, as the back end computes them."""
    reads = Reads.of(rows)
    values = np.zeros(len(reads.token))
    for batch in batches(reads.rows, 0, TOKEN_BUDGET):
        which, found = read(model, reads, prefix, batch)
        values[which] = found
    return list(np.bincount(reads.option, values))


def largest_batch(rows: Sequence[Asked]) -> int:
    """The most tokens of which a batch holds keys and values."""
    reads = Reads.of(rows)
    return max(sum(len(reads.rows[row]) for row in batch) for batch in batches(reads.rows, 0, TOKEN_BUDGET))


WAYS: dict[str, Callable[[Any, Sequence[Asked]], list[float]]] = {
    "row by row, option by option": row_by_row,
    "whole prompts, batches of one length": whole_prompts,
    "behind the prefix": behind_prefix,
}


def lines(model: Any) -> Iterator[list[str]]:
    """Times all ways; a few rows before them are not counted."""
    for name, longest in (("one token", 1), ("up to three tokens", 3)):
        rows = make_rows(longest)
        said, rates = {}, {}
        for way, ask in WAYS.items():
            ask(model, rows[:4])
            start = time.process_time()
            said[way] = ask(model, rows)
            rates[way] = ROWS / (time.process_time() - start)
        expected, *others = (np.array(each) for each in said.values())
        difference = max(float(np.abs(other - expected).max()) for other in others)
        assert difference < LARGEST_DIFFERENCE, difference
        fastest = rates["behind the prefix"]
        for way, rate in rates.items():
            yield [name, way, f"{rate:.1f}", f"{fastest / rate:.1f}", f"{difference:.1e}", str(largest_batch(rows))]


def main() -> None:
    torch.set_num_threads(1)
    model = make_model()
    use_one_dnn(model)
    header = ["options of", "way", "rows/s", "the last way is faster by", "largest difference", "tokens of a batch"]
    print_table(header, list(lines(model)))


if __name__ == "__main__":
    main()
