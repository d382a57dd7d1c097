"""The measures of a probe: metrics of a cell and of its groups, and answers that say nothing."""

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
from biasgrid.families.measures import (
    NOT_READ,
    WITHOUT_ANSWER,
    cut_by_scorer,
    cut_short_difference,
    refused_difference,
    undetected_difference,
)
from biasgrid.families.probe.definitions import (
    CombinedMetric,
    ExpectedShare,
    LabelRate,
    LetterMeaning,
    Metric,
    ObservationMetric,
    OfAsked,
    OneWord,
    OptionLetter,
    OwnMetric,
    YesNo,
)
from biasgrid.families.probe.formulas import (
    SHARES_APART,
    Whole,
    above_chance,
    compared_values,
    finish_of_group,
    interval_of_metric,
    is_of_shares,
    parts_of_combined,
    wholes_of_probe,
    with_claims,
)
from biasgrid.families.probe.keys import BY_GROUP
from biasgrid.families.probe.observe import OBSERVATIONS, READ, SAID, observe, read_probe_of_cell
from biasgrid.families.probe.pack import Probe
from biasgrid.families.probe.section import ProbeMode
from biasgrid.families.probe.sums import (
    ASKED,
    CellObservations,
    ItemSums,
    Units,
    names_side_by_side,
    of_answers_alone,
    part_of_answers,
    parts_by_value,
    sums_of_numbers,
    sums_of_part,
    sums_of_whole,
)
from biasgrid.families.validity import CheckedAnswers, checks_of_cell, commonest_share, shortened
from biasgrid.readers.reading import CUT, REFUSED
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import DIFFERENCE, MEAN, Finish, IntervalMethod, Sums, Tested
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
LEAST_NAMES = 2
"""Of fewer names a group's answers cannot vary."""
OWN_REASON = "made by the probe's own class"
"""Why what a class makes of observations has no interval."""
ANSWERS_NAMED = 3
"""How many answers are shown in which nothing was found."""
RIGHT = ("accuracy", "tpr", "tnr")
"""What metrics average of probes that know the right answers."""
CHOICES = (OptionLetter, LetterMeaning, OneWord, YesNo)
"""Evaluators of answers that choose among a few."""


class Share(NamedTuple):
    """A share of answers, or of items: two sums over the answers to an item.

    Attributes:
        summed: how many there are of which it tells.
        of: of how many.
    """

    summed: pl.Expr
    of: pl.Expr


def undetected_items() -> Share:
    """Items without any answer in which something was found / items."""
    return Share(pl.col("undetected").all(), pl.lit(1))


def undetected_answers() -> Share:
    """Answers in which nothing was found / answers."""
    return Share(pl.col("undetected").sum(), pl.len())


def share_of_outcome(outcome: str) -> Share:
    """Returns the share of answers with an outcome; `truncated`: texts that a scorer cut."""
    has_it = pl.col("truncated") if outcome == "truncated" else pl.col("outcome") == outcome
    return Share(has_it.sum(), pl.len())


REASONS = {reason.__name__: reason(share_of_outcome) for reason in WITHOUT_ANSWER}
SHARES = {
    # What is refused is not found either, and the plainer word comes first.
    "refused": REASONS["refused"],
    "undetected_items": undetected_items(),
    "undetected_answers": undetected_answers(),
    **REASONS,
    "cut_by_scorer": cut_by_scorer(share_of_outcome),
}

OUTCOMES_COMPARED = {NOT_READ: "undetected_answers", REFUSED: "refused", CUT: "cut_short"}
"""The shares of answers that ended in a way, by the way."""
DIFFERENCES = {
    undetected_difference(OUTCOMES_COMPARED.__getitem__): "undetected_difference",
    refused_difference(OUTCOMES_COMPARED.__getitem__): "refused_difference",
    cut_short_difference(OUTCOMES_COMPARED.__getitem__): "cut_short_difference",
}
"""By the shares in which groups are compared, what their differences are called."""


