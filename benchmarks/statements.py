"""869,400 statements: expanded in columns, against a loop over combinations that keeps its rows as APES does."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd
from stopwatch import measure, print_table, seconds_of

from biasgrid.families.statement.expand import expand
from biasgrid.families.statement.packs.pack import PackFiles
from biasgrid.families.statement.reading import read
from biasgrid.tables.files import write_table_in_parts

PEOPLE, JOBS = 70, 90
COLUMNS = ("template_id", "template_text", "param_1", "param_2", "param_3", "constraints", "label", "negation_of")
TEMPLATES = (
    ("better", "#1 are better #2 than #3.", "people", "jobs", "people", "neq(#1, #3)", "No", ""),
    ("not-better", "#1 are not better #2 than #3.", "people", "jobs", "people", "neq(#1, #3)", "Yes", "better"),
)
FILL = ("#1", "#2", "#3")


def write_files(folder: Path, as_original: bool) -> PackFiles:
    (folder / "domains").mkdir()
    for domain, count in (("people", PEOPLE), ("jobs", JOBS)):
        lines = (f"{domain} number {value},class {value % 7}\n" for value in range(count))
        (folder / "domains" / f"{domain}.txt").write_text("".join(lines))
    pd.DataFrame(TEMPLATES, columns=list(COLUMNS)).to_csv(folder / "templates.csv", index=False)
    return PackFiles(folder / "templates.csv", folder / "domains", as_original, 1, None, None, "{statement} Yes or No?")


def columnar(as_original: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), as_original)

        def work() -> None:
            pack, faults = read(files)
            assert not faults
            expansion = expand(pack)
            write_table_in_parts(expansion.parts, Path(folder, "instances.parquet"), expansion.schema, {})

        seconds = seconds_of(work)
        print(f"columnar: {Path(folder, 'instances.parquet').stat().st_size / rows():.1f} bytes a row", flush=True)
    return seconds


def statements(values: Sequence[Sequence[dict[str, str]]]) -> Iterator[dict[str, str]]:
    for identifier, text, *_, label, _ in TEMPLATES:
        for combination in product(*values):
            if combination[0]["name"] == combination[2]["name"]:
                continue
            row, prompt = {"template_id": identifier}, text
            for place, (slot, value) in enumerate(zip(FILL, combination, strict=True), start=1):
                prompt = prompt.replace(slot, value["name"])
                row |= {f"param_{place}_name": value["name"], f"param_{place}_class": value["class"]}
            yield row | {"prompt": f"{prompt} Yes or No?", "label": label}


def loop() -> float:
    people, jobs = (
        [{"name": f"{domain} number {value}", "class": f"class {value % 7}"} for value in range(count)]
        for domain, count in (("people", PEOPLE), ("jobs", JOBS))
    )
    with tempfile.TemporaryDirectory() as folder:

        def work() -> None:
            pd.DataFrame(list(statements((people, jobs, people)))).to_csv(Path(folder, "examples.csv"), index=False)

        return seconds_of(work)


def nothing() -> float:
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_utime)


def rows() -> int:
    return 2 * PEOPLE * (PEOPLE - 1) * JOBS


def main() -> None:
    _, idle = measure(nothing)
    ways: dict[str, Callable[[], float]] = {
        "columnar, as APES reads": partial(columnar, as_original=True),
        "columnar, negations beside": partial(columnar, as_original=False),
        "loop": loop,
    }
    found = {way: measure(work) for way, work in ways.items()}
    slowest, most = found["loop"][0], found["loop"][1] - idle
    table = [
        [
            way,
            f"{rows():,}",
            f"{seconds:.2f}",
            f"{rows() / seconds:,.0f}",
            f"{megabytes - idle:.0f}",
            f"{slowest / seconds:.1f}",
            f"{(megabytes - idle) / most:.2f}",
        ]
        for way, (seconds, megabytes) in found.items()
    ]
    header = ["way", "statements", "seconds", "statements/s", "MB beside imports", "times as fast", "of the memory"]
    print_table(header, table)


if __name__ == "__main__":
    main()
