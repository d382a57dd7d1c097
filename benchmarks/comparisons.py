"""All pairs of fifteen models on four datasets of full size, simulated: the processor's time, on one core."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MODELS = 15
SHAPES = {"gender": (140, 70, 4), "nationality": (69, 64, 7), "ethnicity": (15, 50, 7), "religion": (11, 50, 7)}
"""Subjects, attributes and clusters."""
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def write_cells(folder: Path, dataset: str) -> list[Path]:
    """Writes the numbers of models whose associations differ, as rule statistics keeps them."""
    import numpy as np
    import polars as pl

    from biasgrid.stats.estimate import leave_one_out
    from biasgrid.stats.settings import jackknife_columns
    from biasgrid.tables.files import empty_table, write_table
    from biasgrid.tables.statistics import WITHOUT_CLUSTERS

    subjects, attributes, clusters = SHAPES[dataset]
    random, empty, paths = np.random.default_rng(1), empty_table(WITHOUT_CLUSTERS), []
    common = random.normal(size=(subjects, attributes, 1))
    names = pl.DataFrame({"subject": [f"subject {number}" for number in range(subjects)]})
    of_pairs = names.join(pl.DataFrame({"attribute": [f"attribute {n}" for n in range(attributes)]}), how="cross")
    wholes = pl.DataFrame({"measure": ["mu_corrected", "eta_corrected", "strength", "delta", "epsilon"]})
    for model in range(MODELS):
        values = common * random.random() + random.normal(size=(subjects, attributes, clusters))
        tables = [(wholes, random.normal(size=(5, clusters)) + 9), (names, values.mean(axis=1))]
        tables.append((of_pairs, values.reshape(-1, clusters)))
        rows = [
            table.with_columns(
                value=each.mean(axis=1),
                **jackknife_columns(leave_one_out(each, np.ones_like(each)), moderated=len(table) > 5),
            )
            for table, each in tables
        ]
        told = pl.concat([empty, *rows], how="diagonal_relaxed").with_columns(
            pl.col("measure").fill_null("gamma"),
            model=pl.lit(f"model-{model}"), dataset=pl.lit(dataset), options=pl.lit(""), n=pl.lit(1),
        )  # fmt: skip
        paths.append(folder / f"{model}.parquet")
        write_table(
            told.cast(empty.schema).select(empty.columns), paths[-1], WITHOUT_CLUSTERS, {"templates": "the same"}
        )
    return paths


def timed(send: Any, dataset: str) -> None:
    """Sends how many differences there are, how many are kept, the seconds of each part, and the peak memory."""
    from biasgrid.stats.compare.all_pairs import compare_models
    from biasgrid.stats.compare.cells import read_compared_cell
    from biasgrid.stats.settings import StatisticsSettings
    from biasgrid.tables.comparison import COMPARISONS
    from biasgrid.tables.files import empty_table, write_table
    from biasgrid.tables.statistics import VARIANCES

    with TemporaryDirectory() as name:
        paths, variances = write_cells(Path(name), dataset), Path(name, "variances.parquet")
        write_table(empty_table(VARIANCES), variances, VARIANCES, {})
        times = [time.process_time()]
        cells = [read_compared_cell(path.stem, path, variances) for path in paths]
        times.append(time.process_time())
        found = compare_models(dataset, cells, StatisticsSettings()).comparisons
        times.append(time.process_time())
        write_table(found, Path(name, "comparisons.parquet"), COMPARISONS, {})
        times.append(time.process_time())
    tests = MODELS * (MODELS - 1) // 2 * len(cells[0].numbers)
    seconds = [later - earlier for earlier, later in pairwise(times)]
    send.send((tests, len(found), seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))


def main() -> None:
    from stopwatch import print_table

    os.environ |= dict.fromkeys(THREADS, "1")
    context, table = multiprocessing.get_context("spawn"), []
    for dataset in SHAPES:
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=timed, args=(send, dataset))
        process.start()
        tests, kept, seconds, peak = receive.recv()
        process.join()
        times = [f"{each:.2f}" for each in (*seconds, sum(seconds))]
        table.append([dataset, f"{tests:,}", f"{kept:,}", *times, f"{peak:,.0f}"])
    print_table(["dataset", "differences", "kept", "read", "compare", "write", "seconds in all", "peak MB"], table)


if __name__ == "__main__":
    main()
