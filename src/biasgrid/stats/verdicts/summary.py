"""The summary of a grid: measures of whole cells and bias types with marks, flags and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import polars as pl

from biasgrid.stats.verdicts.counts import counted_tests, significant_tests
from biasgrid.stats.verdicts.verdict import verdicts
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import CORRECTED, NOT_POSITIVE
from biasgrid.tables.controls import NUMBERS, ROW_NAMES, control, withheld_together
from biasgrid.tables.measures import SUMMARY, of_wholes
from biasgrid.tables.metric import CONTROLS, FEW_COMPARISONS, NO_CONTROLS, Controls
from biasgrid.tables.summary import (
    ItemsPlanned,
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
"""Why a number is withheld."""
OVER_TERMS = "terms"
"""What numbers generalise to that are tested for measures alone."""


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
    planned: ItemsPlanned | None = None,
    sizes: pl.DataFrame | None = None,
) -> SummarisedGrid:
    """Picks what is measured of whole cells and bias types, over all templates, with its
    uncertainty.

    Args:
        measures: the cells' tables (schema `MEASURES`), one below the other.
        models: the facts of each model, by its name in the config.
        headlines: for each dataset its headline measures, in the order of the summary, with their
            options.
        marks: for each dataset the marks of those of its measures that have marks.
        controls: which of the cells are negative controls.
        facts: which measures are counted, and what their `n` counts, for `few_comparisons`.
        planned: the planning formula, see `with_marks`.
        sizes: how large what is associated is beside the controls, from `stats.compare.controls`.

    Returns:
        The summary, cells and their bias types in the order of their first appearance, headline
        measures first; and the verdicts of the cells.

    Raises:
        KeyError: a model that is measured is not among `models`.
    """
    # Which of all distances is the largest is tested over the terms alone, and is no number of its
    # own.
    wholes = with_known_noise(
        of_wholes(measures).filter(pl.col("generalises_to").ne_missing(OVER_TERMS))
    )
    wholes = withheld_together(wholes, headline_places(headlines), controls)
    tests = counted_tests(measures, facts.counted, wholes)
    found = significant_tests(tests)
    headlined = found.join(
        headline_places(headlines), on=["dataset", "measure", "options"], how="semi"
    )
    beside = measures.drop_nulls("control").select("model", "control").unique().rows()
    shown = [control(wholes, found, controls, beside), *([] if sizes is None else [sizes])]
    shown.append(few_comparisons(tests, facts.units))
    whole = pl.concat([wholes, headlined, *shown], how="diagonal_relaxed")
    lines = whole.select(LINE).unique(maintain_order=True).with_row_index("line")
    cells = whole.select("model", "dataset").unique(maintain_order=True)
    of_models = [
        (
            model,
            dataset,
            models[model].kind,
            models[model].label,
            models[model].scoring.get(dataset),
        )
        for model, dataset in cells.rows()
    ]
    names = dict.fromkeys(("model", "dataset", "kind", "label", "scoring"), pl.String)
    rows = (
        whole.join(
            pl.DataFrame(of_models, schema=names, orient="row"),
            on=["model", "dataset"],
            maintain_order="left",
        )
        .join(
            headline_places(headlines),
            on=["dataset", "measure", "options"],
            how="left",
            maintain_order="left",
        )
        .join(lines, on=LINE, nulls_equal=True, maintain_order="left")
        .sort("line", "place", nulls_last=True, maintain_order=True)
        .with_columns(headline=pl.col("place").is_not_null())
        .with_columns(withhold_tests())
        .pipe(with_marks, marks, planned)
    )
    judged = verdicts(measures, rows, facts, controls)
    with_verdict = rows.join(
        judged.select("model", "dataset", "verdict"), on=["model", "dataset"], maintain_order="left"
    )
    return SummarisedGrid(with_verdict.select(list(SUMMARY.columns)), judged)


def few_comparisons(tests: pl.DataFrame, units: Mapping[str, str]) -> pl.DataFrame:
    """Says of which cells the tests rest on too little.

    Args:
        tests: from `counted_tests`.
        units: for each dataset what `n` counts, in words.

    Returns:
        `model`, `dataset`, `measure` (`few_comparisons`), `options`, `value` (the median of `n`
        over what was tested), `n` (how much that is), `left_out` and `flag`; nothing of cells that
        rest on enough.
    """
    limit = CONTROLS[FEW_COMPARISONS].limit
    tested = tests.drop_nulls("q").filter(pl.col("dataset").is_in([*units]))
    cells = tested.group_by("model", "dataset", maintain_order=True).agg(
        pl.col("n").median(), pl.len()
    )
    rows = [
        (
            model,
            dataset,
            FEW_COMPARISONS,
            "",
            median,
            count,
            0,
            limit.problem.format(value=median, flag=units[dataset], limit=limit.value),
        )
        for model, dataset, median, count in cells.rows()
        if limit and median < limit.value
    ]
    return pl.DataFrame(rows, schema={**ROW_NAMES, **NUMBERS, "flag": pl.String}, orient="row")


def with_known_noise(wholes: pl.DataFrame) -> pl.DataFrame:
    """Withholds numbers that noise puts above 0 where nobody knows how far: what is corrected for
    it has no value.

    Args:
        wholes: what is measured of whole cells and bias types: columns of `MEASURES`.
    """
    keys = ["model", "dataset", "bias_type", "options"]
    corrected = wholes.filter(pl.col("measure").str.ends_with(CORRECTED), pl.col("value").is_null())
    names = corrected.select(
        *keys, measure=pl.col("measure").str.strip_suffix(CORRECTED), is_unknown=pl.lit(value=True)
    )
    joined = wholes.join(
        names, on=[*keys, "measure"], how="left", nulls_equal=True, maintain_order="left"
    )
    is_unknown = pl.col("is_unknown").fill_null(value=False) & ~pl.col("measure").is_in(
        NOT_POSITIVE
    )
    withheld = is_unknown & pl.col("null_mean").is_null() & pl.col("value").is_not_null()
    return joined.with_columns(
        value=pl.when(~withheld).then("value"),
        flag=pl.when(withheld).then(pl.coalesce("flag", pl.lit(NOISE_UNKNOWN))).otherwise("flag"),
    ).drop("is_unknown")
