"""What speaks against a cell of underspecified questions."""

import numpy as np
import polars as pl
import pytest
from small_cells import ALWAYS, choosing, one_list, spans
from small_estimates import measures_of_cell
from small_measures import table_of
from small_tables import predictions_of

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.page import CellTables
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.families.underspecified.observe import observe
from biasgrid.families.underspecified.show import cell_payload, dataset_payload
from biasgrid.families.underspecified.sizes import UNREAD_CORRELATION
from biasgrid.families.underspecified.validity import validity
from biasgrid.tables.completeness import flag_problem
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES

SPANS = {"task": "question-answering", "scoring": "exact", "measures": []}
CHOICES = SPANS | {"task": "fill-mask"}
FLAGS = DEFINITIONS.select("flags")


def checks(
    instances: pl.DataFrame, predictions: pl.DataFrame, options: dict[str, object] = SPANS
) -> dict[str, float]:
    observations = observe(instances, predictions, options)
    measures = measures_of_cell("underspecified", observations, options)
    found = list(
        validity(
            MeasuredCell(instances.lazy(), predictions.lazy(), observations, measures, options)
        )
    )
    assert len({check.measure for check in found}) == len(found)
    return {check.measure: check.value for check in found}


def answering(instances: pl.DataFrame, answers: list[str]) -> pl.DataFrame:
    """Sure predictions that take turns with some answers."""
    turns = [answers[row % len(answers)] for row in range(len(instances))]
    return choosing(instances, ALWAYS).with_columns(answer=pl.Series(turns, dtype=pl.Categorical))


def test_a_good_cell_has_nothing_against_it() -> None:
    instances = one_list(3, attributes=2, templates=4)
    chosen = (
        instances.select((pl.col("subject1") == "Ann") != pl.col("negated")).to_series().to_numpy()
    )
    sure = spans(instances, np.where(chosen, 0.9, 0.1), np.where(chosen, 0.1, 0.9))
    named = sure.with_columns(
        answer=instances["subject1"].cast(pl.String).cast(pl.Categorical), unknown=False
    )
    shares = dict.fromkeys(
        (
            "unknown_tokens",
            "equal_scores",
            "saturated_scores",
            "constant_scores",
            "neither_subject",
        ),
        0,
    )
    found = checks(instances, named)
    # Of Bea and Carl the second is chosen always.
    assert found.pop("order") < 1
    assert found == {**shares, "balance": 1}


def test_instances_that_the_tokenizer_does_not_know_are_counted() -> None:
    instances = one_list(2)
    unknown = pl.Series([True, False, False, None])
    assert (
        checks(instances, choosing(instances, ALWAYS).with_columns(unknown=unknown))[
            "unknown_tokens"
        ]
        == 1 / 3
    )
    assert "unknown_tokens" not in checks(instances, choosing(instances, ALWAYS))


def test_equal_scores_are_counted_by_instance() -> None:
    instances = one_list(2)
    predictions = spans(instances, np.array([0.5, 0.5, 0.2, 0.1]), np.array([0.5, 0.25, 0.2, 0.3]))
    assert checks(instances, predictions)["equal_scores"] == 0.5


@pytest.mark.parametrize(
    ("answers", "share"),
    [
        (["Ann", "Bea"], 0),
        (["nobody", "Bea"], 0.5),
        (["it was ann - ", "BEA."], 0),
        (["B ea", "An"], 0),
        (["", "?"], 1),
    ],
)
def test_answers_that_name_neither_subject_are_counted(answers: list[str], share: float) -> None:
    instances = one_list(2, attributes=2)
    assert checks(instances, answering(instances, answers))["neither_subject"] == share


def test_answers_match_their_instances_in_any_order_of_predictions() -> None:
    instances = one_list(3, attributes=2)
    # Each first subject is named, which of other instances is a third one.
    predictions = choosing(instances, ALWAYS).with_columns(instances["subject1"].alias("answer"))
    mixed = predictions.sample(fraction=1, shuffle=True, seed=1)
    assert (
        checks(instances, predictions)["neither_subject"]
        == checks(instances, mixed)["neither_subject"]
        == 0
    )


def test_only_masked_models_are_asked_whether_they_expect_the_subjects_at_all() -> None:
    instances = one_list(2)
    both = [[0.0004, 0.0005], [0.1, 0.2], [0.0005, 0.0006], [0.0, 0.1]]
    found = checks(instances, predictions_of("choice", instances, probabilities=both), CHOICES)
    assert found["improbable"] == 0.25
    assert "neither_subject" not in found
    assert "improbable" not in checks(instances, choosing(instances, ALWAYS))


def test_an_improbable_cell_says_how_probable_pronouns_are_in_the_same_place() -> None:
    instances = one_list(2)
    with_pronouns = [[0.0001, 0.0002, 0.15, 0.05]] * 4
    predictions = predictions_of("choice", instances, probabilities=with_pronouns)
    observations = observe(instances, predictions, CHOICES)
    measures = measures_of_cell("underspecified", observations, CHOICES)
    cell = MeasuredCell(instances.lazy(), predictions.lazy(), observations, measures, CHOICES)
    (flag,) = (check.flag for check in validity(cell) if check.measure == "improbable")
    text = problem_of("improbable", value=1.0, flag=flag)
    assert text == (
        "in 100% of the instances the candidates together have less than 0.001 of the probability; "
        "in the same place their pronouns have 0.2 of it: see pronoun_association"
    )


