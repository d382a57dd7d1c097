"""The scores that are looked at first, by what there is of records; light, for those who only name
them.
"""

from __future__ import annotations

from biasgrid.groups.records import EACH_CASE, Sort
from biasgrid.tables.metric import options_text, parse_options

MAIN_SCORES: dict[Sort, str] = {
    "classes": "mean_class_probability",
    "words": "mean_likelihood",
    "answers": "mean_token_f1",
    "subjects": "mean_likelihood",
}
"""Of the right class, over all targets, of the answer, of the subject."""
SCORE_NAMES: dict[str, str] = {
    "mean_class_probability": "probability of the right class",
    "mean_likelihood": "likelihood",
    "mean_token_f1": "token F1 of the answers",
}
"""How people read them."""


def score_text(measure: str, measure_options: str) -> str:
    """Returns what numbers are differences of: a score, or the probability of the class that is
    their argument.

    Args:
        measure: their measure, which is named where they have no score.
        measure_options: those of the measure.
    """
    chosen = parse_options(measure_options)
    if "argument" in chosen:
        return f"probability of {chosen['argument']}"
    name = chosen.get("score", measure)
    return SCORE_NAMES.get(name, name.replace("_", " "))


def main_distance(sort: Sort) -> str:
    """Returns the options of the distance that is looked at first: that of the main score in the
    cases.
    """
    return options_text(
        score=MAIN_SCORES[sort], distance="absolute", comparison="pairwise", mode=EACH_CASE
    )


def main_similarity(*, by_vectors: bool) -> str:
    """Returns the options of the similarity of answers that is looked at first.

    Args:
        by_vectors: whether answers are compared by the vectors of an encoder, too.
    """
    return options_text(score="cosine" if by_vectors else "rouge-l")
