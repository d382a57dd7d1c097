"""What negative controls show stands in the summaries of their datasets, on the terminal and in the
report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from report_tables import report_of
from small_measures import ASSOCIATIONS, measures_of

from biasgrid.cli.commands.summary import flag_lines
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun
from biasgrid.stats.compare.controls import (
    SizeWithInterval,
    control_difference,
    control_ratio,
    sizes_against_controls,
)
from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SUMMARY
from biasgrid.tables.metric import CONTROLS, Controls
from biasgrid.tables.summary import ModelFacts, flag_rows

MODELS = {"bert": ModelFacts("LM", "BERT", {}), "chance": ModelFacts("LLM", "at random", {})}
OF_FAITH = Controls({"acts": "faith"}, ["chance"])
READ = "read the difference, not the value"


def summary_of(*measures: pl.DataFrame) -> pl.DataFrame:
    headlines = {name: {"mu_corrected": "", "significant_tests": ""} for name in ("faith", "acts")}
    summary = summarise(pl.concat(measures), MODELS, headlines, controls=OF_FAITH).summary
    validate_table(summary, SUMMARY, "summary")
    return summary


def cells_of(*cells: tuple[str, str], flag: str | None = None) -> pl.DataFrame:
    """Measures of cells; the last one's flag is as given."""
    rows = [
        {"model": model, "dataset": dataset, "measure": "mu", "value": 0.1}
        for model, dataset in cells
    ]
    return measures_of([*rows[:-1], rows[-1] | {"flag": flag}])


def known_of(
    dataset: str, q: Sequence[float], model: str = "bert", **corrected: float
) -> pl.DataFrame:
    """Single tests of a cell with some q, and mu's excess with an interval."""
    tests = [
        {"measure": "gamma", "subject": str(i), "attribute": "a", "p": p / 4, "q": p}
        for i, p in enumerate(q)
    ]
    rows: list[dict[str, Any]] = [*tests, {"measure": "mu_corrected"} | corrected]
    known = {"value": 0.1, "clusters": 4, "generalises_to": "clusters", "method": "t"}
    return measures_of(rows, model=model, dataset=dataset, **known)


BOTH = cells_of(("bert", "faith"), ("bert", "acts"))
QUIET = [0.3, 0.9, 1.0]


@pytest.mark.parametrize(
    ("q", "corrected", "flag"),
    [
        (QUIET, {"low": -0.01, "high": 0.02}, None),
        (QUIET, {}, None),
        ([0.05, 0.9, 1.0], {"low": 0.0, "high": 0.02}, "acts: 1 of 3 significant"),
        (QUIET, {"low": 0.01, "high": 0.02}, "acts: mu_corrected 0.0100 to 0.0200"),
        (
            [0.01, 0.02, 1.0],
            {"low": 0.01, "high": 0.02},
            "acts: 2 of 3 significant, mu_corrected 0.0100 to 0.0200",
        ),
    ],
)
def test_a_control_that_is_not_quiet_is_reported_for_its_dataset(
    q: list[float], corrected: dict[str, float], flag: str | None
) -> None:
    summary = summary_of(
        BOTH, known_of("faith", [0.01, 0.01, 0.01]), known_of("acts", q, **corrected)
    )
    (row,) = summary.filter(measure="control").to_dicts()
    assert (row["dataset"], row["options"], row["headline"]) == ("faith", "control=acts", False)
    assert (row["value"], row["n"]) == (sum(each <= 0.05 for each in q), 3)
    expected = None if flag is None else f"the control shows associations too ({flag}): {READ}"
    assert row["flag"] == expected
    told = str(flag_lines(flag_rows(summary).to_dicts()))
    assert told == (f"Warnings:\n  faith: {expected} (bert)\n" if expected else "")


