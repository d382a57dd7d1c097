"""Runs instances through a back end in batches of one length, so that there is no padding and no attention mask."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.checkpoints.checkpoint import ModelError, first_line
from biasgrid.engine.encoding import Rows, check_lengths
from biasgrid.engine.hardware import fast_products
from biasgrid.engine.unknown import with_unknown_tokens
from biasgrid.faults import out_of_memory
from biasgrid.jobs.progress import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

AUDIT_ROWS = 32
LARGEST_FLOAT32_DRIFT = 1e-3
"""More than rounding: in float32 the audit repeats the same arithmetic, but in other batches and by other libraries."""


class Runner(Protocol):
    """What is run in batches: the parts of `local.LocalBackEnd` that know a task."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast

    def encode(self, asked: pl.DataFrame) -> Any:
        """Tokenizes instances; what it returns has their rows as `rows`."""

    def run(self, encoded: Any, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length."""

    def table(self, encoded: Any, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes columns of the answers."""


def predict_rows(back_end: Runner, instances: pl.DataFrame, token_budget: int, progress: Progress) -> pl.DataFrame:
    """Predicts some instances; out of memory halves the batch and goes on.

    Args:
        back_end: the model.
        instances: what is asked.
        token_budget: how many tokens a batch may have.
        progress: counts the instances and names the model.

    Returns:
        The columns of the answers, in the order of the instances.

    Raises:
        ModelError: an instance is too long for the model, or gets scores that are not finite.
    """
    encoded = back_end.encode(instances)
    owners = encoded.rows.instance_of
    named = instances["instance"].gather(owners)
    check_lengths(encoded.rows, longest_input(back_end.model, back_end.tokenizer), named, progress.what)
    # Of the rows of an instance one counts.
    counts = np.bincount(np.unique(owners, return_index=True)[1], minlength=len(owners))
    columns: dict[str, npt.NDArray[Any]] = {}
    with fast_products(back_end.model):
        for rows in batches(encoded.rows, token_budget):
            for piece, outcome in run_in_pieces(back_end, encoded, rows):
                check_finite(outcome, named.gather(piece), progress.what)
                for name, values in outcome.items():
                    columns.setdefault(name, np.zeros((len(owners), *values.shape[1:]), values.dtype))[piece] = values
                progress.advance(int(counts[piece].sum()))
    unknown = with_unknown_tokens(encoded.rows, back_end.tokenizer)
    return back_end.table(encoded, columns).with_columns(unknown)


def longest_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """How many tokens a model takes: as many as it has positions for, and as its tokenizer says."""
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    # Models whose positions are relative have none to run out of; some say so with -1.
    taken = [positions - reserved_positions(model)] if positions > 0 else []
    return int(min([*taken, tokenizer.model_max_length]))


def reserved_positions(model: PreTrainedModel) -> int:
    """How many positions a model gives to no token: in RoBERTa and its kin those up to the padding's."""
    embeddings = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    paddings = [getattr(embedding, "padding_idx", None) for embedding in embeddings]
    return max((padding + 1 for padding in paddings if padding is not None), default=0)


def batches(rows: Rows, token_budget: int) -> Iterator[IntArray]:
    """Yields batches of rows of one length, of at most `token_budget` tokens (but at least one row)."""
    lengths = rows.lengths
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        size = max(1, token_budget // int(length))
        for start in range(0, len(members), size):
            yield members[start : start + size]


def run_in_pieces(
    back_end: Runner, encoded: Any, rows: IntArray
) -> Iterator[tuple[IntArray, dict[str, npt.NDArray[Any]]]]:
    """Runs a batch, in smaller ones where it does not fit into memory or is not what the model takes."""
    try:
        outcome = back_end.run(encoded, rows)
    except (RuntimeError, ValueError, MemoryError) as error:
        pieces = smaller_batches(rows, error)
        if len(pieces) < 2:
            raise
    else:
        yield rows, outcome
        return
    torch.cuda.empty_cache()
    for piece in pieces:
        yield from run_in_pieces(back_end, encoded, piece)


def smaller_batches(rows: IntArray, error: Exception) -> list[IntArray]:
    """Cuts a batch in two where it did not fit into memory, and into its rows where the model refused it.

    Some models take rows one at a time only, such as GPT-2 as a classifier without a token for padding, or several
    only if they are alike in more than their length, such as BART as a classifier.
    """
    if isinstance(error, ValueError) and len(rows) > 1:
        warn_once(f"the model does not take a batch ({first_line(error)}): its rows are run one at a time, slowly")
        return np.split(rows, len(rows))
    if out_of_memory(error) and len(rows) > 1:
        logger.warning("%s rows do not fit into memory; trying %s", len(rows), len(rows) // 2)
        return np.split(rows, [len(rows) // 2])
    return [rows]


@cache
def warn_once(message: str) -> None:
    """Warns of what holds for many batches."""
    logger.warning(message)


def check_finite(outcome: dict[str, npt.NDArray[Any]], instances: pl.Series, model: str) -> None:
    """Refuses scores that are not finite.

    Args:
        outcome: what `Runner.run` returned.
        instances: the rows' instances.
        model: the model's name, for the message.

    Raises:
        ModelError: with the first such instance.
    """
    for values in outcome.values():
        if not np.isfinite(values).all():
            instance = instances[int(np.argwhere(~np.isfinite(values))[0, 0])]
            raise ModelError(f"model {model} returned non-finite scores on instance {instance}; expected probabilities")


def audit(back_end: Runner, instances: pl.DataFrame, model: str) -> pl.DataFrame:
    """Predicts a sample one row at a time in float32, without the shortcuts of the engine.

    Args:
        back_end: the model, in float32.
        instances: what is asked, of which the sample is taken at even distances.
        model: the model's name, for messages.

    Returns:
        The answers of the sample, with `instance` and `key`.
    """
    sample = np.unique(np.linspace(0, len(instances) - 1, num=min(len(instances), AUDIT_ROWS), dtype=np.int64))
    sampled = instances[sample]
    encoded = back_end.encode(sampled)
    owners = encoded.rows.instance_of
    named = sampled["instance"].gather(owners)
    check_lengths(encoded.rows, longest_input(back_end.model, back_end.tokenizer), named, model)
    outcomes = [back_end.run(encoded, np.array([row]), plain=True) for row in range(len(owners))]
    joined = {name: np.concatenate([outcome[name] for outcome in outcomes]) for name in outcomes[0]}
    check_finite(joined, named, model)
    return sampled.select("instance", "key").hstack(back_end.table(encoded, joined))


def compare_audit(table: pl.DataFrame, audited: pl.DataFrame, precision: str) -> dict[str, float]:
    """Returns how far the audited instances are from their float32 predictions.

    Args:
        table: the predictions.
        audited: those of a sample of the same instances, in the same order, from `audit`.
        precision: that of the run.

    Raises:
        ModelError: a float32 run is further away than rounding explains.
    """
    same = table.join(audited.select("key"), on="key", how="semi", maintain_order="left")
    drift = np.abs(probabilities_of(same) - probabilities_of(audited))
    facts = {
        "rows": len(audited),
        "largest_drift": float(drift.max()),
        "mean_drift": float(drift.mean()),
    }
    logger.info("audit: %s", facts)
    if precision == "float32" and facts["largest_drift"] > LARGEST_FLOAT32_DRIFT:
        raise ModelError(
            f"the batched predictions are up to {facts['largest_drift']:.2g} away from those of single rows; "
            "expected rounding only: this architecture does not work with the engine"
        )
    return facts


def probabilities_of(table: pl.DataFrame) -> npt.NDArray[np.float32]:
    """Returns all probabilities of a predictions table, column by column."""
    columns = [
        table[name].explode() if kind.base_type() == pl.List else table[name] for name, kind in table.schema.items()
    ]
    return np.concatenate([column.drop_nulls().to_numpy() for column in columns if column.dtype == pl.Float32])
