"""Definitions of the measures of groups: `measures.yaml`, adapted to a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from biasgrid.groups.main_scores import MAIN_SCORES, SCORE_NAMES, main_distance
from biasgrid.groups.records import ALL_CASES, OutputType
from biasgrid.groups.scores import SCORES
from biasgrid.tables.metric import Measure, Unit, options_text, read_definitions

SCORE_UNITS: dict[OutputType, Unit] = {
    "classes": "probability",
    "words": "probability",
    "answers": "share",
    "subjects": "probability",
}


def about_groups() -> str:
    """Returns the text about comparisons of groups."""
    return read_definitions("groups").about


def group_measures(
    output_type: OutputType,
    failure_threshold: float,
    design: tuple[str, ...],
    *,
    fixed_class: str | None = None,
) -> Mapping[str, Measure]:
    """Returns the measures of groups by name.

    Args:
        output_type: the outputs of the records, which decide the main score.
        failure_threshold: the threshold of the failure rate in the summary.
        design: the keys whose sampling an interval must respect.
        fixed_class: the class whose probability `difference` compares. None if it compares the main
            score; there is no measure `right_class_difference` then.
    """
    main = MAIN_SCORES[output_type]
    score_changes: dict[str, Any] = {
        "source": SCORES[main].reference,
        "unit": SCORE_UNITS[output_type],
    }
    headline = options_text(score=main, mode=ALL_CASES)
    distance_changes = {"headline": main_distance(output_type)}
    changes = {
        "score": {"title": SCORE_NAMES[main], "headline": headline, **score_changes},
        "score_lower": score_changes,
        "score_upper": score_changes,
        "distance": distance_changes,
        "distance_corrected": distance_changes,
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
