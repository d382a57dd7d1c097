"""Classes as groups: what models answer to the same statement about one class and another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.statement.answers import YES
from biasgrid.families.statement.expand import OPTIONS
from biasgrid.groups.combinations import MAIN_SCORES, main_distance
from biasgrid.groups.records import ALL_CASES, ClassOutputs, Records, Sort
from biasgrid.groups.tables import measure_groups, records_of
from biasgrid.tables.metric import options_text

SORT: Sort = "classes"
SEPARATOR = "\x1f"


def measures_of_classes(exploded: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Compares the classes of each domain.

    Args:
        exploded: from `by_class`.
        options: see `measure.measure`.

    Returns:
        Columns of the schema `MEASURES`; domains of whose statements none has an answer have headlines without value.
    """
    several = in_several(exploded)
    answered = answered_in_several(exploded)
    tables = [without_answers(several, answered, options["failure_threshold"])]
    if len(answered):
        tables.append(measure_groups(records(answered), options["measures"], options["failure_threshold"]))
    return pl.concat(tables, how="diagonal_relaxed")


def in_several(exploded: pl.DataFrame) -> pl.DataFrame:
    """Returns what is about domains of several classes."""
    return exploded.filter(pl.col("group").n_unique().over("bias_type") > 1)


def answered_in_several(exploded: pl.DataFrame) -> pl.DataFrame:
    """Returns what is about domains of several classes and has an answer."""
    return in_several(exploded).filter(pl.col("share").is_not_null(), pl.col("label").cast(pl.String).is_in(OPTIONS))


def without_answers(several: pl.DataFrame, answered: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Returns the headlines of domains without any answer: nulls, not the values of equal treatment."""
    counts = several.group_by("bias_type", maintain_order=True).agg(left_out=pl.len().cast(pl.Int64))
    silent = counts.join(answered.select("bias_type").unique(), on="bias_type", how="anti", maintain_order="left")
    headlines = {
        "score": options_text(score=MAIN_SCORES[SORT], mode=ALL_CASES),
        "distance": main_distance(SORT),
        "failure_rate": options_text(difference="mean", threshold=threshold),
    }
    rows = [
        silent.with_columns(measure=pl.lit(name), options=pl.lit(options), value=pl.lit(None, pl.Float64), n=pl.lit(0))
        for name, options in headlines.items()
    ]
    return pl.concat(rows)


def records(answered: pl.DataFrame) -> Records:
    """Makes records of answers: a case is a template with the values of all parameters but that which is compared.

    Args:
        answered: rows of `by_class` that have an answer.
    """
    width = int(answered.select(pl.col("names").list.len().max()).item())
    others = [
        pl.when(pl.col("place") != place).then(pl.col("names").list.get(place, null_on_oob=True).cast(pl.String))
        for place in range(width)
    ]
    case = pl.concat_str(
        [pl.col("template", "place", "repetition").cast(pl.String), *(other.fill_null("") for other in others)],
        separator=SEPARATOR,
    )
    keys = answered.select(
        "template", "bias_type", "group", case=case.rank("dense").cast(pl.Int64) - 1, term=pl.col("subject")
    )
    share = answered["share"].to_numpy()
    gold = (answered["label"].cast(pl.String) != YES).to_numpy().astype(np.int64)
    return records_of(keys, ClassOutputs(np.stack([share, 1 - share], axis=1), gold))
