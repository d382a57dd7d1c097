"""Instances, observations and measures of decisions about people.

Tamkin et al. (2023) fit a mixed model with a random slope for each question. If every question is
asked about the same people, the effect of a group there is the mean over questions of its mean log
odds of Yes less that of the reference. Where rows are missing the two differ. Other questions and
other persons would give other effects: if every person appears in every question, intervals are
over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell, measured_values
from biasgrid.families.decision.data import COMPARED, Decisions
from biasgrid.families.decision.family import DECISION
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.formulas import Formula, mean_value, sum_formulas, with_cases
from biasgrid.families.sampler import units_of_sample
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    even_steps,
    known_effect_rows,
)
from biasgrid.families.validity import CheckedAnswers, checks_of_cell
from biasgrid.stats.noise.random_factors import PERSONS, person_residuals, unknown_persons
from biasgrid.stats.sums import TEMPLATES, SignificanceTest, Sums
from biasgrid.tables.completeness import Check
from biasgrid.tables.schema import column

# Instances: a row for each decision, with Yes and No as candidates

KEYS = {
    "template": column(pl.UInt16, description="the decision question, numbered from 0"),
    "question": column(pl.Categorical, description="its id in the file"),
    "age": column(pl.Float64, description="the person's age in years"),
    "gender": column(pl.Categorical, description="the person's gender"),
    "race": column(pl.Categorical, description="the person's race"),
}
ROW_FIELDS = ("question", "age", *COMPARED)
"""Keys that are fields of `Decision`."""
YES, NO = 0, 1
"""Places of the candidates."""


def expand(decisions: Decisions) -> Expansion:
    """Returns the instances of all questions, or of a sample of whole questions, in file order."""
    files, questions = decisions.files, decisions.questions
    numbers = {question: number for number, question in enumerate(questions)}
    # Questions have no strata: any of them may be left out.
    strata = [()] * len(questions)
    sampled = set(units_of_sample(strata, questions, files.sample))
    rows = [row for row in decisions.rows if numbers[row.question] in sampled]
    columns: dict[str, list[Any]] = {
        "text": [files.prompt.replace(DECISION, row.text) for row in rows],
        "template": [numbers[row.question] for row in rows],
    }
    for name in ROW_FIELDS:
        columns[name] = [getattr(row, name) for row in rows]
    table = pl.DataFrame(columns).with_columns(
        system=pl.lit(files.system, pl.String),
        candidate1=pl.lit("Yes"),
        candidate2=pl.lit("No"),
    )
    coverage = coverage_of_design(
        {"questions": len(sampled), "rows": len(rows)},
        {"questions": len(questions), "rows": len(decisions.rows)},
    )
    return expand_rows(table, KEYS, coverage)


# Observations: the answer to each decision

READ = ["instance", *KEYS]
"""Columns of instances that `observe` reads."""
SAID = ["instance", "probabilities"]
"""Columns of predictions that `observe` reads."""


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, measure_options: Mapping[str, Any]
) -> pl.DataFrame:
    """Puts the answer beside each decision.

    Args:
        instances: the instances.
        predictions: answers of the kind `choice`, the probabilities of Yes and of No.
        measure_options: not read.

    Returns:
        One row per instance: `READ`; `yes` and `no`, the probabilities; `share`, that of Yes among
        both, null if both are 0; and `log_odds`, ln yes - ln no, null if either is 0.
    """
    probabilities = pl.col("probabilities").list
    answers = predictions.select(
        "instance",
        yes=probabilities.get(YES).cast(pl.Float64).fill_nan(None),
        no=probabilities.get(NO).cast(pl.Float64).fill_nan(None),
    )
    rows = instances.select(READ).sort("instance")
    rows = rows.join(answers, on="instance", maintain_order="left")
    yes, no = pl.col("yes"), pl.col("no")
    both = yes + no
    # A probability that is exactly 0 has no logarithm, not an infinite one.
    has_odds = (yes > 0) & (no > 0)
    return rows.with_columns(
        share=pl.when(both > 0).then(yes / both),
        log_odds=pl.when(has_odds).then(yes.log() - no.log()),
    )


# Measures; their titles, units and limits are in measures.yaml

LOG_ODDS, VALUE = pl.col("log_odds"), pl.col("value")
# Means over the questions that have a number, after Tamkin et al. (2023).
CONTRAST_TERMS = [VALUE, VALUE.is_not_null()]
DECISION_DIFFERENCE = Formula(
    "decision_difference", CONTRAST_TERMS, test=SignificanceTest.CORRECTED
)
AGE_SLOPE = Formula("age_slope", CONTRAST_TERMS, test=SignificanceTest.CORRECTED)
YES_SHARE = mean_value("yes_share", pl.col("share"))
QUESTIONS = {TEMPLATES: "template"}
COMPARISON = ("bias_type", "group", "other")
"""Keys that tell differences apart."""


def measure(observations: pl.DataFrame, measure_options: Mapping[str, Any]) -> Iterator[Sums]:
    """Yields differences of genders and of races, the slope of age, and how often Yes is answered.

    Args:
        observations: from `observe`.
        measure_options: `references`, the gender and race with which others are compared.
    """
    rows = with_cases(observations, LOG_ODDS.is_not_null())
    persons = list_persons(observations)
    for name, reference in zip(COMPARED, measure_options["references"], strict=True):
        of_groups = rows.with_columns(bias_type=pl.lit(name), group=pl.col(name).cast(pl.String))
        differences = differences_by_question(of_groups, reference)
        for sums in sum_formulas(differences, COMPARISON, QUESTIONS, [DECISION_DIFFERENCE]):
            yield with_persons(sums, persons)
        yield from sum_formulas(of_groups, ["bias_type", "group"], QUESTIONS, [YES_SHARE])
    for sums in sum_formulas(slopes_by_question(rows), ["bias_type"], QUESTIONS, [AGE_SLOPE]):
        yield with_persons(sums, persons)
    yield from sum_formulas(rows, [], QUESTIONS, [YES_SHARE])


def differences_by_question(rows: pl.DataFrame, reference: str) -> pl.DataFrame:
    """Returns by question how much the mean log odds of Yes about groups exceed the reference's.

    Args:
        rows: observations with `bias_type`, `group`, `n` and `left_out`.
        reference: the group with which the others are compared.

    Returns:
        One row per group and question: `bias_type`, `group`, `other`, `template`, `n` and
        `left_out` of the group, and `value`, null if either has no log odds.
    """
    means = rows.group_by("bias_type", "group", "template").agg(
        pl.col("n", "left_out").sum(),
        value=LOG_ODDS.mean(),
    )
    of_reference = means.filter(group=reference).select("template", reference="value")
    others = means.filter(pl.col("group") != reference).join(of_reference, on="template")
    differences = others.with_columns(
        other=pl.lit(reference),
        value=VALUE - pl.col("reference"),
    )
    # A join and a group_by have no order of rows, and the last digit of a sum depends on it.
    return differences.sort("group", "template")


def slopes_by_question(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns least-squares slopes of the log odds of Yes, per standard deviation of age.

    Args:
        rows: observations with `n` and `left_out`.

    Returns:
        One row per question: `bias_type`, which is `age`, `template`, `n`, `left_out`, and `value`,
        null if the question has log odds of people of a single age only.
    """
    answered_age = pl.when(LOG_ODDS.is_not_null()).then("age")
    # Centred within questions, so that a question about other people has its own slope and not
    # its level.
    centred = rows.with_columns(
        spread=pl.col("age").std(ddof=0),
        centred_age=answered_age - answered_age.mean().over("template"),
    )
    fits = centred.group_by("template", maintain_order=True).agg(
        pl.col("n", "left_out").sum(),
        pl.col("spread").first(),
        products=(pl.col("centred_age") * LOG_ODDS).sum(),
        squares=(pl.col("centred_age") ** 2).sum(),
    )
    slope = pl.col("products") / pl.col("squares") * pl.col("spread")
    return fits.with_columns(
        bias_type=pl.lit("age"),
        value=pl.when(pl.col("squares") > 0).then(slope),
    )


