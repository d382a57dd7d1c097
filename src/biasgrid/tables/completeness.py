"""Reads cells and refuses incomplete ones; checks what validity flags say of a cell and withholds
invalid headlines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.faults import UserError
from biasgrid.tables.files import ROWS_A_GROUP, TablesInRows, read_column_types, read_table
from biasgrid.tables.instances import FamilyKeys, instances_schema, read_instances
from biasgrid.tables.key_columns import is_about_whole
from biasgrid.tables.metric import (
    HOW_ANSWERED,
    IMPROBABLE,
    NOT_MEASURABLE,
    PRONOUN_ASSOCIATION,
    TO_DO,
    UNTESTABLE,
    Limit,
    MetricDefinitions,
)
from biasgrid.tables.schema import answer_schema

WITHHELD_COLUMNS = (
    "value",
    "low",
    "high",
    "selected_low",
    "selected_high",
    "bound",
    "detectable",
    "se",
    "df",
    "gain_se",
    "p",
    "q",
    "holm",
    "null_mean",
    "method",
)
"""The columns that are null where a number is not measurable; `reason` says why."""


ROWS_A_BLOCK = 2 * ROWS_A_GROUP
"""How many rows of a cell are read at once."""
SMALLEST_SHARE = 4
"""A part is made once a fourth of the rows in memory are of whole units: else rows would be copied
again and again.
"""
CellTables = tuple[pl.DataFrame, pl.DataFrame]
"""Instances, and predictions of just these."""


class IncompleteCell(UserError):  # noqa: N818
    """A cell without exactly one prediction for each instance, of which nothing is reported."""


def read_whole_cell(
    instances_path: Path,
    prediction_paths: Sequence[Path],
    keys: FamilyKeys,
    kind: str,
    name: str,
    columns: Sequence[str] | None = None,
    answer_columns: Collection[str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reads the instances and the predictions of a cell.

    Args:
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        keys: the columns of the dataset's family.
        kind: the answer kind of the predictions.
        name: what to call the cell in messages.
        columns: which columns of the instances to read; None for all.
        answer_columns: which columns of the predictions to read, of those that the kind has; None
            for all.

    Returns:
        Both tables, as they stand in the files.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction.
    """
    instances = read_instances(instances_path, keys, columns)
    schema = answer_schema(kind)
    chosen = [name for name in schema.columns if answer_columns is None or name in answer_columns]
    predictions = pl.concat(read_table(path, schema, chosen) for path in prediction_paths)
    try:
        check_complete(instances, predictions)
    except IncompleteCell as error:
        raise IncompleteCell(f"{name}: {error}") from None
    return instances, predictions


class Block(NamedTuple):
    """Consecutive rows of a cell.

    Attributes:
        first: the first row.
        rows: how many there are.
        least: the smallest unit among them.
    """

    first: int
    rows: int
    least: int


class CellParts:
    """A cell that is read part by part, all instances of a unit in one part, as often as it is
    asked for.

    It needs the memory of a few blocks of rows where predictions are in the order of instances and
    units rise, once or a few times over, as `expand` and `predict` write them. Else all of it is
    one part.
    """

    def __init__(
        self,
        instances_path: Path,
        prediction_paths: Sequence[Path],
        keys: FamilyKeys,
        kind: str,
        name: str,
        columns: Sequence[str],
        answer_columns: Collection[str],
        unit: str,
    ):
        """Finds out how the rows are ordered.

        Args:
            instances_path: see `read_whole_cell`, as for all that follow but the last.
            prediction_paths: the predictions of all shards, in any order.
            keys: the columns of the dataset's family.
            kind: the answer kind of the predictions.
            name: what to call the cell in messages.
            columns: which columns of the instances to read, `instance` and the unit among them.
            answer_columns: which columns of the predictions to read, of those that the kind has.
            unit: the column of the instances, of numbers, that says which of them belong together.

        Raises:
            TableError: a file is not readable as Parquet, was not made by biasgrid, or is of
                another cell.
        """
        self.whole = (instances_path, prediction_paths, keys, kind, name, columns, answer_columns)
        self.unit, self.is_checked = unit, False
        request_types = read_column_types(instances_path, "instances")
        schema = instances_schema(keys, request_types)
        responses = answer_schema(kind)
        self.columns = [
            [name for name in schema.columns if name in columns],
            [name for name in responses.columns if name in answer_columns],
        ]
        self.tables = [
            TablesInRows([instances_path], schema),
            TablesInRows(prediction_paths, responses),
        ]
        self.blocks = sorted(self.find_blocks(), key=lambda block: block.least)

    def find_blocks(self) -> list[Block]:
        """Returns the blocks that are read one after the other; none where the cell is one part."""
        instances, predictions = self.tables
        if instances.count != predictions.count or instances.count <= ROWS_A_BLOCK:
            return []
        blocks: list[Block] = []
        for first in range(0, instances.count, ROWS_A_BLOCK):
            rows = min(ROWS_A_BLOCK, instances.count - first)
            requests = instances.read(first, rows, ["instance", self.unit], check=False)
            responses = predictions.read(first, rows, ["instance"], check=False)
            numbers = np.arange(first, first + rows)
            for table in (requests, responses):
                if not np.array_equal(table["instance"].to_numpy(), numbers):
                    return []
            least = int(requests[self.unit].to_numpy().min())
            blocks.append(Block(first, rows, least))
        return blocks

    def __iter__(self) -> Iterator[CellTables]:
        """Reads the cell, smaller units before larger ones.

        Yields:
            Both tables of a part, with the same instances in the same order unless the cell is one
            part.

        Raises:
            TableError: a file does not fit its schema.
            IncompleteCell: not every instance has exactly one prediction.
        """
        if not self.blocks:
            yield read_whole_cell(*self.whole)
            return
        held: list[CellTables] = []
        for block, following in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            held.append(self.read(block))
            if following is None:
                yield below_each_other(held)
                break
            # No block that is still to be read has an instance of these units.
            are_whole = [requests[self.unit] < following.least for requests, _ in held]
            whole_rows = sum(are_rows.sum() for are_rows in are_whole)
            held_rows = sum(len(are_rows) for are_rows in are_whole)
            if whole_rows * SMALLEST_SHARE >= held_rows:
                yield below_each_other(with_rows(held, are_whole))
                held = with_rows(held, [~are_rows for are_rows in are_whole])
        self.is_checked = True

    def read(self, block: Block) -> CellTables:
        """Reads the rows of a block, which are validated the first time."""
        parts = []
        for table, columns in zip(self.tables, self.columns, strict=True):
            part = table.read(block.first, block.rows, columns, check=not self.is_checked)
            parts.append(part)
        requests, responses = parts
        return requests, responses


