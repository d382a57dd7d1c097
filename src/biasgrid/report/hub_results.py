"""Numbers for a benchmark's leaderboard on the hub: entries of `.eval_results/*.yaml` in a model's
repository.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from biasgrid.base.faults import Fault, InputError, first_few, unknown_names
from biasgrid.tables.claims.numbers import format_number

OPTION = "--benchmark"
BENCHMARK = re.compile(
    r"(?P<dataset>[^=]+)=(?P<hub>[\w.-]+/[\w.-]+):(?P<task>[^:]+)(?::(?P<measure>\w+))?"
)
EXPECTED = (
    "DATASET=OWNER/NAME:TASK or DATASET=OWNER/NAME:TASK:MEASURE, "
    "such as bbq=someone/bbq:{bias_type}"
)
BIAS_TYPE = "{bias_type}"
"""What stands in a task for the bias type, where a dataset has numbers of several."""


class Benchmark(NamedTuple):
    """What a dataset of a config is on the hub.

    Attributes:
        dataset: its name in the config.
        hub: the benchmark's dataset on the hub.
        task: the id of a task in its `eval.yaml`; may hold `BIAS_TYPE`.
        measure: whose numbers are given; None for the first headline.
    """

    dataset: str
    hub: str
    task: str
    measure: str | None

    @classmethod
    def of(cls, text: str) -> Benchmark:
        """Reads the option.

        Raises:
            InputError: it is of another form.
        """
        found = BENCHMARK.fullmatch(text)
        if found is None:
            raise InputError([Fault(OPTION, "", repr(text), EXPECTED)])
        return cls(**found.groupdict())


def hub_files(
    benchmarks: Sequence[Benchmark], rows: pl.DataFrame, manifest: Mapping[str, Any], level: float
) -> dict[str, str]:
    """Returns the files of `.eval_results/` by their names: the numbers of a model on benchmarks of
    the hub.

    Only who knows the hub can say which of its datasets a config's is, and whether it is a
    registered benchmark.

    Args:
        benchmarks: what datasets are on the hub.
        rows: the headlines of the model (schema `SUMMARY`).
        manifest: what the run has made.
        level: the coverage of intervals.

    Raises:
        InputError: there is no such dataset or number, or several would stand in one place.
    """
    entries: dict[str, list[EvalResultEntry]] = defaultdict(list)
    for one in benchmarks:
        entries[one.dataset] += entries_of(one, rows, manifest, level)
    places = Counter(
        (entry.dataset_id, entry.task_id) for part in entries.values() for entry in part
    )
    if repeated := [f"{task} of {hub}" for (hub, task), count in places.items() if count > 1]:
        raise InputError(
            [
                Fault(
                    OPTION,
                    "",
                    f"several numbers for the task {repeated[0]}",
                    "one number for each task",
                )
            ]
        )
    return {
        f"{dataset}.yaml": yaml.safe_dump(eval_result_entries_to_yaml(part), sort_keys=False)
        for dataset, part in entries.items()
    }


def entries_of(
    benchmark: Benchmark, rows: pl.DataFrame, manifest: Mapping[str, Any], level: float
) -> Iterator[EvalResultEntry]:
    """Yields the entries of a benchmark: a number of each bias type."""
    faults = list(
        unknown_names(OPTION, "", [benchmark.dataset], rows["dataset"].unique(maintain_order=True))
    )
    known = rows.filter(dataset=benchmark.dataset)
    names = known["measure"].unique(maintain_order=True).to_list()
    measure = benchmark.measure or (names[0] if names else "")
    faults += [] if faults else unknown_names(OPTION, "", [measure], names)
    is_split = BIAS_TYPE in benchmark.task
    chosen = known.filter(measure=measure).drop_nulls(
        ["value", "bias_type"] if is_split else "value"
    )
    if not faults and chosen.is_empty():
        problem = (
            f"{measure} of {benchmark.dataset} has no value{' of a bias type' if is_split else ''}"
        )
        faults.append(Fault(OPTION, "", problem, f"a number: {first_few(names)}"))
    tasks = [benchmark.task.replace(BIAS_TYPE, row or "") for row in chosen["bias_type"]]
    if len({*tasks}) < len(tasks):
        types = first_few(
            [" ".join(filter(None, row)) for row in chosen.select("bias_type", "options").rows()]
        )
        problem = (
            f"{measure} of {benchmark.dataset} has {len(chosen)} numbers ({types}) for one task"
        )
        faults.append(
            Fault(
                OPTION,
                "",
                problem,
                f"a task that contains {BIAS_TYPE}, or a dataset of one category",
            )
        )
    if faults:
        raise InputError(faults)
    for row, task in zip(chosen.iter_rows(named=True), tasks, strict=True):
        notes = notes_of(row, level, manifest["biasgrid"])
        yield EvalResultEntry(
            dataset_id=benchmark.hub, task_id=task, value=row["value"], notes=notes
        )


def notes_of(row: Mapping[str, Any], level: float, version: str) -> str:
    """Returns what a number is and how sure: the format has no place for that but this text."""
    ends = [format_number(row[name]) for name in ("low", "high")]
    interval = (
        f", {100 * level:g} % CI {' to '.join(ends)} over {row['generalises_to']}"
        if row["low"] is not None
        else ""
    )
    clusters = f" ({row['clusters']} clusters)" if interval and row["clusters"] else ""
    options = f" ({row['options']})" if row["options"] else ""
    part = f" of {row['bias_type']}" if row["bias_type"] else ""
    return f"{row['measure']}{options}{part}{interval}{clusters}; biasgrid {version}"
