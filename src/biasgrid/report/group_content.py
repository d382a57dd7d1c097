"""What the report says of social groups: comparisons, failure rates and the sentences behind large differences."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from biasgrid.plots.group_selection import SCORE_NAMES, main_rows, main_score
from biasgrid.plots.selection import in_order
from biasgrid.report.content import Row

SHOWN_COMPARISONS = {
    "pairwise": ("absolute", "pairwise", "counterfactual"),
    "pooled": ("absolute", "pairwise", "group"),
    "background": ("absolute", "background", "counterfactual"),
    "multi_group": ("normalized_divergence", "multi_group", "counterfactual"),
    "position": ("absolute", "position", "counterfactual"),
}
"""The comparisons of the main score that the report shows: distance, comparison and mode of each."""

MOST_EXAMPLES = 6


def group_section(measures: pl.DataFrame, failures: pl.DataFrame, dataset: str, threshold: float) -> Row:
    """Gathers what the table of a dataset's groups says.

    Args:
        measures: schema `GROUP_MEASURES`.
        failures: schema `FAILURES`.
        dataset: the dataset's name.
        threshold: at which to give the failure rates.

    Returns:
        `score` (the main score's name for people), `threshold`, `has_positions` (whether some cases name things in an
        order) and `bias_types` (the rows of each, see `comparison_rows`).

    Raises:
        ValueError: the dataset has no measures of its main score.
    """
    rows = comparison_rows(measures, failures, dataset, threshold)
    return {
        "score": SCORE_NAMES[main_score(measures, dataset)],
        "threshold": threshold,
        "has_positions": rows["position"].is_not_null().any(),
        "bias_types": {name: rows.filter(bias_type=name).to_dicts() for name in in_order(rows, "bias_type")},
    }


def comparison_rows(measures: pl.DataFrame, failures: pl.DataFrame, dataset: str, threshold: float) -> pl.DataFrame:
    """Puts the main comparisons of a dataset side by side.

    Args:
        measures: schema `GROUP_MEASURES`.
        failures: schema `FAILURES`.
        dataset: the dataset's name.
        threshold: at which to give the failure rates.

    Returns:
        A row per bias type and model, in the order of the measures: `bias_type`, `model`, `score` (over all groups),
        `n` (its records), `groups`, a column for each of `SHOWN_COMPARISONS`, `pairwise_share` (in percent of the
        largest one of the dataset), `fails_mean` and `fails_largest` (failure rates by that difference). Null is what
        there is not.
    """
    keys = ["bias_type", "model"]
    rows = main_rows(measures, dataset).filter(pl.col("template").is_null(), pl.col("other").is_null())
    whole, of_score = pl.col("group").is_null(), pl.col("distance").is_null()

    def value_of(distance: str, comparison: str, mode: str) -> pl.Expr:
        same = [pl.col("distance") == distance, pl.col("comparison") == comparison, pl.col("mode") == mode]
        return pl.col("value").filter(whole, *same).first()

    of_cells = rows.group_by(keys, maintain_order=True).agg(
        score=pl.col("value").filter(whole, of_score).first(),
        n=pl.col("n").filter(whole, of_score).first(),
        groups=pl.col("group").filter(of_score).drop_nulls().n_unique(),
        **{name: value_of(*wanted) for name, wanted in SHOWN_COMPARISONS.items()},
    )
    rates = (
        failures.filter(pl.col("template").is_null(), dataset=dataset, threshold=threshold)
        .with_columns(pl.col("value").fill_nan(None))
        .group_by(keys, maintain_order=True)
        .agg(pl.col("value").filter(difference=name).first().alias(f"fails_{name}") for name in ("mean", "largest"))
    )
    share = 100 * pl.col("pairwise") / pl.max_horizontal(pl.col("pairwise").max(), 1e-12)
    return of_cells.with_columns(pairwise_share=share.fill_null(0)).join(
        rates, on=keys, how="left", maintain_order="left"
    )


def difference_examples(examples: pl.DataFrame, dataset: str, count: int = MOST_EXAMPLES) -> list[Row]:
    """Picks of each bias type the case with the largest difference of any model, with the sentences behind it.

    Args:
        examples: schema `CASE_EXAMPLES`.
        dataset: the dataset's name.
        count: how many cases to pick at most.

    Returns:
        Dictionaries with `model`, `bias_type`, `template`, `case`, `difference` and `groups`, largest difference first.
        See `sides`.
    """
    keys = ["model", "bias_type", "template", "case"]
    rows = examples.filter(dataset=dataset)
    cases = (
        rows.unique(keys, maintain_order=True)
        .sort(-pl.col("difference"), maintain_order=True)
        .unique("bias_type", keep="first", maintain_order=True)
        .head(count)
        .select(*keys, "difference")
    )
    return [{**case, "groups": sides(rows.filter(**{key: case[key] for key in keys}))} for case in cases.to_dicts()]


def sides(rows: pl.DataFrame) -> Sequence[Row]:
    """Returns of each group of a case `group`, `score` (mean over terms) and `instances`, highest score first."""
    groups = [
        {"group": part["group"].item(0), "score": part["score"].mean(), "instances": part.to_dicts()}
        for part in rows.partition_by("group", maintain_order=True)
    ]
    return sorted(groups, key=lambda side: side["score"], reverse=True)
