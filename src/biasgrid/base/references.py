"""Imports modules by reference: of this package, of installed ones, and files of the user.

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
"""Prefix of the names of modules that are files of the user."""
FORMATS = "biasgrid.formats"
"""The folder of what reads and writes files of other projects. It imports families, which therefore
name its functions by reference.
"""
RUNS = "code that runs"


def load(reference: str) -> ModuleType:
    """Imports a module, once in a process.

    Raises:
        ImportError: there is none. An exception of the module itself is not changed.
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
    """Imports a file, or a folder with an `__init__.py`, as a module of its own, once in a process.

    Only for those outside of packages: `load` imports the others. The name of the module begins
    with `PLUGIN`, by which `plugin_faults` recognises its code.

    Raises:
        ImportError: there is no such file. An exception of the module itself is not changed.
    """
    # Files of the same name in two folders are two modules.
    digest = sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"{PLUGIN}{path.stem}_{digest}"
    if name not in sys.modules:
        file, folders = path, None
        if path.is_dir():
            file, folders = path / "__init__.py", [str(path)]
        spec = spec_from_file_location(name, file, submodule_search_locations=folders)
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
    """Turns any exception of a plugin's code, even the end of the program, into InputError.

    Raises:
        InputError: with file and line of the plugin.
    """
    try:
        yield
    except (UserError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        lines = []
        for frame, line in walk_tb(error.__traceback__):
            if str(frame.f_globals.get("__name__")).startswith(PLUGIN):
                lines.append((frame.f_code.co_filename, line))
        if not lines:
            raise
        file, line = lines[-1]
        raise InputError([Fault(file, f"line {line}", describe_failure(error), RUNS)]) from error


def describe_failure(error: BaseException, when: str = "") -> str:
    """Describes how a plugin has failed or ended the program.

    Args:
        error: the exception.
        when: a clause such as `while it is run`, if it is known.
    """
    outcome, detail = "fails", f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        code = "" if error.code is None else repr(error.code)
        outcome, detail = "ends the program", f"sys.exit({code})"
    if when:
        outcome = f"{outcome} {when}"
    return f"{outcome} ({detail})"


STAGE_MODULES = {
    "reading": ("read", "data"),
    "keys": ("ask", "measures"),
    "expand": ("ask", "measures"),
    "observe": ("observe", "measures"),
    "measures": ("measure", "measures"),
    "evidence": ("show", "measures"),
    "synthetic": ("synthetic", "ask", "measures"),
    "page": ("show", "page"),
}
"""The modules of a family's folder that may hold a stage, by the stage. The first that the folder
has is taken.
"""


def stage_module(reference: str, stage_name: str) -> str:
    """Returns the reference of the module that holds a stage of a family.

    A family that is one file holds all its stages itself. The module need not exist: no family
    has to have evidence, synthetic bias or a page.

    Args:
        reference: the family.
        stage_name: a key of `STAGE_MODULES`, or another module of the folder, such as `family`.

    Raises:
        ModuleNotFoundError: a package that the family is in is missing. These packages are
            imported, the family is not.
    """
    folder = package_folder(reference)
    if folder is None:
        return reference
    modules = STAGE_MODULES.get(stage_name, (stage_name,))
    present = [module for module in modules if (folder / f"{module}.py").is_file()]
    module = present[0] if present else modules[0]
    if is_path(reference):
        return str(Path(reference, f"{module}.py"))
    return f"{reference}.{module}"


def package_folder(reference: str) -> Path | None:
    """Returns the folder of a package; None for a module that is one file, and if there is none.

    Raises:
        ModuleNotFoundError: a package that it is in is missing. These packages are imported.
    """
    if is_path(reference):
        return Path(reference) if Path(reference).is_dir() else None
    spec = find_spec(reference)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def exists(reference: str) -> bool:
    """Whether there is a module or, for a path, any file or folder.

    The module is not imported, but the packages that it is in are. `load` still fails for a folder
    without `__init__.py`.
    """
    if is_path(reference):
        return Path(reference).exists()
    try:
        return find_spec(reference) is not None
    except ModuleNotFoundError:  # a package that it is in is missing
        return False


def is_path(reference: str) -> bool:
    """Whether a reference is a path."""
    return "/" in reference or reference.endswith(".py")


def plugin_files(reference: str) -> Iterator[Path]:
    """Yields the Python files that a module outside of this package may use.

    These are its own file and, if it is in a package, all files of the package.
    """
    path = Path(reference)
    if not is_path(reference):
        spec = find_spec(reference)
        if spec is None or spec.origin is None:
            raise ImportError(f"there is no module {reference}")
        path = Path(spec.origin)
    folder = path if path.is_dir() else path.parent
    if (folder / "__init__.py").is_file():
        yield from sorted(folder.rglob("*.py"))
    else:
        yield path
