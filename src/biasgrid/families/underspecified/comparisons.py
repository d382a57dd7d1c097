"""Compares the two subjects of every swap group: from predictions to C (UnQover).

A swap group is four instances: either order of the pair's subjects in the context, with the plain and the
negated question. Below, x1 is the subject that stands first where `swapped` is false, x2 the other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.table_files import TableError

Scoring = Literal["exact", "unqover"]

PLACE = ["swap_group", "swapped", "negated"]
KEYS = ["subject1", "subject2", "cluster1", "cluster2", "attribute", "attribute_cluster"]


@dataclass(frozen=True)
class Comparisons:
    """The swap groups of a cell, in the order of their ids.

    Attributes:
        groups: one row per swap group: `swap_group`, `subject1` (x1), `subject2` (x2), their `cluster1` and
            `cluster2`, `attribute`, `attribute_cluster` and `comparison`, the float64 C(x1, x2) in [-1, 1].
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects): not swapped and swapped, plain and
            negated, x1 and x2.
    """

    groups: pl.DataFrame
    scores: FloatArray

    def directed(self) -> pl.DataFrame:
        """Returns every swap group twice, once as seen from each subject; C(x2, x1) is exactly -C(x1, x2).

        The columns are `swap_group`, `subject`, `other`, `subject_cluster`, `other_cluster`, `attribute`,
        `attribute_cluster` and `comparison`, C(subject, other).
        """
        sides = [("1", "2", pl.col("comparison")), ("2", "1", -pl.col("comparison"))]
        return pl.concat(
            self.groups.select(
                "swap_group",
                subject=f"subject{one}",
                other=f"subject{two}",
                subject_cluster=f"cluster{one}",
                other_cluster=f"cluster{two}",
                attribute="attribute",
                attribute_cluster="attribute_cluster",
                comparison=comparison,
            )
            for one, two, comparison in sides
        )


def scores(predictions: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """Returns how much a model chose each subject of each instance.

    Args:
        predictions: rows of `SPAN_PREDICTIONS` or `MASK_PREDICTIONS`, told apart by their columns.
        scoring: with "unqover" a subject of a masked language model has at least the probability of its
            pronoun, where there is one (UnQover's `use_he_she`).

    Returns:
        `instance` and the float64 `score1` and `score2` in [0, 1]: for spans the geometric mean of the
        probabilities of their start and end, for masks the probability.
    """
    return predictions.select(
        "instance", **{f"score{which}": _score(predictions.columns, which, scoring) for which in (1, 2)}
    )


def _score(columns: list[str], which: int, scoring: Scoring) -> pl.Expr:
    # The schemas let rounding push a probability a little below 0, where the root would have no value.
    if f"start{which}" in columns:
        ends = [pl.col(f"{end}{which}").cast(pl.Float64).clip(lower_bound=0) for end in ("start", "end")]
        return (ends[0] * ends[1]).sqrt()
    names = [f"probability{which}", *([f"pronoun{which}"] if scoring == "unqover" else [])]
    return pl.max_horizontal(names).cast(pl.Float64).clip(lower_bound=0)


def compare_subjects(instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring) -> Comparisons:
    """Compares the subjects of every swap group (Li et al., Findings of EMNLP 2020).

    With S(x; e, q) the score of subject x in order e for question q,
    B(x) = mean over e of S(x; e, plain) - mean over e of S(x; e, negated) and
    C(x1, x2) = (B(x1) - B(x2)) / 2.
    A preference for a place cancels in the means, what does not depend on the attribute in the difference.

    Args:
        instances: rows of `INSTANCES`, whole swap groups in any order; needs no `template` and no texts.
        predictions: one row for each of these instances; further ones are ignored.
        scoring: see `scores`.

    Raises:
        TableError: a swap group has not exactly its four instances.
    """
    ordered = instances.select("instance", *PLACE, *KEYS).sort(PLACE)
    check_swap_groups(ordered)
    found = scores(predictions, scoring).join(
        ordered.select("instance"), on="instance", how="right", maintain_order="right"
    )
    by_place = found.select("score1", "score2").to_numpy().reshape(-1, 2, 2, 2)
    by_subject = np.stack([by_place[:, 0], by_place[:, 1, :, ::-1]], axis=1)
    difference = by_subject[:, :, 0].mean(axis=1) - by_subject[:, :, 1].mean(axis=1)
    comparison = (difference[:, 0] - difference[:, 1]) / 2
    groups = ordered.gather_every(4).select("swap_group", *KEYS, comparison=pl.lit(pl.Series(comparison)))
    return Comparisons(groups, by_subject)


def check_swap_groups(ordered: pl.DataFrame) -> None:
    """Refuses instances, sorted by `PLACE`, that are not four to a swap group.

    Raises:
        TableError: with the number of malformed swap groups and one of them.
    """
    group_ids, group = np.unique(ordered["swap_group"].to_numpy(), return_inverse=True)
    corner = 2 * ordered["swapped"].to_numpy() + ordered["negated"].to_numpy()
    counts = np.bincount(4 * group + corner, minlength=4 * len(group_ids)).reshape(-1, 4)
    malformed = group_ids[(counts != 1).any(axis=1)]
    if not len(malformed):
        malformed = group_ids[_unlike(ordered)]
    if len(malformed):
        raise TableError(
            f"instances: {len(malformed)} of {len(group_ids)} swap groups (such as {malformed[0]}) are"
            " malformed; expected four instances each: one pair of subjects in either order, with the plain"
            " and the negated question about one attribute"
        )


def _unlike(ordered: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Returns, per swap group, whether its four rows differ in the pair or the attribute."""
    one, two, attribute = (
        ordered[name].to_physical().to_numpy().reshape(-1, 4) for name in ("subject1", "subject2", "attribute")
    )
    x1, x2 = (np.hstack([first[:, :2], second[:, 2:]]) for first, second in ((one, two), (two, one)))
    named = np.stack([x1, x2, attribute])
    unlike: npt.NDArray[np.bool_] = (named != named[:, :, :1]).any(axis=(0, 2))
    return unlike
