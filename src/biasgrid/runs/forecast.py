"""How wide intervals will be by how much of a grid is asked: from the noise of finished cells, or
of an assumed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import isnan

import polars as pl

from biasgrid.config import Config, variant_clusters
from biasgrid.families.family import Lists
from biasgrid.runs.counts import Estimate, total
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import CellPlan, Plan
from biasgrid.stats.power import NoiseEstimate, clusters_for_width, precision_at, share_for_width
from biasgrid.tables.completeness import are_headlines
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import DESIGN, MEASURES, is_over_first_factor
from biasgrid.tables.metric import MetricDefinitions

ASSOCIATION = ("subject", "attribute")
NOISE_SOURCES = ("subject", "association", "subject x cluster", "association x cluster")

SAMPLED_SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
ASSUMED = 0.1
"""Standard deviation between clusters where no cell is finished: about that of a model whose
strongest associations are 0.2 and as much the cluster's as the subject's.
"""


def noise_of_cell(
    layout: Layout, cell: CellPlan, headlines: Mapping[str, str]
) -> Iterator[tuple[NoiseEstimate, str]]:
    """Yields the noise of a finished cell, and the number whose noise it is; nothing for an
    unfinished cell.
    """
    paths = layout.measures(cell.dataset, cell.model), layout.design(cell.dataset, cell.model)
    if all(path.exists() for path in paths):
        known = read_table(paths[0], MEASURES).drop_nulls(["se", "df"])
        rows = known.filter(is_over_first_factor())
        variances = read_table(paths[1], DESIGN)
        associations = rows.filter(measure="gamma").drop_nulls(ASSOCIATION)
        if len(associations):
            yield noise_of_associations(associations, variances), "an association"
        elif len(rows):
            some = rows.filter(are_headlines(headlines))
            rows = some if len(some) else rows
            name = rows["measure"][0]
            rows = rows.filter(measure=name)
            variance = float(rows["se"].pow(2).median() or 0)  # type: ignore[arg-type]
            yield noise_of_mean(variance, *sample_sizes(rows)), name


def noise_of_associations(rows: pl.DataFrame, variances: pl.DataFrame) -> NoiseEstimate:
    """Returns the noise of a cell's associations: that of its clusters, and of pairs of subjects
    within them.

    A subject's comparison with one partner varies with half of the variance of subjects, which is
    all the partner's, and with what is the pair's own.
    """
    values = dict(variances.group_by("name").agg(pl.col("value").mean()).rows())
    within = sum(max(values.get(name) or 0.0, 0.0) for name in NOISE_SOURCES) / 2 + max(
        values.get("pair") or 0.0, 0.0
    )
    of_clusters = (rows["se"].cast(pl.Float64) ** 2 * rows["clusters"]).to_numpy()
    spread = (of_clusters / of_clusters.mean()).tolist() if of_clusters.any() else [1.0]
    return NoiseEstimate(
        values["noise_sd"] ** 2, within, values["prior_df"], *sample_sizes(rows), spread
    )


def noise_of_mean(variance: float, clusters: int, units: float) -> NoiseEstimate:
    """Returns the noise of a mean, whose parts of clusters and of units are unknown: both count in
    full.
    """
    return NoiseEstimate(variance * clusters, variance * units, 0.0, clusters, units)


def sample_sizes(rows: pl.DataFrame) -> tuple[int, float]:
    """Returns how many clusters and units a number has."""
    return int(rows[("clusters")].max() or 0), float(rows[("n")].median() or 0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ForecastShare:
    """What a share of a dataset's variant costs, and how certain its numbers are.

    Attributes:
        share: which share of what the config asks.
        instances: how many instances a cell has.
        width: from the lower to the upper end of an interval over templates; unknown where there is
            none.
        minimal_effect: the size of a number that is found in 80 % of cells; unknown where none is.
        seconds: how long all cells take together at the given rate.
    """

    share: float
    instances: Estimate
    width: Estimate
    minimal_effect: Estimate
    seconds: Estimate


@dataclass(frozen=True)
class Forecast:
    """How certain one number of a dataset's variant will be.

    Attributes:
        dataset, variant: what is asked.
        number: which number: an association, or the name of a measure.
        clusters: how many clusters the variant has.
        cells: how many finished cells this is from; of none, from what is assumed.
        steps: the forecasts for shares of it.
        wanted: the share that has intervals of the wanted width; None where none has, or no width
            is wanted.
        clusters_wanted: how many clusters had such intervals, where no share has; None where a
            thousand had not.
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
    config: Config, lists: Mapping[tuple[str, str], Lists], planned: Plan, width: float | None
) -> list[Forecast]:
    """Returns how certain the numbers of each variant of a dataset will be.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        planned: what its cells cost.
        width: how wide intervals may be, None where that is not asked.
    """
    variants = sorted(planned.cells, key=dataset_and_variant)
    return [
        forecast_variant(config, lists, dataset, variant, list(cells), width)
        for (dataset, variant), cells in groupby(variants, key=dataset_and_variant)
    ]


def dataset_and_variant(cell: CellPlan) -> tuple[str, str]:
    """Returns the dataset and the variant that a cell asks."""
    return cell.dataset, cell.variant


def forecast_variant(
    config: Config,
    lists: Mapping[tuple[str, str], Lists],
    dataset: str,
    variant: str,
    cells: list[CellPlan],
    width: float | None,
) -> Forecast:
    """Returns how certain the numbers of one variant will be; of several finished cells the
    noisiest counts.
    """
    layout, alpha = Layout(config), 1 - config.statistics.level
    headlines = MetricDefinitions.from_measures(config.dataset_measures(dataset)).headlines
    found = [each for cell in cells for each in noise_of_cell(layout, cell, headlines)]
    clusters = template_cluster_count(config, lists, dataset, variant)
    assumed = (
        noise_of_mean(ASSUMED**2 / clusters, clusters, cells[0].instances.value or 1),
        "a mean over templates",
    )
    noise, number = (
        max(found, key=lambda each: precision_at(each[0], 1, alpha).width) if found else assumed
    )
    wanted = share_for_width(noise, width, alpha) if width is not None else None
    missed = width is not None and wanted is None
    return Forecast(
        dataset,
        variant,
        number,
        noise.clusters,
        len(found),
        [forecast_share(noise, share, alpha, cells) for share in SAMPLED_SHARES],
        wanted,
        clusters_for_width(noise, width, alpha) if missed and width is not None else None,
    )


def template_cluster_count(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> int:
    """Returns how many clusters a variant asks; 1 if its family has no templates."""
    count = (
        config.family(dataset).templates_asked(lists[dataset, variant])
        if (dataset, variant) in lists
        else None
    )
    return max(1, len(set(variant_clusters(config, lists, dataset, variant)[:count])))


def forecast_share(
    noise: NoiseEstimate, share: float, alpha: float, cells: list[CellPlan]
) -> ForecastShare:
    """Returns what a share costs and how wide its intervals will be."""
    found = precision_at(noise, share, alpha)
    width, effect = (Estimate(None if isnan(each) else each, exact=False) for each in found)
    instances = cells[0].instances.times(share, exact=share == 1)
    return ForecastShare(
        share, instances, width, effect, total(cell.seconds for cell in cells).times(share)
    )
