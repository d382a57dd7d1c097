"""The summary of a grid: measures of whole cells and bias types with marks, flags and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from biasgrid.stats.verdicts.counts import CELL_KEYS, counted_tests, significant_tests
from biasgrid.stats.verdicts.verdict import verdicts
from biasgrid.tables.claims.facts import NO_FACTS, CellFacts, GridFacts
from biasgrid.tables.claims.numbers import CORRECTED, NOT_POSITIVE
from biasgrid.tables.claims.precision import is_inexact
from biasgrid.tables.claims.served_names import names_text, unexpected_names
from biasgrid.tables.controls import (
    NUMBER_TYPES,
    ROW_NAMES,
    control_results,
    withheld_together,
)
from biasgrid.tables.measures import SUMMARY, rows_about_wholes
from biasgrid.tables.metric import (
    CONTROLS,
    FEW_COMPARISONS,
    NO_CONTROLS,
    OTHER_NAMES,
    PRECISION_DRIFT,
    Controls,
)
from biasgrid.tables.provenance import ANSWERED_AS, ASKED_FOR
from biasgrid.tables.summary import (
    ItemsPlanner,
    MarksOfDatasets,
    ModelFacts,
    headline_places,
    with_marks,
    withhold_tests,
)

LINE = ["model", "dataset", "bias_type"]
NOISE_UNKNOWN = (
    "noise alone puts it above 0, and nobody knows how far: too few associations have two clusters"
)
"""The flag of a number that is withheld because its part of noise is unknown."""
FLAG_TYPES = {**ROW_NAMES, **NUMBER_TYPES, "flag": pl.String}
"""The columns of rows of flags."""
OVER_TERMS = "terms"
"""`generalises_to` of rows that are no numbers of their own, see `summarise`."""


class SummarisedGrid(NamedTuple):
    """Tables of all cells of a grid.

    Attributes:
        summary: schema `SUMMARY`.
        verdicts: schema `VERDICTS`.
    """

    summary: pl.DataFrame
    verdicts: pl.DataFrame


def summarise(
    measures: pl.DataFrame,
    models: Mapping[str, ModelFacts],
    headlines: Mapping[str, Mapping[str, str]],
    marks: MarksOfDatasets = MappingProxyType({}),
    controls: Controls = NO_CONTROLS,
    facts: GridFacts = NO_FACTS,
    plan_items: ItemsPlanner | None = None,
    sizes: pl.DataFrame | None = None,
) -> SummarisedGrid:
    """Summarises a grid: numbers of whole cells and bias types with flags, marks and verdicts.

    Args:
        measures: the cells' tables (schema `MEASURES`), one below the other.
        models: the facts of each model, by its name in the config.
        headlines: the headline measures of each dataset, in the order of the summary, with their
            options.
        marks: the marks by dataset and measure.
        controls: which of the cells are negative controls.
        facts: the facts of the grid that verdicts and the flags of the summary need.
        plan_items: the planning formula, see `with_marks`.
        sizes: the sizes of associations compared with controls, from
            `stats.compare.controls.sizes_against_controls`; None for no such rows.

    Returns:
        The summary and the verdicts. Cells and their bias types are in the order of their first
        appearance, and within them headline measures come first.

    Raises:
        KeyError: a model that is measured is not among `models`.
    """
    places = headline_places(headlines)
    headline = ["dataset", "measure", "options"]
    # The test over terms alone only tells which distance is the largest; the same number has
    # another row.
    is_own_number = pl.col("generalises_to").ne_missing(OVER_TERMS)
    wholes = with_known_noise(rows_about_wholes(measures).filter(is_own_number))
    wholes = withheld_together(wholes, places, controls)
    tests = counted_tests(measures, facts.counted, wholes)
    test_counts = significant_tests(tests)
    corrected_for = measures.drop_nulls("control").select("model", "control").unique().rows()
    tables = [wholes, test_counts.join(places, on=headline, how="semi")]
    tables.append(control_results(wholes, test_counts, controls, corrected_for))
    if sizes is not None:
        tables.append(sizes)
    tables += [few_comparisons(tests, facts.units), precision_drifts(facts.cells)]
    tables.append(other_names(facts.cells))
    rows = pl.concat(tables, how="diagonal_relaxed")
    lines = rows.select(LINE).unique(maintain_order=True).with_row_index("line")
    cells = rows.select(CELL_KEYS).unique(maintain_order=True).rows()
    names = model_columns(cells, models)
    rows = rows.join(names, on=CELL_KEYS, maintain_order="left")
    rows = rows.join(places, on=headline, how="left", maintain_order="left")
    rows = rows.join(lines, on=LINE, nulls_equal=True, maintain_order="left")
    rows = rows.sort("line", "place", nulls_last=True, maintain_order=True)
    rows = rows.with_columns(headline=pl.col("place").is_not_null())
    rows = with_marks(rows.with_columns(withhold_tests()), marks, plan_items)
    verdict_lines = verdicts(measures, rows, facts, controls)
    rows = rows.join(
        verdict_lines.select(*CELL_KEYS, "verdict"), on=CELL_KEYS, maintain_order="left"
    )
    return SummarisedGrid(rows.select(list(SUMMARY.columns)), verdict_lines)


def model_columns(
    cells: Sequence[tuple[str, str]], models: Mapping[str, ModelFacts]
) -> pl.DataFrame:
    """Returns `model`, `dataset`, and the `kind`, `label` and `scoring` of the model of each cell.

    Args:
        cells: (model, dataset) pairs.
        models: the facts of each model, by its name in the config.

    Raises:
        KeyError: a model has no facts.
    """
    rows = []
    for model, dataset in cells:
        facts = models[model]
        rows.append((model, dataset, facts.kind, facts.label, facts.scoring.get(dataset)))
    names = (*CELL_KEYS, "kind", "label", "scoring")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def few_comparisons(tests: pl.DataFrame, units: Mapping[str, str]) -> pl.DataFrame:
    """Returns a flagged row for each cell whose tests rest on too few comparisons.

    Args:
        tests: from `counted_tests`.
        units: by dataset the plural noun of the things that `n` counts.

    Returns:
        `model`, `dataset`, `measure` (`few_comparisons`), `options`, `value` (the median of `n`
        over the tests), `n` (the number of tests), `left_out` and `flag`; no rows of cells that
        rest on enough, or whose dataset is not in `units`.
    """
    limit = CONTROLS[FEW_COMPARISONS].required_limit
    rows_with_test = tests.drop_nulls("q").filter(pl.col("dataset").is_in([*units]))
    cells = rows_with_test.group_by(CELL_KEYS, maintain_order=True).agg(
        pl.col("n").median(), pl.len()
    )
    rows = []
    for model, dataset, median, count in cells.rows():
        if median < limit.value:
            flag = limit.problem.format(value=median, flag=units[dataset], limit=limit.value)
            rows.append((model, dataset, FEW_COMPARISONS, "", median, count, 0, flag))
    return pl.DataFrame(rows, schema=FLAG_TYPES, orient="row")


def precision_drifts(cells: CellFacts) -> pl.DataFrame:
    """Returns a row for each cell that was answered in another precision than float32 and audited.

    Args:
        cells: the provenance of each cell's measures, by `DATASET/MODEL`.

    Returns:
        `model`, `dataset`, `measure` (`precision_drift`), `options`, `value` (the largest
        difference), `n` (the number of audited rows), `left_out` and `flag`, null up to the limit.
    """
    limit = CONTROLS[PRECISION_DRIFT].required_limit
    rows = []
    for cell, facts in cells.items():
        predictions = facts.get("predictions", {})
        audit = predictions.get("audit")
        if not is_inexact(predictions) or audit is None:
            continue
        dataset, _, model = cell.partition("/")
        drift, row_count = audit["largest_drift"], audit["rows"]
        flag = None
        if drift > limit.value:
            flag = limit.problem.format(value=drift, n=row_count, flag=predictions["precision"])
        rows.append((model, dataset, PRECISION_DRIFT, "", drift, row_count, 0, flag))
    return pl.DataFrame(rows, schema=FLAG_TYPES, orient="row")


def other_names(cells: CellFacts) -> pl.DataFrame:
    """Returns a row for each cell of an endpoint that said under which name it answered.

    Args:
        cells: the provenance of each cell's measures, by `DATASET/MODEL`.

    Returns:
        `model`, `dataset`, `measure` (`other_names`), `options`, `value` (the number of unexpected
        names), `n` (the number of all names), `left_out` and `flag`, null without such names.
    """
    limit = CONTROLS[OTHER_NAMES].required_limit
    rows = []
    for cell, facts in cells.items():
        predictions = facts.get("predictions", {})
        name, answer_names = predictions.get(ASKED_FOR), predictions.get(ANSWERED_AS)
        if name is None or answer_names is None:
            continue
        dataset, _, model = cell.partition("/")
        names = unexpected_names(name, answer_names)
        flag = None
        if len(names) > limit.value:
            flag = limit.problem.format(flag=names_text(name, names))
        rows.append((model, dataset, OTHER_NAMES, "", len(names), len(answer_names), 0, flag))
    return pl.DataFrame(rows, schema=FLAG_TYPES, orient="row")


def with_known_noise(wholes: pl.DataFrame) -> pl.DataFrame:
    """Withholds numbers that noise puts above 0 by an unknown amount.

    These are measures with a value whose corrected measure is there without one, and whose
    `null_mean` is null.

    Args:
        wholes: rows about whole cells and bias types: columns of `MEASURES`.

    Returns:
        The same rows; a withheld number has no `value`, and says why in `flag` unless another flag
        is there.
    """
    keys = ["model", "dataset", "bias_type", "options"]
    is_corrected = pl.col("measure").str.ends_with(CORRECTED)
    without_value = wholes.filter(is_corrected, pl.col("value").is_null())
    uncorrected_name = pl.col("measure").str.strip_suffix(CORRECTED)
    names = without_value.select(*keys, measure=uncorrected_name, is_unknown=pl.lit(value=True))
    rows = wholes.join(
        names, on=[*keys, "measure"], how="left", nulls_equal=True, maintain_order="left"
    )
    is_positive = ~pl.col("measure").is_in(NOT_POSITIVE)
    is_unknown = pl.col("is_unknown").fill_null(value=False) & is_positive
    withheld = is_unknown & pl.col("null_mean").is_null() & pl.col("value").is_not_null()
    flag = pl.coalesce("flag", pl.lit(NOISE_UNKNOWN))
    return rows.with_columns(
        value=pl.when(~withheld).then("value"),
        flag=pl.when(withheld).then(flag).otherwise("flag"),
    ).drop("is_unknown")
