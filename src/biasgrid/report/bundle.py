"""The page's JavaScript modules and style sheet as one script and one style: a page that is a file cannot import.

The digest of the report's code counts the files in `assets/` because `report.page` imports this module by its package
(see `biasgrid.jobs.code_digest`).
"""

from __future__ import annotations

import base64
import re
from functools import cache
from graphlib import TopologicalSorter
from hashlib import sha256
from pathlib import Path, PurePosixPath

ASSETS = Path(__file__).parent / "assets"
ENTRY_SCRIPT = "app"
"""The module that starts the page, after all others."""
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|const) (\w+))", re.MULTILINE)
RENAMED = re.compile(r"(\w+) as (\w+)")


@cache
def page_script() -> str:
    """Returns all modules as one script: each is a function that returns what it exports, in the order of imports."""
    files = sorted(ASSETS.rglob("*.js"))
    # A module is called like its file, such as `dom` or `families/statement`.
    texts = {file.relative_to(ASSETS).with_suffix("").as_posix(): file.read_text("utf-8") for file in files}
    needed = {name: {import_path(name, each[1]) for each in IMPORT.findall(text)} for name, text in texts.items()}
    needed[ENTRY_SCRIPT] |= texts.keys() - {ENTRY_SCRIPT}
    return "\n".join(
        ["const modules = {};", *(module_statement(each, texts[each]) for each in modules_in_order(needed))]
    )


def modules_in_order(needed: dict[str, set[str]]) -> list[str]:
    """Returns the modules in an order in which each comes after those that it imports; always the same order."""
    sorter = TopologicalSorter(needed)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return order


def import_path(module: str, path: str) -> str:
    """Returns the name of what a module imports by a path, such as `./dom` or `../dom`."""
    folder = PurePosixPath(module).parent
    return (folder.parent if path.startswith("../") else folder).joinpath(path.lstrip("./")).as_posix()


def module_statement(name: str, text: str) -> str:
    """Returns a module as a statement that runs it and keeps what it exports."""
    exports = ", ".join(found for _, found in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(lambda found: import_statement(name, found), text))
    return f'modules["{name}"] = await (async () => {{\n{body}\nreturn {{{exports}}};\n}})();'


def import_statement(module: str, found: re.Match[str]) -> str:
    """Returns an import as a statement that takes the names from what is kept."""
    names = RENAMED.sub(r"\1: \2", found[1])
    return f'const {{{names}}} = modules["{import_path(module, found[2])}"];'


@cache
def page_style() -> str:
    """Returns the style sheet."""
    return (ASSETS / "style.css").read_text("utf-8")


def content_security_policy() -> str:
    """Returns the content security policy of the page: it runs this script alone, and asks nobody for anything."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{policy_digest(page_script())}'",
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
