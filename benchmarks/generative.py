"""Options behind a prefix of 200 tokens and short questions, and free texts, on one core, against
plain ways.

The plain ways read whole prompts: row by row and option by option, as a loop over a model does; and
in batches of one length, with the logits that are needed. All give the same log-probabilities.
Times are those of the processor.

Memory is what a process has at most beside what it has after a few rows: the model, libraries, and
what they set up. It is put beside the keys and values of as many tokens as a batch may have, those
of the prefix counted for every row.

Texts are written by the engine and by `generate` of transformers, which has batches of 32 prompts
in their order, with padding on the left. Both have the same products, and all batches may have as
many tokens. Ways are timed in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from stopwatch import measure, print_table, processor_seconds_of
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from biasgrid.inference.engine.one_dnn import use_one_dnn
from biasgrid.inference.models.generation.next_tokens import NextTokens, OpenText
from biasgrid.inference.models.generation.option_reads import OptionReads, RowLimits
from biasgrid.inference.models.generation.options import OptionRequest, Tokens
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.scores import BatchLimits, read_scores
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.generation.texts import Writer
from biasgrid.inference.models.generation.thoughts import Thoughts

ROWS = 64
PREFIX, OWN = 200, (8, 16)
TOKEN_BUDGET = 4096
BUDGETS = (1024, 4096, 16384)
ROWS_OF_MEMORY = 512
LAYERS, WIDTH, BYTES = 6, 384, 4
LARGEST_DIFFERENCE = 1e-4
VOCABULARY = 32_000
LIMITS = RowLimits(0, np.inf, reuses_keys=True)


def make_model() -> Any:
    """A random Llama of 34 million parameters, with weights so large that rows differ."""
    torch.manual_seed(0)
    sizes = {
        "hidden_size": WIDTH,
        "intermediate_size": 1024,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 6,
    }
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=VOCABULARY, initializer_range=0.05, **sizes)
    ).eval()


def make_rows(longest: int, count: int = ROWS) -> list[OptionRequest]:
    """Prompts with a common prefix, each with two options of 1 to `longest` tokens."""
    draw = np.random.default_rng(1)
    shared = draw.integers(5, VOCABULARY, PREFIX).tolist()
    rows = []
    for _ in range(count):
        own = draw.integers(5, VOCABULARY, draw.integers(OWN[0], OWN[1] + 1)).tolist()
        options = [
            tuple(draw.integers(5, VOCABULARY, draw.integers(1, longest + 1)).tolist())
            for _ in range(2)
        ]
        rows.append(OptionRequest([*shared, *own], tuple((option,) for option in options)))
    return rows


def joint(logits: torch.Tensor, tokens: Tokens) -> float:
    """The log-probability of tokens, given the logits of the places before each."""
    return float(logits.float().log_softmax(dim=-1)[range(len(tokens)), list(tokens)].sum())


@torch.inference_mode()
def row_by_row(model: Any, rows: Sequence[OptionRequest]) -> list[float]:
    """One pass for each option, with the logits of all places."""
    said = []
    for row in rows:
        for (tokens,) in row.options:
            logits = model(
                input_ids=torch.tensor([[*row.context, *tokens]]), use_cache=False
            ).logits[0]
            said.append(joint(logits[len(row.context) - 1 : -1], tokens))
    return said


def whole_prompts(model: Any, rows: Sequence[OptionRequest]) -> list[float]:
    """Batches of one length, whole prompts, needed logits alone."""
    return scored(model, rows, Prefix())


def behind_prefix(model: Any, rows: Sequence[OptionRequest]) -> list[float]:
    """The same behind the prefix's keys and values."""
    return scored(model, rows, Prefix.from_prompts(model, [row.context for row in rows]))


def scored(
    model: Any, rows: Sequence[OptionRequest], prefix: Prefix, token_budget: int = TOKEN_BUDGET
) -> list[float]:
    """Log-probabilities of all options, as the back end computes them."""
    limits = RowLimits(prefix.length, np.inf, reuses_keys=True)
    reads = OptionReads.from_requests(rows, limits)
    values = np.zeros(len(reads.token))
    for batch in row_batches(reads, token_budget):
        which, found, *_ = read_scores(model, reads, prefix, batch)
        values[which] = found
    return list(np.bincount(reads.sequence, values))


def row_batches(reads: OptionReads, token_budget: int) -> Iterator[Any]:
    """The batches of all rows."""
    limits = BatchLimits(token_budget, VOCABULARY, np.inf)
    return limits.batches(reads, np.arange(len(reads.rows)))


def largest_batch(rows: Sequence[OptionRequest], token_budget: int = TOKEN_BUDGET) -> int:
    """The most tokens of which a batch holds keys and values."""
    reads = OptionReads.from_requests(rows, LIMITS)
    return max(int(reads.lengths[batch].sum()) for batch in row_batches(reads, token_budget))


