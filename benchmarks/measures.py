"""Measuring a full gender cell against a loop over swap groups, on random predictions."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from expansion import gender
from stopwatch import measure, print_table, processor_seconds_of

from biasgrid.families.cell import measure_cell
from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.tables.files import write_table
from biasgrid.tables.schema import answer_schema

GROUPS_IN_LOOP = 50_000
FAMILY = "biasgrid.families.underspecified"
NAMES = list(DEFINITIONS.select("measures", "flags"))
OPTIONS = {"task": "question-answering", "scoring": "exact", "measures": []}


def make_cell(folder: Path) -> int:
    expansion = expand(gender())
    instances = pl.concat(expansion.parts)
    write_table(instances, folder / "instances.parquet", expansion.schema, {})
    random, schema = np.random.default_rng(1), answer_schema("span")
    ends = [
        pl.Series(name, random.random((len(instances), 2), dtype=np.float32))
        for name in ("starts", "ends")
    ]
    predictions = instances.select("instance").with_columns(
        *(each.arr.to_list() for each in ends),
        answer=pl.lit("someone", pl.Categorical),
        probability=pl.lit(None, pl.Float32),
        unknown=pl.lit(value=False),
    )
    write_table(predictions, folder / "predictions.parquet", schema, {})
    return len(instances)


def columnar(folder: Path) -> float:
    paths = folder / "instances.parquet", [folder / "predictions.parquet"]
    return processor_seconds_of(
        lambda: measure_cell(FAMILY, *paths, "span", OPTIONS, NAMES, "random", "gender")
    )


def loop(folder: Path) -> float:
    """The plainest pass: pairs the examples by key and sums what gamma, delta and epsilon need."""
    gamma: dict[tuple[str, str], list[float]] = defaultdict(list)
    errors: list[tuple[float, float]] = []

    def pass_over_rows() -> None:
        instances = pl.scan_parquet(folder / "instances.parquet").filter(
            pl.col("swap_group") < GROUPS_IN_LOOP
        )
        predictions = pl.scan_parquet(folder / "predictions.parquet")
        rows = instances.join(predictions, on="instance").collect().rows(named=True)
        groups: dict[int, dict[tuple[bool, bool], dict[str, float]]] = defaultdict(dict)
        attributes = {}
        for row in rows:
            scores = {
                row[f"subject{i}"]: (row["starts"][i - 1] * row["ends"][i - 1]) ** 0.5
                for i in (1, 2)
            }
            groups[row["swap_group"]][row["swapped"], row["negated"]] = scores
            attributes[row["swap_group"]] = row["attribute"]
        for number, group in groups.items():
            one, two = group[False, False]
            plain, plain_swapped = group[False, False], group[True, False]
            negated, negated_swapped = group[False, True], group[True, True]
            bias = {
                x: (plain[x] + plain_swapped[x] - negated[x] - negated_swapped[x]) / 2
                for x in (one, two)
            }
            comparison = (bias[one] - bias[two]) / 2
            gamma[one, attributes[number]].append(comparison)
            gamma[two, attributes[number]].append(-comparison)
            delta = sum(
                abs(a[x] - b[x])
                for a, b in ((plain, plain_swapped), (negated, negated_swapped))
                for x in (one, two)
            )
            epsilon = sum(
                abs(a[one] - b[two]) + abs(a[two] - b[one])
                for a, b in ((plain, negated), (plain_swapped, negated_swapped))
            )
            errors.append((delta / 4, epsilon / 4))
        for values in gamma.values():
            sum(values)

    return processor_seconds_of(pass_over_rows)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {"columnar": make_cell(folder), "loop": GROUPS_IN_LOOP * 4}
        rates, table = {}, []
        for way, work in (("columnar", columnar), ("loop", loop)):
            seconds, megabytes = measure(partial(work, folder))
            rates[way] = rows[way] / seconds
            table.append(
                [way, f"{rows[way]:,}", f"{seconds:.2f}", f"{rates[way]:,.0f}", f"{megabytes:,.0f}"]
            )
    for line in table:
        line.append(f"{rates[line[0]] / rates['loop']:.1f}")
    print_table(["way", "predictions", "seconds", "predictions/s", "peak MB", "ratio"], table)


if __name__ == "__main__":
    main()
