"""Reads cells and refuses incomplete ones; checks what validity flags say of a cell and withholds
invalid headlines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
"""The columns that are null if a number is not measurable; `reason` says why."""


ROWS_A_BLOCK = 2 * ROWS_A_GROUP
"""The number of rows of a cell that are read at once."""
SMALLEST_SHARE = 4
"""A part is yielded once a fourth of the rows in memory are of whole units. If it were yielded
earlier, the other rows would be copied again and again.
"""


class CellRows(NamedTuple):
    """Instances of a cell, and the predictions of just these.

    In a part of a cell, and in a cell whose predictions are in the order of its instances, rows of
    both tables correspond one by one. Otherwise, and if a cell is read as one part, match them by
    `instance`.
    """

    instances: pl.DataFrame
    predictions: pl.DataFrame


class IncompleteCell(UserError):  # noqa: N818
    """A cell without exactly one prediction for each instance, of which nothing is reported."""


@dataclass(frozen=True)
class CellSource:
    """The files of a cell.

    Attributes:
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order; at least one.
        keys: the columns of the dataset's family.
        kind: the answer kind of the predictions.
        name: the name of the cell in messages.
    """

    instances_path: Path
    prediction_paths: Sequence[Path]
    keys: FamilyKeys
    kind: str
    name: str


def read_whole_cell(
    source: CellSource,
    columns: Sequence[str] | None = None,
    answer_columns: Collection[str] | None = None,
) -> CellRows:
    """Reads the instances and the predictions of a cell.

    Args:
        source: the files.
        columns: the columns of the instances; all by default.
        answer_columns: the columns of the predictions, `instance` among them, by which the cell is
            checked; columns that the answer kind lacks are ignored. All by default.

    Returns:
        Both tables, with rows in the order of the files. Rows of both need not correspond: match
        them by `instance`.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction.
    """
    instances = read_instances(source.instances_path, source.keys, columns)
    schema = answer_schema(source.kind)
    present = [
        column for column in schema.columns if answer_columns is None or column in answer_columns
    ]
    predictions = pl.concat(read_table(path, schema, present) for path in source.prediction_paths)
    try:
        check_complete(instances.height, predictions["instance"])
    except IncompleteCell as error:
        raise IncompleteCell(f"{source.name}: {error}") from None
    return CellRows(instances, predictions)


class Block(NamedTuple):
    """Consecutive rows of a cell.

    Attributes:
        start: the position of the first row.
        row_count: the number of rows.
        least_unit: the smallest unit among them.
    """

    start: int
    row_count: int
    least_unit: int


class CellParts:
    """A cell that is read part by part, all instances of a unit in one part.

    It can be iterated over several times. It needs the memory of a few blocks of rows if
    predictions are in the order of instances and units rise, once or a few times over, as `expand`
    and `predict` write them. Otherwise all of it is one part.
    """

    def __init__(
        self,
        source: CellSource,
        columns: Sequence[str],
        answer_columns: Collection[str],
        unit: str,
    ):
        """Looks at the order of the rows.

        Args:
            source: the files.
            columns: the columns of the instances, `instance` and the unit among them.
            answer_columns: the columns of the predictions, `instance` among them; columns that the
                answer kind lacks are ignored.
            unit: a numeric column of the instances. Instances with the same value come in one part.

        Raises:
            TableError: a file is not readable as Parquet, was not made by biasgrid, or is of
                another cell.
        """
        self.source, self.unit = source, unit
        self.is_validated = False
        request_types = read_column_types(source.instances_path, "instances")
        schema = instances_schema(source.keys, request_types)
        responses = answer_schema(source.kind)
        self.columns = [name for name in schema.columns if name in columns]
        self.answer_columns = [name for name in responses.columns if name in answer_columns]
        self.instances = TablesInRows([source.instances_path], schema)
        self.predictions = TablesInRows(source.prediction_paths, responses)
        self.blocks = sorted(self.find_blocks(), key=lambda block: block.least_unit)

    def find_blocks(self) -> list[Block]:
        """Divides the rows into blocks of `ROWS_A_BLOCK`; none if the cell is read as one part.

        That is so if it is small, or if a table is not in the order of `instance`.
        """
        instances, predictions = self.instances, self.predictions
        total = instances.row_count
        if total != predictions.row_count or total <= ROWS_A_BLOCK:
            return []
        blocks: list[Block] = []
        for start in range(0, total, ROWS_A_BLOCK):
            row_count = min(ROWS_A_BLOCK, total - start)
            requests = instances.read(start, row_count, ["instance", self.unit], check=False)
            responses = predictions.read(start, row_count, ["instance"], check=False)
            expected = np.arange(start, start + row_count)
            for table in (requests, responses):
                if not np.array_equal(table["instance"].to_numpy(), expected):
                    return []
            least_unit = int(requests[self.unit].to_numpy().min())
            blocks.append(Block(start, row_count, least_unit))
        return blocks

    def __iter__(self) -> Iterator[CellRows]:
        """Reads the cell, smaller units before larger ones.

        Raises:
            TableError: a file does not fit its schema.
            IncompleteCell: not every instance has exactly one prediction.
        """
        if not self.blocks:
            yield read_whole_cell(self.source, self.columns, self.answer_columns)
            return
        held: list[CellRows] = []
        for block, next_block in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            held.append(self.read(block))
            if next_block is None:
                yield stack_rows(held)
                break
            # Blocks are sorted by their smallest unit, so no later one has an instance of a smaller
            # unit than the next block has.
            are_whole = [part.instances[self.unit] < next_block.least_unit for part in held]
            whole_count = sum(mask.sum() for mask in are_whole)
            held_count = sum(len(mask) for mask in are_whole)
            if whole_count * SMALLEST_SHARE >= held_count:
                yield stack_rows(filter_parts(held, are_whole))
                held = filter_parts(held, [~mask for mask in are_whole])
        self.is_validated = True

    def read(self, block: Block) -> CellRows:
        """Reads the rows of a block; they are validated until the cell was read once as a whole."""
        check = not self.is_validated
        requests = self.instances.read(block.start, block.row_count, self.columns, check=check)
        responses = self.predictions.read(
            block.start, block.row_count, self.answer_columns, check=check
        )
        return CellRows(requests, responses)


def filter_parts(parts: Iterable[CellRows], masks: Iterable[pl.Series]) -> list[CellRows]:
    """Returns some rows of each part; parts without any such row are left out.

    Args:
        parts: instances and predictions whose rows correspond one by one.
        masks: for each part whether a row is selected, in both of its tables.
    """
    selected = []
    for part, mask in zip(parts, masks, strict=True):
        if mask.any():
            selected.append(CellRows(part.instances.filter(mask), part.predictions.filter(mask)))
    return selected


def stack_rows(parts: Sequence[CellRows]) -> CellRows:
    """Joins several parts, one below the other; at least one is needed."""
    instances = pl.concat([part.instances for part in parts], rechunk=True)
    predictions = pl.concat([part.predictions for part in parts], rechunk=True)
    return CellRows(instances, predictions)


def check_complete(instance_count: int, predicted: pl.Series) -> None:
    """Refuses a cell unless every instance has exactly one prediction.

    Args:
        instance_count: the number of instances, which are numbered from 0.
        predicted: the instance of each prediction, an unsigned integer, in any order.

    Raises:
        IncompleteCell: with the counts of instances without a prediction and with several, and of
            predictions of unknown instances; or because there are no instances.
    """
    if not instance_count:
        raise IncompleteCell("there are no instances to measure; expected at least one")
    numbers = predicted.to_numpy()
    if np.array_equal(numbers, np.arange(instance_count, dtype=numbers.dtype)):
        return
    known_numbers = numbers[numbers < instance_count]
    counts = np.bincount(known_numbers, minlength=instance_count)
    missing, several = np.count_nonzero(counts == 0), np.count_nonzero(counts > 1)
    unknown = len(numbers) - len(known_numbers)
    if missing or several or unknown:
        raise IncompleteCell(
            f"of {instance_count} instances, {missing} have no prediction and {several} have "
            f"more than one, and {unknown} predictions belong to unknown instances; expected "
            "exactly one prediction for each instance: remove the cell's predictions and run again"
        )


class Check(NamedTuple):
    """The value of a validity flag in a cell, whether or not it is beyond its limit.

    Attributes:
        measure: the name of the flag.
        value: its value.
        n: the number of units behind the value.
        low: lower end of the value's interval, None if it has none.
        high: its upper end, likewise.
        flag: the text for `{flag}` in `Limit.problem`, such as frequent answers.
    """

    measure: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    flag: str | None = None


def check_rows(checks: Iterable[Check]) -> pl.DataFrame:
    """Returns checks as rows of measures of the whole cell; of none, a table without rows."""
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


def withhold_invalid(measures: pl.DataFrame, definitions: MetricDefinitions) -> pl.DataFrame:
    """Raises validity flags, and withholds the numbers that have no meaning in such a cell.

    Args:
        measures: all measures of the cell, in columns of `MEASURES`; rows of flags have
            `Check.flag` in `flag`.
        definitions: headlines and limits.

    Returns:
        The measures with `flag`: the problem in rows of raised flags, null in other rows of flags.
        A number that a flag withholds has no value, interval or test; its `reason` names all flags
        that withhold it, in the order of their definitions, and the remedy of the first one.
        Headlines of the cell and its bias types say so in `flag`, too.
    """
    texts = problems(measures, definitions.limits)
    flag = pl.col("measure").replace_strict(texts, default=None, return_dtype=pl.String)
    rows = measures.with_columns(flag=flag)
    withholding = []
    for name, limit in definitions.limits.items():
        withholds_any = limit.withholds_all_claims or limit.withheld_measures
        if name in texts and withholds_any:
            withholding.append(name)
    if not withholding:
        return rows
    masks = [is_withheld_by(name, definitions) for name in withholding]
    is_withheld = pl.any_horizontal(masks)
    problem_texts = []
    remedies = []
    for name, mask in zip(withholding, masks, strict=True):
        problem_texts.append(pl.when(mask).then(pl.lit(texts[name])))
        remedies.append(pl.when(mask).then(pl.lit(definitions.limits[name].remedy)))
    all_problems = pl.concat_str(problem_texts, separator="; ", ignore_nulls=True)
    problem = pl.format("{}: {}", pl.lit(NOT_MEASURABLE), all_problems)
    # Flags that withhold the same mostly follow from the first: unknown words are improbable, too.
    reason = pl.format(f"{{}}{TO_DO}{{}}", problem, pl.coalesce(remedies))
    is_headline = is_withheld & are_headlines(definitions.headlines)
    numbers = [name for name in WITHHELD_COLUMNS if name in rows.columns]
    return rows.with_columns(
        *(pl.when(~is_withheld).then(name).alias(name) for name in numbers),
        reason=pl.when(is_withheld).then(reason).otherwise("reason"),
        flag=pl.when(is_headline).then(problem).otherwise("flag"),
    )


def withholds_all(measures: pl.DataFrame, definitions: MetricDefinitions) -> bool:
    """Whether a flag that is raised in a cell withholds all of its claims.

    Args:
        measures: all measures of the cell, with the values of its flags.
        definitions: limits.
    """
    raised = problems(measures, definitions.limits)
    return any(definitions.limits[name].withholds_all_claims for name in raised)


def is_withheld_by(flag: str, definitions: MetricDefinitions) -> pl.Expr:
    """Whether a flag, raised in a cell, withholds each row.

    If it withholds all claims, two kinds of claims are kept: how answers ended (`HOW_ANSWERED`),
    which was observed in any case, and for the flag `IMPROBABLE` the pronoun association, which is
    measured without the names that are improbable.

    Args:
        flag: the name of the flag; if it withholds nothing, no row is withheld.
        definitions: headlines and limits.
    """
    limit = definitions.limits[flag]
    if not limit.withholds_all_claims:
        return pl.col("measure").is_in(limit.withheld_measures)
    kept_measures = list(HOW_ANSWERED)
    if flag == IMPROBABLE:
        kept_measures.append(PRONOUN_ASSOCIATION)
    return are_claims(definitions.headlines) & ~pl.col("measure").is_in(kept_measures)


def problems(measures: pl.DataFrame, limits: Mapping[str, Limit]) -> dict[str, str]:
    """Returns the problems of the flags that are raised in a cell, by the names of the flags.

    Args:
        measures: the measures of the cell; a flag without value is not raised.
        limits: the limits of flags by their names.
    """
    rows = measures.filter(pl.col("measure").is_in(list(limits))).drop_nulls("value").to_dicts()
    texts = {row["measure"]: flag_problem(row, limits[row["measure"]]) for row in rows}
    return {name: text for name, text in texts.items() if text is not None}


def flag_problem(row: Mapping[str, Any], limit: Limit) -> str | None:
    """Returns the problem that a validity flag states, None if it is within its limit.

    Args:
        row: the flag's row of measures, with a value; `low` and `high` may be None.
        limit: its limit, which says whether the value or an end of its interval is compared.
    """
    end = row["low" if limit.below else "high"]
    number = row["value"] if end is None or limit.by_value else end
    is_beyond = number < limit.value if limit.below else number > limit.value
    if limit.above_zero:
        is_beyond = is_beyond and row["low"] is not None and row["low"] > 0
    if not is_beyond:
        return None
    return limit.problem.format(**row, limit=limit.value)


def are_claims(headlines: Mapping[str, str]) -> pl.Expr:
    """Whether each row claims something about the model.

    Claims are headline measures, of the cell or of a part of it, and tests. Numbers that are
    untestable because they have too few clusters count as tests, too.

    Args:
        headlines: the options of headline measures by name.
    """
    is_untestable = pl.col("reason").str.starts_with(UNTESTABLE).fill_null(value=False)
    return pl.any_horizontal(pl.col("p").is_not_null(), is_untestable, *headline_masks(headlines))


def are_headlines(headlines: Mapping[str, str]) -> pl.Expr:
    """Whether each row is a headline of a cell or of a bias type; see `are_claims`."""
    return is_about_whole() & pl.any_horizontal(pl.lit(value=False), *headline_masks(headlines))


def headline_masks(headlines: Mapping[str, str]) -> list[pl.Expr]:
    """Returns for each headline measure whether each row is one of its numbers."""
    return [
        (pl.col("measure") == name) & (pl.col("options") == options)
        for name, options in headlines.items()
    ]