def test_a_control_whose_size_is_in_the_intervals_speaks_against_nothing() -> None:
    beside = known_of("faith", [0.01]).with_columns(control=pl.lit("acts"))
    summary = summary_of(BOTH, beside, known_of("acts", [0.01, 1.0], low=0.01, high=0.02))
    (row,) = summary.filter(measure="control").to_dicts()
    assert (row["value"], row["n"], row["flag"]) == (1, 2, None)


def test_sizes_are_shown_next_to_the_sizes_of_controls() -> None:
    ends = {"faith": (0.2, 0.3), "acts": (0.1, 0.25)}
    rows = [
        {
            "model": "bert",
            "dataset": name,
            "measure": "mu_corrected",
            "value": sum(each) / 2,
            "low": each[0],
            "high": each[1],
        }
        for name, each in ends.items()
    ]
    headlines = {name: {"mu": "", "mu_corrected": ""} for name in ends}
    difference, ratio = sizes_against_controls(measures_of(rows), headlines, OF_FAITH).to_dicts()
    assert (difference["dataset"], difference["options"]) == (
        "faith",
        "control=acts, size=mu_corrected",
    )
    # MOVER: the distance to an end is the root of the sum of squares of 0.05 and 0.075.
    half = (0.05**2 + 0.075**2) ** 0.5
    found = [difference[name] for name in ("value", "low", "high")]
    assert found == pytest.approx([0.075, 0.075 - half, 0.075 + half])
    assert ratio["value"] == pytest.approx(0.25 / 0.175)
    assert ratio["low"] < 1 < ratio["value"] < ratio["high"]
    unknown = control_ratio(SizeWithInterval(0.2, 0.1, 0.3), SizeWithInterval(-0.01, -0.02, 0.01))
    assert unknown == SizeWithInterval(None, None, None)
    assert (
        control_ratio(SizeWithInterval(0.2, 0.1, 0.3), SizeWithInterval(0.01, -0.02, 0.03)).high
        is None
    )
    assert (
        control_difference(SizeWithInterval(0.2, 0.1, 0.3), SizeWithInterval(0.2, 0.1, 0.3)).value
        == 0
    )


@pytest.mark.parametrize("unread", ["faith", "acts"])
def test_sizes_that_say_nothing_in_either_cell_are_not_compared(unread: str) -> None:
    sizes = {"group_strength": 0.1, "question_strength": 0.5, "question_group_strength": 0.4}
    rows = [
        {
            "model": "bert",
            "dataset": name,
            "measure": size,
            "value": value,
            "low": value - 0.05,
            "high": value + 0.05,
        }
        for name in ("faith", "acts")
        for size, value in sizes.items()
    ]
    rows.append(
        {
            "model": "bert",
            "dataset": unread,
            "measure": "negation_unread",
            "value": 0.9,
            "flag": "not read",
        }
    )
    headlines = {name: dict.fromkeys(sizes, "") for name in ("faith", "acts")}
    silenced = {name: {"negation_unread": ["group_strength"]} for name in headlines}
    of_question, _ = sizes_against_controls(
        measures_of(rows), headlines, OF_FAITH, silenced
    ).to_dicts()
    assert of_question["options"] == "control=acts, size=question_group_strength"
    of_shares, _ = sizes_against_controls(measures_of(rows), headlines, OF_FAITH).to_dicts()
    assert of_shares["options"] == "control=acts, size=group_strength"


def test_a_control_without_tests_has_no_number() -> None:
    (row,) = summary_of(BOTH, known_of("faith", [0.01])).filter(measure="control").to_dicts()
    assert (row["value"], row["n"], row["flag"]) == (None, 0, None)


def test_a_control_that_is_not_measurable_has_shown_nothing_and_says_so() -> None:
    measures = cells_of(("bert", "faith"), ("bert", "acts"), flag="not measurable: no answers")
    (row,) = summary_of(measures, known_of("faith", [0.01])).filter(measure="control").to_dicts()
    assert row["flag"] == "the control is not measurable (acts: no answers), so it says nothing"


