"""Says whether a model may pass: numbers of a summary beside the largest that are let pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

import polars as pl

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, unknown_names
from biasgrid.tables.metric import CONTROL
from biasgrid.tables.metric import NOT_MEASURABLE as NOT_MEASURED

On = Literal["interval", "value"]
ThresholdResult = Literal["within", "above", "not measurable"]
PASSED, ABOVE, NOT_MEASURABLE = 0, 1, 3
"""Exit codes; what is above counts more than what is not measurable."""
COUNTS = ("significant_tests", CONTROL)
"""What is counted and has no interval: the tests behind it say how sure it is."""


class Threshold(NamedTuple):
    """The largest value that is let pass.

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
    """What a threshold says of a number of the summary.

    Attributes:
        cell: dataset, model and, of a part of a cell, bias type, with a slash between them.
        measure: the measure.
        largest: the threshold.
        state: whether the number is within or above it, or cannot be judged.
        told: the number, or why there is none to judge, behind the measure's name.
    """

    cell: str
    measure: str
    largest: float
    state: ThresholdResult
    told: str

    @property
    def line(self) -> str:
        """The verdict in a line."""
        return f"{self.state:14} {self.cell}: {self.measure} {self.told}; at most {self.largest:g}"


def parse_thresholds(texts: Iterable[str], place: str) -> list[Threshold]:
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
            thresholds.append(Threshold(dataset, measure, largest, place))
        else:
            faults.append(Fault(place, "", repr(text), "DATASET.MEASURE=NUMBER, such as gender.mu_corrected=0.05"))
    if faults:
        raise InputError(faults)
    return thresholds


def check_thresholds(
    summary: pl.DataFrame, thresholds: Sequence[Threshold], models: Sequence[str] = (), on: On = "interval"
) -> list[ThresholdCheck]:
    """Judges the headlines of a summary, and what else it has of whole cells once.

    Args:
        summary: schema `SUMMARY`.
        thresholds: the largest values.
        models: those that are judged, all by default.
        on: whether the upper ends of intervals are judged, or values.

    Returns:
        A verdict of each threshold and each cell or bias type with its measure.

    Raises:
        InputError: the summary lacks a model, a dataset or a measure, or has a measure with several options.
    """
    known = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("--model", "", models, known))
    for threshold in thresholds:
        faults += threshold_faults(summary, threshold)
    if faults:
        raise InputError(faults)
    reason = pl.col("flag").filter(pl.col("flag").str.starts_with(NOT_MEASURED)).first().over("model", "dataset")
    rows = summary.with_columns(flag=reason).filter(pl.col("model").is_in(models or known))
    found = [(threshold, rows_of_threshold(rows, threshold)) for threshold in thresholds]
    faults = [
        Fault(threshold.place, f"{threshold.dataset}.{threshold.measure}", "no chosen model has it", one_of(known))
        for threshold, told in found
        if told.is_empty()
    ]
    if faults:
        raise InputError(faults)
    return [check_row(row, threshold, on) for threshold, told in found for row in told.iter_rows(named=True)]


def rows_of_threshold(summary: pl.DataFrame, threshold: Threshold) -> pl.DataFrame:
    """Returns the rows that a threshold is about: those of the headline, where there is one."""
    rows = summary.filter(dataset=threshold.dataset, measure=threshold.measure)
    return rows.filter("headline") if rows["headline"].any() else rows


def threshold_faults(summary: pl.DataFrame, threshold: Threshold) -> Iterator[Fault]:
    """Yields what a threshold names and a summary lacks."""
    dataset, measure, _, place = threshold
    of_dataset, where = summary.filter(dataset=dataset), f"{dataset}.{measure}"
    for name, names in ((dataset, summary["dataset"]), (measure, of_dataset["measure"])):
        known = names.unique(maintain_order=True).to_list()
        if name not in known:
            yield Fault(place, where, f"unknown {names.name} {name!r}{nearest_name(name, known)}", one_of(known))
            return
    if rows_of_threshold(summary, threshold)["options"].n_unique() > 1:
        yield Fault(place, where, "has several options, none of them in a headline", "a measure of `biasgrid summary`")


def check_row(row: Mapping[str, Any], threshold: Threshold, on: On) -> ThresholdCheck:
    """Judges a row of the summary, whose `flag` is why the cell is not measurable."""
    value, low, high = (row[name] for name in ("value", "low", "high"))
    cell = "/".join(name for name in (row["dataset"], row["model"], row["bias_type"]) if name)
    judged = value if on == "value" or row["measure"] in COUNTS else high
    state: ThresholdResult = "not measurable"
    if row["flag"] is not None or value is None:
        told = "is " + (row["flag"] or "null: nothing was measured")
    elif judged is None:
        told = f"{value:.4g} has no interval ({row['clusters'] or 0} clusters)"
    else:
        state = "above" if judged > threshold.largest else "within"
        told = f"{value:.4g}" if low is None else f"{value:.4g} ({low:.4g} to {high:.4g})"
    return ThresholdCheck(cell, row["measure"], threshold.largest, state, told)


def exit_code(verdicts: Iterable[ThresholdCheck]) -> int:
    """Returns the exit code of some verdicts."""
    states = {verdict.state for verdict in verdicts}
    return ABOVE if "above" in states else NOT_MEASURABLE if "not measurable" in states else PASSED


def conclusion_text(verdicts: Sequence[ThresholdCheck], on: On, level: float) -> str:
    """Words what was judged, and how.

    Args:
        verdicts: the verdicts.
        on: what was judged.
        level: the coverage of intervals.
    """
    counts = ", ".join(f"{count} {state}" for state, count in count_results(verdicts))
    if on == "value":
        return f"{counts}: only values were judged, not their intervals (--on value)"
    return f"{counts}: the upper ends of {100 * level:g} % intervals were judged"


def count_results(verdicts: Iterable[ThresholdCheck]) -> Iterator[tuple[ThresholdResult, int]]:
    """Yields how many verdicts there are of each state."""
    states = [verdict.state for verdict in verdicts]
    yield from ((state, states.count(state)) for state in ("within", "above", "not measurable") if state in states)


def junit_report(verdicts: Sequence[ThresholdCheck], told: str) -> str:
    """Writes verdicts as a JUnit file: what is above failed, what is not measurable is an error.

    Args:
        verdicts: the verdicts.
        told: how they were made.
    """
    counts = dict(count_results(verdicts))
    of_suite = {"failures": counts.get("above", 0), "errors": counts.get("not measurable", 0), "tests": len(verdicts)}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "biasgrid gate"} | xml_counts(of_suite))
    for verdict in verdicts:
        name = f"{verdict.measure} at most {verdict.largest:g}"
        case = ElementTree.SubElement(suite, "testcase", {"classname": verdict.cell.replace("/", "."), "name": name})
        kind = {"above": "failure", "not measurable": "error"}.get(verdict.state)
        if kind:
            ElementTree.SubElement(case, kind, {"message": f"{verdict.state}: {verdict.told}"}).text = verdict.line
    ElementTree.SubElement(suite, "system-out").text = told
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def xml_counts(counts: Mapping[str, int]) -> dict[str, str]:
    """Returns counts as attributes of XML."""
    return {name: str(count) for name, count in counts.items()}
