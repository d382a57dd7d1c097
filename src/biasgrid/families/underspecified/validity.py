"""What tells whether a cell was measured at all: how much was answered, and checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.underspecified.keys import NAME_FACTS
from biasgrid.families.underspecified.observe import (
    PRONOUN_SCORES,
    has_subject_groups,
    scores_in_groups,
)
from biasgrid.families.underspecified.tallies.axes import AnsweredGroups
from biasgrid.families.underspecified.tallies.records import subject_groups_of
from biasgrid.families.underspecified.tallies.unknown import KnownAttributes
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, unknown_tokens
from biasgrid.stats.clusters import number_templates, template_units
from biasgrid.stats.sums import DIFFERENCE, TEMPLATES, Along, Sums, sum_units
from biasgrid.tables.completeness import Check

CANDIDATE_COLUMNS = ("candidate1", "candidate2")
WITHOUT_ANSWERS = ("text-generation",)
"""Tasks whose models may leave a question without an answer."""
HUNDRED = 100
"""From here on numbers are shown without decimals."""


def share_of_swap_groups(asked: int, answered: int, outcome: str) -> pl.DataFrame:
    """Returns the share of swap groups in which all four instances were answered."""
    row = {"measure": "coverage", "options": "", "value": answered / asked, "n": asked}
    return pl.DataFrame([row]).with_columns(left_out=pl.lit(0, pl.Int64))


def unanswered_differences(parts: Iterable[pl.DataFrame], outcome: str) -> Iterator[Sums]:
    """Yields by how much more swap groups with a subject lack an answer than those without it; of
    groups if there are.

    Nothing is known of a subject that is in all swap groups. Of two groups that always meet their
    subjects are compared instead, where anything lacks an answer.

    Args:
        parts: what was observed of a cell, part by part.
        outcome: what lacks: `undetected`, as nobody told here whether a model declined or said
            something else.
    """
    compared = (
        unanswered_of(parts, "subject_group", ("group1", "group2"))
        if has_subject_groups(parts)
        else None
    )
    if compared is None or not len(compared.keys):
        are_groups = compared is not None
        compared = unanswered_of(parts, "subject", ("subject1", "subject2"))
        if are_groups and not compared.totals[:, 0::2].any():
            return
    if len(compared.keys):
        yield compared.named(f"{outcome}_difference")


def unanswered_of(parts: Iterable[pl.DataFrame], key: str, sides: tuple[str, str]) -> Sums:
    """Returns the differences of `unanswered_differences` of subjects, or of groups of these.

    Args:
        parts: see `unanswered_differences`.
        key: what is compared.
        sides: the columns with both sides of a swap group.
    """
    seen = [
        part[side].cast(pl.String).unique(maintain_order=True) for side in sides for part in parts
    ]
    names = pl.concat(each.alias(key) for each in seen).drop_nulls().unique(maintain_order=True)
    units = np.unique(np.concatenate([np.unique(template_units(part)) for part in parts]))
    templates = number_templates(units)[1]
    having, whole = np.zeros((len(names), len(templates), 2)), np.zeros((1, len(templates), 2))
    for part in parts:
        one, other = (
            part[side]
            .cast(pl.String)
            .cast(pl.Enum(names))
            .to_physical()
            .fill_null(len(names))
            .to_numpy()
            for side in sides
        )
        place = np.searchsorted(units, template_units(part))
        lacks = part["comparison"].is_nan().to_numpy().astype(np.float64)
        # What is of one group on both sides counts once for it.
        rows = np.concatenate([np.arange(len(lacks)), np.flatnonzero(one != other)])
        numbers = np.concatenate([one, other[one != other]]).astype(np.int64)
        having += sum_units(lacks[rows], place[rows], len(templates), numbers, len(names) + 1).sums[
            :-1
        ]
        whole += sum_units(lacks, place, len(templates)).sums
    columns = np.concatenate([having, whole - having], axis=2)
    compared = columns[..., 3].sum(axis=1) > 0
    n = np.full(int(compared.sum()), int(whole[..., 1].sum()), dtype=np.int64)
    keys = pl.DataFrame(
        {key: names.filter(pl.Series(compared)), "n": n, "left_out": np.zeros_like(n)}
    )
    along = {TEMPLATES: Along(templates, columns[compared])}
    return Sums(keys, along, DIFFERENCE, "difference of shares", test="q", compared=False)


class SubjectScores:
    """The scores of the subjects of each instance that was answered, part by part, shape
    (instances, 2) each.
    """

    def __init__(self, known: AnsweredGroups):
        self.known = known

    def __iter__(self) -> Iterator[FloatArray]:
        """Yields them."""
        for part in self.known:
            yield scores_in_groups(part).reshape(-1, 2)


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see the flags in `measures.yaml`."""
    known = AnsweredGroups(cell.observed)
    if known.attributes.left_out:
        yield unknown_attributes(known.attributes)
        cell = without_unknown(cell, known.attributes)
    if cell.options["task"] in WITHOUT_ANSWERS:
        yield missing_answers(known.asked, known.count)
    if not known.count:
        yield from unknown_tokens(cell.predictions)
        return
    scores, names = SubjectScores(known), subject_groups_of(known.axes)
    names = names.select(bias_type=pl.lit("subject_group"), group="subject_group", name="subject")
    answers = CheckedAnswers(scores, names=names)
    if cell.options["task"] in ("fill-mask", "text-generation"):
        answers = answers._replace(word_scores=scores, beside=mass_of_pronouns(known))
    yield from checks_of_cell(cell, answers)
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield order(cell.measures)
    yield balance(cell.measures)
    names_of_groups = cell.facts.get(NAME_FACTS, {})
    yield from name_tokens(names_of_groups)
    yield from name_frequency(names_of_groups)


