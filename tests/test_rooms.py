"""The package's rooms: its folders and the modules at its root, what they import of each other, and
their size.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from radon.complexity import cc_visit

import biasgrid

PACKAGE = Path(biasgrid.__file__).parent
MOST_TOKENS_OF_A_FILE = 5_500
MOST_COMPLEX = 12
"""Radon's cyclomatic complexity, which counts comprehensions and boolean operators, unlike ruff's."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
"""Tokens that are no code."""
FLOORS = [
    # What all that reads users' files needs.
    {"base"},
    {"jobs", "readers", "tables"},
    {"inference", "stats"},
    {"groups", "training"},
    # What is asked: it never sees who answers.
    {"families"},
    {"report"},
    {"config"},
    {"runs"},
    # Files of other projects.
    {"formats"},
    # What scripts and notebooks import.
    {"__init__"},
    {"cli"},
]
"""Rooms from the ground up: each imports only from the floors below its own, none from its
neighbours.
"""


@cache
def modules() -> dict[str, Path]:
    """Returns the files of all modules, by names such as `tables.files`; of folders and the package
    `__init__`.
    """
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
    }


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text())


@cache
def imports_of(module: str) -> set[str]:
    """Returns the modules of the package that one imports, whether at its top or within a
    function.
    """
    statements = [node for node in ast.walk(tree_of(module)) if isinstance(node, ast.ImportFrom)]
    own = [node for node in statements if node.module and node.module.split(".")[0] == "biasgrid"]
    names = {
        (*node.module.split(".")[1:], alias.name)
        for node in own
        if node.module
        for alias in node.names
    }
    return {found for name in names if (found := module_named(name)) not in (None, module)}


def module_named(name: tuple[str, ...]) -> str | None:
    """Returns the module that a name means: itself, its folder's, or the one in which it stands."""
    whole, folder, holder = ".".join(name), ".".join([*name, "__init__"]), ".".join(name[:-1])
    outer = ".".join([*name[:-1], "__init__"])
    return next((module for module in (whole, folder, holder, outer) if module in modules()), None)


def room(module: str) -> str:
    return module.split(".")[0]


def imports_between_rooms() -> Iterator[tuple[str, str]]:
    """Yields who imports whom, in another room."""
    for module in modules():
        yield from ((module, other) for other in imports_of(module) if room(other) != room(module))


def docstrings(tree: ast.Module) -> set[ast.Constant]:
    """Returns the strings that are statements: docstrings of modules, classes, functions and names."""
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    constants = {value for value in statements if isinstance(value, ast.Constant)}
    return {constant for constant in constants if isinstance(constant.value, str)}


def token_count(module: str) -> int:
    """Returns the number of tokens of code in a module, docstrings and comments aside."""
    places = {(node.lineno, node.col_offset) for node in docstrings(tree_of(module))}
    lines = io.StringIO(modules()[module].read_text())
    tokens = tokenize.generate_tokens(lines.readline)
    return sum(token.type not in LAYOUT and token.start not in places for token in tokens)


def test_a_file_can_be_read_in_one_go() -> None:
    sizes = {module: token_count(module) for module in modules()}
    assert {module: size for module, size in sizes.items() if size > MOST_TOKENS_OF_A_FILE} == {}


def test_no_function_is_complex() -> None:
    wrong = {}
    for module, path in modules().items():
        for block in cc_visit(path.read_text()):
            # A class is as complex as its methods, which are listed beside it.
            if not hasattr(block, "methods") and block.complexity > MOST_COMPLEX:
                wrong[f"{module}.{block.name}"] = block.complexity
    assert wrong == {}


@pytest.mark.parametrize(
    ("what", "kinds"),
    [("comprehension", COMPREHENSIONS), ("conditional expression", (ast.IfExp,))],
)
def test_no_comprehension_or_conditional_expression_holds_another(
    what: str, kinds: tuple[type[ast.AST], ...]
) -> None:
    wrong = []
    for module in modules():
        outer = [node for node in ast.walk(tree_of(module)) if isinstance(node, kinds)]
        inner = {child for node in outer for child in ast.walk(node) if child is not node}
        wrong += [f"{module}:{node.lineno}: {what}" for node in outer if node in inner]
    assert wrong == []


def functions_of(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_an_assignment_expression_binds_a_new_name() -> None:
    wrong = []
    for module in modules():
        for function in functions_of(tree_of(module)):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            bound = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
            bound.update(
                argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)
            )
            walruses = [node for node in ast.walk(function) if isinstance(node, ast.NamedExpr)]
            wrong += [
                f"{module}:{walrus.lineno}: {walrus.target.id}"
                for walrus in walruses
                if bound[walrus.target.id] > 1
            ]
    assert wrong == []


