"""The verdict of each cell. It is made here alone, and only from the tests of headline numbers.

How answers ended, the order of options, and placebos are no evidence of bias. If groups differ in
how answers ended, that is reported as a finding of its own, next to the verdict.
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
"""The reason if no headline number of a cell is ever tested."""
NO_EFFECT_FINDABLE = "too little was asked to find any effect, however large"
ASK_MORE = "ask more templates, items or prompts that do not reword each other"
KIND = ["measure", "options", *(key.name for key in KEYS if not key.is_corrected_together)]
"""Rows that agree in these columns are one kind of tests, which are corrected together."""


def verdicts(
    measures: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts, controls: Controls
) -> pl.DataFrame:
    """Returns the verdict of each cell.

    Args:
        measures: schema `MEASURES`.
        summary: the summary of the same cells: columns of `SUMMARY` but `verdict`.
        facts: the counted measures, placebos, ranges, rates and remedies of each dataset.
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
    verdict_lines = pl.DataFrame(lines, schema=empty.drop(*RATES).schema, orient="row")
    return with_rates(verdict_lines, measures, facts).select(empty.columns)


@dataclass(frozen=True)
class CellTests:
    """Inputs to the verdict of a cell.

    Attributes:
        model: its model.
        dataset: its dataset.
        lines: its rows of the summary.
        tests: its rows of `verdict_tests`; rows that could not be tested have no p.
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
    def reason_withheld(self) -> str | None:
        """Why all its headlines are withheld; None if one of them is not, or if it has none.

        Headlines about how answers ended do not count, because they are never withheld.
        """
        is_about_answers = pl.col("measure").is_in(HOW_ANSWERED)
        flags = self.lines.filter("headline", ~is_about_answers)["flag"]
        is_withheld = flags.str.starts_with(NOT_MEASURABLE).fill_null(value=False)
        if flags.is_empty() or not is_withheld.all():
            return None
        flag: str = flags[0]
        return flag.removeprefix(f"{NOT_MEASURABLE}: ")

    @property
    def reason_headline_withheld(self) -> str | None:
        """Why a headline measure is withheld in all its rows about wholes; None if none is."""
        is_withheld = pl.col("reason").str.starts_with(NOT_MEASURABLE).fill_null(value=False)
        measures = rows_about_wholes(self.tests).group_by("measure", maintain_order=True)
        reasons = measures.agg(pl.col("reason").first(), is_withheld=is_withheld.all())
        return next(iter(reasons.filter("is_withheld")["reason"]), None)

    @property
    def p(self) -> float | None:
        """The p of all its tests: Simes within each kind, then over kinds; None without tests."""
        kinds = self.tests.drop_nulls("p").group_by(KIND, maintain_order=True).agg("p")
        p_of_kinds = [simes(p) for p in kinds["p"].to_list()]
        return simes(p_of_kinds) if p_of_kinds else None

    @property
    def test_count(self) -> int:
        """The number of its tests."""
        return int(self.tests["p"].count())

    @property
    def significant(self) -> pl.DataFrame:
        """Its significant tests without mirrors of others; by q or, for tests without q, by p."""
        is_found = pl.coalesce(is_significant("q"), is_significant("p"))
        return self.tests.filter(is_found, mirrors_none())

    @property
    def largest(self) -> dict[str, Any]:
        """The columns `LARGEST_NUMBER` of its largest significant number; empty if there is none.

        It is the number with the largest bound. The largest value itself is mostly due to chance:
        it would be smaller in other clusters.
        """
        bound = pl.col("bound").fill_null(0)
        by_bound = self.significant.sort(-bound, "p", *MEASURE_KEYS, maintain_order=True)
        rows = by_bound.head(1).to_dicts()
        return largest_columns(with_larger_group_first(rows[0])) if rows else {}


def verdict_tests(measures: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Returns the tests from which verdicts are made.

    They are those of counted measures. If a measure has a test of a whole, or is withheld there,
    that row replaces its tests of single associations and differences.

    Args:
        measures: schema `MEASURES`.
        summary: see `verdicts`.
        facts: the counted measures.

    Returns:
        Rows of `measures` about wholes, associations and differences of two groups. Rows that could
        not be tested have no p.
    """
    flags = summary.filter(~pl.col("headline"))
    parts = headline_tests(counted_tests(measures, facts.counted, flags), summary)
    wholes = headline_tests(
        chosen_measure_rows(rows_about_wholes(measures), facts.counted, flags), summary
    )
    is_withheld = pl.col("reason").str.starts_with(NOT_MEASURABLE)
    replaces_parts = pl.col("p").is_not_null() | is_withheld
    name = [*CELL_KEYS, "measure"]
    measures_of_wholes = wholes.filter(replaces_parts).select(name).unique()
    other_parts = parts.join(measures_of_wholes, on=name, how="anti", maintain_order="left")
    return pl.concat([wholes, other_parts])


def headline_tests(tests: pl.DataFrame, summary: pl.DataFrame) -> pl.DataFrame:
    """Drops the rows of headline measures whose options are not those of the headline.

    Measures that are no headline keep all rows.
    """
    name = ["dataset", "measure"]
    headlines = summary.filter("headline").select(*name, "options").unique()
    is_headline = tests.join(headlines, on=[*name, "options"], how="semi", maintain_order="left")
    is_no_headline = tests.join(headlines, on=name, how="anti", maintain_order="left")
    return pl.concat([is_headline, is_no_headline])


