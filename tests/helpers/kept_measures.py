"""The values of a demo as they were when its models were last made, and where they can be had again.

After `make demo`, `PYTHONPATH=tests/helpers python tests/helpers/kept_measures.py results/demo` keeps its values; after
`biasgrid demo --full`, with `results/demo-full`, those of the full one.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path

import polars as pl
import torch

from biasgrid.tables.files import read_tables
from biasgrid.tables.measures import MEASURE_KEYS, MEASURES, SYNTHETIC


def kept_values(results: Path) -> Path:
    """Names the file for a folder of results: values of each `model`, and of each `strength` the known effect.

    Its metadata name the models' weights and their machine.
    """
    return Path(__file__).parents[1] / "workflow/kept" / f"{results.name}.parquet"


def machine() -> str:
    """Digests what decides how numbers are rounded: the kind of processor, and torch."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    kind = sorted({line for line in info.splitlines() if line.startswith(("model name", "flags"))})
    return sha256("\n".join([*kind, torch.__version__]).encode()).hexdigest()[:16]


def can_be_compared(results: Path) -> bool:
    """Says whether a run's models must be the kept ones: their weights are, or they were trained on such a machine."""
    kept = pl.read_parquet_metadata(kept_values(results))
    return weights_of(results).items() >= json.loads(kept["weights"]).items() or machine() == kept["machine"]


def weights_of(results: Path) -> dict[str, str]:
    """Returns the digests of the weights of a run's models, by name."""
    return {path.stem: json.loads(path.read_text())["weights"] for path in sorted((results / "models").glob("*.json"))}


def keep(results: Path) -> None:
    """Keeps the values of a run."""
    columns = ["dataset", "measure", "options", *MEASURE_KEYS, "value"]
    measures = read_tables(sorted(results.glob("measures/*/*.parquet")), MEASURES).select("model", *columns)
    synthetic = read_tables(sorted(results.glob("synthetic/*/synthetic.parquet")), SYNTHETIC)
    rows = pl.concat([synthetic.select("strength", *columns), measures], how="diagonal_relaxed")
    table = rows.select("strength", "model", *columns).drop_nulls("value").cast({pl.Categorical: pl.String})
    facts = {"machine": machine(), "weights": json.dumps(weights_of(results), sort_keys=True)}
    table.write_parquet(kept_values(results), compression="zstd", compression_level=19, metadata=facts)


def differing(results: Path, made: pl.DataFrame, keys: list[str], tolerance: float) -> pl.DataFrame:
    """Returns the kept rows that have these keys and, in another table, another value or none."""
    kept = pl.read_parquet(kept_values(results)).filter(pl.col(keys[0]).is_not_null()).select(*keys, "value")
    both = kept.join(made, on=keys, how="left", nulls_equal=True, validate="1:1", suffix="_made")
    return both.filter(((pl.col("value_made") - pl.col("value")).abs() <= tolerance).fill_null(False).not_())


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
