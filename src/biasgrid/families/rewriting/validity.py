"""What speaks against cells of rewritten prompts."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.rewriting.section import NEUTRAL
from biasgrid.families.validity import same_text, text_checks
from biasgrid.tables.completeness import Check


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.FLAGS`."""
    answers = cell.observations.filter(pl.col("other").is_null(), pl.col("group").cast(pl.String) != NEUTRAL)
    answers = answers.cast({"score": pl.String})
    ended = answers.filter(pl.col("score").is_in(["refused", "empty"]))
    silent = ended.group_by("instance").agg(pl.col("value").max())["value"]
    yield Check("silent", float(silent.mean()), len(silent))  # type: ignore[arg-type]
    yield from text_checks(cell.predictions)
    if answers["prompt"].n_unique() > 1:
        yield from same_text(cell.predictions)
    prompts = answers["prompt"].n_unique()
    yield Check("few_prompts", prompts, prompts)
