"""Draws sentences of the project at random, to be read by somebody who marks those that nobody
would write.

Run it in the root of the repository: `.venv/bin/python docs/draw_sentences.py --from messages
--seed 48 --count 200`.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from documents import read_document, sentences  # noqa: E402

FEWEST_WORDS = 5
"""Shorter pieces are leads of lists and the like."""
TABLE = re.compile(r"<!-- table: [^>]+ -->\n(.*?)<!-- end of table -->", flags=re.DOTALL)
"""The tables that `biasgrid schema --write` makes from the code and the metric definitions."""
CELL = re.compile(r"(?<!\\)\|")
HELP_OF_COMMAND = re.compile(r"\bcommand\b|\bcallback\b")


def pages() -> list[str]:
    """Returns the paths of all pages of documentation."""
    folders = (ROOT / "docs", ROOT / "word_lists")
    return sorted(
        [
            "README.md",
            "config/README.md",
            *(str(page.relative_to(ROOT)) for folder in folders for page in folder.rglob("*.md")),
        ]
    )


def guide_sentences() -> Iterator[tuple[str, str]]:
    """Yields the sentences of all guides, each with the name of its page."""
    for page in pages():
        yield from ((page, sentence) for sentence in sentences(read_document(page)))


def reference_sentences() -> Iterator[tuple[str, str]]:
    """Yields the descriptions of keys, columns, measures and validity flags, each once, with the
    name of its page.
    """
    seen: set[str] = set()
    for page in pages():
        for table in TABLE.findall(read_document(page)):
            for line in table.strip().splitlines()[2:]:
                cells = [cell.strip() for cell in CELL.split(line)[2:-1]]
                yield from ((page, cell) for cell in cells if cell not in seen)
                seen.update(cells)


def message_sentences() -> Iterator[tuple[str, str]]:
    """Yields the texts in code that users meet in a terminal, each with its place; those of the
    report are guides.
    """
    described = {text for _, text in reference_sentences()}
    for path in sorted((ROOT / "src" / "biasgrid").rglob("*.py")):
        if "report" not in path.parts:
            yield from (
                (f"{path.relative_to(ROOT)}:{line}", text)
                for line, text in texts_of(ast.parse(path.read_text()))
                if text not in described
            )


def texts_of(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields the texts in a module and the help of its commands, with their lines; no docstrings of
    other functions.
    """
    skipped: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and any(
            HELP_OF_COMMAND.search(ast.unparse(decorator)) for decorator in node.decorator_list
        ):
            yield node.lineno, " ".join((ast.get_docstring(node) or "").split())
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(part for part in ast.walk(node) if part is not node)
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    str(part.value)
                    if isinstance(part, ast.Constant)
                    else f"{{{ast.unparse(part.value)}}}"
                    for part in node.values
                    if isinstance(part, ast.Constant | ast.FormattedValue)
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


SOURCES = {
    "guides": guide_sentences,
    "messages": message_sentences,
    "reference": reference_sentences,
}


def main() -> None:
    """Prints a sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--from", dest="source", choices=SOURCES, default="guides", help="what is drawn from"
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    found = [
        f"{place}: {text}"
        for place, text in SOURCES[arguments.source]()
        if len(text.split()) >= FEWEST_WORDS
    ]
    print(*random.Random(arguments.seed).sample(found, arguments.count), sep="\n")


if __name__ == "__main__":
    main()