@dataclass(frozen=True)
class ProbeCell:
    """What is measured.

    Attributes:
        probe: the probe.
        observed: the observations.
        left_out: in how many of them nothing was found.
        wholes: by metric how its number is made.
    """

    probe: Probe
    observed: CellObservations
    left_out: int
    wholes: Mapping[str, Whole]

    @classmethod
    def of(cls, probe: Probe, observations: pl.DataFrame, over_names: bool) -> ProbeCell:
        """Puts observations in order; `over_names` says whether intervals are over names, too."""
        name_key = probe.head.names if over_names else None
        observed = CellObservations.of(observations, probe.head.metric.values(), name_key)
        left_out = int(observations["undetected"].sum())
        return cls(probe, observed, left_out, wholes_of_probe(probe))

    @property
    def units(self) -> Units:
        """Items and names."""
        return Units(self.observed.items, self.observed.names)

    def sums(
        self,
        measure: str,
        numbers: Sequence[ItemSums],
        finish: Finish,
        interval: IntervalMethod,
        options: str = "",
        test: Tested = "",
    ) -> Sums:
        """Returns numbers of one kind."""
        naming = (measure, options, self.probe.head.bias_type)
        return sums_of_numbers(naming, self.units, numbers, finish, interval, test)


def measure(
    observations: pl.DataFrame, options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `probe`, the file of the probe, and `mode`, see `ProbeMode`.

    Yields:
        The metrics of the probe, what they are made of by group, and how many answers say nothing,
        of the cell and by group; a table of what the probe's own class makes.
    """
    probe, mode = probe_of_mode(options), options["mode"]
    cell = ProbeCell.of(probe, observations, over_names=not mode)
    sums = [*sums_of_metrics(cell), *sums_of_shares(cell), *at_chance(cell)]
    yield from ProbeMode.of(mode).with_intervals(sums)
    yield from own_metrics(probe, observations, cell.left_out)


def probe_of_mode(options: Mapping[str, Any]) -> Probe:
    """Reads the probe of a cell, and sets `among` of rates of a label that leave it open.

    Decisions are of all that was asked; rates of a replication are of answers alone.
    """
    probe = read_probe_of_cell(options)
    default = ASKED if isinstance(probe.head.evaluator, YesNo) else "answers"
    metrics: dict[str, Metric] = {}
    for name, metric in probe.head.metric.items():
        metrics[name] = metric
        if isinstance(metric, OfAsked) and metric.base == "rate":
            among = "answers" if options["mode"] else metric.among or default
            metrics[name] = metric.model_copy(update={"among": among})
    return replace(probe, head=probe.head.model_copy(update={"metric": metrics}))


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns the functions that make the numbers of a probe, by name.

    Args:
        options: `probe`, its file.
    """
    probe = read_probe_of_cell(options)
    makers = [whole.finish for whole in wholes_of_probe(probe).values()]
    for name, metric in probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            makers.append(finish_of_group(name, metric))
    if probe.labels:
        makers.append(above_chance(probe))
    return {finish.name: finish for finish in makers}


def derive(
    estimates: pl.DataFrame,
    parts: Sequence[Sums],
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds intervals over items and names of numbers that are no plain means.

    Args:
        estimates: from `stats.estimate`.
        parts: the sums.
        options: see `measure`; the intervals of a replication stay as they are.
        settings: the level.
    """
    if not options["mode"]:
        estimates = with_claims(estimates, parts, probe_of_mode(options), settings.alpha)
    return CellNumbers(estimates)


def sums_of_metrics(cell: ProbeCell) -> Iterator[Sums]:
    """Yields the sums of metrics, and of their groups or values if they compare or show any."""
    above: dict[str, ItemSums] = {}
    for name, metric in cell.probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            values, observed = compared_values(metric, cell.probe), cell.observed.only(metric)
            parts = parts_by_value(metric, observed, values)
            above[name] = sums_of_whole(metric, observed, values, parts, cell.left_out)
        elif isinstance(metric, CombinedMetric):
            above[name] = sums_of_combined(
                [above[part] for part in parts_of_combined(metric, cell.wholes)]
            )
        else:
            continue
        whole = cell.wholes[name]
        interval = interval_of_metric(metric, whole)
        test: Tested = "p" if interval == SHARES_APART else ""
        yield cell.sums(name, [above[name]], whole.finish, interval, test=test)
        if isinstance(metric, ObservationMetric):
            yield from by_group(name, metric, cell)
            yield from among_answers(name, metric, cell)


def sums_of_combined(parts: Sequence[ItemSums]) -> ItemSums:
    """Returns the sums of the largest or the average of some metrics: all of theirs, side by side.

    The interval is over items alone.
    """
    sums = np.concatenate([part.sums for part in parts], axis=1)
    n = max(part.n for part in parts)
    # Answers that say nothing are the same for all metrics.
    return ItemSums(None, sums, n, parts[0].left_out)


def by_group(
    name: str, metric: ObservationMetric, cell: ProbeCell, measure: str = BY_GROUP
) -> Iterator[Sums]:
    """What a metric is, or compares, of the answers of each group alone, where there are groups."""
    observed = cell.observed.only(metric)
    parts = parts_by_value(metric, observed, compared_values(metric, cell.probe))
    if not parts:
        return
    numbers = []
    for value, part in parts.items():
        numbers.append(sums_of_part(metric, observed, value, part, cell.left_out))
    interval: IntervalMethod = "effective Wilson" if is_of_shares(metric) else "t"
    yield cell.sums(measure, numbers, finish_of_group(name, metric), interval, f"metric={name}")


def among_answers(name: str, metric: ObservationMetric, cell: ProbeCell) -> Iterator[Sums]:
    """Rates of all that was asked, among answers in which something was found.

    Nothing if that is true of all answers.
    """
    of_answers = of_answers_alone(metric)
    if of_answers is None or not cell.left_out:
        return
    if isinstance(of_answers, LabelRate):
        observed = cell.observed.only(of_answers)
        whole = sums_of_part(of_answers, observed, None, observed.part(of_answers), cell.left_out)
        yield cell.sums("among_answers", [whole], MEAN, "effective Wilson", f"metric={name}")
    yield from by_group(name, of_answers, cell, "among_answers")


def sums_of_shares(cell: ProbeCell) -> Iterator[Sums]:
    """Yields the shares of items and answers in which nothing was found, and the reasons.

    They are of the cell and of groups; some are compared between groups.
    """
    answers = cell.observed.answers
    groups = answers.drop_nulls("group").partition_by("group", maintain_order=True)
    for name, share in SHARES.items():
        if name == "cut_by_scorer" and answers["truncated"].is_null().all():
            continue
        numbers = [share_of_answers(name, share, answers, cell)]
        for rows in groups:
            if name != "cut_by_scorer" or rows["truncated"].is_not_null().any():
                number = share_of_answers(name, share, rows, cell)
                numbers.append(number._replace(group=str(rows["group"][0]), left_out=0))
        yield cell.sums(name, numbers, MEAN, "effective Wilson")
        if len(groups) > 1 and name in DIFFERENCES:
            yield sums_of_differences(DIFFERENCES[name], numbers[1:], cell)


def share_of_answers(name: str, share: Share, rows: pl.DataFrame, cell: ProbeCell) -> ItemSums:
    """Returns the sums of one of `SHARES`, of all answers of a cell or of a group's.

    Args:
        name: the share.
        share: its sums.
        rows: the answers.
        cell: the cell.
    """
    # Of items without any answer names are no part.
    names = () if name == "undetected_items" else cell.units.names
    if not names:
        rows = rows.with_columns(name_place=pl.lit(None, pl.UInt32))
    part = part_of_answers(rows, share.summed, share.of, len(cell.units.items), len(names))
    of_names = part.names if names else None
    return ItemSums(None, part.sums, part.count, cell.left_out, of_names, cases=part.answers)


def difference_of_sums(one: ItemSums, other: ItemSums) -> ItemSums:
    """Returns the sums of the difference of two groups."""
    names = names_side_by_side([one.names, other.names])
    sums = np.concatenate([one.sums, other.sums], axis=1)
    return ItemSums(one.group, sums, one.n + other.n, one.left_out, names, other.group)


def sums_of_differences(measure: str, groups: Sequence[ItemSums], cell: ProbeCell) -> Sums:
    """Returns the differences between groups of the shares of answers that ended in some way.

    They are over names, too, if every group has at least two.
    """
    counts = [(group.names[:, 1] > 0).sum() for group in groups if group.names is not None]
    over_names = all(count >= LEAST_NAMES for count in counts)
    differences = []
    for one, other in combinations(groups, 2):
        difference = difference_of_sums(one, other)
        differences.append(difference if over_names else difference._replace(names=None))
    return cell.sums(measure, differences, DIFFERENCE, SHARES_APART, test="q")


def at_chance(cell: ProbeCell) -> Iterator[Sums]:
    """Share of right answers - 1 / number of labels; nothing if no metric knows which are right."""
    bases = [metric.base for metric in cell.probe.head.metric.values()]
    if not cell.probe.labels or not any(base in RIGHT for base in bases):
        return
    accuracy = ExpectedShare(kind="accuracy")
    observed = cell.observed
    part = sums_of_part(accuracy, observed, None, observed.part(accuracy), cell.left_out)
    yield cell.sums("at_chance", [part], above_chance(cell.probe), "t")


def own_metrics(probe: Probe, observations: pl.DataFrame, left_out: int) -> Iterator[pl.DataFrame]:
    """Yields the metrics that the probe's class makes of its observations.

    Raises:
        UserError: it fails, or does not return one of them.
    """
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
    count = int(observations["instance"].n_unique()) - left_out
    table = pl.DataFrame({"measure": names, "value": pl.Series(values, dtype=pl.Float64)})
    yield table.select(
        "measure",
        pl.col("value").fill_nan(None),
        options=pl.lit(""),
        n=pl.lit(count, pl.Int64),
        left_out=pl.lit(left_out, pl.Int64),
        reason=pl.lit(OWN_REASON),
    )


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of whether a cell can be measured at all; see `measures.yaml`."""
    scores = complete_probabilities(cell.predictions)
    chosen, labels, varies = None, None, True
    if isinstance(read_probe_of_cell(cell.options).head.evaluator, CHOICES):
        chosen = chosen_labels(cell)
        # Who gives the answer that is expected of all prompts says what is expected.
        expected = chosen["expected"]
        varies = bool(expected.null_count()) or expected.n_unique() != 1
        labels = chosen.select("value", name="label") if varies else None
    for check in checks_of_cell(cell, CheckedAnswers(scores, scores, labels=labels)):
        if varies or check.measure != "same_text":
            yield check
    yield undetected(cell)
    if chosen is not None:
        yield from first_option(chosen)
    yield few_items(cell.observations)


def complete_probabilities(predictions: pl.LazyFrame) -> FloatArray | None:
    """Returns the probabilities of options, shape (answers, options); None of written answers.

    Answers of which any probability is missing are left out.
    """
    if "probabilities" not in predictions.collect_schema():
        return None
    lists = predictions.select("probabilities").collect()["probabilities"].drop_nulls()
    complete = [scores for scores in lists.to_list() if None not in scores]
    return np.array(complete, dtype=np.float64)


def undetected(cell: MeasuredCell) -> Check:
    """Answers in which nothing was found / answers."""
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
        they were asked, null where there are no options.
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


def first_option(chosen: pl.DataFrame) -> Iterator[Check]:
    """Answers that choose the commonest place among the options / answers that choose an option."""
    yield from commonest_share("first_option", chosen.select("value", name="position").drop_nulls())


def few_items(observations: pl.DataFrame) -> Check:
    """How many items were asked."""
    items = observations["item"].n_unique()
    return Check("few_items", items, items)
