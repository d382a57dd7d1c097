"""What speaks against a cell of a probe: answers that do not hang on what is asked, or in which nothing is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.probe.definitions import LetterMeaning, OneWord, OptionLetter, YesNo
from biasgrid.families.probe.observe import read_probe_of_cell
from biasgrid.families.probe.pack import Probe
from biasgrid.families.validity import (
    commonest_share,
    equal_scores,
    improbable,
    one_answer,
    same_text,
    score_checks,
    shortened,
    text_checks,
    unknown_tokens,
)
from biasgrid.tables.completeness import Check

ANSWERS_NAMED = 3
"""How many answers are shown."""
RIGHT = ("accuracy", "tpr", "tnr")
"""What metrics average of probes that know the right answers."""


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
    if isinstance(read_probe_of_cell(cell.options).head.evaluator, OptionLetter | LetterMeaning | OneWord | YesNo):
        chosen = chosen_labels(cell)
        # Who gives the answer that is expected of all prompts says what is expected.
        if chosen["expected"].null_count() or chosen["expected"].n_unique() > 1:
            yield from one_answer(chosen.select("value", name="label"))
        yield from first_option(chosen)
    yield few_items(cell.observations)


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
    return ", ".join(map(shortened, commonest))


def knows_right_answers(probe: Probe) -> bool:
    """Says whether a probe knows which answers are right, not only which ones follow a stereotype."""
    return bool(probe.labels) and any(metric.base in RIGHT for metric in probe.head.metric.values())


def chosen_labels(cell: MeasuredCell) -> pl.DataFrame:
    """Returns what was chosen: of a text its label, of probabilities each label with its own.

    Returns:
        `label`, `expected`, `value`, and `position`, the place of the label among the options as they were asked, null
        where there are no options.
    """
    asked = cell.instances.select("instance", pl.col("options").cast(pl.List(pl.String))).collect()
    rows = cell.observations.drop_nulls("label").cast({pl.Categorical: pl.String})
    rows = rows.join(asked, on="instance", how="left", maintain_order="left")
    places = rows.select("label", "options").unique(maintain_order=True)
    position = [options.index(label) + 1 if label in options else None for label, options in places.rows()]
    placed = places.with_columns(position=pl.Series(position, dtype=pl.Int64))
    found = rows.join(placed, on=["label", "options"], how="left", maintain_order="left")
    return found.select("label", "expected", "value", pl.format("option {}", "position").alias("position"))


def first_option(chosen: pl.DataFrame) -> Iterator[Check]:
    """Answers that choose the commonest place among the options / answers that choose an option."""
    yield from commonest_share("first_option", chosen.select("value", name="position").drop_nulls())


def few_items(observations: pl.DataFrame) -> Check:
    """How many items were asked."""
    items = observations["item"].n_unique()
    return Check("few_items", items, items)
