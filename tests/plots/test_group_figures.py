"""The data behind the figures of groups, and the files that are written."""

from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_groups import FIGURES, THRESHOLD, measured_groups, planted_slants

from biasgrid.plots import failure_curve, group_pairs, group_scores, group_templates, planted_groups
from biasgrid.plots.draw import draw_groups, draw_planted_groups
from biasgrid.plots.group_selection import main_score, model_names, order_groups, pairwise_rows, scores_of_groups
from biasgrid.plots.recovery import measured_and_planted_groups, recovery
from biasgrid.plots.theme import LEGEND_LINE
from biasgrid.summary import ModelFacts

MODELS = {
    "mild": ModelFacts("Sentiment", "BERT base", {}),
    "strong": ModelFacts("Sentiment", "BERT large", {}),
    "other": ModelFacts("Entailment", "BERT base", {}),
}
SLANTS = {"mild": 0.05, "strong": 0.2, "other": 0.02}
BIAS_TYPES = {"faith": ["jewish", "muslim", "other"], "land": ["danish", "other"]}

Tables = tuple[pl.DataFrame, pl.DataFrame]
Facts = dict[str, ModelFacts]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return measured_groups(SLANTS, BIAS_TYPES)


@pytest.fixture
def measures(tables: Tables) -> pl.DataFrame:
    return tables[0]


@pytest.fixture
def failures(tables: Tables) -> pl.DataFrame:
    return tables[1]


def test_the_main_score_is_that_by_which_cases_fail(measures: pl.DataFrame) -> None:
    assert main_score(measures, "feelings") == "mean_class_probability"
    with pytest.raises(ValueError, match=r"'feelings' has the scores f1; expected one of mean_class_probability, "):
        main_score(measures.with_columns(score=pl.lit("f1")), "feelings")


def test_models_with_the_same_label_are_told_apart_by_their_kind(measures: pl.DataFrame) -> None:
    unmeasured = {"none": ModelFacts("LM", "BERT large", {})}
    assert model_names(unmeasured | MODELS, measures) == {
        "mild": "BERT base (Sentiment)",
        "strong": "BERT large",
        "other": "BERT base (Entailment)",
    }


def test_groups_stand_in_the_order_of_their_scores(measures: pl.DataFrame) -> None:
    assert order_groups(scores_of_groups(measures, "feelings")) == {
        "faith": ["other", "muslim", "jewish"],
        "land": ["other", "danish"],
    }


def test_scores_and_quartiles_are_those_of_the_table(measures: pl.DataFrame) -> None:
    data = group_scores.figure(measures, MODELS, "feelings", "Feelings").data
    assert data.height == 5 * len(MODELS)
    wanted = measures.filter(pl.col("distance").is_null(), pl.col("template").is_null(), model="strong", group="jewish")
    shown = data.filter(group="jewish", model="BERT large")
    assert shown.select("value", "lower", "upper").rows() == wanted.select("value", "lower", "upper").rows()


def test_groups_of_the_same_name_have_rows_of_their_own(measures: pl.DataFrame) -> None:
    data = group_scores.figure(measures, MODELS, "feelings", "Feelings").data
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


def many_models(count: int, bias_types: int, groups: int, label: str = "Model {}") -> tuple[Tables, Facts]:
    """Measures of models that all name the same groups, and the models' facts."""
    models = {f"model {place}": ModelFacts("LM", label.format(place), {}) for place in range(count)}
    names = {f"type {place}": [f"{place} {group}" for group in range(groups)] for place in range(bias_types)}
    return measured_groups(dict.fromkeys(models, 0.1), names, cases=2, templates=1), models


@pytest.mark.parametrize(
    ("models", "bias_types", "groups", "shown"), [(13, 6, 8, 8), (20, 1, 20, 20), (30, 6, 8, 7), (20, 6, 20, 8)]
)
def test_pairs_of_many_models_and_groups_fit_a_page(models: int, bias_types: int, groups: int, shown: int) -> None:
    (measures, _), facts = many_models(models, bias_types, groups)
    plot = group_pairs.figure(measures, facts, "feelings", "Feelings")
    assert max(plot.theme.getp("figure_size")) < 30
    assert plot.data.group_by("model", "bias_type").agg(pl.col("group").n_unique())["group"].unique().to_list() == [
        shown
    ]
    left_out = f"; {(groups - shown) * bias_types} groups of {bias_types} bias types in the middle are left out"
    assert (left_out in plot.labels.subtitle.replace("\n", " ")) == (shown < groups)


