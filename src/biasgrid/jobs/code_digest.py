"""A digest of the code that decides the numbers of a rule, which runs again when it changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, NewType

from biasgrid.base.references import plugin_files

PACKAGE_FOLDER = Path(__file__).parents[1]
OwnModule = NewType("OwnModule", str)
"""A module of this package without the prefix `biasgrid.`, such as `tables.metric`."""
WITHOUT_NUMBERS = {
    "inference.checkpoints.hub",
    "config.reading",
    "config.checks",
    "config.registry",
    "families.family",
    "base.faults",
    "base.files",
    "jobs.interruption",
    "jobs.gpu",
    "jobs.lock",
    "jobs.logs",
    "jobs.progress",
    "jobs.start",
    "jobs.fork_server",
    "runs.inputs.params",
    "inference.models.registry",
    "base.references",
    "base.messages",
}
"""`OwnModule`s that change no number: they check the config, assign work to processes, or fetch and
write files. The digest leaves them out, and everything that only they import.
"""
PAGE_SUFFIXES = (".html", ".js", ".css")
READ_DEFINITIONS = {"read_definitions", "CONTROLS"}
"""Names of `tables.metric` that read `measures.yaml`: a module that imports one depends on these
files as well.
"""
OWN_PREFIX = "biasgrid."
OWN_IMPORT = re.compile(r"^[ \t]*from biasgrid\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
"""An import from this package, at the top of a file or within a function, perhaps in brackets over
several lines.
"""
STRING = "|".join(
    (
        r'"{3}(?:[^\\]|\\.)*?"{3}',
        r"'{3}(?:[^\\]|\\.)*?'{3}",
        r'"(?:[^"\\\n]|\\.)*"',
        r"'(?:[^'\\\n]|\\.)*'",
    )
)
"""A string of any kind. Patterns that contain it skip whole strings, of which every line counts."""
COMMENT = re.compile(rf"({STRING})|[ \t]*#[^\n]*", re.DOTALL)
STATEMENT_STRING = r'(?<![(\[{,=+\\])\n[ \t]*[rR]?"{3}(?:[^\\]|\\.)*?"{3}[ \t]*(?=\n)'
"""A string that is a statement, such as a docstring. A string within an expression differs: the
line before it ends in an open bracket, a comma or an operator.
"""
UNCOUNTED = re.compile(rf"{STATEMENT_STRING}|\n[ \t]*(?=\n)|({STRING})", re.DOTALL)
"""Docstrings and blank lines."""


def code_digest(script: str | Path, *references: str) -> str:
    """Digests a workflow script, and all modules of this package that it imports in any way.

    Comments, docstrings, blank lines and `WITHOUT_NUMBERS` do not count, and every version of
    Python gives the same digest.

    Args:
        script: the script's file.
        references: modules that the script loads by reference, such as
            `biasgrid.report.figures.cells.errors`, or a plugin's file. Of a plugin that is a
            package, or part of one, all files count.

    Returns:
        16 hexadecimal digits.
    """
    own_modules = []
    files_outside: set[Path] = set()
    for reference in references:
        if reference.startswith(OWN_PREFIX):
            own_modules.append(OwnModule(reference.removeprefix(OWN_PREFIX)))
        else:
            files_outside.update(plugin_files(reference))
    files = [Path(script), *sorted(files_outside)]
    digest = sha256()
    for file in files:
        digest.update(read_code(file).text.encode())
    for module in sorted(transitive_imports(files, own_modules)):
        digest.update(f"{module}\n{read_code(module_file(module)).text}\n".encode())
    return digest.hexdigest()[:16]


def transitive_imports(files: Iterable[Path], modules: Iterable[OwnModule]) -> set[OwnModule]:
    """Returns modules and everything that they and files import, except `WITHOUT_NUMBERS`."""
    imported: set[OwnModule] = set()
    waiting = [*modules]
    for file in files:
        waiting += read_code(file).imports
    while waiting:
        module = waiting.pop()
        if module not in imported | WITHOUT_NUMBERS:
            imported.add(module)
            waiting += read_code(module_file(module)).imports
    return imported


def module_file(module: OwnModule) -> Path:
    """Returns the file of a module of the package.

    A folder beside a module may have its name: it has the data of the module, not its code.
    """
    path = PACKAGE_FOLDER.joinpath(*module.split("."))
    file = path.with_suffix(".py")
    return file if file.exists() else path / "__init__.py"


class Code(NamedTuple):
    """Everything about a Python file that a digest depends on.

    Attributes:
        imports: the modules of the package that it imports by `from biasgrid.x import y`.
        text: its code, followed by the files that it reads: `page_files`, YAML files in the folder
            named like it, and `definition_files`.
    """

    imports: list[OwnModule]
    text: str


@cache
def read_code(file: Path) -> Code:
    """Reads a Python file, once in a process, because scripts share most of their modules."""
    text = file.read_text(encoding="utf-8")
    parts = list(imported_parts(text))
    imports = [module for module, _ in parts]
    imports += [OwnModule(f"{module}.{part}") for module, part in parts if is_module(module, part)]
    files = [*page_files(file), *sorted(file.with_suffix("").glob("*.yaml"))]
    if any(module == "tables.metric" and part in READ_DEFINITIONS for module, part in parts):
        files += definition_files(file)
    contents = [path.read_text("utf-8") for path in files]
    return Code(imports, "".join([code_text(text), *contents]))


def imported_parts(text: str) -> Iterator[tuple[OwnModule, str]]:
    """Yields the modules of the package from which code imports, with each name it imports."""
    for module, names in OWN_IMPORT.findall(text):
        for name in re.findall(r"(\w+)(?: as \w+)?", COMMENT.sub(string_alone, names)):
            yield OwnModule(module), name


def page_files(file: Path) -> list[Path]:
    """Returns the files of web pages in the folder of a package; none for other modules."""
    if file.name != "__init__.py":
        return []
    return [path for path in sorted(file.parent.rglob("*")) if path.suffix in PAGE_SUFFIXES]


def definition_files(file: Path) -> list[Path]:
    """Returns the metric definitions beside a file, and those that all families share."""
    folders = (file.parent, PACKAGE_FOLDER / "families")
    paths = [folder / "measures.yaml" for folder in folders]
    return [path for path in paths if path.exists()]


def code_text(text: str) -> str:
    """Returns a Python file without docstrings, comments and blank lines.

    By regular expressions: parsing would take twenty times as long, at each start of Snakemake, and
    syntax trees differ between versions of Python.
    """
    without_comments = COMMENT.sub(string_alone, f"\n{text}")
    return UNCOUNTED.sub(string_alone, without_comments)


def string_alone(match: re.Match[str]) -> str:
    """Returns a matched string unchanged, and an empty text for a comment or docstring."""
    return match[1] or ""


def is_module(package: OwnModule, name: str) -> bool:
    """Whether a name that is imported from a package is one of its modules."""
    return PACKAGE_FOLDER.joinpath(*package.split("."), name).with_suffix(".py").exists()
