"""Most memory of the stages behind the predictions of a cell at 5.5 and 55 million rows: it should
not grow with them.

The gender dataset of question answering in full, and with ten times its templates, in other words;
answers are random. Each stage runs in a process of its own, on two threads of polars:

    python benchmarks/memory_of_measure.py [--times 1 10] [--of templates] [--folder FOLDER]

`--of attributes` asks of ten times the attributes in place of templates. The sums of a cell, which
the table `sums` keeps, are about each subject, partner and attribute: with more of these there are
more of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from stopwatch import peak_mb, print_growth

OPTIONS = {"task": "question-answering", "scoring": "exact", "measures": []}
FAMILY = "biasgrid.families.underspecified"
GENDER_ROWS = 5_488_000


def lists_of(times: int, of: str) -> Any:
    """Returns the word lists of gender with each template, or each attribute, several times."""
    from expansion import again, gender

    lists, numbers = gender(), range(times)
    if of == "attributes":
        several = {
            kind: [again(row, number) if number else row for number in numbers for row in rows]
            for kind, rows in lists.attributes.items()
        }
        return replace(lists, attributes=several)
    templates = [
        replace(each, context=f"{each.context} {number}") if number else each
        for number in numbers
        for each in lists.templates
    ]
    return replace(lists, templates=templates)


def make_cell(folder: Path, times: int, of: str) -> None:
    """Writes instances and random predictions, part by part."""
    import numpy as np
    import polars as pl

    from biasgrid.families.underspecified.ask import expand
    from biasgrid.tables.files import write_table_in_parts
    from biasgrid.tables.schema import answer_schema

    expansion, random = expand(lists_of(times, of)), np.random.default_rng(1)
    write_table_in_parts(expansion.parts, folder / "instances.parquet", expansion.schema, {})

    def predictions() -> Iterator[pl.DataFrame]:
        for start in range(0, times * GENDER_ROWS, GENDER_ROWS // 4):
            numbers = pl.int_range(
                start, start + GENDER_ROWS // 4, dtype=pl.UInt32, eager=True
            ).alias("instance")
            ends = [
                pl.Series(name, random.random((len(numbers), 2), dtype=np.float32))
                for name in ("starts", "ends")
            ]
            yield numbers.to_frame().with_columns(
                *(each.arr.to_list() for each in ends),
                answer=pl.lit("someone", pl.Categorical),
                probability=pl.lit(None, pl.Float32),
                unknown=pl.lit(value=False),
            )

    write_table_in_parts(predictions(), folder / "predictions.parquet", answer_schema("span"), {})


def measure(folder: Path) -> None:
    """Measures the cell and writes its tables, as rule measure does."""
    from biasgrid.families.cell import measure_cell
    from biasgrid.families.underspecified.family import DEFINITIONS
    from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
    from biasgrid.tables.files import write_table
    from biasgrid.tables.sums import SUMS

    paths, names = (
        (folder / "instances.parquet", [folder / "predictions.parquet"]),
        DEFINITIONS.select("measures", "flags"),
    )
    found = measure_cell(FAMILY, *paths, "span", OPTIONS, list(names), "random", "gender")
    for name, table, schema in (
        ("sums", found.sums, SUMS),
        ("evidence", found.evidence, EVIDENCE),
        ("parts", found.parts, EVIDENCE_PARTS),
    ):
        write_table(table, folder / f"{name}.parquet", schema, {})


def estimate(folder: Path) -> None:
    """Makes the measures of the sums, as rule statistics does, and writes them."""
    from biasgrid.families.estimates import estimate_cell
    from biasgrid.families.underspecified.family import DEFINITIONS
    from biasgrid.stats.settings import StatisticsSettings
    from biasgrid.tables.files import read_table, write_table
    from biasgrid.tables.measures import DESIGN, MEASURES
    from biasgrid.tables.metric import MetricDefinitions
    from biasgrid.tables.provenance import digest
    from biasgrid.tables.sums import SUMS

    units = {name: measure.unit for name, measure in DEFINITIONS.select("measures").items()}
    sums, declared = read_table(folder / "sums.parquet", SUMS), MetricDefinitions([], {}, {})
    found = estimate_cell(FAMILY, sums, OPTIONS, declared, StatisticsSettings(units=units))
    cell = {"family": FAMILY, "options": OPTIONS}
    facts = {"sums": digest({}), "clusters": [], "statistics": {}, "cell": cell}
    write_table(found.measures, folder / "measures.parquet", MEASURES, facts)
    write_table(found.design, folder / "design.parquet", DESIGN, facts)


def compare(folder: Path) -> None:
    """Compares the model with itself under another name, as rule compare does."""
    from biasgrid.stats.compare.all_pairs import compare_models
    from biasgrid.stats.compare.cells import read_compared_cell
    from biasgrid.stats.settings import StatisticsSettings

    files = [folder / f"{name}.parquet" for name in ("sums", "measures", "design")]
    cells = [read_compared_cell(model, *files) for model in ("one", "other")]
    compare_models("gender", cells, StatisticsSettings())


def read(folder: Path) -> None:
    """Reads the columns that measures need, all at once."""
    import polars as pl

    from biasgrid.families.underspecified.observe import READ, SAID

    for name, columns in (("instances", READ), ("predictions", SAID)):
        path = folder / f"{name}.parquet"
        pl.read_parquet(
            path, columns=[each for each in columns if each in pl.read_parquet_schema(path)]
        )


STAGES: dict[str, Callable[[Path], None]] = {
    "measure": measure,
    "statistics": estimate,
    "compare, two models": compare,
    "bare reading of the columns that measures need": read,
}


def in_process(stage: str, folder: Path) -> dict[str, float]:
    """Runs a stage in a process of its own; returns its most memory in MB, and its seconds of the
    processor.
    """
    command = [sys.executable, __file__, "--once", stage, str(folder)]
    done = subprocess.run(
        command, env=os.environ | {"POLARS_MAX_THREADS": "2"}, check=True, stdout=subprocess.PIPE
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--times", type=int, nargs="+", default=[1, 10], help="how often each template is there"
    )
    parser.add_argument(
        "--of",
        choices=["templates", "attributes"],
        default="templates",
        help="what there is more of",
    )
    parser.add_argument(
        "--folder", type=Path, help="where cells are kept for another time; nowhere without it"
    )
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        start = time.process_time()
        STAGES[given.once[0]](Path(given.once[1]))
        print(json.dumps({"peak_mb": peak_mb(), "seconds": time.process_time() - start}))
        return
    found: dict[str, list[dict[str, float]]] = {name: [] for name in STAGES}
    with tempfile.TemporaryDirectory() as temporary:
        for times in given.times:
            folder = (given.folder or Path(temporary)) / f"{given.of}-{times}"
            if not folder.exists():
                folder.mkdir(parents=True)
                make_cell(folder, times, given.of)
            for name, runs in found.items():
                runs.append(in_process(name, folder))
                print(name, times, runs[-1], file=sys.stderr, flush=True)
    rows = [f"{GENDER_ROWS * times:,} rows" for times in given.times]
    print_growth(rows, found)


if __name__ == "__main__":
    main()
