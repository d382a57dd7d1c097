"""The measures of a probe: its metrics, of a cell and of its groups, and how many answers say
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

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
from biasgrid.families.probe.evidence import evidence
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
    "evidence",
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
    """Returns the share of answers that ended in some way, or whose text a scorer did not read to
    its end.
    """
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
        metrics, name_key = probe.head.metric.values(), probe.head.names if over_names else None
        observed = CellObservations.of(observations, metrics, name_key)
        return cls(probe, observed, int(observations["undetected"].sum()), wholes_of_probe(probe))

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
    yield from ProbeMode.of(mode).with_intervals(
        [*sums_of_metrics(cell), *sums_of_shares(cell), *at_chance(cell)]
    )
    yield from own_metrics(probe, observations, cell.left_out)


def probe_of_mode(options: Mapping[str, Any]) -> Probe:
    """Reads the probe of a cell, and says of rates of a label of what they are where it does not.

    Decisions are of all that was asked; rates of a replication are of answers alone.
    """
    probe = read_probe_of_cell(options)
    default = ASKED if isinstance(probe.head.evaluator, YesNo) else "answers"
    metrics: dict[str, Metric] = {}
    for name, metric in probe.head.metric.items():
        is_rate = isinstance(metric, OfAsked) and metric.base == "rate"
        among = "answers" if options["mode"] else (getattr(metric, "among", None) or default)
        metrics[name] = metric.model_copy(update={"among": among}) if is_rate else metric
    return replace(probe, head=probe.head.model_copy(update={"metric": metrics}))


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns what makes the numbers of a probe, by name.

    Args:
        options: `probe`, its file.
    """
    probe = read_probe_of_cell(options)
    of_metrics = [whole.finish for whole in wholes_of_probe(probe).values()]
    metrics = probe.head.metric.items()
    of_groups = [
        finish_of_group(name, metric)
        for name, metric in metrics
        if isinstance(metric, ObservationMetric)
    ]
    chance = [above_chance(probe)] if probe.labels else []
    return {finish.name: finish for finish in (*of_metrics, *of_groups, *chance)}


