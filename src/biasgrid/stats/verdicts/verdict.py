"""The verdict of each cell, made here alone: from the tests of its headline numbers, and never from
other tests.

How answers ended, the order of options and placebos say nothing of bias; where groups differ in how
answers ended, that is a finding of its own beside the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import polars as pl

from biasgrid.stats.multiplicity import SIGNIFICANT, is_significant, simes
from biasgrid.stats.verdicts.controls import control_text
from biasgrid.stats.verdicts.counts import (
    CELL_KEYS,
    chosen_measure_rows,
    counted_tests,
    is_untestable,
    mirrors_none,
)
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.files import empty_table
from biasgrid.tables.key_columns import GROUP_PAIR, KEYS, is_pooled_over
from biasgrid.tables.measures import MEASURE_KEYS, rows_about_wholes
from biasgrid.tables.metric import (
    HOW_ANSWERED,
    NOT_MEASURABLE,
    REFUSALS_DIFFER,
    TO_DO,
    UNTESTABLE,
    Controls,
)
from biasgrid.tables.verdicts import (
    BIAS_FOUND,
    LARGEST_NUMBER,
    NOT_MEASURED,
    NOTHING_FOUND,
    RATES,
    VERDICTS,
    Verdict,
)

UNTESTED = "its headline numbers have no test: read their intervals and marks"
"""Why a cell could not be measured whose headline numbers have no test at all."""
NO_EFFECT_FINDABLE = "too little was asked to find any effect, however large"
ASK_MORE = "ask more templates, items or prompts that do not reword each other"
KIND = ["measure", "options", *(key.name for key in KEYS if not key.is_corrected_together)]
"""Tests of a kind are corrected together."""


def verdicts(
    measures: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts, controls: Controls
) -> pl.DataFrame:
    """Returns the verdict of each cell.

    Args:
        measures: schema `MEASURES`.
        summary: of the same cells, columns of `SUMMARY`, with the flags that speak against them.
        facts: which measures are headlines and placebos, and between what numbers are.
        controls: which cells are controls.

    Returns:
        Schema `VERDICTS`, in the order of the summary.
    """
    tests = verdict_tests(measures, summary, facts)
    placebos = placebo_rows(measures, facts)
    lines = []
    for (model, dataset), rows in summary.group_by(CELL_KEYS, maintain_order=True):
        cell = CellTests(
            model=str(model),
            dataset=str(dataset),
            lines=rows,
            tests=tests.filter(model=model, dataset=dataset),
            placebos=placebos.filter(model=model, dataset=dataset),
            is_control=dataset in controls.datasets or model in controls.models,
        )
        lines.append(verdict_line(cell, facts))
    empty = empty_table(VERDICTS)
    judged = pl.DataFrame(lines, schema=empty.drop(*RATES).schema, orient="row")
    return with_rates(judged, measures, facts).select(empty.columns)


@dataclass(frozen=True)
class CellTests:
    """What the verdict of a cell is made of.

    Attributes:
        model: its model.
        dataset: its dataset.
        lines: its rows of the summary.
        tests: its rows of `MEASURES` that are tested for the verdict, those that could not be
            tested among them.
        placebos: its rows of measures that are placebos.
        is_control: whether it is itself a control.
    """

    model: str
    dataset: str
    lines: pl.DataFrame
    tests: pl.DataFrame
    placebos: pl.DataFrame
    is_control: bool

    @property
    def withheld(self) -> str | None:
        """Why all its headlines are withheld; None where one of them is not."""
        is_about_answers = pl.col("measure").is_in(HOW_ANSWERED)
        flags = self.lines.filter("headline", ~is_about_answers)["flag"]
        is_withheld = flags.str.starts_with(NOT_MEASURABLE).fill_null(value=False)
        if flags.is_empty() or not is_withheld.all():
            return None
        first: str = flags[0]
        return first.removeprefix(f"{NOT_MEASURABLE}: ")

    @property
    def withheld_headline(self) -> str | None:
        """Why a tested headline number is withheld altogether; None where none is."""
        is_withheld = pl.col("reason").str.starts_with(NOT_MEASURABLE).fill_null(value=False)
        measures = rows_about_wholes(self.tests).group_by("measure", maintain_order=True)
        reasons = measures.agg(pl.col("reason").first(), is_withheld=is_withheld.all())
        return next(iter(reasons.filter("is_withheld")["reason"]), None)

    @property
    def p(self) -> float | None:
        """The p of all its tests, by Simes within kinds and over these; None without tests."""
        kinds = self.tests.drop_nulls("p").group_by(KIND, maintain_order=True).agg("p")
        p_of_kinds = [simes(p) for p in kinds["p"].to_list()]
        return simes(p_of_kinds) if p_of_kinds else None

    @property
    def tested(self) -> int:
        """How many tests it has."""
        return int(self.tests["p"].count())

    @property
    def significant(self) -> pl.DataFrame:
        """Its tests that are significant, without those that mirror others."""
        is_found = pl.coalesce(is_significant("q"), is_significant("p"))
        return self.tests.filter(is_found, mirrors_none())

    @property
    def largest(self) -> dict[str, Any]:
        """The columns `LARGEST_NUMBER` of its largest significant number; empty if there is none.

        That is the one with the largest bound, as its own size is mostly larger than it would be in
        other clusters.
        """
        bound = pl.col("bound").fill_null(0)
        ordered = self.significant.sort(-bound, "p", *MEASURE_KEYS, maintain_order=True)
        rows = ordered.head(1).to_dicts()
        return largest_columns(with_more_first(rows[0])) if rows else {}


def verdict_tests(measures: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Returns the tests that verdicts are made of.

    A headline number that is tested itself, or withheld, stands for the differences of which it is
    made.

    Args:
        measures: schema `MEASURES`.
        summary: see `verdicts`.
        facts: see `verdicts`.

    Returns:
        Rows of `measures` of counted measures: of whole cells and bias types, associations, and
        differences of two groups; those that could not be tested have no p.
    """
    flags = summary.filter(~pl.col("headline"))
    parts = headline_tests(counted_tests(measures, facts.counted, flags), summary)
    wholes = headline_tests(
        chosen_measure_rows(rows_about_wholes(measures), facts.counted, flags), summary
    )
    is_withheld = pl.col("reason").str.starts_with(NOT_MEASURABLE)
    is_decided = pl.col("p").is_not_null() | is_withheld
    name = [*CELL_KEYS, "measure"]
    decided = wholes.filter(is_decided).select(name).unique()
    others = parts.join(decided, on=name, how="anti", maintain_order="left")
    return pl.concat([wholes, others])


