"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020), records of its groups, and checks.

Sums run through numpy in the order of the swap groups, so that tables are the same to the byte whatever the number of
threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.measures import coverage, undetected_difference
from biasgrid.families.underspecified.associations.components import sums_of_pairs
from biasgrid.families.underspecified.associations.intensity import eta_of_cell, mu
from biasgrid.families.underspecified.associations.negation import CORRELATION
from biasgrid.families.underspecified.associations.parts import (
    PART_KEYS,
    is_compared,
    mean_of_swap_groups,
    sums_of_parts,
)
from biasgrid.families.underspecified.associations.preference import least_mass
from biasgrid.families.underspecified.associations.records import records_of_subjects, subject_groups_of
from biasgrid.families.underspecified.associations.shares import measures_of_preferences, measures_of_pronouns
from biasgrid.families.underspecified.associations.sizes import derive, left_out_of_derived, share_mu
from biasgrid.families.underspecified.associations.swap_groups import SwapGroups
from biasgrid.families.underspecified.evidence import evidence_of_associations
from biasgrid.families.underspecified.observe import (
    COMPARED_COLUMNS,
    PRONOUN_SCORES,
    SWAP_GROUP_KEYS,
    answered_groups,
    compare_subjects,
    scores_in_groups,
    stereotype_sides,
)
from biasgrid.families.validity import (
    ROWS_CHECKED_AT_ONCE,
    CheckedAnswers,
    checks_of_cell,
    unknown_tokens,
)
from biasgrid.groups.measures import finishes as finishes_of_groups
from biasgrid.groups.measures import measure_groups
from biasgrid.stats.clusters import number_templates, template_units
from biasgrid.stats.sums import DIFFERENCE, TEMPLATES, Along, Finish, Sums, sum_units
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.instances import OF_FORMAT
from biasgrid.tables.metric import STEREOTYPE_AGREEMENT

__all__ = ["READ", "SAID", "derive", "evidence", "finishes", "left_out_of_derived", "measure", "observe", "validity"]

READ = ["instance", *SWAP_GROUP_KEYS, *COMPARED_COLUMNS, *OF_FORMAT]
"""The columns of instances that are observed."""
SAID = ["instance", "starts", "ends", "probabilities"]
"""The columns of predictions that are observed, of those that the kind has."""
CANDIDATE_COLUMNS = ("candidate1", "candidate2")
WITHOUT_ANSWERS = ("text-generation",)
"""Tasks whose models may leave a question without an answer."""
MEANS_OF_CELL = ("delta", "epsilon", "answer_probability", "winner_changes")
"""What the whole cell has as the mean over its swap groups."""


