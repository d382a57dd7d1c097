"""The documents that hold generated tables, and what makes these."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from pkgutil import iter_modules

from biasgrid.base.references import load, stage_module
from biasgrid.config.docs import key_tables
from biasgrid.config.registry import BUILT_IN
from biasgrid.groups.definitions import group_measures
from biasgrid.groups.docs import GROUP_TABLES, records_table
from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.inference.scorings import SCORINGS
from biasgrid.report.figures.registry import captions
from biasgrid.tables import answers, instances
from biasgrid.tables.comparison import COMPARISON_TABLES as TABLES_OF_COMPARISON
from biasgrid.tables.comparison import CONVERGENCE
from biasgrid.tables.docs import (
    Makers,
    column_tables,
    flag_table,
    key_table,
    markdown_table,
    measure_table,
    with_tables,
)
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.key_columns import KEYS
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURES, SUMMARY, SYNTHETIC
from biasgrid.tables.metric import CONTROLS, FEW_COMPARISONS, OTHER_NAMES, PRECISION_DRIFT
from biasgrid.tables.schema import answer_schema, table
from biasgrid.tables.sums import SUMS
from biasgrid.tables.verdicts import VERDICTS

FAMILY_TABLES = {name: BUILT_IN.family(name) for name in BUILT_IN.families}
FLAGS_OF_SUMMARY = {
    name: CONTROLS[name] for name in (FEW_COMPARISONS, PRECISION_DRIFT, OTHER_NAMES)
}
"""Validity flags that every dataset has, whatever its family."""
DOCUMENTS = (
    "docs/underspecified.md",
    "config/README.md",
    "docs/outputs.md",
    "docs/scoring.md",
    "docs/figures.md",
    "docs/measures.md",
    "docs/validity.md",
    "docs/generative.md",
    "docs/probes.md",
    "docs/rewriting.md",
    "docs/public-benchmarks/bbq.md",
    "docs/public-benchmarks/discrim-eval.md",
    "docs/public-benchmarks/pairs.md",
)
SCHEMA_TABLES = {
    "INSTANCES": instances.instances_schema(
        {}, {"candidate1": None, "position1": None, **instances.OPTIONAL}
    ),
    **{
        f"KEYS of {name}": table(name, load(stage_module(of, "keys")).KEYS)
        for name, of in BUILT_IN.families.items()
    },
    **{kind.name: answer_schema(kind.name) for kind in iter_modules(answers.__path__)},
    "SUMS": SUMS,
    "MEASURES": MEASURES,
    "INTERVALS": INTERVALS,
    "DESIGN": DESIGN,
    "EVIDENCE": EVIDENCE,
    "EVIDENCE_PARTS": EVIDENCE_PARTS,
    "VERDICTS": VERDICTS,
    "SUMMARY": SUMMARY,
    "SYNTHETIC": SYNTHETIC,
    "CONVERGENCE": CONVERGENCE,
    **{schema.name.upper(): schema for schema in TABLES_OF_COMPARISON.values()},
}
"""All schemas, by the names of their constants or, of predictions, of their answer kinds."""


def figure_table() -> str:
    """Returns the table of all figures, with their captions."""
    rows = [
        f"| `{name}` | {caption.replace('|', chr(92) + '|')} |"
        for name, caption in sorted(captions().items())
    ]
    return "\n".join(["| figure | shows |", "| --- | --- |", *rows])


def rounding_note(decimals: int | None) -> str:
    """Says to how many decimals a score is rounded; "" if it is not rounded."""
    return "" if decimals is None else f"; rounded to {decimals} decimals"


def scoring_table() -> str:
    """Returns the table of the formulas that score sentences."""
    header = ("scoring", "models", "score", "of", "needs", "inputs", "source")
    rows = [
        (
            f"`{name}`",
            scoring.task,
            scoring.description + rounding_note(scoring.decimals),
            scoring.unit,
            scoring.needs or "-",
            "one for each token scored" if scoring.inputs == "each" else "one",
            scoring.source,
        )
        for name, scoring in SCORINGS.items()
    ]
    return markdown_table(header, rows)


MEASURES_OF_GROUPS = group_measures("classes", 0.1, ())
"""Those of any dataset, but for the title of its score."""

TABLES: Makers = {
    "keys of the config": key_tables,
    "figures": figure_table,
    "key columns": partial(key_table, KEYS),
    "scorings of sentences": scoring_table,
    **{
        f"measures of {name}": partial(measure_table, family.own_measures)
        for name, family in FAMILY_TABLES.items()
        if family.own_measures
    },
    "scores of each task": lambda: records_table(
        {
            (name, task): output_type
            for name, family in FAMILY_TABLES.items()
            for task, output_type in family.output_types.items()
        }
    ),
    "measures of groups": lambda: measure_table(
        {
            **MEASURES_OF_GROUPS,
            "score": replace(MEASURES_OF_GROUPS["score"], title=" or ".join(SCORE_NAMES.values())),
        }
    ),
    "validity flags": lambda: flag_table(
        {name: {**family.flags, **FLAGS_OF_SUMMARY} for name, family in FAMILY_TABLES.items()}
    ),
    **GROUP_TABLES,
    **column_tables(SCHEMA_TABLES),
}


def generate_document(document: Path) -> str:
    """Returns a document with its tables as they are now."""
    return with_tables(document.read_text(encoding="utf-8"), TABLES)
