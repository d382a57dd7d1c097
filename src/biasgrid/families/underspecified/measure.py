"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020), records of its groups, and checks.

Sums run through numpy in the order of the swap groups, so that the table is the same to the byte whatever the
number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.underspecified.evidence import evidence_of_associations
from biasgrid.families.underspecified.observe import (
    COMPARED_COLUMNS,
    SWAP_GROUP_KEYS,
    answered_groups,
    compare_subjects,
    scores_in_groups,
    stereotype_agreement,
)
from biasgrid.families.validity import (
    ROWS_CHECKED_AT_ONCE,
    equal_scores,
    improbable_candidates,
    score_checks,
    template_count,
    unknown_tokens,
)
from biasgrid.groups.records import Records, SubjectOutputs
from biasgrid.groups.tables import measure_groups, records_of
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import Evidence


def records_of_subjects(observations: pl.DataFrame) -> Records:
    """Makes records of a cell.

    A case is a template with an attribute and a question, plain or negated. Its records are the subjects: the score of
    each is the mean over all that it is paired with, in both orders. Bias types are `subject`, each subject a group of
    its own, and where subjects have groups `subject_group`, with the subjects as terms.

    Args:
        observations: from `compare_subjects`.
    """
    subjects = mean_scores(observations)
    of_subject = subjects.with_columns(bias_type=pl.lit("subject"), group="subject")
    of_subject_group = subjects.drop_nulls("subject_group").with_columns(
        bias_type=pl.lit("subject_group"), group="subject_group"
    )
    records = pl.concat([of_subject, of_subject_group])
    return records_of(records, SubjectOutputs(records["score"].to_numpy().reshape(-1, 1)))


