"""Which tests of a cell are counted, and how many of them are significant."""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
    """Returns the key of each row that its test is about, null if it has none of `TESTED_PAIRS`.

    Pairs are tried in their order; only `KeyPair.key` is looked at.
    """
    present_keys = []
    for pair in TESTED_PAIRS:
        present_keys.append(pl.when(pl.col(pair.key).is_not_null()).then(pl.lit(pair.key)))
    return pl.coalesce(present_keys)


def is_association() -> pl.Expr:
    """Whether each row is an association. Those of one attribute sum to 0."""
    return pl.any_horizontal(all_known(*keys) for keys in ASSOCIATIONS)


def mirrors_none() -> pl.Expr:
    """Whether each row is no mirror of others.

    An association below 0 is one: it repeats those above 0 of other subjects.
    """
    return (pl.col("value") > 0) | ~is_association()


def single_tests(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows that are tested one by one: associations, and differences of two groups.

    If a measure of a cell has groups of subjects, claims are about these, and its single subjects
    are left out.

    Args:
        measures: schema `MEASURES`.
    """
    rows = measures.filter(
        is_pooled_over("how"),
        # A number without an interval is about the cases asked, and says nothing about others.
        pl.col("generalises_to").is_not_null(),
        is_association() | all_known(*GROUP_PAIR),
    )
    is_of_group = all_known(*SUBJECT_GROUP_ASSOCIATION)
    has_groups = is_of_group.any().over(*CELL_KEYS, "measure", "options")
    return rows.filter(~(has_groups & all_known(*SUBJECT_ASSOCIATION)))


def counted_tests(
    measures: pl.DataFrame,
    counted_measures: CountedMeasures | None = None,
    flags: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Returns the rows of `single_tests` whose measures are counted.

    Args:
        measures: schema `MEASURES`.
        counted_measures: the counted measures by dataset. In a dataset without any, all tests are
            counted.
        flags: rows with `model`, `dataset`, `measure` and `flag`, which is null unless the flag is
            raised. Other rows than those of flags may be among them.
    """
    rows = single_tests(measures)
    if not counted_measures:
        return rows
    choosing_datasets = [dataset for dataset, names in counted_measures.items() if names]
    all_counted = rows.filter(~pl.col("dataset").is_in(choosing_datasets))
    return pl.concat([all_counted, chosen_measure_rows(rows, counted_measures, flags)])


def chosen_measure_rows(
    rows: pl.DataFrame, counted_measures: CountedMeasures, flags: pl.DataFrame | None
) -> pl.DataFrame:
    """Returns the rows whose measure is counted in their cell.

    A dataset without counted measures has none, other than in `counted_tests`.

    Args:
        rows: schema `MEASURES`.
        counted_measures: the counted measures by dataset.
        flags: see `counted_tests`; None if no flag is raised.
    """
    raised: set[tuple[str, str, str]] = set()
    if flags is not None:
        raised.update(flags.drop_nulls("flag").select(*CELL_KEYS, "measure").iter_rows())
    cell_measures = []
    for model, dataset in rows.select(CELL_KEYS).unique(maintain_order=True).iter_rows():
        for measure in chosen_measures(counted_measures.get(dataset, {}), model, dataset, raised):
            cell_measures.append((model, dataset, measure))
    name = [*CELL_KEYS, "measure"]
    keys = pl.DataFrame(cell_measures, schema=dict.fromkeys(name, pl.String), orient="row")
    return rows.join(keys, on=name, how="semi", maintain_order="left")


def chosen_measures(
    flag_by_measure: Mapping[str, str],
    model: str,
    dataset: str,
    raised: Collection[tuple[str, str, str]],
) -> list[str]:
    """Returns the measures that are counted in a cell.

    Args:
        flag_by_measure: `Measure.counted` of the counted measures: "" or a flag.
        model: the model of the cell.
        dataset: the dataset of the cell.
        raised: (model, dataset, flag) of all flags that are raised.

    Returns:
        The measures whose flag is raised or, if there are none, those without a flag.
    """
    replacements = []
    for name, flag in flag_by_measure.items():
        if flag and (model, dataset, flag) in raised:
            replacements.append(name)
    return replacements or [name for name, flag in flag_by_measure.items() if not flag]


def significant_tests(rows: pl.DataFrame) -> pl.DataFrame:
    """Counts the significant tests among those made one by one.

    Mirrors of other associations (`mirrors_none`) count as tests, but not as significant ones.

    Args:
        rows: from `counted_tests`.

    Returns:
        `model`, `dataset`, `bias_type`, `measure` (`significant_tests`), `options`,
        `generalises_to`, `value` (null if nothing was tested), `clusters`, `n` (the number of
        tests) and `left_out` (the number of rows that could not be tested).
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
    """Whether each row could not be tested, although a test is expected."""
    is_reason = pl.col("reason").str.starts_with(UNTESTABLE).fill_null(value=False)
    return pl.col("q").is_null() & is_reason
