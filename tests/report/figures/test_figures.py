"""The data behind the figures, and the files that are written."""

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.image import imread
from matplotlib.text import Text
from report_tables import (
    ATTRIBUTES,
    FAITHS,
    GRID,
    KINDS,
    LEARNED,
    MODELS,
    SUBJECTS,
    TITLES,
    by_pair,
    by_subject,
    categories,
)
from small_measures import table_of

from biasgrid.base.references import load
from biasgrid.report.figures.associations import heat_map, ranks
from biasgrid.report.figures.cells import errors, intensity_mu, synthetic
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.report.figures.registry import figures
from biasgrid.stats.ordering import select_rows
from biasgrid.stats.recovery import measured_and_synthetic, recovery
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.tables.summary import ModelFacts


@pytest.fixture
def synthetic_bias() -> pl.DataFrame:
    rows = [
        {
            "dataset": dataset,
            "subject": subject,
            "attribute": attribute,
            "value": (i - 1.5) * (j - 0.5) * 0.2,
        }
        for dataset in TITLES
        for (i, subject), (j, attribute) in product(enumerate(SUBJECTS), enumerate(ATTRIBUTES))
    ]
    return table_of(SYNTHETIC, rows, strength="strong", measure="share_gamma", options="")


def test_ranks_are_averaged_over_the_models_of_a_kind() -> None:
    measures = by_subject(
        {
            "one": {"Ann": 0.3, "Bob": 0.1, "Cleo": -0.4},
            "two": {"Ann": 0.1, "Bob": 0.2, "Cleo": -0.3},
            "three": {"Ann": -0.3, "Bob": 0.1, "Cleo": 0.2},
        }
    )
    means = ranks.mean_ranks(measures, FAITHS)
    squad = {row["subject"]: row for row in means.filter(kind="SQuAD").to_dicts()}
    assert {subject: (row["mean"], row["spread"]) for subject, row in squad.items()} == {
        "Ann": (1.5, 0.5),
        "Bob": (1.5, 0.5),
        "Cleo": (3.0, 0.0),
    }
    masked = {row["subject"]: row["mean"] for row in means.filter(kind="LM").to_dicts()}
    assert masked == {"Cleo": 1, "Bob": 2, "Ann": 3}
    assert means["subject"].unique(maintain_order=True).to_list() == ["Bob", "Cleo", "Ann"]


def test_only_subjects_that_all_models_of_the_kind_have_are_ranked() -> None:
    measures = by_subject(
        {
            "one": {"Ann": 0.3, "Bob": 0.5, "Cleo": -0.4},
            "two": {"Ann": 0.1, "Cleo": -0.1},
            "three": {"Bob": 0.0},
        }
    )
    means = ranks.mean_ranks(measures, FAITHS)
    found = {(row["kind"], row["subject"]): row["mean"] for row in means.to_dicts()}
    assert found == {("SQuAD", "Ann"): 1, ("SQuAD", "Cleo"): 2, ("LM", "Bob"): 1}


def test_models_that_share_no_subject_are_not_ranked(tmp_path: Path) -> None:
    measures = by_subject({"one": {"Ann": 0.3, "Bob": -0.3}, "two": {"Cleo": 0.1, "Dan": -0.1}})
    plot = ranks.figure(measures, FAITHS)
    assert (
        plot.labels.subtitle
        == "the models of each kind share no subject, so no ranks can be averaged"
    )
    save_figure(plot, tmp_path / "ranks")


def test_panels_of_ranks_say_how_many_models_they_average(measures: pl.DataFrame) -> None:
    data = ranks.figure(measures.filter(dataset="faith"), FAITHS).data
    assert categories(data, "panel") == ["SQuAD (2 models)", "LM (1 model)"]


def test_heat_map_averages_by_kind_and_leaves_gaps_where_nobody_was_asked() -> None:
    measures = by_pair(
        {
            "one": {("Ann", "stole"): 0.2, ("Bob", "stole"): -0.2},
            "two": {("Ann", "stole"): 0.4, ("Bob", "stole"): -0.4},
            "three": {("Ann", "stole"): 0.1},
        }
    )
    means = heat_map.mean_gamma(measures, KINDS)
    values = {(row["kind"], row["subject"]): row["gamma"] for row in means.to_dicts()}
    assert values == {
        ("SQuAD", "Ann"): pytest.approx(0.3),
        ("SQuAD", "Bob"): pytest.approx(-0.3),
        ("LM", "Ann"): pytest.approx(0.1),
        ("LM", "Bob"): None,
    }


