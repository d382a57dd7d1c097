"""The known effects of a demo as they were when they were kept: they follow from its lists, and no
model has a part.

After `make demo`, `PYTHONPATH=tests/helpers python tests/helpers/kept_measures.py results/demo`
keeps its effects; after `biasgrid demo --full`, with `results/demo-full`, those of the full one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from biasgrid.tables.files import read_tables
from biasgrid.tables.measures import MEASURE_KEYS, SYNTHETIC

KEYS = ["strength", "dataset", "measure", "options", *MEASURE_KEYS]


def kept_effects(results: Path) -> Path:
    """Names the file for a folder of results: by `KEYS` the `value` of each known effect."""
    return Path(__file__).parents[1] / "workflow/kept" / f"{results.name}.parquet"


def effects_of(results: Path) -> pl.DataFrame:
    """Returns the known effects of a run."""
    synthetic = read_tables(sorted(results.glob("synthetic/*/synthetic.parquet")), SYNTHETIC)
    return (
        synthetic.select(*KEYS, "value")
        .drop_nulls("value")
        .cast({pl.Categorical: pl.String})
        .sort(KEYS)
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    effects_of(folder).write_parquet(kept_effects(folder), compression="zstd", compression_level=19)
