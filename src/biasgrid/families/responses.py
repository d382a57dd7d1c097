"""What texts of models are: their sentiment, and what other models say of them.

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
    scores = pl.DataFrame(
        [score(text) for text in distinct], schema=dict.fromkeys(VADER_SCORES, pl.Float64)
    )
    scored = scores.with_columns(distinct)
    return (
        texts.alias("text")
        .to_frame()
        .join(scored, on="text", how="left", maintain_order="left")
        .select(VADER_SCORES)
    )


ScorerFiles = Mapping[str, tuple[str, str]]
"""Of each model that reads the texts of a cell the kind of its answers, and their file."""


def texts_of_cell(prediction_paths: Sequence[Path]) -> Expansion:
    """Turns the distinct texts of a cell into instances, in the order of the texts; of empty ones
    nothing is asked.

    Args:
        prediction_paths: the predictions of all shards.

    Raises:
        TableError: one of them is of another cell or shard.
    """
    for path in prediction_paths:
        read_provenance(path)
    texts = pl.scan_parquet([*prediction_paths], glob=False).select(
        text=pl.col("response").cast(pl.String)
    )
    written = texts.filter(pl.col("text").str.strip_chars() != "")
    return expand_rows(written.unique().sort("text").collect(), {})


def read_scorers(
    said: ScorerFiles, texts: Path, prediction_paths: Sequence[Path] = ()
) -> dict[str, pl.DataFrame]:
    """Reads what models said of the texts of a cell.

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
    asked = read_instances(texts, {}, ["instance", "text"]).with_columns(
        pl.col("text").cast(pl.String)
    )
    return {
        model: asked.join(
            read_table(file, answer_schema(kind)), on="instance", validate="1:1"
        ).drop("instance")
        for model, (kind, file) in said.items()
    }