def seconds_behind_prefix(token_budget: int, count: int) -> float:
    """Asks some rows behind their prefix, in a process that has nothing else to do."""
    torch.set_num_threads(1)
    model, rows = make_model(), make_rows(3, ROWS_OF_MEMORY)
    use_one_dnn(model)
    start = time.process_time()
    scored(
        model,
        rows[:count],
        Prefix.from_prompts(model, [row.context for row in rows[:count]]),
        token_budget,
    )
    return time.process_time() - start


def memory_lines() -> Iterator[list[str]]:
    """Measures memory at several budgets; a batch of a few rows before them is not counted."""
    per_token = 2 * LAYERS * WIDTH * BYTES
    _, before = measure(partial(seconds_behind_prefix, 256, 4))
    for budget in BUDGETS:
        _, peak = measure(partial(seconds_behind_prefix, budget, ROWS_OF_MEMORY))
        allowed = budget * per_token / 1e6
        batch = largest_batch(make_rows(3, ROWS_OF_MEMORY), budget)
        assert batch <= budget, batch
        yield [
            str(budget),
            str(batch),
            f"{allowed:.0f}",
            f"{peak - before:.0f}",
            f"{(peak - before) / allowed:.2f}",
        ]


WAYS: dict[str, Callable[[Any, Sequence[OptionRequest]], list[float]]] = {
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
            yield [
                name,
                way,
                f"{rate:.1f}",
                f"{fastest / rate:.1f}",
                f"{difference:.1e}",
                str(largest_batch(rows)),
            ]


TEXTS = {
    "32 prompts of 20 to 60 tokens": (32, 20, 60),
    "128 prompts of 10 to 200 tokens": (128, 10, 200),
}
WRITTEN = 24
AT_ONCE = 32
ROUNDS = 5


@torch.inference_mode()
def generated(model: Any, prompts: Sequence[list[int]]) -> list[list[int]]:
    """What transformers writes in batches with padding."""
    texts: list[list[int]] = []
    config = GenerationConfig(max_new_tokens=WRITTEN, do_sample=False, pad_token_id=0)
    for first in range(0, len(prompts), AT_ONCE):
        some = prompts[first : first + AT_ONCE]
        columns = max(map(len, some))
        ids = torch.tensor([[0] * (columns - len(each)) + each for each in some])
        mask = torch.tensor([[0] * (columns - len(each)) + [1] * len(each) for each in some])
        texts += model.generate(input_ids=ids, attention_mask=mask, generation_config=config)[
            :, columns:
        ].tolist()
    return texts


def written(writer: Writer, prompts: Sequence[list[int]], token_budget: int) -> list[list[int]]:
    """What the engine writes."""
    texts = [OpenText(place, [*ids], len(ids), WRITTEN, place) for place, ids in enumerate(prompts)]
    said = {text.number: text.written for text in writer.write(texts, Prefix(), token_budget)}
    return [said[place] for place in range(len(prompts))]


def text_lines(model: Any) -> Iterator[list[str]]:
    """Times both ways to write; one round before them is not counted."""
    draw = np.random.default_rng(1)
    keys = Generation(temperature=0).model_dump()
    for name, (count, shortest, longest) in TEXTS.items():
        lengths = draw.integers(shortest, longest + 1, count)
        prompts = [draw.integers(5, VOCABULARY, length).tolist() for length in lengths]
        chooses = NextTokens(model, keys["temperature"], keys["top_p"])
        writer = Writer(model, None, keys, frozenset(), Thoughts(), chooses)
        writer = writer.fit(
            writer.measure_padding(prompts[:: count // 4], lambda _: Prefix()), exact=True
        )
        budget = AT_ONCE * (longest + WRITTEN)
        plain, ours = partial(generated, model, prompts), partial(written, writer, prompts, budget)
        same = sum(one == other for one, other in zip(plain(), ours(), strict=True))
        pairs = [(processor_seconds_of(plain), processor_seconds_of(ours)) for _ in range(ROUNDS)]
        rates = [count * WRITTEN / median(seconds) for seconds in zip(*pairs, strict=True)]
        ratio = median(one / other for one, other in pairs)
        alone = writer.next_tokens.alone / (ROUNDS + 1)
        yield [
            name,
            *(f"{rate:.0f}" for rate in rates),
            f"{ratio:.2f}",
            f"{alone:.0f}",
            f"{same} of {count}",
        ]


def main() -> None:
    torch.set_num_threads(1)
    model = make_model()
    use_one_dnn(model)
    header = [
        "texts behind",
        "transformers, tokens/s",
        "engine, tokens/s",
        "ratio",
        "computed alone",
        "same texts",
    ]
    print_table(header, list(text_lines(model)))
    print()
    header = [
        "options of",
        "way",
        "rows/s",
        "the last way is faster by",
        "largest difference",
        "tokens of a batch",
    ]
    print_table(header, list(lines(model)))
    print()
    header = [
        "token budget",
        "tokens of a batch",
        "MB of their keys and values",
        "MB at most",
        "of these",
    ]
    print_table(header, list(memory_lines()))


if __name__ == "__main__":
    main()
