"""Measures of a probe: its metrics, of a cell and of groups, and answers in which nothing is found.

Numbers are made of sums over items, as `metrics` says. If the names that stand for groups recur in
several items, they are made of sums over names, too, and intervals generalise to other names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.base.faults import UserError
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.outcomes import REASONS_WITHOUT_ANSWER, has_outcome
from biasgrid.families.probe.claims import AT_CHANCE, BY_GROUP, with_claims
from biasgrid.families.probe.definitions import (
    GROUP_KEY,
    CovariateLine,
    ExpectedShare,
    Metric,
    ObservationMetric,
    OfAsked,
    OwnMetric,
    Probe,
    YesNo,
)
from biasgrid.families.probe.family import ProbeMode
from biasgrid.families.probe.metrics import (
    AMONG_ASKED,
    MEAN_COLUMNS,
    SHARES_APART,
    MetricFormula,
    above_chance,
    among_answers,
    averaging_terms,
    formula_finishes,
    key_column_name,
    needed_keys,
    probe_formulas,
    rows_where,
    with_key_columns,
)
from biasgrid.families.probe.observe import OBSERVATIONS, READ, SAID, observe, read_cell_probe
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, commonest_share, shortened
from biasgrid.stats.functions import line_sums
from biasgrid.stats.group_intervals import ITEMS
from biasgrid.stats.noise.random_factors import NAMES
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import (
    DIFFERENCE,
    MEAN,
    PAIR_OF_LISTS,
    Along,
    Finish,
    IntervalMethod,
    SignificanceTest,
    Sums,
)
from biasgrid.tables.completeness import Check

__all__ = [
    "OBSERVATIONS",
    "READ",
    "SAID",
    "derive",
    "finishes",
    "measure",
    "observe",
    "validity",
]
AMONG_ANSWERS = "among_answers"
"""The measure of rates among answers in which something was found."""
OF_RIGHT_ANSWERS = ("accuracy", "tpr", "tnr")
"""Names of the means of probes that know the right answers; see `Metric.base`."""
LEAST_NAMES = 2
"""Of fewer names a group's answers cannot vary."""
OWN_REASON = "made by the probe's own class"
"""Why a number that a class makes of observations has no interval."""


