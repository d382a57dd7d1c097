"""Turns decisions into instances, with Yes and No as candidates."""

from __future__ import annotations

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
    number = {name: place for place, name in enumerate(questions)}
    chosen = {*units_of_sample([()] * len(questions), questions, files.sample)}
    rows = [row for row in decisions.rows if number[row.question] in chosen]
    table = pl.DataFrame(
        {
            "text": [files.prompt.replace(DECISION, row.text) for row in rows],
            "template": [number[row.question] for row in rows],
            **{
                name: [getattr(row, name) for row in rows]
                for name in ("question", "age", "gender", "race")
            },
        }
    )
    candidates = {
        f"candidate{place}": pl.lit(answer) for place, answer in enumerate(ANSWERS, start=1)
    }
    asked = {"questions": len(chosen), "rows": len(rows)}
    coverage = coverage_of_design(asked, {"questions": len(questions), "rows": len(decisions.rows)})
    return expand_rows(
        table.with_columns(system=pl.lit(files.system, pl.String), **candidates), KEYS, coverage
    )
