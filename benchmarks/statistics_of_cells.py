"""Numbers of full underspecified cells on random predictions: the processor's time for each step,
on one core.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from typing import Any

DATASETS = ("gender", "nationality", "religion")
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def timed(send: Any, dataset: str) -> None:
    """Sends how many swap groups a cell has, the seconds of each step, and the peak memory before
    and after.
    """
    groups, clusters = observed(dataset)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    seconds = {name: processor_seconds(part) for name, part in parts_of(groups, clusters).items()}
    send.send(
        (len(groups), seconds, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    )


def processor_seconds(work: Callable[[], Any]) -> float:
    """Returns how long a processor is at some work, whatever else the machine does."""
    start = time.process_time()
    work()
    return time.process_time() - start


def observed(dataset: str) -> tuple[Any, list[int]]:
    """Returns the swap groups of a dataset as a random model answers them, and the clusters of its
    templates.
    """
    import numpy as np
    import polars as pl

    from biasgrid.config import parse_config, read_config
    from biasgrid.families.underspecified.ask import expand
    from biasgrid.families.underspecified.observe import (
        SWAP_GROUP_COLUMNS,
        SWAP_GROUP_KEYS,
        compare_subjects,
    )
    from biasgrid.families.underspecified.read import read
    from biasgrid.stats.clusters import clusters_from_texts

    config = parse_config(read_config("config/config.yaml"), "config/config.yaml")
    lists, faults = read(config.files(dataset, "qa"))
    assert not faults
    instances = pl.concat(
        part.select("instance", *SWAP_GROUP_KEYS, *SWAP_GROUP_COLUMNS)
        for part in expand(lists).parts
    )
    random = np.random.default_rng(1)
    ends = {
        name: pl.Series(random.random((len(instances), 2), dtype=np.float32))
        for name in ("starts", "ends")
    }
    predictions = instances.select(
        "instance", **{name: each.arr.to_list() for name, each in ends.items()}
    )
    return compare_subjects(instances, predictions, "exact"), clusters_from_texts(
        [each.text for each in lists.templates], "auto"
    )


def parts_of(observations: Any, clusters: list[int]) -> dict[str, Callable[[], Any]]:
    """Returns the steps from the swap groups of a cell to its numbers; each needs those before
    it.
    """
    from biasgrid.base.references import load, stage_module
    from biasgrid.families.estimates import with_estimate_columns
    from biasgrid.families.underspecified.family import DEFINITIONS
    from biasgrid.stats.estimate import estimate
    from biasgrid.stats.settings import StatisticsSettings
    from biasgrid.stats.sums import read_cell_sums, sums_table

    family = "biasgrid.families.underspecified"
    stages = load(stage_module(family, "measures"))
    options: dict[str, Any] = {"measures": []}
    units = {name: measure.unit for name, measure in DEFINITIONS.select("measures").items()}
    settings, made = StatisticsSettings(clusters=clusters, units=units), dict[str, Any]()

    def keep(name: str, work: Callable[[], Any]) -> Callable[[], None]:
        return lambda: made.update({name: work()})

    return {
        "sums": keep("sums", lambda: list(stages.measure(observations, options))),
        "table": keep("table", lambda: sums_table(made["sums"])),
        "read": keep("parts", lambda: read_cell_sums(family, made["table"], options)[0]),
        "intervals": keep(
            "estimates", lambda: with_estimate_columns(estimate(made["parts"], settings))
        ),
        "derived": lambda: stages.derive(made["estimates"], made["parts"], options, settings),
    }


def main() -> None:
    from stopwatch import print_table

    os.environ |= dict.fromkeys(THREADS, "1")
    context, table, names = multiprocessing.get_context("spawn"), [], []
    for dataset in DATASETS:
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=timed, args=(send, dataset))
        process.start()
        groups, seconds, before, peak = receive.recv()
        process.join()
        names = list(seconds)
        times = [f"{each:.2f}" for each in (*seconds.values(), sum(seconds.values()))]
        table.append([dataset, f"{groups:,}", *times, f"{peak:,.0f}", f"{before:,.0f}"])
    print_table(
        ["dataset", "swap groups", *names, "seconds in all", "peak MB", "before, MB"], table
    )


if __name__ == "__main__":
    main()
