"""Scores of sentences: the rows that are read for them, and the formulas' common part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import one_of
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch, DeviceRows, to_device
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.local import LocalBackEnd
from biasgrid.inference.engine.out_of_vocabulary import embedding_count, unknown_token_id
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.scorings import SCORINGS, SentenceScoring, scoring_names
from biasgrid.tables.answers.likelihood import SCHEMA

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MOST_LOGITS = {"cpu": 2**26, "cuda": 2**28}
"""Logits in a batch whose rows are read at many places; 4 bytes each, several times over."""
NO_PLACE = -1
"""In matrices of places or tokens: the row has fewer of them."""


@dataclass
class Reads:
    """The rows to read, and where: one element of each list for a row.

    The rows of an instance are neighbours, and each instance has at least one.

    Attributes:
        owner: the instance of each row; see `owner_begins` for its order.
        base: the place of the row's tokens among the distinct token rows.
        masked: the places to mask in each row.
        places: the places of each row whose logits are read.
        tokens: the tokens whose probabilities are read at these places, one for each.
        without_start: whether each row counts for the second score, see
            `SentenceScoring.without_start`.
    """

    owner: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    masked: list[Sequence[int]] = field(default_factory=list)
    places: list[Sequence[int]] = field(default_factory=list)
    tokens: list[Sequence[int]] = field(default_factory=list)
    without_start: list[bool] = field(default_factory=list)

    def add(
        self,
        *,
        owner: int,
        base: int,
        places: Sequence[int],
        tokens: Sequence[int],
        masked: Sequence[int] = (),
        without_start: bool = False,
    ) -> None:
        """Adds a row; see the attributes.

        A row without places is read for nothing: an instance without tokens needs a row, too.
        """
        self.owner.append(owner)
        self.base.append(base)
        self.masked.append(masked)
        self.places.append(places)
        self.tokens.append(tokens)
        self.without_start.append(without_start)

    def add_unread(self, *, owner: int, base: int) -> None:
        """Adds a row that is not read: its instance needs a row, but nothing of it has a score."""
        self.add(owner=owner, base=base, places=[], tokens=[])

    def count_tokens(self, instances: int, *, without_start: bool = False) -> IntArray:
        """Returns the number of tokens that are read for a score; shape (instances,).

        Args:
            instances: the number of instances.
            without_start: whether to count for the second score, and not for the first one.
        """
        rows = zip(self.places, self.without_start, strict=True)
        weights = [len(places) if second is without_start else 0 for places, second in rows]
        return np.bincount(self.owner, weights, instances).astype(np.int64)


@dataclass(frozen=True)
class SentenceCounts:
    """Facts about the sentence of each instance; shape (instances,).

    Attributes:
        tokens: the number of its tokens, without special ones.
        unknown: the number of its tokens that are the unknown token.
        is_truncated: whether it, or a text that it is read with, was too long.
    """

    tokens: IntArray
    unknown: IntArray
    is_truncated: BoolArray

    @classmethod
    def from_tokens(
        cls,
        sentences: Sequence[Sequence[int]],
        tokenizer: PreTrainedTokenizerFast,
        is_truncated: BoolArray,
    ) -> SentenceCounts:
        """Counts tokens; `sentences` are token ids without special tokens, also of the cut part."""
        unknown = unknown_token_id(tokenizer)
        lengths = np.array(list(map(len, sentences)), dtype=np.int64)
        unknown_counts = np.zeros_like(lengths)
        if unknown is not None:
            unknown_counts = np.array([list(ids).count(unknown) for ids in sentences])
        return cls(lengths, unknown_counts, is_truncated)


@dataclass(frozen=True)
class EncodedSentences:
    """Encoded sentences.

    Attributes:
        rows: the tokens of the rows.
        counts: facts about the sentence of each instance.
        token_counts: shape (instances,), the number of tokens that are read for the score.
        token_counts_without_start: shape (instances,), likewise for the second score.
        without_start: shape (rows,), whether a row counts for the second score.
        on_device: the tokens of the rows.
        masked, places, tokens: shape (rows, widest), see `Reads`; `NO_PLACE` behind the last one.
    """

    rows: TokenRows
    counts: SentenceCounts
    token_counts: IntArray
    token_counts_without_start: IntArray
    without_start: BoolArray
    on_device: DeviceRows
    masked: torch.Tensor
    places: torch.Tensor
    tokens: torch.Tensor

    @classmethod
    def from_reads(
        cls, base: TokenRows, reads: Reads, counts: SentenceCounts, model: PreTrainedModel
    ) -> EncodedSentences:
        """Returns the rows of some reads, and copies them to a model's device.

        Args:
            base: the distinct token rows.
            reads: the rows to read.
            counts: facts about the sentence of each instance.
            model: the model.
        """
        base_index = np.array(reads.base, dtype=np.int64)
        rows = TokenRows(
            base.first_segments,
            base.second_segments,
            base.first_index[base_index],
            base.second_index[base_index],
            np.array(reads.owner, dtype=np.int32),
        )
        instances = len(counts.tokens)
        return cls(
            rows=rows,
            counts=counts,
            token_counts=reads.count_tokens(instances),
            token_counts_without_start=reads.count_tokens(instances, without_start=True),
            without_start=np.array(reads.without_start, dtype=np.bool_),
            on_device=DeviceRows.from_rows(rows, model),
            masked=to_device(padded_rows(reads.masked), model.device),
            places=to_device(padded_rows(reads.places), model.device),
            tokens=to_device(padded_rows(reads.tokens), model.device),
        )

    def batch_rows(self, matrix: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Returns the rows of a batch from `masked`, `places` or `tokens`.

        Returns:
            int64, shape (rows, places). It is at most as wide as the rows are long: no row is read
            at more places.
        """
        return matrix[batch.rows][:, : batch.length].long()


