"""Writes the measures of a cell as UnQover's `analysis.py` prints them (`log.txt`).

Names are in lower case, which merges attributes that differ in case alone. Sums run from left to
right in the order of the `output.json`, as in the original, so that the last digits agree.

Directed comparisons are the rows of `observe.both_sides`: each subject of a pair once as `subject`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.base.faults import UserError
from biasgrid.base.sections import Scoring
from biasgrid.families.underspecified.observe import both_sides, compare_subjects, scores_in_groups
from biasgrid.formats.unqover import GroupBy
from biasgrid.formats.unqover.order import number_rows, output_order, plain_instances

RULE = "-" * 30
HEADING = "*" * 32


def log_text(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    scoring: Scoring,
    group_by: GroupBy,
    name: str,
) -> str:
    """Returns UnQover's analysis of a cell: the metrics subj_bias, pos_err, attr_err and model.

    Args:
        instances: a whole table of instances.
        predictions: answers of the kind `span` or `choice`, one of each instance.
        scoring: see `observe.score_array`.
        group_by: the keys of the listed associations, see `GroupBy`.
        name: the name of the analysed file in the first line.

    Raises:
        TableError: a plain question is not followed by its negation, or a swap group is malformed.
        UserError: `gender_act` with pairs within one gender.
    """
    comparisons = compare_subjects(_as_analysed(instances), predictions, scoring)
    # UnQover meets the subjects of a pair one after the other, so rows of a swap group are
    # neighbours.
    directed_comparisons = both_sides(comparisons).sort("swap_group", maintain_order=True)
    # Axes: swap group, order of subjects, plain or negated question, subject.
    scores = scores_in_groups(comparisons)
    plain, negation = scores[:, :, 0], scores[:, :, 1]
    # A subject's score for a question less the other subject's for its negation.
    differences = plain - negation[..., ::-1]
    attributive_error = _mean(np.abs(differences).mean(axis=(1, 2)))
    pair_count = f"{comparisons.height} example pairs extracted."
    sections = {
        "subj_bias": [pair_count, *LISTINGS[group_by](directed_comparisons)],
        "pos_err": _positional_dependence(scores),
        "attr_err": [f"attributive error: {attributive_error:.4f}"],
        "model": [pair_count, RULE, *_intensity(directed_comparisons), RULE],
    }
    lines = [f"analyzing file {name}"]
    for metric, section in sections.items():
        lines += [f"{HEADING} metric: {metric}", *section]
    return "\n".join(lines) + "\n"


def _as_analysed(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns instances in lower case, with swap groups numbered and oriented as UnQover does.

    Swap groups are numbered in the order of their first entry in the `output.json`. In the order
    that is not swapped, subjects are sorted.
    """
    examples = plain_instances(instances)
    order = output_order(examples)
    groups = np.empty(examples.height, dtype=np.int64)
    groups[order] = number_rows(examples.select("swap_group")[order], ["swap_group"]).numbers
    names = pl.col("subject1", "subject2", "attribute").cast(pl.String).str.to_lowercase()
    with_lower_case = instances.with_columns(names.cast(pl.Categorical))
    return with_lower_case.with_columns(
        # Each example is two instances.
        swap_group=pl.Series(np.repeat(groups, 2), dtype=pl.UInt32),
        # Categoricals compare as their texts do.
        swapped=pl.col("subject1") > pl.col("subject2"),
    )


