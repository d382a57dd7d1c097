"""The main scores, which summaries and figures show, and their names.

Light to import: planning and the report need the names alone.
"""

from __future__ import annotations

from biasgrid.groups.records import EACH_CASE, OutputType
from biasgrid.tables.metric import options_text, parse_options

MAIN_SCORES: dict[OutputType, str] = {
    "classes": "mean_class_probability",
    "words": "mean_likelihood",
    "answers": "mean_token_f1",
    "subjects": "mean_likelihood",
}
"""The main score of each output type, without argument: of the right class, the mean over all
targets, of the answer, of the subject.
"""
SCORE_NAMES: dict[str, str] = {
    "mean_class_probability": "probability of the right class",
    "mean_likelihood": "likelihood",
    "mean_token_f1": "token F1 of the answers",
}
"""The main scores in words."""


def score_text(measure: str, measure_options: str) -> str:
    """Words the score that numbers are computed from.

    Args:
        measure: the measure of the numbers, whose name is returned if the options have no score.
        measure_options: its options; an `argument` is the name of a class, whose probability the
            score is.
    """
    values = parse_options(measure_options)
    if "argument" in values:
        return f"probability of {values['argument']}"
    name = values.get("score", measure)
    return SCORE_NAMES.get(name, name.replace("_", " "))


def main_distance(output_type: OutputType) -> str:
    """Returns the options of the main distance: between pairs of groups in each case, by the main
    score.
    """
    return options_text(
        score=MAIN_SCORES[output_type], distance="absolute", comparison="pairwise", mode=EACH_CASE
    )


def main_similarity(*, by_vectors: bool) -> str:
    """Returns the options of the main similarity of answers.

    Args:
        by_vectors: whether answers are also compared by the vectors of an encoder.
    """
    return options_text(score="cosine" if by_vectors else "rouge-l")