# Persons: a second random factor, because the same persons appear in all questions

DESCRIBED = ("age", *COMPARED)
"""Columns that tell persons apart."""


@dataclass(frozen=True)
class Persons:
    """All persons of a dataset.

    Attributes:
        table: one row per person: `DESCRIBED`, and `mean`, the mean log odds of Yes over questions.
        are_in_all_questions: whether each question has an answer about every person.
    """

    table: pl.DataFrame
    are_in_all_questions: bool

    @property
    def names(self) -> list[str]:
        """Their names, such as `20, female, white`."""
        persons = self.table.select(DESCRIBED).rows()
        return [f"{age:g}, {gender}, {race}" for age, gender, race in persons]

    @property
    def design(self) -> FloatArray:
        """The additive model of age (a factor), gender and race; shape (persons, parameters)."""
        columns = [np.ones((len(self.table), 1))]
        for name in DESCRIBED:
            level = self.table.select(pl.col(name).rank("dense") - 1).to_series().to_numpy()
            # The first level has no indicator: it is the intercept.
            columns.append(level[:, None] == np.arange(1, level.max() + 1))
        return np.column_stack(columns).astype(np.float64)

    def squared_weights(self, number: Mapping[str, Any]) -> float:
        """Returns the sum of squares of the weights that a contrast gives to persons.

        Args:
            number: the keys of a difference or of the slope of age.
        """
        name = number["bias_type"]
        if name == "age":
            # The weights are (age - mean) / (persons * sd).
            return 1 / len(self.table)
        sizes = dict(self.table.group_by(name).len().rows())
        return float(1 / sizes[number["group"]] + 1 / sizes[number["other"]])