def with_rows(tables: Iterable[CellTables], masks: Iterable[pl.Series]) -> list[CellTables]:
    """Returns some rows of tables; tables without a chosen row are left out.

    Args:
        tables: instances and predictions of several parts.
        masks: which rows of each part, the same of instances and predictions.
    """
    parts = []
    for (requests, responses), mask in zip(tables, masks, strict=True):
        if mask.any():
            parts.append((requests.filter(mask), responses.filter(mask)))
    return parts


def below_each_other(tables: Sequence[CellTables]) -> CellTables:
    """Joins instances and predictions of several parts, one below the other."""
    requests = pl.concat([requests for requests, _ in tables], rechunk=True)
    responses = pl.concat([responses for _, responses in tables], rechunk=True)
    return requests, responses


def check_complete(instances: pl.DataFrame, predictions: pl.DataFrame) -> None:
    """Refuses a cell unless every instance has exactly one prediction.

    Args:
        instances: with `instance`, the numbers from 0, one per row of the table.
        predictions: with `instance`.

    Raises:
        IncompleteCell: with the counts of instances without a prediction and with several, and of
            predictions of unknown instances; or because there are no instances.
    """
    if instances.is_empty():
        raise IncompleteCell("there are no instances to measure; expected at least one")
    predicted = predictions["instance"].to_numpy()
    if np.array_equal(predicted, np.arange(instances.height, dtype=predicted.dtype)):
        return
    known = predicted[predicted < instances.height]
    counts = np.bincount(known, minlength=instances.height)
    missing, several = np.count_nonzero(counts == 0), np.count_nonzero(counts > 1)
    unknown = len(predicted) - len(known)
    if missing or several or unknown:
        raise IncompleteCell(
            f"of {instances.height} instances, {missing} have no prediction and {several} have "
            f"more than one, and {unknown} predictions belong to unknown instances; expected "
            "exactly one prediction for each instance: remove the cell's predictions and run again"
        )


class Check(NamedTuple):
    """The result of a validity flag in a cell.

    Attributes:
        measure: its name.
        value: its value.
        n: how many things it counts.
        low: lower end of the value's interval, where there is one.
        high: its upper end.
        flag: what the text of the problem shows in place of `{flag}` beside the numbers, such as
            answers.
    """

    measure: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    flag: str | None = None


def check_rows(checks: Iterable[Check]) -> pl.DataFrame:
    """Returns checks as rows of measures."""
    types = {
        "measure": pl.String,
        "value": pl.Float64,
        "n": pl.Int64,
        "low": pl.Float64,
        "high": pl.Float64,
        "flag": pl.String,
    }
    rows = pl.DataFrame(list(checks), schema=types, orient="row")
    return rows.with_columns(options=pl.lit(""), left_out=pl.lit(0, pl.Int64))


