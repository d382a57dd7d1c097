"""Which tests of a cell are counted, and how many of them are significant."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.stats.multiplicity import is_significant
from biasgrid.tables.claims.facts import CountedMeasures
from biasgrid.tables.key_columns import (
    ASSOCIATIONS,
    GROUP_PAIR,
    SUBJECT_ASSOCIATION,
    SUBJECT_GROUP_ASSOCIATION,
    TESTED_PAIRS,
    all_known,
    is_pooled_over,
)
from biasgrid.tables.metric import UNTESTABLE

CELL_KEYS = ["model", "dataset"]


def tested_key() -> pl.Expr:
    """Returns for each row the first key of `TESTED_PAIRS` that its test is about, null without
    one.
    """
    known_keys = []
    for key, _ in TESTED_PAIRS:
        known_keys.append(pl.when(pl.col(key).is_not_null()).then(pl.lit(key)))
    return pl.coalesce(known_keys)


def is_association() -> pl.Expr:
    """Says of each row whether it is of an association, whose numbers of an attribute sum to 0."""
    return pl.any_horizontal(all_known(*keys) for keys in ASSOCIATIONS)


def mirrors_none() -> pl.Expr:
    """Says of each row whether it repeats no other: associations below 0 repeat those above 0 of
    other subjects.
    """
    return (pl.col("value") > 0) | ~is_association()


def single_tests(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows that are tested one by one: associations, and differences of two groups.

    Where a cell has groups of subjects, these are what is claimed, and its single subjects are left
    out.

    Args:
        measures: schema `MEASURES`.
    """
    rows = measures.filter(
        is_pooled_over("how"),
        # What is pooled over all cases says nothing of others.
        pl.col("generalises_to").is_not_null(),
        is_association() | all_known(*GROUP_PAIR),
    )
    is_of_group = all_known(*SUBJECT_GROUP_ASSOCIATION)
    has_groups = is_of_group.any().over(*CELL_KEYS, "measure", "options")
    return rows.filter(~(has_groups & all_known(*SUBJECT_ASSOCIATION)))


def counted_tests(
    measures: pl.DataFrame,
    counted: CountedMeasures | None = None,
    flags: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Returns the rows of `single_tests` whose measures are counted.

    Args:
        measures: schema `MEASURES`.
        counted: see `CountedMeasures`; of a dataset without any, all tests are counted.
        flags: rows with `model`, `dataset`, `measure` and `flag`, those of validity flags among
            them.
    """
    rows = single_tests(measures)
    if not counted:
        return rows
    choosing = [dataset for dataset, declared in counted.items() if declared]
    all_counted = rows.filter(~pl.col("dataset").is_in(choosing))
    return pl.concat([all_counted, chosen_measure_rows(rows, counted, flags)])


def chosen_measure_rows(
    rows: pl.DataFrame, counted: CountedMeasures, flags: pl.DataFrame | None
) -> pl.DataFrame:
    """Returns the rows whose measure is counted in their cell.

    A dataset that counts no measure has none.

    Args:
        rows: schema `MEASURES`.
        counted: see `CountedMeasures`.
        flags: see `counted_tests`; without them, no flag speaks against a measure.
    """
    fired: set[tuple[str, str, str]] = set()
    if flags is not None:
        fired.update(flags.drop_nulls("flag").select(*CELL_KEYS, "measure").iter_rows())
    chosen = []
    for model, dataset in rows.select(CELL_KEYS).unique(maintain_order=True).iter_rows():
        for measure in chosen_measures(counted.get(dataset, {}), model, dataset, fired):
            chosen.append((model, dataset, measure))
    name = [*CELL_KEYS, "measure"]
    keys = pl.DataFrame(chosen, schema=dict.fromkeys(name, pl.String), orient="row")
    return rows.join(keys, on=name, how="semi", maintain_order="left")


def chosen_measures(
    declared: Mapping[str, str], model: str, dataset: str, fired: set[tuple[str, str, str]]
) -> list[str]:
    """Returns the measures that are counted in a cell: those of a flag that speaks against it, or
    those of none.
    """
    flagged = [name for name, flag in declared.items() if flag and (model, dataset, flag) in fired]
    return flagged or [name for name, flag in declared.items() if not flag]


def significant_tests(rows: pl.DataFrame) -> pl.DataFrame:
    """Counts the significant tests among those made one by one.

    Associations are relative: those below 0 repeat those above 0 of other subjects, so only the
    latter count as found, out of all that were tested.

    Args:
        rows: from `counted_tests`.

    Returns:
        `model`, `dataset`, `bias_type`, `measure` (`significant_tests`), `options`,
        `generalises_to`, `value`, `clusters`, `n` (the number of tests) and `left_out` (how many
        could not be tested); the value is null where nothing was tested.
    """
    tests = pl.col("q").count()
    significant = (is_significant() & mirrors_none()).sum().cast(pl.Float64)
    parts = rows.group_by(*CELL_KEYS, "bias_type", "generalises_to", maintain_order=True)
    counts = parts.agg(
        value=pl.when(tests > 0).then(significant),
        clusters=pl.col("clusters").max(),
        n=tests.cast(pl.Int64),
        left_out=is_untestable().sum().cast(pl.Int64),
    )
    return counts.with_columns(measure=pl.lit("significant_tests"), options=pl.lit(""))


def is_untestable() -> pl.Expr:
    """Says of each row whether it could not be tested though it has a value."""
    is_reason = pl.col("reason").str.starts_with(UNTESTABLE).fill_null(value=False)
    return pl.col("q").is_null() & is_reason