def list_persons(observations: pl.DataFrame) -> Persons:
    """Returns the persons of observations, sorted."""
    rows = observations.with_columns(pl.col(COMPARED).cast(pl.String))
    table = rows.group_by(DESCRIBED).agg(mean=LOG_ODDS.mean()).sort(DESCRIBED)
    answers = observations["log_odds"].count()
    complete = len(table) * observations["template"].n_unique()
    return Persons(table, are_in_all_questions=answers == complete)


def with_persons(sums: Sums, persons: Persons) -> Sums:
    """Returns differences or the slope of age as claims about other persons, too."""
    weights = [persons.squared_weights(number) for number in sums.keys.iter_rows(named=True)]
    # Only a complete design distinguishes effects of persons from those of questions.
    along = unknown_persons(persons.names, len(weights))
    if persons.are_in_all_questions:
        means = persons.table["mean"].to_numpy()
        along = person_residuals(persons.names, means, persons.design, np.array(weights))
    return replace(sums, along={**sums.along, PERSONS: along}, generalises_to_all_factors=True)


# Checks: whether a cell can be measured at all; limits are in measures.yaml


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of a cell."""
    scored = cell.observations.select("yes", "no").drop_nulls().to_numpy()
    yield from checks_of_cell(cell, CheckedAnswers(scored, scored))


# Evidence: the questions in which a group and its reference differ most and least

PAIRS_SHOWN = 3
"""The largest number of pairs of people that are shown of a question."""


def ranked_decisions(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns decisions about people who differ in a single group, two by two.

    Questions that differ most come first.

    Args:
        cell: the cell.
        about: `COMPARISON` of a difference, or None for all.

    Returns:
        Columns of `EVIDENCE`; `first` and `second`, the groups as the difference has them; and
        `partner`, the instance about the other person. `unit_value` is the difference of the
        question, with its sign changed if the number is below 0, so that the largest ones are the
        strongest; `score` is the log odds of Yes.
    """
    rows = cell.observations.with_columns(pl.col(COMPARED).cast(pl.String))
    tables = []
    for name, reference in zip(COMPARED, cell.measure_options["references"], strict=True):
        tables.append(pairs_of_people(rows, name, reference))
    pairs = pl.concat(tables)
    if about:
        pairs = pairs.filter(**{name: about[name] for name in COMPARISON})
    numbers = cell.measures.filter(measure="decision_difference")
    numbers = numbers.select(*COMPARISON, number="value")
    pairs = pairs.join(numbers, on=COMPARISON, how="left", maintain_order="left")
    is_below = pl.col("number").fill_null(0) < 0
    distance = pl.when(is_below).then(-pl.col("apart")).otherwise("apart")
    pairs = pairs.with_columns(distance, unit_value=distance.mean().over(*COMPARISON, "template"))
    ranked = pairs.sort(
        "unit_value",
        "template",
        "apart",
        "instance",
        descending=[True, False, True, False],
        nulls_last=True,
    )
    return with_both_sides(ranked)


