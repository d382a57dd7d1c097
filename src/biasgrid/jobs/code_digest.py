"""A digest of the code that decides a stage's numbers, so that a stage runs again when it changes
and only then.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from biasgrid.base.faults import UserError
from biasgrid.base.files import write_text
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
PARSED = Path(cache_from_source(__file__)).with_suffix(".json")
"""The file of what was parsed before, beside this module's own compiled code and for this version
of Python alone.
"""
OWN_CODE = Path(__file__).read_bytes()


def code_digest(script: str | Path, *references: str) -> str:
    """Digests a workflow script and all modules of this package that it imports, over any number of
    imports.

    Comments, docstrings, descriptions of columns and keys, and modules that only write messages do
    not count; nor does the version of Python that digests.

    Args:
        script: the script's file.
        references: modules that the script finds by their references, such as
            `biasgrid.report.figures.cells.variances` or a plugin's file. Of a plugin that is a
            package, or stands in one, all files count.
    """
    known = len(read_parsed())
    foreign = sorted(
        {file for each in references if not is_own(each) for file in files_of_plugin(each)}
    )
    own = [each.removeprefix("biasgrid.") for each in references if is_own(each)]
    digest = sha256()
    for file in (Path(script), *foreign):
        digest.update(read_code(file).shape.encode())
    for name in sorted(reachable([Path(script), *foreign], own)):
        digest.update(f"{name}\n{read_code(file_of(name)).shape}\n".encode())
    if len(read_parsed()) > known and not sys.dont_write_bytecode:
        # Where nothing can be kept, each process parses for itself.
        with suppress(UserError):
            write_text(PARSED, json.dumps(read_parsed()))
    return digest.hexdigest()[:16]


def reachable(files: Iterable[Path], modules: Iterable[str]) -> set[str]:
    """Returns the modules of the package that files and some modules need, over any number of
    imports.
    """
    seen: set[str] = set()
    waiting = [*modules, *(name for file in files for name in read_code(file).imports)]
    while waiting:
        name = waiting.pop()
        if name not in seen | WITHOUT_NUMBERS:
            seen.add(name)
            waiting += read_code(file_of(name)).imports
    return seen


def file_of(module: str) -> Path:
    """Returns the file of a module of the package."""
    path = PACKAGE_FOLDER.joinpath(*module.split("."))
    # A folder of a module's name has its data.
    return (
        module_file if (module_file := path.with_suffix(".py")).exists() else path / "__init__.py"
    )


class Code(NamedTuple):
    """What counts of a Python file.

    Attributes:
        imports: the modules of the package that it imports, by `from biasgrid.x import y`.
        shape: a digest of its syntax tree, the files of a page that stand in the folder of a
            package, the data in the folder of a module's name, and the metric definitions that it
            reads: those of its folder, and those that all share.
    """

    imports: list[str]
    shape: str


@cache
def read_code(file: Path) -> Code:
    """Reads a Python file, once in a process: the scripts share most of their modules."""
    own, shape = parse_once(file.read_text(encoding="utf-8"))
    imports = [
        *own,
        *(
            f"{name}.{part}"
            for name, parts in own.items()
            for part in parts
            if is_module(name, part)
        ),
    ]
    beside = sorted(file.parent.rglob("*")) if file.name == "__init__.py" else []
    texts = [path.read_text("utf-8") for path in beside if path.suffix in OF_PAGES]
    texts += [path.read_text("utf-8") for path in sorted(file.with_suffix("").glob("*.yaml"))]
    if not READ_DEFINITIONS.isdisjoint(own.get("tables.metric", [])):
        definitions = [
            folder / "measures.yaml" for folder in (file.parent, PACKAGE_FOLDER / "families")
        ]
        texts += [path.read_text("utf-8") for path in definitions if path.exists()]
    return Code(imports, "".join([shape, *texts]))


@cache
def read_parsed() -> dict[str, tuple[dict[str, list[str]], str]]:
    """Returns what this process has parsed and those before it, by digests of the text and of this
    module.

    To parse all files takes half a second, for which each start of Snakemake would wait.
    """
    try:
        kept = json.loads(PARSED.read_bytes())
    except (OSError, ValueError):
        kept = {}
    return kept if isinstance(kept, dict) else {}


def parse_once(text: str) -> tuple[dict[str, list[str]], str]:
    """Parses a Python file, once for files that are the same, as those of copies of the package.

    Returns:
        What it imports from modules and packages of this package, by their names, and a digest of
        its syntax tree.
    """
    key = sha256(OWN_CODE + text.encode()).hexdigest()
    if key not in read_parsed():
        statements: list[ast.ImportFrom] = []
        shape = sha256(dump(ast.parse(text), statements).encode()).hexdigest()
        own: dict[str, list[str]] = {}
        for node in statements:
            own.setdefault(str(node.module).removeprefix("biasgrid."), []).extend(
                alias.name for alias in node.names
            )
        read_parsed()[key] = own, shape
    return read_parsed()[key]


def is_own(module: str | None) -> TypeGuard[str]:
    """Says whether a module belongs to this package."""
    return module is not None and module.startswith("biasgrid.")


def is_module(package: str, name: str) -> bool:
    """Says whether what is imported from a package is one of its modules."""
    return PACKAGE_FOLDER.joinpath(*package.split("."), name).with_suffix(".py").exists()


def dump(node: Any, imports: list[ast.ImportFrom]) -> str:
    """Writes a syntax tree without what only readers see: docstrings, of attributes too, and
    descriptions.

    Empty fields are left out, because each version of Python brings others, such as `type_params`.
    All is done at once: a tree has hundreds of thousands of nodes, and each start of Snakemake
    waits for this.

    Args:
        node: a tree, a list of trees, or a value in one.
        imports: the imports from this package that are met are added to it.
    """
    if isinstance(node, list):
        return f"[{', '.join([dump(each, imports) for each in node])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Constant):
        return f"Constant({node.value!r})"
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return "Pass()"
    if isinstance(node, ast.ImportFrom) and is_own(node.module):
        imports.append(node)
    if isinstance(node, ast.Call):
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
    fields = [(name, getattr(node, name, None)) for name in node._fields]
    written = [
        f"{name}={dump(value, imports)}"
        for name, value in fields
        if value is not None and value != []
    ]
    return f"{type(node).__name__}({', '.join(written)})"
