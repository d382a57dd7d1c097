"""Numbers for benchmarks' leaderboards on the hub, which reads `.eval_results/*.yaml` of models."""

from __future__ import annotations

import re
from collections import Counter
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
"""Placeholder in a task for the bias type, for datasets with numbers of several."""


class Benchmark(NamedTuple):
    """A dataset of a config as a benchmark on the hub.

    Attributes:
        dataset: its name in the config.
        hub: the benchmark's dataset on the hub, as `OWNER/NAME`.
        task: the id of a task in its `eval.yaml`; may hold `BIAS_TYPE`.
        measure: the measure whose numbers are given; None for the first headline.
    """

    dataset: str
    hub: str
    task: str
    measure: str | None

    @classmethod
    def parse(cls, text: str) -> Benchmark:
        """Parses the value of the option; raises InputError unless it has the form `EXPECTED`."""
        match = BENCHMARK.fullmatch(text)
        if match is None:
            raise InputError([Fault(OPTION, "", repr(text), EXPECTED)])
        return cls(**match.groupdict())


def hub_files(
    benchmarks: Sequence[Benchmark], rows: pl.DataFrame, manifest: Mapping[str, Any], level: float
) -> dict[str, str]:
    """Returns the texts of files in `.eval_results/`, by name: a model's numbers on benchmarks.

    Args:
        benchmarks: the datasets that are benchmarks of the hub. Whether they are registered there
            is not checked.
        rows: the headlines of the model (schema `SUMMARY`); at least one of each dataset.
        manifest: the manifest of the run.
        level: the coverage of intervals.

    Raises:
        InputError: there is no such dataset or number, or several would have the same task.
    """
    entries_by_dataset: dict[str, list[EvalResultEntry]] = {}
    for benchmark in benchmarks:
        entries = entries_by_dataset.setdefault(benchmark.dataset, [])
        entries += benchmark_entries(benchmark, rows, manifest, level)
    files = {}
    task_counts: Counter[str] = Counter()
    for dataset, entries in entries_by_dataset.items():
        task_counts.update(f"{entry.task_id} of {entry.dataset_id}" for entry in entries)
        document = eval_result_entries_to_yaml(entries)
        files[f"{dataset}.yaml"] = yaml.safe_dump(document, sort_keys=False)
    for task, count in task_counts.items():
        if count > 1:
            problem = f"several numbers for the task {task}"
            raise InputError([Fault(OPTION, "", problem, "one number for each task")])
    return files


def benchmark_entries(
    benchmark: Benchmark, rows: pl.DataFrame, manifest: Mapping[str, Any], level: float
) -> Iterator[EvalResultEntry]:
    """Yields the entries of a benchmark, one for each bias type; see `hub_files`.

    Raises:
        InputError: there is no such dataset or number, or several would have the same task.
    """
    numbers = benchmark_rows(benchmark, rows)
    tasks = [benchmark.task.replace(BIAS_TYPE, name or "") for name in numbers["bias_type"]]
    if len(set(tasks)) < len(tasks):
        parts = numbers.select("bias_type", "options").rows()
        names = [" ".join(filter(None, part)) for part in parts]
        subject = f"{numbers['measure'][0]} of {benchmark.dataset}"
        problem = f"{subject} has {len(numbers)} numbers ({first_few(names)}) for one task"
        expected = f"a task that contains {BIAS_TYPE}, or a dataset of one category"
        raise InputError([Fault(OPTION, "", problem, expected)])
    for row, task in zip(numbers.iter_rows(named=True), tasks, strict=True):
        notes = number_note(row, level, manifest["biasgrid"])
        yield EvalResultEntry(
            dataset_id=benchmark.hub, task_id=task, value=row["value"], notes=notes
        )


def benchmark_rows(benchmark: Benchmark, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the headlines of a benchmark's measure that have a value.

    Args:
        benchmark: the benchmark. If its task has a place for the bias type, numbers of the whole
            dataset are left out.
        rows: the headlines of a model.

    Raises:
        InputError: there is no such dataset, measure or number.
    """
    datasets = rows["dataset"].unique(maintain_order=True)
    faults = list(unknown_names(OPTION, "", [benchmark.dataset], datasets))
    if faults:
        raise InputError(faults)
    dataset_rows = rows.filter(dataset=benchmark.dataset)
    measures = dataset_rows["measure"].unique(maintain_order=True).to_list()
    measure = benchmark.measure or measures[0]
    faults = list(unknown_names(OPTION, "", [measure], measures))
    if faults:
        raise InputError(faults)
    is_split = BIAS_TYPE in benchmark.task
    not_null = ["value", "bias_type"] if is_split else ["value"]
    numbers = dataset_rows.filter(measure=measure).drop_nulls(not_null)
    if numbers.is_empty():
        part = " of a bias type" if is_split else ""
        problem = f"{measure} of {benchmark.dataset} has no value{part}"
        raise InputError([Fault(OPTION, "", problem, f"a number: {first_few(measures)}")])
    return numbers


def number_note(row: Mapping[str, Any], level: float, version: str) -> str:
    """Returns a number's measure and interval in words, as the format has no fields for them."""
    interval, clusters = "", ""
    if row["low"] is not None:
        ends = f"{format_number(row['low'])} to {format_number(row['high'])}"
        interval = f", {100 * level:g} % CI {ends} over {row['generalises_to']}"
        if row["clusters"]:
            clusters = f" ({row['clusters']} clusters)"
    options = f" ({row['options']})" if row["options"] else ""
    part = f" of {row['bias_type']}" if row["bias_type"] else ""
    return f"{row['measure']}{options}{part}{interval}{clusters}; biasgrid {version}"
