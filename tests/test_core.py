"""The core passes its own tests without the built-in families, with that of docs/guide/extending.md
in their place.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = (
    *(
        "Snakefile",
        "rules",
        "workflow",
        "profiles",
        "envs",
        "word_lists",
        "reference",
        "src",
        "config",
    ),
    *("docs", "tests", "pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
)
FINDING = ("cli", "config", "families", "report", "runs", "stats")
"""Rooms that find families by their names."""
ROOMS = (*FINDING, "groups", "inference", "jobs", "tables", "training")
"""Folders of tests that are about the core; folders in `families` are about one of them."""
OF_BASE = ("test_addresses.py", "test_files.py", "test_proxies.py")
OF_A_FAMILY = "write_grid"
"""What writes a grid of underspecified questions; `write_general_grid` writes one of any family."""
FUNCTION = ast.FunctionDef
ENTRY_POINTS = re.compile(r'(?<=\[project\.entry-points\."biasgrid\.plugins"\]\n)(\w+ = .*\n)+')


def core_modules(rooms: Sequence[str] = ROOMS) -> list[Path]:
    """Returns the modules of the core's own tests, by their paths in the repository."""
    tests = ROOT / "tests"
    of_rooms = [path for room in rooms for path in (tests / room).rglob("test_*.py")]
    own = [path for path in of_rooms if path.parent.parent != tests / "families"]
    return [path.relative_to(ROOT) for path in sorted([*own, *(tests / name for name in OF_BASE)])]


def asks_families(module: Path) -> bool:
    """Says whether all tests of a module ask built-in families, so that it may import one: it has
    the mark itself.
    """
    marks = [
        node for node in ast.parse((ROOT / module).read_text()).body if isinstance(node, ast.Assign)
    ]
    return any(
        "pytestmark" in ast.unparse(node.targets[0]) and "mark.family(" in ast.unparse(node)
        for node in marks
    )


def unmarked_tests(module: Path) -> list[str]:
    """Returns the tests of a module that write a grid of a built-in family, by themselves or
    through others of the module, without the mark.
    """
    functions = {
        each.name: each
        for each in ast.parse((ROOT / module).read_text()).body
        if isinstance(each, FUNCTION)
    }
    names = {
        name: {part.id for part in ast.walk(each) if isinstance(part, ast.Name)}
        for name, each in functions.items()
    }
    fixtures = {
        name: {argument.arg for argument in each.args.args} for name, each in functions.items()
    }

    def writes(name: str) -> bool:
        used = (names[name] | fixtures[name]) - {name}
        return OF_A_FAMILY in used or any(writes(other) for other in used & functions.keys())

    marks = {
        name: any("mark.family(" in ast.unparse(mark) for mark in each.decorator_list)
        for name, each in functions.items()
    }
    return [
        name for name in functions if name.startswith("test_") and writes(name) and not marks[name]
    ]


def write_core(folder: Path) -> None:
    """Writes a copy of the repository in which the page's family stands in the place of those that
    are built in.
    """
    from extending import code

    for name in FILES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    families = folder / "src/biasgrid/families"
    for built_in in (path for path in families.iterdir() if (path / "family.py").exists()):
        shutil.rmtree(built_in)
    # Files of other projects are read and written for the families, but for logs of harnesses,
    # which may be of any.
    for format_folder in (
        path for path in (folder / "src/biasgrid/formats").iterdir() if path.is_dir()
    ):
        if format_folder.name != "logs":
            shutil.rmtree(format_folder)
    (folder / "workflow/scripts/fetch_predictions.py").unlink()
    # Tests of plugins add the page's family by its own name.
    (families / "example.py").write_text(
        code()["greetings"].replace('name = "greetings"', 'name = "example"')
    )
    project = folder / "pyproject.toml"
    text, count = ENTRY_POINTS.subn('example = "biasgrid.families.example"\n', project.read_text())
    assert count == 1
    project.write_text(text)


def run_core(folder: Path, marks: str, rooms: Sequence[str] = ROOMS) -> None:
    """Runs the core's own tests of some rooms in a copy without the built-in families, those with
    some marks.
    """
    write_core(folder)
    modules = [str(module) for module in core_modules(rooms) if not asks_families(module)]
    # Those of the run that this test is part of are not the copy's.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    options = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=short",
        "-m",
        f"{marks} and not family",
    ]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *modules],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-4000:]


@pytest.mark.slow
def test_the_core_passes_its_own_tests_without_the_built_in_families(tmp_path: Path) -> None:
    """Those of rooms that find families: the others import none, as `tests/test_rooms.py` holds."""
    run_core(tmp_path, "not slow and not long", FINDING)


@pytest.mark.long
@pytest.mark.parametrize("marks", ["not slow", "slow"])
def test_the_core_passes_all_its_tests_without_the_built_in_families(
    tmp_path: Path, marks: str
) -> None:
    run_core(tmp_path, f"{marks} and not long")


def test_what_writes_a_grid_of_a_built_in_family_has_the_mark() -> None:
    """The long test above finds it, too, but is rarely run."""
    modules = [module for module in core_modules() if not asks_families(module)]
    assert {str(module): found for module in modules if (found := unmarked_tests(module))} == {}


def test_most_modules_of_the_core_ask_no_built_in_family() -> None:
    modules = core_modules()
    assert len([module for module in modules if asks_families(module)]) < len(modules) / 5
