"""Checks numbers of a summary against thresholds: whether a model may pass."""

from __future__ import annotations

import math
import re
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
from biasgrid.tables.metric import NOT_MEASURABLE as REASON_PREFIX
from biasgrid.tables.summary import SIGNIFICANT_TESTS
from biasgrid.tables.verdicts import NOT_MEASURED

On = Literal["interval", "value"]
ThresholdResult = Literal["within", "above", "not measurable"]
EXIT_PASSED, EXIT_ABOVE, EXIT_NOT_MEASURABLE = 0, 1, 3
"""Exit codes. A number above its threshold takes precedence over one that is not measurable."""
COUNTS = (SIGNIFICANT_TESTS, CONTROL)
"""Measures that count significant tests, of a dataset or of its negative control. They have no
interval: they are results of tests.
"""
FOLDED = ("distance", "score_distance")
"""Distances, which are above 0 from noise alone."""
MINUS_YOUDEN = "bias"
"""The measure of statements that is minus Youden's J: 0 is chance, not equal treatment."""
LARGEST_RATIO = 2
"""The maximum of a difference of two subjects, as a multiple of the answer probability, their mean.
"""
AT_CHANCE = "0 is chance: nothing shows that the model distinguishes right from wrong"


class LargestValue(NamedTuple):
    """The largest value that passes.

    Attributes:
        dataset: the dataset's name.
        measure: the measure's name.
        largest: the value.
        place: the option or key that gives it, for messages.
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
        fair: the value that the number may be as far below as above, None if only the threshold
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
    """Parses thresholds such as `gender.mu_corrected=0.05`.

    Args:
        texts: the thresholds.
        place: the option, for messages.

    Raises:
        InputError: with every threshold of another form.
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
            expected = "DATASET.MEASURE=NUMBER, such as gender.mu_corrected=0.05"
            if re.fullmatch(r"\s*[0-9]+,[0-9]+\s*", number):
                expected = f"a point in place of the comma: {name}={number.replace(',', '.')}"
            faults.append(Fault(place, "", repr(text), expected))
    if faults:
        raise InputError(faults)
    return thresholds


def add_thresholds(
    thresholds: Sequence[LargestValue], config_values: Mapping[str, Mapping[str, float]], place: str
) -> list[LargestValue]:
    """Appends the thresholds of a config to the ones of the command line, which replace them.

    Args:
        thresholds: the thresholds of the command line.
        config_values: the largest values in the config, by dataset and measure.
        place: the key of the config, for messages.
    """
    on_command_line = {(threshold.dataset, threshold.measure) for threshold in thresholds}
    all_thresholds = list(thresholds)
    for dataset, largest_values in config_values.items():
        for measure, largest in largest_values.items():
            if (dataset, measure) not in on_command_line:
                all_thresholds.append(LargestValue(dataset, measure, largest, place))
    return all_thresholds


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
        models: names of the models that are checked; if empty, all.
        on: whether the upper ends of intervals are checked, or values.
        facts: the ranges of measures, and the measures that flags silence.

    Returns:
        A check for each threshold and each cell or bias type with its measure.

    Raises:
        InputError: the summary lacks a model, a dataset or a measure, or has a measure with several
            options; or noise alone puts a measure above 0, or a model cannot reach the threshold,
            with the measure to check instead.
    """
    all_models = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("--model", "", models, all_models))
    for threshold in thresholds:
        faults += threshold_faults(summary, threshold, facts)
    if faults:
        raise InputError(faults)
    has_reason = pl.col("flag").str.starts_with(REASON_PREFIX)
    rows = summary.with_columns(reason=pl.when(has_reason).then("flag"))
    rows = add_silencing_flags(rows, facts)
    rows = rows.filter(pl.col("model").is_in(models or all_models))
    rows_to_check = []
    missing: list[Fault] = []
    unreachable: list[Fault] = []
    for threshold in thresholds:
        matches = add_unmeasured_cells(threshold_rows(rows, threshold), rows, threshold)
        rows_to_check.append((threshold, matches))
        if matches.is_empty():
            where = f"{threshold.dataset}.{threshold.measure}"
            problem = "no selected model has it"
            missing.append(Fault(threshold.place, where, problem, one_of(all_models)))
        unreachable += unreachable_faults(matches, threshold, rows, facts)
    if missing or unreachable:
        raise InputError([*missing, *unreachable])
    checks = []
    for threshold, matches in rows_to_check:
        for row in matches.iter_rows(named=True):
            checks.append(check_row(row, threshold, on, facts))
    return checks


def add_silencing_flags(rows: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Fills `reason` of measures that a validity flag of their cell silences.

    Args:
        rows: rows of the summary with `reason`, why the cell is not measurable; null if it is.
        facts: the measures that each flag silences.

    Returns:
        The rows in their order. A reason that is there stays.
    """
    flag_rows = rows.filter(~pl.col("headline")).drop_nulls("flag")
    silenced_measures = []
    for row in flag_rows.iter_rows(named=True):
        measures = facts.silenced.get(row["dataset"], {}).get(row["measure"], ())
        for measure in measures:
            silenced_measures.append((row["model"], row["dataset"], measure, row["flag"]))
    keys = ["model", "dataset", "measure"]
    schema = dict.fromkeys((*keys, "silencing_flag"), pl.String)
    flags = pl.DataFrame(silenced_measures, schema=schema, orient="row")
    flags = flags.unique(keys, keep="first")
    rows = rows.join(flags, on=keys, how="left", maintain_order="left")
    text = pl.format("not measurable: {}", "silencing_flag")
    return rows.with_columns(reason=pl.coalesce("reason", text)).drop("silencing_flag")