def measure(
    observations: pl.DataFrame, measure_options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    Args:
        observations: from `observe`.
        measure_options: `probe`, the file of the probe, and `mode`, see `ProbeMode`.

    Yields:
        The metrics of the probe, the groups and values that they compare, and how many answers say
        nothing, of the cell and by group; a table of the numbers of the probe's own class.
    """
    probe, mode = read_mode_probe(measure_options), measure_options["mode"]
    cell = ProbeCell.of(probe, observations, over_names=not mode)
    sums = [*metric_sums(cell), *share_sums(cell), *at_chance_sums(cell)]
    yield from ProbeMode.of(mode).with_intervals(sums)
    yield from own_metrics(cell, observations)


def read_mode_probe(measure_options: Mapping[str, Any]) -> Probe:
    """Reads the probe of a cell, and sets `among` of rates of a label that leave it open.

    Decisions are of all that was asked; rates of a replication are of answers alone.
    """
    probe = read_cell_probe(measure_options)
    default = AMONG_ASKED if isinstance(probe.head.evaluator, YesNo) else "answers"
    metrics: dict[str, Metric] = {}
    for name, metric in probe.head.metric.items():
        metrics[name] = metric
        if isinstance(metric, OfAsked) and metric.base == "rate":
            among = "answers" if measure_options["mode"] else metric.among or default
            metrics[name] = metric.model_copy(update={"among": among})
    return replace(probe, head=probe.head.model_copy(update={"metric": metrics}))


def finishes(measure_options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns the functions of sums that only this probe has, by name."""
    return formula_finishes(read_cell_probe(measure_options))


def derive(
    estimates: pl.DataFrame,
    parts: Sequence[Sums],
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds intervals over items and names of numbers that are no plain means.

    Args:
        estimates: from `stats.estimate`.
        parts: the sums.
        measure_options: see `measure`; the intervals of a replication stay as they are.
        settings: the level.
    """
    if not measure_options["mode"]:
        estimates = with_claims(estimates, parts, read_mode_probe(measure_options), settings.alpha)
    return CellNumbers(estimates)


# Sums over items and names


class ProbeNumber(NamedTuple):
    """The sums that a number is made of.

    Attributes:
        group: the group or value that it is of, None for all.
        sums: shape (items, columns).
        n: the number of items or answers that it is of.
        left_out: the number of answers that say nothing.
        names: shape (names, columns), the same of each name; None if its interval is over items
            alone.
        other: the group that it is compared with, if any.
        cases: the number of answers that a share is of, which is the most that it is worth.
    """

    group: str | None
    sums: FloatArray
    n: int
    left_out: int
    names: FloatArray | None = None
    other: str | None = None
    cases: int = 0


class CellUnits(NamedTuple):
    """The units of the random factors of a cell.

    Attributes:
        items: the items, by number.
        names: the names that stand for groups; none if these are no random factor.
        bias_type: the bias type of the groups.
    """

    items: Sequence[int]
    names: Sequence[str]
    bias_type: str

    def sums(
        self,
        measure: str,
        numbers: Sequence[ProbeNumber],
        finish: Finish,
        interval: IntervalMethod,
        measure_options: str = "",
        test: SignificanceTest = SignificanceTest.NONE,
    ) -> Sums:
        """Returns numbers of one kind, at least one.

        Models are compared by numbers that have an interval of their own.
        """
        rows = []
        for number in numbers:
            # Only a number about a group has a bias type.
            bias_type = number.group and self.bias_type
            counts = (number.n, number.left_out, number.cases)
            rows.append((number.group, number.other, bias_type, *counts))
        table = pl.DataFrame(rows, schema=NUMBER_SCHEMA, orient="row")
        keys = table.with_columns(measure=pl.lit(measure), options=pl.lit(measure_options))
        items = [str(item) for item in self.items]
        along = {ITEMS: Along(items, np.stack([number.sums for number in numbers]))}
        name_sums = [number.names for number in numbers if number.names is not None]
        if self.names and len(name_sums) == len(numbers):
            is_of_pairs = name_sums[0].shape[1] == 2 * MEAN_COLUMNS
            factor = PAIR_OF_LISTS if is_of_pairs else NAMES
            along[factor] = Along(self.names, np.stack(name_sums))
        return Sums(
            keys,
            along,
            finish=finish,
            interval=interval,
            test=test,
            generalises_to_all_factors=len(along) > 1,
            compares_models=interval not in ("largest", "none"),
        )

    def placed_sums(self, rows: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Adds up `hit` and `weight` of rows by item and by name.

        Args:
            rows: with `place` (the item's) and `name_place`, null without a name.

        Returns:
            Shapes (items, 2) and (names, 2).
        """
        tables = []
        for place, units in (("place", self.items), ("name_place", self.names)):
            rows_of_units = rows.drop_nulls(place).group_by(place, maintain_order=True)
            unit_sums = rows_of_units.agg(pl.col("hit", "weight").sum())
            sums = np.zeros((len(units), MEAN_COLUMNS))
            sums[unit_sums[place].to_numpy()] = unit_sums.select("hit", "weight").to_numpy()
            tables.append(sums)
        item_sums, name_sums = tables
        return item_sums, name_sums


NUMBER_SCHEMA = {
    **dict.fromkeys(("group", "other", "bias_type"), pl.String),
    **dict.fromkeys(("n", "left_out"), pl.Int64),
    "cases": pl.Float64,
}


@dataclass(frozen=True)
class ProbeCell:
    """Observations of a cell.

    Attributes:
        probe: the probe.
        rows: all observations, with `place` and `name_place`, the places of the item and the name
            among `units`, and the keys that metrics need.
        answers: the first row of each answer.
        units: items and names.
        left_out: the number of observations in which nothing was found.
    """

    probe: Probe
    rows: pl.DataFrame
    answers: pl.DataFrame
    units: CellUnits
    left_out: int

    @classmethod
    def of(cls, probe: Probe, observations: pl.DataFrame, over_names: bool) -> ProbeCell:
        """Puts observations in order; `over_names` says whether intervals are over names, too."""
        items = observations.select(pl.col("item").unique().sort()).with_row_index("place")
        rows = observations.cast({pl.Categorical: pl.String})
        rows = rows.join(items, on="item", maintain_order="left")
        name_key = probe.head.names
        keys = needed_keys(probe.head.metric.values())
        if over_names:
            keys = sorted({*keys, name_key} - {GROUP_KEY})
        rows = with_key_columns(rows, keys)
        names = recurring_names(rows, key_column_name(name_key)) if over_names else []
        place: pl.Expr = pl.lit(None, pl.UInt32)
        if names:
            name = pl.col(key_column_name(name_key))
            numbers = range(len(names))
            place = name.replace_strict(names, numbers, default=None, return_dtype=pl.UInt32)
        rows = rows.with_columns(name_place=place)
        answers = rows.unique("instance", keep="first", maintain_order=True)
        units = CellUnits(items["item"].to_list(), names, probe.head.bias_type)
        return cls(probe, rows, answers, units, int(observations["undetected"].sum()))

    def metric_number(self, metric: ObservationMetric, value: str | None = None) -> ProbeNumber:
        """Returns the number of a metric over all observations, or over a value that it compares.

        For a metric that is a line its sums are those of the line, over items alone, because names
        have no covariate.
        """
        rows = rows_where(self.rows, metric.where)
        # If nothing is found anywhere, nothing says that nobody got a Yes.
        answers_metric = among_answers(metric) if rows["undetected"].all() else None
        counts, hit, weight = averaging_terms(answers_metric or metric)
        part = rows if value is None else rows_where(rows, {metric.compared_key: value})
        counted_rows = part.filter(counts)
        by_item = metric.over == "items"
        sums, names = self.added_sums(
            counted_rows, (hit * weight).sum(), weight.sum(), by_item=by_item
        )
        n = int((sums[:, 1] > 0).sum()) if by_item else len(counted_rows)
        if isinstance(metric, CovariateLine):
            x = self.covariate(rows, metric.covariate)
            return ProbeNumber(value, line_sums(x, MEAN(sums), sums[:, 1]), n, self.left_out)
        name_sums = names if metric.IS_OVER_NAMES else None
        cases = counted_rows["instance"].n_unique()
        return ProbeNumber(value, sums, n, self.left_out, name_sums, cases=cases)

    def added_sums(
        self, rows: pl.DataFrame, hit: pl.Expr, weight: pl.Expr, *, by_item: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Adds up rows by item and by name, so that both have the same total.

        Args:
            rows: rows like those of the cell.
            hit: expression of the sum of some rows.
            weight: expression of the sum of their weights.
            by_item: whether each item has the same weight, which it divides among its rows.

        Returns:
            Shapes (items, 2) and (names, 2).
        """
        rows_of_units = rows.group_by("place", "name_place")
        sums = rows_of_units.agg(hit=hit.cast(pl.Float64), weight=weight.cast(pl.Float64))
        # A group_by has no order of rows, and the last digit of a sum depends on it.
        sums = sums.filter(pl.col("weight") > 0).sort("place", "name_place")
        if by_item:
            of_item = pl.col("weight").sum().over("place")
            sums = sums.with_columns(pl.col("hit", "weight") / of_item)
        return self.units.placed_sums(sums)

    def covariate(self, rows: pl.DataFrame, key: str) -> FloatArray:
        """Returns the number that each item has in a key, shape (items,).

        It is NaN if nothing was found in any answer to the item.
        """
        read = rows.filter(~pl.col("undetected")).unique("place")
        numbers = read.select("place", value=pl.col(key_column_name(key)).cast(pl.Float64))
        values = np.full(len(self.units.items), np.nan)
        values[numbers["place"].to_numpy()] = numbers["value"].to_numpy()
        return values

    def shown_values(self, metric: ObservationMetric, values: Sequence[str]) -> Sequence[str]:
        """Returns the values for which a metric is shown, too: compared ones, or groups.

        Args:
            metric: the metric.
            values: all values that it compares; a sample may have left some of them out.
        """
        if metric.named_values:
            return metric.named_values
        shows_groups = metric.IS_BY_GROUP and GROUP_KEY not in metric.where
        if not values and not shows_groups:
            return []
        column = key_column_name(metric.compared_key)
        present = rows_where(self.rows, metric.where)[column].drop_nulls().unique().sort()
        return [value for value in present if not values or value in values]


def recurring_names(rows: pl.DataFrame, column: str) -> list[str]:
    """Returns the names in a column, sorted; none if no name is in several items.

    Then items are the only random factor.
    """
    pairs = rows.select(column, "item").drop_nulls().unique()
    items = pairs.group_by(column).agg(pl.len())
    if items["len"].max() in (None, 1):
        return []
    return sorted(items[column])


def side_by_side(numbers: Sequence[ProbeNumber], has_names: bool = False) -> ProbeNumber:
    """Puts the columns of the sums of several numbers side by side, in their order.

    Args:
        numbers: the numbers.
        has_names: whether its interval is over names, too, if all of them have names.
    """
    sums = np.concatenate([number.sums for number in numbers], axis=1)
    names = [number.names for number in numbers if number.names is not None]
    name_sums = np.concatenate(names, axis=1) if has_names and names else None
    n = sum(number.n for number in numbers)
    return ProbeNumber(None, sums, n, numbers[0].left_out, name_sums)


# Metrics


def metric_sums(cell: ProbeCell) -> Iterator[Sums]:
    """Yields the sums of each metric, and of the values that it compares or groups."""
    wholes: dict[str, ProbeNumber] = {}
    for name, formula in probe_formulas(cell.probe).items():
        metric = formula.metric
        value_numbers: list[ProbeNumber] = []
        if isinstance(metric, ObservationMetric):
            values = cell.shown_values(metric, formula.values)
            value_numbers = [cell.metric_number(metric, value) for value in values]
            wholes[name] = metric_as_whole(metric, formula, value_numbers, cell)
        else:
            # Answers that say nothing are the same for all parts.
            parts = [wholes[part] for part in formula.parts]
            wholes[name] = side_by_side(parts)._replace(n=max(part.n for part in parts))
        test = SignificanceTest.NONE
        if formula.interval == SHARES_APART:
            test = SignificanceTest.UNCORRECTED
        yield cell.units.sums(name, [wholes[name]], formula.finish, formula.interval, test=test)
        if isinstance(metric, ObservationMetric):
            yield from by_value(name, metric, formula, value_numbers, cell)


def metric_as_whole(
    metric: ObservationMetric,
    formula: MetricFormula,
    value_numbers: Sequence[ProbeNumber],
    cell: ProbeCell,
) -> ProbeNumber:
    """Returns the number of a metric over all of its observations.

    Args:
        metric: the metric.
        formula: its formula.
        value_numbers: the numbers of the values that were asked.
        cell: the cell.
    """
    if not formula.values:
        return cell.metric_number(metric)
    numbers = {str(number.group): number for number in value_numbers}
    # A sample may leave values out. The number of columns follows from the probe's file; another
    # value in their places changes neither the largest nor the smallest mean.
    stand_in = value_numbers[0] if value_numbers else cell.metric_number(metric, formula.values[0])
    columns = [numbers.get(value, stand_in) for value in formula.values]
    whole = side_by_side(columns, has_names=metric.compares_two_groups)
    return whole._replace(n=sum(number.n for number in value_numbers))


def by_value(
    name: str,
    metric: ObservationMetric,
    formula: MetricFormula,
    value_numbers: Sequence[ProbeNumber],
    cell: ProbeCell,
) -> Iterator[Sums]:
    """Yields the number of each value that a metric compares, or of each group.

    Of rates of all that was asked, the same rates among answers in which something was found
    follow, unless something was found in all.
    """
    interval: IntervalMethod = "effective Wilson" if metric.has_shares else "t"
    options = f"metric={name}"
    if value_numbers:
        yield cell.units.sums(BY_GROUP, value_numbers, formula.value_finish, interval, options)
    answers_metric = among_answers(metric)
    if answers_metric is None or not cell.left_out:
        return
    if metric.IS_SHARE:
        whole = cell.metric_number(answers_metric)
        yield cell.units.sums(AMONG_ANSWERS, [whole], MEAN, interval, options)
    if value_numbers:
        numbers = [cell.metric_number(answers_metric, number.group) for number in value_numbers]
        yield cell.units.sums(AMONG_ANSWERS, numbers, formula.value_finish, interval, options)


def at_chance_sums(cell: ProbeCell) -> Iterator[Sums]:
    """Yields how far right answers are above chance, if a metric knows which answers are right."""
    bases = [metric.base for metric in cell.probe.head.metric.values()]
    if cell.probe.labels and any(base in OF_RIGHT_ANSWERS for base in bases):
        accuracy = cell.metric_number(ExpectedShare(kind="accuracy"))
        yield cell.units.sums(AT_CHANCE, [accuracy], above_chance(cell.probe), "t")


def own_metrics(cell: ProbeCell, observations: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields the metrics that the probe's class makes of its observations.

    Raises:
        UserError: it fails, or does not return one of them.
    """
    probe = cell.probe
    names = [name for name, metric in probe.head.metric.items() if isinstance(metric, OwnMetric)]
    if not names or probe.own is None:
        return
    try:
        metrics = dict(probe.own.measure(observations))
        values = [float(metrics[name]) for name in names]
    except Exception as error:  # the code of a user may raise anything
        problem = f"{type(error).__name__}: {error}"
        raise UserError(
            f"`measure` of the probe {probe.head.title!r} failed ({problem})"
        ) from error
    count = int(observations["instance"].n_unique()) - cell.left_out
    table = pl.DataFrame({"measure": names, "value": pl.Series(values, dtype=pl.Float64)})
    yield table.select(
        "measure",
        pl.col("value").fill_nan(None),
        options=pl.lit(""),
        n=pl.lit(count, pl.Int64),
        left_out=pl.lit(cell.left_out, pl.Int64),
        reason=pl.lit(OWN_REASON),
    )


# Shares of items and answers in which nothing was found, and why


class Share(NamedTuple):
    """A share of answers, or of items.

    Attributes:
        hit: expression of how many of some answers to an item are counted.
        weight: expression of how many there are.
    """

    hit: pl.Expr
    weight: pl.Expr


def outcome_share(outcome: str) -> Share:
    """Returns the share of answers with an outcome."""
    return Share(has_outcome(outcome).sum(), pl.len())


REASONS = {name: outcome_share(outcome) for name, outcome in REASONS_WITHOUT_ANSWER.items()}
ANSWER_SHARES = {
    # A refused answer has no finding either, and the plainer word comes first.
    "refused": REASONS["refused"],
    # Items without any answer in which something was found / items.
    "undetected_items": Share(pl.col("undetected").all(), pl.lit(1)),
    # Answers in which nothing was found / answers.
    "undetected_answers": Share(pl.col("undetected").sum(), pl.len()),
    **REASONS,
    # Answers that a scorer cut short / answers.
    "cut_by_scorer": Share(pl.col("truncated").sum(), pl.len()),
}
SHARE_DIFFERENCES = {
    "undetected_answers": "undetected_difference",
    "refused": "refused_difference",
    "cut_short": "cut_short_difference",
}
"""The measures of differences of groups, by the shares that are compared."""


def share_sums(cell: ProbeCell) -> Iterator[Sums]:
    """Yields the sums of `ANSWER_SHARES`, of cell and groups, and of differences of groups."""
    groups = cell.answers.drop_nulls("group").partition_by("group", maintain_order=True)
    for name in ANSWER_SHARES:
        of_groups = []
        for rows in groups:
            if has_share(name, rows):
                number = share_number(name, rows, cell)
                group = str(rows["group"][0])
                of_groups.append(number._replace(group=group, left_out=0))
        if has_share(name, cell.answers):
            numbers = [share_number(name, cell.answers, cell), *of_groups]
            yield cell.units.sums(name, numbers, MEAN, "effective Wilson")
        if len(groups) > 1 and name in SHARE_DIFFERENCES:
            differences = share_differences(of_groups)
            yield cell.units.sums(
                SHARE_DIFFERENCES[name],
                differences,
                DIFFERENCE,
                SHARES_APART,
                test=SignificanceTest.CORRECTED,
            )


def has_share(name: str, answers: pl.DataFrame) -> bool:
    """Whether a share can be computed; `cut_by_scorer` needs texts that a scorer read."""
    return name != "cut_by_scorer" or bool(answers["truncated"].is_not_null().any())


def share_number(name: str, rows: pl.DataFrame, cell: ProbeCell) -> ProbeNumber:
    """Returns the sums of one of `ANSWER_SHARES`, of all answers of a cell or of a group's."""
    share = ANSWER_SHARES[name]
    # Of items without any answer names are no part.
    has_names = bool(cell.units.names) and name != "undetected_items"
    if not has_names:
        rows = rows.with_columns(name_place=pl.lit(None, pl.UInt32))
    sums, names = cell.added_sums(rows, share.hit, share.weight)
    n = round(float(sums[:, 1].sum()))
    return ProbeNumber(None, sums, n, cell.left_out, names if has_names else None, cases=n)


def share_differences(groups: Sequence[ProbeNumber]) -> list[ProbeNumber]:
    """Returns the differences of all pairs of groups.

    They are over names, too, if every group has at least two.
    """
    counts = [(group.names[:, 1] > 0).sum() for group in groups if group.names is not None]
    over_names = all(count >= LEAST_NAMES for count in counts)
    differences = []
    for group, partner in combinations(groups, 2):
        difference = side_by_side([group, partner], has_names=over_names)
        differences.append(difference._replace(group=group.group, other=partner.group))
    return differences


# Checks: whether a cell can be measured at all; limits are in measures.yaml

ANSWERS_NAMED = 3
"""How many answers are shown in which nothing was found."""


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of a cell."""
    scores = complete_probabilities(cell.predictions)
    choices, labels, varies = None, None, True
    if read_cell_probe(cell.measure_options).head.evaluator.IS_CHOICE:
        choices = chosen_labels(cell)
        # A model that always gives the answer that all prompts expect is no constant answerer.
        expected = choices["expected"]
        varies = bool(expected.null_count()) or expected.n_unique() != 1
        labels = choices.select("value", name="label") if varies else None
    for check in checks_of_cell(cell, CheckedAnswers(scores, scores, labels=labels)):
        if varies or check.measure != "same_text":
            yield check
    yield undetected(cell)
    if choices is not None:
        # Answers that choose the commonest place among the options / answers with a place.
        places = choices.select("value", name="position").drop_nulls()
        yield from commonest_share("first_option", places)
    items = cell.observations["item"].n_unique()
    yield Check("few_items", items, items)


def complete_probabilities(predictions: pl.LazyFrame) -> FloatArray | None:
    """Returns the probabilities of options, shape (answers, options); None if answers are written.

    Answers without all of their probabilities are left out.
    """
    if "probabilities" not in predictions.collect_schema():
        return None
    lists = predictions.select("probabilities").collect()["probabilities"].drop_nulls()
    complete = [scores for scores in lists.to_list() if None not in scores]
    return np.array(complete, dtype=np.float64)


def undetected(cell: MeasuredCell) -> Check:
    """Returns the share of answers in which nothing was found, and the commonest of them."""
    answers = cell.observations.unique("instance")
    share = float(answers["undetected"].mean())  # type: ignore[arg-type]
    flag = commonest_answers(cell.predictions, answers)
    return Check("undetected", share, len(answers), flag=flag)


def commonest_answers(predictions: pl.LazyFrame, answers: pl.DataFrame) -> str:
    """Returns the commonest answers in which nothing was found.

    Args:
        predictions: the answers.
        answers: a row for each instance, with `undetected`.
    """
    if "response" not in predictions.collect_schema():
        return "none is a text"
    silent = answers.filter("undetected").select("instance").lazy()
    texts = predictions.join(silent, on="instance", how="semi")
    response = pl.col("response").cast(pl.String).fill_null("")
    counts = texts.select(response).group_by("response").agg(count=pl.len())
    # Numbers without a sign cannot be negated.
    largest_first = -pl.col("count").cast(pl.Int64)
    counts = counts.sort(largest_first, "response")
    commonest = counts.head(ANSWERS_NAMED).collect()["response"]
    return ", ".join(map(shortened, commonest))


def chosen_labels(cell: MeasuredCell) -> pl.DataFrame:
    """Returns the labels that were chosen: of a text one, of probabilities each with its own.

    Returns:
        `label`, `expected`, `value`, and `position`, the place of the label among the options as
        they were asked, null without options.
    """
    options = pl.col("options").cast(pl.List(pl.String))
    prompts = cell.instances.select("instance", options).collect()
    rows = cell.observations.drop_nulls("label").cast({pl.Categorical: pl.String})
    rows = rows.join(prompts, on="instance", how="left", maintain_order="left")
    pairs = rows.select("label", "options").unique(maintain_order=True)
    places = []
    for label, of_prompt in pairs.rows():
        places.append(of_prompt.index(label) + 1 if label in of_prompt else None)
    pairs = pairs.with_columns(position=pl.Series(places, dtype=pl.Int64))
    rows = rows.join(pairs, on=["label", "options"], how="left", maintain_order="left")
    position = pl.format("option {}", "position").alias("position")
    return rows.select("label", "expected", "value", position)
