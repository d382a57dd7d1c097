"""A digest of the code that decides a stage's numbers, so that a stage runs again when it changes and only then."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeGuard

PACKAGE = Path(__file__).parent
WITHOUT_NUMBERS = {
    "families.underspecified.template_checks",
    "faults",
    "files",
    "lock",
    "logs",
    "models.gpu",
    "models.hub",
    "progress",
    "watchdog",
}
"""Modules that word messages, choose where work is done, or fetch and write what they are told."""


def code_digest(script: str | Path) -> str:
    """Digests a workflow script and all modules of this package that it imports, over any number of imports.

    Comments, docstrings, descriptions of columns and keys, and modules that only word messages do not count.

    Args:
        script: the script's file.
    """
    file = Path(script)
    digest = sha256(shape(file).encode())
    for name in sorted(reachable(file)):
        digest.update(f"{name}\n{shape(file_of(name))}\n".encode())
    return digest.hexdigest()[:16]


def reachable(file: Path) -> set[str]:
    """Returns the modules of the package that a file needs, over any number of imports."""
    seen: set[str] = set()
    waiting = imported(file)
    while waiting:
        name = waiting.pop()
        if name not in seen | WITHOUT_NUMBERS:
            seen.add(name)
            waiting += imported(file_of(name))
    return seen


def file_of(module: str) -> Path:
    """Returns the file of a module of the package."""
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def parse(file: Path) -> ast.Module:
    """Parses a Python file."""
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(file: Path) -> list[str]:
    """Returns the modules of the package that a file imports, by `from biasgrid.x import y`."""
    statements = [node for node in ast.walk(parse(file)) if isinstance(node, ast.ImportFrom)]
    own = [(node.module.removeprefix("biasgrid."), node.names) for node in statements if is_own(node.module)]
    names = [name for name, _ in own]
    return names + [f"{name}.{alias.name}" for name, aliases in own for alias in aliases if is_module(name, alias.name)]


def is_own(module: str | None) -> TypeGuard[str]:
    """Says whether a module belongs to this package."""
    return module is not None and module.startswith("biasgrid.")


def is_module(package: str, name: str) -> bool:
    """Says whether what is imported from a package is one of its modules."""
    return PACKAGE.joinpath(*package.split("."), name).with_suffix(".py").exists()


class WithoutTexts(ast.NodeTransformer):
    """Takes out of a syntax tree what only readers see."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Drops docstrings, of attributes too."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Pass() if is_text else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Drops descriptions."""
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
        return self.generic_visit(node)


def shape(file: Path) -> str:
    """Returns what counts of a file: its syntax tree, and the page template that goes with it, if any."""
    template = file.with_suffix(".html")
    tree = WithoutTexts().visit(ast.parse(file.read_text(encoding="utf-8")))
    return ast.dump(tree) + (template.read_text(encoding="utf-8") if template.exists() else "")