def test_no_code_is_in_a_package_file() -> None:
    for module in modules():
        # What notebooks import, so that `import biasgrid` takes no time.
        if module.endswith(".__init__"):
            defined = [
                node.name
                for node in tree_of(module).body
                if isinstance(node, ast.FunctionDef | ast.ClassDef)
            ]
            assert defined == [], module


def test_no_module_imports_itself_over_others() -> None:
    # A circle would be raised as a CycleError, which names it.
    order = list(
        TopologicalSorter({module: imports_of(module) for module in modules()}).static_order()
    )
    assert len(order) == len(modules()) > 100


def test_every_room_has_one_floor() -> None:
    listed = Counter(room for rooms in FLOORS for room in rooms)
    assert {room: count for room, count in listed.items() if count > 1} == {}
    assert {room(module) for module in modules()} - listed.keys() == set()


def test_no_import_runs_up_or_along_a_floor() -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    wrong = [
        f"{one} -> {other}"
        for one, other in imports_between_rooms()
        if floor[room(one)] <= floor[room(other)]
    ]
    assert wrong == []


def test_imports_are_written_in_one_way() -> None:
    """`import biasgrid.x` and relative imports would be seen by none of these tests, nor by the
    digests of code.
    """
    for module in modules():
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Import):
                assert not [
                    alias.name for alias in node.names if alias.name.startswith("biasgrid.")
                ], module
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, module


def lines_that_name(words: tuple[str, ...], *rooms: str) -> list[str]:
    """Lines of code outside of some rooms that hold one of some words; imports and comments do not
    count.
    """
    root = PACKAGE.parents[1]
    files = [
        *PACKAGE.rglob("*.py"),
        *root.glob("rules/*.smk"),
        *root.glob("workflow/scripts/*.py"),
        root / "Snakefile",
    ]
    outside = [file for file in files if not {*file.relative_to(root).parts} & set(rooms)]
    lines = [
        f"{file.relative_to(root)}: {line.strip()}"
        for file in outside
        for line in file.read_text().splitlines()
    ]
    told = [
        line for line in lines if not line.split(": ", 1)[1].startswith(("#", "from ", "import "))
    ]
    return [line for line in told if any(word in line for word in words)]


def texts_of(module: str) -> list[str]:
    """Returns the strings of a module that are no docstrings."""
    documented = docstrings(tree_of(module))
    constants = [node for node in ast.walk(tree_of(module)) if isinstance(node, ast.Constant)]
    return [
        node.value for node in constants if isinstance(node.value, str) and node not in documented
    ]


def test_the_core_imports_and_names_no_family() -> None:
    names = {
        module.split(".")[1]
        for module in modules()
        if re.fullmatch(r"families\.\w+\.family", module)
    }
    assert len(names) == 8
    core = [module for module in modules() if room(module) not in ("families", "formats")]
    folders = tuple(f"families.{name}" for name in names)
    assert [
        module for module in core if any(other.startswith(folders) for other in imports_of(module))
    ] == []
    # By itself, in a reference or a path, or at the head of what is said of it alone.
    one = "|".join(names)
    named = re.compile(rf"^({one})$|families[./]({one})\b|(^|; )({one}): ")
    found = {(module, text) for module in core for text in texts_of(module) if named.search(text)}
    # The mode in which groups are compared case by case, and pairs of groups, subjects or names.
    of_groups = [
        f"report.figures.groups.{name}"
        for name in ("answer_pairs", "group_differences", "group_pairs")
    ]
    pairs = {(module, "pairs") for module in (*of_groups, "stats.noise.variance_components")}
    assert found == {("groups.records", "counterfactual"), *pairs}
    root = PACKAGE.parents[1]
    workflow = [*root.glob("rules/*.smk"), *root.glob("workflow/scripts/*.py"), root / "Snakefile"]
    assert [
        path.name
        for path in workflow
        if re.search(rf"families\.({one})|\"({one})\"", path.read_text())
    ] == []


def test_nobody_else_names_a_task() -> None:
    tasks = ("fill-mask", "question-answering", "text-classification", "text-generation")
    assert (
        len(lines_that_name(tasks, "families", "models", "training", "unqover", "quickstart")) <= 10
    )


def test_nobody_else_names_a_source_of_models() -> None:
    names = (
        '"endpoint"',
        '"serve"',
        ".source ==",
        ".source.name ==",
        ".predictions else",
        ".predictions:",
    )
    assert len(lines_that_name(names, "sources", "servers")) <= 3


def test_statements_and_generative_models_are_found_by_their_names() -> None:
    """Nothing outside of a family's or a back end's own rooms imports them; files of APES are about
    statements.
    """
    own = {"families.statement": ("families.statement", "formats.apes")}
    own["inference.models.generation"] = ("inference.models.",)
    for room_of, insiders in own.items():
        outside = [module for module in modules() if not module.startswith(insiders)]
        assert [
            module
            for module in outside
            if any(name.startswith(room_of) for name in imports_of(module))
        ] == []