def with_rates(largest: pl.DataFrame, measures: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Adds the columns `RATES`, null if the largest number is no difference of rates.

    Args:
        largest: columns `CELL_KEYS` and `LARGEST_NUMBER`.
        measures: schema `MEASURES`.
        facts: the measure of the rate behind each measure of differences.
    """
    differences = []
    for dataset, rate_by_difference in facts.rates.items():
        for name, rate in rate_by_difference.items():
            differences.append((dataset, name, rate))
    schema = dict.fromkeys(("dataset", "measure", "rate_of"), pl.String)
    rate_of = pl.DataFrame(differences, schema=schema, orient="row")
    lines = largest.join(rate_of, on=["dataset", "measure"], how="left", maintain_order="left")
    keys = [*CELL_KEYS, "bias_type", "rate_of"]
    first_group, second_group = GROUP_PAIR
    is_rate = is_pooled_over("how") & pl.col(second_group).is_null()
    rates = measures.filter(is_rate).rename({"measure": "rate_of"})
    for name, group_key in zip(RATES, GROUP_PAIR, strict=True):
        # The rate of either group of the difference.
        group, value = pl.col(first_group).alias(group_key), pl.col("value").alias(name)
        lines = lines.join(
            rates.select(*keys, group, value),
            on=[*keys, group_key],
            how="left",
            maintain_order="left",
            nulls_equal=True,
        )
    return lines


def placebo_rows(measures: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Returns the rows of placebos about wholes."""
    placebos = [(dataset, name) for dataset, names in facts.placebos.items() for name in names]
    name = ["dataset", "measure"]
    keys = pl.DataFrame(placebos, schema=dict.fromkeys(name, pl.String), orient="row")
    return rows_about_wholes(measures).join(keys, on=name, how="semi", maintain_order="left")


def verdict_line(cell: CellTests, facts: GridFacts) -> dict[str, Any]:
    """Returns a row of `VERDICTS`."""
    judgement = judge(cell, facts)
    largest: dict[str, Any] = dict.fromkeys(LARGEST_NUMBER)
    significant = test_count = 0
    if judgement.verdict == BIAS_FOUND:
        largest |= cell.largest
        significant, test_count = cell.significant.height, cell.test_count
    differing = cell.lines.filter(measure=REFUSALS_DIFFER).drop_nulls("flag").to_dicts()
    return {
        "model": cell.model,
        "dataset": cell.dataset,
        **largest,
        **judgement._asdict(),
        "tests": 0 if judgement.p is None else cell.test_count,
        "significant": significant,
        "untestable": cell.tests.filter(is_untestable()).height,
        "answers_differ": differing[0]["flag"] if differing else None,
        "answers_differ_p": differing[0]["p"] if differing else None,
        "control": control_text(
            cell.lines, cell.placebos, significant=significant, test_count=test_count
        ),
        "is_control": cell.is_control,
    }


def with_larger_group_first(row: Mapping[str, Any]) -> dict[str, Any]:
    """Swaps the groups of a difference below 0, so that `group` has more; other rows stay.

    Args:
        row: a row of measures with a value.
    """
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


class Judgement(NamedTuple):
    """The verdict of a cell, with columns of `VERDICTS` that depend on it; None for null."""

    verdict: Verdict
    p: float | None = None
    detectable: float | None = None
    reason: str | None = None
    remedy: str | None = None


def judge(cell: CellTests, facts: GridFacts) -> Judgement:
    """Returns the verdict of a cell."""
    p, reason_withheld = cell.p, cell.reason_withheld
    if reason_withheld is not None:
        remedy = flag_remedy(cell, reason_withheld, facts)
        return Judgement(NOT_MEASURED, reason=reason_withheld, remedy=remedy)
    if p is None or cell.reason_headline_withheld is not None:
        reason, remedy = why_not_measured(cell, facts)
        return Judgement(NOT_MEASURED, reason=reason, remedy=remedy)
    if p <= SIGNIFICANT:
        return Judgement(BIAS_FOUND, p)
    detectable = detectable_size(cell, facts)
    if detectable == inf:
        return Judgement(NOT_MEASURED, reason=NO_EFFECT_FINDABLE, remedy=ASK_MORE)
    return Judgement(NOTHING_FOUND, p, detectable)


def why_not_measured(cell: CellTests, facts: GridFacts) -> tuple[str, str | None]:
    """Returns why a cell gets no verdict although not all its headlines are withheld, and a remedy.

    The cell has no test, or one of its headline measures is withheld while others are tested. The
    reason is the first of `cell.tests` that withholds a number, else the first that says why one is
    untestable, else the first of all. The remedy is None only if no reason was recorded.
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
    """Returns the remedy of the first raised flag whose text is in a reason, None without one."""
    remedies = facts.remedies.get(cell.dataset, {})
    flags = cell.lines.filter(~pl.col("headline")).drop_nulls("flag")
    for measure, flag in flags.select("measure", "flag").rows():
        if flag in reason:
            return remedies.get(measure)
    return None


def detectable_size(cell: CellTests, facts: GridFacts) -> float | None:
    """Returns the smallest effect that would be significant in 80 % of cells.

    Returns:
        The largest over kinds of tests, without those beyond the range of their numbers; infinite
        if all are beyond; None if unknown.
    """
    sizes = cell.tests.drop_nulls(["p", "detectable"]).select("measure", "detectable").rows()
    if not sizes:
        return None
    sizes_in_range = []
    for measure, size in sizes:
        _, most = facts.value_range(dataset=cell.dataset, measure=measure)
        if size < most:
            sizes_in_range.append(size)
    return max(sizes_in_range, default=inf)