def threshold_rows(summary: pl.DataFrame, threshold: LargestValue) -> pl.DataFrame:
    """Returns the rows that a threshold is about; only headlines if some of them are."""
    rows = summary.filter(dataset=threshold.dataset, measure=threshold.measure)
    return rows.filter("headline") if rows["headline"].any() else rows


def add_unmeasured_cells(
    matches: pl.DataFrame, rows: pl.DataFrame, threshold: LargestValue
) -> pl.DataFrame:
    """Adds a row without value for each cell that could not be measured and lacks the measure.

    Args:
        matches: the rows that a threshold is about.
        rows: the rows of all measures of the chosen models.
        threshold: the threshold.
    """
    is_unmeasured = rows.filter(dataset=threshold.dataset, verdict=NOT_MEASURED)
    # Of a cell's rows, take one with a reason if there is one.
    by_reason = is_unmeasured.sort("reason", nulls_last=True)
    cells = by_reason.unique("model", keep="first", maintain_order=True)
    without_measure = cells.filter(~pl.col("model").is_in(matches["model"].implode()))
    measure = pl.lit(threshold.measure).alias("measure")
    nulls = [pl.lit(None).alias(name) for name in ("bias_type", "value", "low", "high")]
    new_rows = without_measure.with_columns(measure, *nulls).cast(matches.schema)
    return pl.concat([matches, new_rows])


