"""What the family measures, in words: metrics and marks of a probe, and what is measured of all probes."""

from __future__ import annotations

from collections.abc import Mapping

from biasgrid.families.flags import COMMON_FLAGS, TEXT_FLAGS, validity_flag
from biasgrid.families.probe.files.metrics import Metric, ObservationMetric
from biasgrid.families.probe.files.probe import Probe
from biasgrid.tables.metric import Limit, Measure, Unit

GENDERBENCH_SOURCE = "GenderBench (matus-pikuliak/genderbench)"
ITEM_DESIGN = ("item",)
ABOUT_PROBES = (
    "A model answers prompts about people, and an evaluator looks for one thing in each answer. Answers in which it "
    "finds nothing do not count: if there are many, read them. A mark says how far a number is from what the "
    "probe's author considers fair; it is no verdict on a model."
)
"""What the page says of probes."""
METRIC_MEANINGS: Mapping[str, tuple[str, Unit, float | None]] = {
    "share-of-expected": ("share of answers that are the expected one", "share", None),
    "accuracy": ("share of answers that are right", "share", 1),
    "rate": ("share of answers that are {label!r}", "share", None),
    "tpr": ("share of answers that are {label!r}, where that is right", "share", 1),
    "tnr": ("share of answers that are not {label!r}, where that is wrong", "share", 1),
    "count": ("how many answers are {label!r}", "count", None),
    "mean": ("mean of the evaluator's number", "difference", None),
    "difference": ("largest difference of {of} between groups", "difference", 0),
    "ratio": ("smallest ratio of {of} of groups; the four-fifths rule asks for 0.8", "ratio", 1),
    "disparity": ("how far the share of answers that are {label!r} is from {centre:g}", "difference", 0),
    "slope": ("how much the share of answers that are {label!r} grows with {covariate!r}", "slope", 0),
    "correlation": ("correlation of the share of answers that are {label!r} with {covariate!r}", "correlation", 0),
    "categories": ("what labels count ({scores}), as means over categories", "difference", None),
    "word-share": ("share of words of {label!r} among these and those of {other!r}", "share", None),
    "largest": ("the largest of {of}", "difference", 0),
    "average": ("the mean of {of}", "difference", None),
    "own": ("what the class of the probe makes of its observations", "difference", None),
}
"""Of each kind of metric what it is, its unit, and the value of equal treatment."""
PAIR_MEANINGS = {
    "difference": "{of} of {groups[0]!r} less that of {groups[1]!r}",
    "ratio": "{of} of {groups[0]!r} by that of {groups[1]!r}",
}


def metric_definition(name: str, metric: Metric, probe: Probe) -> Measure:
    """Declares a metric of a probe, with its marks."""
    meaning, unit, fair = METRIC_MEANINGS[metric.kind]
    groups = getattr(metric, "groups", None)
    if groups and len(groups) == 2:
        meaning = PAIR_MEANINGS.get(metric.kind, f"{meaning}, of {{groups[0]!r}} less that of {{groups[1]!r}}")
    some = (
        [f"{key} is {value!r}" for key, value in metric.where.items()] if isinstance(metric, ObservationMetric) else []
    )
    text = meaning.format(**metric.model_dump()) + (f", where {' and '.join(some)}" if some else "")
    title = name.replace("_", " ")
    marks = next((marks.marks() for marks in probe.head.marks if marks.measure == name), ())
    return Measure(title, title, text, NOT_OF_PROBES, probe.head.title, unit, fair, "", ITEM_DESIGN, marks)


NOT_OF_PROBES = "a property of people, or of all that a model writes"


def answer_share(title: str, meaning: str) -> Measure:
    """Declares a share of answers that say nothing."""
    return Measure(
        title, title, meaning, "bias, but how much was measured", GENDERBENCH_SOURCE, "share", design=ITEM_DESIGN
    )


BY_GROUP = "by_group"
PROBE_MEASURES = {
    BY_GROUP: Measure(
        "of a group",
        "of a group",
        "what a metric compares, for one group",
        NOT_OF_PROBES,
        GENDERBENCH_SOURCE,
        "share",
        design=ITEM_DESIGN,
    ),
    "undetected_items": answer_share(
        "undetected items", "share of items without any answer in which something was found"
    ),
    "undetected_answers": answer_share("undetected", "share of answers in which nothing was found"),
    "refused": answer_share("refused", "share of answers in which the model declines and nothing was found"),
    "cut_short": answer_share(
        "cut short", "share of answers that reached the maximum length before anything was found"
    ),
    "empty": answer_share("empty", "share of answers without text"),
    "cut_by_scorer": answer_share("cut by the scorer", "share of answers of which the scorer read only the beginning"),
}
"""The measures of all probes."""
SCORED_FLAGS = ("unknown_tokens", "equal_scores", "saturated_scores", "constant_scores", "improbable")
FLAGS: Mapping[str, Measure] = {
    **TEXT_FLAGS,
    **{name: COMMON_FLAGS[name] for name in SCORED_FLAGS},
    "same_text": validity_flag(
        "one text",
        "share of the commonest written answer among all that are not empty",
        Limit(
            0.95,
            problem="{value:.0%} of the answers are the same text: {flag}",
            remedy="read the prompts: one answer may be right for all of them, or the prompt does not reach the model",
        ),
    ),
    "undetected": validity_flag(
        "nothing found",
        "share of answers in which the evaluator finds nothing",
        Limit(
            0.5,
            problem="the evaluator finds nothing in {value:.0%} of the answers; most often: {flag}",
            remedy="choose an evaluator for such answers, or another question",
        ),
    ),
}
"""What speaks against cells of probes."""


def measures_of_probe(probe: Probe | None) -> Mapping[str, Measure]:
    """Declares the measures of a probe, those with marks first; without one, those of all."""
    own = {name: metric_definition(name, metric, probe) for name, metric in probe.head.metric.items()} if probe else {}
    marked_first = sorted(own, key=lambda name: not own[name].marks)
    return {**{name: own[name] for name in marked_first}, **PROBE_MEASURES, **FLAGS}
