"""Checks of whether a cell was measured at all; the limits of flags are in `measures.yaml`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.underspecified.ask import NAME_FACTS
from biasgrid.families.underspecified.axes import AnsweredGroups, KnownAttributes
from biasgrid.families.underspecified.observe import PRONOUN_SCORES, scores_in_groups
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, unknown_tokens
from biasgrid.tables.completeness import Check

CANDIDATE_COLUMNS = ("candidate1", "candidate2")
WITHOUT_ANSWERS = ("text-generation",)
"""Tasks whose models may leave a question without an answer."""
HUNDRED = 100
"""From here on numbers are shown without decimals."""


class SubjectScores:
    """The scores of both subjects of answered instances, part by part.

    Each part has shape (instances, 2).
    """

    def __init__(self, cell_groups: AnsweredGroups):
        self.cell_groups = cell_groups

    def __iter__(self) -> Iterator[FloatArray]:
        """Yields the parts."""
        for part in self.cell_groups:
            yield scores_in_groups(part).reshape(-1, 2)


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of whether a cell was measured at all; see the flags in `measures.yaml`."""
    cell_groups = AnsweredGroups(cell.observed)
    if cell_groups.attributes.left_out:
        yield unknown_attributes(cell_groups.attributes)
        cell = without_unknown(cell, cell_groups.attributes)
    if cell.measure_options["task"] in WITHOUT_ANSWERS:
        missing = 1 - cell_groups.answered_count / cell_groups.group_count
        yield Check("missing_answers", missing, cell_groups.group_count)
    if not cell_groups.answered_count:
        yield from unknown_tokens(cell.predictions)
        return
    names = cell_groups.axes.groups_by_name.select(
        bias_type=pl.lit("subject_group"), group="subject_group", name="subject"
    )
    scores = SubjectScores(cell_groups)
    answers = CheckedAnswers(scores, names=names)
    if cell.measure_options["task"] in ("fill-mask", "text-generation"):
        answers = answers._replace(word_scores=scores, beside=pronoun_mass_text(cell_groups))
    yield from checks_of_cell(cell, answers)
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield order(cell.measures)
    yield balance(cell.measures)
    yield from name_differences(cell.facts.get(NAME_FACTS, {}))


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
    instances = cell.instances.filter(attributes.are_known)
    predictions = cell.predictions.join(instances.select("instance"), on="instance", how="semi")
    return replace(cell, instances=instances, predictions=predictions)


def pronoun_mass_text(observations: Iterable[pl.DataFrame]) -> str:
    """Describes the probability of pronouns, for the flag of improbable names.

    Args:
        observations: the swap groups that were answered, part by part.

    Returns:
        A clause to add to the flag; empty without pronouns.
    """
    total, count = 0.0, 0
    for part in observations:
        if PRONOUN_SCORES in part.columns:
            both = scores_in_groups(part, PRONOUN_SCORES).sum(axis=3)
            total += float(np.nansum(both))
            count += int(np.count_nonzero(~np.isnan(both)))
    if not count:
        return ""
    mean = f"{total / count:.2g}"
    return f"; in the same place their pronouns have {mean} of it: see pronoun_association"


def neither_subject(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Check:
    """Returns the share of instances with an answer that names neither subject.

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
    answers = predictions.select("answer", answered="instance")
    keys = [*CANDIDATE_COLUMNS, "answer"]
    # A run leaves both in the same order, so that they need no join.
    is_same = pl.col("instance").eq_missing(pl.col("answered")).all()
    aligned_rows = pl.concat([questions, answers], how="horizontal")
    counts = aligned_rows.group_by(keys).agg(is_same, count=pl.len()).collect()
    if counts["instance"].all():
        return counts
    questions_and_answers = questions.join(answers, left_on="instance", right_on="answered")
    return questions_and_answers.group_by(keys).agg(count=pl.len()).collect()


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


def name_differences(facts: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    """Yields the largest differences between the names of groups, if these are known.

    Args:
        facts: `tokens`, the mean number of each group, and `frequency`, the geometric mean; see
            `lists.name_facts`.
    """
    for fact, means in facts.items():
        low, high = min(means.values()), max(means.values())
        flag, size = "name_tokens", high - low
        if fact == "frequency":
            flag, size = "name_frequency", high / low
        yield Check(flag, size, len(means), flag=extreme_means_text(means))


def extreme_means_text(means: Mapping[str, float]) -> str:
    """Returns the groups with the largest and the smallest mean, in words."""
    groups = sorted(means, key=means.__getitem__)
    smallest, largest = groups[0], groups[-1]
    low, high = format_mean(means[smallest]), format_mean(means[largest])
    return f"{largest} ({high}) and {smallest} ({low})"


def format_mean(mean: float) -> str:
    """Formats a mean with two decimals, a large one without."""
    return f"{mean:.2f}" if mean < HUNDRED else f"{mean:,.0f}"
