"""Statements, 869,400 of them: expanded in columns, against a loop over combinations that keeps its
rows as APES does.

Seconds are those of the processor, on which other work on the machine has little influence. Memory
is what a process has at most beside what it has after a pack of a few statements: libraries, and
what they set up.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd
from stopwatch import measure, print_table

from biasgrid.families.statement.ask import expand
from biasgrid.families.statement.pack import StatementFiles
from biasgrid.families.statement.read import read

PEOPLE, JOBS = 70, 90
COLUMNS = (
    "template_id",
    "template_text",
    "param_1",
    "param_2",
    "param_3",
    "constraints",
    "label",
    "negation_of",
)
TEMPLATES = (
    ("better", "#1 are better #2 than #3.", "people", "jobs", "people", "neq(#1, #3)", "No", ""),
    (
        "not-better",
        "#1 are not better #2 than #3.",
        "people",
        "jobs",
        "people",
        "neq(#1, #3)",
        "Yes",
        "better",
    ),
)
FILL = ("#1", "#2", "#3")


def write_files(folder: Path, as_original: bool, people: int) -> StatementFiles:
    (folder / "domains").mkdir()
    for domain, count in (("people", people), ("jobs", JOBS)):
        lines = (f"{domain} number {value},class {value % 7}\n" for value in range(count))
        (folder / "domains" / f"{domain}.txt").write_text("".join(lines))
    pd.DataFrame(TEMPLATES, columns=list(COLUMNS)).to_csv(folder / "templates.csv", index=False)
    return StatementFiles(
        folder / "templates.csv",
        folder / "domains",
        "apes" if as_original else None,
        1,
        None,
        None,
        "{statement} Yes or No?",
    )


def columnar(as_original: bool, people: int = PEOPLE) -> float:
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), as_original, people)
        start = time.process_time()
        pack, faults = read(files)
        count = sum(len(part) for part in expand(pack).parts)
        seconds = time.process_time() - start
    assert not faults
    assert count == rows(people)
    return seconds


def statements(values: Sequence[Sequence[dict[str, str]]]) -> Iterator[dict[str, str]]:
    for identifier, text, *_, label, _ in TEMPLATES:
        for combination in product(*values):
            if combination[0]["name"] == combination[2]["name"]:
                continue
            row, prompt = {"template_id": identifier}, text
            for place, (slot, value) in enumerate(zip(FILL, combination, strict=True), start=1):
                prompt = prompt.replace(slot, value["name"])
                row |= {
                    f"param_{place}_name": value["name"],
                    f"param_{place}_class": value["class"],
                }
            yield row | {"prompt": f"{prompt} Yes or No?", "label": label}


def loop(people: int = PEOPLE) -> float:
    values = [
        [
            {"name": f"{domain} number {value}", "class": f"class {value % 7}"}
            for value in range(count)
        ]
        for domain, count in (("people", people), ("jobs", JOBS))
    ]
    start = time.process_time()
    frame = pd.DataFrame(list(statements((values[0], values[1], values[0]))))
    assert len(frame) == rows(people)
    return time.process_time() - start


def rows(people: int) -> int:
    return 2 * people * (people - 1) * JOBS


def main() -> None:
    ways: dict[str, Callable[..., float]] = {
        "columns, as APES reads": partial(columnar, as_original=True),
        "columns, negations beside": partial(columnar, as_original=False),
        "loop": loop,
    }
    found = {}
    for way, work in ways.items():
        few, (seconds, megabytes) = measure(partial(work, people=3)), measure(work)
        found[way] = seconds, megabytes - few[1]
    slowest, most = found["loop"]
    table = [
        [
            way,
            f"{rows(PEOPLE):,}",
            f"{seconds:.2f}",
            f"{rows(PEOPLE) / seconds:,.0f}",
            f"{megabytes:.0f}",
            f"{slowest / seconds:.1f}",
            f"{megabytes / most:.3f}",
        ]
        for way, (seconds, megabytes) in found.items()
    ]
    print_table(
        ["way", "statements", "seconds", "statements/s", "MB", "times as fast", "of the memory"],
        table,
    )


if __name__ == "__main__":
    main()
