"""Figures show how sure their numbers are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from plotnine import labs
from report_tables import (
    ATTRIBUTES,
    FAITHS,
    GRID,
    KINDS,
    MODELS,
    by_pair,
    categories,
)
from small_measures import measures_of, table_of, with_known

from biasgrid.report.figures.associations import associations, heat_map, subject_groups
from biasgrid.report.figures.cells import errors, intensity_mu, model_ranks
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import save_figure, with_whole_subtitle
from biasgrid.tables.evidence import EVIDENCE_PARTS
from biasgrid.tables.measures import DESIGN, INTERVALS
from biasgrid.tables.summary import ModelFacts

CERTAIN = {"low": 0.1, "high": 0.4, "clusters": 4, "generalises_to": "clusters"}


def known_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Measures with intervals over clusters, significant results with selected intervals."""
    selected = {"selected_low": 0.05, "selected_high": 0.5}
    known = [row | CERTAIN | (selected if row["q"] <= 0.05 else {}) for row in rows]
    return measures_of(known, method="t")


def test_associations_are_the_largest_of_each_model_with_selected_intervals_of_discoveries() -> (
    None
):
    values = {
        ("Ann", "stole"): (0.3, 0.01),
        ("Bob", "stole"): (-0.3, 0.01),
        ("Ann", "slept"): (0.2, 0.5),
    }
    rows = [
        {"model": model, "subject": subject, "attribute": attribute, "value": value, "q": q}
        for model in ("one", "three")
        for (subject, attribute), (value, q) in values.items()
    ]
    gammas = {
        model: {pair: value for pair, (value, _) in values.items()} for model in ("one", "three")
    }
    certain = with_known(by_pair(gammas), known_of(rows))
    found = associations.strongest(certain, most=5).select(
        "model", "subject", "attribute", "low", "high", "is_significant"
    )
    picked = [("Ann", "stole", 0.05, 0.5, True), ("Ann", "slept", None, None, False)]
    assert found.rows() == [(model, *row) for model in ("one", "three") for row in picked]
    figure = associations.figure(certain, FAITHS)
    assert categories(figure.data, "model") == ["BERT base (SQuAD)", "BERT base (LM)"]
    assert "95 % over 4 clusters" in figure.labels.subtitle
    silent = associations.figure(by_pair(gammas), FAITHS)
    assert "there are too few clusters" in silent.labels.subtitle


def test_associations_are_next_to_their_clusters() -> None:
    cell = {"model": "one", "dataset": "faith"}
    rows = [
        {"template": template, "subject": "Ann", "attribute": "stole", "n": n, "value": value}
        for template, n, value in ((0, 1, 0.1), (1, 3, 0.5), (2, 1, 0.2))
    ]
    clusters = [{"cluster": 0, "templates": "0, 1"}, {"cluster": 1, "templates": "2"}]
    tables = {
        "parts": table_of(EVIDENCE_PARTS, rows, **cell, measure="share_gamma", options=""),
        "design": table_of(DESIGN, clusters, **cell, name="mu_without"),
    }
    marks = associations.gamma_by_cluster(replace(FAITHS, tables=tables))
    assert marks.select("cluster", "gamma").rows() == [
        (0, pytest.approx(0.4)),
        (1, pytest.approx(0.2)),
    ]


def test_the_heat_map_marks_associations_without_a_significant_model() -> None:
    pair = {"subject": "Ann", "attribute": "stole"}
    gammas = {model: {("Ann", "stole"): 0.2} for model in ("one", "two")}
    rows = [pair | {"model": "one", "q": 0.2}, pair | {"model": "two", "q": 0.01}]
    certain = with_known(by_pair(gammas), known_of(rows))
    own = heat_map.mean_gamma(certain, heat_map.model_to_panel(certain, FAITHS))
    assert own.select("kind", "is_significant").rows() == [
        ("BERT base", False),
        ("BERT large", True),
    ]
    assert heat_map.mean_gamma(certain, KINDS)["is_significant"].to_list() == [True]
    assert heat_map.mean_gamma(by_pair(gammas), KINDS)["is_significant"].to_list() == [None]


def test_clusters_are_judged_over_names_too_and_one_of_two_is_drawn() -> None:
    pairs = [
        ("female", "nurse", 0.2),
        ("male", "nurse", -0.2),
        ("female", "pilot", -0.1),
        ("male", "pilot", 0.1),
    ]
    over_clusters, over_all = (
        [
            {"model": "one", "subject_group": subject_group, "attribute": attribute, "value": value}
            | {
                "generalises_to": factors,
                "low": value - half,
                "high": value + half,
                "q": q.get(attribute, 0.001),
            }
            for subject_group, attribute, value in pairs
        ]
        for factors, half, q in (
            ("clusters", 0.01, {}),
            ("clusters x names", 0.15, {"nurse": 0.01, "pilot": 0.3}),
        )
    )
    measures = measures_of(over_all, method="t", clusters=4)
    shared = {
        "dataset": "faith",
        "options": "",
        "method": "t",
        "measure": "share_gamma",
        "n": 4,
        "clusters": 4,
    }
    context = replace(FAITHS, tables={"intervals": table_of(INTERVALS, over_clusters, **shared)})
    figure = subject_groups.figure(measures, context)
    shown = figure.data.select("name", "value", "low", "high", "high_all", "is_significant").rows()
    near = pytest.approx
    assert shown == [
        ("nurse", 0.2, near(0.19), near(0.21), near(0.35), True),
        ("pilot", -0.1, near(-0.11), near(-0.09), near(0.05), False),
    ]
    assert figure.labels.title == "More female than male: Faiths"
    assert "thick: 95 % over 4 clusters" in figure.labels.subtitle
    one = replace(
        context, tables={"intervals": context.tables["intervals"].filter(subject_group="male")}
    )
    assert (
        "no two groups"
        in subject_groups.figure(measures.filter(subject_group="male"), one).labels.subtitle
    )