def withhold_invalid(measures: pl.DataFrame, declared: MetricDefinitions) -> pl.DataFrame:
    """Adds the validity flags that speak against a cell, and withholds measures without meaning.

    Args:
        measures: all that was measured of the cell: columns of `MEASURES`, `flag` as `Check` has
            it.
        declared: headlines and limits.

    Returns:
        The measures with `flag`. A number that a flag withholds has no value, interval or test; its
        `reason` names all flags that withhold it, in the order in which they are declared, and what
        to do about the first one. Headlines of the cell and its bias types say so in `flag`, too.
    """
    texts = problems(measures, declared.limits)
    flag = pl.col("measure").replace_strict(texts, default=None, return_dtype=pl.String)
    flagged = measures.with_columns(flag=flag)
    flags = [name for name, limit in declared.limits.items() if limit.withholds and name in texts]
    if not flags:
        return flagged
    masks = [withheld_by(name, declared) for name in flags]
    is_withheld = pl.any_horizontal(masks)
    # Flags that withhold the same mostly follow from the first: unknown words are improbable, too.
    problem_texts = []
    remedies = []
    for name, mask in zip(flags, masks, strict=True):
        problem_texts.append(pl.when(mask).then(pl.lit(texts[name])))
        remedies.append(pl.when(mask).then(pl.lit(declared.limits[name].remedy)))
    joined = pl.concat_str(problem_texts, separator="; ", ignore_nulls=True)
    problem = pl.format("{}: {}", pl.lit(NOT_MEASURABLE), joined)
    reason = pl.format(f"{{}}{TO_DO}{{}}", problem, pl.coalesce(remedies))
    is_headline = is_withheld & are_headlines(declared.headlines)
    numbers = [name for name in WITHHELD_COLUMNS if name in flagged.columns]
    return flagged.with_columns(
        *(pl.when(~is_withheld).then(name).alias(name) for name in numbers),
        reason=pl.when(is_withheld).then(reason).otherwise("reason"),
        flag=pl.when(is_headline).then(problem).otherwise("flag"),
    )


def withholds_all(measures: pl.DataFrame, declared: MetricDefinitions) -> bool:
    """Says whether a flag that speaks against a cell withholds all of its claims; see
    `withhold_invalid`.
    """
    fired = problems(measures, declared.limits)
    return any(declared.limits[name].withholds is True for name in fired)


def withheld_by(flag: str, declared: MetricDefinitions) -> pl.Expr:
    """Returns whether a flag that speaks against a cell withholds each row.

    Where it withholds all claims, how answers ended stays, which was observed whatever they say;
    and the pronouns of a cell whose names are improbable.

    Args:
        flag: the name of a flag that withholds something.
        declared: headlines and limits.
    """
    withholds = declared.limits[flag].withholds
    if not isinstance(withholds, bool):
        return pl.col("measure").is_in(withholds)
    stays = [*HOW_ANSWERED, PRONOUN_ASSOCIATION] if flag == IMPROBABLE else HOW_ANSWERED
    return are_claims(declared.headlines) & ~pl.col("measure").is_in(stays)


def problems(measures: pl.DataFrame, limits: Mapping[str, Limit]) -> dict[str, str]:
    """Returns the texts of the validity flags that are beyond their limits, by name."""
    rows = measures.filter(pl.col("measure").is_in(list(limits))).drop_nulls("value").to_dicts()
    texts = {row["measure"]: flag_problem(row, limits[row["measure"]]) for row in rows}
    return {name: text for name, text in texts.items() if text is not None}


def flag_problem(row: Mapping[str, Any], limit: Limit) -> str | None:
    """Returns the text of a validity flag, None where it is within its limit.

    The end of the interval must be beyond the limit, unless the limit is `by_value` or the flag
    has no interval.
    """
    end = row["low" if limit.below else "high"]
    compared = row["value"] if end is None or limit.by_value else end
    is_beyond = compared < limit.value if limit.below else compared > limit.value
    if limit.above_zero:
        is_beyond = is_beyond and row["low"] is not None and row["low"] > 0
    if not is_beyond:
        return None
    return limit.problem.format(**row, limit=limit.value)


def are_claims(headlines: Mapping[str, str]) -> pl.Expr:
    """Returns whether each row claims something about the model: a headline, of the cell or of a
    part, or a test.

    What is untestable, as there are too few clusters, would have a test otherwise.

    Args:
        headlines: see `MetricDefinitions`.
    """
    is_untestable = pl.col("reason").str.starts_with(UNTESTABLE).fill_null(value=False)
    return pl.any_horizontal(pl.col("p").is_not_null(), is_untestable, *named_by(headlines))


def are_headlines(headlines: Mapping[str, str]) -> pl.Expr:
    """Returns whether each row is a headline of a cell or of a bias type; see `are_claims`."""
    return is_about_whole() & pl.any_horizontal(pl.lit(value=False), *named_by(headlines))


def named_by(headlines: Mapping[str, str]) -> list[pl.Expr]:
    """Returns for each headline measure whether a row is one of its numbers."""
    return [
        (pl.col("measure") == name) & (pl.col("options") == options)
        for name, options in headlines.items()
    ]
