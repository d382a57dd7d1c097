"""What the comparison with frozen numbers sees: each value that moved, is missing or was added, and
no rounding.
"""

from __future__ import annotations

import polars as pl
import pytest
from frozen_numbers import compare, leaves, values_of

TABLE = pl.DataFrame(
    {
        "model": ["a", "a", "b"],
        "measure": ["gap", "rate", "gap"],
        "value": [0.5, None, 1e-13],
        "n": [3, 4, 5],
        "flag": [None, "few", None],
        "sums": [[1.0, 2.0], [3.0], None],
    }
)


@pytest.mark.parametrize(
    ("change", "missing", "added", "moved"),
    [
        (pl.col("value") * (1 + 9e-10), 0, 0, 0),
        (pl.col("value") + 9e-13, 0, 0, 0),
        (pl.col("value") * (1 + 2e-9), 0, 0, 1),
        (pl.col("value").fill_null(0.0), 0, 1, 0),
        (pl.lit(None, pl.Float64).alias("value"), 2, 0, 0),
        ((pl.col("n") + 1).alias("n"), 0, 0, 3),
        (pl.col("flag").str.to_uppercase(), 0, 0, 1),
        (pl.col("sums").list.reverse(), 0, 0, 2),
        (pl.col("sums").list.head(1), 1, 0, 0),
        (pl.col("model").str.to_uppercase(), 9, 9, 0),
    ],
)
def test_each_change_is_seen(change: pl.Expr, missing: int, added: int, moved: int) -> None:
    found = compare(values_of(TABLE), values_of(TABLE.with_columns(change)))
    assert (len(found.missing), len(found.added), len(found.moved)) == (missing, added, moved)
    assert found.count == missing + added + moved


def test_rows_are_matched_in_any_order_and_missing_ones_are_reported() -> None:
    assert len(values_of(TABLE)) == 9
    assert compare(values_of(TABLE), values_of(TABLE.reverse())).count == 0
    assert len(compare(values_of(TABLE), values_of(TABLE.head(2))).missing) == 2
    twice = pl.concat([TABLE, TABLE.tail(1)])
    assert len(compare(values_of(TABLE), values_of(twice)).added) == 2


def test_moves_are_reported_before_and_after_the_largest_first() -> None:
    changed = TABLE.with_columns(
        value=pl.Series([0.75, None, 0.125]), flag=pl.Series([None, None, "new"])
    )
    lines = [*compare(values_of(TABLE), values_of(changed)).lines("measures")]
    assert lines == [
        "measures: 2 values moved, 1 missing, 1 added; largest move 0.25",
        "  model=a measure=gap #0: value: 0.5 -> 0.75",
        "  model=b measure=gap #0: value: 1e-13 -> 0.125",
        "  - model=a measure=rate #0: flag: few",
        "  + model=b measure=gap #0: flag: new",
    ]


def test_values_of_the_page_have_their_places() -> None:
    content = {"a": [1, {"b": "x"}, None], "c": True}
    assert [*leaves("cells", content)] == [
        ("cells.a.0", 1.0, None), ("cells.a.1.b", None, "x"), ("cells.c", 1.0, None),
    ]  # fmt: skip
