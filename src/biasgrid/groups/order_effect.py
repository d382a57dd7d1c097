"""How much scores depend on the order in which a case names things: the groups' own delta (Li et al., 2020)."""

from __future__ import annotations

import numpy as np
import polars as pl

from biasgrid.groups.combinations import EACH_CASE
from biasgrid.groups.scores import ScoredRecords
from biasgrid.groups.tables import COMPARISON_TYPES, shared_columns
from biasgrid.tables.files import means_by

OCCURRENCE_KEYS = ["bias_type", "group", "term", "occurrence"]


def position_changes(scored: ScoredRecords, swapped: pl.DataFrame) -> pl.DataFrame:
    """Compares each case with the one in which its fillings stand in reversed order.

    The value is the mean of |s - s'| over such pairs of cases with each identity term, s and s' being the scores of
    the two. It is the positional error delta of Li et al. (Findings of EMNLP 2020, section 3.2) for cases: 0 for a
    model that does not care which of two things is named first.

    Args:
        scored: the records with their values of a scalar score that is one number per record.
        swapped: `case` and `swapped_case`, for the cases that have one.

    Returns:
        The columns `COLUMNS`: a row of `position` per bias type and one per group. `n` counts pairs with a term,
        `left_out` those without a value; there are no rows where no case has a swapped one.
    """
    records = scored.records
    table = pl.DataFrame(
        {
            "bias_type": np.array(records.bias_types)[records.bias_type],
            "group": np.array(records.groups)[records.group],
            "term": np.array(records.terms)[records.term],
            "case": records.case,
            "value": scored.values,
        }
    )
    # A part of an intersection has several records in a case, one for each term of the other parts, in one order.
    table = table.with_columns(occurrence=pl.int_range(pl.len()).over("bias_type", "group", "term", "case"))
    one_of_each = swapped.filter(pl.col("case") < pl.col("swapped_case")).cast(pl.Int64)
    pairs = (
        table.join(one_of_each, on="case", maintain_order="left")
        .join(
            table,
            left_on=[*OCCURRENCE_KEYS, "swapped_case"],
            right_on=[*OCCURRENCE_KEYS, "case"],
            suffix=" swapped",
            maintain_order="left",
        )
        .with_columns(change=(pl.col("value") - pl.col("value swapped")).abs().fill_nan(None))
    )
    summed = [
        pairs.group_by(keys, maintain_order=True)
        .agg(
            n=pl.col("change").count().cast(pl.Int64),
            left_out=pl.col("change").null_count().cast(pl.Int64),
        )
        .join(means_by(pairs, keys, "change").rename({"change": "value"}), on=keys, maintain_order="left")
        for keys in (["bias_type"], ["bias_type", "group"])
    ]
    shared = shared_columns("position", scored, EACH_CASE, distance="absolute")
    rows = pl.concat(summed, how="diagonal").to_dicts()
    return pl.DataFrame([shared | row for row in rows], schema=COMPARISON_TYPES)
