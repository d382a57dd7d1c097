"""Looking for answers of earlier runs: what it takes of a new shard where many shards of its cell
are finished.

Where they are of the same table of instances, their rows are compared; where they are of another
one, as before a dataset was changed, all of their keys are read. Seconds are those of the
processor, fastest of some rounds.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from stopwatch import print_table, processor_seconds_of

from biasgrid.inference.models.answer_store import AnswerStore
from biasgrid.inference.models.kept_keys import RowRange
from biasgrid.tables.schema import answer_schema

FINISHED = (10, 40)
SHARD_ROWS = 50_000
RATE = 10_000
"""Rows per second, faster than a model of bert-base's size on most GPUs."""
ROUNDS = 5


def answers(first: int) -> pl.DataFrame:
    """Answers to a shard of questions about two subjects."""
    random = np.random.default_rng(1)
    ends = {
        name: pl.Series(random.random((SHARD_ROWS, 2), np.float32)).arr.to_list()
        for name in ("starts", "ends")
    }
    names = pl.Series([f"name {number}" for number in range(140)], dtype=pl.Categorical)
    return pl.DataFrame(
        {
            "instance": np.arange(first, first + SHARD_ROWS, dtype=np.uint32),
            **ends,
            "answer": names.gather(random.integers(0, len(names), SHARD_ROWS)),
            "probability": random.random(SHARD_ROWS, np.float32),
            "unknown": np.zeros(SHARD_ROWS, np.bool_),
        }
    )


def store_of(folder: str, keys: np.ndarray, table: str, first: int) -> AnswerStore:
    """Returns the store of a shard that asks some rows of a table."""
    instances = pl.DataFrame(
        {"instance": np.arange(first, first + SHARD_ROWS, dtype=np.uint32), "key": keys}
    )
    return AnswerStore(
        Path(folder), answer_schema("span"), instances, RowRange(table, first, first + SHARD_ROWS)
    )


def main() -> None:
    keys = np.random.default_rng(0).integers(0, 2**64, (max(FINISHED) + 1, SHARD_ROWS), np.uint64)
    new, end = keys[-1], max(FINISHED) * SHARD_ROWS
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for number, shard in enumerate(keys[:-1]):
            first = number * SHARD_ROWS
            store = store_of(folder, shard, "this", first)
            store.keep(answers(first), {"audits": {}, "devices": ["cpu"]})
            if number + 1 not in FINISHED:
                continue
            half = np.concatenate([shard[: SHARD_ROWS // 2], new[SHARD_ROWS // 2 :]])
            stores = {
                "none, of the same table": store_of(folder, new, "this", end),
                "all, made again": store_of(folder, shard, "this", first),
                "none, of another table": store_of(folder, new, "another", end),
                "half, of another table": store_of(folder, half, "another", end),
            }
            for found, asked in stores.items():
                seconds = min(processor_seconds_of(asked.find) for _ in range(ROUNDS))
                share = seconds / (SHARD_ROWS / RATE)
                table.append([str(number + 1), found, f"{seconds:.4f}", f"{share:.2%}"])
    header = [
        "finished shards",
        f"found of {SHARD_ROWS:,} rows",
        "seconds",
        f"of inference at {RATE:,} rows/s",
    ]
    print_table(header, table)


if __name__ == "__main__":
    main()
