"""The data behind the figures of groups, and the files that are written."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from report_tables import categories
from small_groups import THRESHOLD, measured_groups
from small_measures import measures_of, table_of, with_known

from biasgrid.base.references import load
from biasgrid.groups.section import GROUP_FIGURES
from biasgrid.groups.selection import (
    group_main_scores,
    main_score,
    order_groups,
    pairwise_options,
)
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import LEGEND_LINE, line_looks, save_figure
from biasgrid.report.figures.groups import (
    failure_curve,
    group_differences,
    group_pairs,
    group_scores,
    group_templates,
)
from biasgrid.report.figures.registry import figures
from biasgrid.stats.ordering import select_rows
from biasgrid.tables.measures import INTERVALS
from biasgrid.tables.summary import ModelFacts

MODELS = {
    "mild": ModelFacts("Sentiment", "BERT base", {}),
    "strong": ModelFacts("Sentiment", "BERT large", {}),
    "other": ModelFacts("Entailment", "BERT base", {}),
}
SLANTS = {"mild": 0.05, "strong": 0.2, "other": 0.02}
BIAS_TYPES = {"faith": ["jewish", "muslim", "other"], "land": ["danish", "other"]}


def context_of(models: dict[str, ModelFacts]) -> FigureContext:
    return FigureContext({"feelings": "Feelings"}, models, threshold=THRESHOLD)


FEELINGS = context_of(MODELS)


@pytest.fixture(scope="module")
def measures() -> pl.DataFrame:
    return measured_groups(SLANTS, BIAS_TYPES)


def test_the_main_score_is_that_by_which_cases_fail(measures: pl.DataFrame) -> None:
    assert main_score(measures) == "mean_class_probability"
    with pytest.raises(
        ValueError, match=r"'feelings' has the scores f1; expected one of mean_class_probability, "
    ):
        main_score(measures.with_columns(options=pl.lit("score=f1, mode=group")))


def test_models_with_the_same_label_are_distinguished_by_their_kind(measures: pl.DataFrame) -> None:
    unmeasured = {"none": ModelFacts("LM", "BERT large", {})}
    assert context_of(unmeasured | MODELS).model_labels(measures) == {
        "mild": "BERT base (Sentiment)",
        "strong": "BERT large",
        "other": "BERT base (Entailment)",
    }


def test_groups_are_in_the_order_of_their_scores(measures: pl.DataFrame) -> None:
    assert order_groups(group_main_scores(measures)) == {
        "faith": ["other", "muslim", "jewish"],
        "land": ["other", "danish"],
    }


def test_scores_and_quartiles_match_the_table(measures: pl.DataFrame) -> None:
    data = group_scores.figure(measures, FEELINGS).data
    assert data.height == 5 * len(MODELS)
    wanted = measures.filter(
        pl.col("template").is_null(), pl.col("other").is_null(), model="strong", group="jewish"
    )
    values = dict(
        wanted.filter(pl.col("measure").str.starts_with("score"))
        .select("measure", "value")
        .iter_rows()
    )
    shown = data.filter(group="jewish", model="BERT large").select(
        score="value", score_lower="lower", score_upper="upper"
    )
    assert shown.to_dicts() == [values]


def test_scores_have_intervals_where_they_are_known(measures: pl.DataFrame) -> None:
    one = (
        (pl.col("model") == "strong")
        & (pl.col("group") == "jewish")
        & (pl.col("measure") == "score")
    )
    known = measures.with_columns(
        low=pl.when(one).then(0.1),
        high=pl.when(one).then(0.3),
        clusters=pl.when(one).then(pl.lit(7, pl.Int64)),
    )
    drawn = group_scores.figure(known, FEELINGS)
    assert drawn.data.drop_nulls("low").select("group", "model", "low", "high").rows() == [
        ("jewish", "BERT large", 0.1, 0.3)
    ]
    assert "95 % over 7 clusters" in drawn.labels.subtitle
    assert "there are too few clusters" in group_scores.figure(measures, FEELINGS).labels.subtitle


def test_groups_of_the_same_name_have_rows_of_their_own(measures: pl.DataFrame) -> None:
    data = group_scores.figure(measures, FEELINGS).data
    rows = data.select("bias_type", "group", "row").unique().sort("row", descending=True)
    assert rows.rows() == [
        ("faith", "other", 0),
        ("faith", "muslim", -1),
        ("faith", "jewish", -2),
        ("land", "other", -3),
        ("land", "danish", -4),
    ]
    assert (data["y"] - data["row"]).abs().max() < 0.5
    assert data["y"].n_unique() == data.height


def many_models(
    count: int, bias_types: int, groups: int, label: str = "Model {}"
) -> tuple[pl.DataFrame, FigureContext]:
    """Measures of models that all name the same groups, and what a figure says of them."""
    models = {f"model {place}": ModelFacts("LM", label.format(place), {}) for place in range(count)}
    names = {
        f"type {place}": [f"{place} {group}" for group in range(groups)]
        for place in range(bias_types)
    }
    return measured_groups(dict.fromkeys(models, 0.1), names, cases=2, templates=1), context_of(
        models
    )


@pytest.mark.parametrize(("models", "groups", "shown"), [(1, 15, 80), (15, 15, 53), (15, 5, 10)])
def test_pairs_of_many_models_and_groups_fit_a_page(models: int, groups: int, shown: int) -> None:
    plot = group_pairs.figure(*many_models(models, 1, groups))
    assert max(plot.theme.getp("figure_size")) < 34
    assert plot.data["name"].n_unique() == shown
    assert ("pairs in the middle are left out" in plot.labels.subtitle) == (
        shown < groups * (groups - 1) // 2
    )


def test_many_groups_are_cut_to_both_ends() -> None:
    many = {"name": [f"name {place}" for place in range(40)], "side": ["left", "right"]}
    measures = measured_groups({"strong": 0.2}, many, cases=4)
    plot = group_scores.figure(measures, FEELINGS)
    shown = set(plot.data.filter(bias_type="name")["group"])
    assert len(shown) == 30
    assert {"name 39", "name 25", "name 14", "name 0"} <= shown
    assert "; 10 groups of name in the middle are left out" in plot.labels.subtitle


def test_pairs_are_as_far_apart_as_in_the_table(measures: pl.DataFrame) -> None:
    data = group_pairs.figure(measures, FEELINGS).data
    pairs = select_rows(
        measures, "distance", ["bias_type", "group", "other"], pairwise_options(measures)
    )
    assert data["value"].to_list() == pairs["value"].to_list()
    # The pair that is farthest apart stands at the top.
    assert categories(data, "name")[-1] == "faith: jewish, other"


def test_pairs_have_the_floor_of_their_bias_type_and_no_interval(measures: pl.DataFrame) -> None:
    options = pairwise_options(measures)
    rows = measures.filter(
        pl.col("template").is_null(), measure="distance", options=options, model="strong"
    )
    own = ["model", "dataset", "measure", "options", "bias_type", "group", "other", "value", "n"]
    known = rows.select(own).with_columns(null_mean=pl.when(pl.col("other").is_null()).then(0.07))
    certain = measures_of(known.to_dicts(), generalises_to="clusters", clusters=4)
    figure = group_pairs.figure(with_known(measures, certain), FEELINGS)
    assert figure.data.filter(model="BERT large")["null_mean"].to_list() == [0.07] * 4
    assert not {"low", "high"} & set(figure.data.columns)
    assert "line" not in figure.labels.subtitle
    figure.draw()


def test_templates_are_in_the_order_of_their_distances(measures: pl.DataFrame) -> None:
    distances = group_templates.template_distances(measures)
    means = distances.group_by("template", maintain_order=True).agg(pl.col("value").mean())
    assert means["value"].is_sorted(descending=True)
    assert set(means["template"]) == {"0", "1", "2", "3"}
    assert distances.height == len(MODELS) * len(BIAS_TYPES) * 4


def test_templates_are_called_by_what_they_say(measures: pl.DataFrame) -> None:
    said = [
        "The <group> slept.",
        "The <group> person\tsaid nothing of note until the very end of the evening.",
        "",
    ]
    figure = group_templates.figure(measures, replace(FEELINGS, templates=said))
    assert sorted(figure.data["template"].unique()) == [
        "0: The <group> slept.",
        "1: The <group> person said nothing of note until the very end of the ev…",
        "2",
        "3",
    ]


def test_curves_fall_and_end_where_no_case_fails(measures: pl.DataFrame) -> None:
    rates = failure_curve.failure_rates(measures)
    keys = ["model", "bias_type", "difference"]
    assert rates.group_by(keys).agg(falls=pl.col("value").diff().max() <= 0)["falls"].all()
    end = failure_curve.last_threshold(rates, THRESHOLD)
    assert rates.filter(pl.col("threshold") >= end)["value"].max() == 0
    assert rates.filter(pl.col("threshold") < end)["value"].max() > 0
    assert failure_curve.last_threshold(rates, 0.9) == 0.9


def test_lines_of_30_models_look_different() -> None:
    assert len(set(line_looks(30))) == 30


def test_figures_grow_with_the_lines_of_their_legends() -> None:
    heights = []
    for label in ("Model {}", "RoBERTa large Twitter {}"):
        plot = failure_curve.figure(*many_models(13, 1, 2, label))
        heights.append(plot.theme.getp("figure_size")[1])
    assert heights[1] - heights[0] == pytest.approx(LEGEND_LINE)


def test_differences_of_groups_show_both_intervals_and_significance(
    measures: pl.DataFrame,
) -> None:
    pair = {
        "model": "strong",
        "bias_type": "land",
        "group": "danish",
        "other": "other",
        "value": 0.2,
    }
    shared = {"dataset": "feelings", "measure": "difference", "method": "t", "clusters": 9}
    of_pair = {"low": 0.1, "high": 0.3, "q": 0.01, "generalises_to": "clusters"}
    over_words = pair | {"generalises_to": "clusters x terms", "low": -0.1, "high": 0.5}
    known = with_known(measures, measures_of([pair | of_pair], **shared))
    intervals = table_of(INTERVALS, [over_words], **shared, options="", n=4)
    figure = group_differences.figure(known, replace(FEELINGS, tables={"intervals": intervals}))
    (row,) = figure.data.select(
        "model", "low", "high", "low_all", "high_all", "is_significant"
    ).rows()
    assert row == ("BERT large", 0.1, 0.3, -0.1, 0.5, True)
    assert "thick: 95 % over 9 clusters" in figure.labels.subtitle


def test_failure_rates_have_bands_where_there_are_intervals(measures: pl.DataFrame) -> None:
    rate = measures.filter(
        pl.col("template").is_null(), measure="failure_rate", model="mild"
    ).drop_nulls("value")
    row = rate.select("model", "bias_type", "options", "value").row(0, named=True)
    assert "no intervals" in failure_curve.figure(measures, FEELINGS).labels.subtitle
    one = (
        pl.all_horizontal(pl.col(name) == value for name, value in row.items())
        & pl.col("template").is_null()
    )
    banded = measures.with_columns(
        low=pl.when(one).then(0.0),
        high=pl.when(one).then(0.4),
        clusters=pl.when(one).then(pl.lit(9, pl.Int64)),
    )
    assert failure_curve.failure_rates(banded).drop_nulls("low").select(
        "low", "high", "clusters"
    ).rows() == [(0, 0.4, 9)]
    assert "bands: 95 % over 9 clusters" in failure_curve.figure(banded, FEELINGS).labels.subtitle


def draw(name: str, measures: pl.DataFrame, folder: Path) -> list[bytes]:
    """Draws a figure of the dataset and returns what its files hold."""
    paths = [folder / f"{name}.{ending}" for ending in ("svg", "png")]
    save_figure(load(figures()[name]).figure(measures, FEELINGS), folder / name)
    return [path.read_bytes() for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUP_FIGURES)
def test_all_figures_are_drawn_and_the_same_each_time(
    name: str, tmp_path: Path, measures: pl.DataFrame
) -> None:
    assert draw(name, measures, tmp_path / "first") == draw(name, measures, tmp_path / "second")


@pytest.mark.parametrize("name", GROUP_FIGURES)
@pytest.mark.parametrize("missing", ["values", "pairs"])
def test_figures_of_nothing_say_so(
    name: str, missing: str, tmp_path: Path, measures: pl.DataFrame
) -> None:
    if missing == "pairs":
        measures = measures.filter(pl.col("measure") != "distance")
    else:
        measures = measures.with_columns(value=pl.lit(None, pl.Float64))
    draw(name, measures, tmp_path)
    pairs = group_pairs.figure(measures, FEELINGS)
    assert pairs.labels.subtitle == "no two groups have a distance within a case"


@pytest.mark.parametrize("name", GROUP_FIGURES)
def test_the_smallest_dataset_is_drawn(name: str, tmp_path: Path) -> None:
    measures = measured_groups({"mild": 0}, {"land": ["danish", "other"]}, cases=1, templates=1)
    assert draw(name, measures, tmp_path)
