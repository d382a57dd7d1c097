"""What is withheld where nothing was measured, and what is only told."""

import polars as pl
import pytest
from small_measures import measures_of

from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.completeness import Check, check_rows, withhold_invalid
from biasgrid.tables.metric import Limit, MetricDefinitions
from biasgrid.tables.summary import ModelFacts, flag_rows, headline_lines

UNREAD = Limit(0.1, "{value:.0%} of the texts are not read", "read them", withholds=True)
FEW = Limit(4, "only {value:.0f} of {limit:.0f} templates", "add some", below=True)
DECLARED = MetricDefinitions(
    ["mu", "gamma", "unread", "few"], {"mu": ""}, {"unread": UNREAD, "few": FEW}
)


def cell(
    unread: float | None, few: float = 5, model: str = "one", **interval: float
) -> pl.DataFrame:
    rows = [
        {"measure": "mu", "value": 0.5, "low": 0.4, "high": 0.6},
        {"measure": "mu", "value": 0.7, "bias_type": "age"},
        {"measure": "gamma", "value": 0.2, "subject": "Ann"},
        {"measure": "unread", "value": unread, **interval},
        {"measure": "few", "value": few},
    ]
    return withhold_invalid(measures_of(rows, model=model), DECLARED)


def test_a_cell_within_its_limits_is_left_as_it_is() -> None:
    judged = cell(unread=0.1, few=4)
    assert judged["flag"].null_count() == len(judged)
    assert judged["value"].to_list() == [0.5, 0.7, 0.2, 0.1, 4]


def test_headlines_are_withheld_with_the_reason_and_parts_stay() -> None:
    judged = cell(unread=0.25)
    headlines, rest = judged.head(2), judged.tail(3)
    assert headlines.select("value", "low", "high").null_count().row(0) == (2, 2, 2)
    assert headlines["flag"].to_list() == ["not measurable: 25% of the texts are not read"] * 2
    assert rest["value"].to_list() == [0.2, 0.25, 5]
    assert rest["flag"].to_list() == [None, "25% of the texts are not read", None]


def test_a_flag_that_withholds_nothing_is_only_reported() -> None:
    judged = cell(unread=0, few=2)
    assert judged["value"].null_count() == 0
    assert judged["flag"].to_list() == [None, None, None, None, "only 2 of 4 templates"]


def test_a_flag_may_withhold_some_measures_and_all_that_withhold_one_are_named() -> None:
    limits = {"silent": Limit(0.5, "silent", "read", withholds=("mu",)), "unread": UNREAD}
    declared = MetricDefinitions([], {"mu": "", "error": "", "coverage": ""}, limits)
    rows = [
        *(
            {"measure": name, "value": 0.5, "low": 0.4, "p": 0.01}
            for name in ("mu", "gamma", "error")
        ),
        *({"measure": name, "value": 0.5} for name in ("coverage", "mean")),
        {"measure": "refused_difference", "value": 0.5, "p": 0.01},
        {"measure": "silent", "value": 1.0},
    ]
    alone = withhold_invalid(measures_of(rows, model="one"), declared)
    assert alone.filter(pl.col("value").is_null())["measure"].to_list() == ["mu"]
    both = withhold_invalid(
        measures_of([*rows, {"measure": "unread", "value": 1.0}], model="one"), declared
    )
    # How answers ended, and what claims nothing, stay.
    withheld = both.filter(pl.col("value").is_null())
    unread = "100% of the texts are not read"
    assert withheld.select("measure", "reason").rows() == [
        ("mu", f"not measurable: silent; {unread}. To do: read"),
        ("gamma", f"not measurable: {unread}. To do: read them"),
        ("error", f"not measurable: {unread}. To do: read them"),
    ]
    assert withheld.select("low", "p").null_count().row(0) == (3, 3)


def test_the_flags_of_a_model_that_answers_at_random_withhold_nothing() -> None:
    rows = [{"measure": "mu", "value": 0.5}, {"measure": "unread", "value": 0.5}]
    judged = withhold_invalid(measures_of(rows, model="one"), DECLARED.for_control())
    assert judged.select("value", "flag").rows() == [
        (0.5, None),
        (0.5, "50% of the texts are not read"),
    ]


@pytest.mark.parametrize(("high", "is_withheld"), [(0.1, False), (0.11, True)])
def test_of_an_interval_the_worse_end_counts(high: float, is_withheld: bool) -> None:
    assert (cell(unread=0.05, low=0, high=high)["value"][0] is None) == is_withheld


def test_a_flag_without_a_value_says_nothing() -> None:
    assert cell(unread=None)["flag"].null_count() == 5


def test_checks_are_rows_about_the_whole_cell() -> None:
    rows = check_rows([Check("unread", 0.5, 8), Check("few", 2, 2, 1, 3)])
    assert rows.select("measure", "value", "n", "low", "high", "options", "left_out").rows() == [
        ("unread", 0.5, 8, None, None, "", 0),
        ("few", 2, 2, 1, 3, "", 0),
    ]


def test_the_summary_gathers_what_speaks_against_cells() -> None:
    measures = pl.concat(
        [cell(0.25, few=2, model="one"), cell(0.25, model="two"), cell(0, few=2, model="three")]
    )
    models = {name: ModelFacts("LM", name, {}) for name in ("one", "two", "three")}
    summary = summarise(measures, models, {"faith": {"mu": ""}}).summary
    assert flag_rows(summary).select("measure", "withholds", "models").rows() == [
        ("unread", True, ["one", "two"]),
        ("few", False, ["three"]),
    ]
    wide = headline_lines(summary).filter(pl.col("bias_type").is_null())
    withheld = None, "not measurable: 25% of the texts are not read"
    expected = [("one", *withheld), ("two", *withheld), ("three", 0.5, None)]
    assert wide.select("model", "mu", "flag").rows() == expected