def improbable(named: str, other: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Numbers of two cells, and which share of their instances has improbable names: beyond the
    limit in the first.
    """
    share = {"model": "bert", "measure": "improbable"}
    rows = [
        share | {"dataset": named, "value": 0.52, "flag": "rare names"},
        share | {"dataset": other, "value": 0.42},
    ]
    corrected = {
        "model": "bert",
        "measure": "mu_corrected",
        "clusters": 4,
        "value": 0.1,
        "low": 0.05,
        "high": 0.2,
    }
    withheld = {"value": None, "flag": "not measurable: rare names"} if named == "faith" else {}
    numbers = [corrected | {"dataset": named} | withheld, corrected | {"dataset": other}]
    return measures_of(numbers), measures_of(rows)


def test_a_control_is_withheld_with_its_dataset_where_names_are_improbable() -> None:
    summary = summary_of(*improbable("faith", "acts"))
    text = "in faith, rare names: a control is withheld with its dataset"
    (row,) = summary.filter(dataset="acts", measure="mu_corrected").to_dicts()
    assert (row["value"], row["low"], row["flag"]) == (None, None, f"not measurable: {text}")
    assert summary.filter(dataset="acts", measure="improbable")["flag"].to_list() == [text]
    (of_control,) = summary.filter(measure="control")["flag"]
    assert of_control.startswith("the control is not measurable (acts: ")


def test_a_control_that_is_withheld_with_its_dataset_is_missing_though_its_size_was_used() -> None:
    beside = known_of("faith", [0.01]).with_columns(control=pl.lit("acts"))
    summary = summary_of(*improbable("faith", "acts"), beside, known_of("acts", [0.01, 1.0]))
    (row,) = summary.filter(measure="control").to_dicts()
    assert row["value"] is None
    assert row["flag"].startswith("the control is not measurable (acts: ")


def test_a_control_of_improbable_names_is_shown_where_its_dataset_is() -> None:
    summary = summary_of(*improbable("acts", "faith"))
    assert summary.filter(measure="mu_corrected")["value"].to_list() == [0.1, 0.1]
    assert summary.filter(dataset="acts", measure="improbable")["flag"].to_list() == ["rare names"]
    assert summary.filter(dataset="faith", measure="improbable")["flag"].to_list() == [None]


def test_random_answers_are_a_control_of_what_they_answer() -> None:
    measures = cells_of(("bert", "faith"), ("chance", "faith"))
    tests = known_of("faith", [0.01]), known_of("faith", [0.01, 1.0], model="chance")
    (row,) = summary_of(measures, *tests).filter(measure="control").to_dicts()
    assert (row["model"], row["dataset"], row["value"]) == ("chance", "faith", 1)
    assert (
        row["flag"]
        == f"the control shows associations too (random answers: 1 of 2 significant): {READ}"
    )


def test_a_control_of_a_dataset_that_a_model_was_not_asked_says_nothing() -> None:
    assert (
        summary_of(cells_of(("bert", "acts")), known_of("acts", [0.01]))
        .filter(measure="control")
        .is_empty()
    )


def test_the_report_has_datasets_and_controls_one_below_the_other() -> None:
    measures = pl.concat([BOTH, known_of("faith", [0.01]), known_of("acts", [0.01, 1.0])])
    declared = {**ASSOCIATIONS, **CONTROLS}
    run = ReportRun(
        title="Faiths",
        config="c.yaml",
        versions={},
        models=[ReportModel("bert", "LM", "BERT", "fill-mask", "someone/bert", "abc")],
        datasets=[
            ReportDataset(name, name.title(), (), declared, {}) for name in ("faith", "acts")
        ],
        controls=OF_FAITH._replace(models=[]),
    )
    page = report_of(run, measures=measures, summary=summary_of(measures))
    section = page.split('<section id="controls">')[1].split("</section>")[0]
    assert section.index(">Faith") < section.index(">Acts")
    assert "the control shows associations too (acts: 1 of 2 significant)" in page
    assert "Controls</a>" in page
    assert 'id="controls"' not in report_of(replace(run, controls=Controls()), measures=measures)
