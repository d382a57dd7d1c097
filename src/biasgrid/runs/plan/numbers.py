"""What cells cost, in numbers, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from biasgrid.runs.estimates import UNKNOWN, Figure, total

TABLE_BYTES = 6000


@dataclass(frozen=True)
class Rate:
    """How fast the machine is, one of the two.

    Attributes:
        tflops: 10^12 floating-point operations per second that inference reaches.
        rows_per_second: instances per second, whatever the model.
    """

    tflops: float | None = None
    rows_per_second: float | None = None

    def seconds(self, instances: Figure, flop: Figure) -> Figure:
        """Returns how long that many instances, or operations, take."""
        if self.rows_per_second is not None:
            return instances.times(1 / self.rows_per_second)
        return flop.times(None if self.tflops is None else 1e-12 / self.tflops)


@dataclass(frozen=True)
class Costs:
    """What is asked and what that costs, of a cell or of several together.

    Attributes:
        instances: how many instances there are; of a follow-up `at most` those of the writer, as long as its texts are
            not there.
        tokens: tokens of all inputs, special tokens included (words of several tokens need several inputs, and so do
            the spellings of options that a server reads back); without the model's tokenizer `about`, from the words of
            the texts.
        requests: requests to a server, where there is one; `at most` while it is not known how it scores options.
        tokens_out: tokens that the server writes, at most.
        cost: what it charges for all instances, by the prices of the config.
        spent: what was spent on answers that are there, those included that are no longer used.
        flop: floating-point operations of a forward pass over all tokens, 2 x parameters x tokens (Kaplan et al. 2020,
            Scaling Laws for Neural Language Models, section 2.1).
        instances_bytes: size of the instances tables.
        predictions_bytes: size of the predictions.
        seconds: how long all instances take at the given rate.
    """

    instances: Figure
    tokens: Figure
    requests: Figure
    tokens_out: Figure
    cost: Figure
    spent: Figure
    flop: Figure
    instances_bytes: Figure
    predictions_bytes: Figure
    seconds: Figure


@dataclass(frozen=True)
class CellPlan(Costs):
    """What a cell costs, and what of it is done.

    Attributes:
        dataset, model, variant: the cell, and which variant of the dataset the model answers.
        writer: of a follow-up the model whose texts it reads, None of a cell; in place of questions it has the distinct
            texts of the writer's cell, and its measures are those of that cell.
        instances_table: the instances table that it answers, which it may share with other cells.
        parameters: parameters that every token passes through (see `biasgrid.inference.checkpoints.cost.parameters`).
        shards: how many shards the cell has.
        shards_done: how many of them are predicted.
        measured: whether its measures are there.
    """

    dataset: str
    model: str
    variant: str
    writer: str | None
    instances_table: str
    parameters: int | None
    shards: int
    shards_done: int
    measured: bool

    @property
    def seconds_left(self) -> Figure:
        """How long the shards take that are not predicted."""
        return self.seconds.times(1 - self.shards_done / self.shards)


@dataclass(frozen=True)
class Totals(Costs):
    """Sums over all cells and follow-ups; a table that several of them share counts once.

    Attributes:
        cells: how many cells there are.
        seconds_left: how long the shards take that are not predicted.
        shards: how many shards there are.
        shards_done: how many of them are predicted.
        measured: how many of the cells are measured.
    """

    cells: int
    seconds_left: Figure
    shards: int
    shards_done: int
    measured: int

    @property
    def bytes(self) -> Figure:
        """The size of all tables."""
        return total([self.instances_bytes, self.predictions_bytes])


def size_of(tables: Sequence[Path], instances: Figure, row_bytes: float) -> Figure:
    """Returns the size of tables together: as they are if all are there, else estimated from their rows."""
    if all(table.exists() for table in tables):
        return Figure(sum(table.stat().st_size for table in tables))
    if instances.value is None:
        return UNKNOWN
    return Figure(instances.value * row_bytes + TABLE_BYTES * len(tables), "about")


def totals_of(cells: Sequence[CellPlan], follow_ups: Sequence[CellPlan] = ()) -> Totals:
    """Sums cells up, and what models are asked of their texts."""
    asked = [*cells, *follow_ups]
    costs = {field.name: total(getattr(each, field.name) for each in asked) for field in fields(Costs)}
    costs["instances_bytes"] = total({each.instances_table: each.instances_bytes for each in asked}.values())
    return Totals(
        **costs,
        cells=len(cells),
        seconds_left=total(each.seconds_left for each in asked),
        shards=sum(each.shards for each in asked),
        shards_done=sum(each.shards_done for each in asked),
        measured=sum(each.measured for each in cells),
    )
