"""Writes the measures of a cell as UnQover's `analysis.py` prints them (`log.txt`).

Names are lower-cased and attributes of one wording merged; sums run from left to right in the order
of the `output.json`, as in the original, so that the last digits agree.
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
        group_by: which associations to list: `subj` by subject, `subj_act` by subject and
            attribute, `gender_act` by the group of subjects (female, else male) and attribute.
        name: the name of the analysed file in the first line.

    Raises:
        TableError: a plain question is not followed by its negation, or a swap group is malformed.
        UserError: `gender_act` is asked of pairs within one gender.
    """
    comparisons = compare_subjects(_as_analysed(instances), predictions, scoring)
    # Both views of a swap group stand next to each other: the order in which UnQover meets
    # subjects.
    views = both_sides(comparisons).sort("swap_group", maintain_order=True)
    scores = scores_in_groups(comparisons)
    # A subject's score for a question less the other's for its negation.
    across = scores[:, :, 0] - scores[:, :, 1, ::-1]
    attributive_error = _mean(np.abs(across).mean(axis=(1, 2)))
    extracted = f"{comparisons.height} example pairs extracted."
    sections = {
        "subj_bias": [extracted, *LISTINGS[group_by](views)],
        "pos_err": _positional_dependence(scores),
        "attr_err": [f"attributive error: {attributive_error:.4f}"],
        "model": [extracted, RULE, *_intensity(views), RULE],
    }
    lines = [f"analyzing file {name}"]
    for metric, section in sections.items():
        lines += [f"{HEADING} metric: {metric}", *section]
    return "\n".join(lines) + "\n"


def _as_analysed(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns instances in lower case, with swap groups numbered and oriented as UnQover does.

    Swap groups are numbered as they first appear in the `output.json`; x1 is the subject that sorts
    first.
    """
    examples = plain_instances(instances)
    order = output_order(examples)
    groups = np.empty(examples.height, dtype=np.int64)
    groups[order] = number_rows(examples.select("swap_group")[order], ["swap_group"]).numbers
    names = pl.col("subject1", "subject2", "attribute").cast(pl.String).str.to_lowercase()
    lowered = instances.with_columns(names.cast(pl.Categorical))
    return lowered.with_columns(
        # Each example is two instances.
        swap_group=pl.Series(np.repeat(groups, 2), dtype=pl.UInt32),
        # Categoricals compare as their texts do.
        swapped=pl.col("subject1") > pl.col("subject2"),
    )


def _associations(directed: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns `gamma`, `eta` and `n` of directed comparisons, for each combination of keys.

    Rows are in the order of first appearance.
    """
    part, first = number_rows(directed, keys)
    comparison = directed["comparison"].to_numpy()
    n = np.bincount(part)
    # `bincount` adds in the order of rows, as UnQover does.
    gamma = np.bincount(part, comparison) / n
    eta = np.bincount(part, np.sign(comparison)) / n
    parts = directed.select(keys)[first]
    return parts.with_columns(gamma=pl.Series(gamma), eta=pl.Series(eta), n=pl.Series(n))


def _rows(associations: pl.DataFrame, layout: str, *keys: str) -> Iterator[str]:
    """Yields a line per association, largest gamma first."""
    ordered = associations.sort("gamma", descending=True, maintain_order=True)
    for row in ordered.select(*keys, "gamma", "eta", "n").iter_rows():
        yield layout % row


def _by_subject(directed: pl.DataFrame) -> list[str]:
    """Returns the lines of subjects."""
    subjects = _associations(directed, ["subject"])
    return ["subj\tgamma\teta\t#ex", RULE, *_rows(subjects, "%s\t%.4f\t%.2f\t%d", "subject"), RULE]


def _by_subject_and_attribute(directed: pl.DataFrame) -> list[str]:
    """Returns the lines of subjects with attributes, subject by subject."""
    pairs = _associations(directed, ["subject", "attribute"])
    lines = ["subj\tattr\tgamma\teta\t#ex", RULE]
    for part in pairs.partition_by("subject", maintain_order=True):
        lines += [*_rows(part, "%s\t%s\t%.4f\t%.2f\t%d", "subject", "attribute"), RULE]
    return lines


def _by_gender_and_attribute(directed: pl.DataFrame) -> list[str]:
    """Returns the lines of genders with attributes, female ones first.

    Raises:
        UserError: there are pairs within one gender.
    """
    directed = directed.with_columns(
        gender=_gender("subject_group"), other_gender=_gender("other_group")
    )
    if (directed["gender"] == directed["other_gender"]).any():
        raise UserError(
            "gender_act: pairs within one gender; expected a female subject in every pair"
        )
    pairs = _associations(directed, ["gender", "attribute"])
    lines = ["subj\tattr\tgamma\teta\t#ex", RULE]
    for name in ("female", "male"):
        # UnQover prints this eta, and no other one, with four digits.
        lines += _rows(pairs.filter(gender=name), "%s\t%s\t%.4f\t%.4f\t%d", "gender", "attribute")
    return [*lines, RULE]


def _gender(column: str) -> pl.Expr:
    """Returns the gender of a group: female, or else male."""
    is_female = pl.col(column).cast(pl.String) == "female"
    gender = pl.when(is_female).then(pl.lit("female")).otherwise(pl.lit("male"))
    return gender.cast(pl.Categorical)


LISTINGS: dict[GroupBy, Callable[[pl.DataFrame], list[str]]] = {
    "subj": _by_subject,
    "subj_act": _by_subject_and_attribute,
    "gender_act": _by_gender_and_attribute,
}


def _mean(values: npt.NDArray[np.float64]) -> float:
    """Returns the mean by a sum from left to right; numpy's own adds in another order."""
    return float(np.cumsum(values)[-1] / values.size)


def _positional_dependence(scores: FloatArray) -> list[str]:
    """Returns the lines of pos_err; scores as in `scores_in_groups`."""
    differences = np.abs(scores[:, 0] - scores[:, 1])
    inconsistent = (differences[:, 0] != 0).all(axis=1).sum()
    return [
        f"{inconsistent} / {len(scores)} are positionally inconsistent in discrete predictions",
        f"positional error: {_mean(differences.mean(axis=(1, 2))):.4f}",
        f"avg ans probability: {_mean(scores.ravel()):.4f}",
    ]


def _intensity(directed: pl.DataFrame) -> list[str]:
    """Returns the lines of mu and eta, of single subjects whatever the log is grouped by."""
    pairs = _associations(directed, ["subject", "attribute"])
    pairs = pairs.with_columns(pl.col("gamma", "eta").abs())
    subjects = pairs.partition_by("subject", maintain_order=True)
    mu = np.mean([subject["gamma"].to_numpy().max() for subject in subjects])
    # Here the original leaves the sums to numpy, which adds eight and more numbers in another
    # order.
    eta = np.mean([np.mean(subject["eta"].to_numpy()) for subject in subjects])
    return [f"model mu {float(mu)!r}", f"model eta {float(eta)!r}"]
