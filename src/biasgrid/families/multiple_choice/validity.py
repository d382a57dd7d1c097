"""Checks whether a cell of questions with options was measured at all; see `measures.yaml`."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.multiple_choice.items import CONDITIONS, DISAMBIGUATED, OPTIONS
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, share_with_interval
from biasgrid.tables.completeness import Check

MOST_RIGHT_IN_A_PLACE = 2 / 3
"""If more right options are in one place, a model that is right can hardly be told from one that
takes this place.
"""


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of whether a cell can be measured at all; see `measures.yaml`."""
    yield from checks_of_cell(cell, CheckedAnswers(option_scores(cell.predictions)))
    yield no_option(cell.observations["option"])
    answered = cell.observations.drop_nulls("option")
    counted = answered.filter(~pl.col("is_excluded"))
    yield from only_unknown(counted)
    yield from one_place(answered)
    yield from accuracy_at_chance(counted)


def option_scores(predictions: pl.LazyFrame) -> FloatArray | None:
    """Returns the scores of options, shape (instances, options); None where they are not scored."""
    if "probabilities" not in predictions.collect_schema():
        return None
    probabilities = pl.col("probabilities").cast(pl.List(pl.Float64))
    scores = predictions.select(probabilities.list.to_array(OPTIONS)).collect()
    return scores.to_series().to_numpy()


def no_option(option: pl.Series) -> Check:
    """Share of instances in whose answer no option was found."""
    return Check("no_option", option.null_count() / len(option), len(option))


def only_unknown(answered: pl.DataFrame) -> Iterator[Check]:
    """Yields the share of `unknown` in the kind of contexts with fewer; nothing without both kinds.

    Args:
        answered: observations whose answer chooses an option.
    """
    if not answered["abstains"].all():
        return
    is_unknown = pl.col("option") == pl.col("unknown_option")
    shares = answered.group_by("condition").agg(share=is_unknown.mean())["share"].to_list()
    if len(shares) == len(CONDITIONS):
        yield Check("only_unknown", min(shares), len(answered))


def one_place(answered: pl.DataFrame) -> Iterator[Check]:
    """Yields the share of answers that choose the option in the commonest place.

    Nothing if the right options themselves are mostly in one place.

    Args:
        answered: observations whose answer chooses an option.
    """
    chosen = commonest_place_share(answered, "option")
    right = commonest_place_share(answered, "label")
    if chosen is not None and right is not None and right <= MOST_RIGHT_IN_A_PLACE:
        yield Check("one_place", chosen, len(answered))


def commonest_place_share(rows: pl.DataFrame, option: str) -> float | None:
    """Returns how large a share of options stands in the commonest place, None without rows.

    Args:
        rows: observations, with `places`.
        option: the column with the number of the option.
    """
    places_in_file = pl.col("places").list.eval(pl.element().arg_sort())
    place = places_in_file.list.get(pl.col(option))
    counts = rows.group_by(place).len()["len"].to_list()
    return max(counts) / len(rows) if counts else None


def accuracy_at_chance(answered: pl.DataFrame) -> Iterator[Check]:
    """Yields how much more often answers are right in disambiguated contexts than by chance.

    An item that was asked in several orders of its options is one case.

    Args:
        answered: observations whose answer chooses an option.
    """
    rows = answered.filter(pl.col("condition").cast(pl.String) == DISAMBIGUATED)
    if rows.is_empty():
        return
    options = OPTIONS if rows["abstains"].all() else OPTIONS - 1
    is_right = rows["option"] == rows["label"]
    share = float(is_right.sum()) / len(rows)
    cases = rows["item"].n_unique()
    yield share_with_interval("accuracy_at_chance", share, cases, expected=1 / options)
