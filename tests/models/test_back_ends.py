"""The registry of back ends."""

import subprocess
import sys

import pytest

from biasgrid.models.back_ends import BACK_ENDS, back_end_of, modules_of
from biasgrid.tables.answers import schema_of

HEAVY = ("torch", "transformers", "polars", "pandera", "numpy")


@pytest.mark.parametrize("task", BACK_ENDS)
def test_back_ends_and_the_schemas_of_their_answers_are_found_by_name(task: str) -> None:
    module, kind = modules_of(task)
    assert back_end_of(task).__module__ == f"biasgrid.{module}"
    assert schema_of(kind.removeprefix("tables.answers.")).columns


@pytest.mark.parametrize("imported", ["models.back_ends", "models.predict"])
def test_no_back_end_is_imported_before_it_is_named(imported: str) -> None:
    check = f"import sys, biasgrid.{imported}; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    loaded = set(output.split())
    assert not loaded & {f"biasgrid.{modules_of(task)[0]}" for task in BACK_ENDS}
    if imported == "models.back_ends":
        assert not loaded & set(HEAVY)
