"""A digest of the code that decides a stage's numbers, so that a stage runs again when it changes and only then."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parent


def code_digest(module: str) -> str:
    """Digests a module and all modules of this package that it imports; comments and docstrings do not count.

    Args:
        module: a dotted name within the package, such as `models.predict`.
    """
    digest = sha256()
    for name in sorted(reachable(module)):
        digest.update(f"{name}\n{shape(name)}\n".encode())
    return digest.hexdigest()[:16]


def reachable(module: str) -> set[str]:
    """Returns a module and, over any number of imports, the modules of the package that it needs."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += imported(name)
    return seen


@cache
def parse(module: str) -> ast.Module:
    """Parses a module of the package."""
    path = PACKAGE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(module: str) -> list[str]:
    """Returns the modules of the package that a module imports by `from biasgrid.x import y`."""
    names = [node.module for node in ast.walk(parse(module)) if isinstance(node, ast.ImportFrom) and node.module]
    return [name.removeprefix("biasgrid.") for name in names if name.startswith("biasgrid.")]


def shape(module: str) -> str:
    """Returns a module's syntax tree as text, without docstrings."""
    tree = parse(module)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0] = ast.Pass()
    return ast.dump(tree)
