"""What cells are measured as: sums that can be written, and that make numbers without any of their
clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from grouped_cells import ALL
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from small_cases import cases_of
from small_cells import design, with_scores
from small_estimates import estimates_of, reference, sums_of_cell
from small_statements import instances_of
from small_tables import predictions_of

from biasgrid.base.references import load, stage_module
from biasgrid.families.cell import parts_of
from biasgrid.families.counterfactual.observe import observe as observe_cases
from biasgrid.families.estimates import estimate_cell
from biasgrid.families.statement.observe import observe as observe_statements
from biasgrid.stats.compare.cells import compared_numbers
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Sums, read_cell_sums
from biasgrid.tables.measures import ROW
from biasgrid.tables.metric import MetricDefinitions

pytestmark = [pytest.mark.slow, pytest.mark.family("sums are those of three families")]

SETTINGS = StatisticsSettings(clusters=[0, 0, 1, 1, 2, 2], permutations=19)
"""Statements and their negations are of one cluster; other templates are two by two."""
TEMPLATES_OF_STATEMENTS = (
    "template_id,template_text,param_1,param_2,constraints,label,negation_of\n"
    + "".join(
        f"{name},#1 {verb} {word} #2.,people,{other},{limit},No,\n"
        f"not-{name},#1 {verb} not {word} #2.,people,{other},{limit},Yes,{name}\n"
        for name, verb, word, other, limit in (
            ("calm", "are", "calmer than", "people", '"neq(#1, #2)"'),
            ("kind", "are", "often", "traits", ""),
            ("seem", "seem", "always", "traits", ""),
        )
    )
)
NO_NUMBERS = ("term_scores", "comparison_squares", "pair_counts")
"""Inputs of tests and variances, which have no templates."""


class SmallCell(NamedTuple):
    """What is observed of a cell."""

    family: str
    observations: pl.DataFrame
    measure_options: dict[str, Any]


def swap_groups(seed: int) -> SmallCell:
    """Random answers about subjects of two groups; one is not asked in all templates."""
    groups = design(["s0", "s1", "s2", "s3"], 3, 6, ["f", "f", "m", "m"])
    groups = groups.filter((pl.col("subject2") != "s3") | (pl.col("template") > 1))
    scores = np.random.default_rng(seed).uniform(0.1, 0.5, size=(len(groups), 8))
    options = {
        "measures": None,
        "failure_threshold": 0.1,
        "task": "question-answering",
        "stereotypes": {"a0": "f"},
    }
    return SmallCell("underspecified", with_scores(groups, scores), options)


def statements(folder: Path, seed: int) -> SmallCell:
    """Random answers to statements, some of which are missing."""
    instances = instances_of(folder, templates=TEMPLATES_OF_STATEMENTS, repetitions=2)
    random = np.random.default_rng(seed)
    says = random.uniform(size=(len(instances), 2)).astype(np.float32)
    said = [None if random.random() < 0.1 else row for row in says.tolist()]
    predictions = predictions_of("choice", instances, probabilities=said)
    options = {"measures": None, "failure_threshold": 0.1, "mode": None}
    return SmallCell("statement", observe_statements(instances, predictions, options), options)


def cases(seed: int) -> SmallCell:
    """Random classes of cases about three groups of two terms each."""
    rows = [
        {
            "case": case,
            "template": case // 2,
            "group": group,
            "term": f"{group} {term}",
            "text": f"{case}",
            "label": case % 2,
        }
        for case in range(12)
        for group in "abc"
        for term in range(2)
    ]
    instances, right = cases_of(rows), np.random.default_rng(seed).uniform(size=len(rows))
    predictions = predictions_of(
        "choice", instances, probabilities=np.stack([right, 1 - right], axis=1).tolist()
    )
    options = ALL | {"task": "text-classification"}
    return SmallCell("counterfactual", observe_cases(instances, predictions, options), options)


@pytest.fixture(scope="module", params=["underspecified", "statement", "counterfactual"])
def cell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SmallCell:
    if request.param == "statement":
        return statements(tmp_path_factory.mktemp("pack"), 1)
    return swap_groups(1) if request.param == "underspecified" else cases(1)


def measured(cell: SmallCell, observations: pl.DataFrame | None = None) -> list[Sums]:
    """The sums of a cell, or of some of its observations."""
    measure = load(stage_module(reference(cell.family), "measures")).measure
    parts = parts_of(
        measure,
        cell.observations if observations is None else observations,
        cell.measure_options,
        SETTINGS,
    )
    return [part for part in parts if isinstance(part, Sums)]


def values_of(sums: list[Sums]) -> dict[tuple[Any, ...], float]:
    """The numbers of sums over templates by their keys."""
    return {
        key: value
        for part in sums
        if part.factor == TEMPLATES
        for key, value in zip(keys_of(part), part.values.tolist(), strict=True)
    }


def keys_of(part: Sums) -> list[tuple[Any, ...]]:
    """The keys of numbers, as text."""
    missing = [pl.lit(None, pl.String).alias(key) for key in ROW if key not in part.keys.columns]
    return part.keys.with_columns(missing).select(pl.col(ROW).cast(pl.String)).rows()


def test_sums_that_are_written_and_read_make_the_same_estimates(cell: SmallCell) -> None:
    sums = measured(cell)
    written = sums_of_cell(*cell, SETTINGS)
    again, _ = read_cell_sums(reference(cell.family), written, cell.measure_options)
    assert len(again) == len([part for part in sums if len(part.keys)])
    found, expected = (estimate(parts, SETTINGS) for parts in (again, sums))
    texts = expected.cast({pl.Categorical: pl.String, pl.UInt16: pl.UInt16})
    assert len(texts) > 50
    assert found.select(texts.columns).cast(texts.schema).equals(texts)


def test_every_number_has_an_interval_or_a_reason(cell: SmallCell) -> None:
    sums = sums_of_cell(*cell, SETTINGS)
    found = estimate_cell(
        reference(cell.family), sums, cell.measure_options, MetricDefinitions([], {}, {}), SETTINGS
    )
    measures = found.measures
    assert not measures.select(ROW).is_duplicated().any()
    silent = measures.filter(pl.col("low").is_null())
    assert 0 < len(silent) < len(measures)
    assert silent.filter(pl.col("reason").is_null() & pl.col("flag").is_null()).is_empty()
    # Of two clusters there is an interval and no test.
    both = measures.filter(pl.col("low").is_not_null() & pl.col("reason").is_not_null())
    assert both["reason"].str.starts_with("untestable: ").all()
    assert both["q"].null_count() == len(both)


def without_each(cell: SmallCell, chosen: StatisticsSettings = SETTINGS) -> Iterator[pl.DataFrame]:
    """The observations without each cluster."""
    for cluster in sorted(set(chosen.clusters)):
        kept = [number for number, own in enumerate(chosen.clusters) if own != cluster]
        yield cell.observations.filter(pl.col("template").is_in(kept))


def assert_jackknife_is_a_loop(cell: SmallCell) -> None:
    """Measures a cell again without each cluster."""
    again = [values_of(measured(cell, some)) for some in without_each(cell)]
    compared = 0
    for part in measured(cell):
        if part.keys["measure"][0] in NO_NUMBERS or part.factor != TEMPLATES:
            continue
        clustered = part.clustered(SETTINGS.clusters)
        places = [int(unit) for unit in clustered.along[TEMPLATES].units]
        present = clustered.along[TEMPLATES].present
        for key, value, has, without in zip(
            keys_of(part), part.values, present, clustered.without, strict=True
        ):
            expected = np.array([again[place].get(key, np.nan) for place in places])
            # Nothing is said of a number that would have no value without one of its clusters.
            if np.isnan(expected[has]).any():
                assert np.isnan(without).all(), key
                continue
            assert_allclose(without[has], expected[has], atol=1e-12, err_msg=str(key))
            assert np.isnan(without[~has]).all(), key
            assert_allclose(
                expected[~has], np.full((~has).sum(), value), atol=1e-12, err_msg=str(key)
            )
            compared += 1
    assert compared > 50


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10_000))
def test_associations_without_a_cluster_match_a_measurement_without_it(seed: int) -> None:
    assert_jackknife_is_a_loop(swap_groups(seed))


@pytest.mark.parametrize("seed", range(3))
def test_statements_without_a_cluster_match_a_measurement_without_it(
    seed: int, tmp_path: Path
) -> None:
    assert_jackknife_is_a_loop(statements(tmp_path, seed))


def test_cases_without_a_cluster_match_a_measurement_without_it() -> None:
    assert_jackknife_is_a_loop(cases(3))


def test_what_is_corrected_for_noise_is_made_again_without_each_cluster() -> None:
    cell, chosen = swap_groups(2), SETTINGS._replace(clusters=[0, 0, 1, 2, 3, 4])
    sums = sums_of_cell(*cell, chosen)
    parts, _ = read_cell_sums(reference(cell.family), sums, cell.measure_options)
    numbers, units = compared_numbers(reference(cell.family), parts, cell.measure_options, chosen)
    assert units == ["0", "1", "2", "3", "4"]
    again = [
        estimates_of(cell.family, some, cell.measure_options, chosen)
        for some in without_each(cell, chosen)
    ]
    for name in ("mu_corrected", "eta_corrected", "strength"):
        expected = [each.filter(measure=name)["value"].item() for each in again]
        assert_allclose(
            numbers.filter(measure=name)["without"].item().to_numpy(), expected, atol=1e-12
        )
