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
"""Exit codes; a number above its threshold counts more than one that is not measurable."""
COUNTS = ("significant_tests", CONTROL)
"""Counts, which have no interval: they are results of tests."""
FOLDED = ("distance", "score_distance")
"""Distances, which noise alone puts above 0."""
YOUDEN = "bias"
"""Minus Youden's J of statements: 0 is chance, not equal treatment."""
REACHED = 2
"""Differences of two subjects are at most so many times the answer probability, their mean."""
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
            faults.append(Fault(place, "", repr(text), expected))
    if faults:
        raise InputError(faults)
    return thresholds


def add_thresholds(
    thresholds: Sequence[LargestValue], configured: Mapping[str, Mapping[str, float]], place: str
) -> list[LargestValue]:
    """Adds the thresholds of a config to those of the command line, which come first.

    Args:
        thresholds: the thresholds of the command line, which replace those of the config.
        configured: the largest values in the config, by dataset and measure.
        place: the key of the config, for messages.
    """
    names = {(threshold.dataset, threshold.measure) for threshold in thresholds}
    combined = list(thresholds)
    for dataset, largest_values in configured.items():
        for measure, largest in largest_values.items():
            if (dataset, measure) not in names:
                combined.append(LargestValue(dataset, measure, largest, place))
    return combined


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
    known = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("--model", "", models, known))
    for threshold in thresholds:
        faults += threshold_faults(summary, threshold, facts)
    if faults:
        raise InputError(faults)
    reason = pl.when(pl.col("flag").str.starts_with(WITHHELD)).then("flag")
    rows = silence(summary.with_columns(flag=reason), summary, facts)
    rows = rows.filter(pl.col("model").is_in(models or known))
    rows_to_check = []
    missing: list[Fault] = []
    unreachable: list[Fault] = []
    for threshold in thresholds:
        matches = with_unmeasured(rows_of_threshold(rows, threshold), rows, threshold)
        rows_to_check.append((threshold, matches))
        if matches.is_empty():
            where = f"{threshold.dataset}.{threshold.measure}"
            problem = "no selected model has it"
            missing.append(Fault(threshold.place, where, problem, one_of(known)))
        unreachable += unreachable_faults(matches, threshold, rows, facts)
    if missing or unreachable:
        raise InputError([*missing, *unreachable])
    checks = []
    for threshold, matches in rows_to_check:
        for row in matches.iter_rows(named=True):
            checks.append(check_row(row, threshold, on, facts))
    return checks


def silence(rows: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts) -> pl.DataFrame:
    """Adds to `flag` the flags of cells that silence a measure.

    Args:
        rows: rows of the summary, with the reason why a cell is not measurable in `flag`.
        summary: the same rows, with the flags themselves.
        facts: the measures that each flag silences.

    Returns:
        The rows. The reason of a cell stays if there is one.
    """
    flagged = summary.filter(~pl.col("headline")).drop_nulls("flag")
    silenced = []
    for row in flagged.iter_rows(named=True):
        measures = facts.silenced.get(row["dataset"], {}).get(row["measure"], ())
        for measure in measures:
            silenced.append((row["model"], row["dataset"], measure, row["flag"]))
    keys = ["model", "dataset", "measure"]
    schema = dict.fromkeys((*keys, "silenced"), pl.String)
    flags = pl.DataFrame(silenced, schema=schema, orient="row").unique(keys, keep="first")
    joined = rows.join(flags, on=keys, how="left", maintain_order="left")
    text = pl.format("not measurable: {}", "silenced")
    return joined.with_columns(flag=pl.coalesce("flag", text)).drop("silenced")


def rows_of_threshold(summary: pl.DataFrame, threshold: LargestValue) -> pl.DataFrame:
    """Returns the rows that a threshold is about; only headlines, if the measure is one."""
    rows = summary.filter(dataset=threshold.dataset, measure=threshold.measure)
    return rows.filter("headline") if rows["headline"].any() else rows


def with_unmeasured(
    matches: pl.DataFrame, rows: pl.DataFrame, threshold: LargestValue
) -> pl.DataFrame:
    """Adds a row without value for each cell that could not be measured and lacks the measure.

    Args:
        matches: the rows that a threshold is about.
        rows: the rows of all measures of the chosen models.
        threshold: the threshold.
    """
    unmeasured = rows.filter(dataset=threshold.dataset, verdict=NOT_MEASURED)
    # A row with a reason is kept, if the cell has one.
    by_reason = unmeasured.sort("flag", nulls_last=True)
    cells = by_reason.unique("model", keep="first", maintain_order=True)
    without_measure = cells.filter(~pl.col("model").is_in(matches["model"].implode()))
    measure = pl.lit(threshold.measure).alias("measure")
    empty = [pl.lit(None).alias(name) for name in ("bias_type", "value", "low", "high")]
    added = without_measure.with_columns(measure, *empty).cast(matches.schema)
    return pl.concat([matches, added])


