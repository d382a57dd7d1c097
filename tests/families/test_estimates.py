"""How sure the measures of cells are, from files of instances and predictions to tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from grouped_cells import ALL, measured
from small_cases import cases_of
from small_statements import instances_of
from small_statements import measured as measured_statements
from small_tables import predictions_of

from biasgrid.families.statement.measure import observe
from biasgrid.families.statement.statistics import AGREEMENT_IN_CASES, statistics
from biasgrid.families.uncertainty import statistics_of_cell, statistics_table, with_unknown_rows, withhold_headlines
from biasgrid.groups.definitions import measures_of_groups
from biasgrid.groups.tables import CURVE
from biasgrid.stats.settings import CellStatistics, StatisticsSettings
from biasgrid.tables.files import validate_table
from biasgrid.tables.metric import NOT_MEASURABLE
from biasgrid.tables.statistics import ROW, STATISTICS, STATISTICS_TABLES

TEMPLATES, TERMS = 6, 2
UNITS = {name: measure.unit for name, measure in measures_of_groups("classes", 0.1, ("template",)).items()}
SETTINGS = StatisticsSettings(clusters=[0, 0, 1, 2, 3, 4], units=UNITS, permutations=99)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, CellStatistics]:
    """The measures and statistics of random answers to cases of three groups; one is favoured."""
    folder, random = tmp_path_factory.mktemp("cell"), np.random.default_rng(5)
    rows = [
        {"case": case, "template": case // 3, "group": group, "term": f"{group} {term}", "bias_type": "faith",
         "text": "x", "label": case % 2}
        for case in range(3 * TEMPLATES) for group in "abc" for term in range(TERMS)
    ]  # fmt: skip
    right = [random.uniform(0.4, 0.6) + 0.3 * (row["group"] == "a") for row in rows]
    said: list[dict[str, Any]] = [
        {"probabilities": [1 - share, share] if row["label"] else [share, 1 - share]}
        for row, share in zip(rows, right, strict=True)
    ]
    measures = measured(folder, "text-classification", cases_of(rows), said).measures
    found = statistics_of_cell(
        "biasgrid.families.counterfactual", folder / "instances.parquet", [folder / "predictions.parquet"], "choice",
        ALL | {"task": "text-classification"}, measures, {}, SETTINGS,
    )  # fmt: skip
    return measures, found


def test_every_measure_has_a_row_for_all_that_it_may_generalise_over(cell: tuple[pl.DataFrame, CellStatistics]) -> None:
    measures, found = cell
    for name, schema in STATISTICS_TABLES.items():
        validate_table(getattr(found, name), schema, name)
    asked = measures.filter(pl.col("measure").is_in(list(UNITS)))
    assert len(asked) > 100
    for generalises_to in ("templates", "subjects", "all"):
        rows = asked.join(
            found.statistics.filter(generalises_to=generalises_to),
            on=list(ROW),
            nulls_equal=True,
            how="left",
            suffix=" told",
        )
        assert rows["generalises_to"].null_count() == 0
        assert rows["value"].equals(rows["value told"], null_equal=True)
    silent = found.statistics.filter(method="none")
    assert silent.select("low", "high", "p", "selected_low").null_count().row(0) == (len(silent),) * 4


def test_intervals_hold_their_values_and_clusters_are_counted(cell: tuple[pl.DataFrame, CellStatistics]) -> None:
    known = cell[1].statistics.drop_nulls(["low", "high"])
    assert (known["low"] <= known["value"] + 1e-12).all()
    assert (known["value"] <= known["high"] + 1e-12).all()
    assert set(known["clusters"]) == {TEMPLATES - 1}
    rates = known.filter(measure="failure_rate", method="effective Wilson")
    assert len(rates) == 2 * len(set(CURVE))


def test_the_favoured_group_is_found_and_no_other(cell: tuple[pl.DataFrame, CellStatistics]) -> None:
    rows = cell[1].statistics.filter(measure="difference", generalises_to="templates")
    q = dict(zip(rows["group"] + rows["other"], rows["q"], strict=True))
    assert q["ab"] < 0.05
    assert q["ac"] < 0.05
    assert q["bc"] > 0.05
    permuted = cell[1].statistics.filter(pl.col("method") == "permutation (exact)")
    assert (permuted["null_mean"] <= permuted["value"]).all()
    # Six terms in groups of two can be assigned in 90 ways; 6 of these only give the groups other names.
    assert permuted["p"].min() >= 6 / 90 - 1e-12


def test_headlines_of_a_cell_without_measurement_have_no_interval(cell: tuple[pl.DataFrame, CellStatistics]) -> None:
    measures, found = cell
    headlines = {"difference": "", "score": "score=mean_class_probability, mode=group"}
    assert withhold_headlines(found.statistics, measures, headlines).equals(found.statistics)
    flagged = measures.with_columns(flag=pl.lit(f"{NOT_MEASURABLE}: nobody answered"))
    rows = withhold_headlines(found.statistics, flagged, headlines).filter(measure="score", options=headlines["score"])
    whole = rows.filter(pl.col("group").is_null(), pl.col("template").is_null())
    assert whole.select("value", "low", "high", "se").null_count().row(0) == (3,) * 4
    assert rows.drop_nulls("group")["low"].null_count() < len(rows)


def test_nothing_said_is_a_table_without_numbers() -> None:
    measures = pl.DataFrame(
        {"measure": ["gap"], "options": [""], "value": [0.5], "n": [3], "flag": [None]},
        schema_overrides={"n": pl.Int64, "flag": pl.String},
    ).with_columns(pl.lit(None, STATISTICS.columns[key].dtype.type).alias(key) for key in ROW[2:])
    rows = statistics_table(
        with_unknown_rows(pl.DataFrame(), measures, StatisticsSettings(units={"gap": None})), "statistics", "m", "d"
    )
    validate_table(rows, STATISTICS, "statistics")
    assert rows["generalises_to"].to_list() == ["templates", "subjects", "all"]
    assert rows["low"].null_count() == 3


def test_saying_yes_to_all_is_acquiescence_and_no_agreement(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    random = np.random.default_rng(1)
    says = random.uniform(0.7, 0.9, size=len(instances)).astype(np.float32)
    predictions = predictions_of("choice", instances, probabilities=np.stack([says, 1 - says], axis=1).tolist())
    options = {"measures": None, "failure_threshold": 0.1, "mode": None}
    measures = measured_statements(instances, predictions)
    units = {"agreement": "difference", "acquiescence": "difference", "yes_rate": "share"}
    settings = StatisticsSettings(clusters=[0, 0, 1, 1], units=units, permutations=99)  # type: ignore[arg-type]
    rows = statistics(observe(instances, predictions, options), measures, options, settings).statistics
    whole = rows.filter(pl.col("group").is_null(), pl.col("bias_type").is_null())
    found = {row["measure"]: row for row in whole.iter_rows(named=True)}
    assert found["acquiescence"]["value"] == pytest.approx(0.3, abs=0.05)
    assert found["acquiescence"]["low"] > 0
    assert abs(found["agreement"]["value"]) < 0.05
    assert found["yes_rate"]["low"] < 1 == found["yes_rate"]["high"]
    assert {row["clusters"] for row in found.values()} == {2}
    signed = rows.filter(measure="difference", options=AGREEMENT_IN_CASES, generalises_to="templates")
    assert set(signed["bias_type"]) >= {"traits"}
