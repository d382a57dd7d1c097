"""The order of examples, two instances each, in UnQover's `source.json` and `output.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.tables.files import TableError

PAIR = ["group1", "group2", "subject1", "subject2"]
"""Columns of the subjects in the key of an entry."""
ITEM = ["template", "attribute_group", "attribute"]
"""Columns of the question in the key of an entry."""


class DistinctRows(NamedTuple):
    """The distinct rows of a table, numbered from 0 in the order in which they first appear.

    Attributes:
        numbers: the number of each row, shape (rows,).
        first_rows: for each number, the position of its first row, shape (numbers,).
    """

    numbers: IntArray
    first_rows: IntArray


def number_rows(rows: pl.DataFrame, columns: Sequence[str]) -> DistinctRows:
    """Numbers the distinct combinations of some columns, of integers and categoricals.

    Nulls are equal to each other. Sorting integers takes a third of the memory that grouping by
    several columns at once does.
    """
    distinct = DistinctRows(np.zeros(rows.height, dtype=np.int64), np.zeros(1, dtype=np.int64))
    for column in columns:
        # A null becomes 0.
        codes = (rows[column].to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
        # Numbers are renewed after each column, because products of all columns could overflow.
        base = codes.max(initial=0) + 1
        distinct = _by_first_appearance(distinct.numbers * base + codes)
    return distinct


def _by_first_appearance(values: IntArray) -> DistinctRows:
    """Numbers distinct values in the order in which they first appear."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return DistinctRows(numbers[inverse], first[order])


def key_text(column: str) -> pl.Expr:
    """Returns a column as UnQover writes it in keys, where a null is the word None."""
    return pl.col(column).cast(pl.String).fill_null("None")


def plain_instances(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the plain instance of every example: row i is instance 2 i.

    Args:
        instances: with `instance`, `swap_group`, `swapped`, `negated` and any other columns.

    Raises:
        TableError: the instances are not numbered from 0 in the order of rows, or a plain instance
            is not followed by its negation.
    """
    plain, negation = instances.gather_every(2), instances.gather_every(2, offset=1)
    numbers = pl.int_range(instances.height, eager=True)
    is_in_order = (
        plain.height == negation.height
        and not plain["negated"].any()
        and bool(negation["negated"].all())
        and bool((plain["swap_group"] == negation["swap_group"]).all())
        and bool((plain["swapped"] == negation["swapped"]).all())
        and bool((instances["instance"] == numbers).all())
    )
    if not is_in_order:
        raise TableError(
            "instances: out of order; expected rows numbered from 0, each plain question followed "
            "by its negation"
        )
    return plain


def output_order(examples: pl.DataFrame) -> IntArray:
    """Returns the positions of examples in the order of an `output.json`.

    UnQover sorts by one string: group1, group2 and subject1 in alphabetical order, then subject2,
    template (as text), attribute group and attribute, separated by `|`. As no part contains a `|`,
    sorting by the strings of pair and item, each with a final `|`, gives the same order. Pairs and
    items are few, examples are millions.

    Args:
        examples: plain instances, at least the columns `PAIR` and `ITEM`.
    """
    sorted_parts = pl.concat_list(key_text(column) for column in PAIR[:3]).list.sort()
    pair_key = pl.concat_str(sorted_parts.list.join("|"), key_text("subject2"), separator="|")
    item_key = pl.concat_str([key_text(column) for column in ITEM], separator="|")
    pair_ranks = _ranks(examples, PAIR, pair_key)
    item_ranks = _ranks(examples, ITEM, item_key)
    # `lexsort` sorts by its last key first.
    return np.lexsort((item_ranks, pair_ranks))


def _ranks(examples: pl.DataFrame, columns: list[str], key: pl.Expr) -> IntArray:
    """Returns the rank of each row's key, shape (rows,); the key depends on `columns` alone."""
    distinct = number_rows(examples, columns)
    distinct_keys = examples.select(columns)[distinct.first_rows].select(key=key + "|")["key"]
    ranks = distinct_keys.rank("dense").to_numpy().astype(np.int64)
    return ranks[distinct.numbers]
