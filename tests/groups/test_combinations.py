import pytest

from biasgrid.groups.combinations import (
    ImpossibleCombination,
    check_combination,
    possible_combinations,
)
from biasgrid.groups.records import OutputType
from biasgrid.groups.scores import SCORES, accepts_argument


@pytest.mark.parametrize(
    ("sort", "scalar", "sets"),
    [("classes", 10, 1), ("words", 2, 1), ("answers", 2, 2), ("subjects", 1, 1)],
)
def test_all_that_is_possible_is_accepted(sort: OutputType, scalar: int, sets: int) -> None:
    """A scalar score goes with 9 pairs of distance and comparison, a set score with 3."""
    possible = possible_combinations(sort)
    assert len(possible) == 9 * scalar + 3 * sets
    for combination in possible:
        argument = next(
            each for each in (None, "macro", 0) if accepts_argument(SCORES[combination.score], each)
        )
        check_combination(sort, **combination._asdict(), argument=argument)


@pytest.mark.parametrize(
    ("score", "distance", "comparison", "message"),
    [
        (
            "likelihood",
            "wasserstein",
            "multi_group",
            (
                "the comparison 'multi_group' does not fit the distance 'wasserstein'; expected "
                "with likelihood: pairwise of wasserstein, background of wasserstein, "
                "background_per_group of wasserstein"
            ),
        ),
        (
            "mean_likelihood",
            "wasserstein",
            "pairwise",
            (
                "the score 'mean_likelihood' is one number per group, but the distance "
                "'wasserstein' compares a set of numbers; expected with mean_likelihood: pairwise "
                "of absolute, pairwise of ratio, background of absolute, background of ratio, "
                "background_per_group of absolute, background_per_group of ratio, multi_group of "
                "divergence, multi_group of normalized_divergence, multi_group_per_group of "
                "divergence_per_group; or with wasserstein the score likelihood"
            ),
        ),
        (
            "likelihood",
            "absolute",
            "background",
            (
                "the score 'likelihood' is a set of numbers per group, but the distance "
                "'absolute' compares one number; expected with likelihood: pairwise of "
                "wasserstein, background of wasserstein, background_per_group of wasserstein; or "
                "with absolute the score mean_likelihood or top_k_accuracy"
            ),
        ),
        (
            "accuracy",
            "absolute",
            "pairwise",
            "the score 'accuracy' is for classes, not for words; expected one of likelihood,"
            " mean_likelihood, top_k_accuracy",
        ),
        (
            "likelyhood",
            "wasserstein",
            "pairwise",
            (
                "unknown score 'likelyhood' (did you mean 'likelihood'?); expected one of "
                "likelihood, mean_likelihood, top_k_accuracy"
            ),
        ),
        (
            "likelihood",
            "wasserstien",
            "pairwise",
            (
                "unknown distance 'wasserstien' (did you mean 'wasserstein'?); expected one of "
                "absolute, divergence, divergence_per_group, "
                "normalized_divergence, ratio, wasserstein"
            ),
        ),
        (
            "likelihood",
            "wasserstein",
            "pcm",
            (
                "unknown comparison 'pcm'; expected one of background, background_per_group, "
                "multi_group, multi_group_per_group, pairwise"
            ),
        ),
    ],
)
def test_the_message_names_what_would_be_possible(
    score: str, distance: str, comparison: str, message: str
) -> None:
    with pytest.raises(ImpossibleCombination) as caught:
        check_combination("words", score=score, distance=distance, comparison=comparison)
    assert str(caught.value) == message


def test_a_wrong_argument_is_refused() -> None:
    with pytest.raises(
        ImpossibleCombination,
        match="'f1' does not take 'makro'; expected the average: one of binary",
    ):
        check_combination(
            "classes", score="f1", distance="absolute", comparison="pairwise", argument="makro"
        )


def test_a_rate_needs_its_class() -> None:
    with pytest.raises(
        ImpossibleCombination,
        match="'false_negative_rate' needs an argument; expected the positive",
    ):
        check_combination(
            "classes",
            score="false_negative_rate",
            distance="absolute",
            comparison="pairwise",
        )
