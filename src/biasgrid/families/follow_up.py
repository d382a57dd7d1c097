"""What models say of the texts that another one has written: each distinct text is asked about once.

An answer kind that holds a text has it in the column `response`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from biasgrid.families.expansion import Expansion, expand_rows
from biasgrid.tables.answers import schema_of
from biasgrid.tables.files import read_table
from biasgrid.tables.instances import read_instances

Said = Mapping[str, tuple[str, str]]
"""Of each model that reads the texts of a cell the kind of its answers, and their file."""


def texts_of_cell(prediction_paths: Sequence[Path]) -> Expansion:
    """Turns the distinct texts of a cell into instances, in the order of the texts; of empty ones nothing is asked.

    Args:
        prediction_paths: the predictions of all shards.
    """
    texts = pl.scan_parquet([*prediction_paths], glob=False).select(text=pl.col("response").cast(pl.String))
    written = texts.filter(pl.col("text").str.strip_chars() != "")
    return expand_rows(written.unique().sort("text").collect(), {})


def read_follow_ups(said: Said, texts: Path) -> dict[str, pl.DataFrame]:
    """Reads what models said of the texts of a cell.

    Args:
        said: which models, and where.
        texts: the instances of the texts.

    Returns:
        For each model its answers, in the columns of their kind, with the `text` that each is about.

    Raises:
        TableError: a file does not fit its schema.
    """
    asked = read_instances(texts, {}, ["instance", "text"]).with_columns(pl.col("text").cast(pl.String))
    return {
        model: asked.join(read_table(file, schema_of(kind)), on="instance", validate="1:1").drop("instance", "key")
        for model, (kind, file) in said.items()
    }
