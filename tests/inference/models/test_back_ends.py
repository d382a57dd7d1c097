"""The registry of back ends."""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from project import ROOT

from biasgrid.base.references import load_reference
from biasgrid.inference.engine.back_end import PromptPart
from biasgrid.inference.models.registry import BACK_ENDS, RegistryEntry
from biasgrid.tables.schema import answer_schema

pytestmark = pytest.mark.slow

OF_DUMPS = pytest.mark.family("dumps are of underspecified questions")
ENTRIES = [
    pytest.param(entry, marks=OF_DUMPS if source == "dump" else ())
    for (_, source), entry in BACK_ENDS.items()
]
HEAVY = ("polars", "pandera", "numpy")


@pytest.mark.parametrize("entry", ENTRIES)
def test_back_ends_and_the_schemas_of_their_answers_are_found_by_name(entry: RegistryEntry) -> None:
    assert all(callable(load_reference(entry.class_path(kind))) for kind in entry.answers)
    assert all(answer_schema(kind).columns for kind in entry.answers)


def test_another_class_may_give_one_kind_of_answers() -> None:
    entry = RegistryEntry(
        ":Chooser", ("choice", "likelihood"), other_paths=(("likelihood", ":Scorer"),)
    )
    mine = entry.with_reference("plugins/mine.py")
    assert mine.class_path("choice") == "plugins/mine.py:Chooser"
    assert mine.class_path("likelihood") == "plugins/mine.py:Scorer"


@pytest.mark.parametrize("imported", ["models.registry", "models.predict"])
def test_no_back_end_is_imported_before_it_is_named(imported: str) -> None:
    check = f"import sys, biasgrid.inference.{imported}; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(output.split())
    assert not loaded & {
        "torch",
        "transformers",
        *(entry.path.split(":")[0] for entry in BACK_ENDS.values()),
    }
    if imported == "models.registry":
        assert not loaded & set(HEAVY)


def test_the_back_end_of_the_contributors_page_is_one_file_that_works(tmp_path: Path) -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## A back end\n")[2]
    plugin, test = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)[:2]
    path = tmp_path / "shortest.py"
    path.write_text(plugin)
    names = {"Shortest": load_reference(f"{path}:Shortest"), "pl": pl, "pytest": pytest}
    exec(test, names | {"PromptPart": PromptPart}, names)
    names["test_the_shorter_option_is_preferred"]()
    (entry,) = load_reference(f"{path}:BACK_ENDS").values()
    assert entry.with_reference(str(path)).class_path("choice") == f"{path}:Shortest"
