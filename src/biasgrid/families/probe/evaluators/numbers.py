"""Evaluators that return numbers, or whatever a class of the user says."""

from __future__ import annotations

import logging

import polars as pl

from biasgrid.families.probe.evaluators.table import ANSWER, FOUND_SCHEMA, typed_rows
from biasgrid.families.probe.expand import parse_keys
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.responses import sentiment_of

logger = logging.getLogger(__name__)
SHOWN = 200
"""How many characters of an answer are shown."""


def sentiment(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Returns the compound score of VADER, from -1 to 1."""
    value = sentiment_of(answers["response"])["compound"]
    return typed_rows(answers.select("row", score=pl.lit("compound"), label=pl.lit(None, pl.String), value=value))


def scored(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Returns what a classifier of the config said of the answers."""
    numbers = answers.select("row", score=pl.lit(probe.head.evaluator.scorer), label=pl.lit(None), value="text_score")
    return typed_rows(numbers.drop_nulls("value"))


def own(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Asks the method `observe` of the probe's class; an answer at which it fails is told, and the others are kept."""
    assert probe.own is not None
    rows: list[tuple[int, str, str | None, float]] = []
    for row, response, keys, item in answers.select(
        "row", "response", pl.col("keys").cast(pl.String), "item"
    ).iter_rows():
        try:
            said = probe.own.observe(response, parse_keys(keys))
        except Exception as error:  # the code of a user may raise anything
            problem = f"{type(error).__name__}: {error}"
            logger.warning("`observe` fails at item %s (%s), answer %r: %s", item, keys, response[:SHOWN], problem)
            continue
        if isinstance(said, str):
            rows.append((row, ANSWER, said, 1.0))
        elif said is not None:
            rows.append((row, ANSWER, None, float(said)))
    return pl.DataFrame(rows, schema=FOUND_SCHEMA, orient="row")
