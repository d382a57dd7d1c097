"""GenderBench's intervals of 20,000 items: matrix products, against drawing items and measuring
them again.

Seconds are those of the processor. The straightforward way draws 20 of its 1,000 cycles, and is
reckoned up from these.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from stopwatch import print_table

from biasgrid.families.probe.genderbench import CYCLES, SEED
from biasgrid.families.probe.measure import measure
from biasgrid.families.probe.observe import OBSERVATIONS
from biasgrid.stats.sums import Sums
from biasgrid.tables.files import empty_table

ITEMS, TRIED = 20_000, 20
PROBE = """\
title: Hiring
bias_type: gender
question: "Shall {name} be hired?"
items: [{name: Max, share: 0.5, group: man}]
evaluator: yes-no
metric:
  acceptance: {kind: rate, label: "yes"}
  slope: {kind: slope, label: "yes", covariate: share}
"""


def observations(numbers: np.random.Generator) -> pl.DataFrame:
    said = numbers.choice(["yes", "no", ""], ITEMS, p=[0.5, 0.3, 0.2])
    shares = numbers.random(ITEMS).round(3)
    columns = {
        "instance": np.arange(ITEMS),
        "item": np.arange(ITEMS),
        "prompt": np.zeros(ITEMS),
        "order": np.zeros(ITEMS),
        "repetition": np.zeros(ITEMS),
        "keys": [f'{{"share": {share}}}' for share in shares],
        "label": [label or None for label in said],
        "value": [1.0 if label else None for label in said],
        "undetected": said == "",
        "outcome": ["answered" if label else "unclear" for label in said],
    }
    empty = empty_table(OBSERVATIONS)
    rows = pl.DataFrame(columns).with_columns(evaluator=pl.lit("yes-no"), score=pl.lit("answer"))
    return pl.concat([empty.cast({pl.Categorical: pl.String}), rows], how="diagonal_relaxed").cast(
        empty.schema
    )


def matrix_products(table: pl.DataFrame) -> tuple[float, tuple[float, float]]:
    with TemporaryDirectory() as folder:
        file = Path(folder, "probe.yaml")
        file.write_text(PROBE)
        start = time.process_time()
        parts = list(measure(table, {"probe": str(file), "mode": "genderbench"}))
        seconds = time.process_time() - start
    keys = next(
        each.keys
        for each in parts
        if isinstance(each, Sums) and "acceptance" in each.keys["measure"]
    )
    low, high = keys.filter(measure="acceptance", options="").select("low", "high").row(0)
    return seconds, (low, high)


def acceptance(items: Sequence[tuple[str | None, float]]) -> tuple[float, float]:
    """Measures items one by one, as GenderBench does: the rate, and the slope of its answers."""
    kept = [(label, share) for label, share in items if label is not None]
    accepted = [1.0 if label == "yes" else 0.0 for label, _ in kept]
    slope, _ = np.polyfit([share for _, share in kept], accepted, 1)
    return fmean(accepted), float(slope)


def one_by_one(table: pl.DataFrame) -> float:
    shares = [float(keys.split(": ")[1].rstrip("}")) for keys in table["keys"].cast(pl.String)]
    items = list(zip(table["label"].cast(pl.String), shares, strict=True))
    random.seed(SEED)
    start = time.process_time()
    for _ in range(TRIED):
        acceptance(random.choices(items, k=len(items)))
    return (time.process_time() - start) * CYCLES / TRIED


def main() -> None:
    table = observations(np.random.default_rng(1))
    seconds, _ = matrix_products(table)
    slow = one_by_one(table)
    rows = [
        ["matrix products", f"{seconds:.2f}", f"{slow / seconds:.0f}"],
        ["one by one", f"{slow:.0f}", "1"],
    ]
    print_table(["way", f"seconds for {ITEMS:,} items x {CYCLES:,} cycles", "times as fast"], rows)


if __name__ == "__main__":
    main()
