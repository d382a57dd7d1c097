"""A digest of the code that decides a stage's numbers, so that a stage runs again when it changes and only then."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeGuard

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
    """Returns the modules of the package that a module imports, by `from biasgrid.x import y`."""
    statements = [node for node in ast.walk(parse(module)) if isinstance(node, ast.ImportFrom)]
    own = [(node.module.removeprefix("biasgrid."), node.names) for node in statements if is_own(node.module)]
    names = [name for name, _ in own]
    return names + [f"{name}.{alias.name}" for name, aliases in own for alias in aliases if is_module(name, alias.name)]


def is_own(module: str | None) -> TypeGuard[str]:
    """Says whether a module belongs to this package."""
    return module is not None and module.startswith("biasgrid.")


def is_module(package: str, name: str) -> bool:
    """Says whether what is imported from a package is one of its modules."""
    return PACKAGE.joinpath(*package.split("."), name).with_suffix(".py").exists()


def shape(module: str) -> str:
    """Returns a module's syntax tree as text, without docstrings, and the page template that goes with it, if any."""
    tree = parse(module)
    template = PACKAGE.joinpath(*module.split(".")).with_suffix(".html")
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            body[0] = ast.Pass()
    return ast.dump(tree) + (template.read_text(encoding="utf-8") if template.exists() else "")
