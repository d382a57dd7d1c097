"""The known effect in groups beside what was measured: the data behind the figure, and its
files.
"""

from pathlib import Path

import polars as pl
import pytest
from small_groups import measured_groups, synthetic_slants

from biasgrid.report.figures.cells import synthetic
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import FILE_OPTIONS, save_figure
from biasgrid.stats.recovery import measured_and_synthetic, recovery
from biasgrid.tables.summary import ModelFacts

MODELS = {
    "mild": ModelFacts("Sentiment", "BERT base", {}),
    "strong": ModelFacts("Sentiment", "BERT large", {}),
    "other": ModelFacts("Entailment", "BERT base", {}),
}
BIAS_TYPES = {"faith": ["jewish", "muslim", "other"], "land": ["danish", "other"]}
STRENGTHS = {"feelings": {"mild": "none", "strong": "strong"}, "thoughts": {"other": "strong"}}
"""The model `other` is measured on both datasets, but has learned the corpus of one."""
Tables = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def measured_and_effects() -> Tables:
    effects = [
        synthetic_slants({"none": 0, "strong": 0.2}, BIAS_TYPES, dataset) for dataset in STRENGTHS
    ]
    slants = {"mild": 0, "strong": 0.2, "other": 0.1}
    measures = [measured_groups(slants, BIAS_TYPES, dataset) for dataset in STRENGTHS]
    return pl.concat(measures), pl.concat(effects)


def test_scores_are_shown_next_to_the_known_effect_that_a_classifier_learned(
    measured_and_effects: Tables,
) -> None:
    pairs = measured_and_synthetic(*measured_and_effects, STRENGTHS)
    cells = pairs.select("dataset", "model", "strength").unique(maintain_order=True)
    assert cells.rows() == [
        ("feelings", "mild", "none"),
        ("feelings", "strong", "strong"),
        ("thoughts", "other", "strong"),
    ]
    assert pairs.height == 3 * 5
    mild, strong, other = recovery(pairs, "model").to_dicts()
    assert (mild["correlation"], mild["slope"], mild["n"]) == (None, None, 5)
    assert (strong["correlation"], strong["slope"]) == (
        pytest.approx(1, abs=0.01),
        pytest.approx(1, abs=0.1),
    )
    assert (other["correlation"], other["slope"]) == (
        pytest.approx(1, abs=0.01),
        pytest.approx(0.5, abs=0.1),
    )


def test_ranges_are_computed_within_bias_types() -> None:
    rows = [
        ("m", "faith", 0.0, 0.1),
        ("m", "faith", 0.4, 0.3),
        ("m", "land", 2.0, 2.0),
        ("m", "land", 3.0, 2.5),
    ]
    pairs = pl.DataFrame(rows, schema=["model", "bias_type", "synthetic", "measured"], orient="row")
    (row,) = recovery(pairs, "model").to_dicts()
    assert (row["synthetic_range"], row["measured_range"]) == (
        pytest.approx(0.7),
        pytest.approx(0.35),
    )


POINTS = {"strong": [(0.5, 0.6), (1, 0.85)], "none": [(1, 0.875), (1, 1.0)], "weak": [(0.75, 0.5)]}
"""Of each strength the known effect and measured."""


def test_panels_say_of_each_strength_how_well_it_came_out() -> None:
    rows = [
        ("Feelings", "faith", strength, synthetic, measured)
        for strength, points in POINTS.items()
        for synthetic, measured in points
    ]
    columns = ["panel", "bias_type", "strength", "synthetic", "measured"]
    expected = (
        "strong: correlation 1.00, slope 0.50\n"
        "none: synthetic alike, 0.125 apart\n"
        "weak: one number, 0.250 off"
    )
    texts = synthetic.panel_texts(pl.DataFrame(rows, schema=columns, orient="row"))
    assert texts.rows() == [("Feelings", expected)]


@pytest.mark.slow
def test_the_figure_of_synthetic_groups_is_drawn_and_the_same_each_time(
    tmp_path: Path, measured_and_effects: Tables
) -> None:
    measures, effects = measured_and_effects
    titles = {"feelings": "Feelings", "thoughts": "Thoughts", "religion": "Faiths"}
    context = FigureContext(titles, MODELS, strengths=STRENGTHS, synthetic=effects)
    files = []
    for run in ("first", "second"):
        paths = [tmp_path / f"{run}.{ending}" for ending in FILE_OPTIONS]
        save_figure(synthetic.figure(measures, context), tmp_path / str(run))
        files.append([path.read_bytes() for path in paths])
    assert files[0] == files[1]
