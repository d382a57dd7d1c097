"""Estimates for causal language models, which read prompts and the options behind them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.input_counts import InputCounts
from biasgrid.inference.models.estimates.texts import (
    InputEstimate,
    ReadingModel,
    RequestText,
    TextSample,
    count_text_inputs,
)

if TYPE_CHECKING:
    from biasgrid.inference.models.generation.option_reads import RowBuilder, RowLimits
    from biasgrid.inference.models.generation.options import OptionRequest
    from biasgrid.inference.models.generation.prompts import Prompter

# Modules of `generation` are imported where they are needed: they import polars, which plans
# without such models do without.


def count_prompt_inputs(reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates the inputs of a model that runs here: prompts, and trees of their options.

    Until its capabilities are found out, the model is taken to read each tree in one row, and a
    beginning that all prompts share once. What it writes does not count. Without a tokenizer, or if
    it cannot write the prompts or options, the texts alone count.
    """
    if reader.tokenizer is None:
        return count_text_inputs(reader, sample)
    from biasgrid.inference.models.generation.prompts import GenerationChoices

    choices = GenerationChoices(**reader.choices)
    prompter = choices.prompter(reader.tokenizer, reader.answer)
    try:
        if choices.writes(reader.answer):
            return written_inputs(prompter, reader, sample)
        return option_inputs(prompter, reader, sample)
    except ModelError:
        # The run will say why.
        return count_text_inputs(reader, sample)


def write_prompts(prompter: Prompter, texts: Sequence[RequestText]) -> list[str]:
    """Returns the prompts of texts.

    Raises:
        ModelError: see `Prompter.prompt`.
    """
    from biasgrid.inference.models.generation.prompts import join_texts

    return [
        prompter.prompt(text.system or None, join_texts(text.context, text.question))
        for text in texts
    ]


def written_inputs(prompter: Prompter, reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates what is read for texts that the model writes; errors as in `write_prompts`."""
    from biasgrid.inference.models.generation.options import shared_prefix_length

    prompts = prompter.tokens(write_prompts(prompter, sample.texts))
    shared = shared_prefix_length(prompts) if reader.reuses_keys else 0
    return InputEstimate(InputCounts(1, fmean(map(len, prompts)) - shared), shared)


def option_inputs(prompter: Prompter, reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates what is read for the options of prompts, from blocks of neighbours.

    Raises:
        ModelError: a prompt cannot be written, or an option has no tokens of its own.
    """
    from biasgrid.inference.models.generation.option_reads import RowLimits
    from biasgrid.inference.models.generation.options import OptionTokens, shared_prefix_length

    option_tokens = OptionTokens(prompter)
    blocks = []
    for texts in sample.blocks:
        options = [tuple(text.words) for text in texts]
        blocks.append(option_tokens.requests(write_prompts(prompter, texts), options))
    contexts = [request.context for request in chain(*blocks)]
    shared = shared_prefix_length(contexts) if reader.reuses_keys else 0
    limits = RowLimits(shared, inf if reader.reads_trees else 0, reader.reuses_keys)
    find_rows = rows_of_requests if len(blocks) == 1 else complete_rows
    total = InputCounts()
    for requests in blocks:
        # Blocks count alike, however few requests the complete rows have.
        total = total.plus(inputs_per_request(find_rows(requests, limits), shared))
    return InputEstimate(total.times(1 / len(blocks)), shared)


def complete_rows(requests: Sequence[OptionRequest], limits: RowLimits) -> list[RowBuilder]:
    """Returns the rows of requests without the last one, which later requests may share.

    It stays if it has most of the requests: the mean of the few others could be far off.
    """
    rows = rows_of_requests(requests, limits)
    is_cut = limits.longest_tree > 0 and len(rows[-1].ends) <= len(requests) / 2
    return rows[:-1] if is_cut else rows


def rows_of_requests(requests: Sequence[OptionRequest], limits: RowLimits) -> list[RowBuilder]:
    """Returns the rows of requests, in the order of their contexts."""
    from biasgrid.inference.models.generation.option_reads import row_builders

    sequences = [list(enumerate(chain(*request.options))) for request in requests]
    return list(row_builders(requests, sequences, limits))


def inputs_per_request(rows: Sequence[RowBuilder], shared: int) -> InputCounts:
    """Returns the mean of what is read for the requests in rows, without the shared beginning.

    Rows behind the context of their request are counted with this context, which is read once.

    Args:
        rows: the rows.
        shared: the number of tokens with which all prompts begin.
    """
    begins = {place: row.begin for row in rows for place in row.ends}
    contexts = [begin - shared for begin in begins.values() if begin > shared]
    tokens = sum(len(row.tree.tokens) for row in rows) + sum(contexts)
    return InputCounts(len(rows) + len(contexts), tokens).times(1 / len(begins))
