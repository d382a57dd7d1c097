"""Reports and figures of the tables that a test has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from small_measures import measures_of

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.page import INDEX, build_report
from biasgrid.report.published import PUBLISHED_SCHEMA
from biasgrid.report.run import ReportFigure, ReportRun, ReportTables
from biasgrid.stats.verdicts.summary import SummarisedGrid, summarise
from biasgrid.tables.comparison import COMPARISONS, RANKS
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES, SUMMARY, SYNTHETIC
from biasgrid.tables.summary import ModelFacts
from biasgrid.tables.verdicts import VERDICTS

SCHEMAS = {
    "measures": MEASURES,
    "summary": SUMMARY,
    "verdicts": VERDICTS,
    "examples": EVIDENCE,
    "parts": EVIDENCE_PARTS,
    "comparisons": COMPARISONS,
    "ranks": RANKS,
    "synthetic": SYNTHETIC,
}
NOTHING = {name: empty_table(schema) for name, schema in SCHEMAS.items()} | {
    "published_figures": pl.DataFrame(schema=PUBLISHED_SCHEMA)
}


def report_of(run: ReportRun, figures: Sequence[ReportFigure] = (), **tables: pl.DataFrame) -> str:
    """Builds the report of some tables; the others have no rows, but summary and verdicts are those
    of the measures.
    """
    return pages_of(run, figures, **tables)[INDEX]


def pages_of(
    run: ReportRun, figures: Sequence[ReportFigure] = (), **tables: pl.DataFrame
) -> dict[str, str]:
    """Builds all pages of a report, as `report_of` does."""
    made = summary_of(run, tables["measures"])._asdict() if "measures" in tables else {}
    return build_report(run, ReportTables(**(NOTHING | made | tables)), figures)


def summary_of(
    run: ReportRun,
    measures: pl.DataFrame,
    scoring: Mapping[str, str] | None = None,
) -> SummarisedGrid:
    """The summary of measures and the verdicts of their cells, each dataset scored as given."""
    models = {
        model.name: ModelFacts(model.kind, model.label, scoring or {}) for model in run.models
    }
    headlines = {
        dataset.name: {
            name: each.headline
            for name, each in dataset.measures.items()
            if each.headline is not None
        }
        for dataset in run.datasets
    }
    return summarise(measures, models, headlines, controls=run.controls, facts=run.facts)


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
        [
            {"model": m, "subject": s, "value": v}
            for m, values in gammas.items()
            for s, v in values.items()
        ]
    )


def by_pair(
    gammas: dict[str, dict[tuple[str, str], float]], measure: str = "share_gamma"
) -> pl.DataFrame:
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