def unknown_attributes(attributes: KnownAttributes) -> Check:
    """Returns how many attributes are left out, as the tokenizer does not know them, with their
    names.

    Args:
        attributes: of which some are left out.
    """
    left_out, total = attributes
    rest = total - len(left_out)
    names = ", ".join(map(repr, left_out))
    flag = f"{names}; the rest is measured, {rest} of {total} attributes ({rest / total:.0%})"
    return Check("unknown_attributes", len(left_out), total, flag=flag)


def without_unknown(cell: MeasuredCell, attributes: KnownAttributes) -> MeasuredCell:
    """Returns a cell with the instances and predictions of attributes that the tokenizer knows."""
    is_known = ~pl.col("attribute").cast(pl.String).is_in(attributes.left_out)
    instances = cell.instances.filter(is_known)
    return replace(
        cell,
        instances=instances,
        predictions=cell.predictions.join(instances.select("instance"), on="instance", how="semi"),
    )


def missing_answers(asked: int, answered: int) -> Check:
    """Returns the share of swap groups that lack an answer.

    Args:
        asked: how many swap groups there are.
        answered: how many of them have all four answers.
    """
    return Check("missing_answers", 1 - answered / asked, asked)


def mass_of_pronouns(known: Iterable[pl.DataFrame]) -> str:
    """Returns what the flag of improbable names says of the pronouns that stand in their place, if
    there are any.

    Args:
        known: the swap groups that were answered, part by part.
    """
    total, count = 0.0, 0
    for part in known:
        if PRONOUN_SCORES in part.columns:
            both = scores_in_groups(part, PRONOUN_SCORES).sum(axis=3)
            total, count = (
                total + float(np.nansum(both)),
                count + int(np.count_nonzero(~np.isnan(both))),
            )
    if not count:
        return ""
    return (
        f"; in the same place their pronouns have {total / count:.2g} of "
        "it: see pronoun_association"
    )


