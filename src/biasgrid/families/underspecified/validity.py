"""Coverage of a cell, and checks of whether it was measured at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
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
    """Yields how much more often swap groups with a subject lack an answer than those without it.

    Groups of subjects are compared if there are any. Nothing is known of a subject that is in all
    swap groups. If two groups always meet, their subjects are compared instead, if anything lacks
    an answer.

    Args:
        parts: the observations of a cell, part by part.
        outcome: the outcome that is missing: `undetected`, because it is not known here whether a
            model declined or said something else.
    """
    have_groups = has_subject_groups(parts)
    if have_groups:
        of_groups = unanswered_of(parts, "subject_group", ("group1", "group2"))
        if len(of_groups.keys):
            yield of_groups.named(f"{outcome}_difference")
            return
    of_subjects = unanswered_of(parts, "subject", ("subject1", "subject2"))
    # The columns are sums and counts, of swap groups with a subject and without it.
    if have_groups and not of_subjects.totals[:, 0::2].any():
        return
    if len(of_subjects.keys):
        yield of_subjects.named(f"{outcome}_difference")


def unanswered_of(parts: Iterable[pl.DataFrame], key: str, sides: tuple[str, str]) -> Sums:
    """Returns the differences of `unanswered_differences` of subjects, or of groups of these.

    Args:
        parts: see `unanswered_differences`.
        key: `subject` or `subject_group`.
        sides: the columns with both sides of a swap group.
    """
    names = names_in_columns(parts, sides).rename(key)
    units = np.unique(np.concatenate([np.unique(template_units(part)) for part in parts]))
    _, templates = number_templates(units)
    # Sums and counts of swap groups that lack an answer: with a name, and all of them.
    with_name = np.zeros((len(names), len(templates), 2))
    all_groups = np.zeros((1, len(templates), 2))
    for part in parts:
        x1, x2 = (places_among(part[side], names) for side in sides)
        template = np.searchsorted(units, template_units(part))
        lacks = part["comparison"].is_nan().to_numpy().astype(np.float64)
        # A swap group of one name on both sides counts once for it.
        differs = x1 != x2
        rows = np.concatenate([np.arange(len(lacks)), np.flatnonzero(differs)])
        name = np.concatenate([x1, x2[differs]]).astype(np.int64)
        sums = sum_units(lacks[rows], template[rows], len(templates), name, len(names) + 1).sums
        # The last row is that of subjects without a name.
        with_name += sums[:-1]
        all_groups += sum_units(lacks, template, len(templates)).sums
    columns = np.concatenate([with_name, all_groups - with_name], axis=2)
    # A name that is in all swap groups has none to be compared with.
    compared = columns[..., 3].sum(axis=1) > 0
    n = np.full(int(compared.sum()), int(all_groups[..., 1].sum()), dtype=np.int64)
    keys = pl.DataFrame(
        {key: names.filter(pl.Series(compared)), "n": n, "left_out": np.zeros_like(n)}
    )
    along = {TEMPLATES: Along(templates, columns[compared])}
    return Sums(keys, along, DIFFERENCE, "difference of shares", test="q", compared=False)


def names_in_columns(parts: Iterable[pl.DataFrame], columns: Sequence[str]) -> pl.Series:
    """Returns the distinct names in columns, column by column in the order of appearance."""
    names = []
    for column in columns:
        for part in parts:
            names.append(part[column].cast(pl.String).unique(maintain_order=True).alias("name"))
    return pl.concat(names).drop_nulls().unique(maintain_order=True)


def places_among(column: pl.Series, names: pl.Series) -> IntArray:
    """Returns the places of a column's values among names; null is behind the last one."""
    places = column.cast(pl.String).cast(pl.Enum(names)).to_physical()
    return places.fill_null(len(names)).to_numpy()


class SubjectScores:
    """The scores of both subjects of answered instances, part by part.

    Each part has shape (instances, 2).
    """

    def __init__(self, answered: AnsweredGroups):
        self.answered = answered

    def __iter__(self) -> Iterator[FloatArray]:
        """Yields the parts."""
        for part in self.answered:
            yield scores_in_groups(part).reshape(-1, 2)


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of whether a cell was measured at all; see the flags in `measures.yaml`."""
    answered = AnsweredGroups(cell.observed)
    if answered.attributes.left_out:
        yield unknown_attributes(answered.attributes)
        cell = without_unknown(cell, answered.attributes)
    if cell.options["task"] in WITHOUT_ANSWERS:
        yield missing_answers(answered.asked, answered.count)
    if not answered.count:
        yield from unknown_tokens(cell.predictions)
        return
    names = subject_groups_of(answered.axes).select(
        bias_type=pl.lit("subject_group"), group="subject_group", name="subject"
    )
    scores = SubjectScores(answered)
    answers = CheckedAnswers(scores, names=names)
    if cell.options["task"] in ("fill-mask", "text-generation"):
        answers = answers._replace(word_scores=scores, beside=mass_of_pronouns(answered))
    yield from checks_of_cell(cell, answers)
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield order(cell.measures)
    yield balance(cell.measures)
    facts_of_groups = cell.facts.get(NAME_FACTS, {})
    yield from name_tokens(facts_of_groups)
    yield from name_frequency(facts_of_groups)


def unknown_attributes(attributes: KnownAttributes) -> Check:
    """Returns the number of attributes that are left out because the tokenizer does not know them.

    Args:
        attributes: of which some are left out. Their names are in the flag.
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
    predictions = cell.predictions.join(instances.select("instance"), on="instance", how="semi")
    return replace(cell, instances=instances, predictions=predictions)