def test_heat_map_puts_similar_subjects_and_attributes_together() -> None:
    sides = {"Ann": 1, "Bob": -1, "Cleo": 1.1, "Dan": -1.1}
    weights = {"was rude": 0.2, "stole": -0.1, "slept": 0.25}
    pattern = {(s, a): sides[s] * weights[a] for s, a in product(sides, weights)}
    means = heat_map.mean_gamma(by_pair({"one": pattern}), KINDS)
    subjects, attributes = heat_map.seriated_labels(means)
    assert subjects == ["Cleo", "Ann", "Bob", "Dan"]
    assert attributes == ["slept", "was rude", "stole"]


@pytest.mark.slow
def test_hatching_of_insignificant_cells_is_sharp_and_takes_few_bytes(tmp_path: Path) -> None:
    pairs = {(f"S{i}", f"A{j}"): (i - 14.5) * (j - 14.5) for i, j in product(range(30), range(30))}
    measures = by_pair({"one": pairs})
    sizes, pictures = [], []
    for place, q in enumerate((0.01, 0.5)):
        files = tmp_path / f"{place}.svg", tmp_path / f"{place}.png"
        save_figure(
            heat_map.figure(measures.with_columns(q=pl.lit(q)), FAITHS), tmp_path / str(place)
        )
        sizes.append(len(files[0].read_bytes()))
        pictures.append(imread(files[1]))
    # No picture of dots and no path of each, but one path of them all.
    assert (sizes[1] - sizes[0]) / len(pairs) < 60
    assert (pictures[0] != pictures[1]).any(axis=-1).sum() > 4 * len(pairs)


def test_heat_map_shows_both_ends_of_many_subjects_and_grows_with_them() -> None:
    many = {
        (f"name {i}", attribute): (i - 75) / 100 for i in range(150) for attribute in ATTRIBUTES
    }
    few = {pair: value for pair, value in many.items() if pair[0] in ("name 1", "name 149")}
    large, small = (heat_map.figure(by_pair({"one": values}), FAITHS) for values in (many, few))
    shown = large.data["subject"].unique().to_list()
    assert len(shown) == 80
    assert {"name 149", "name 110", "name 39", "name 0"} <= set(shown)
    assert not {"name 109", "name 40"} & set(shown)
    assert "70 subjects in the middle are left out" in large.labels.subtitle
    assert large.theme.getp("figure_size")[1] > 2 * small.theme.getp("figure_size")[1]


@pytest.mark.parametrize("models", [3, 15])
def test_names_of_models_above_narrow_panels_do_not_run_into_each_other(models: int) -> None:
    facts = {
        f"m{i}": ModelFacts("LM", f"a rather-long name of model {i}", {}) for i in range(models)
    }
    gammas = {model: {(subject, "slept"): 0.1 for subject in SUBJECTS} for model in facts}
    drawn = heat_map.figure(by_pair(gammas), FigureContext({"faith": "Faiths"}, facts)).draw()
    drawn.canvas.draw()
    titles = [
        text.get_window_extent()
        for text in drawn.findobj(Text)
        if text.get_text().startswith("a rather")
    ]
    assert len(titles) == models
    assert not [pair for pair in combinations(titles, 2) if pair[0].overlaps(pair[1])]
    plt.close(drawn)


def test_models_are_in_the_order_of_the_config(measures: pl.DataFrame) -> None:
    data = intensity_mu.figure(measures, GRID).data.sort("dataset")
    assert categories(data, "label") == ["BERT large", "BERT base"]
    assert categories(data, "kind") == ["SQuAD", "LM"]
    assert categories(data, "dataset") == ["Faiths", "Countries"]
    assert data["value"].to_list() == pytest.approx([0.1, 0.2, 0.3] * 2)