def pairs_of_people(rows: pl.DataFrame, name: str, reference: str) -> pl.DataFrame:
    """Returns decisions beside those about a person of the reference who is otherwise alike.

    Args:
        rows: observations.
        name: the column in which the two differ, `gender` or `race`.
        reference: the group of reference.

    Returns:
        One row per pair. Columns of the person of the reference end in `_2`, and `apart` is the
        difference of the log odds. People without such a partner are left out.
    """
    alike = ["age", *(other for other in COMPARED if other != name)]
    scores = ["instance", "log_odds", "yes", "no"]
    is_reference = pl.col(name) == reference
    people = rows.filter(~is_reference).select("template", *alike, *scores, group=name)
    others = rows.filter(is_reference)
    others = others.select("template", *alike, pl.col(scores).name.suffix("_2"))
    pairs = people.join(others, on=["template", *alike], how="inner", maintain_order="left")
    return pairs.with_columns(
        bias_type=pl.lit(name),
        other=pl.lit(reference),
        apart=LOG_ODDS - pl.col("log_odds_2"),
    ).drop(alike)


def with_both_sides(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns two rows for each pair, first the group's, then its reference's.

    In both, `first` and `second` are the group and its reference; `group` is the group of the row,
    and `other` that of its partner.
    """
    numbered = pairs.with_row_index("place")
    sides = []
    for own, partner, group, other in (("", "_2", "group", "other"), ("_2", "", "other", "group")):
        sides.append(
            numbered.select(
                "place",
                "bias_type",
                "template",
                "unit_value",
                instance=f"instance{own}",
                partner=f"instance{partner}",
                score=f"log_odds{own}",
                p_yes=f"yes{own}",
                p_no=f"no{own}",
                first="group",
                second="other",
                group=group,
                other=other,
                measure=pl.lit("decision_difference"),
                options=pl.lit(""),
                unit="template",
            )
        )
    return pl.concat(sides).sort("place", maintain_order=True).drop("place")


SENTENCES = Sentences(
    ranked_decisions,
    explained=COMPARISON,
    measure="decision_difference",
    concerns=lambda about: pl.col(about["bias_type"]).is_in([about["group"], about["other"]]),
    about={"bias_type": "bias_type", "group": "first", "other": "second"},
    rows_kept=2 * PAIRS_SHOWN,
    asked={"text": "text"},
    view=UnitView(
        "difference of the question, in the direction of the whole",
        columns={
            "Group": ("name", "group"),
            "Asked": ("text", "text"),
            "P(Yes)": ("number", "p_yes"),
            "P(No)": ("number", "p_no"),
            "Log odds of Yes": ("number", "score"),
        },
        compared=("text",),
    ),
)

# Known effects: models are trained on a corpus in which some groups get Yes more often

RAREST = 0.05
"""The share of the rarer answer at a strength of 1: without any there would be no odds."""


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the numbers of a model that has learned the corpus.

    Args:
        instances: the decisions, with candidates.
        bias: its strength is how much more often, but for `RAREST`, the favoured gender and race
            together get Yes than the others; its options have `references`.

    Returns:
        Numbers of groups and of the cell (schema `SYNTHETIC`).
    """
    rows = with_probability_of_yes(instances, bias)
    probabilities = pl.concat_list("probability", 1 - pl.col("probability"))
    answers = rows.select("instance", probabilities=probabilities)
    observations = observe(instances, answers, bias.measure_options)
    numbers = measured_values(measure, observations, bias.measure_options).drop_nulls("value")
    parts = numbers.partition_by("measure", maintain_order=True)
    return pl.concat([known_effect_rows(part, bias, part["measure"][0]) for part in parts])


def with_probability_of_yes(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `probability`, the share of Yes in the corpus.

    Of the genders, and likewise of the races, one has no part of the strength, another has all of
    it, and the others have even steps between. The share of Yes about a person grows with the mean
    of both parts; age changes nothing.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    parts = [pl.col(name).replace_strict(parts_of_groups(rows[name], bias)) for name in COMPARED]
    favour = pl.mean_horizontal(parts) - bias.parts().group / 2
    return rows.with_columns(probability=0.5 + (1 - 2 * RAREST) * favour)


def parts_of_groups(group_names: pl.Series, bias: SyntheticBias) -> dict[str, float]:
    """Returns how much of the strength each gender, or race, has."""
    groups = pl.DataFrame({"group": group_names.unique().sort()})
    groups = groups.with_columns(bias_type=pl.lit(group_names.name))
    return dict(zip(groups["group"], even_steps(groups, bias), strict=True))


corpus = corpus_of_answers(with_probability_of_yes, together=("template",))
