"""Most memory of the stages of a cell at 5.5 and 55 million rows: it should not grow with them.

The gender dataset of question answering in full, and with ten times its attributes; answers are
random. Each stage runs in a process of its own, on two threads of polars:

    python benchmarks/memory.py [--times 1 10] [--stages expand predict]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from expansion import again, gender, write
from stopwatch import peak_mb, print_growth

SHARD_ROWS = 1_372_000
"""Rows of a shard of the standard grid: a quarter of the dataset."""


def expand_dataset(folder: Path, times: int) -> None:
    """Writes the instances of the dataset with each attribute several times, in other words."""
    from dataclasses import replace

    from biasgrid.families.underspecified.ask import expand

    lists = gender()
    attributes = {
        kind: [again(row, number) if number else row for number in range(times) for row in rows]
        for kind, rows in lists.attributes.items()
    }
    write(expand(replace(lists, attributes=attributes)), folder / "instances.parquet")


def predict_one_of(folder: Path, shards: int) -> None:
    """Answers the last of so many shards at random, as rule predict does."""
    from biasgrid.inference.checkpoints.fetch import make_keys_record
    from biasgrid.inference.engine.settings import InferenceSettings
    from biasgrid.inference.models.predict import ShardFiles, predict_shard
    from biasgrid.inference.models.registry import BACK_ENDS

    record = folder / "model.json"
    record.write_text(json.dumps(make_keys_record({"random": {"seed": 1}})))
    out = folder / f"of-{shards}"
    out.mkdir()
    files = ShardFiles(
        folder / "instances.parquet",
        record,
        out / "predictions.parquet",
        out / "timing.json",
        out / "answers",
        out / "progress.json",
    )
    settings = InferenceSettings(
        model="random",
        task="text-generation",
        precision="float32",
        token_budget="auto",
        device="cpu",
        seconds_without_progress=3600,
        answer="choice",
    )
    predict_shard(
        files,
        shards,
        shards,
        BACK_ENDS["text-generation", "random"].class_path("choice"),
        settings,
        {},
    )


def predict_shard_of_grid(folder: Path, times: int) -> None:
    """Answers one shard of the dataset, of as many rows however large that is."""
    predict_one_of(folder, 4 * times)


def predict_all_rows(folder: Path, _times: int) -> None:
    """Answers the dataset as one shard."""
    predict_one_of(folder, 1)


STAGES: dict[str, Callable[[Path, int], None]] = {
    "expand": expand_dataset,
    f"predict, a shard of {SHARD_ROWS:,} rows": predict_shard_of_grid,
    "predict, all rows as one shard": predict_all_rows,
}
"""What is measured, in this order: each is given the folder with the files of those before, and how
many times as large the dataset is.
"""


def in_process(stage: str, folder: Path, times: int) -> dict[str, float]:
    """Runs a stage in a process of its own; returns its most memory in MB, and its seconds of the
    processor.
    """
    command = [sys.executable, __file__, "--once", stage, str(folder), str(times)]
    done = subprocess.run(
        command, env=os.environ | {"POLARS_MAX_THREADS": "2"}, check=True, stdout=subprocess.PIPE
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--times", type=int, nargs="+", default=[1, 10], help="how often each attribute is there"
    )
    parser.add_argument(
        "--stages", nargs="+", default=[], help="beginnings of names; expand is run anyway"
    )
    parser.add_argument("--once", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        stage, folder, times = given.once
        STAGES[stage](Path(folder), int(times))
        print(json.dumps({"peak_mb": peak_mb(), "seconds": time.process_time()}))
        return
    stages = [
        name
        for name in STAGES
        if name == "expand" or not given.stages or name.startswith(tuple(given.stages))
    ]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in stages}
    for times in given.times:
        with tempfile.TemporaryDirectory() as folder:
            for name in stages:
                found[name].append(in_process(name, Path(folder), times))
    rows = [f"{4 * SHARD_ROWS * times:,} rows" for times in given.times]
    print_growth(rows, found)


if __name__ == "__main__":
    main()