def test_many_models_share_the_model_to_panel_their_kinds_and_the_title_says_so() -> None:
    many = {(f"name {i}", attribute): i / 100 for i in range(80) for attribute in ATTRIBUTES}
    figure = heat_map.figure(by_pair(dict.fromkeys(MODELS, many)), FAITHS)
    assert categories(figure.data, "kind") == ["SQuAD", "LM"]
    assert "means over the models of a kind" in figure.labels.title
    assert "means" not in heat_map.figure(by_pair({"one": many}), FAITHS).labels.title


def test_the_corrected_value_is_shown_with_the_value_and_its_noise_floor(
    measures: pl.DataFrame,
) -> None:
    rows = [
        {"model": "one", "measure": "mu", "value": 0.1, "null_mean": 0.06},
        {"model": "one", "measure": "mu_corrected", "value": 0.08, "low": 0.05, "high": 0.11},
    ]
    known = [row | {"clusters": 7, "generalises_to": "clusters"} for row in rows]
    figure = intensity_mu.figure(with_known(measures, measures_of(known, method="t")), GRID)
    (row,) = (
        figure.data.drop_nulls("corrected")
        .select("label", "value", "null_mean", "corrected", "low", "high")
        .rows()
    )
    assert row == ("BERT base", 0.1, 0.06, 0.08, 0.05, 0.11)
    assert "95 % over 7 clusters" in figure.labels.subtitle


def test_ranks_of_models_have_bars_and_are_distinguished_by_what_may_be_compared() -> None:
    ranks = pl.DataFrame(
        {
            "dataset": "faith",
            "measure": "share_strength",
            "options": "",
            "bias_type": None,
            "set": [0, 0, 1],
            "model": ["one", "two", "three"],
            "value": [0.2, 0.1, 0.3],
            "rank": [1, 2, 1],
            "rank_low": [1, 1, 1],
            "rank_high": [2, 2, 1],
            "models": [2, 2, 1],
        },
        schema_overrides={"bias_type": pl.String},
    )
    models = {
        name: ModelFacts(kind="QA", label=name.title(), scoring={})
        for name in ("one", "two", "three")
    }
    context = FigureContext({"faith": "Faith"}, models, tables={"ranks": ranks})
    figure = model_ranks.figure(pl.DataFrame(), context)
    assert figure.data.select("rank_low", "rank_high", "together").rows() == [
        (1, 2, "ranked together 1"),
        (1, 2, "ranked together 1"),
        (1, 1, "ranked together 2"),
    ]
    assert set(figure.data["measure"]) == {"strength"}
    for alone in ({}, {"ranks": ranks.filter(model="three")}):
        nothing = model_ranks.figure(
            pl.DataFrame(), FigureContext({"faith": "Faith"}, models, tables=alone)
        )
        assert nothing.labels.subtitle == "no two models of a dataset may be compared"


def test_a_subtitle_that_is_too_wide_goes_on_in_more_lines_and_none_is_made_of_one_that_fits(
    measures: pl.DataFrame, tmp_path: Path
) -> None:
    figure = intensity_mu.figure(measures, GRID) + labs(subtitle="short")
    assert with_whole_subtitle(figure) is figure
    words = " ".join(["words"] * 40)
    wide = with_whole_subtitle(figure + labs(subtitle=words))
    assert wide.labels.subtitle.split() == words.split()
    assert wide.labels.subtitle.count("\n") > 0
    assert wide.theme.getp("figure_size")[1] > figure.theme.getp("figure_size")[1]
    save_figure(wide, tmp_path / "a")


def test_strongest_associations_say_if_none_is_significant() -> None:
    values = {("Ann", "stole"): 0.3, ("Bob", "stole"): -0.3}
    rows = [
        {"model": "one", "subject": subject, "attribute": attribute, "value": value, "q": 0.4}
        for (subject, attribute), value in values.items()
    ]
    figure = associations.figure(with_known(by_pair({"one": values}), known_of(rows)), FAITHS)
    assert "none is significant" in figure.labels.subtitle


def test_where_all_is_zero_axes_begin_at_zero_and_the_heat_map_says_so(
    measures: pl.DataFrame,
) -> None:
    zeros = measures.with_columns(value=pl.lit(0.0))
    for module in (intensity_mu, errors):
        ranges = module.figure(zeros, GRID).draw().axes[0].get_xlim()
        assert -0.001 < ranges[0] <= 0 < ranges[1] < 0.01
    heat = heat_map.figure(zeros.filter(dataset="faith"), FAITHS)
    assert heat.labels.subtitle.endswith("is 0 for all subjects and attributes")
