"""Differences of two groups of names over clusters and names, against an independent
implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl
import pytest
from golden_statistics import ABSOLUTE, BISECTED, RELATIVE, claims_of, inputs_of
from worlds import Array, gamma_of_groups, group_difference

from biasgrid.stats.estimate import estimate
from biasgrid.stats.noise.random_factors import group_sources
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums

FILES = {cell: file for file in ("groups", "groups_few") for cell in claims_of(file)}
CELLS = claims_of("groups") | claims_of("groups_few")


@cache
def lists_of(cell: str) -> tuple[Array, Array]:
    """The values of both groups, shape (attributes, names, clusters)."""
    rows = inputs_of(FILES[cell]).filter(cell=cell).sort("attribute", "name", "cluster")
    shape = rows["attribute"].n_unique(), -1, rows["cluster"].n_unique()
    one, other = (
        rows.filter(group=group)["value"].to_numpy().reshape(shape) for group in ("one", "two")
    )
    return one, other


def numbers(values: list[float | str]) -> Array:
    return np.array([np.inf if value == "inf" else value for value in values], dtype=float)


@pytest.mark.parametrize("cell", CELLS)
def test_sources_of_names(cell: str) -> None:
    golden = CELLS[cell]
    sources = group_sources(group_difference(*lists_of(cell)))
    assert ["names", "names in common"][: len(sources)] == [
        name for name in golden["sources"].split(", ") if name.startswith("names")
    ]
    for source, variances, dfs in zip(
        sources, golden["variances"][1:], golden["dfs"][1:], strict=False
    ):
        np.testing.assert_allclose(source.variance, numbers(variances), RELATIVE, ABSOLUTE)
        np.testing.assert_allclose(source.df, numbers(dfs), RELATIVE, ABSOLUTE)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("factors", ["terms", "names"])
def test_claims_of_groups(cell: str, factors: str) -> None:
    golden, lists = CELLS[cell], lists_of(cell)
    # Of two lists an association is half of the difference, and both groups have it, as in a run.
    sums, share = (
        (group_difference(*lists), 1) if factors == "terms" else (gamma_of_groups(*lists), 2)
    )
    claims = estimate([sums], StatisticsSettings()).filter("is_claim")
    found = claims if factors == "terms" else claims.filter(subject_group="group 0")
    assert len(found) == len(golden["value"])
    assert set(found["generalises_to"]) == {f"clusters x {factors}"}
    for column in ("value", "low", "high"):
        np.testing.assert_allclose(
            share * found[column], numbers(golden[column]), BISECTED, BISECTED
        )
    for column in ("p", "q"):
        np.testing.assert_allclose(found[column], numbers(golden[column]), BISECTED, ABSOLUTE)


@pytest.mark.parametrize(
    ("sums_of", "name"), [(gamma_of_groups, "name"), (group_difference, "term")]
)
def test_nothing_can_be_said_of_a_group_of_one_name(
    sums_of: Callable[..., Sums], name: str
) -> None:
    one, other = lists_of("names-only")
    rows = estimate([sums_of(one[:, :1], other)], StatisticsSettings()).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    claims = rows.filter("is_claim")
    assert claims.select("low", "high", "p", "q").null_count().row(0) == (len(claims),) * 4
    assert set(claims["reason"]) == {f"one {name}: nothing can be said of the group"}
    # Over clusters alone it is said of these very names.
    assert rows.filter(~pl.col("is_claim"), generalises_to="clusters")["low"].null_count() == 0


@pytest.mark.parametrize("attributes", [1, 12])
def test_names_that_are_alike_leave_what_clusters_say(attributes: int) -> None:
    random = np.random.default_rng(1)
    alike = random.normal(size=(2, attributes, 1, 6)) + np.zeros((1, 1, 4, 1))
    rows = estimate([group_difference(*alike)], StatisticsSettings())
    over_all, over_clusters = (
        rows.filter(generalises_to=name) for name in ("clusters x terms", "clusters")
    )
    np.testing.assert_allclose(over_all["low"], over_clusters["low"], 1e-9)
    np.testing.assert_allclose(over_all["p"], over_clusters["p"], 1e-6)


def test_what_sets_a_group_of_partners_apart_is_no_noise_of_its_names() -> None:
    groups = np.random.default_rng(2).normal(size=(3, 12, 4, 5))
    apart = groups + np.array([0, 3, -3])[:, None, None, None]
    widths = []
    for each in (groups, apart):
        found = estimate([gamma_of_groups(*each)], StatisticsSettings()).filter(
            "is_claim", subject_group="group 0"
        )
        widths.append((found["high"] - found["low"]).to_numpy())
    # Variances may follow the size of numbers, but the distance of the groups is no noise of names.
    np.testing.assert_allclose(widths[0], widths[1], 0.1)
