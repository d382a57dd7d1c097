"""The list of faults in faults.csv: each keeps its test, whichever tests are merged, moved or
removed.
"""

import ast
import csv
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
COLUMNS = ["class", "broken", "test", "asserted"]


def rows() -> list[dict[str, str]]:
    with (ROOT / "tests/faults.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def functions_of(file: str) -> set[str]:
    """Names of a file's functions, read without importing it; none, where there is no such file."""
    path = ROOT / file
    return (
        {node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")}
        if path.exists()
        else set()
    )


def test_each_fault_has_a_test() -> None:
    named = [row["test"].partition("::") for row in rows()]
    assert [
        "::".join((file, name)) for file, _, name in named if name not in functions_of(file)
    ] == []
    assert all(name.startswith("test_") for _, _, name in named)


def test_each_fault_is_described_once() -> None:
    broken = [row["broken"] for row in rows()]
    assert len(broken) == len({*broken})
    assert [row for row in rows() if [*row] != COLUMNS or not all(row.values())] == []
