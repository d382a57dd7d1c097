"""Means by keys."""

import numpy as np
import polars as pl
import pytest

from biasgrid.tables.files import means_by


def test_means_are_those_of_polars_by_first_appearance() -> None:
    frame = pl.DataFrame({"a": ["x", None, "x", "y"], "b": [1, 1, 1, 2], "value": [1.0, 2.0, None, None]})
    expected = {"a": ["x", None, "y"], "b": [1, 1, 2], "value": [1.0, 2.0, None]}
    assert means_by(frame, ["a", "b"]).to_dict(as_series=False) == expected


def test_an_empty_table_has_no_means() -> None:
    assert means_by(pl.DataFrame(schema={"a": pl.String, "value": pl.Float64}), ["a"]).is_empty()


def test_large_tables_have_the_same_means_each_time() -> None:
    random = np.random.default_rng(1)
    rows = 300_000
    frame = pl.DataFrame({"key": random.integers(0, 60, rows), "value": random.random(rows)})
    first = means_by(frame, ["key"])
    assert all(means_by(frame, ["key"]).equals(first) for _ in range(20))
    plain = frame.group_by("key").agg(pl.col("value").mean()).sort("key")["value"].to_list()
    assert first.sort("key")["value"].to_list() == pytest.approx(plain)