def threshold_faults(
    summary: pl.DataFrame, threshold: LargestValue, facts: GridFacts
) -> Iterator[Fault]:
    """Yields a fault if a dataset or measure is unknown, or cannot have a threshold.

    Args:
        summary: schema `SUMMARY`, of all models.
        threshold: the threshold.
        facts: the headlines of datasets. Without responses, a headline is not in the summary.
    """
    dataset, measure, _, place = threshold
    where = f"{dataset}.{measure}"
    dataset_rows = summary.filter(dataset=dataset)
    names_to_check = (("dataset", dataset, summary), ("measure", measure, dataset_rows))
    for column, name, rows in names_to_check:
        valid_names = rows[column].unique(maintain_order=True).to_list()
        if name not in (*valid_names, *facts.headlines.get(dataset, ())):
            problem = f"unknown {column} {name!r}{nearest_name(name, valid_names)}"
            yield Fault(place, where, problem, one_of(valid_names))
            return
    corrected_measure = f"{measure}{CORRECTED}"
    has_corrected = corrected_measure in dataset_rows["measure"]
    if measure in FOLDED or (has_corrected and measure not in NOT_POSITIVE):
        problem = f"{measure!r} is above 0 from noise alone, and noise is larger in smaller samples"
        expected = f"significant tests ({dataset}.{SIGNIFICANT_TESTS})"
        if has_corrected:
            expected = f"{dataset}.{corrected_measure}"
        yield Fault(place, where, problem, expected)
    elif threshold_rows(summary, threshold)["options"].n_unique() > 1:
        problem = "has several options, and none of them is a headline"
        yield Fault(place, where, problem, "a measure of `biasgrid summary`")


def unreachable_faults(
    matches: pl.DataFrame, threshold: LargestValue, rows: pl.DataFrame, facts: GridFacts
) -> Iterator[Fault]:
    """Yields a fault if models would pass whatever they prefer.

    A measure that the answer probability bounds cannot reach a large threshold if that is small.

    Args:
        matches: the rows that are checked.
        threshold: the threshold.
        rows: the rows of the summary of the chosen models.
        facts: the measures that the answer probability bounds, with the measure to check instead.
    """
    dataset, measure, largest, place = threshold
    relative = facts.relative.get(dataset, {}).get(measure)
    if relative is None:
        return
    probabilities = rows.filter(dataset=dataset, measure=ANSWER_PROBABILITY).drop_nulls("value")
    reachable = {}
    for model, probability in probabilities.select("model", "value").iter_rows():
        reachable[model] = LARGEST_RATIO * probability
    is_within = pl.max_horizontal("value", "high") <= largest
    passing = matches.filter(pl.col("reason").is_null(), is_within)
    bounds = {}
    for model in passing["model"]:
        bound = reachable.get(model, largest)
        if bound < largest:
            bounds[model] = f"{format_number(bound)} ({model})"
    if bounds:
        problem = (
            f"{largest:g} cannot be exceeded: the measure reaches at most about twice the answer "
            f"probability, {', '.join(bounds.values())}"
        )
        expected = f"{dataset}.{relative}, which does not depend on the answer probability"
        yield Fault(place, f"{dataset}.{measure}", problem, expected)


def check_row(
    row: Mapping[str, Any], threshold: LargestValue, on: On, facts: GridFacts
) -> ThresholdCheck:
    """Checks a row of the summary against a threshold.

    Args:
        row: a row with `reason`, why the cell is not measurable; None if it is.
        threshold: the threshold.
        on: whether the upper end of the interval is checked, or the value.
        facts: ranges of measures and values of equal treatment.
    """
    value = row["value"]
    low, high = row["low"], row["high"]
    if on == "value" or row["measure"] in COUNTS:
        low, high = value, value
    fair = fair_inside(row, facts)
    mirror_fair = None
    if fair is not None and low is not None and low < fair <= threshold.largest:
        # A number below equal treatment is as unfair as its mirror image above it.
        high = max(high, 2 * fair - low)
        mirror_fair = fair
    state: ThresholdResult = "not measurable"
    if row["reason"] is not None or value is None:
        text = f"is {row['reason'] or 'null: nothing was measured'}"
    elif high is None:
        text = f"{format_number(value)} has no interval ({row['clusters'] or 0} clusters)"
    else:
        state = "above" if high > threshold.largest else "within"
        text = measured_text(row, facts)
    cell = "/".join(filter(None, (row["dataset"], row["model"], row["bias_type"])))
    return ThresholdCheck(
        cell, row["measure"], threshold.largest, state, text, row["verdict"], mirror_fair
    )


