"""Modules that are found by reference: those of this package, of installed ones, and files of a
user's own.

A reference is the name of a module (`biasgrid.report.figures.cells.variances`) or the path of a
Python file or package (`plugins/stance.py`, `plugins/stance`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from biasgrid.base.faults import Fault, InputError, UserError

PLUGIN = "biasgrid_plugin_"
"""How the names of modules begin that are files of a user's own."""
RUNS = "code that runs"


def load(reference: str) -> ModuleType:
    """Imports a module, once in a process.

    Raises:
        ImportError: there is none. What the module itself raises comes through.
    """
    if not is_path(reference):
        return import_module(reference)
    path = Path(reference)
    package = path.parent
    if path.suffix == ".py" and path.stem != "__init__" and (package / "__init__.py").is_file():
        return import_module(f"{load(str(package)).__name__}.{path.stem}")
    return load_file(path)


def load_reference(path: str) -> Any:
    """Returns an object of a module: `reference:name`."""
    reference, name = path.rsplit(":", 1)
    return getattr(load(reference), name)


def load_file(path: Path) -> ModuleType:
    """Imports a file, or a folder with an `__init__.py`, that stands in no package."""
    # Files of one name in two folders are two modules.
    name = f"{PLUGIN}{path.stem}_{sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        file = path / "__init__.py" if path.is_dir() else path
        spec = spec_from_file_location(
            name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
        )
        if spec is None or spec.loader is None or not file.is_file():
            raise ImportError(f"there is no Python file {file}")
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


@contextmanager
def plugin_faults() -> Iterator[None]:
    """Makes what the code of a plugin raises, or ends the program with, a fault of its file.

    Raises:
        InputError: in place of it, with file and line.
    """
    try:
        yield
    except (UserError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        frames = [
            (frame.f_code.co_filename, line)
            for frame, line in walk_tb(error.__traceback__)
            if str(frame.f_globals.get("__name__")).startswith(PLUGIN)
        ]
        if not frames:
            raise
        file, line = frames[-1]
        raise InputError([Fault(file, f"line {line}", how_it_ends(error), RUNS)]) from error


def how_it_ends(error: BaseException, when: str = "") -> str:
    """Returns how a plugin has failed or ended the program, and when, as in `while it is run`."""
    if isinstance(error, SystemExit):
        what, detail = (
            "ends the program",
            f"sys.exit({'' if error.code is None else repr(error.code)})",
        )
    else:
        what, detail = "fails", f"{type(error).__name__}: {error}"
    return f"{what}{when and ' '}{when} ({detail})"


def stage(reference: str, name: str) -> str:
    """Returns the reference of a stage: a module of that name in a package, or the one file that
    has them all.
    """
    if folder_of(reference) is None:
        return reference
    return str(Path(reference, f"{name}.py")) if is_path(reference) else f"{reference}.{name}"


def folder_of(reference: str) -> Path | None:
    """Returns the folder of a package, None of a module that is one file."""
    if is_path(reference):
        return Path(reference) if Path(reference).is_dir() else None
    spec = find_spec(reference)
    return (
        None
        if spec is None or not spec.submodule_search_locations
        else Path(spec.submodule_search_locations[0])
    )


def exists(reference: str) -> bool:
    """Says whether there is a module, without importing it."""
    return Path(reference).exists() if is_path(reference) else find_spec(reference) is not None


def is_path(reference: str) -> bool:
    """Says whether a reference is a path."""
    return "/" in reference or reference.endswith(".py")


def files_of_plugin(reference: str) -> Iterator[Path]:
    """Yields the Python files that a reference outside of this package may use: its own, and those
    beside it.

    Those beside it count where they make a package with it.
    """
    path = Path(reference)
    if not is_path(reference):
        spec = find_spec(reference)
        if spec is None or spec.origin is None:
            raise ImportError(f"there is no module {reference}")
        path = Path(spec.origin)
    folder = path if path.is_dir() else path.parent
    yield from sorted(folder.rglob("*.py")) if (folder / "__init__.py").is_file() else [path]
