"""What back ends that score sentences have in common: what is read of each row, and how it becomes
a score.
"""

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
from biasgrid.inference.scorings import SCORINGS, SentenceScoring, scorings_of
from biasgrid.tables.answers.likelihood import SCHEMA

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MOST_LOGITS = {"cpu": 2**26, "cuda": 2**28}
"""How many logits a batch may have where they are read at many places of a row; 4 bytes each,
several times over.
"""
NO_PLACE = -1


@dataclass
class Reads:
    """What is read, row by row; the rows of an instance stand one behind the other.

    Attributes:
        owner: the instance of each row.
        base: the number of the tokens that each row has.
        masked: the places that are masked in each row.
        places: the places of each row whose logits are read.
        tokens: the tokens whose probabilities are read there.
        without_start: whether each row is of the second score, see `SentenceScoring.without_start`.
    """

    owner: list[int] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    masked: list[Sequence[int]] = field(default_factory=list)
    places: list[Sequence[int]] = field(default_factory=list)
    tokens: list[Sequence[int]] = field(default_factory=list)
    without_start: list[bool] = field(default_factory=list)

    def add(
        self,
        owner: int,
        base: int,
        places: Sequence[int],
        tokens: Sequence[int],
        masked: Sequence[int] = (),
        without_start: bool = False,
    ) -> None:
        """Adds a row; one without places is read for nothing, so that each instance has a row."""
        self.owner.append(owner)
        self.base.append(base)
        self.masked.append(masked)
        self.places.append(places)
        self.tokens.append(tokens)
        self.without_start.append(without_start)

    def scored(self, instances: int, without_start: bool = False) -> IntArray:
        """Returns how many tokens of each instance are read for its score, or for its second
        score.
        """
        counts = zip(self.places, self.without_start, strict=True)
        weights = [len(places) if second is without_start else 0 for places, second in counts]
        return np.bincount(self.owner, weights, instances).astype(np.int64)


@dataclass(frozen=True)
class Counts:
    """What is counted of each instance; shape (instances,).

    Attributes:
        tokens: the tokens of its sentence.
        unknown: those of them that are the unknown token.
        truncated: whether something was too long.
    """

    tokens: IntArray
    unknown: IntArray
    truncated: BoolArray

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[int]],
        tokenizer: PreTrainedTokenizerFast,
        truncated: BoolArray,
    ) -> Counts:
        """Counts the tokens of sentences; special tokens are not among them."""
        unknown = unknown_token_id(tokenizer)
        lengths = np.array([len(ids) for ids in sentences], dtype=np.int64)
        unknown_counts = np.zeros_like(lengths)
        if unknown is not None:
            unknown_counts = np.array([list(ids).count(unknown) for ids in sentences])
        return cls(lengths, unknown_counts, truncated)


