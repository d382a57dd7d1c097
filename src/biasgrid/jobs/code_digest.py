"""A digest of the code that decides a stage's numbers, so that a stage runs again when it changes
and only then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.references import files_of_plugin

PACKAGE_FOLDER = Path(__file__).parents[1]
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
"""Modules that check and describe what users write, choose where and by whom work is done, or only
fetch and write.
"""
OF_PAGES = (".html", ".js", ".css")
READ_DEFINITIONS = {"read_definitions", "CONTROLS"}
"""What of `tables.metric` has the words of `measures.yaml`, for modules that decide outputs by
them.
"""
OWN_PREFIX = "biasgrid."
OWN_IMPORT = re.compile(r"^[ \t]*from biasgrid\.([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
"""An import from this package, at the top of a file or within a function. It may fill several
lines in brackets.
"""
STRING = "|".join(
    (
        r'"{3}(?:[^\\]|\\.)*?"{3}',
        r"'{3}(?:[^\\]|\\.)*?'{3}",
        r'"(?:[^"\\\n]|\\.)*"',
        r"'(?:[^'\\\n]|\\.)*'",
    )
)
"""A string of any kind. Patterns that hold it pass over whole strings, whose lines all count."""
COMMENT = re.compile(rf"({STRING})|[ \t]*#[^\n]*", re.DOTALL)
STATEMENT_STRING = r'(?<![(\[{,=+\\])\n[ \t]*[rR]?"{3}(?:[^\\]|\\.)*?"{3}[ \t]*(?=\n)'
"""A string that is a statement, as docstrings are: whole lines, not within an expression, whose
lines end in an open bracket, a comma or an operator.
"""
UNCOUNTED = re.compile(rf"{STATEMENT_STRING}|\n[ \t]*(?=\n)|({STRING})", re.DOTALL)
"""Docstrings and blank lines."""


def code_digest(script: str | Path, *references: str) -> str:
    """Digests a workflow script and all modules of this package that it imports, over any number of
    imports.

    Comments, docstrings, blank lines, and modules that only write messages do not count; nor does
    the version of Python that digests.

    Args:
        script: the script's file.
        references: modules that the script finds by their references, such as
            `biasgrid.report.figures.cells.errors` or a plugin's file. Of a plugin that is a
            package, or stands in one, all files count.

    Returns:
        16 hexadecimal digits.
    """
    own = [name.removeprefix(OWN_PREFIX) for name in references if name.startswith(OWN_PREFIX)]
    plugins = [name for name in references if not name.startswith(OWN_PREFIX)]
    foreign = sorted({file for plugin in plugins for file in files_of_plugin(plugin)})
    digest = sha256()
    for file in (Path(script), *foreign):
        digest.update(read_code(file).text.encode())
    for name in sorted(reachable([Path(script), *foreign], own)):
        digest.update(f"{name}\n{read_code(file_of(name)).text}\n".encode())
    return digest.hexdigest()[:16]


def reachable(files: Iterable[Path], modules: Iterable[str]) -> set[str]:
    """Returns the modules of the package that files and modules need, over any number of imports,
    these modules included.
    """
    reached: set[str] = set()
    waiting = [*modules, *(name for file in files for name in read_code(file).imports)]
    while waiting:
        name = waiting.pop()
        if name not in reached | WITHOUT_NUMBERS:
            reached.add(name)
            waiting += read_code(file_of(name)).imports
    return reached


def file_of(module: str) -> Path:
    """Returns the file of a module of the package; a folder may have the same name and its data."""
    path = PACKAGE_FOLDER.joinpath(*module.split("."))
    module_file = path.with_suffix(".py")
    return module_file if module_file.exists() else path / "__init__.py"


class Code(NamedTuple):
    """The contents of a Python file that count.

    Attributes:
        imports: the modules of the package that it imports by `from biasgrid.x import y`.
        text: its code; behind it the files of a page in the folder of a package, the data in the
            folder of a module's name, and the metric definitions that it reads: its folder's own
            and the shared ones.
    """

    imports: list[str]
    text: str


@cache
def read_code(file: Path) -> Code:
    """Reads a Python file, once in a process: the scripts share most of their modules."""
    text = file.read_text(encoding="utf-8")
    parts = list(imported_parts(text))
    names = [module for module, _ in parts]
    names += [f"{module}.{part}" for module, part in parts if is_module(module, part)]
    files = [*page_files(file), *sorted(file.with_suffix("").glob("*.yaml"))]
    if any(module == "tables.metric" and part in READ_DEFINITIONS for module, part in parts):
        files += definition_files(file)
    contents = [path.read_text("utf-8") for path in files]
    return Code(names, "".join([code_text(text), *contents]))


def imported_parts(text: str) -> Iterator[tuple[str, str]]:
    """Yields the modules of the package from which code imports, each with a name that it takes
    from there.
    """
    for module, names in OWN_IMPORT.findall(text):
        for name in re.findall(r"(\w+)(?: as \w+)?", COMMENT.sub(string_alone, names)):
            yield module, name


def page_files(file: Path) -> list[Path]:
    """Returns the files of a page in the folder of a package; none for other modules."""
    if file.name != "__init__.py":
        return []
    return [path for path in sorted(file.parent.rglob("*")) if path.suffix in OF_PAGES]


def definition_files(file: Path) -> list[Path]:
    """Returns the metric definitions beside a file, and those that all families share."""
    folders = (file.parent, PACKAGE_FOLDER / "families")
    paths = [folder / "measures.yaml" for folder in folders]
    return [path for path in paths if path.exists()]


def code_text(text: str) -> str:
    """Returns a Python file without docstrings, comments and blank lines.

    Lines are compared as they are: to parse a file would take twenty times as long, at each start
    of Snakemake, and syntax trees differ between versions of Python.
    """
    without_comments = COMMENT.sub(string_alone, f"\n{text}")
    return UNCOUNTED.sub(string_alone, without_comments)


def string_alone(match: re.Match[str]) -> str:
    """Returns a string as it is, and nothing in the place of all else that a pattern matches."""
    return match[1] or ""


def is_module(package: str, name: str) -> bool:
    """Whether a name that is imported from a package is one of its modules."""
    return PACKAGE_FOLDER.joinpath(*package.split("."), name).with_suffix(".py").exists()
