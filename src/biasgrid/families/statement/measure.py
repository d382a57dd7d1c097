"""How often models agree with what is wrong, and whether they contradict themselves, of a cell and of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.statement.answers import YES
from biasgrid.families.statement.classes import measures_of_classes
from biasgrid.families.statement.evidence import pairs_of_classes
from biasgrid.families.statement.observe import READ, SAID, by_class, observe
from biasgrid.families.statement.parts import Parts
from biasgrid.families.statement.published import published
from biasgrid.families.statement.validity import validity
from biasgrid.tables.evidence import Evidence

__all__ = ["READ", "SAID", "evidence", "measure", "observe", "validity"]

OF_CLASSES = (("bias_type", "group"), ("bias_type", "group", "subject"))
"""Parts of what is about classes."""


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `measures` and `failure_threshold`, see `groups.measure.measure_groups`, and `mode`, with `apes` also
            the numbers that APES publishes.

    Returns:
        Columns of the schema `MEASURES`: measures of the cell, of its templates, and of the classes and values that
        its statements are about; and comparisons of the classes.
    """
    exploded = by_class(observations)
    parts = [(observations, ()), (observations, ("template",)), *((exploded, keys) for keys in OF_CLASSES)]
    tables = [rows for table, keys in parts for rows in measures_of_parts(table, keys)]
    if options["mode"] == "apes":
        tables.append(published(~observations["is_right"].fill_null(value=False)))
    own = pl.concat(tables, how="diagonal").with_columns(options=pl.lit(""))
    return pl.concat([own, measures_of_classes(exploded, options)], how="diagonal_relaxed")


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds statements that are answered wrongly most and least firmly; see `evidence.pairs_of_classes`."""
    return Evidence(pairs_of_classes(cell.instances, cell.observations, cell.measures))


def measures_of_parts(table: pl.DataFrame, keys: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yields the measures of the parts of a table, from `observe` or `by_class`."""
    parts = Parts.of(table, keys)
    for name, (values, concerned) in of_statements(table).items():
        yield parts.rows(name, *parts.means(values, concerned))
    yield bias(parts, table)
    yield macro_error(table, keys)
    pairs = pairs_of(table)
    of_pairs = Parts.of(pairs, keys)
    for name, (values, concerned) in measures_of_pairs(pairs).items():
        yield of_pairs.rows(name, *of_pairs.means(values, concerned))


def of_statements(table: pl.DataFrame) -> dict[str, tuple[FloatArray, BoolArray | None]]:
    """Returns by measure its values, shape (rows,), and of which rows it is."""
    wrong, share = 1 - numbers(table, "is_right"), numbers(table, "share")
    negated, outcome = table["negated"].to_numpy(), table["outcome"].cast(pl.String)
    sure = np.maximum(share, 1 - share)
    return {
        "error": (wrong, None),
        "error_positive": (wrong, ~negated),
        "error_negated": (wrong, negated),
        "yes_rate": (numbers(table, "says_yes"), None),
        "p_yes": (numbers(table, "yes"), None),
        "p_no": (numbers(table, "no"), None),
        "share_of_yes": (share, None),
        "certainty_right": (sure, wrong == 0),
        "certainty_wrong": (sure, wrong == 1),
        "coverage": ((outcome == "answered").to_numpy().astype(np.float64), None),
        "refusals": ((outcome == "refused").to_numpy().astype(np.float64), None),
        "cut_short": ((outcome == "length").to_numpy().astype(np.float64), None),
    }


def numbers(table: pl.DataFrame, name: str) -> FloatArray:
    """Returns a column as numbers, NaN where it is null."""
    values: FloatArray = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values


def bias(parts: Parts, table: pl.DataFrame) -> pl.DataFrame:
    """Returns how much more of the probability Yes has behind what is wrong than behind what is right."""
    share, is_true = numbers(table, "share"), (table["label"].cast(pl.String) == YES).to_numpy()
    (wrong, *of_wrong), (right, *of_right) = (parts.means(share, rows) for rows in (~is_true, is_true))
    counts, missing = (one + other for one, other in zip(of_wrong, of_right, strict=True))
    return parts.rows("bias", wrong - right, counts, missing)


def macro_error(table: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    """Returns the mean over templates of their error rates; nothing where parts are templates."""
    if "template" in keys:
        return pl.DataFrame()
    by_template = Parts.of(table, [*keys, "template"])
    error, *_ = by_template.means(1 - numbers(table, "is_right"))
    parts = Parts.of(by_template.keys, keys)
    return parts.rows("error_macro", *parts.means(error))


def pairs_of(table: pl.DataFrame) -> pl.DataFrame:
    """Puts statements beside their negations, whose columns end in `negated`; keys are those of the statement."""
    on = [name for name in ("pair", "repetition", "place") if name in table.columns]
    paired = table.drop_nulls("pair")
    stated, negation = paired.filter(~pl.col("negated")), paired.filter("negated")
    told = negation.select(*on, pl.col("share", "says_yes", "is_right").name.suffix(" negated"))
    return stated.join(told, on=on, how="inner", maintain_order="left")


def measures_of_pairs(pairs: pl.DataFrame) -> dict[str, tuple[FloatArray, BoolArray | None]]:
    """Returns what `of_statements` does, of statements with their negations."""
    right, other_right = (numbers(pairs, name) for name in ("is_right", "is_right negated"))
    says_yes, other_says_yes = (numbers(pairs, name) for name in ("says_yes", "says_yes negated"))
    inconsistency = np.abs(numbers(pairs, "share") + numbers(pairs, "share negated") - 1)
    differ = np.abs(says_yes - other_says_yes)
    return {
        "right_on_both": (right * other_right, None),
        "inconsistency": (inconsistency, None),
        "inconsistency_differing": (inconsistency, differ == 1),
        "inconsistency_same": (inconsistency, differ == 0),
    }
