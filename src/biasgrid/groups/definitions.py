"""Definitions of the measures of groups: the words of `measures.yaml`, with what depends on a
dataset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from biasgrid.groups.main_scores import MAIN_SCORES, SCORE_NAMES, main_distance
from biasgrid.groups.records import ALL_CASES, Sort
from biasgrid.groups.scores import SCORES
from biasgrid.tables.metric import Measure, Unit, options_text, read_definitions

UNITS: dict[Sort, Unit] = {
    "classes": "probability",
    "words": "probability",
    "answers": "share",
    "subjects": "probability",
}


def about_groups() -> str:
    """Returns what a reader is told of comparisons."""
    return read_definitions("groups").about


def measures_of_groups(
    sort: Sort, failure_threshold: float, design: tuple[str, ...], fixed_class: str | None = None
) -> Mapping[str, Measure]:
    """Returns the measures of groups by name.

    Args:
        sort: what the records are of, which decides the main score.
        failure_threshold: the threshold of the failure rate that stands in the summary.
        design: the keys whose sampling an interval must respect.
        fixed_class: of classifiers the class whose probability groups are compared by; without it
            there is one difference alone, that of the main score.
    """
    main = MAIN_SCORES[sort]
    of_score: dict[str, Any] = {"source": SCORES[main].reference, "unit": UNITS[sort]}
    headline = options_text(score=main, mode=ALL_CASES)
    distance_headline = {"headline": main_distance(sort)}
    changes = {
        "score": {"title": SCORE_NAMES[main], "headline": headline, **of_score},
        "score_lower": of_score,
        "score_upper": of_score,
        "distance": distance_headline,
        "distance_corrected": distance_headline,
        "failure_rate": {"headline": options_text(difference="mean", threshold=failure_threshold)},
    }
    measures = read_definitions("groups").select("measures")
    if fixed_class is None:
        del measures["right_class_difference"]
    else:
        meaning = (
            f"mean over cases of the probability of {fixed_class} for one group minus "
            "that for another"
        )
        changes["difference"] = {"meaning": meaning}
    return {
        name: replace(measure, design=design, **changes.get(name, {}))
        for name, measure in measures.items()
    }
