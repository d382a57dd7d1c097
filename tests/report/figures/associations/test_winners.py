"""The figure of those that win an attribute most often."""

from __future__ import annotations

import polars as pl
import pytest
from report_tables import FAITHS, by_pair, categories
from small_measures import measures_of, with_known

from biasgrid.report.figures.associations import winners

RATIOS = {
    ("Ann", "stole"): 0.4,
    ("Bob", "stole"): 0.9,
    ("Cleo", "stole"): 0.6,
    ("Dan", "stole"): 0.1,
}


def test_each_model_has_its_own_winners_and_significant_ones_are_filled() -> None:
    other = {pair: 1 - ratio for pair, ratio in RATIOS.items()} | {("Ann", "slept"): 0.95}
    of_models = {"one": RATIOS, "two": other}
    known = {"generalises_to": "clusters", "method": "t", "clusters": 4}
    rows = [
        {
            "model": "one",
            "subject": "Bob",
            "attribute": "stole",
            "value": 0.9,
            "measure": "win_ratio",
        }
        | {"low": 0.8, "high": 1.0},
        {
            "model": "one",
            "subject": "Bob",
            "attribute": "stole",
            "value": 0.3,
            "measure": "gamma",
            "q": 0.01,
        },
    ]
    measures = pl.concat([by_pair(of_models, "win_ratio"), by_pair(of_models, "gamma")])
    certain = with_known(measures, measures_of(rows, **known))
    figure = winners.figure(certain, FAITHS)
    shown = figure.data.select("model", "subject", "value", "low", "high", "is_significant").rows()
    of_one = [row[1:] for row in shown if row[0] == "BERT base"]
    assert of_one == [
        ("Bob", 0.9, 0.8, 1.0, True),
        ("Cleo", 0.6, None, None, False),
        ("Ann", 0.4, None, None, False),
    ]
    of_two = [row[1] for row in shown if row[0] == "BERT large"]
    assert of_two == ["Ann", "Dan", "Ann", "Cleo"]
    assert categories(figure.data, "place")[-1].endswith("slept: Ann")
    assert "95 % over 4 clusters" in figure.labels.subtitle
    figure.draw()


def test_clusters_replace_too_many_attributes() -> None:
    many = by_pair({"one": {("Ann", f"act {i}"): 0.5 for i in range(20)}}, "win_ratio")
    subject_groups = measures_of(
        [
            {"model": "one", "subject": "Ann", "attribute_group": c, "value": 0.7}
            for c in ("crime", "rude")
        ],
        measure="win_ratio",
    )
    assert winners.win_ratios(pl.concat([many, subject_groups]))["attribute"].to_list() == [
        "crime",
        "rude",
    ]
    assert winners.figure(many, FAITHS).data["attribute"].n_unique() == winners.READABLE


@pytest.mark.parametrize("value", [None, 0.5])
def test_nothing_to_win_is_said_or_drawn_in_the_middle(value: float | None) -> None:
    equal = by_pair({"one": dict.fromkeys(RATIOS, 0.5)}, "win_ratio").with_columns(
        value=pl.lit(value, pl.Float64)
    )
    figure = winners.figure(equal, FAITHS)
    assert ("no two subjects" in figure.labels.subtitle) == (value is None)
    figure.draw()