def test_many_groups_are_cut_to_both_ends() -> None:
    many = {"name": [f"name {place}" for place in range(40)], "side": ["left", "right"]}
    measures, _ = measured_groups({"strong": 0.2}, many, cases=4)
    for module in (group_scores, group_pairs):
        plot = module.figure(measures, MODELS, "feelings", "Feelings")
        shown = set(plot.data.filter(bias_type="name")["group"])
        assert len(shown) == 30
        assert {"name 39", "name 25", "name 14", "name 0"} <= shown
        assert "; 10 groups of name in the middle are left out" in plot.labels.subtitle.replace("\n", " ")


@settings(deadline=None, max_examples=20)
@given(st.dictionaries(st.sampled_from("abc"), st.integers(2, 5), min_size=1), st.data())
def test_matrices_are_symmetric_and_whole(sizes: dict[str, int], data: st.DataObject) -> None:
    shown = {name: [f"{name}{place}" for place in range(size)] for name, size in sizes.items()}
    pairs = [
        ("m", name, groups[i], groups[j], data.draw(st.floats(0, 1)))
        for name, groups in shown.items()
        for i, j in product(range(len(groups)), repeat=2)
        if i < j
    ]
    columns = ["model", "bias_type", "group", "other", "value"]
    cells = group_pairs.matrices(pl.DataFrame(pairs, schema=columns, orient="row"), shown)
    values = {(row["bias_type"], row["place"], row["column"]): row["value"] for row in cells.to_dicts()}
    assert len(values) == cells.height == sum(size * (size - 1) for size in sizes.values())
    assert all(values[name, column, place] == value for (name, place, column), value in values.items())


def test_pairs_are_as_far_apart_as_in_the_table(measures: pl.DataFrame) -> None:
    data = group_pairs.figure(measures, MODELS, "feelings", "Feelings").data
    pairs = pairwise_rows(measures, "feelings").filter(pl.col("other").is_not_null(), model="strong", bias_type="faith")
    shown = data.filter(model="strong", bias_type="faith")
    assert shown.height == 2 * pairs.height == 6
    assert shown["value"].sum() == pytest.approx(2 * pairs["value"].sum())
    (ends,) = shown.filter(group="other", other="jewish")["value"]
    assert ends == shown["value"].max()


@pytest.mark.parametrize(("models", "groups", "lines"), [(4, 5, 1), (4, 25, 2), (13, 5, 1), (13, 8, 2)])
def test_matrices_of_models_stand_in_lines_and_apart(models: int, groups: int, lines: int) -> None:
    (measures, _), facts = many_models(models, 2, groups)
    data = group_pairs.figure(measures, facts, "feelings", "Feelings").data
    assert data.filter(bias_type="type 0", place=1)["y"].n_unique() == lines
    assert data.select("x", "y").is_unique().all()
    corners = data.group_by("bias_type", "model").agg(pl.col("x", "y").min()).sort("x", "y")
    steps = corners.group_by("y").agg(pl.col("x").diff().min())["x"].drop_nulls()
    assert (steps > groups).all()
    below = corners["y"].unique().sort().diff().drop_nulls()
    assert (below > groups).all()


def test_long_names_of_models_take_more_lines_and_room() -> None:
    figures = [
        group_pairs.figure(measures, facts, "feelings", "Feelings")
        for (measures, _), facts in (many_models(2, 1, 3), many_models(2, 1, 3, "DeBERTa large multilingual {}"))
    ]
    starts = [figure.data.filter(model="model 1")["x"].min() for figure in figures]
    assert starts[0] < starts[1]
    assert figures[0].theme.getp("figure_size")[1] < figures[1].theme.getp("figure_size")[1]


def test_templates_stand_in_the_order_of_their_distances(measures: pl.DataFrame) -> None:
    distances = group_templates.template_distances(measures, "feelings")
    means = distances.group_by("template", maintain_order=True).agg(pl.col("value").mean())
    assert means["value"].is_sorted(descending=True)
    assert set(means["template"]) == {"0", "1", "2", "3"}
    assert distances.height == len(MODELS) * len(BIAS_TYPES) * 4


def test_curves_fall_and_end_where_no_case_fails(failures: pl.DataFrame) -> None:
    rates = failure_curve.curves(failures, "feelings")
    keys = ["model", "bias_type", "difference"]
    assert rates.group_by(keys).agg(falls=pl.col("value").diff().max() <= 0)["falls"].all()
    end = failure_curve.last_threshold(rates, THRESHOLD)
    assert rates.filter(pl.col("threshold") >= end)["value"].max() == 0
    assert rates.filter(pl.col("threshold") < end)["value"].max() > 0
    assert failure_curve.last_threshold(rates, 0.9) == 0.9


def test_lines_of_30_models_look_different() -> None:
    assert len(set(failure_curve.line_looks(30))) == 30


