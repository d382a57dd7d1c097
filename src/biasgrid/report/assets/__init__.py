"""The page's modules and style, put into one file: modules cannot be imported where a page is opened as a file."""

from __future__ import annotations

import base64
import re
from functools import cache
from graphlib import TopologicalSorter
from hashlib import sha256
from pathlib import Path, PurePosixPath

FOLDER = Path(__file__).parent
ENTRY_SCRIPT = "app"
"""The module that starts the page, after all others."""
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|const) (\w+))", re.MULTILINE)
RENAMED = re.compile(r"(\w+) as (\w+)")


@cache
def page_script() -> str:
    """Returns all modules as one script: each is a function that returns what it exports, in the order of imports."""
    texts = {script_name(path): path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.js"))}
    needed = {name: {import_path(name, each[1]) for each in IMPORT.findall(text)} for name, text in texts.items()}
    needed[ENTRY_SCRIPT] |= texts.keys() - {ENTRY_SCRIPT}
    return "\n".join(
        ["const modules = {};", *(module_statement(each, texts[each]) for each in modules_in_order(needed))]
    )


def modules_in_order(needed: dict[str, set[str]]) -> list[str]:
    """Returns modules such that each stands behind those that it imports; always in the same order."""
    sorter = TopologicalSorter(needed)
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return order


def script_name(path: Path) -> str:
    """Returns the name of a module's file, such as `dom` or `families/statement`."""
    return path.relative_to(FOLDER).with_suffix("").as_posix()


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
    return (FOLDER / "style.css").read_text("utf-8")


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