def _associations(directed_comparisons: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns `gamma`, `eta` and `n` of each combination of keys, in the order of first rows."""
    part, first_rows = number_rows(directed_comparisons, keys)
    comparison = directed_comparisons["comparison"].to_numpy()
    n = np.bincount(part)
    # `bincount` adds in the order of rows, as UnQover does.
    gamma = np.bincount(part, comparison) / n
    eta = np.bincount(part, np.sign(comparison)) / n
    associations = directed_comparisons.select(keys)[first_rows]
    return associations.with_columns(gamma=pl.Series(gamma), eta=pl.Series(eta), n=pl.Series(n))


def _association_lines(associations: pl.DataFrame, layout: str, *keys: str) -> Iterator[str]:
    """Yields a line per association, largest gamma first."""
    by_size = associations.sort("gamma", descending=True, maintain_order=True)
    for row in by_size.select(*keys, "gamma", "eta", "n").iter_rows():
        yield layout % row


def _list_subjects(directed_comparisons: pl.DataFrame) -> list[str]:
    subjects = _associations(directed_comparisons, ["subject"])
    lines = _association_lines(subjects, "%s\t%.4f\t%.2f\t%d", "subject")
    return ["subj\tgamma\teta\t#ex", RULE, *lines, RULE]


def _list_subjects_and_attributes(directed_comparisons: pl.DataFrame) -> list[str]:
    associations = _associations(directed_comparisons, ["subject", "attribute"])
    lines = ["subj\tattr\tgamma\teta\t#ex", RULE]
    for part in associations.partition_by("subject", maintain_order=True):
        lines += _association_lines(part, "%s\t%s\t%.4f\t%.2f\t%d", "subject", "attribute")
        lines.append(RULE)
    return lines


def _list_genders_and_attributes(directed_comparisons: pl.DataFrame) -> list[str]:
    """Lists genders with attributes, female ones first.

    Raises:
        UserError: there are pairs within one gender.
    """
    with_genders = directed_comparisons.with_columns(
        gender=_gender("subject_group"), other_gender=_gender("other_group")
    )
    if (with_genders["gender"] == with_genders["other_gender"]).any():
        raise UserError(
            "gender_act: pairs within one gender; expected a female subject in every pair"
        )
    associations = _associations(with_genders, ["gender", "attribute"])
    lines = ["subj\tattr\tgamma\teta\t#ex", RULE]
    for name in ("female", "male"):
        # UnQover prints eta with four digits here, and with two elsewhere.
        layout = "%s\t%s\t%.4f\t%.4f\t%d"
        part = associations.filter(gender=name)
        lines += _association_lines(part, layout, "gender", "attribute")
    return [*lines, RULE]


def _gender(column: str) -> pl.Expr:
    """Returns female for the group of this name, and male for any other."""
    is_female = pl.col(column).cast(pl.String) == "female"
    gender = pl.when(is_female).then(pl.lit("female")).otherwise(pl.lit("male"))
    return gender.cast(pl.Categorical)


LISTINGS: dict[GroupBy, Callable[[pl.DataFrame], list[str]]] = {
    "subj": _list_subjects,
    "subj_act": _list_subjects_and_attributes,
    "gender_act": _list_genders_and_attributes,
}


def _mean(values: npt.NDArray[np.float64]) -> float:
    """Returns the mean by a sum from left to right; numpy's `mean` adds in another order."""
    return float(np.cumsum(values)[-1] / values.size)


def _positional_dependence(scores: FloatArray) -> list[str]:
    """Returns the lines of pos_err.

    Args:
        scores: from `scores_in_groups`.
    """
    differences = np.abs(scores[:, 0] - scores[:, 1])
    inconsistent = (differences[:, 0] != 0).all(axis=1).sum()
    return [
        f"{inconsistent} / {len(scores)} are positionally inconsistent in discrete predictions",
        f"positional error: {_mean(differences.mean(axis=(1, 2))):.4f}",
        f"avg ans probability: {_mean(scores.ravel()):.4f}",
    ]


def _intensity(directed_comparisons: pl.DataFrame) -> list[str]:
    """Returns the lines of mu and eta, which are over single subjects for any `GroupBy`."""
    associations = _associations(directed_comparisons, ["subject", "attribute"])
    sizes = associations.with_columns(pl.col("gamma", "eta").abs())
    subjects = sizes.partition_by("subject", maintain_order=True)
    mu = np.mean([subject["gamma"].to_numpy().max() for subject in subjects])
    # Here the original uses numpy's mean, which adds eight and more numbers in another order.
    eta = np.mean([np.mean(subject["eta"].to_numpy()) for subject in subjects])
    return [f"model mu {float(mu)!r}", f"model eta {float(eta)!r}"]
