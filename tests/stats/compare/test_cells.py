"""The numbers of cells that are compared, and the clusters that they are known without."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from small_cells import design, with_scores
from small_estimates import sums_of_cell

from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.noise.jackknife import recompute_measures
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, read_cell_sums

pytestmark = pytest.mark.family("the numbers are of associations")

FAMILY, OPTIONS = "underspecified", dict[str, Any](measures=[])
SETTINGS = StatisticsSettings(clusters=[0, 1, 1, *range(2, 12)])
"""The second and the third template are one cluster, and there are more than ten."""
NAMES = ["s0", "s1", "s2"]


def cell_of(model: str, templates: list[int], seed: int = 1) -> ComparedCell:
    """A cell whose questions were answered in some templates alone; in all cells the same of
    each.
    """
    groups = design(NAMES, 2, 13)
    scores = np.random.default_rng(seed).uniform(0.1, 0.5, size=(len(groups), 8))
    some = with_scores(groups, scores).filter(pl.col("template").is_in(templates))
    family = f"biasgrid.families.{FAMILY}"
    parts, _ = read_cell_sums(family, sums_of_cell(FAMILY, some, OPTIONS), OPTIONS)
    numbers, units = compared_numbers(family, parts, OPTIONS, SETTINGS)
    return ComparedCell(model, numbers, templates="the same", units=units)


def without(cell: ComparedCell, cluster: str) -> dict[tuple[Any, ...], float]:
    """The numbers of a cell without a cluster."""
    place = [*cell.units].index(cluster)
    keys = ["measure", "subject", "attribute"]
    rows = cell.numbers.select(*keys, number=pl.col("without").list.get(place))
    return {tuple(key): number for *key, number in rows.rows()}


def values(cell: ComparedCell) -> dict[tuple[Any, ...], float]:
    """The numbers of a cell."""
    return {
        tuple(key): value
        for *key, value in cell.numbers.select("measure", "subject", "attribute", "value").rows()
    }


def test_clusters_are_known_by_their_names_in_the_order_of_their_numbers() -> None:
    cell = cell_of("one", [0, 2, 3, 11, 12])
    assert cell.units == ["0", "1", "2", "10", "11"]
    for cluster, others in (("1", [0, 3, 11, 12]), ("11", [0, 2, 3, 11])):
        assert without(cell, cluster) == pytest.approx(
            values(cell_of("without", others)), abs=1e-12
        )


def test_cells_with_clusters_of_other_templates_are_not_compared_cluster_by_cluster() -> None:
    """They have as many of the same templates, and what the one lacks would stand beside what the
    other lacks.
    """
    one, alike, other = (
        cell_of("one", [0, 1, 2, 3, 4]),
        cell_of("alike", [0, 2, 3, 4], 2),
        cell_of("o", [0, 1, 3, 5], 3),
    )
    assert one.units == alike.units == ["0", "1", "2", "3"]
    assert other.units == ["0", "1", "2", "4"]
    found = compare_models("world", [one, alike, other], SETTINGS).comparisons.filter(
        measure="strength"
    )
    paired = {(row["model"], row["other_model"]): row["paired"] for row in found.to_dicts()}
    assert paired == {("one", "alike"): True, ("one", "o"): False, ("alike", "o"): False}


def test_numbers_that_have_nothing_of_a_cluster_have_nothing_there() -> None:
    groups = design(NAMES, 2, 5).filter((pl.col("attribute") == "a0") | (pl.col("template") > 0))
    scores = np.random.default_rng(4).uniform(0.1, 0.5, size=(len(groups), 8))
    settings = StatisticsSettings(clusters=range(5))
    sums = sums_of_cell(FAMILY, with_scores(groups, scores), OPTIONS)
    family = f"biasgrid.families.{FAMILY}"
    numbers, units = compared_numbers(
        family, read_cell_sums(family, sums, OPTIONS)[0], OPTIONS, settings
    )
    assert units == ["0", "1", "2", "3", "4"]
    lists = (
        numbers.filter(measure="gamma")
        .drop_nulls("attribute")
        .select("attribute", "without")
        .rows()
    )
    missing = {
        attribute: {place for place, number in enumerate(each) if number is None}
        for attribute, each in lists
    }
    assert missing == {"a0": set(), "a1": {0}}


def test_clusters_of_what_is_measured_again_have_the_same_names() -> None:
    def measure(observations: pl.DataFrame, options: object) -> pl.DataFrame:
        return observations.select(
            measure=pl.lit("rate"), value=pl.col("value").mean(), n=pl.len().cast(pl.Int64)
        )

    observations = pl.DataFrame({"template": [0, 2, 3, 12, 13], "value": [0.1, 0.2, 0.4, 0.8, 1.6]})
    settings = SETTINGS._replace(units={"rate": "probability"})
    for templates, names in (
        ([0, 2, 3, 12, 13], ["0", "1", "2", "11", "template 13"]),
        ([2, 12], ["1", "11"]),
    ):
        some = observations.filter(pl.col("template").is_in(templates))
        (part,) = (
            each
            for each in recompute_measures(measure, some, {}, settings)
            if isinstance(each, Sums)
        )
        assert part.along["clusters"].units == names
        expected = [
            some.filter(pl.arange(pl.len()) != place)["value"].mean() for place in range(len(some))
        ]
        assert part.without[0].tolist() == pytest.approx(expected)