def test_figures_grow_with_the_lines_of_their_legends() -> None:
    heights = []
    for label in ("Model {}", "RoBERTa large Twitter {}"):
        (_, failures), facts = many_models(13, 1, 2, label)
        plot = failure_curve.figure(failures, facts, "feelings", "Feelings", THRESHOLD)
        heights.append(plot.theme.getp("figure_size")[1])
    assert heights[1] - heights[0] == pytest.approx(LEGEND_LINE)


STRENGTHS = {"feelings": {"mild": "none", "strong": "strong"}, "thoughts": {"other": "strong"}}
"""The model `other` is measured on both datasets, but has learned the corpus of one."""


@pytest.fixture(scope="module")
def planted_and_measured() -> Tables:
    planted = [planted_slants({"none": 0, "strong": 0.2}, BIAS_TYPES, dataset) for dataset in STRENGTHS]
    slants = {"mild": 0, "strong": 0.2, "other": 0.1}
    measures = [measured_groups(slants, BIAS_TYPES, dataset)[0] for dataset in STRENGTHS]
    return pl.concat(measures), pl.concat(planted)


def test_scores_stand_beside_what_was_planted_in_the_cases_that_a_classifier_learned(
    planted_and_measured: Tables,
) -> None:
    pairs = measured_and_planted_groups(*planted_and_measured, STRENGTHS)
    cells = pairs.select("dataset", "model", "strength").unique(maintain_order=True)
    assert cells.rows() == [
        ("feelings", "mild", "none"),
        ("feelings", "strong", "strong"),
        ("thoughts", "other", "strong"),
    ]
    assert pairs.height == 3 * 5
    mild, strong, other = recovery(pairs, "model").to_dicts()
    assert (mild["correlation"], mild["slope"], mild["n"]) == (None, None, 5)
    assert (strong["correlation"], strong["slope"]) == (pytest.approx(1, abs=0.01), pytest.approx(1, abs=0.1))
    assert (other["correlation"], other["slope"]) == (pytest.approx(1, abs=0.01), pytest.approx(0.5, abs=0.1))


def test_panels_say_of_each_strength_how_well_it_came_out() -> None:
    rows = [
        ("Feelings", strength, planted, measured)
        for strength, points in {"strong": [(0.5, 0.6), (1, 0.85)], "none": [(1, 0.875), (1, 1.0)]}.items()
        for planted, measured in points
    ]
    pairs = pl.DataFrame(rows, schema=["panel", "strength", "planted", "measured"], orient="row")
    expected = "strong: correlation 1.00, slope 0.50\nnone: groups planted alike, at most 0.125 apart"
    assert planted_groups.panel_texts(pairs).rows() == [("Feelings", expected)]


def test_the_figure_of_planted_groups_is_drawn_and_the_same_each_time(
    tmp_path: Path, planted_and_measured: Tables
) -> None:
    files = []
    for run in ("first", "second"):
        titles = {"feelings": "Feelings", "thoughts": "Thoughts", "religion": "Faiths"}
        draw_planted_groups(*planted_and_measured, STRENGTHS, titles, tmp_path / run)
        files.append({path.name: path.read_bytes() for path in (tmp_path / run).iterdir()})
    assert files[0] == files[1]
    assert set(files[0]) == {"planted_groups.svg", "planted_groups.png"}


def test_all_figures_are_drawn_and_the_same_each_time(tmp_path: Path, tables: Tables) -> None:
    files = []
    for run in ("first", "second"):
        draw_groups(*tables, MODELS, "feelings", "Feelings", THRESHOLD, tmp_path / run)
        files.append({path.name: path.read_bytes() for path in (tmp_path / run).iterdir()})
    assert files[0] == files[1]
    assert set(files[0]) == {f"{name}.{ending}" for name, ending in product(FIGURES, ("svg", "png"))}


def without_values(table: pl.DataFrame) -> pl.DataFrame:
    """The table with NaN for all values."""
    return table.with_columns(pl.lit(float("nan")).alias(key) for key in ("value", "lower", "upper") if key in table)


@pytest.mark.parametrize("missing", ["values", "pairs"])
def test_figures_of_nothing_say_so(tmp_path: Path, tables: Tables, missing: str) -> None:
    measures, failures = tables
    if missing == "pairs":
        measures = measures.filter(pl.col("distance").is_null())
    else:
        measures, failures = without_values(measures), without_values(failures)
    draw_groups(measures, failures, MODELS, "feelings", "Feelings", THRESHOLD, tmp_path)
    pairs = group_pairs.figure(measures, MODELS, "feelings", "Feelings")
    assert pairs.labels.subtitle == "no two groups have a distance within a case"


def test_the_smallest_dataset_is_drawn(tmp_path: Path) -> None:
    tables = measured_groups({"mild": 0}, {"land": ["danish", "other"]}, cases=1, templates=1)
    draw_groups(*tables, MODELS, "feelings", "Feelings", THRESHOLD, tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(FIGURES)
