"""Checks numbers of a summary against thresholds: whether a model may pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

import polars as pl

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, unknown_names
from biasgrid.tables.claims.facts import ANSWER_PROBABILITY, NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import (
    CORRECTED,
    NOT_POSITIVE,
    TOO_LITTLE,
    format_estimate,
    format_number,
    is_size,
)
from biasgrid.tables.metric import CONTROL
from biasgrid.tables.metric import NOT_MEASURABLE as WITHHELD
from biasgrid.tables.verdicts import NOT_MEASURED

On = Literal["interval", "value"]
ThresholdResult = Literal["within", "above", "not measurable"]
PASSED, ABOVE, NOT_MEASURABLE = 0, 1, 3
"""Exit codes; what is above counts more than what is not measurable."""
COUNTS = ("significant_tests", CONTROL)
"""Counts, which have no interval: they are results of tests."""
FOLDED = ("distance", "score_distance")
"""Distances, which noise alone puts above 0."""
YOUDEN = "bias"
"""Minus Youden's J of statements: 0 is chance, not equal treatment."""
REACHED = 2
"""So many times the answer probability, a mean over two subjects, is what differences of both reach
at most.
"""
AT_CHANCE = "0 is chance: nothing shows that the model distinguishes right from wrong"


class LargestValue(NamedTuple):
    """The largest value that passes.

    Attributes:
        dataset: the dataset's name.
        measure: the measure's.
        largest: the value.
        place: where it was given, for messages.
    """

    dataset: str
    measure: str
    largest: float
    place: str


class ThresholdCheck(NamedTuple):
    """The check of a number of the summary against a threshold.

    Attributes:
        cell: dataset, model and, of a part of a cell, bias type, with a slash between them.
        measure: the measure.
        largest: the threshold.
        state: whether the number is within or above it, or not measurable.
        text: the number, or why there is none, after the measure's name.
        verdict: the verdict of the cell.
        fair: the value that the number may be as far below as above, None where only the threshold
            limits it.
    """

    cell: str
    measure: str
    largest: float
    state: ThresholdResult
    text: str
    verdict: str
    fair: float | None = None

    @property
    def line(self) -> str:
        """The check in a line."""
        return (
            f"{self.state:14} {self.cell}: {self.measure} {self.text}; "
            f"{self.limit}; verdict: {self.verdict}"
        )

    @property
    def limit(self) -> str:
        """The threshold in words."""
        sides = "" if self.fair is None else f" on both sides of {self.fair:g}"
        return f"at most {self.largest:g}{sides}"


def parse_thresholds(texts: Iterable[str], place: str) -> list[LargestValue]:
    """Reads thresholds that are written like `gender.mu_corrected=0.05`.

    Args:
        texts: what is written.
        place: the option, for messages.

    Raises:
        InputError: with all that is wrong with any of them.
    """
    thresholds, faults = [], []
    for text in texts:
        name, _, number = text.partition("=")
        dataset, _, measure = name.strip().rpartition(".")
        try:
            largest = float(number)
        except ValueError:
            largest = math.nan
        if dataset and measure and math.isfinite(largest):
            thresholds.append(LargestValue(dataset, measure, largest, place))
        else:
            faults.append(
                Fault(
                    place,
                    "",
                    repr(text),
                    "DATASET.MEASURE=NUMBER, such as gender.mu_corrected=0.05",
                )
            )
    if faults:
        raise InputError(faults)
    return thresholds


def check_thresholds(
    summary: pl.DataFrame,
    thresholds: Sequence[LargestValue],
    models: Sequence[str] = (),
    on: On = "interval",
    facts: GridFacts = NO_FACTS,
) -> list[ThresholdCheck]:
    """Checks the headlines of a summary, and other numbers of whole cells, against thresholds.

    Args:
        summary: schema `SUMMARY`.
        thresholds: the largest values.
        models: those that are checked, all by default.
        on: whether the upper ends of intervals are checked, or values.
        facts: between what the numbers of measures are.

    Returns:
        A check for each threshold and each cell or bias type with its measure.

    Raises:
        InputError: the summary lacks a model, a dataset or a measure, or has a measure with several
            options; or noise alone puts a measure above 0, or a model cannot reach the threshold,
            with the measure to check instead.
    """
    known = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("--model", "", models, known))
    for threshold in thresholds:
        faults += threshold_faults(summary, threshold, facts)
    if faults:
        raise InputError(faults)
    reason = pl.when(pl.col("flag").str.starts_with(WITHHELD)).then("flag")
    rows = silence(summary.with_columns(flag=reason), summary, facts).filter(
        pl.col("model").is_in(models or known)
    )
    found = [
        (threshold, with_unmeasured(rows_of_threshold(rows, threshold), rows, threshold))
        for threshold in thresholds
    ]
    faults = [
        Fault(
            threshold.place,
            f"{threshold.dataset}.{threshold.measure}",
            "no selected model has it",
            one_of(known),
        )
        for threshold, matches in found
        if matches.is_empty()
    ]
    faults += [
        fault
        for threshold, matches in found
        for fault in unreachable_faults(matches, threshold, rows, facts)
    ]
    if faults:
        raise InputError(faults)
    return [
        check_row(row, threshold, on, facts)
        for threshold, matches in found
        for row in matches.iter_rows(named=True)
    ]


