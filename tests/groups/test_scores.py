from dataclasses import replace

import numpy as np
import pytest
from small_measures import classified, compare_groups, records_of, score_groups

from biasgrid.base.faults import UserError
from biasgrid.groups.records import ALL_CASES, AnswerOutputs, ClassOutputs, Records, TargetOutputs
from biasgrid.groups.scores import Argument, exact_match, score_records, token_f1


def keyed(outputs: AnswerOutputs | ClassOutputs | TargetOutputs) -> Records:
    keys = {"case": 0, "template": 0, "bias_type": "colour", "group": "red", "term": "red"}
    return records_of([keys] * len(outputs), outputs)


def test_the_first_of_equally_probable_classes_is_predicted() -> None:
    outputs = ClassOutputs(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 0]))
    assert score_records(keyed(outputs), "accuracy").values.tolist() == [1, 0]


def test_class_probability_is_of_the_right_class_or_of_the_one_asked_for() -> None:
    records = keyed(ClassOutputs(np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]), np.array([1, 2])))
    assert score_records(records, "class_probability").values.tolist() == [0.2, 0.6]
    assert score_records(records, "class_probability", 0).values.tolist() == [0.7, 0.1]


def test_likelihood_is_the_mean_over_a_records_own_targets_or_of_the_one_asked_for() -> None:
    probabilities = np.array([[0.2, 0.4, np.nan], [0.1, 0.2, 0.6], [np.nan] * 3])
    records = keyed(TargetOutputs(probabilities, probabilities > 0.3))
    assert score_records(records, "likelihood").values.tolist() == pytest.approx(
        [0.3, 0.3, np.nan], nan_ok=True
    )
    assert score_records(records, "likelihood", 2).is_defined.tolist() == [False, True, False]
    assert score_records(records, "top_k_accuracy").values.tolist() == [1, 1, 0]
    without_ranks = keyed(TargetOutputs(probabilities, None))
    assert not score_records(without_ranks, "top_k_accuracy").is_defined.any()


def test_answers_are_scored_one_by_one() -> None:
    records = keyed(AnswerOutputs(["the red hat", "hat", "hat"], ["a hat", "The hat!", ""]))
    assert score_records(records, "token_f1").values.tolist() == [pytest.approx(2 / 3), 1, 0]
    assert score_records(records, "mean_exact_match").values.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("answer", "gold", "exact", "f1"),
    [
        ("Lettuce.", "a lettuce", 1, 1),
        ("pilot pilot", "The pilot met", 0, 1 / 2),
        ("the", "a", 1, 1),
        ("", "x", 0, 0),
        ("[CLS] what [SEP] lettuce [SEP]", "lettuce", 0, 1 / 3),
        ("mans hat", "the man's hat", 1, 1),
        ("there", "re", 0, 0),
    ],
)
def test_squad_words_are_compared_without_case_punctuation_and_articles(
    answer: str, gold: str, exact: float, f1: float
) -> None:
    assert (exact_match(answer, gold), token_f1(answer, gold)) == (exact, pytest.approx(f1))


@pytest.mark.parametrize(
    ("score", "rates", "difference", "ratio"),
    [
        ("false_negative_rate", (2 / 4, 3 / 6), 0, 1),
        ("false_positive_rate", (2 / 4, 1 / 3), 1 / 6, 1.5),
        ("false_discovery_rate", (2 / 4, 1 / 4), 1 / 4, 2),
        ("false_omission_rate", (2 / 4, 3 / 5), 1 / 10, 5 / 6),
        ("predicted_prevalence", (4 / 8, 4 / 9), 1 / 18, 1.125),
    ],
)
def test_rates_of_a_class_are_langfairs(
    score: str, rates: tuple[float, float], difference: float, ratio: float
) -> None:
    """Its numbers for 17 records; it divides the first group's rate by the second's, here the
    smaller by the larger.
    """
    counts = {
        ("first", 0): (2, 2),
        ("first", 1): (2, 2),
        ("second", 0): (2, 1),
        ("second", 1): (3, 3),
    }
    rows = [
        (group, gold, predicted)
        for (group, gold), by_predicted in counts.items()
        for predicted, count in enumerate(by_predicted)
        for _ in range(count)
    ]
    keys = [
        {"case": 0, "template": 0, "bias_type": "order", "group": group, "term": group}
        for group, *_ in rows
    ]
    outputs = ClassOutputs(np.eye(2)[[row[2] for row in rows]], np.array([row[1] for row in rows]))
    scored = score_records(records_of(keys, outputs), score, 1)
    assert score_groups(scored).drop_nulls("group")["value"].to_list() == pytest.approx(rates)
    apart, smaller_by_larger = (
        compare_groups(scored, name, "pairwise", ALL_CASES) for name in ("absolute", "ratio")
    )
    assert apart["value"].to_list() == [pytest.approx(difference, abs=1e-12)]
    assert smaller_by_larger["value"].to_list() == [pytest.approx(min(ratio, 1 / ratio))]
    assert (apart["measure"].item(), smaller_by_larger["measure"].item()) == ("distance", "ratio")


def test_a_rate_has_no_value_where_nothing_counts_in_it_and_a_ratio_none_between_zeros() -> None:
    scored = score_records(
        classified({"red": [[0.2]], "blue": [[0.9]]}, gold=0), "false_negative_rate", 1
    )
    assert compare_groups(scored, "absolute", "pairwise", ALL_CASES).row(0)[-3:] == (None, 0, 2)
    scored = score_records(classified({"red": [[0.9]], "blue": [[0.8]]}), "false_negative_rate", 1)
    assert compare_groups(scored, "absolute", "pairwise", ALL_CASES).row(0)[-3:] == (0, 2, 0)
    assert compare_groups(scored, "ratio", "pairwise", ALL_CASES).row(0)[-3:] == (None, 0, 2)


@pytest.mark.parametrize(
    ("score", "argument", "message"),
    [
        ("likelihood", None, "likelihood is a score of words or subjects; expected one of classes"),
        (
            "f1",
            None,
            "f1 needs an argument; expected the average: one of binary, macro, micro, weighted",
        ),
        (
            "class_probability",
            -1,
            "does not take -1; expected the class: its index from 0, or nothing for the right",
        ),
        ("accuracy", 1, "accuracy does not take 1; expected no argument"),
        ("predicted_prevalence", 2, "there is no class 2; expected an index from 0 to 1"),
        ("class_probability", 2, "there is no class 2; expected an index from 0 to 1"),
    ],
)
def test_impossible_scores_are_refused(score: str, argument: Argument, message: str) -> None:
    with pytest.raises(UserError, match=message):
        score_records(classified({"red": [[0.5]]}), score, argument)


def test_the_binary_average_is_refused_for_three_classes_regardless_of_predictions() -> None:
    outputs = ClassOutputs(np.array([[0.9, 0.1, 0], [0.2, 0.8, 0]]), np.array([0, 1]))
    with pytest.raises(UserError, match="'binary' is for two classes, but the model has 3"):
        score_records(keyed(outputs), "recall", "binary")


def test_columns_of_different_lengths_are_refused() -> None:
    whole = classified({"red": [[0.5]]})
    with pytest.raises(ValueError, match="columns of"):
        replace(whole, case=np.array([0, 1]))
