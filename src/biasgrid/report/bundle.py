"""The page's JavaScript modules and style sheet, as one script and one style.

They are joined since a page that is a file cannot import.

The digest of the report's code counts the files in `assets/` because `report.page` imports this
module by its package, and the views of families because it is given their packages (see
`biasgrid.jobs.code_digest`).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import TopologicalSorter
from hashlib import sha256
from pathlib import Path, PurePosixPath

from biasgrid.base.faults import UserError, one_of
from biasgrid.base.references import package_folder

ASSETS = Path(__file__).parent / "assets"
ENTRY_SCRIPT = "app"
"""The module that starts the page, after all others."""
VIEW = "view.js"
"""The script in a family's folder. It sets `views.FAMILY`, which draws the pages of its cells."""
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|const) (\w+))", re.MULTILINE)
RENAMED = re.compile(r"(\w+) as (\w+)")


def page_script(families: Mapping[str, str]) -> str:
    """Returns all modules as one script, each as a function that returns its exports.

    Args:
        families: the references of the families whose views the page has, by name.

    Raises:
        UserError: a family's view imports a module that the page does not have, or would end the
            script.
    """
    # A module is called like its file, such as `dom`; a view like its family.
    texts = {file.stem: file.read_text("utf-8") for file in sorted(ASSETS.glob("*.js"))}
    page_modules = set(texts)
    for family, reference in sorted(families.items()):
        folder = package_folder(reference)
        if folder is None:
            continue
        view = folder / VIEW
        if view.is_file():
            texts[f"{family} {VIEW}"] = checked_view(view, page_modules)
    imports = {}
    for name, text in texts.items():
        imports[name] = {module_name(path) for _, path in IMPORT.findall(text)}
    # The entry script runs last, as if it imported all others.
    imports[ENTRY_SCRIPT] |= texts.keys() - {ENTRY_SCRIPT}
    statements = [module_statement(name, texts[name]) for name in modules_in_order(imports)]
    return "\n".join(["const modules = {};", *statements])


def checked_view(file: Path, modules: Iterable[str]) -> str:
    """Returns the text of a family's view.

    Args:
        file: the view.
        modules: the names of the page's modules, which a view may import.

    Raises:
        UserError: it imports a module that the page does not have, or would end the script.
    """
    text = file.read_text("utf-8")
    for _, path in IMPORT.findall(text):
        if module_name(path) not in modules:
            raise UserError(
                f"{file}: imports {path}.js, which the page has not; expected {one_of(modules)}"
            )
    if "</script" in text.lower():
        raise UserError(
            f"{file}: has `</script`, which ends the page's script; expected it in two parts"
        )
    return text


def modules_in_order(imports: Mapping[str, set[str]]) -> list[str]:
    """Returns the modules in an order in which each comes after its imports; always the same.

    Args:
        imports: the modules that each module imports.
    """
    sorter = TopologicalSorter(imports)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return order


def module_name(path: str) -> str:
    """Returns the name of an imported module: `dom` for `./dom`, and `biasgrid/dom` in a view."""
    return PurePosixPath(path).name


def module_statement(name: str, text: str) -> str:
    """Returns a module as a statement that runs it and keeps its exports."""
    exports = ", ".join(name for _, name in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(import_statement, text))
    return f'modules["{name}"] = await (async () => {{\n{body}\nreturn {{{exports}}};\n}})();'


def import_statement(match: re.Match[str]) -> str:
    """Returns an import (a match of `IMPORT`) as a statement that reads the kept exports."""
    names = RENAMED.sub(r"\1: \2", match[1])
    return f'const {{{names}}} = modules["{module_name(match[2])}"];'


@cache
def page_style() -> str:
    """Returns the style sheet."""
    return (ASSETS / "style.css").read_text("utf-8")


def content_security_policy(script: str) -> str:
    """Returns the content security policy of the page: it runs this script and loads nothing."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{policy_digest(script)}'",
            f"style-src '{policy_digest(page_style())}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def policy_digest(text: str) -> str:
    """Returns the hash by which a policy names a script or style."""
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