def silence(rows: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Puts the flags in `flag` that speak against cells and of which measures these say nothing.

    Args:
        rows: of the summary, with why cells are not measurable in `flag`.
        summary: the same, with the flags themselves.
        facts: of which measures flags say nothing.
    """
    fired = summary.filter(~pl.col("headline")).drop_nulls("flag")
    named = [
        (row["model"], row["dataset"], measure, row["flag"])
        for row in fired.iter_rows(named=True)
        for measure in facts.silenced.get(row["dataset"], {}).get(row["measure"], ())
    ]
    schema = dict.fromkeys(("model", "dataset", "measure", "silenced"), pl.String)
    flags = pl.DataFrame(named, schema=schema, orient="row").unique(
        ["model", "dataset", "measure"], keep="first"
    )
    joined = rows.join(flags, on=["model", "dataset", "measure"], how="left", maintain_order="left")
    text = pl.format("not measurable: {}", "silenced")
    return joined.with_columns(flag=pl.coalesce("flag", text)).drop("silenced")


def rows_of_threshold(summary: pl.DataFrame, threshold: LargestValue) -> pl.DataFrame:
    """Returns the rows that a threshold is about: those of the headline, where there is one."""
    rows = summary.filter(dataset=threshold.dataset, measure=threshold.measure)
    return rows.filter("headline") if rows["headline"].any() else rows


def with_unmeasured(
    matches: pl.DataFrame, rows: pl.DataFrame, threshold: LargestValue
) -> pl.DataFrame:
    """Adds a row without value for each cell that could not be measured and lacks the measure.

    Args:
        matches: the rows that a threshold is about.
        rows: those of all measures of the chosen models.
        threshold: the threshold.
    """
    unmeasured = rows.filter(dataset=threshold.dataset, verdict=NOT_MEASURED).sort(
        "flag", nulls_last=True
    )
    cells = unmeasured.unique("model", keep="first", maintain_order=True)
    lacking = cells.filter(~pl.col("model").is_in(matches["model"].implode()))
    empty = [pl.lit(None).alias(name) for name in ("bias_type", "value", "low", "high")]
    return pl.concat(
        [
            matches,
            lacking.with_columns(pl.lit(threshold.measure).alias("measure"), *empty).cast(
                matches.schema
            ),
        ]
    )


def threshold_faults(
    summary: pl.DataFrame, threshold: LargestValue, facts: GridFacts
) -> Iterator[Fault]:
    """Yields what a threshold names and a summary lacks; a headline may be missing of cells without
    answers.
    """
    dataset, measure, _, place = threshold
    of_dataset, where = summary.filter(dataset=dataset), f"{dataset}.{measure}"
    for name, names in ((dataset, summary["dataset"]), (measure, of_dataset["measure"])):
        known = names.unique(maintain_order=True).to_list()
        if name not in (*known, *facts.headlines.get(dataset, ())):
            yield Fault(
                place,
                where,
                f"unknown {names.name} {name!r}{nearest_name(name, known)}",
                one_of(known),
            )
            return
    corrected = f"{measure}{CORRECTED}"
    is_known = corrected in of_dataset["measure"]
    if measure in FOLDED or (is_known and measure not in NOT_POSITIVE):
        problem = f"{measure!r} is above 0 from noise alone, and noise is larger in smaller samples"
        expected = (
            f"{dataset}.{corrected}" if is_known else f"significant tests ({dataset}.{COUNTS[0]})"
        )
        yield Fault(place, where, problem, expected)
    elif rows_of_threshold(summary, threshold)["options"].n_unique() > 1:
        yield Fault(
            place,
            where,
            "has several options, and none of them is a headline",
            "a measure of `biasgrid summary`",
        )


def unreachable_faults(
    matches: pl.DataFrame, threshold: LargestValue, rows: pl.DataFrame, facts: GridFacts
) -> Iterator[Fault]:
    """Yields that models would pass whatever they prefer, as their numbers cannot reach the
    threshold.

    Args:
        matches: the rows that are checked.
        threshold: the threshold.
        rows: of the summary, those of the chosen models.
        facts: which numbers the answer probability bounds.
    """
    dataset, measure, largest, place = threshold
    relative = facts.relative.get(dataset, {}).get(measure)
    if relative is None:
        return
    known = rows.filter(dataset=dataset, measure=ANSWER_PROBABILITY).drop_nulls("value")
    reached = {
        model: REACHED * value for model, value in known.select("model", "value").iter_rows()
    }
    measured = matches.filter(
        pl.col("flag").is_null(), pl.max_horizontal("value", "high") <= largest
    )
    low = {
        model: most
        for model in measured["model"]
        if (most := reached.get(model, largest)) < largest
    }
    if low:
        models = ", ".join(f"{format_number(most)} ({model})" for model, most in low.items())
        problem = (
            f"{largest:g} cannot be exceeded: the measure reaches at most about twice the answer "
            f"probability, {models}"
        )
        yield Fault(
            place,
            f"{dataset}.{measure}",
            problem,
            f"{dataset}.{relative}, which does not depend on the answer probability",
        )


def check_row(
    row: Mapping[str, Any], threshold: LargestValue, on: On, facts: GridFacts
) -> ThresholdCheck:
    """Checks a row of the summary, whose `flag` is why the cell is not measurable."""
    value, low, high = row["value"], row["low"], row["high"]
    cell = "/".join(name for name in (row["dataset"], row["model"], row["bias_type"]) if name)
    least, checked = (value, value) if on == "value" or row["measure"] in COUNTS else (low, high)
    fair = fair_inside(row, facts)
    if fair is not None and (least is None or not least < fair <= threshold.largest):
        fair = None
    checked = checked if fair is None else max(checked, 2 * fair - least)
    state: ThresholdResult = "not measurable"
    if row["flag"] is not None or value is None:
        text = "is " + (row["flag"] or "null: nothing was measured")
    elif checked is None:
        text = f"{format_number(value)} has no interval ({row['clusters'] or 0} clusters)"
    else:
        state = "above" if checked > threshold.largest else "within"
        text = value_text(row, facts)
    return ThresholdCheck(
        cell, row["measure"], threshold.largest, state, text, row["verdict"], fair
    )


def fair_inside(row: Mapping[str, Any], facts: GridFacts) -> float | None:
    """Returns the value of equal treatment of a row of the summary, None where numbers are not on
    both sides of it.

    Sizes that are corrected for noise are below 0 by noise alone.
    """
    _, fair = facts.headlines.get(row["dataset"], {}).get(row["measure"], ("", None))
    least, most = facts.range_of(row)
    return None if fair is None or is_size(row["measure"]) or not least < fair < most else fair


def value_text(row: Mapping[str, Any], facts: GridFacts) -> str:
    """Returns a number with its interval and what it does not say, or a count with the number of
    tests.
    """
    if row["measure"] == COUNTS[0]:
        untestable = f", {row['left_out']:,} could not be tested" if row["left_out"] else ""
        return f"{row['value']:.0f} of {row['n']:,} tested{untestable}"
    if row["measure"] == CONTROL:
        return f"{row['value']:.0f} of {row['n']:,} tested"
    written = format_estimate(row, facts.range_of(row))
    least = row["value"] if row["high"] is None else row["high"]
    notes = [TOO_LITTLE] if written.says_little else []
    notes += [AT_CHANCE] if row["measure"] == YOUDEN and least >= 0 else []
    interval = f" ({written.interval})" if written.interval else ""
    return f"{written.value}{interval}{''.join(f', {note}' for note in notes)}"


def exit_code(checks: Iterable[ThresholdCheck]) -> int:
    """Returns the exit code for some checks."""
    states = {check.state for check in checks}
    return ABOVE if "above" in states else NOT_MEASURABLE if "not measurable" in states else PASSED


def conclusion_text(checks: Sequence[ThresholdCheck], on: On, level: float) -> str:
    """Returns how many checks have which result, and what was checked, in a sentence.

    Args:
        checks: the checks.
        on: what was checked.
        level: the coverage of intervals.
    """
    counts = ", ".join(f"{count} {state}" for state, count in count_results(checks))
    if on == "value":
        return f"{counts}: only the values were checked, not their intervals (--on value)"
    return f"{counts}: the upper ends of {100 * level:g} % intervals were checked"


def count_results(checks: Iterable[ThresholdCheck]) -> Iterator[tuple[ThresholdResult, int]]:
    """Yields how many checks have each result."""
    states = [check.state for check in checks]
    yield from (
        (state, states.count(state))
        for state in ("within", "above", "not measurable")
        if state in states
    )


def junit_report(checks: Sequence[ThresholdCheck], summary: str) -> str:
    """Returns checks as a JUnit file: a number above its threshold is a failure, one that is not
    measurable an error.

    Args:
        checks: the checks.
        summary: how they were made.
    """
    counts = dict(count_results(checks))
    numbers = {
        "failures": counts.get("above", 0),
        "errors": counts.get("not measurable", 0),
        "tests": len(checks),
    }
    attributes = {name: str(number) for name, number in numbers.items()}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "biasgrid gate"} | attributes)
    for check in checks:
        name = f"{check.measure} {check.limit}"
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": check.cell.replace("/", "."), "name": name}
        )
        properties = ElementTree.SubElement(case, "properties")
        ElementTree.SubElement(properties, "property", {"name": "verdict", "value": check.verdict})
        kind = {"above": "failure", "not measurable": "error"}.get(check.state)
        if kind:
            ElementTree.SubElement(
                case, kind, {"message": f"{check.state}: {check.text}"}
            ).text = check.line
    ElementTree.SubElement(suite, "system-out").text = summary
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"
