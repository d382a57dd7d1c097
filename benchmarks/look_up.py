"""Looking for answers of earlier runs: what it takes of a shard, whether none, half or all of its rows are found.

The cell has a million instances in 20 finished shards: the keys of all are read, unless one of them has all rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from stopwatch import print_table, seconds_of

from biasgrid.inference.models.answer_store import AnswerStore
from biasgrid.tables.files import write_table
from biasgrid.tables.schema import answer_schema

ROWS = 1_000_000
SHARDS = 20
SHARD_ROWS = ROWS // SHARDS
RATE = 10_000
"""Rows per second, faster than a model of bert-base's size on most GPUs."""
ROUNDS = 5


def answers(keys: np.ndarray) -> pl.DataFrame:
    """Answers to a shard of questions about two subjects."""
    random = np.random.default_rng(1)
    ends = {name: pl.Series(random.random((len(keys), 2), np.float32)).arr.to_list() for name in ("starts", "ends")}
    names = pl.Series([f"name {number}" for number in range(140)], dtype=pl.Categorical)
    return pl.DataFrame(
        {
            "instance": np.arange(len(keys), dtype=np.uint32),
            "key": keys,
            **ends,
            "answer": names.gather(random.integers(0, len(names), len(keys))),
            "probability": random.random(len(keys), np.float32),
        }
    )


def main() -> None:
    keys = np.random.default_rng(0).integers(0, 2**64, (SHARDS + 1, SHARD_ROWS), np.uint64)
    known, new = keys[SHARDS - 1], keys[SHARDS]
    asked = {
        "none": new,
        "half": np.concatenate([known[: SHARD_ROWS // 2], new[SHARD_ROWS // 2 :]]),
        "all": known,
    }
    with tempfile.TemporaryDirectory() as folder:
        for number, shard in enumerate(keys[:SHARDS]):
            facts = {"audits": {}, "devices": ["cpu"]}
            write_table(answers(shard), Path(folder, f"{number}.parquet"), answer_schema("span"), facts)
        table = []
        for found, wanted in asked.items():
            instances = pl.DataFrame({"instance": np.arange(SHARD_ROWS, dtype=np.uint32), "key": wanted})
            store = AnswerStore(Path(folder), answer_schema("span"), instances)
            seconds = min(seconds_of(store.find) for _ in range(ROUNDS))
            share = seconds / (SHARD_ROWS / RATE)
            table.append([found, f"{SHARD_ROWS:,}", f"{seconds:.3f}", f"{share:.1%}"])
    print_table(["found", "rows of the shard", "seconds", f"of inference at {RATE:,} rows/s"], table)


if __name__ == "__main__":
    main()