@dataclass(frozen=True)
class EncodedSentences:
    """Encoded sentences.

    Attributes:
        rows: the rows.
        counts: what is counted of each instance.
        scored: shape (instances,), how many tokens are read for the score.
        scored_without_start: shape (instances,), how many are read for the second score.
        without_start: shape (rows,), whether a row is of the second score.
        on_device: the rows' tokens.
        masked, places, tokens: shape (rows, widest), what is masked and read; `NO_PLACE` where
            nothing is.
    """

    rows: TokenRows
    counts: Counts
    scored: IntArray
    scored_without_start: IntArray
    without_start: BoolArray
    on_device: DeviceRows
    masked: torch.Tensor
    places: torch.Tensor
    tokens: torch.Tensor

    @classmethod
    def of(
        cls, base: TokenRows, reads: Reads, counts: Counts, model: PreTrainedModel
    ) -> EncodedSentences:
        """Makes rows of tokens, and moves them to the model's device.

        Args:
            base: the tokens that rows have, each once.
            reads: what is read.
            counts: what is counted of each instance.
            model: the model.
        """
        which = np.array(reads.base, dtype=np.int64)
        owner = np.array(reads.owner, dtype=np.int32)
        rows = TokenRows(
            base.first, base.second, base.first_of[which], base.second_of[which], owner
        )
        tables = (
            to_device(padded_rows(each), model.device)
            for each in (reads.masked, reads.places, reads.tokens)
        )
        count, without_start = len(counts.tokens), np.array(reads.without_start, dtype=np.bool_)
        scored = reads.scored(count), reads.scored(count, without_start=True)
        return cls(rows, counts, *scored, without_start, DeviceRows.of(rows, model), *tables)

    def of_batch(self, table: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Returns what a table has for the rows of a batch, as wide as these can need; shape (rows,
        places).
        """
        return table[batch.rows][:, : batch.length].long()


def padded_rows(lists: Sequence[Sequence[int]]) -> npt.NDArray[np.int32]:
    """Puts lists into the rows of a matrix, with `NO_PLACE` behind their ends."""
    lengths = np.array([len(each) for each in lists], dtype=np.int64)
    widest = int(lengths.max(initial=0))
    matrix = np.full((len(lists), widest), NO_PLACE, dtype=np.int32)
    matrix[np.arange(widest) < lengths[:, None]] = np.fromiter(
        chain.from_iterable(lists), dtype=np.int32
    )
    return matrix


@dataclass(frozen=True)
class SentenceChoices:
    """What decides the answers.

    Attributes:
        scoring: the name of the formula.
    """

    scoring: str


class SentenceBackEnd(LocalBackEnd):
    """Scores sentences: answers of the kind `likelihood`.

    Attributes:
        name: the name of the formula.
        scoring: what it is.
    """

    Choices: ClassVar[type[Any]] = SentenceChoices
    name: str
    scoring: SentenceScoring

    def choose_scoring(self, name: str, task: str) -> None:
        """Takes the formula of a name.

        Raises:
            ModelError: there is none for models of the task.
        """
        if name not in scorings_of(task):
            raise ModelError(
                f"there is no scoring {name!r} for {task}; expected {one_of(scorings_of(task))}"
            )
        self.name, self.scoring = name, SCORINGS[name]

    def take(self, instances: pl.DataFrame, settings: InferenceSettings) -> None:
        """Tokenizes what will be asked first; batches are small enough for logits at many places of
        each row.
        """
        super().take(instances, settings)
        if self.scoring.inputs == "one":
            most = MOST_LOGITS[self.model.device.type] // embedding_count(self.model)
            self.token_budget = max(1, min(self.token_budget, most))

    def table(
        self, encoded: EncodedSentences, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes the columns of `likelihood` answers from `score`, the sum of each row."""
        instances = part.instances
        scored = encoded.scored[instances]
        scored_without_start = encoded.scored_without_start[instances]
        is_without_start = encoded.without_start[part.rows]
        sums = columns["score"] * ~is_without_start
        sums_without_start = columns["score"] * is_without_start
        counts = encoded.counts
        return pl.DataFrame(
            {
                "score": self.scores(sums, part, scored),
                "score_without_start": self.scores(sums_without_start, part, scored_without_start),
                "tokens_scored": scored,
                "tokens": counts.tokens[instances],
                "unknown_tokens": counts.unknown[instances],
                "truncated": counts.truncated[instances],
                "scoring": [self.name] * len(scored),
            },
            schema=COLUMNS,
        )

    def scores(
        self, values: npt.NDArray[Any], part: BatchPart, scored: IntArray
    ) -> list[float | None]:
        """Returns the score of each instance; None if no token is scored.

        Args:
            values: shape (rows,), the sum of each row; 0 for rows that do not count.
            part: the rows.
            scored: shape (instances,), how many tokens are scored.
        """
        totals = np.bincount(part.owner, values.astype(np.float64), len(part.instances))
        scores = totals if self.scoring.total else totals / np.maximum(scored, 1)
        rounded: list[float | None] = []
        for score, count in zip(scores.tolist(), scored.tolist(), strict=True):
            rounded.append(self.rounded(score) if count else None)
        return rounded

    def rounded(self, score: float) -> float:
        """Returns a score as the formula's original code compares it."""
        return score if self.scoring.decimals is None else round(score, self.scoring.decimals)


COLUMNS = {
    name: column.dtype.type
    for name, column in SCHEMA.columns.items()
    if name not in ("instance", "unknown")
}
"""The types of the columns that a back end fills."""


def needed_pairs(asked: pl.DataFrame, scoring: str) -> list[str]:
    """Returns the second texts of instances, which a formula needs.

    Raises:
        ModelError: one has none.
    """
    pairs = asked["text_pair"].cast(pl.String)
    if pairs.null_count():
        instance = asked["instance"][int(pairs.is_null().arg_max() or 0)]
        needs = SCORINGS[scoring].needs
        raise ModelError(
            f"instance {instance} has no text_pair; expected the {needs} that {scoring!r} needs"
        )
    return pairs.to_list()


def sum_places(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Adds up what was read of each row; shape (rows,)."""
    return torch.where(places >= 0, values, 0).sum(dim=1, dtype=torch.float64).float()
