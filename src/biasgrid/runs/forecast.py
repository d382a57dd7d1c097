"""Forecasts the width of intervals if only a share of a grid is asked.

From the noise of finished cells or, without one, from an assumed noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from typing import NamedTuple

import polars as pl

from biasgrid.config import Config, variant_clusters
from biasgrid.families.family import Lists
from biasgrid.runs.counts import Estimate, add_estimates
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import CellPlan, Plan
from biasgrid.stats.power import NoiseEstimate, clusters_for_width, precision_at, share_for_width
from biasgrid.tables.completeness import are_headlines
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import DESIGN, MEASURES, is_over_first_factor
from biasgrid.tables.metric import MetricDefinitions

ASSOCIATION_KEYS = ("subject", "attribute")
"""The key columns of measures that are not null in the row of an association."""
NOISE_SOURCES = ("subject", "association", "subject x cluster", "association x cluster")

SAMPLED_SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
ASSUMED = 0.1
"""The standard deviation between clusters if no cell is finished: about that of a model whose
strongest associations are 0.2, half of it specific to the cluster.
"""


def cell_noise(
    layout: Layout, cell: CellPlan, headlines: Mapping[str, str]
) -> Iterator[tuple[NoiseEstimate, str]]:
    """Yields the noise of a finished cell with the name of the number whose noise it is.

    Nothing for an unfinished cell, and for one whose numbers have no standard error.

    Args:
        layout: the places of files.
        cell: the cell.
        headlines: the headline measures of its dataset, with their options.
    """
    paths = layout.measures(cell.dataset, cell.model), layout.design(cell.dataset, cell.model)
    if all(path.exists() for path in paths):
        measures = read_table(paths[0], MEASURES).drop_nulls(["se", "df"])
        rows = measures.filter(is_over_first_factor())
        variances = read_table(paths[1], DESIGN)
        associations = rows.filter(measure="gamma").drop_nulls(ASSOCIATION_KEYS)
        if len(associations):
            yield association_noise(associations, variances), "an association"
        elif len(rows):
            headline_rows = rows.filter(are_headlines(headlines))
            rows = headline_rows if len(headline_rows) else rows
            name = rows["measure"][0]
            rows = rows.filter(measure=name)
            variance = float(rows["se"].pow(2).median() or 0)  # type: ignore[arg-type]
            sizes = sample_sizes(rows)
            noise = mean_noise(variance, clusters=sizes.clusters, units=sizes.units)
            yield noise, name


def association_noise(rows: pl.DataFrame, variances: pl.DataFrame) -> NoiseEstimate:
    """Returns the noise of a cell's associations, between clusters and between pairs of subjects.

    A comparison of a subject with one partner has half of the variance of the sources in
    `NOISE_SOURCES`, the half of the partner, and the variance of the pair.

    Args:
        rows: measures, one row per association, at least one; `se` is not null.
        variances: the parts of the cell's variance (schema `DESIGN`).
    """
    values = dict(variances.group_by("name").agg(pl.col("value").mean()).rows())
    within = sum(max(values.get(name) or 0.0, 0.0) for name in NOISE_SOURCES) / 2 + max(
        values.get("pair") or 0.0, 0.0
    )
    cluster_variances = (rows["se"].cast(pl.Float64) ** 2 * rows["clusters"]).to_numpy()
    spread = [1.0]
    if cluster_variances.any():
        spread = (cluster_variances / cluster_variances.mean()).tolist()
    sizes = sample_sizes(rows)
    return NoiseEstimate(
        between=values["noise_sd"] ** 2,
        within=within,
        prior_df=values["prior_df"],
        clusters=sizes.clusters,
        units=sizes.units,
        spread=spread,
    )


def mean_noise(variance: float, *, clusters: int, units: float) -> NoiseEstimate:
    """Returns the noise of a mean.

    The shares of clusters and of units in its variance are unknown. Each counts as the whole, so
    the forecast is rather too wide.

    Args:
        variance: the squared standard error of the mean.
        clusters: the number of clusters.
        units: the number of units.
    """
    return NoiseEstimate(
        between=variance * clusters,
        within=variance * units,
        prior_df=0.0,
        clusters=clusters,
        units=units,
    )


class SampleSizes(NamedTuple):
    """The sizes of the samples of some measures; 0 if they are null in all.

    Attributes:
        clusters: the largest number of clusters.
        units: the median number of units.
    """

    clusters: int
    units: float


def sample_sizes(rows: pl.DataFrame) -> SampleSizes:
    """Returns the sizes of the samples of some rows of measures."""
    clusters = int(rows["clusters"].max() or 0)  # type: ignore[arg-type]
    units = float(rows["n"].median() or 0)  # type: ignore[arg-type]
    return SampleSizes(clusters, units)


@dataclass(frozen=True)
class ForecastShare:
    """The cost of a share of a dataset's variant, and the precision of its numbers.

    Attributes:
        share: the share of the instances of the config.
        instances: number of instances of a cell.
        width: width of an interval over templates; unknown if there is none.
        minimal_effect: the size of a number that is significant with a power of 80 %; unknown if
            none is.
        seconds: time of all cells together at the given rate.
    """

    share: float
    instances: Estimate
    width: Estimate
    minimal_effect: Estimate
    seconds: Estimate


@dataclass(frozen=True)
class Forecast:
    """The precision of a number of a dataset's variant.

    Attributes:
        dataset, variant: the variant.
        number: the number: an association, or the name of a measure.
        clusters: number of clusters of the variant.
        cells: number of finished cells from which the noise is estimated; 0 if it is assumed.
        steps: the forecasts for shares of the instances.
        wanted: the share whose intervals are as narrow as asked for; None if not even the whole
            has such intervals, or no width was given.
        clusters_wanted: if no share does, the number of clusters that would; None if a thousand
            would not, or if it is not needed.
    """

    dataset: str
    variant: str
    number: str
    clusters: int
    cells: int
    steps: list[ForecastShare]
    wanted: float | None
    clusters_wanted: int | None


def forecast_intervals(
    config: Config, lists: Mapping[tuple[str, str], Lists], plan: Plan, width: float | None
) -> list[Forecast]:
    """Forecasts the precision of each selected variant, sorted by dataset and variant.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        plan: the plan of the config.
        width: the maximum width of intervals, None to ask for none.
    """
    cells_by_variant = sorted(plan.cells, key=dataset_and_variant)
    return [
        forecast_variant(config, lists, dataset, variant, list(cells), width)
        for (dataset, variant), cells in groupby(cells_by_variant, key=dataset_and_variant)
    ]


def dataset_and_variant(cell: CellPlan) -> tuple[str, str]:
    """Returns the dataset and variant of a cell, for sorting and grouping."""
    return cell.dataset, cell.variant


def forecast_variant(
    config: Config,
    lists: Mapping[tuple[str, str], Lists],
    dataset: str,
    variant: str,
    cells: list[CellPlan],
    width: float | None,
) -> Forecast:
    """Forecasts the precision of a variant, from the noisiest of its finished cells.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        dataset: the dataset.
        variant: its variant.
        cells: the plans of all its cells, at least one.
        width: the maximum width of intervals, None to ask for none.
    """
    layout, alpha = Layout(config), 1 - config.statistics.level
    headlines = MetricDefinitions.from_measures(config.dataset_measures(dataset)).headlines
    measured: list[tuple[NoiseEstimate, str]] = []
    for cell in cells:
        measured += cell_noise(layout, cell, headlines)
    if measured:
        noise, number = max(measured, key=lambda pair: precision_at(pair[0], 1, alpha).width)
    else:
        clusters = template_cluster_count(config, lists, dataset, variant)
        variance = ASSUMED**2 / clusters
        units = cells[0].instances.value or 1
        noise = mean_noise(variance, clusters=clusters, units=units)
        number = "a mean over templates"
    sufficient_share = None
    sufficient_clusters = None
    if width is not None:
        sufficient_share = share_for_width(noise, width, alpha)
        if sufficient_share is None:
            sufficient_clusters = clusters_for_width(noise, width, alpha)
    return Forecast(
        dataset=dataset,
        variant=variant,
        number=number,
        clusters=noise.clusters,
        cells=len(measured),
        steps=[forecast_share(noise, share, alpha, cells) for share in SAMPLED_SHARES],
        wanted=sufficient_share,
        clusters_wanted=sufficient_clusters,
    )


def template_cluster_count(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> int:
    """Returns the number of template clusters of a variant, at least 1.

    1 also for a family without templates.
    """
    # A sample may ask only the first templates; None are all.
    template_count = None
    if (dataset, variant) in lists:
        template_count = config.family(dataset).templates_asked(lists[dataset, variant])
    clusters = variant_clusters(config, lists, dataset, variant)[:template_count]
    return max(1, len(set(clusters)))


def forecast_share(
    noise: NoiseEstimate, share: float, alpha: float, cells: list[CellPlan]
) -> ForecastShare:
    """Forecasts the cost and the precision of a share of the instances of a variant.

    Args:
        noise: the noise of the number.
        share: the share.
        alpha: the probability that an interval misses.
        cells: the plans of all cells of the variant, at least one.
    """
    precision = precision_at(noise, share, alpha)
    width, effect = (
        Estimate(None if isnan(number) else number, exact=False) for number in precision
    )
    return ForecastShare(
        share=share,
        instances=cells[0].instances.times(share, exact=share == 1),
        width=width,
        minimal_effect=effect,
        seconds=add_estimates(cell.seconds for cell in cells).times(share),
    )