def neither_subject(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Check:
    """Returns the share of instances whose answer names neither subject.

    Args:
        instances: with `instance` and both candidates.
        predictions: with `instance` and `answer`.
    """
    distinct = count_answers(instances, predictions)
    names = [bare_text(pl.col(name)) for name in CANDIDATE_COLUMNS]
    answer = bare_text(pl.col("answer"))
    # A part of a name is one as well: some models leave out an article.
    part = (answer != "") & pl.any_horizontal(
        name.str.contains(answer, literal=True) for name in names
    )
    whole = pl.any_horizontal(answer.str.contains(name, literal=True) for name in names)
    neither, count = (
        int(distinct.filter(~(part | whole))["count"].sum()),
        int(distinct["count"].sum()),
    )
    return Check("neither_subject", neither / count, count)


def count_answers(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> pl.DataFrame:
    """Returns how often there is each answer with each pair of candidates: these, `answer` and
    `count`.
    """
    asked, said = (
        instances.select("instance", *CANDIDATE_COLUMNS),
        predictions.select("answer", of="instance"),
    )
    keys, are_beside = (
        [*CANDIDATE_COLUMNS, "answer"],
        pl.col("instance").eq_missing(pl.col("of")).all(),
    )
    # Mostly both are in one order, in which a run leaves them.
    beside = (
        pl.concat([asked, said], how="horizontal")
        .group_by(keys)
        .agg(are_beside, count=pl.len())
        .collect()
    )
    if beside["instance"].all():
        return beside
    return (
        asked.join(said, left_on="instance", right_on="of")
        .group_by(keys)
        .agg(count=pl.len())
        .collect()
    )


def bare_text(text: pl.Expr) -> pl.Expr:
    """Returns letters and digits alone, in lower case: tokens that are joined again have other
    spaces.
    """
    return text.cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")


def order(measures: pl.DataFrame) -> Check:
    """Returns the larger of delta and epsilon as a share of the answer probability."""
    names = {"delta": "order", "epsilon": "negation"}
    whole = measures.filter(pl.col("measure").is_in([*names, "answer_probability"]))
    value = dict(whole.select("measure", "value").iter_rows())
    scale = value["answer_probability"]
    shares = {name: value[name] / scale if scale > 0 else 0.0 for name in names}
    text = ", ".join(
        f"{of} by {shares[name]:.0%} of the answer probability ({name})"
        for name, of in names.items()
    )
    return Check("order", max(shares.values()), int(whole["n"][0]), flag=text)


def balance(measures: pl.DataFrame) -> Check:
    """Returns how often the subject is asked that is asked least often, compared with that which is
    most often.
    """
    of_subjects = measures.filter(
        pl.col("measure") == "gamma", pl.col("attribute", "attribute_group").is_null()
    )
    asked = of_subjects.drop_nulls("subject")["n"].to_numpy().astype(np.float64)
    return Check("balance", float(asked.min() / asked.max()), len(asked))


def name_tokens(facts: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    """Yields by how many tokens the names of two groups differ, of the groups that differ most, if
    that is known.

    Args:
        facts: `tokens`, if known: the mean of each group.
    """
    if means := facts.get("tokens"):
        yield Check(
            "name_tokens",
            max(means.values()) - min(means.values()),
            len(means),
            flag=ends_of_means(means),
        )


def name_frequency(facts: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    """Yields by which factor the frequencies of the names of two groups differ, of the groups that
    differ most.

    Args:
        facts: `frequency`, if known: the geometric mean of each group.
    """
    if means := facts.get("frequency"):
        yield Check(
            "name_frequency",
            max(means.values()) / min(means.values()),
            len(means),
            flag=ends_of_means(means),
        )


def ends_of_means(means: Mapping[str, float]) -> str:
    """Returns the groups with the largest and the smallest mean, in words."""
    (least, fewest), *_, (most, largest) = sorted(means.items(), key=lambda of_group: of_group[1])
    low, high = (f"{mean:.2f}" if mean < HUNDRED else f"{mean:,.0f}" for mean in (fewest, largest))
    return f"{most} ({high}) and {least} ({low})"
