"""Texts that models write: their sentiment, and the answers of other models about them.

The sentiment is that of VADER (Hutto and Gilbert, ICWSM 2014), which looks words up in a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from biasgrid.families.expansion import Expansion, expand_rows
from biasgrid.tables.files import read_provenance, read_table
from biasgrid.tables.instances import read_instances
from biasgrid.tables.provenance import cell_provenance, check_made_from, provenance_digests
from biasgrid.tables.schema import answer_schema

VADER_SCORES = ("neg", "neu", "pos", "compound")
"""What VADER says of a text: the shares of negative, neutral and positive words, and all together
from -1 to 1.
"""


def sentiment_of(texts: pl.Series) -> pl.DataFrame:
    """Scores texts, each distinct one once.

    Args:
        texts: texts without nulls.

    Returns:
        A row for each text: columns `VADER_SCORES`, Float64.
    """
    from vaderSentiment.vaderSentiment import (
        SentimentIntensityAnalyzer,
    )  # slow to load, and needed here alone

    score = SentimentIntensityAnalyzer().polarity_scores
    distinct = texts.unique(maintain_order=True).alias("text")
    schema = dict.fromkeys(VADER_SCORES, pl.Float64)
    scores = pl.DataFrame([score(text) for text in distinct], schema=schema)
    rows = texts.alias("text").to_frame()
    rows = rows.join(scores.with_columns(distinct), on="text", how="left", maintain_order="left")
    return rows.select(VADER_SCORES)


ScorerFiles = Mapping[str, tuple[str, str]]
"""Of each model that reads the texts of a cell the kind of its answers, and their file."""


def texts_of_cell(prediction_paths: Sequence[Path]) -> Expansion:
    """Turns the distinct texts of a cell into sorted instances; empty texts are left out.

    Args:
        prediction_paths: the predictions of all shards.

    Raises:
        TableError: one of them is of another cell or shard.
    """
    for path in prediction_paths:
        read_provenance(path)
    predictions = pl.scan_parquet([*prediction_paths], glob=False)
    texts = predictions.select(text=pl.col("response").cast(pl.String))
    written = texts.filter(pl.col("text").str.strip_chars() != "")
    return expand_rows(written.unique().sort("text").collect(), {})


def read_scorers(
    said: ScorerFiles, texts: Path, prediction_paths: Sequence[Path] = ()
) -> dict[str, pl.DataFrame]:
    """Reads the answers of other models about the texts of a cell.

    Args:
        said: which models, and where.
        texts: the instances of the texts.
        prediction_paths: the predictions that must hold these texts, of all shards; of none that is
            not asked.

    Returns:
        For each model its answers, in the columns of their kind, with the `text` that each is
        about.

    Raises:
        TableError: a file does not fit its schema, or was made from other texts.
    """
    if prediction_paths:
        check_made_from(texts, "written", provenance_digests(prediction_paths), prediction_paths[0])
    for _, file in said.values():
        cell_provenance(texts, [Path(file)])
    instances = read_instances(texts, {}, ["instance", "text"])
    instances = instances.with_columns(pl.col("text").cast(pl.String))
    answers = {}
    for model, (kind, file) in said.items():
        predictions = read_table(file, answer_schema(kind))
        joined = instances.join(predictions, on="instance", validate="1:1")
        answers[model] = joined.drop("instance")
    return answers
