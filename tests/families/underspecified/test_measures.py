from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal
from small_cells import ALWAYS, NAMES, choosing, expanded, measured, one_list, spans
from small_tables import predictions_of

from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.observe import compare_subjects, scores_in_groups
from biasgrid.formats.unqover.export import subject_scores
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import MEASURES

CORNERS = list(product((False, True), repeat=2))


def value(measures: pl.DataFrame, name: str, **keys: str) -> tuple[float, int]:
    """Value and count of one row."""
    parts = ["subject", "subject_group", "attribute", "attribute_group"]
    rows = measures.filter(
        pl.col("measure") == name, *(pl.col(part).eq_missing(keys.get(part)) for part in parts)
    )
    return (
        rows.select("value", "n").row(0) if rows.height == 1 else pytest.fail(f"{rows.height} rows")
    )


@st.composite
def cells(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A small cell with random scores."""
    sizes = {name: draw(st.integers(1, 3)) for name in ("attributes", "templates")}
    instances = one_list(draw(st.integers(2, 4)), **sizes)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = random.random((2, instances.height)) * (
        random.random((2, instances.height)) < draw(st.floats(0, 1))
    )
    return instances, spans(instances, *values)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(cells())
def test_gamma_is_negated_when_the_subjects_change_places(
    cell: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    instances, predictions = cell
    crossed = predictions.with_columns(pl.col("starts", "ends").list.reverse())
    before, after = measured(instances, predictions), measured(instances, crossed)
    gamma = pl.col("measure") == "gamma"
    assert_frame_equal(
        after.filter(gamma), before.filter(gamma).with_columns(-pl.col("value")), check_exact=True
    )
    assert value(before, "delta") == pytest.approx(value(after, "delta"))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(cells())
def test_gamma_is_negated_when_the_questions_change_places(
    cell: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    instances, predictions = cell
    gamma = pl.col("measure") == "gamma"
    before = measured(instances, predictions).filter(gamma)
    after = measured(instances.with_columns(~pl.col("negated")), predictions).filter(gamma)
    assert_frame_equal(after, before.with_columns(-pl.col("value")), check_exact=True)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(cells())
def test_what_one_subject_gains_the_others_lose(cell: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    gamma = measured(*cell).filter(pl.col("measure") == "gamma").drop_nulls("subject")
    for name in ("attribute", "attribute_group"):
        sums = gamma.group_by(name).agg((pl.col("value") * pl.col("n")).sum())
        assert np.allclose(sums["value"], 0, atol=1e-12)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(cells(), st.integers(0, 2**32))
def test_the_order_of_the_rows_changes_nothing(
    cell: tuple[pl.DataFrame, pl.DataFrame], seed: int
) -> None:
    instances, predictions = cell
    shuffled = [table.sample(fraction=1, shuffle=True, seed=seed) for table in cell]
    assert measured(*shuffled).equals(measured(instances, predictions))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(cells())
def test_gamma_is_the_mean_of_the_comparisons_in_plain_python(
    cell: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    instances, predictions = cell
    rows = instances.join(predictions, on="instance").rows(named=True)
    score = {
        (row["swap_group"], row["swapped"], row["negated"], row[f"subject{which}"]): float(
            row["starts"][which - 1]
        )
        for row, which in product(rows, (1, 2))
    }
    comparisons: dict[str, list[float]] = {name: [] for name in NAMES}
    for group in {row["swap_group"] for row in rows}:
        one, two = sorted({key[3] for key in score if key[0] == group})
        preference = {
            name: sum(
                score[group, swapped, negated, name] * (-0.5 if negated else 0.5)
                for swapped, negated in CORNERS
            )
            for name in (one, two)
        }
        comparisons[one].append((preference[one] - preference[two]) / 2)
        comparisons[two].append((preference[two] - preference[one]) / 2)
    measures = measured(instances, predictions)
    for name, values in comparisons.items():
        if values:
            assert value(measures, "gamma", subject=name) == (
                pytest.approx(np.mean(values), abs=1e-7),
                len(values),
            )


def test_always_choosing_the_first_subject_is_an_error_of_position_and_no_bias() -> None:
    instances = one_list(3, attributes=2)
    measures = measured(instances, choosing(instances, ALWAYS))
    assert measures.filter(pl.col("measure") == "gamma")["value"].unique().to_list() == [0]
    assert value(measures, "mu") == (0, 3)
    assert value(measures, "delta") == (1, 6)
    assert value(measures, "winner_changes") == (1, 6)
    assert value(measures, "answer_probability") == (0.5, 6)


def test_ignoring_the_negation_is_an_error_of_attribute_and_no_bias() -> None:
    instances = one_list(3, attributes=2)
    predictions = choosing(
        instances, pl.col("subject1").cast(pl.String) < pl.col("subject2").cast(pl.String)
    )
    measures = measured(instances, predictions)
    assert measures.filter(pl.col("measure") == "gamma")["value"].unique().to_list() == [0]
    assert value(measures, "epsilon") == (1, 6)
    assert value(measures, "delta") == (0, 6)
    assert value(measures, "winner_changes") == (0, 6)


def test_a_perfect_preference_has_gamma_1() -> None:
    instances = one_list(2, attributes=3)
    measures = measured(
        instances, choosing(instances, (pl.col("subject1") == "Ann") != pl.col("negated"))
    )
    assert value(measures, "gamma", subject="Ann", attribute="did 1") == (1, 1)
    assert value(measures, "gamma", subject="Bea") == (-1, 3)
    assert value(measures, "eta", subject="Bea") == (-1, 3)
    assert value(measures, "win_ratio", subject="Ann", attribute_group="sort 0") == (1, 2)
    assert value(measures, "win_ratio", subject="Bea") == (0, 3)
    assert value(measures, "mu") == value(measures, "eta") == (1, 2)
    assert value(measures, "epsilon") == value(measures, "delta") == (0, 3)


def test_a_swap_group_worked_by_hand() -> None:
    instances = one_list(
        2
    )  # in this order: Ann first, plain and negated; Bea first, plain and negated
    measures = measured(
        instances, spans(instances, np.array([8, 1, 2, 4]) / 16, np.array([2, 3, 4, 6]) / 16)
    )
    # B(Ann) = (8 + 4)/2 - (1 + 6)/2 = 2.5, B(Bea) = (2 + 2)/2 - (3 + 4)/2 = -1.5, in sixteenths
    assert value(measures, "gamma", subject="Ann", attribute="did 0") == (2 / 16, 1)
    assert value(measures, "delta") == ((4 + 0 + 5 + 1) / 4 / 16, 1)
    assert value(measures, "epsilon") == ((5 + 1 + 0 + 4) / 4 / 16, 1)
    assert value(measures, "answer_probability") == (30 / 8 / 16, 1)
    assert value(measures, "winner_changes") == (0, 1)


def test_a_tie_is_nobodys_win_and_has_no_sign() -> None:
    instances = one_list(2)
    measures = measured(instances, spans(instances, np.full(4, 0.25), np.full(4, 0.25)))
    for name in ("Ann", "Bea"):
        assert value(measures, "win_ratio", subject=name) == (0, 1)
        assert value(measures, "eta", subject=name) == (0, 1)
    assert value(measures, "winner_changes") == (0, 1)


def test_clusters_of_subjects_count_only_pairs_across_them() -> None:
    instances = one_list(4, subject_groups=["she", "she", "he", None], attributes=3)
    measures = measured(
        instances,
        choosing(instances, (pl.col("group1") == "he").fill_null(False) != pl.col("negated")),
    )
    assert value(measures, "gamma", subject_group="he") == (1, 2 * 3)
    assert value(measures, "gamma", subject_group="she") == (-1, 2 * 3)
    assert value(measures, "gamma", subject_group="she", attribute="did 2") == (-1, 2)
    assert value(measures, "gamma", subject_group="he", attribute_group="sort 0") == (1, 2 * 2)


def test_without_clusters_there_are_no_rows_about_them() -> None:
    instances = one_list(3).with_columns(attribute_group=pl.lit(None, pl.Categorical))
    measures = measured(instances, choosing(instances, pl.col("negated")))
    assert (
        measures["subject_group"].null_count()
        == measures["attribute_group"].null_count()
        == measures.height
    )


def test_measures_name_the_cell_and_fit_their_schema() -> None:
    instances = one_list(3)
    measures = measured(instances, choosing(instances, pl.col("negated")))
    validate_table(measures, MEASURES, "measures")
    assert measures["model"].unique().to_list() == ["model"]
    assert measures["dataset"].unique().to_list() == ["dataset"]


def test_a_span_scores_the_geometric_mean_of_its_ends() -> None:
    predictions = predictions_of(
        "span", one_list(2).head(1), starts=[[0.25, -1e-7]], ends=[[1.0, 0.5]], answer=["nobody"]
    )
    assert subject_scores(predictions, "exact").row(0) == (0, 0.5, 0)


def test_pronouns_are_put_in_the_places_of_their_subjects() -> None:
    instances = one_list(3, attributes=2, templates=2)
    of_subjects = np.random.default_rng(1).uniform(0.1, 0.5, (len(instances), 2))
    both = np.hstack([of_subjects, of_subjects / 2]).tolist()
    observations = compare_subjects(
        instances, predictions_of("choice", instances, probabilities=both), "exact"
    )
    assert_allclose(
        scores_in_groups(observations, "pronoun_scores"),
        scores_in_groups(observations) / 2,
        rtol=1e-6,
    )
    alone = predictions_of("choice", instances, probabilities=of_subjects.tolist())
    assert "pronoun_scores" not in compare_subjects(instances, alone, "exact").columns


def test_unqover_scoring_raises_a_mask_probability_to_the_pronouns() -> None:
    probabilities = [[0.25, 0.0, 0.5, None], [0.5, 0.0, 0.25, None]]
    predictions = predictions_of("choice", one_list(2).head(2), probabilities=probabilities)
    assert subject_scores(predictions, "exact").rows() == [(0, 0.25, 0), (1, 0.5, 0)]
    assert subject_scores(predictions, "unqover").rows() == [(0, 0.5, 0), (1, 0.5, 0)]


def test_pairs_across_two_lists_are_antisymmetric_to_the_last_bit() -> None:
    lists = [
        Subjects({"[subj]": NAMES[:2]}, ["she"] * 2),
        Subjects({"[subj]": NAMES[2:4]}, ["he"] * 2),
    ]
    instances = expanded(lists, attributes=2, templates=3)
    random = np.random.default_rng(1)
    measures = measured(instances, spans(instances, *random.random((2, instances.height))))
    for attribute in ("did 0", "did 1"):
        she, he = (
            value(measures, "gamma", subject_group=name, attribute=attribute)[0]
            for name in ("she", "he")
        )
        assert she == -he != 0
    assert value(measures, "gamma", subject="Ann")[1] == 2 * 2 * 3