def padded_rows(lists: Sequence[Sequence[int]]) -> npt.NDArray[np.int32]:
    """Returns lists as rows of a matrix, with `NO_PLACE` behind their ends."""
    lengths = np.array(list(map(len, lists)), dtype=np.int64)
    widest = int(lengths.max(initial=0))
    matrix = np.full((len(lists), widest), NO_PLACE, dtype=np.int32)
    is_inside = np.arange(widest) < lengths[:, None]
    matrix[is_inside] = np.fromiter(chain.from_iterable(lists), dtype=np.int32)
    return matrix


@dataclass(frozen=True)
class SentenceChoices:
    """The settings that decide the answers.

    Attributes:
        scoring: the name of the formula, a key of `SCORINGS`.
    """

    scoring: str


class SentenceBackEnd(LocalBackEnd):
    """Scores sentences by a formula (answer kind `likelihood`).

    Attributes:
        name: the name of the formula.
        scoring: the formula.
    """

    Choices: ClassVar[type[Any]] = SentenceChoices
    name: str
    scoring: SentenceScoring

    def choose_scoring(self, name: str, task: str) -> None:
        """Sets `name` and `scoring`.

        Raises:
            ModelError: there is no such formula for models of the task.
        """
        if name not in scoring_names(task):
            raise ModelError(
                f"there is no scoring {name!r} for {task}; expected {one_of(scoring_names(task))}"
            )
        self.name, self.scoring = name, SCORINGS[name]

    def prepare_instances(self, instances: pl.DataFrame, settings: InferenceSettings) -> None:
        """Prepares instances; see `LocalBackEnd`.

        A formula that reads a row at many places gets smaller batches, so that the logits fit into
        memory.
        """
        super().prepare_instances(instances, settings)
        if self.scoring.inputs == "one":
            most = MOST_LOGITS[self.model.device.type] // embedding_count(self.model)
            self.token_budget = max(1, min(self.token_budget, most))

    def table(
        self, encoding: EncodedSentences, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Returns the columns of `likelihood` answers from `score`, the sum of each row."""
        instances = part.instances
        token_counts = encoding.token_counts[instances]
        token_counts_without_start = encoding.token_counts_without_start[instances]
        is_without_start = encoding.without_start[part.rows]
        sums = columns["score"] * ~is_without_start
        sums_without_start = columns["score"] * is_without_start
        counts = encoding.counts
        return pl.DataFrame(
            {
                "score": self.scores(sums, part, token_counts),
                "score_without_start": self.scores(
                    sums_without_start, part, token_counts_without_start
                ),
                "tokens_scored": token_counts,
                "tokens": counts.tokens[instances],
                "unknown_tokens": counts.unknown[instances],
                "truncated": counts.is_truncated[instances],
                "scoring": [self.name] * len(instances),
            },
            schema=COLUMNS,
        )

    def scores(
        self, sums: npt.NDArray[Any], part: BatchPart, token_counts: IntArray
    ) -> list[float | None]:
        """Returns the score of each instance; None if no token is read for it.

        Args:
            sums: shape (rows,), the sum of each row; 0 for rows that do not count for this score.
            part: the rows.
            token_counts: shape (instances,), the number of tokens that are read for this score.
        """
        totals = np.bincount(part.owner, sums.astype(np.float64), len(part.instances))
        values = totals if self.scoring.total else totals / np.maximum(token_counts, 1)
        decimals = self.scoring.decimals
        scores: list[float | None] = []
        for value, token_count in zip(values.tolist(), token_counts.tolist(), strict=True):
            if not token_count:
                scores.append(None)
            elif decimals is None:
                scores.append(value)
            else:
                # The formula's original code compares rounded scores.
                scores.append(round(value, decimals))
        return scores


COLUMNS = {
    name: column.dtype.type
    for name, column in SCHEMA.columns.items()
    if name not in ("instance", "unknown")
}
"""The types of the columns of `likelihood` answers that a back end returns."""


def needed_pairs(instances: pl.DataFrame, scoring: str) -> list[str]:
    """Returns the second texts of instances, for a formula that needs them.

    Args:
        instances: the instances.
        scoring: the name of the formula.

    Raises:
        ModelError: an instance has no second text.
    """
    pairs = instances["text_pair"].cast(pl.String)
    if pairs.null_count():
        instance = instances["instance"][int(pairs.is_null().arg_max() or 0)]
        needs = SCORINGS[scoring].needs
        raise ModelError(
            f"instance {instance} has no text_pair; expected the {needs} that {scoring!r} needs"
        )
    return pairs.to_list()


def sum_places(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Returns the sum of each row of `values`, shape (rows, places), without `NO_PLACE`."""
    return torch.where(places != NO_PLACE, values, 0).sum(dim=1, dtype=torch.float64).float()
