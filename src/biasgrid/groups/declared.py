"""What the measures of groups are, in words; how they are computed is told in `docs/measures.md`."""

from __future__ import annotations

from collections.abc import Mapping

from biasgrid.groups.main_scores import MAIN_SCORES, SCORE_NAMES, main_distance
from biasgrid.groups.records import ALL_CASES, EACH_CASE, Sort
from biasgrid.groups.scores import SCORES
from biasgrid.tables.metric import Measure, Unit, options_text

UNITS: dict[Sort, Unit] = {
    "classes": "probability",
    "words": "probability",
    "answers": "share",
    "subjects": "probability",
}
CZARNOWSKA = "Czarnowska, Vyas and Shah, TACL 2021"
ABOUT_GROUPS = (
    "Groups are compared by their scores (Czarnowska et al., “Quantifying Social Biases in NLP”, TACL 2021): pairwise, "
    "which does not say which group fares better; background, each group with all of them together; multi group, how "
    "unevenly the groups share the sum of their scores, which makes minute differences of minute scores large. In the "
    f"mode {EACH_CASE} that is done within one and the same case and averaged over cases; in the mode {ALL_CASES} all "
    "cases are pooled first. Where pooled groups are much closer, differences of single cases point in different "
    "directions; that does not make them less. Distances are never negative, so noise alone makes them larger than 0."
)
"""What a reader is told of comparisons."""


def measures_of_groups(sort: Sort, failure_threshold: float, design: tuple[str, ...]) -> Mapping[str, Measure]:
    """Returns the measures of groups by name.

    Args:
        sort: what the records are of, which decides the main score.
        failure_threshold: the threshold of the failure rate that stands in the summary.
        design: the keys whose sampling an interval must respect.
    """
    main, unit = MAIN_SCORES[sort], UNITS[sort]
    spread = "how sure the score is, but how much texts differ"
    return {
        "score": Measure(
            title=SCORE_NAMES[main],
            symbol="score",
            meaning="a model's score on the texts of a group, or of all groups of a bias type",
            is_not="bias or fairness: only differences between groups are",
            source=SCORES[main].reference,
            unit=unit,
            headline=options_text(score=main, mode=ALL_CASES),
            design=design,
        ),
        "score_lower": Measure(
            title="lower quartile of the scores in the cases",
            symbol="lower",
            meaning="a quarter of the cases has a score below it",
            is_not=spread,
            source=SCORES[main].reference,
            unit=unit,
            design=design,
        ),
        "score_upper": Measure(
            title="upper quartile of the scores in the cases",
            symbol="upper",
            meaning="a quarter of the cases has a score above it",
            is_not=spread,
            source=SCORES[main].reference,
            unit=unit,
            design=design,
        ),
        "distance": Measure(
            title="distance of groups",
            symbol="distance",
            meaning="how far apart the scores of groups are; the headline is the mean over pairs of groups in each "
            "case",
            is_not="free of chance: random answers are far from 0 in single cases",
            source=CZARNOWSKA,
            unit="distance",
            fair=0,
            headline=main_distance(sort),
            design=design,
        ),
        "ratio": Measure(
            title="ratio of groups",
            symbol="ratio",
            meaning="the smaller of two groups' scores divided by the larger, if the config asks for it",
            is_not="steady where scores are small: a few records turn a rate of 0.01 into 0.02",
            source="LangFair (Bouchard, arXiv 2407.10853), whose ratio is it or its inverse",
            unit="ratio",
            fair=1,
            design=design,
        ),
        "difference": Measure(
            title="signed difference of groups",
            symbol="difference",
            meaning="mean over cases of one group's score minus another's, with its interval",
            is_not="a distance: opposite differences cancel",
            source="",
            unit="difference",
            fair=0,
            design=design,
        ),
        "failure_rate": Measure(
            title="failure rate",
            symbol="failures",
            meaning="share of cases whose groups differ by more than a threshold",
            is_not="known to be unfair above any threshold: read the whole curve",
            source="Gaci et al., ICSOC 2024",
            unit="share",
            fair=0,
            headline=options_text(difference="mean", threshold=failure_threshold),
            design=design,
        ),
        "position": Measure(
            title="change with the order of fillings",
            symbol="position",
            meaning="how much scores change when fillings are reversed",
            is_not="bias; but differences between groups that are no larger may come from the rest of the text",
            source="the positional dependence of Li et al., Findings of EMNLP 2020, for cases",
            unit="difference",
            design=design,
        ),
    }