def observe(instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Compares the subjects of every swap group; see `observe.compare_subjects`."""
    return compare_subjects(instances, predictions, options["scoring"])


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns what makes numbers beside means, see `families.family.Stages`."""
    return {**finishes_of_groups(options), CORRELATION.name: CORRELATION}


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    What a number is about shows in the keys that are not null. Parts of the cell (a subject or a group of subjects,
    with an attribute, a group of attributes or neither) have `gamma`, `eta` and `win_ratio`; the whole cell has `mu`,
    `eta`, `delta`, `epsilon`, `answer_probability` and `winner_changes`, and of models that may leave questions
    unanswered `coverage`. Swap groups with a question that was not answered count for coverage alone.

    Args:
        observations: from `observe`.
        options: `measures`, the comparisons of subjects as groups, see `groups.measures.measure_groups`, and unless
            there are none `failure_threshold`, at which failure rates are looked at besides; `stereotypes`, if the
            dataset says whom they name, see `observe.stereotype_sides`.

    Yields:
        What is said of subjects and attributes, and what is said of groups behind it.
    """
    known = answered_groups(observations)
    if known.is_empty():
        yield nothing_measured(len(observations))
    else:
        precision = options.get("precision")
        yield from with_left_out(list(measures_of_swap_groups(known, precision)), observations, known)
        yield from sums_of_pairs(SwapGroups.of(known), known)
    if options.get("task") in WITHOUT_ANSWERS:
        yield coverage(partial(share_of_swap_groups, observations, known))
        yield from undetected_difference(partial(unanswered_differences, observations))
    if "stereotypes" in options:
        yield stereotype_agreement(observations, options["stereotypes"])
    if options["measures"] != [] and not known.is_empty():
        yield from measure_groups(records_of_subjects(known), options["measures"], options["failure_threshold"])


def measures_of_swap_groups(known: pl.DataFrame, precision: str | None) -> Iterator[Sums | pl.DataFrame]:
    """Yields the measures of swap groups that were answered.

    Args:
        known: those, from `observe.compare_subjects`.
        precision: the arithmetic of the model, where it is coarse; see `preference.least_mass`.
    """
    groups, scores = SwapGroups.of(known), scores_in_groups(known)
    associations = list(gamma(groups))
    consistency = list(eta(groups))
    yield from associations
    yield from consistency
    yield from win_ratio(groups)
    least = least_mass(scores, precision)
    preferences = list(measures_of_preferences(groups, scores, least))
    yield from preferences
    if PRONOUN_SCORES in known.columns:
        yield from measures_of_pronouns(groups, scores_in_groups(known, PRONOUN_SCORES), least)
    n = len(groups.subjects)
    yield whole_cell("share_mu", share_mu(preferences[0]), n)
    yield whole_cell("mu", mu(associations[0]), n)
    yield whole_cell("eta", eta_of_cell(consistency[0]), n)
    for of_cell in (delta, epsilon, answer_probability, winner_changes):
        yield of_cell(groups, known).named(of_cell.__name__)


def whole_cell(measure: str, value: float, n: int) -> pl.DataFrame:
    """Returns the row of a number of the whole cell."""
    row = {"measure": measure, "options": "", "value": value, "n": n, "left_out": 0}
    return pl.DataFrame([row]).with_columns(reason=pl.lit("positive for noise alone: see it corrected for noise"))


def gamma(groups: SwapGroups) -> Iterator[Sums]:
    """Association: mean of C(x, .) over templates and partners (Li et al., section 3.3), of each part of the cell."""
    for sums in sums_of_parts(groups, groups.sums(groups.comparison, -groups.comparison)):
        yield replace(sums, test="q", compared=is_compared(sums)).named("gamma")


def eta(groups: SwapGroups) -> Iterator[Sums]:
    """Consistency: mean of the sign of C(x, .) (Li et al., section 3.3), of each part of the cell."""
    sign = np.sign(groups.comparison)
    for sums in sums_of_parts(groups, groups.sums(sign, -sign)):
        yield sums.named("eta")


def win_ratio(groups: SwapGroups) -> Iterator[Sums]:
    """Share of swap groups in which C(x, .) > 0 (Li et al., section 5), of each part of the cell."""
    won, lost = (each.astype(np.float64) for each in (groups.comparison > 0, groups.comparison < 0))
    for sums in sums_of_parts(groups, groups.sums(won, lost)):
        yield sums.named("win_ratio")


def delta(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Positional dependence: mean of |S(x; one order) - S(x; the other)| (Li et al., section 3.2)."""
    return mean_of_swap_groups(groups, known["delta"].to_numpy())


def epsilon(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Attribute independence: mean of |S(x; question) - S(y; negation)| (Li et al., section 3.2)."""
    return mean_of_swap_groups(groups, known["epsilon"].to_numpy())


def answer_probability(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Mean score of a subject over all instances."""
    return mean_of_swap_groups(groups, known["answer_probability"].to_numpy())


def winner_changes(groups: SwapGroups, known: pl.DataFrame) -> Sums:
    """Share of swap groups in which the more probable subject changes with the order."""
    changes = mean_of_swap_groups(groups, known["winner_changes"].to_numpy().astype(np.float64))
    return replace(changes, interval="effective Wilson")


def stereotype_agreement(observations: pl.DataFrame, stereotypes: Mapping[str, str]) -> Sums | pl.DataFrame:
    """How far a cell agrees with stereotypes: the mean of C as the subjects see it that stereotypes name.

    Args:
        observations: from `observe.compare_subjects`.
        stereotypes: see `observe.stereotype_sides`.
    """
    sides = stereotype_sides(observations, stereotypes)
    seen = (sides != 0) & observations["comparison"].is_not_nan().to_numpy()
    left_out = int((sides != 0).sum() - seen.sum())
    if not seen.any():
        row = {"measure": STEREOTYPE_AGREEMENT, "options": "", "value": None, "n": 0, "left_out": left_out}
        return pl.DataFrame([row], schema_overrides={"value": pl.Float64})
    groups = SwapGroups.of(observations.filter(pl.Series(seen)))
    sums = mean_of_swap_groups(groups, sides[seen] * groups.comparison, left_out)
    return replace(sums, claims_all=bool(len(groups.subject_groups[0]))).named(STEREOTYPE_AGREEMENT)


def with_left_out(
    measured: list[Sums | pl.DataFrame], observations: pl.DataFrame, known: pl.DataFrame
) -> Iterator[Sums | pl.DataFrame]:
    """Adds to measures how many swap groups were left out as nobody answered them.

    Args:
        measured: the measures of those that were answered.
        observations: all of them.
        known: those that were answered.
    """
    if len(known) == len(observations):
        yield from measured
        return
    groups = SwapGroups.of(observations.with_columns(pl.col("comparison").fill_nan(0)))
    zeros = np.zeros(len(observations))
    asked = pl.concat([each.keys for each in sums_of_parts(groups, groups.sums(zeros, zeros))], how="diagonal")
    missing = [pl.lit(None, pl.String).alias(key) for key in PART_KEYS if key not in asked.columns]
    counts = asked.with_columns(missing).select(*PART_KEYS, asked="n")
    for each in measured:
        if isinstance(each, pl.DataFrame) or not {*PART_KEYS} & {*each.keys.columns}:
            # Of numbers of the whole cell what is left out are swap groups, or of mu and eta whole subjects.
            more = pl.lit(len(observations) - len(known), pl.Int64)
            if isinstance(each, Sums):
                yield replace(each, keys=each.keys.with_columns(left_out=pl.col("left_out") + more))
            else:
                yield each.with_columns(left_out=len(groups.subjects) - pl.col("n"))
            continue
        keys = [key for key in PART_KEYS if key in each.keys.columns]
        others = [pl.col(key).is_null() for key in PART_KEYS if key not in keys]
        joined = each.keys.join(counts.filter(others), on=keys, how="left", maintain_order="left")
        left_out = joined.select(*each.keys.drop("left_out").columns, left_out=pl.col("asked") - pl.col("n"))
        yield replace(each, keys=left_out)


def nothing_measured(asked: int) -> pl.DataFrame:
    """Returns the measures of a cell without any swap group that was answered."""
    return pl.DataFrame(
        {"measure": ["share_mu", "mu", "eta", *MEANS_OF_CELL], "options": "", "value": None, "n": 0, "left_out": asked},
        schema_overrides={"value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64},
    )


def share_of_swap_groups(observations: pl.DataFrame, known: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Returns the share of swap groups in which all four instances were answered."""
    row = {"measure": "coverage", "options": "", "value": len(known) / len(observations), "n": len(observations)}
    return pl.DataFrame([row]).with_columns(left_out=pl.lit(0, pl.Int64))


def unanswered_differences(observations: pl.DataFrame, outcome: str) -> Iterator[Sums]:
    """Yields by how much more swap groups with a subject lack an answer than those without it; of groups if there are.

    Nothing is known of a subject that is in all swap groups, nor of two lists whose subjects always meet.

    Args:
        observations: from `observe`.
        outcome: what lacks: `undetected`, as nobody told here whether a model declined or said something else.
    """
    key, sides = "subject", ("subject1", "subject2")
    if not observations["group1"].is_null().all():
        key, sides = "subject_group", ("group1", "group2")
    texts = observations.select(pl.col(side).cast(pl.String) for side in sides)
    names = pl.concat([texts[side] for side in sides]).drop_nulls().unique(maintain_order=True)
    one, other = (texts[side].cast(pl.Enum(names)).to_physical().fill_null(len(names)).to_numpy() for side in sides)
    place, templates = number_templates(template_units(observations))
    lacks = observations["comparison"].is_nan().to_numpy().astype(np.float64)
    # What is of one group on both sides counts once for it.
    rows = np.concatenate([np.arange(len(lacks)), np.flatnonzero(one != other)])
    numbers = np.concatenate([one, other[one != other]]).astype(np.int64)
    having = sum_units(lacks[rows], place[rows], len(templates), numbers, len(names) + 1).sums[:-1]
    columns = np.concatenate([having, sum_units(lacks, place, len(templates)).sums - having], axis=2)
    compared = columns[..., 3].sum(axis=1) > 0
    n = np.full(int(compared.sum()), len(lacks), dtype=np.int64)
    keys = pl.DataFrame({key: names.filter(pl.Series(compared)), "n": n, "left_out": np.zeros_like(n)})
    if len(keys):
        along = {TEMPLATES: Along(templates, columns[compared])}
        sums = Sums(keys, along, DIFFERENCE, "difference of shares", test="q", compared=False)
        yield sums.named(f"{outcome}_difference")


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the swap groups behind associations; see `evidence.evidence_of_associations`."""
    return evidence_of_associations(
        cell.instances, cell.predictions, cell.observations, cell.measures, cell.options.get("precision")
    )


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.SWAP_GROUP_FLAGS`."""
    observations = answered_groups(cell.observations)
    if observations.is_empty():
        yield from unknown_tokens(cell.predictions)
        return
    scores = scores_in_groups(observations).reshape(-1, 2)
    names = subject_groups_of(observations)
    names = names.select(bias_type=pl.lit("subject_group"), group="subject_group", name="subject")
    answers = CheckedAnswers(scores, names=names)
    if cell.options["task"] in ("fill-mask", "text-generation"):
        answers = answers._replace(word_scores=scores, beside=mass_of_pronouns(observations))
    yield from checks_of_cell(cell, answers)
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield order(cell.measures)
    yield balance(cell.measures)


def mass_of_pronouns(observations: pl.DataFrame) -> str:
    """Words how probable the pronouns of the subjects are in their place; empty where they were not read.

    Args:
        observations: those that were answered.
    """
    if PRONOUN_SCORES not in observations.columns:
        return ""
    found = np.nanmean(scores_in_groups(observations, PRONOUN_SCORES).sum(axis=3))
    return f"; in the same place their pronouns have {found:.2g} of it: see pronoun_association"


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


def order(measures: pl.DataFrame) -> Check:
    """Returns the larger of delta and epsilon as a share of the answer probability."""
    names = {"delta": "order", "epsilon": "negation"}
    whole = measures.filter(pl.col("measure").is_in([*names, "answer_probability"]))
    value = dict(whole.select("measure", "value").iter_rows())
    scale = value["answer_probability"]
    shares = {name: value[name] / scale if scale > 0 else 0.0 for name in names}
    text = ", ".join(f"{of} by {shares[name]:.0%} of the answer probability ({name})" for name, of in names.items())
    return Check("order", max(shares.values()), int(whole["n"][0]), flag=text)


def balance(measures: pl.DataFrame) -> Check:
    """Returns how often the subject is asked that is asked least often, compared with that which is most often."""
    of_subjects = measures.filter(pl.col("measure") == "gamma", pl.col("attribute", "attribute_group").is_null())
    asked = of_subjects.drop_nulls("subject")["n"].to_numpy().astype(np.float64)
    return Check("balance", float(asked.min() / asked.max()), len(asked))