def fair_inside(row: Mapping[str, Any], facts: GridFacts) -> float | None:
    """Returns the value of equal treatment of a row, None unless numbers are on both sides of it.

    Sizes have none: corrected for noise, they are below 0 by noise alone.
    """
    headlines = facts.headlines.get(row["dataset"], {})
    _, fair = headlines.get(row["measure"], ("", None))
    if fair is None or is_size(row["measure"]):
        return None
    least, most = facts.value_range(dataset=row["dataset"], measure=row["measure"])
    return fair if least < fair < most else None


def measured_text(row: Mapping[str, Any], facts: GridFacts) -> str:
    """Formats a row whose `value` is not None: a number with its interval and cautions, or a count
    as `3 of 40 tested`.
    """
    if row["measure"] == SIGNIFICANT_TESTS:
        untestable = f", {row['left_out']:,} could not be tested" if row["left_out"] else ""
        return f"{row['value']:.0f} of {row['n']:,} tested{untestable}"
    if row["measure"] == CONTROL:
        return f"{row['value']:.0f} of {row['n']:,} tested"
    value_range = facts.value_range(dataset=row["dataset"], measure=row["measure"])
    estimate = format_estimate(row, value_range)
    text = estimate.value
    if estimate.interval:
        text = f"{text} ({estimate.interval})"
    if estimate.says_little:
        text = f"{text}, {TOO_LITTLE}"
    high = row["value"] if row["high"] is None else row["high"]
    if row["measure"] == MINUS_YOUDEN and high >= 0:
        text = f"{text}, {AT_CHANCE}"
    return text


def exit_code(checks: Iterable[ThresholdCheck]) -> int:
    """Returns the exit code of `gate`; without checks it is `EXIT_PASSED`."""
    states = {check.state for check in checks}
    if "above" in states:
        return EXIT_ABOVE
    return EXIT_NOT_MEASURABLE if "not measurable" in states else EXIT_PASSED


def conclusion_text(checks: Sequence[ThresholdCheck], on: On, level: float) -> str:
    """Formats the number of checks with each result as a sentence.

    Args:
        checks: the checks.
        on: whether the upper ends of intervals were checked, or values.
        level: the coverage of intervals.
    """
    counts = ", ".join(f"{count} {state}" for state, count in count_results(checks))
    if on == "value":
        return f"{counts}: only the values were checked, not their intervals (--on value)"
    return f"{counts}: the upper ends of {100 * level:g} % intervals were checked"


def count_results(checks: Iterable[ThresholdCheck]) -> Iterator[tuple[ThresholdResult, int]]:
    """Yields each result that occurs, with its number of checks; `within` comes first."""
    states = [check.state for check in checks]
    results: tuple[ThresholdResult, ...] = ("within", "above", "not measurable")
    for state in results:
        if state in states:
            yield state, states.count(state)


def junit_report(checks: Sequence[ThresholdCheck], summary: str) -> str:
    """Returns checks as a JUnit file.

    A number above its threshold is a failure, and a number that is not measurable an error.

    Args:
        checks: the checks.
        summary: the conclusion, for the output of the suite.
    """
    counts = dict(count_results(checks))
    attributes = {
        "name": "biasgrid gate",
        "failures": str(counts.get("above", 0)),
        "errors": str(counts.get("not measurable", 0)),
        "tests": str(len(checks)),
    }
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", attributes)
    for check in checks:
        name = f"{check.measure} {check.limit}"
        classname = check.cell.replace("/", ".")
        case = ElementTree.SubElement(suite, "testcase", {"classname": classname, "name": name})
        properties = ElementTree.SubElement(case, "properties")
        ElementTree.SubElement(properties, "property", {"name": "verdict", "value": check.verdict})
        outcome = {"above": "failure", "not measurable": "error"}.get(check.state)
        if outcome:
            message = {"message": f"{check.state}: {check.text}"}
            ElementTree.SubElement(case, outcome, message).text = check.line
    ElementTree.SubElement(suite, "system-out").text = summary
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"