def derive(
    estimates: pl.DataFrame,
    parts: Sequence[Sums],
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds intervals over items and names of what is no plain mean.

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
    """Yields the sums of metrics and, of those that compare groups or are shown by group, of
    these.
    """
    above: dict[str, ItemSums] = {}
    for name, metric in cell.probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            values, observed = compared_values(metric, cell.probe), cell.observed.only(metric)
            parts = parts_by_value(metric, observed, values)
            above[name] = sums_of_whole(metric, observed, values, parts, cell.left_out)
        elif isinstance(metric, CombinedMetric):
            of_parts = [above[each] for each in parts_of_combined(metric, cell.wholes)]
            beside = np.concatenate([part.sums for part in of_parts], axis=1)
            above[name] = ItemSums(
                None, beside, max(part.n for part in of_parts), of_parts[0].left_out
            )
        else:
            continue
        whole = cell.wholes[name]
        interval = interval_of_metric(metric, whole)
        yield cell.sums(
            name,
            [above[name]],
            whole.finish,
            interval,
            test="p" if interval == SHARES_APART else "",
        )
        if isinstance(metric, ObservationMetric):
            yield from by_group(name, metric, cell)
            yield from among_answers(name, metric, cell)


def by_group(
    name: str, metric: ObservationMetric, cell: ProbeCell, measure: str = BY_GROUP
) -> Iterator[Sums]:
    """What a metric is, or compares, of the answers of each group alone, where there are groups."""
    observed = cell.observed.only(metric)
    parts = parts_by_value(metric, observed, compared_values(metric, cell.probe))
    if parts:
        numbers = [
            sums_of_part(metric, observed, value, part, cell.left_out)
            for value, part in parts.items()
        ]
        interval: IntervalMethod = "effective Wilson" if is_of_shares(metric) else "t"
        yield cell.sums(measure, numbers, finish_of_group(name, metric), interval, f"metric={name}")


def among_answers(name: str, metric: ObservationMetric, cell: ProbeCell) -> Iterator[Sums]:
    """What rates of all that was asked are among answers in which something was found, where not
    all are such.
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
    """Yields the shares of items and answers in which nothing was found, and why not: of all, of
    groups, and apart.
    """
    answers = cell.observed.answers
    of_groups = answers.drop_nulls("group").partition_by("group", maintain_order=True)
    parts = [
        (None, answers, cell.left_out),
        *((str(rows["group"][0]), rows, 0) for rows in of_groups),
    ]
    for name, (summed, of) in SHARES.items():
        # Of items without any answer names are no part.
        names = () if name == "undetected_items" else cell.units.names
        numbers = []
        for group, rows, left_out in parts:
            if name != "cut_by_scorer" or rows["truncated"].is_not_null().any():
                placed = rows if names else rows.with_columns(name_place=pl.lit(None, pl.UInt32))
                part = part_of_answers(placed, summed, of, len(cell.units.items), len(names))
                beside = part.names if names else None
                numbers.append(
                    ItemSums(group, part.sums, part.count, left_out, beside, cases=part.answers)
                )
        if numbers:
            yield cell.sums(name, numbers, MEAN, "effective Wilson")
        if len(of_groups) > 1 and name in DIFFERENCES:
            yield sums_of_differences(DIFFERENCES[name], numbers[1:], cell)


def difference_of_sums(one: ItemSums, other: ItemSums) -> ItemSums:
    """Returns what the difference of two groups is made of."""
    names = [each.names for each in (one, other) if each.names is not None]
    beside = np.concatenate(names, axis=1) if names else None
    sums = np.concatenate([one.sums, other.sums], axis=1)
    return ItemSums(one.group, sums, one.n + other.n, one.left_out, beside, other.group)


def sums_of_differences(measure: str, groups: Sequence[ItemSums], cell: ProbeCell) -> Sums:
    """Returns the differences between groups of how often answers ended in a way, over names where
    all have two.
    """
    apart = [difference_of_sums(one, other) for one, other in combinations(groups, 2)]
    has_one = any(
        each.names is not None and (each.names[:, 1] > 0).sum() < LEAST_NAMES for each in groups
    )
    apart = [each._replace(names=None) for each in apart] if has_one else apart
    return cell.sums(measure, apart, DIFFERENCE, SHARES_APART, test="q")


def at_chance(cell: ProbeCell) -> Iterator[Sums]:
    """Share of right answers - 1 / number of labels, where a probe knows which are right, not only
    stereotypical.
    """
    if cell.probe.labels and any(
        metric.base in RIGHT for metric in cell.probe.head.metric.values()
    ):
        accuracy = ExpectedShare(kind="accuracy")
        part = sums_of_part(
            accuracy, cell.observed, None, cell.observed.part(accuracy), cell.left_out
        )
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
        found = dict(probe.own.measure(observations))
        values = [float(found[name]) for name in names]
    except Exception as error:  # the code of a user may raise anything
        raise UserError(
            f"`measure` of the probe {probe.head.title!r} failed ({type(error).__name__}: {error})"
        ) from error
    count = int(observations["instance"].n_unique()) - left_out
    yield pl.DataFrame({"measure": names, "value": pl.Series(values, dtype=pl.Float64)}).select(
        "measure",
        pl.col("value").fill_nan(None),
        options=pl.lit(""),
        n=pl.lit(count, pl.Int64),
        left_out=pl.lit(left_out, pl.Int64),
        reason=pl.lit(OWN_REASON),
    )


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `measures.yaml`."""
    scores, labels, chosen, varies = None, None, None, True
    if "probabilities" in cell.predictions.collect_schema():
        lists = (
            cell.predictions.select("probabilities")
            .collect()["probabilities"]
            .drop_nulls()
            .to_list()
        )
        scores = np.array([each for each in lists if None not in each], dtype=np.float64)
    if isinstance(read_probe_of_cell(cell.options).head.evaluator, CHOICES):
        chosen = chosen_labels(cell)
        # Who gives the answer that is expected of all prompts says what is expected.
        varies = bool(chosen["expected"].null_count()) or chosen["expected"].n_unique() != 1
        labels = chosen.select("value", name="label") if varies else None
    checks = checks_of_cell(cell, CheckedAnswers(scores, scores, labels=labels))
    yield from (check for check in checks if varies or check.measure != "same_text")
    yield undetected(cell)
    if chosen is not None:
        yield from first_option(chosen)
    yield few_items(cell.observations)


def undetected(cell: MeasuredCell) -> Check:
    """Answers in which nothing was found / answers."""
    answers = cell.observations.unique("instance")
    share = float(answers["undetected"].mean())  # type: ignore[arg-type]
    return Check(
        "undetected", share, len(answers), flag=commonest_answers(cell.predictions, answers)
    )


def commonest_answers(predictions: pl.LazyFrame, answers: pl.DataFrame) -> str:
    """Returns the commonest answers in which nothing was found.

    Args:
        predictions: the answers.
        answers: a row for each instance, with `undetected`.
    """
    if "response" not in predictions.collect_schema():
        return "none is a text"
    silent = answers.filter("undetected").select("instance").lazy()
    texts = predictions.join(silent, on="instance", how="semi").select(
        pl.col("response").cast(pl.String).fill_null("")
    )
    counts = (
        texts.group_by("response")
        .agg(count=pl.len())
        .sort(-pl.col("count").cast(pl.Int64), "response")
    )
    commonest = counts.head(ANSWERS_NAMED).collect()["response"]
    return ", ".join(map(shortened, commonest))


def chosen_labels(cell: MeasuredCell) -> pl.DataFrame:
    """Returns what was chosen: of a text its label, of probabilities each label with its own.

    Returns:
        `label`, `expected`, `value`, and `position`, the place of the label among the options as
        they were asked, null where there are no options.
    """
    asked = cell.instances.select("instance", pl.col("options").cast(pl.List(pl.String))).collect()
    rows = cell.observations.drop_nulls("label").cast({pl.Categorical: pl.String})
    rows = rows.join(asked, on="instance", how="left", maintain_order="left")
    places = rows.select("label", "options").unique(maintain_order=True)
    position = [
        options.index(label) + 1 if label in options else None for label, options in places.rows()
    ]
    placed = places.with_columns(position=pl.Series(position, dtype=pl.Int64))
    found = rows.join(placed, on=["label", "options"], how="left", maintain_order="left")
    return found.select(
        "label", "expected", "value", pl.format("option {}", "position").alias("position")
    )


def first_option(chosen: pl.DataFrame) -> Iterator[Check]:
    """Answers that choose the commonest place among the options / answers that choose an option."""
    yield from commonest_share("first_option", chosen.select("value", name="position").drop_nulls())


def few_items(observations: pl.DataFrame) -> Check:
    """How many items were asked."""
    items = observations["item"].n_unique()
    return Check("few_items", items, items)