def missing_answers(asked: int, answered: int) -> Check:
    """Returns the share of swap groups that lack an answer.

    Args:
        asked: how many swap groups there are.
        answered: how many of them have all four answers.
    """
    return Check("missing_answers", 1 - answered / asked, asked)


def mass_of_pronouns(answered: Iterable[pl.DataFrame]) -> str:
    """Describes the probability of pronouns, for the flag of improbable names.

    Args:
        answered: the swap groups that were answered, part by part.

    Returns:
        A clause to add to the flag; empty without pronouns.
    """
    total, count = 0.0, 0
    for part in answered:
        if PRONOUN_SCORES in part.columns:
            both = scores_in_groups(part, PRONOUN_SCORES).sum(axis=3)
            total += float(np.nansum(both))
            count += int(np.count_nonzero(~np.isnan(both)))
    if not count:
        return ""
    mean = f"{total / count:.2g}"
    return f"; in the same place their pronouns have {mean} of it: see pronoun_association"


def neither_subject(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Check:
    """Returns the share of instances whose answer names neither subject.

    Args:
        instances: with `instance` and both candidates.
        predictions: with `instance` and `answer`.
    """
    answers = count_answers(instances, predictions)
    names = [bare_text(pl.col(name)) for name in CANDIDATE_COLUMNS]
    answer = bare_text(pl.col("answer"))
    # A part of a name is one as well: some models leave out an article.
    is_part = pl.any_horizontal(name.str.contains(answer, literal=True) for name in names)
    is_part = (answer != "") & is_part
    has_name = pl.any_horizontal(answer.str.contains(name, literal=True) for name in names)
    count = int(answers["count"].sum())
    neither = int(answers.filter(~(is_part | has_name))["count"].sum())
    return Check("neither_subject", neither / count, count)


def count_answers(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> pl.DataFrame:
    """Counts how often each answer is given with each pair of candidates.

    Returns:
        Both candidates, `answer` and `count`, and perhaps further columns.
    """
    questions = instances.select("instance", *CANDIDATE_COLUMNS)
    answers = predictions.select("answer", of="instance")
    keys = [*CANDIDATE_COLUMNS, "answer"]
    # A run leaves both in the same order, so that they need no join.
    is_same = pl.col("instance").eq_missing(pl.col("of")).all()
    beside = pl.concat([questions, answers], how="horizontal")
    counts = beside.group_by(keys).agg(is_same, count=pl.len()).collect()
    if counts["instance"].all():
        return counts
    joined = questions.join(answers, left_on="instance", right_on="of")
    return joined.group_by(keys).agg(count=pl.len()).collect()


def bare_text(text: pl.Expr) -> pl.Expr:
    """Returns letters and digits alone, in lower case."""
    # Tokens that are joined again have other spaces.
    return text.cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")


def order(measures: pl.DataFrame) -> Check:
    """Returns the larger of delta and epsilon as a share of the answer probability."""
    nouns = {"delta": "order", "epsilon": "negation"}
    rows = measures.filter(pl.col("measure").is_in([*nouns, "answer_probability"]))
    values = dict(rows.select("measure", "value").iter_rows())
    scale = values["answer_probability"]
    shares = {name: values[name] / scale if scale > 0 else 0.0 for name in nouns}
    texts = []
    for name, noun in nouns.items():
        texts.append(f"{noun} by {shares[name]:.0%} of the answer probability ({name})")
    return Check("order", max(shares.values()), int(rows["n"][0]), flag=", ".join(texts))


def balance(measures: pl.DataFrame) -> Check:
    """Returns how often the subject asked least is asked, as a share of the one asked most."""
    rows = measures.filter(
        pl.col("measure") == "gamma", pl.col("attribute", "attribute_group").is_null()
    )
    counts = rows.drop_nulls("subject")["n"].to_numpy().astype(np.float64)
    return Check("balance", float(counts.min() / counts.max()), len(counts))


def name_tokens(facts: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    """Yields the largest difference between groups in the mean tokens of a name, if it is known.

    Args:
        facts: `tokens`, if known: the mean of each group.
    """
    means = facts.get("tokens")
    if means:
        difference = max(means.values()) - min(means.values())
        yield Check("name_tokens", difference, len(means), flag=ends_of_means(means))


def name_frequency(facts: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    """Yields the largest ratio between groups of the mean frequency of a name, if it is known.

    Args:
        facts: `frequency`, if known: the geometric mean of each group.
    """
    means = facts.get("frequency")
    if means:
        ratio = max(means.values()) / min(means.values())
        yield Check("name_frequency", ratio, len(means), flag=ends_of_means(means))


def ends_of_means(means: Mapping[str, float]) -> str:
    """Returns the groups with the largest and the smallest mean, in words."""
    groups = sorted(means, key=means.__getitem__)
    smallest, largest = groups[0], groups[-1]
    low, high = format_mean(means[smallest]), format_mean(means[largest])
    return f"{largest} ({high}) and {smallest} ({low})"


def format_mean(mean: float) -> str:
    """Formats a mean with two decimals, a large one without."""
    return f"{mean:.2f}" if mean < HUNDRED else f"{mean:,.0f}"
