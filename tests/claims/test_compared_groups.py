"""Models compared in what they say of groups: where only names differ, groups do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from format_worlds import SHAPE
from format_worlds import world as of_formats
from worlds import Array, gamma_of_groups, group_difference

from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.compare.names import claims_over_more
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, read_sums, sums_table

ATTRIBUTES, NAMES, CLUSTERS, EFFECT = 16, 8, 6, 3.0
FAMILY = "biasgrid.families.counterfactual"


def names_of(random: np.random.Generator) -> Array:
    """What a model says of the names of a group: a preference of its own for each in each
    attribute, and noise.
    """
    return np.asarray(
        random.normal(size=(ATTRIBUTES, NAMES, 1))
        + random.normal(size=(ATTRIBUTES, NAMES, CLUSTERS))
    )


def cell_of(model: str, part: Sums) -> ComparedCell:
    parts, _ = read_sums(sums_table([part]), {})
    numbers, units = compared_numbers(
        FAMILY, parts, {}, StatisticsSettings(clusters=range(CLUSTERS))
    )
    return ComparedCell(
        model, numbers, templates="the same", units=units, over_more=claims_over_more(parts)
    )


def parts_of(random: np.random.Generator, kind: str, effect: float = 0.0) -> Sums:
    one, other = names_of(random), names_of(random)
    one[::8] += effect
    return group_difference(one, other) if kind == "terms" else gamma_of_groups(one, other)


def compared(*cells: ComparedCell) -> pl.DataFrame:
    return compare_models("names", cells, StatisticsSettings()).comparisons


def share_with_findings(kind: str, runs: int, *, over_names: bool = True) -> float:
    """In how many worlds two models are told to differ in an association of a group."""
    found = 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        cells = [cell_of(name, parts_of(random, kind)) for name in "ab"]
        chosen = cells if over_names else [replace_of(cell) for cell in cells]
        found += bool((compared(*chosen)["q"] <= SIGNIFICANT).any())
    return found / runs


def replace_of(cell: ComparedCell) -> ComparedCell:
    """The same cell, of whose names nothing is known."""
    return cell._replace(over_more=())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["terms", "names"])
def test_models_whose_names_differ_do_not_differ_in_groups(kind: str) -> None:
    assert share_with_findings(kind, 40) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 40)
    assert share_with_findings(kind, 10, over_names=False) >= 0.9


@pytest.mark.long
@pytest.mark.parametrize("kind", ["terms", "names"])
def test_models_whose_names_differ_do_not_differ_in_groups_in_many_worlds(kind: str) -> None:
    assert share_with_findings(kind, 200) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_models_that_differ_in_a_group_are_distinguished() -> None:
    random, found = np.random.default_rng(3), []
    for _ in range(10):
        rows = compared(
            cell_of("a", parts_of(random, "names", EFFECT)), cell_of("b", parts_of(random, "names"))
        )
        is_true = pl.col("attribute").is_in(["attribute 0", "attribute 8"])
        found.append((rows.filter(is_true)["q"] <= SIGNIFICANT).mean())
        assert rows["other_factors"].unique().to_list() == ["names"]
        assert rows["se"].null_count() == len(rows)
    assert np.mean(found) >= 0.9


def test_a_model_does_not_differ_from_itself() -> None:
    part = parts_of(np.random.default_rng(4), "terms")
    rows = compared(cell_of("a", part), cell_of("b", part))
    assert rows["difference"].abs().max() == 0
    assert rows["p"].null_count() == len(rows)


def test_names_that_one_model_was_not_asked_say_nothing() -> None:
    random = np.random.default_rng(5)
    whole, part = parts_of(random, "terms"), parts_of(random, "terms")
    sums = part.along["terms"].sums.copy()
    sums[:, 0] = 0
    fewer = replace(part, along={**part.along, "terms": part.along["terms"]._replace(sums=sums)})
    rows = compared(cell_of("a", whole), cell_of("b", fewer))
    assert rows["low"].null_count() == 0
    assert (rows["low"] < rows["difference"]).all()


def in_formats(model: str, random: np.random.Generator) -> ComparedCell:
    """A model whose associations differ by prompt format, and are nothing on average."""
    parts, _ = read_sums(sums_table([of_formats(random, np.zeros(SHAPE[:2]), of_format=1.0)]), {})
    settings = StatisticsSettings(clusters=range(SHAPE[2]))
    numbers, units = compared_numbers(FAMILY, parts, {}, settings)
    over_more = claims_over_more([part.clustered(settings.clusters) for part in parts])
    return ComparedCell(model, numbers, templates="the same", units=units, over_more=over_more)


def test_models_that_differ_in_three_formats_alone_do_not_differ() -> None:
    found = {"formats": 0, "clusters": 0}
    for seed in range(30):
        random = np.random.default_rng(seed)
        cells = [in_formats(name, random) for name in "ab"]
        rows = compared(*cells)
        assert rows["other_factors"].unique().to_list() == ["formats"]
        found["formats"] += bool((rows["q"] <= SIGNIFICANT).any())
        found["clusters"] += bool((compared(*map(replace_of, cells))["q"] <= SIGNIFICANT).any())
    assert found["formats"] <= 3
    assert found["clusters"] >= 25
