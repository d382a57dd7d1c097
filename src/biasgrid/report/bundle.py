"""The page's JavaScript modules and style sheet as one script and one style: a page that is a file
cannot import.

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
from biasgrid.base.references import folder_of

ASSETS = Path(__file__).parent / "assets"
ENTRY_SCRIPT = "app"
"""The module that starts the page, after all others."""
VIEW = "view.js"
"""The script of a family, in its folder: it sets `views.FAMILY`, what draws the pages of its
cells.
"""
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|const) (\w+))", re.MULTILINE)
RENAMED = re.compile(r"(\w+) as (\w+)")


def page_script(families: Mapping[str, str]) -> str:
    """Returns all modules as one script: each is a function that returns what it exports, in the
    order of imports.

    Args:
        families: the references of the families whose views the page has, by name.

    Raises:
        UserError: a family's view imports what the page has not, or would end the script.
    """
    # A module is called like its file, such as `dom`; a view like its family.
    texts = {file.stem: file.read_text("utf-8") for file in sorted(ASSETS.glob("*.js"))}
    own = set(texts)
    for family, reference in sorted(families.items()):
        folder = folder_of(reference)
        if folder is not None and (file := folder / VIEW).is_file():
            texts[f"{family} {VIEW}"] = checked_view(file, own)
    needed = {
        name: {module_name(path) for _, path in IMPORT.findall(text)}
        for name, text in texts.items()
    }
    needed[ENTRY_SCRIPT] |= texts.keys() - {ENTRY_SCRIPT}
    return "\n".join(
        [
            "const modules = {};",
            *(module_statement(each, texts[each]) for each in modules_in_order(needed)),
        ]
    )


def checked_view(file: Path, modules: Iterable[str]) -> str:
    """Returns the text of a family's view; see `page_script`."""
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


def modules_in_order(needed: dict[str, set[str]]) -> list[str]:
    """Returns the modules in an order in which each comes after those that it imports; always the
    same order.
    """
    sorter = TopologicalSorter(needed)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return order


def module_name(path: str) -> str:
    """Returns the name of what a module imports: of the page by `./dom`, of a family's view by
    `biasgrid/dom`.
    """
    return PurePosixPath(path).name


def module_statement(name: str, text: str) -> str:
    """Returns a module as a statement that runs it and keeps what it exports."""
    exports = ", ".join(found for _, found in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(import_statement, text))
    return f'modules["{name}"] = await (async () => {{\n{body}\nreturn {{{exports}}};\n}})();'


def import_statement(found: re.Match[str]) -> str:
    """Returns an import as a statement that takes the names from what is kept."""
    names = RENAMED.sub(r"\1: \2", found[1])
    return f'const {{{names}}} = modules["{module_name(found[2])}"];'


@cache
def page_style() -> str:
    """Returns the style sheet."""
    return (ASSETS / "style.css").read_text("utf-8")


def content_security_policy(script: str) -> str:
    """Returns the content security policy of the page: it runs this script alone, and asks nobody
    for anything.
    """
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
