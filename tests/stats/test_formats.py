"""Prompt formats as a random factor: what is claimed is claimed of other formats, too."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from format_worlds import FORMATS_ASKED, SHAPE, TEMPLATES_ASKED, world
from worlds import gamma_of_groups

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.clusters import (
    cluster_positions,
    index_templates,
    parse_units,
    template_units,
)
from biasgrid.stats.estimate import estimate
from biasgrid.stats.noise.variance_components import crossed_components, variance_components
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import MEAN, PROMPT_FORMATS, TEMPLATES, Along, SignificanceTest, Sums


def coverage(gain: float, seeds: int) -> dict[str, float]:
    """How often the intervals of associations cover what is true, by the factors that they are
    over.
    """
    random, found = np.random.default_rng(7), []
    for _ in range(seeds):
        truth = random.normal(size=SHAPE[:2])
        rows = estimate([world(random, truth, gain)], StatisticsSettings())
        within = pl.col("truth").is_between("low", "high").mean()
        numbers = pl.Series("truth", np.tile(truth.ravel(), len(rows) // truth.size))
        found.append(rows.with_columns(numbers).group_by("generalises_to").agg(within))
    means = pl.concat(found).group_by("generalises_to").agg(pl.col("truth").mean())
    return dict(means.rows())


def test_intervals_over_formats_cover_and_those_over_clusters_alone_do_not() -> None:
    found = coverage(gain=0.0, seeds=40)
    assert found["clusters x formats"] >= 0.93
    assert found["clusters"] <= 0.85


@pytest.mark.long
@pytest.mark.parametrize("gain", [0.0, 0.3])
def test_intervals_over_formats_cover_with_and_without_an_effect_of_formats(gain: float) -> None:
    assert coverage(gain, seeds=300)["clusters x formats"] >= 0.93


def test_a_claim_is_over_formats_where_there_are_several_and_as_ever_where_there_is_one() -> None:
    sums = world(np.random.default_rng(1), np.zeros(SHAPE[:2]))
    rows = estimate([sums], StatisticsSettings())
    assert rows.filter("is_claim")["generalises_to"].unique().to_list() == ["clusters x formats"]
    units, columns = sums.along[TEMPLATES]
    one = Along([unit[0] for unit in units[::3]], columns[:, ::3])
    plain = estimate(
        [
            Sums(
                sums.keys,
                {TEMPLATES: one},
                finish=MEAN,
                interval="moderated t",
                test=SignificanceTest.CORRECTED,
            )
        ],
        StatisticsSettings(),
    )
    assert plain["generalises_to"].unique().to_list() == ["clusters"]
    alone = Along([f"{unit[0]}/0" for unit in units[::3]], columns[:, ::3])
    only = estimate(
        [
            Sums(
                sums.keys,
                {TEMPLATES: alone},
                finish=MEAN,
                interval="moderated t",
                test=SignificanceTest.CORRECTED,
            )
        ],
        StatisticsSettings(),
    )
    assert only.filter("is_claim")["reason"].unique().to_list() == ["one prompt format"]
    assert only.filter("is_claim")["low"].null_count() == len(sums.keys)


def test_a_unit_is_a_template_in_a_format() -> None:
    asked = pl.DataFrame(
        {"template": [3, 0, 3], "prompt_format": [1, 0, 0]},
        schema_overrides={"template": pl.UInt16},
    )
    units = template_units(asked)
    place, names = index_templates(units)
    assert [names[each] for each in place] == ["3/1", "0/0", "3/0"]
    assert parse_units(["3/1", "4"])[0].tolist() == [3, 4]
    assert parse_units(["3/1", "4"])[1] == ["1", ""]
    assert cluster_positions(units, [0, 1, 2, 2]).tolist() == [1, 0, 1]
    plain = template_units(asked.drop("prompt_format"))
    assert index_templates(plain)[1] == ["0", "3"]


def test_clusters_and_formats_are_sums_of_the_same_units() -> None:
    sums = world(np.random.default_rng(2), np.zeros(SHAPE[:2]))
    clustered = sums.clustered([0, 0, 1, 2, 3, 4, 5])
    assert clustered.along[TEMPLATES].units == ["0", "1", "2", "3", "4", "5"]
    assert clustered.along[PROMPT_FORMATS].units == ["0", "1", "2"]
    columns = sums.along[TEMPLATES].sums.reshape(-1, TEMPLATES_ASKED, FORMATS_ASKED, 2)
    assert clustered.along[PROMPT_FORMATS].sums == pytest.approx(columns.sum(axis=1))
    assert clustered.along[TEMPLATES].sums[:, 0] == pytest.approx(columns[:, :2].sum(axis=(1, 2)))
    assert clustered.values == pytest.approx(sums.values)


def test_the_variance_of_formats_is_distinguished_from_the_variance_of_templates() -> None:
    random, shape = np.random.default_rng(3), (20, 8, 6, 5)
    spread = {
        (): 0.5,
        (1,): 1.0,
        (2,): 0.3,
        (3,): 0.4,
        (1, 2): 0.6,
        (1, 3): 0.7,
        (2, 3): 0.2,
        (1, 2, 3): 0.5,
    }
    drawn = []
    for _ in range(40):
        parts = [
            size
            * random.normal(
                size=[length if axis in (0, *axes) else 1 for axis, length in enumerate(shape)]
            )
            for axes, size in spread.items()
        ]
        drawn.append(sum(parts))
    found = [crossed_components(utilities) for utilities in drawn]
    means = {axes: float(np.mean([each[axes] for each in found])) for axes in spread}
    assert means == pytest.approx({axes: size**2 / 2 for axes, size in spread.items()}, abs=0.03)
    of_two = variance_components(drawn[0][..., 0])
    assert of_two is not None
    assert [*of_two] == [*crossed_components(drawn[0][..., 0]).values()]


def groups_world(
    random: np.random.Generator, of_format: float, names: int = 6
) -> tuple[Sums, FloatArray]:
    """Associations of two groups whose names, templates and formats have random effects, and what
    is true of them.
    """
    theta = random.normal(size=(12, 1, 1, 1))
    shape = 12, names, 5, FORMATS_ASKED
    lists = []
    for sign in (1, -1):
        values = (
            sign * theta / 2
            + 0.5 * random.normal(size=(*shape[:2], 1, 1))
            + 0.5 * random.normal(size=shape)
        )
        values = values + 0.5 * random.normal(size=(shape[0], 1, shape[2], 1))
        lists.append(values + of_format * random.normal(size=(shape[0], 1, 1, shape[3])))
    sums = gamma_of_groups(*(each.reshape(12, names, -1) for each in lists))
    units = [f"{template}/{place}" for template, place in product(range(5), range(FORMATS_ASKED))]
    # The second group has the numbers of the first with the other sign.
    truth = np.concatenate([theta.ravel() / 2, -theta.ravel() / 2])
    return replace(
        sums, along={**sums.along, TEMPLATES: Along(units, sums.along[TEMPLATES].sums)}
    ), truth


def test_claims_about_groups_are_over_names_and_formats() -> None:
    random, found = np.random.default_rng(4), []
    for _ in range(25):
        sums, truth = groups_world(random, of_format=0.5)
        rows = estimate([sums], StatisticsSettings())
        numbers = pl.Series("truth", np.tile(truth, len(rows) // len(truth)))
        found.append(rows.with_columns(numbers))
        assert rows.filter("is_claim")["generalises_to"].unique().to_list() == [
            "clusters x names x formats"
        ]
    covers = pl.col("truth").is_between("low", "high").mean()
    means = dict(
        pl.concat(found, how="diagonal_relaxed").group_by("generalises_to").agg(covers).rows()
    )
    assert means["clusters x names x formats"] >= 0.93
    assert means["clusters"] <= 0.8