def test_errors_are_next_to_the_intensity(measures: pl.DataFrame) -> None:
    data = errors.figure(measures, GRID).data.filter(label="BERT large", dataset="Faiths")
    assert dict(data.select("measure", "value").rows()) == {
        "bias intensity μ": 0.2,
        "positional dependence δ": 0.3,
        "attribute independence ε": 0.4,
    }


def test_recovery_is_correlation_and_slope(
    measures: pl.DataFrame, synthetic_bias: pl.DataFrame
) -> None:
    pairs = measured_and_synthetic(measures, synthetic_bias, dict.fromkeys(TITLES, LEARNED))
    found = {row["model"]: row for row in recovery(pairs, "model").to_dicts()}
    assert {model: row["slope"] for model, row in found.items()} == pytest.approx(
        {"one": 0.5, "two": 1.0}
    )
    assert found["one"]["correlation"] == pytest.approx(1)
    assert found["one"]["n"] == len(TITLES) * len(SUBJECTS) * len(ATTRIBUTES)
    assert found["two"]["root_mean_square"] == pytest.approx(0)
    off = pairs.filter(model="one").select((pl.col("synthetic") / 2).pow(2).mean().sqrt()).item()
    assert found["one"]["root_mean_square"] == pytest.approx(off)


def test_nothing_synthetic_has_no_slope(
    measures: pl.DataFrame, synthetic_bias: pl.DataFrame
) -> None:
    strengths = {dataset: {"one": "strong"} for dataset in TITLES}
    pairs = measured_and_synthetic(measures, synthetic_bias.with_columns(value=0.0), strengths)
    (row,) = recovery(pairs, "model").to_dicts()
    assert (row["correlation"], row["slope"], row["synthetic_range"], row["n"]) == (
        None,
        None,
        0,
        24,
    )
    assert row["measured_range"] == pytest.approx(0.45)
    texts = synthetic.panel_texts(pairs.with_columns(panel="model"))
    assert texts.rows() == [("one", "strong: synthetic alike, 0.450 apart")]


def test_rows_of_a_measure_are_distinguished_by_their_keys(measures: pl.DataFrame) -> None:
    faiths = measures.filter(dataset="faith")
    assert select_rows(faiths, "share_gamma", ["subject"]).height == len(MODELS) * len(SUBJECTS)
    assert select_rows(faiths, "share_gamma", ["subject_group"]).is_empty()
    assert select_rows(faiths, "share_gamma", ["subject"], measure_options="score=f1").is_empty()


def test_panels_of_errors_list_the_models_of_their_kind(measures: pl.DataFrame) -> None:
    plot = errors.figure(measures, GRID)
    assert categories(plot.data, "label") == ["BERT large", "BERT base"]
    labels = [
        [text.get_text() for text in axis.get_yticklabels()]
        for axis in plot.draw().axes[:: len(TITLES)]
    ]
    assert labels == [["BERT large", "BERT base"], ["BERT base"]]


OF_GRID = (
    "intensity_mu",
    "model_ranks",
    "errors",
    "synthetic",
)
OF_A_DATASET = (
    "ranks",
    "heat_map",
    "associations",
    "significant_associations",
    "winners",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OF_GRID, *OF_A_DATASET])
def test_the_same_figure_gives_the_same_bytes(
    name: str, tmp_path: Path, measures: pl.DataFrame, synthetic_bias: pl.DataFrame
) -> None:
    of_grid = name in OF_GRID
    shown = measures if of_grid else measures.filter(dataset="faith")
    strengths = {dataset: {"one": "strong", "two": "strong"} for dataset in TITLES}
    context = replace(GRID if of_grid else FAITHS, strengths=strengths, synthetic=synthetic_bias)
    files = []
    for run in ("first", "second"):
        paths = tmp_path / run / f"{name}.svg", tmp_path / run / f"{name}.png"
        save_figure(load(figures()[name]).figure(shown, context), tmp_path / run / name)
        files.append([path.read_bytes() for path in paths])
    assert files[0] == files[1]
    svg, png = files[0]
    assert svg.startswith(b"<?xml")
    assert b"<dc:date>" not in svg
    assert png.startswith(b"\x89PNG")
