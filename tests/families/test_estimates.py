"""How sure the measures of cells are, from files of instances and predictions to tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from grouped_cells import ALL, measured
from small_cases import cases_of
from small_estimates import estimates_of
from small_statements import instances_of
from small_tables import predictions_of

from biasgrid.families.estimates import NOT_A_SAMPLE, EstimatedCell, estimate_cell
from biasgrid.families.statement.measure import AGREEMENT_IN_CASES
from biasgrid.families.statement.observe import observe
from biasgrid.groups.definitions import group_measures
from biasgrid.groups.measures import CURVE
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import sums_table
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURES, ROW, cell_table
from biasgrid.tables.metric import NOT_MEASURABLE, Limit, MetricDefinitions
from biasgrid.tables.sums import SUMS

pytestmark = pytest.mark.family("the cells are of cases and statements")

TEMPLATES, TERMS = 6, 2
UNITS = {
    name: measure.unit for name, measure in group_measures("classes", 0.1, ("template",)).items()
}
SETTINGS = StatisticsSettings(clusters=[0, 0, 1, 2, 3, 4], units=UNITS, permutations=99)
OPTIONS = ALL | {"task": "text-classification"}
HEADLINES = {"difference": "", "score": "score=mean_class_probability, mode=group"}


class GroupsCell(NamedTuple):
    """A cell of cases.

    Attributes:
        sums: its table of sums.
        values: what is measured, without intervals.
        found: its estimates.
    """

    sums: pl.DataFrame
    values: pl.DataFrame
    found: EstimatedCell

    @property
    def estimates(self) -> pl.DataFrame:
        """All estimates of groups, whatever they generalise to."""
        tables = [self.found.measures, self.found.intervals]
        return pl.concat(tables, how="diagonal").filter(pl.col("measure").is_in([*UNITS]))


def estimated(sums: pl.DataFrame, limits: dict[str, Limit] | None = None) -> EstimatedCell:
    """The estimates of a table of sums of cases."""
    declared = MetricDefinitions([], HEADLINES, limits or {})
    return estimate_cell("biasgrid.families.counterfactual", sums, OPTIONS, declared, SETTINGS)


def cell_of(folder: Path, groups: str) -> GroupsCell:
    """The measures of random answers to cases of some groups; `a` is favoured."""
    random = np.random.default_rng(5)
    rows = [
        {
            "case": case,
            "template": case // 3,
            "group": group,
            "term": f"{group} {term}",
            "bias_type": "faith",
            "text": "x",
            "label": case % 2,
        }
        for case in range(3 * TEMPLATES)
        for group in groups
        for term in range(TERMS)
    ]
    right = [random.uniform(0.4, 0.6) + 0.3 * (row["group"] == "a") for row in rows]
    said: list[dict[str, Any]] = [
        {"probabilities": [1 - share, share] if row["label"] else [share, 1 - share]}
        for row, share in zip(rows, right, strict=True)
    ]
    tables = measured(folder, "text-classification", cases_of(rows), said)
    return GroupsCell(tables.sums, tables.measures, estimated(tables.sums))


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> GroupsCell:
    return cell_of(tmp_path_factory.mktemp("cell"), "abc")


def test_every_number_is_listed_once_with_an_interval_or_a_reason(
    cell: GroupsCell,
) -> None:
    for name, schema in (("measures", MEASURES), ("intervals", INTERVALS), ("design", DESIGN)):
        validate_table(getattr(cell.found, name), schema, name)
    measures = cell.found.measures
    assert not measures.select(ROW).is_duplicated().any()
    values = cell.values.filter(pl.col("measure").is_in([*UNITS]))
    assert len(values) > 100
    assert values.join(measures, on=list(ROW), nulls_equal=True, how="anti").is_empty()
    for table in (measures, cell.found.intervals):
        rows = values.join(table, on=list(ROW), nulls_equal=True, suffix=" told")
        assert len(rows) > 0
        assert rows["value"].equals(rows["value told"], null_equal=True)
    assert set(cell.found.intervals["generalises_to"]) == {"terms", "clusters"}
    assert set(measures.filter(measure="difference")["generalises_to"]) == {"clusters x terms"}
    silent = cell.estimates.filter(pl.col("method").is_null())
    assert (
        silent.select("low", "high", "p", "selected_low").null_count().row(0) == (len(silent),) * 4
    )
    assert (measures["low"].is_null() == measures["reason"].is_not_null()).all()


def test_intervals_hold_their_values_and_clusters_are_counted(cell: GroupsCell) -> None:
    known = cell.estimates.drop_nulls(["low", "high"])
    assert (known["low"] <= known["value"] + 1e-12).all()
    assert (known["value"] <= known["high"] + 1e-12).all()
    assert set(known["clusters"]) == {TEMPLATES - 1}
    rates = known.filter(measure="failure_rate", method="effective Wilson")
    assert len(rates) == 2 * len(set(CURVE))


def test_the_favoured_group_is_found_and_no_other(cell: GroupsCell) -> None:
    rows = cell.estimates.filter(measure="difference", generalises_to="clusters")
    q = dict(zip(rows["group"] + rows["other"], rows["q"], strict=True))
    assert q["ab"] < 0.05
    assert q["ac"] < 0.05
    assert q["bc"] > 0.05
    permuted = cell.estimates.filter(pl.col("method") == "permutation (exact)")
    assert set(permuted["generalises_to"]) == {"terms", None}
    assert (permuted["null_mean"] <= permuted["value"]).all()
    # Six terms in groups of two can be assigned in 90 ways; 6 of these only give the groups other
    # names.
    assert permuted["p"].min() >= 6 / 90 - 1e-12


def test_distances_have_no_interval_but_a_corrected_number_with_the_p_of_the_permutation_test(
    cell: GroupsCell,
) -> None:
    """A folded number has no two-sided interval; what is beyond arbitrary groups has a test."""
    distances = cell.estimates.filter(measure="distance")
    assert len(distances)
    assert distances.select("low", "high", "se").null_count().row(0) == (len(distances),) * 3
    folded = distances.filter(pl.col("reason").str.starts_with("folded"))
    assert folded["options"].str.contains("mode=counterfactual").all()
    corrected = cell.estimates.filter(measure="distance_corrected")
    tested = distances.filter(generalises_to="terms").join(
        corrected, on=["bias_type", "options"], suffix="_corrected"
    )
    assert len(tested) == len(corrected) > 0
    assert (tested["value"] - tested["null_mean"] - tested["value_corrected"]).abs().max() < 1e-12
    assert (tested["p"] == tested["p_corrected"]).all()
    assert corrected["low"].is_null().all()
    assert corrected["reason"].is_not_null().all()


def test_headlines_of_a_cell_without_measurement_have_no_interval(cell: GroupsCell) -> None:
    limit = Limit(0, "nobody answered", "ask again", withholds=True)
    found = estimated(cell.sums, {"clusters": limit})
    headline = {"measure": "score", "options": HEADLINES["score"]}
    rows = found.measures.filter(**headline)
    whole = rows.filter(pl.col("group").is_null(), pl.col("template").is_null())
    assert whole.select("value", "low", "high", "se").null_count().row(0) == (1,) * 4
    assert whole["flag"].item() == f"{NOT_MEASURABLE}: nobody answered"
    # Nor has any of its groups, and nothing is tested in such a cell.
    reason = pl.col("reason") == f"{NOT_MEASURABLE}: nobody answered. To do: ask again"
    of_groups = rows.drop_nulls("group")
    assert len(of_groups) > 1
    assert of_groups.filter(pl.col("value").is_null(), reason).equals(of_groups)
    assert cell.found.measures["q"].count() > 1
    assert found.measures.select("p", "q", "holm", "bound").count().row(0) == (0,) * 4
    withheld = found.measures.filter(reason)
    assert len(withheld) > len(rows)
    assert found.intervals.join(withheld, on=list(ROW), nulls_equal=True, how="semi").is_empty()
    # What says why stays: counts, rates and checks.
    others = [
        table.filter(~reason.fill_null(value=False))
        for table in (found.measures, cell.found.measures)
    ]
    shown = others[1].join(
        withheld, on=list(ROW), nulls_equal=True, how="anti", maintain_order="left"
    )
    assert (
        others[0]
        .filter(pl.col("measure") != "clusters")
        .equals(shown.filter(pl.col("measure") != "clusters"))
    )


def test_numbers_that_no_sample_decides_have_no_interval_and_say_so() -> None:
    measured_once = pl.DataFrame(
        {"measure": ["gap"], "options": [""], "value": [0.5], "n": [3], "left_out": [0]}
    )
    sums = cell_table(sums_table([measured_once]), SUMS, "m", "d")
    found = estimate_cell(
        "biasgrid.families.counterfactual",
        sums,
        {"failure_threshold": 0.1},
        MetricDefinitions(["gap"], {}, {}),
        StatisticsSettings(units={"gap": None}),
    )
    validate_table(found.measures, MEASURES, "measures")
    row = found.measures.row(0, named=True)
    assert (row["value"], row["low"], row["generalises_to"], row["reason"]) == (
        0.5,
        None,
        None,
        NOT_A_SAMPLE,
    )
    assert found.intervals.is_empty()


def test_saying_yes_to_all_is_acquiescence_and_no_agreement(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    random = np.random.default_rng(1)
    says = random.uniform(0.7, 0.9, size=len(instances)).astype(np.float32)
    predictions = predictions_of(
        "choice", instances, probabilities=np.stack([says, 1 - says], axis=1).tolist()
    )
    options = {"measures": None, "failure_threshold": 0.1, "mode": None}
    units = {"agreement": "difference", "acquiescence": "difference", "yes_rate": "share"}
    settings = StatisticsSettings(clusters=[0, 0, 1, 1], units=units, permutations=99)  # type: ignore[arg-type]
    rows = estimates_of("statement", observe(instances, predictions, options), options, settings)
    whole = rows.filter(
        pl.col("group").is_null(), pl.col("bias_type").is_null(), pl.col("template").is_null()
    )
    found = {
        row["measure"]: row
        for row in whole.filter(pl.col("measure").is_in([*units])).iter_rows(named=True)
    }
    assert found["acquiescence"]["value"] == pytest.approx(0.3, abs=0.05)
    assert found["acquiescence"]["low"] > 0
    assert abs(found["agreement"]["value"]) < 0.05
    assert found["yes_rate"]["low"] < 1 == found["yes_rate"]["high"]
    assert {row["clusters"] for row in found.values()} == {2}
    signed = rows.filter(
        measure="difference", options=AGREEMENT_IN_CASES, generalises_to="clusters"
    )
    assert set(signed["bias_type"]) >= {"traits"}


def test_clusters_are_counted_and_few_of_them_are_reported(cell: GroupsCell) -> None:
    limit = Limit(
        4, "only {value:.0f} clusters, fewer than {limit:.0f}", "add templates", below=True
    )
    row = (
        estimated(cell.sums, {"clusters": limit})
        .measures.filter(measure="clusters")
        .row(0, named=True)
    )
    # Two of the templates are wordings of one.
    assert (row["value"], row["flag"]) == (TEMPLATES - 1, None)
    few = estimated(cell.sums, {"clusters": replace(limit, value=TEMPLATES)}).measures
    assert (
        few.filter(measure="clusters")["flag"].item()
        == f"only {TEMPLATES - 1} clusters, fewer than {TEMPLATES}"
    )


def test_numbers_are_next_to_the_size_of_their_control(cell: GroupsCell) -> None:
    differences = cell.found.measures.filter(pl.col("q").is_not_null())
    kinds = differences.select("measure", "options").unique().to_dicts()
    large = [kind | {"about": "group", "variance": 100.0, "df": 10} for kind in kinds]
    chosen = SETTINGS._replace(controls={"placebo": large})
    declared = MetricDefinitions([], HEADLINES, {})
    beside = estimate_cell("biasgrid.families.counterfactual", cell.sums, OPTIONS, declared, chosen)
    known = beside.measures.filter(control="placebo")
    against_zero = beside.intervals.join(known, on=list(ROW), how="semi", nulls_equal=True)
    assert (differences["q"] <= 0.05).any()
    assert not (known["q"] <= 0.05).any()
    assert known["method"].unique().to_list() == ["combined with the control"]
    # What it is against 0 is not lost.
    before = differences.join(known, on=list(ROW), how="semi", nulls_equal=True)
    same = before.select(*ROW, "generalises_to", "q", "low").join(
        against_zero.select(*ROW, "generalises_to", "q", "low"),
        on=[*ROW, "generalises_to", "q", "low"],
        how="semi",
        nulls_equal=True,
    )
    assert len(same) == len(before) == len(known) > 0


def test_only_what_was_measured_of_groups_enough_is_a_null(
    cell: GroupsCell, tmp_path: Path
) -> None:
    # Of three groups two differences are free: too few.
    assert cell.found.sizes == []
    many = cell_of(tmp_path, "abcdefg")
    assert {(row["about"], row["df"]) for row in many.found.sizes} == {("group", 5)}
    limit = Limit(0, "nobody answered", "ask again", withholds=True)
    withheld = estimated(many.sums, {"clusters": limit})
    assert withheld.measures["flag"].str.starts_with(NOT_MEASURABLE).any()
    assert withheld.sizes == []