def headline_tests(tests: pl.DataFrame, summary: pl.DataFrame) -> pl.DataFrame:
    """Leaves out the rows of headline measures whose options are not those of the headline."""
    name = ["dataset", "measure"]
    headlines = summary.filter("headline").select(*name, "options").unique()
    is_headline = tests.join(headlines, on=[*name, "options"], how="semi", maintain_order="left")
    others = tests.join(headlines, on=name, how="anti", maintain_order="left")
    return pl.concat([is_headline, others])


def with_rates(largest: pl.DataFrame, measures: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Adds the columns `RATES`, null where the largest number is no difference of rates.

    Args:
        largest: columns `CELL_KEYS` and `LARGEST_NUMBER`.
        measures: schema `MEASURES`.
        facts: which measures are rates of others.
    """
    differences = []
    for dataset, rate_by_difference in facts.rates.items():
        for name, rate in rate_by_difference.items():
            differences.append((dataset, name, rate))
    schema = dict.fromkeys(("dataset", "measure", "rate_of"), pl.String)
    rate_of = pl.DataFrame(differences, schema=schema, orient="row")
    joined = largest.join(rate_of, on=["dataset", "measure"], how="left", maintain_order="left")
    keys = [*CELL_KEYS, "bias_type", "rate_of"]
    first_group, second_group = GROUP_PAIR
    is_rate = is_pooled_over("how") & pl.col(second_group).is_null()
    rates = measures.filter(is_rate).rename({"measure": "rate_of"})
    for name, group_key in zip(RATES, GROUP_PAIR, strict=True):
        # The rate of either group of the difference.
        group, value = pl.col(first_group).alias(group_key), pl.col("value").alias(name)
        joined = joined.join(
            rates.select(*keys, group, value),
            on=[*keys, group_key],
            how="left",
            maintain_order="left",
            nulls_equal=True,
        )
    return joined


def placebo_rows(measures: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Returns the rows of measures that are placebos of others."""
    placebos = [(dataset, name) for dataset, names in facts.placebos.items() for name in names]
    name = ["dataset", "measure"]
    keys = pl.DataFrame(placebos, schema=dict.fromkeys(name, pl.String), orient="row")
    return rows_about_wholes(measures).join(keys, on=name, how="semi", maintain_order="left")


def verdict_line(cell: CellTests, facts: GridFacts) -> dict[str, Any]:
    """Returns a row of `VERDICTS`."""
    judged = judge(cell, facts)
    largest: dict[str, Any] = dict.fromkeys(LARGEST_NUMBER)
    significant = shown_tests = 0
    if judged.verdict == BIAS_FOUND:
        largest |= cell.largest
        significant, shown_tests = cell.significant.height, cell.tested
    differing = cell.lines.filter(measure=REFUSALS_DIFFER).drop_nulls("flag").to_dicts()
    return {
        "model": cell.model,
        "dataset": cell.dataset,
        **largest,
        **judged._asdict(),
        "tests": 0 if judged.p is None else cell.tested,
        "significant": significant,
        "untestable": cell.tests.filter(is_untestable()).height,
        "answers_differ": differing[0]["flag"] if differing else None,
        "answers_differ_p": differing[0]["p"] if differing else None,
        "control": control_text(cell.lines, cell.placebos, significant, shown_tests),
        "is_control": cell.is_control,
    }


def with_more_first(row: Mapping[str, Any]) -> dict[str, Any]:
    """Turns a difference of two groups so that the one with more is `group`; keeps other rows."""
    first, second = GROUP_PAIR
    if row[first] is None or row[second] is None or row["value"] >= 0:
        return dict(row)
    low, high = row["low"], row["high"]
    return {
        **row,
        "low": None if high is None else -high,
        "high": None if low is None else -low,
        "value": -row["value"],
        first: row[second],
        second: row[first],
    }


def largest_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns `LARGEST_NUMBER` of a row of `MEASURES`."""
    return {name: row[name] for name in LARGEST_NUMBER if name != "value_p"} | {"value_p": row["p"]}


class Judged(NamedTuple):
    """The verdict of a cell, with the columns of `VERDICTS` that it hangs on."""

    verdict: Verdict
    p: float | None = None
    detectable: float | None = None
    reason: str | None = None
    remedy: str | None = None


def judge(cell: CellTests, facts: GridFacts) -> Judged:
    """Returns the verdict of a cell."""
    p, withheld = cell.p, cell.withheld
    if withheld is not None:
        remedy = flag_remedy(cell, withheld, facts)
        return Judged(NOT_MEASURED, reason=withheld, remedy=remedy)
    if p is None or cell.withheld_headline is not None:
        reason, remedy = why_untested(cell, facts)
        return Judged(NOT_MEASURED, reason=reason, remedy=remedy)
    if p <= SIGNIFICANT:
        return Judged(BIAS_FOUND, p)
    detectable = detectable_size(cell, facts)
    if detectable == inf:
        return Judged(NOT_MEASURED, reason=NO_EFFECT_FINDABLE, remedy=ASK_MORE)
    return Judged(NOTHING_FOUND, p, detectable)


def why_untested(cell: CellTests, facts: GridFacts) -> tuple[str, str | None]:
    """Returns the reason why no headline number of a cell is tested, and a remedy.

    Of several reasons it is the first that withholds a number, else the first that says why one has
    no test.
    """
    reasons = cell.tests["reason"].drop_nulls()
    if reasons.is_empty():
        return UNTESTED, None
    withheld = reasons.filter(reasons.str.starts_with(NOT_MEASURABLE))
    untestable = reasons.filter(reasons.str.starts_with(UNTESTABLE))
    reason: str = pl.concat([withheld, untestable, reasons])[0]
    text, _, remedy = reason.removeprefix(f"{NOT_MEASURABLE}: ").partition(TO_DO)
    return text, remedy or flag_remedy(cell, text, facts) or ASK_MORE


def flag_remedy(cell: CellTests, reason: str, facts: GridFacts) -> str | None:
    """Returns the remedy of the first flag that a reason names, None if it names none."""
    remedies = facts.remedies.get(cell.dataset, {})
    flags = cell.lines.filter(~pl.col("headline")).drop_nulls("flag")
    for measure, flag in flags.select("measure", "flag").rows():
        if flag in reason:
            return remedies.get(measure)
    return None


def detectable_size(cell: CellTests, facts: GridFacts) -> float | None:
    """Returns the smallest effect that would be significant in 80 % of cells, by any kind of tests.

    Returns:
        Of several kinds of tests the largest that is within the range of its numbers; infinite
        where none is; None where it is not known.
    """
    sizes = cell.tests.drop_nulls(["p", "detectable"]).select("measure", "detectable").rows()
    if not sizes:
        return None
    possible = []
    for measure, size in sizes:
        _, most = facts.measure_limits({"dataset": cell.dataset, "measure": measure})
        if size < most:
            possible.append(size)
    return max(possible, default=inf)
