"""Turns decisions into instances, with Yes and No as candidates."""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.families.decision.keys import KEYS
from biasgrid.families.decision.reading import Decisions
from biasgrid.families.decision.section import DECISION
from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.sampler import units_of_sample

ANSWERS = ("Yes", "No")


def expand(decisions: Decisions) -> Expansion:
    """Expands decisions in the order of their file; a sample has whole questions."""
    files, questions = decisions.files, decisions.questions
    number = {question: place for place, question in enumerate(questions)}
    # Questions have no strata: any of them may be left out.
    sampled = {*units_of_sample([()] * len(questions), questions, files.sample)}
    rows = [row for row in decisions.rows if number[row.question] in sampled]
    columns: dict[str, list[Any]] = {
        "text": [files.prompt.replace(DECISION, row.text) for row in rows],
        "template": [number[row.question] for row in rows],
    }
    for name in ("question", "age", "gender", "race"):
        columns[name] = [getattr(row, name) for row in rows]
    constants = {"system": pl.lit(files.system, pl.String)}
    for place, answer in enumerate(ANSWERS, start=1):
        constants[f"candidate{place}"] = pl.lit(answer)
    table = pl.DataFrame(columns).with_columns(**constants)
    coverage = coverage_of_design(
        {"questions": len(sampled), "rows": len(rows)},
        {"questions": len(questions), "rows": len(decisions.rows)},
    )
    return expand_rows(table, KEYS, coverage)