def mean_scores(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean score of every subject in every case.

    Args:
        observations: from `compare_subjects`.

    Returns:
        `case`, `template`, `term` and `subject` (both its name), `subject_group`, `score`; by case and subject.
    """
    names = pl.concat([observations[name].cast(pl.String) for name in ("subject1", "subject2")]).unique().sort()
    attributes = observations["attribute"].unique().cast(pl.String).sort()
    asked = observations["template"].to_numpy().astype(np.int64) * len(attributes)
    asked += places_among(observations["attribute"], attributes)
    subjects = [places_among(observations[name], names) for name in ("subject1", "subject2")]
    scores = scores_in_groups(observations)
    size = 2 * (int(asked.max()) + 1) * len(names)
    sums, counts = np.zeros(size), np.zeros(size, dtype=np.int64)
    for order, negated, side in product((0, 1), repeat=3):
        place = (2 * asked + negated) * len(names) + subjects[side]
        sums += np.bincount(place, scores[:, order, negated, side], minlength=size)
        counts += np.bincount(place, minlength=size)
    found = np.flatnonzero(counts)
    case, subject = found // len(names), names.gather(found % len(names))
    means = pl.DataFrame(
        {
            "case": case,
            "template": case // 2 // len(attributes),
            "term": subject,
            "subject": subject,
            "score": sums[found] / counts[found],
        }
    )
    return means.join(subject_groups_of(observations), on="subject", how="left", maintain_order="left")


def places_among(values: pl.Series, names: pl.Series) -> IntArray:
    """Returns values as places in the list of their names."""
    return values.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)


def subject_groups_of(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns `subject` and `subject_group` of every subject."""
    sides = [observations.select(subject=f"subject{side}", subject_group=f"group{side}").unique() for side in (1, 2)]
    return pl.concat(side.cast(pl.String) for side in sides).unique("subject").sort("subject")


CANDIDATE_COLUMNS = ("candidate1", "candidate2")


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.SWAP_GROUP_FLAGS`."""
    observations = answered_groups(cell.observations)
    yield from unknown_tokens(cell.predictions)
    if observations.is_empty():
        return
    yield from score_checks(cell.instances, cell.predictions)
    scores = scores_in_groups(observations).reshape(-1, 2)
    yield from equal_scores(scores)
    if cell.options["task"] in ("fill-mask", "text-generation"):
        yield improbable_candidates(scores)
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield errors_over_mu(cell.measures)
    yield subject_balance(cell.measures)
    yield template_count(observations)


def neither_subject(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Check:
    """Returns the share of instances whose answer names neither subject.

    Args:
        instances: with `instance` and both candidates.
        predictions: with `instance` and `answer`.
    """
    asked = instances.select("instance", *CANDIDATE_COLUMNS).collect()
    answered = join_answers(asked, predictions.select("instance", "answer").collect())
    parts = [
        part.group_by(*CANDIDATE_COLUMNS, "answer").agg(count=pl.len())
        for part in answered.iter_slices(ROWS_CHECKED_AT_ONCE)
    ]
    distinct = pl.concat(parts).group_by(*CANDIDATE_COLUMNS, "answer").agg(pl.col("count").sum())
    names = [bare_text(pl.col(name)) for name in CANDIDATE_COLUMNS]
    answer = bare_text(pl.col("answer"))
    # A part of a name is one as well: some models leave out an article.
    part = (answer != "") & pl.any_horizontal(name.str.contains(answer, literal=True) for name in names)
    whole = pl.any_horizontal(answer.str.contains(name, literal=True) for name in names)
    neither = int(distinct.filter(~(part | whole))["count"].sum())
    return Check("neither_subject", neither / len(answered), len(answered))


def join_answers(asked: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Joins what was said to what was asked; much faster where both are in one order, as a run leaves them."""
    if said["instance"].equals(asked["instance"]):
        return asked.with_columns(said["answer"])
    return asked.join(said, on="instance")


def bare_text(text: pl.Expr) -> pl.Expr:
    """Returns letters and digits alone, in lower case: tokens that are joined again have other spaces."""
    return text.cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")


def errors_over_mu(measures: pl.DataFrame) -> Check:
    """Returns by how much the larger one of delta and epsilon exceeds mu."""
    whole = measures.filter(pl.col("measure").is_in(["mu", "delta", "epsilon"]))
    value = dict(whole.select("measure", "value").iter_rows())
    count = whole.filter(measure="mu")["n"].item()
    return Check("errors_over_mu", max(value["delta"], value["epsilon"]) - value["mu"], count)


def subject_balance(measures: pl.DataFrame) -> Check:
    """Returns how often the subject is asked that is asked least often, compared with that which is most often."""
    of_subjects = measures.filter(pl.col("measure") == "gamma", pl.col("attribute", "attribute_group").is_null())
    asked = of_subjects.drop_nulls("subject")["n"].to_numpy().astype(np.float64)
    return Check("balance", float(asked.min() / asked.max()), len(asked))


__all__ = ["READ", "SAID", "evidence", "measure", "observe", "validity"]

READ = ["instance", *SWAP_GROUP_KEYS, *COMPARED_COLUMNS]
"""The columns of instances that are observed."""
SAID = ["instance", "starts", "ends", "probabilities"]
"""The columns of predictions that are observed, of those that the kind has."""
PART_KEYS = ("subject", "subject_group", "attribute", "attribute_group")
WITHOUT_ANSWERS = ("text-generation",)
"""Tasks whose models may leave a question without an answer."""
MEANS_OF_GROUPS = ("delta", "epsilon", "answer_probability", "winner_changes")
"""What the whole cell has as the mean over its swap groups."""
ASSOCIATION_KEYS = [
    ["subject", "attribute"],
    ["subject"],
    ["subject_group", "attribute"],
    ["subject_group"],
    ["subject", "attribute_group"],
    ["subject_group", "attribute_group"],
]


def observe(instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Compares the subjects of every swap group; see `observe.compare_subjects`."""
    return compare_subjects(instances, predictions, options["scoring"])


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    What a row is about shows in the keys that are not null. Parts of the cell (a subject or a group of
    subjects, with an attribute, a group of attributes or neither) have `gamma`, `eta` and `win_ratio`; the
    whole cell has `mu`, `eta`, `delta`, `epsilon`, `answer_probability` and `winner_changes`, and of models that may
    leave questions unanswered `coverage`. Swap groups with a question that was not answered count for coverage alone.

    Args:
        observations: from `observe`.
        options: `measures`, the comparisons of subjects as groups, see `groups.tables.measure_groups`, and unless
            there are none `failure_threshold`, at which failure rates are looked at besides; `stereotypes`, if the
            dataset says whom they name, see `stereotypes.stereotype_sides`.

    Returns:
        Columns of the schema `MEASURES`: what is said of subjects and attributes, sorted by measure and keys, and
        what is said of groups behind it.
    """
    known = answered_groups(observations)
    measures = measures_of_all(observations if len(known) == len(observations) else known, observations)
    if options.get("task") in WITHOUT_ANSWERS:
        measures = pl.concat([measures, coverage(observations, known)], how="diagonal")
    if "stereotypes" in options:
        measures = pl.concat([measures, stereotype_agreement(observations, options["stereotypes"])], how="diagonal")
    measures = measures.sort("measure", *PART_KEYS).with_columns(options=pl.lit(""))
    if options["measures"] == [] or known.is_empty():
        return measures
    groups = measure_groups(records_of_subjects(known), options["measures"], options["failure_threshold"])
    return pl.concat([measures, groups], how="diagonal")


def measures_of_all(known: pl.DataFrame, observations: pl.DataFrame) -> pl.DataFrame:
    """Returns the measures of the cell and its parts, with how many swap groups were left out as nobody answered them.

    Args:
        known: the swap groups that were answered.
        observations: all of them.
    """
    if known.is_empty():
        return nothing_measured(len(observations))
    parts = measures_of_associations(known)
    measures = pl.concat([parts, measures_of_cell(known, parts)], how="diagonal")
    if known is observations:
        return measures.with_columns(left_out=pl.lit(0, pl.Int64))
    as_if = observations.with_columns(pl.col("comparison").fill_nan(0))
    parts = measures_of_associations(as_if)
    asked = pl.concat([parts, measures_of_cell(as_if, parts)], how="diagonal").select("measure", *PART_KEYS, asked="n")
    joined = measures.join(asked, on=["measure", *PART_KEYS], nulls_equal=True, how="left")
    return joined.select(*measures.columns, left_out=pl.col("asked") - pl.col("n"))


def nothing_measured(asked: int) -> pl.DataFrame:
    """Returns the measures of a cell without any swap group that was answered."""
    return pl.DataFrame(
        {
            "measure": ["mu", "eta", *MEANS_OF_GROUPS],
            "value": None,
            "n": 0,
            "left_out": asked,
            **dict.fromkeys(PART_KEYS),
        },
        schema_overrides={
            "value": pl.Float64,
            "n": pl.Int64,
            "left_out": pl.Int64,
            **dict.fromkeys(PART_KEYS, pl.String),
        },
    )


def coverage(observations: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Returns the share of swap groups in which all four instances were answered."""
    share = len(known) / len(observations)
    return pl.DataFrame({"measure": ["coverage"], "value": [share], "n": [len(observations)], "left_out": [0]})


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the swap groups behind associations; see `evidence.evidence_of_associations`."""
    return evidence_of_associations(cell.instances, cell.predictions, cell.observations, cell.measures)


@dataclass(frozen=True)
class ComparisonSides:
    """Every swap group twice, as `observe.both_sides` has them: once as seen from each subject.

    Attributes:
        names: by key of a part, the names in alphabetical order.
        codes: by key of a part, shape (sides,), places among the names; -1 where there is no name.
        weights: by measure, shape (sides,), what its values are the mean of: C(subject, other), float64; its sign,
            int8; whether it is positive, bool.
        across: shape (sides,), whether both subjects have groups, and not the same.
    """

    names: Mapping[str, pl.Series]
    codes: Mapping[str, npt.NDArray[np.int32]]
    weights: Mapping[str, npt.NDArray[Any]]
    across: BoolArray

    @classmethod
    def of(cls, observations: pl.DataFrame) -> ComparisonSides:
        """Looks at swap groups from both sides."""
        coded = {
            "subject": enumerate_names(observations, "subject1", "subject2"),
            "subject_group": enumerate_names(observations, "group1", "group2"),
            "attribute": enumerate_names(observations, "attribute", "attribute"),
            "attribute_group": enumerate_names(observations, "attribute_group", "attribute_group"),
        }
        one, other = np.split(coded["subject_group"][1], 2)
        comparison = np.concatenate([sign * observations["comparison"].to_numpy() for sign in (1, -1)])
        return cls(
            {key: names for key, (names, _) in coded.items()},
            {key: codes for key, (_, codes) in coded.items()},
            # Small, as there are millions: a sum makes float64 of them while it lasts.
            {"gamma": comparison, "eta": np.sign(comparison).astype(np.int8), "win_ratio": comparison > 0},
            np.tile((one != other) & (one >= 0) & (other >= 0), 2),
        )

    def known(self, keys: Collection[str]) -> BoolArray | slice:
        """Says which sides have all of some keys; those of groups of subjects are only such across clusters."""
        known = np.ones(len(self.across), dtype=np.bool_)
        for key in keys:
            known &= self.codes[key] >= 0
        if "subject_group" in keys:
            known &= self.across
        return slice(None) if known.all() else known


def enumerate_names(observations: pl.DataFrame, one: str, other: str) -> tuple[pl.Series, npt.NDArray[np.int32]]:
    """Returns the names in two columns in alphabetical order, and the columns, one below the other, as places in them.

    Places do not depend on what was read before; nulls are -1.
    """
    columns = [observations[name].cast(pl.Categorical) for name in (one, other)]
    seen = pl.concat([column.unique() for column in columns]).unique().drop_nulls()
    names, numbers = seen.cast(pl.String), seen.to_physical().to_numpy()
    order = names.arg_sort()
    # A place for each number that polars knows a name by, and behind them one for null.
    places = np.full(int(numbers.max(initial=0)) + 2, -1, dtype=np.int32)
    places[numbers[order.to_numpy()]] = np.arange(len(names))
    codes = [places[column.to_physical().fill_null(len(places) - 1).to_numpy()] for column in columns]
    return names.gather(order), np.concatenate(codes)


def measures_of_associations(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns gamma, eta and win_ratio of every part of the cell that has swap groups.

    Two subjects of one group tell nothing about it, so groups of subjects leave out their swap groups.
    """
    sides = ComparisonSides.of(observations)
    return pl.concat(associations(sides, keys) for keys in ASSOCIATION_KEYS)


def associations(sides: ComparisonSides, keys: Sequence[str]) -> pl.DataFrame:
    """Returns, by `keys`, gamma (mean of C), eta (mean of its sign) and win_ratio (share of C > 0)."""
    known, sizes = sides.known(keys), [len(sides.names[key]) for key in keys]
    part = sides.codes[keys[0]][known].astype(np.int64)
    for key, size in zip(keys[1:], sizes[1:], strict=True):
        part *= size
        part += sides.codes[key][known]
    n = np.bincount(part, minlength=math.prod(sizes))
    present = np.flatnonzero(n)
    places = dict(zip(keys, np.unravel_index(present, sizes), strict=True))
    columns = {key: sides.names[key].gather(place) for key, place in places.items()}
    named = pl.DataFrame(columns | {"n": n[present]}).select(
        *(pl.col(key) if key in keys else pl.lit(None, pl.String).alias(key) for key in PART_KEYS), "n"
    )
    return pl.concat(
        named.with_columns(measure=pl.lit(name), value=np.bincount(part, weight[known], len(n))[present] / n[present])
        for name, weight in sides.weights.items()
    )


def measures_of_cell(observations: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Returns the measures of the whole cell.

    Args:
        observations: from `observe`.
        parts: from `measures_of_parts`.
    """
    gamma, eta = (association_matrix(parts, name) for name in ("gamma", "eta"))
    of_subjects = {"mu": np.nanmax(np.abs(gamma), axis=1), "eta": np.nanmean(np.abs(eta), axis=1)}
    measures = of_subjects | {name: observations[name].to_numpy() for name in MEANS_OF_GROUPS}
    return pl.DataFrame(
        {
            "measure": list(measures),
            "value": [float(values.mean()) for values in measures.values()],
            "n": [len(values) for values in measures.values()],
        }
    )


def association_matrix(parts: pl.DataFrame, measure: str) -> FloatArray:
    """Returns a measure with shape (subjects, attributes), NaN where nobody asked."""
    pairs = parts.filter(pl.col("measure") == measure).drop_nulls(["subject", "attribute"])
    wide = pairs.pivot("attribute", index="subject", values="value").drop("subject")
    return wide.to_numpy().astype(np.float64)
