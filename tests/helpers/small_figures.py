"""Measures of three models on two datasets, and what figures are told of them."""

import polars as pl
from small_measures import measures_of

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.tables.summary import ModelFacts

SUBJECTS = ["Ann", "Bob", "Cleo", "Dan"]
ATTRIBUTES = ["was rude", "stole", "slept"]
MODELS = {
    "one": ModelFacts("SQuAD", "BERT base", {}),
    "two": ModelFacts("SQuAD", "BERT large", {}),
    "three": ModelFacts("LM", "BERT base", {}),
}
KINDS = {model: facts.kind for model, facts in MODELS.items()}
TITLES = {"faith": "Faiths", "land": "Countries"}
FAITHS = FigureContext({"faith": "Faiths"}, MODELS)
GRID = FigureContext(TITLES, MODELS)
LEARNED = {"one": "strong", "two": "strong", "three": "weak"}


def by_subject(gammas: dict[str, dict[str, float]]) -> pl.DataFrame:
    return measures_of(
        [{"model": m, "subject": s, "value": v} for m, values in gammas.items() for s, v in values.items()]
    )


def by_pair(gammas: dict[str, dict[tuple[str, str], float]], measure: str = "share_gamma") -> pl.DataFrame:
    rows = [
        {"model": model, "subject": subject, "attribute": attribute, "value": value}
        for model, values in gammas.items()
        for (subject, attribute), value in values.items()
    ]
    return measures_of(rows, measure=measure)


def categories(frame: pl.DataFrame, column: str) -> list[str]:
    """The values of a column in the order in which a plot shows them."""
    dtype = frame.schema[column]
    assert isinstance(dtype, pl.Enum)
    return dtype.categories.to_list()
