"""Shortcuts of causal language models: tokens that a model need not read again.

Not all architectures take them. Each is tried on made-up tokens, once for a model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.inference.checkpoints.checkpoint import ModelError, first_line
from biasgrid.inference.models.generation.option_reads import OptionReads, RowLimits
from biasgrid.inference.models.generation.options import OptionRequest
from biasgrid.inference.models.generation.prefix import Prefix
from biasgrid.inference.models.generation.scores import read_scores

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

logger = logging.getLogger(__name__)

LARGEST_DIFFERENCE = 1e-4
"""Allowed between the log-probabilities of a shortcut and of whole prompts, relative to these."""
CONTEXT_LENGTH = 16
PROMPT_COUNT = 4
"""The number of made-up prompts."""
WINDOWS = ("sliding_window", "attention_chunk_size", "window_size", "attention_window_size")
"""Keys of a model's config for the number of tokens that some of its layers see."""


class Shortcuts(NamedTuple):
    """What a model need not read again.

    Attributes:
        reuses_keys: whether the beginning of prompts is read once: the model takes the keys and
            values of tokens that it has read.
        reads_trees: whether all options of a prompt are read in one row: the model takes a mask
            that hides tokens from each other.
    """

    reuses_keys: bool
    reads_trees: bool


def find_shortcuts(model: PreTrainedModel, name: str) -> Shortcuts:
    """Finds out which shortcuts leave log-probabilities as they are; warns of what is missing.

    Args:
        model: the model, in float32.
        name: its name, for messages.
    """
    request = sample_request(model)
    whole_rows = sequence_scores(model, request, Prefix(), longest_tree=0)
    prefix = Prefix()

    def behind_prefix() -> FloatArray:
        nonlocal prefix
        prefix = prefix.longer(model, request.context[: CONTEXT_LENGTH // 2])
        if prefix.cache is None:
            raise ModelError("it gives no keys and values")
        return sequence_scores(model, request, prefix, longest_tree=0)

    problem = shortcut_problem(behind_prefix, whole_rows)
    reuses_keys = problem is None
    if problem:
        logger.warning(
            "%s: answers behind a shared beginning %s: each prompt is read as a whole, which is "
            "slower",
            name,
            problem,
        )
        prefix = Prefix()
    problem = shortcut_problem(
        lambda: sequence_scores(model, request, prefix, longest_tree=inf), whole_rows
    )
    if problem:
        logger.info("%s: options in one row %s: they have rows of their own", name, problem)
    return Shortcuts(reuses_keys, reads_trees=problem is None)


def sample_request(model: PreTrainedModel) -> OptionRequest:
    """Returns a request of made-up tokens, whose options have a tree with branches."""
    tokens = sample_tokens(model, CONTEXT_LENGTH + 5)
    context, behind = tokens[:CONTEXT_LENGTH], tuple(tokens[CONTEXT_LENGTH:])
    options = behind[:3], (behind[0], *behind[3:])
    return OptionRequest(context, tuple((sequence,) for sequence in options))


def sample_prompts(model: PreTrainedModel) -> list[list[int]]:
    """Returns prompts of made-up tokens, which differ in their second halves."""
    half = CONTEXT_LENGTH // 2
    tokens = sample_tokens(model, half * (1 + PROMPT_COUNT))
    shared, *endings = (tokens[start : start + half] for start in range(0, len(tokens), half))
    return [[*shared, *ending] for ending in endings]


def sample_tokens(model: PreTrainedModel, size: int) -> list[int]:
    """Returns token ids that a model knows, the same in each call."""
    vocabulary = model.get_input_embeddings().weight.shape[0]
    tokens: list[int] = np.random.default_rng(0).integers(vocabulary, size=size).tolist()
    return tokens


def sequence_scores(
    model: PreTrainedModel, request: OptionRequest, prefix: Prefix, longest_tree: float
) -> FloatArray:
    """Returns the log-probability of each sequence of a request; shape (sequences,).

    Args:
        model: the model.
        request: the request.
        prefix: tokens that its context begins with.
        longest_tree: see `RowLimits`.
    """
    limits = RowLimits(prefix.length, longest_tree, reuses_keys=False)
    reads = OptionReads.from_requests([request], limits)
    scored = read_scores(model, reads, prefix, np.arange(len(reads.rows)))
    values = np.zeros(len(reads.token))
    values[scored.reads] = scored.values
    return np.bincount(reads.sequence, values).astype(np.float64)


def shortcut_problem(score: Callable[[], FloatArray], whole_rows: FloatArray) -> str | None:
    """Returns the reason why a shortcut cannot be taken, None if it can.

    Args:
        score: returns the log-probabilities of sequences by the shortcut.
        whole_rows: those of whole prompts.
    """
    try:
        difference = np.abs(score() - whole_rows) / np.maximum(np.abs(whole_rows), 1)
    # Architectures that do not know a shortcut fail in their own ways.
    except Exception as error:
        return f"fail ({first_line(error)})"
    # Unlike `max`, this is NaN if any difference is, which no comparison is true of.
    largest = float(np.max(difference))
    if largest <= LARGEST_DIFFERENCE:
        return None
    return f"differ by {largest:.2g} from those of whole prompts"


def attention_window(config: PretrainedConfig) -> float:
    """Returns the number of tokens that all layers of a model see; infinite without a limit."""
    text_config = config.get_text_config()
    sizes = [getattr(text_config, key, None) for key in WINDOWS]
    return min((size for size in sizes if isinstance(size, int) and size > 0), default=inf)
