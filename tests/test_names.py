"""The names of the code: a word has one meaning, and no name is a pronoun or a bare participle.

`tests/terms.csv` is the list of terms. A name that a caller sees is a parameter, an attribute of a
class, a method or a function; `Name.kind` says which.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import biasgrid

TESTS = Path(__file__).parent
PACKAGE = Path(biasgrid.__file__).parent
TERMS = TESTS / "terms.csv"
PRONOUNS = {
    *("found", "each", "one", "known", "asked", "said", "told", "given", "kept", "made", "left"),
    *(
        "shown",
        "more",
        "of",
        "compared",
        "others",
        "wanted",
        "apart",
        "beside",
        "within",
        "between",
    ),
    *("further", "named", "meant", "goes", "stands"),
}
"""Words that say nothing of a value, whatever they are the name of."""
MOST_PRONOUNS = 145
"""How many names are such a word today; fewer are better."""
NEED_A_NOUN = {"first", "count", "names"}
"""Words that need a noun where a caller sees them, as in `row_count`."""
MOST_WITHOUT_A_NOUN = 61
"""How many names lack it today; fewer are better."""
PARTICIPLE = re.compile(r"[a-z]{2,}(ed|en)")
NO_PARTICIPLES = {
    "token",
    "seed",
    "need",
    "speed",
    "screen",
    "expected",
    "hidden",
    "fixed",
    "embed",
}
MOST_PARTICIPLES = 0.03
"""The largest share of variables and parameters that are bare participles."""
MOST_WITH_OF = 0.025
"""The largest share of functions whose name has the word `of`."""
TRANSLATED = re.compile(
    r"_(?:told|tells?|stands?|beside|whatever|of_which|in_which|those_(?:of|that)|that_of)(?:_|$)"
)
"""Words that show that the name of a test was not thought in English."""

Kind = Literal["function", "method", "parameter", "attribute", "variable", "constant"]


class Name(NamedTuple):
    """A name and the place where it is given.

    Attributes:
        text: the name.
        kind: a function is at the top of a module or within another function; an attribute is
            declared in a class.
        module: the path of the module in its folder.
        line: the number of the line.
    """

    text: str
    kind: Kind
    module: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.kind} {self.text}"

    @property
    def is_seen_by_callers(self) -> bool:
        return self.kind in ("function", "method", "parameter", "attribute")


class Term(NamedTuple):
    """A row of the list of terms.

    Attributes:
        term: the word, as it stands in names.
        meaning: its one meaning.
        rooms: where callers may see the bare word as a name; empty if they may everywhere.
    """

    term: str
    meaning: str
    rooms: tuple[str, ...]


@cache
def terms() -> list[Term]:
    with TERMS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Term(row["term"], row["meaning"], tuple(row["rooms"].split())) for row in rows]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.arg]:
    arguments = function.args
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument)


def named_nodes(tree: ast.Module) -> Iterator[tuple[str, Kind, int]]:
    """Yields the names that a module gives, with their kinds and lines."""
    in_classes: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            in_classes.update(node.body)
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign):
                    in_classes.add(statement.target)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, "method" if node in in_classes else "function", node.lineno
            for argument in parameters(node):
                yield argument.arg, "parameter", argument.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            kind: Kind = "constant" if node.id.isupper() else "variable"
            names_an_attribute = node in in_classes
            yield node.id, "attribute" if names_an_attribute else kind, node.lineno


@cache
def names(folder: Path = PACKAGE) -> list[Name]:
    all_names = []
    for path in sorted(folder.rglob("*.py")):
        module = str(path.relative_to(folder))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        all_names += [Name(text, kind, module, line) for text, kind, line in named_nodes(tree)]
    return all_names


def test_few_names_are_pronouns() -> None:
    pronouns = [str(name) for name in names() if name.text in PRONOUNS]
    assert len(pronouns) <= MOST_PRONOUNS, pronouns


def test_a_word_that_needs_a_noun_has_one_where_callers_see_it() -> None:
    seen = [name for name in names() if name.is_seen_by_callers]
    bare = [str(name) for name in seen if name.text in NEED_A_NOUN]
    assert len(bare) <= MOST_WITHOUT_A_NOUN, bare


def test_a_term_has_one_meaning() -> None:
    counts = Counter(term.term for term in terms())
    assert [term for term, count in counts.items() if count > 1] == []


def test_every_term_is_a_word_of_the_code() -> None:
    texts = {name.text.lower() for name in names()}
    texts |= {node.name.lower() for node in classes()}
    words = {word for text in texts for word in (text, *text.split("_"))}
    assert [term.term for term in terms() if term.term not in words] == []


def classes() -> Iterator[ast.ClassDef]:
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_a_term_of_some_rooms_is_no_bare_name_elsewhere() -> None:
    homes = {term.term: term.rooms for term in terms() if term.rooms}
    abroad = [
        name
        for name in names()
        if name.is_seen_by_callers
        and name.text in homes
        and not name.module.startswith(homes[name.text])
    ]
    assert [str(name) for name in abroad] == []


def test_few_variables_are_participles() -> None:
    values = [name for name in names() if name.kind in ("variable", "parameter")]
    participles = [
        name
        for name in values
        if PARTICIPLE.fullmatch(name.text) and name.text not in NO_PARTICIPLES
    ]
    assert len(participles) / len(values) <= MOST_PARTICIPLES, Counter(
        name.text for name in participles
    )


def test_few_functions_hang_on_of() -> None:
    functions = [name for name in names() if name.kind in ("function", "method")]
    with_of = [name for name in functions if "of" in name.text.split("_")]
    assert len(with_of) / len(functions) <= MOST_WITH_OF, [str(name) for name in with_of]


def test_the_names_of_tests_are_english() -> None:
    tests = [name for name in names(TESTS) if name.text.startswith("test_")]
    assert [str(name) for name in tests if TRANSLATED.search(name.text)] == []
