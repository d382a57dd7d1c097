"""Examples and their order: two instances make an example, and UnQover's files have examples in two
orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.tables.files import TableError

KEYS_OF_PAIR = ["group1", "group2", "subject1", "subject2"]
ITEM = ["template", "attribute_group", "attribute"]


class DistinctRows(NamedTuple):
    """The distinct rows of a table, numbered from 0 in the order in which they first appear.

    Attributes:
        numbers: the number of each row.
        first: for each number, the row where it first appears.
    """

    numbers: IntArray
    first: IntArray


def number_rows(rows: pl.DataFrame, columns: Sequence[str]) -> DistinctRows:
    """Numbers the distinct combinations of some columns, integers and categoricals.

    Sorting integers takes a third of the memory that grouping by several columns at once does.
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
    """Returns a column as UnQover writes it in keys: a group that is not there is the word None."""
    return pl.col(column).cast(pl.String).fill_null("None")


def plain_instances(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the plain instance of every example: row i is instance 2 i.

    Args:
        instances: with `instance`, `swap_group`, `swapped`, `negated` and any other columns.

    Raises:
        TableError: the instances are not in order, each negation behind its plain instance.
    """
    plain, negated = instances.gather_every(2), instances.gather_every(2, offset=1)
    numbers = pl.int_range(instances.height, eager=True)
    is_in_order = (
        plain.height == negated.height
        and not plain["negated"].any()
        and bool(negated["negated"].all())
        and bool((plain["swap_group"] == negated["swap_group"]).all())
        and bool((plain["swapped"] == negated["swapped"]).all())
        and bool((instances["instance"] == numbers).all())
    )
    if not is_in_order:
        raise TableError(
            "instances: out of order; expected rows numbered from 0, each plain question followed "
            "by its negation"
        )
    return plain


def output_order(examples: pl.DataFrame) -> IntArray:
    """Returns the row numbers of examples in the order of an `output.json`.

    UnQover sorts by one string: group1, group2 and subject1 sorted among themselves, then subject2,
    template (as text), attribute group and attribute, with `|` between. No part holds a `|`, so
    that the strings compare as their first four and their other parts do, each closed by its `|`;
    pairs and items are few, examples are millions.

    Args:
        examples: instances, at least the columns of `PAIR` and `ITEM`.
    """
    first_three = pl.concat_list(key_text(column) for column in KEYS_OF_PAIR[:3]).list.sort()
    pair = pl.concat_str(first_three.list.join("|"), key_text("subject2"), separator="|")
    item = pl.concat_str([key_text(column) for column in ITEM], separator="|")
    pairs = _ranks(examples, KEYS_OF_PAIR, pair)
    items = _ranks(examples, ITEM, item)
    return np.lexsort((items, pairs))


def _ranks(examples: pl.DataFrame, columns: list[str], key: pl.Expr) -> IntArray:
    """Returns the rank of each row's key, which is made of some columns, among all keys."""
    numbers, first = number_rows(examples, columns)
    ranks = examples.select(columns)[first].select(rank=(key + "|").rank("dense"))["rank"]
    return ranks.to_numpy().astype(np.int64)[numbers]