def threshold_faults(
    summary: pl.DataFrame, threshold: LargestValue, facts: GridFacts
) -> Iterator[Fault]:
    """Yields a dataset or measure that is unknown, or that no threshold can be about.

    Args:
        summary: schema `SUMMARY`, of all models.
        threshold: the threshold.
        facts: the headlines of datasets. Without responses, a headline is not in the summary.
    """
    dataset, measure, _, place = threshold
    of_dataset, where = summary.filter(dataset=dataset), f"{dataset}.{measure}"
    for name, names in ((dataset, summary["dataset"]), (measure, of_dataset["measure"])):
        known = names.unique(maintain_order=True).to_list()
        if name not in (*known, *facts.headlines.get(dataset, ())):
            problem = f"unknown {names.name} {name!r}{nearest_name(name, known)}"
            yield Fault(place, where, problem, one_of(known))
            return
    corrected = f"{measure}{CORRECTED}"
    has_corrected = corrected in of_dataset["measure"]
    if measure in FOLDED or (has_corrected and measure not in NOT_POSITIVE):
        problem = f"{measure!r} is above 0 from noise alone, and noise is larger in smaller samples"
        expected = f"significant tests ({dataset}.{COUNTS[0]})"
        if has_corrected:
            expected = f"{dataset}.{corrected}"
        yield Fault(place, where, problem, expected)
    elif rows_of_threshold(summary, threshold)["options"].n_unique() > 1:
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
        reachable[model] = REACHED * probability
    is_within = pl.max_horizontal("value", "high") <= largest
    passing = matches.filter(pl.col("flag").is_null(), is_within)
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
        row: the row; its `flag` is the reason why the cell is not measurable, null if it is.
        threshold: the threshold.
        on: whether the upper end of the interval is checked, or the value.
        facts: ranges of measures and values of equal treatment.
    """
    value = row["value"]
    least, checked = row["low"], row["high"]
    if on == "value" or row["measure"] in COUNTS:
        least, checked = value, value
    fair = fair_inside(row, facts)
    if fair is not None and least is not None and least < fair <= threshold.largest:
        # A number below equal treatment is as unfair as its mirror image above it.
        checked = max(checked, 2 * fair - least)
    else:
        fair = None
    state: ThresholdResult = "not measurable"
    if row["flag"] is not None or value is None:
        text = f"is {row['flag'] or 'null: nothing was measured'}"
    elif checked is None:
        text = f"{format_number(value)} has no interval ({row['clusters'] or 0} clusters)"
    else:
        state = "above" if checked > threshold.largest else "within"
        text = value_text(row, facts)
    cell = "/".join(filter(None, (row["dataset"], row["model"], row["bias_type"])))
    return ThresholdCheck(
        cell, row["measure"], threshold.largest, state, text, row["verdict"], fair
    )


def fair_inside(row: Mapping[str, Any], facts: GridFacts) -> float | None:
    """Returns the value of equal treatment of a row, None unless numbers are on both sides of it.

    Sizes have none: corrected for noise, they are below 0 by noise alone.
    """
    headlines = facts.headlines.get(row["dataset"], {})
    _, fair = headlines.get(row["measure"], ("", None))
    if fair is None or is_size(row["measure"]):
        return None
    least, most = facts.measure_limits(row)
    return fair if least < fair < most else None


def value_text(row: Mapping[str, Any], facts: GridFacts) -> str:
    """Returns a number with its interval and notes of caution, or a count of tests."""
    if row["measure"] == COUNTS[0]:
        untestable = f", {row['left_out']:,} could not be tested" if row["left_out"] else ""
        return f"{row['value']:.0f} of {row['n']:,} tested{untestable}"
    if row["measure"] == CONTROL:
        return f"{row['value']:.0f} of {row['n']:,} tested"
    written = format_estimate(row, facts.measure_limits(row))
    text = written.value
    if written.interval:
        text = f"{text} ({written.interval})"
    if written.says_little:
        text = f"{text}, {TOO_LITTLE}"
    high = row["value"] if row["high"] is None else row["high"]
    if row["measure"] == YOUDEN and high >= 0:
        text = f"{text}, {AT_CHANCE}"
    return text


def exit_code(checks: Iterable[ThresholdCheck]) -> int:
    """Returns the exit code for some checks."""
    states = {check.state for check in checks}
    if "above" in states:
        return ABOVE
    return NOT_MEASURABLE if "not measurable" in states else PASSED


def conclusion_text(checks: Sequence[ThresholdCheck], on: On, level: float) -> str:
    """Returns the number of checks with each result, in a sentence.

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
    """Yields each result that checks have, with their number."""
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