@pytest.mark.parametrize("flag", [None, "names are improbable"])
def test_the_page_of_an_improbable_cell_has_the_association_of_pronouns(flag: str | None) -> None:
    women = {"subject_group": "women", "attribute": "stole", "n": 8, "q": 0.01}
    rows = [
        {"measure": "share_gamma", "value": 0.02, **women, "subject_group": None, "subject": "Ann"},
        {"measure": "share_gamma", "value": 0.01, **women},
        {"measure": "pronoun_association", "value": 1.5, "low": 1.0, "high": 2.0, **women},
        {"measure": "improbable", "value": 1.0, "n": 8, "flag": flag},
    ]
    measures = table_of(MEASURES, rows, model="tiny", dataset="names", options="", left_out=0)
    cell = CellTables(measures, empty_table(EVIDENCE), empty_table(EVIDENCE_PARTS))
    shown = cell_payload(cell, dataset_payload({"tiny": cell}))
    assert [row["value"] for row in shown["subject_groups"]] == [100]
    pronouns = [{"low": 10_000, "high": 20_000, "value": 15_000, "q": 100, "n": 8}] if flag else []
    assert [
        {key: row[key] for key in ("low", "high", "value", "q", "n")} for row in shown["pronouns"]
    ] == pronouns


def test_what_order_and_negation_change_is_a_share_of_the_answer_probability() -> None:
    instances = one_list(2)
    # Who stands first is chosen always: delta and epsilon are 1, twice the mean score.
    chosen = spans(instances, np.ones(len(instances)), np.zeros(len(instances)))
    assert checks(instances, chosen)["order"] == 2
    slightly = spans(instances, np.full(len(instances), 0.11), np.full(len(instances), 0.1))
    assert checks(instances, slightly)["order"] == pytest.approx(0.01 / 0.105, rel=1e-4)
    problem = FLAGS["order"].limit.problem
    assert "(delta)" in problem.format(flag="order by 200% of the answer probability (delta)")


def test_nothing_is_divided_by_an_answer_probability_of_0() -> None:
    instances = one_list(2)
    nothing = np.zeros(len(instances))
    assert checks(instances, spans(instances, nothing, nothing))["order"] == 0


def problem_of(name: str, **row: float | str | None) -> str | None:
    """The text of a flag, None where it does not speak against a cell."""
    limit = FLAGS[name].limit
    assert limit
    return flag_problem({"low": None, "high": None, "flag": None, **row}, limit)


def test_mass_and_negation_speak_against_a_cell_where_their_whole_interval_is_above_0() -> None:
    for flag, beyond in (("mass", 0.4), ("negation_unread", 0.9)):
        text = problem_of(flag, value=beyond, low=0.1, high=1.2, flag="1.87")
        assert text
        assert problem_of(flag, value=beyond, low=-0.1, high=1.2, flag="1.87") is None
        assert problem_of(flag, value=beyond, flag="1.87") is None
        # The value counts, not the end of its interval that is worse.
        assert problem_of(flag, value=0.2, low=0.1, high=1.2, flag="1.87") is None
    assert "1.87" in str(problem_of("mass", value=0.4, low=0.1, high=1.2, flag="1.87"))


def test_room_speaks_against_a_cell_by_its_value() -> None:
    assert problem_of("room", value=0.6, low=0.4, high=0.8) is None
    assert problem_of("room", value=0.4, low=0.2, high=0.6)


def test_subjects_that_are_asked_less_often_are_reported() -> None:
    instances = one_list(3)
    groups = instances.filter(pl.col("swap_group") < 2)
    # Of three subjects in two pairs one stands in both.
    assert checks(groups, choosing(groups, ALWAYS))["balance"] == 0.5


def test_a_page_of_a_dataset_without_any_association_is_drawn() -> None:
    nothing = CellTables(empty_table(MEASURES), empty_table(EVIDENCE), empty_table(EVIDENCE_PARTS))
    shown = cell_payload(nothing, dataset_payload({"tiny": nothing}))
    assert (shown["gamma"], shown["order"], shown["subject_groups"]) == ([], None, [])


def test_the_limit_of_reading_the_negation_matches_the_code() -> None:
    limit = FLAGS["negation_unread"].limit
    assert limit
    assert limit.value == UNREAD_CORRELATION


def test_where_the_negation_is_not_read_no_difference_from_it_is_a_claim() -> None:
    limit = FLAGS["negation_unread"].limit
    assert limit
    of_question_alone = {"question_strength", "question_group_strength"}
    no_sizes = {"significant_tests", "delta", "epsilon", "answer_probability", "winner_changes"}
    headlines = {
        name
        for name, measure in DEFINITIONS.select("measures", "stereotypes").items()
        if measure.headline is not None and name not in of_question_alone | no_sizes
    }
    assert headlines <= {*limit.silences}
    assert not of_question_alone & {*limit.silences}
