"""All pairs of fifteen models on four datasets of full size, simulated: the processor's time, on
one core.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FAMILY = "biasgrid.families.underspecified"
MODELS = 15
SHAPES = {
    "gender": (140, 70, 4),
    "nationality": (69, 64, 7),
    "ethnicity": (15, 50, 7),
    "religion": (11, 50, 7),
}
"""Subjects, attributes and clusters."""
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def write_cells(folder: Path, dataset: str) -> list[str]:
    """Writes what the numbers of models are made of whose associations differ, and returns the
    models.
    """
    import numpy as np
    import polars as pl

    from biasgrid.stats.sums import TEMPLATES, Along, SignificanceTest, Sums, sums_table
    from biasgrid.tables.files import empty_table, write_table
    from biasgrid.tables.measures import DESIGN, MEASURES, cell_table
    from biasgrid.tables.provenance import digest, table_provenance
    from biasgrid.tables.sums import SUMS

    subjects, attributes, clusters = SHAPES[dataset]
    random, models = np.random.default_rng(1), [f"model-{model}" for model in range(MODELS)]
    common = random.normal(size=(subjects, attributes, 1))
    names = pl.DataFrame({"subject": [f"subject {number}" for number in range(subjects)]})
    of_attributes = pl.DataFrame(
        {"attribute": [f"attribute {number}" for number in range(attributes)]}
    )
    of_pairs, units = (
        names.join(of_attributes, how="cross"),
        [str(cluster) for cluster in range(clusters)],
    )

    def means(keys: pl.DataFrame, values: Any) -> Sums:
        along = {TEMPLATES: Along(units, np.stack([values, np.ones_like(values)], axis=-1))}
        return Sums(
            keys.with_columns(n=pl.lit(1)),
            along,
            interval="moderated t",
            test=SignificanceTest.CORRECTED,
        )

    def of_cell(measure: str) -> Sums:
        others = {
            "subjects": names["subject"].to_list(),
            "attributes": of_attributes["attribute"].to_list(),
        }
        along = {name: Along(each, np.ones((1, len(each), 2))) for name, each in others.items()}
        values = np.stack([random.normal(size=(1, clusters)) + 9, np.ones((1, clusters))], axis=-1)
        return Sums(pl.DataFrame({"n": [1]}), {TEMPLATES: Along(units, values), **along}).named(
            measure
        )

    for model in models:
        values = common * random.random() + random.normal(size=(subjects, attributes, clusters))
        pairs = means(of_pairs, values.reshape(-1, clusters))
        signs = replace(
            means(of_pairs, np.sign(values).reshape(-1, clusters)), compares_models=False
        )
        parts = [
            means(names, values.mean(axis=1)).named("gamma"),
            pairs.named("gamma"),
            signs.named("eta"),
        ]
        parts += [of_cell("delta"), of_cell("epsilon")]
        made = table_provenance(of=f"{dataset}/{model}")
        cell = {"family": FAMILY, "options": {}}
        facts = made | {
            "sums": digest(made),
            "clusters": [*range(clusters)],
            "statistics": {},
            "cell": cell,
        }
        sums = cell_table(sums_table(parts), SUMS, model, dataset)
        write_table(sums, folder / f"sums/{dataset}/{model}.parquet", SUMS, made)
        for name, schema in (("measures", MEASURES), ("design", DESIGN)):
            write_table(
                empty_table(schema), folder / name / dataset / f"{model}.parquet", schema, facts
            )
    return models


def timed(send: Any, dataset: str) -> None:
    """Sends how many differences there are, how many are kept, the seconds of each part, and the
    peak memory.
    """
    from biasgrid.stats.compare.all_pairs import compare_models
    from biasgrid.stats.compare.results import read_cells
    from biasgrid.stats.settings import StatisticsSettings
    from biasgrid.tables.comparison import COMPARISONS
    from biasgrid.tables.files import write_table

    with TemporaryDirectory() as name:
        models = write_cells(Path(name), dataset)
        times = [time.process_time()]
        cells = read_cells(Path(name), dataset, models)
        times.append(time.process_time())
        found = compare_models(dataset, cells, StatisticsSettings()).comparisons
        times.append(time.process_time())
        write_table(found, Path(name, "comparisons.parquet"), COMPARISONS, {})
        times.append(time.process_time())
    tests = MODELS * (MODELS - 1) // 2 * len(cells[0].numbers)
    seconds = [later - earlier for earlier, later in pairwise(times)]
    send.send(
        (tests, len(found), seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    )


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
    print_table(
        ["dataset", "differences", "kept", "read", "compare", "write", "seconds in all", "peak MB"],
        table,
    )


if __name__ == "__main__":
    main()
