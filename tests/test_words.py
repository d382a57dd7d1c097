"""The words of the project are those of its field: no coined ones, and no everyday words as
names.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path

from documents import read_document, sentences

import biasgrid

ROOT = Path(__file__).parents[1]
PACKAGE = Path(biasgrid.__file__).parent
FOLDERS = ("src", "rules", "workflow", "config", "profiles", "docs", "tests", "benchmarks")
FILES = ("README.md", "CONTRIBUTING.md", "Snakefile", "Makefile", "pyproject.toml", "mkdocs.yml")
SUFFIXES = {
    ".py",
    ".smk",
    ".md",
    ".yaml",
    ".yml",
    ".js",
    ".html",
    ".css",
    ".json",
    ".rst",
    ".toml",
    "",
}
HOLD_OLD_WORDS = {
    *("tests/test_words.py", "tests/helpers/golden_statistics.py", "tests/helpers/golden.py"),
    "tests/formats/logs/schemas/LICENSE",
    *("src/biasgrid/formats/unqover/entries.py", "src/biasgrid/formats/unqover/log.py"),
}
"""Files that say what was renamed, or read and write the words of UnQover's files."""
KEPT_FOLDERS = ("tests/golden/",)
"""Numbers of other systems and of an independent implementation, under their own names."""
COINED = {
    r"told from noise": "significant",
    r"tell(s|ing)? from noise": "distinguish from noise",
    r"told apart": "distinguishable",
    r"beyond noise": "corrected for noise",
    r"template[ _-]?frames?": "template cluster",
    r"(subject|attribute)[ _]clusters?|other_cluster": "subject group, attribute group",
    r"\bdeal(t|ings?|ing)\b": "permutation",
    r"relabell?(ed|ings?)?\b": "permutation",
    r"look[ _-]alikes?": "redundant templates",
    r"(?<!\bno\W)\bplant(ed|ing|ings)?\b": "synthetic bias, known effect",
    r"mu_excess|_excess\b|\bexcess of mu\b": "mu_corrected",
    r"follow[ _-]ups?\b": "scorer",
    r"given[ _]answers": "precomputed responses",
    r"\bwhereabouts\b|\bmade_of\b": "cell location",
    r"(?<!false[ _-])\bdiscover(s|y|ies|ed)\b": "significant",
    r"\blessons?\b": "training data",
    r"positional error|attributive error": "positional dependence, attribute independence",
}
"""Words that only this project knew, and what the field says."""
EVERYDAY = {
    *(
        "able",
        "cut",
        "cuts",
        "desk",
        "excess",
        "fit",
        "fits",
        "floor",
        "floors",
        "frame",
        "frames",
        "kind",
        "kinds",
    ),
    *(
        "narrow",
        "over",
        "pieces",
        "planted",
        "products",
        "promise",
        "round",
        "rounds",
        "say",
        "sort",
        "sorts",
        "spent",
    ),
    *("starter", "tell", "told", "turn", "turns", "unread", "way", "ways"),
}
"""Words that may be used in sentences, and not as a name: nobody would search for them."""
KEYS_THAT_STAY = {"kind"}
"""Keys of the config, and the column that shows one of them."""
PARTICIPLE = re.compile(
    r"[a-z]{2,}(ed|en)|told|made|found|kept|left|read|said|sent|shown|written|within|beside|further|apart"
)
NOUNS_AND_VERBS = {"embed", "listen", "need", "open", "read", "seed", "speed", "token"}
"""Names that only look like participles."""
MOST_PARTICIPLES = 10
MOST_NAMES_WITH_SEVERAL_HOMES = 88
MOST_WORDS_OF_A_SENTENCE = 35
TRANSLATED = re.compile(r"\b(?:stands|told|tells|is that of)\b", flags=re.IGNORECASE)
"""Words that show that a sentence was not thought in English."""
FOR_REFERENCE = {
    "docs/outputs.md",
    "docs/benchmarks.md",
    "docs/releasing.md",
    "docs/developing.md",
}
"""Pages that are looked up, or are for developers."""
REFERENCE = re.compile(r"\b[Ss]ee ((?:`[^`]+`(?:, | and | or )?)+)")
QUOTED = re.compile(r"`([^`]+)`")
FILE_ENDINGS = (".json", ".md", ".py", ".yaml")

PROTOCOLS = {
    *("__all__", "logger", "figure", "CAPTION"),
    *("SENTENCES", "TABLES", "FIRST_SCREEN"),
    *(
        "FAMILY",
        "PROBE",
        "KEYS",
        "SCHEMA",
        "OUTCOMES",
        "READ",
        "SAID",
        "ANSWERS",
        "DESIGN",
        "MEASURES",
    ),
    *(
        "section_of",
        "read",
        "expand",
        "observe",
        "measure",
        "derive",
        "evidence",
        "validity",
    ),
    *("known_effects", "corpus"),
}
"""Names that families, figures and stages have because they are asked for them by name."""


@cache
def texts() -> dict[str, str]:
    """Returns the text files of the repository, by path."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")] + [
        ROOT / name for name in FILES
    ]
    texts = {
        str(path.relative_to(ROOT)): path
        for path in paths
        if path.suffix in SUFFIXES and path.is_file()
    }
    return {
        name: path.read_text() for name, path in texts.items() if not name.startswith(KEPT_FOLDERS)
    }


@cache
def trees() -> dict[str, ast.Module]:
    """Returns the modules of the package, by dotted names."""
    paths = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
    }
    return {name: ast.parse(path.read_text()) for name, path in paths.items()}


def definitions(tree: ast.Module) -> Iterator[str]:
    """Yields the functions and classes of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def test_no_file_has_a_coined_word() -> None:
    wrong = []
    for name, text in texts().items():
        for pattern, word in {} if name in HOLD_OLD_WORDS else COINED.items():
            # A word may stand in the next line.
            for found in re.finditer(pattern.replace(" ", r"\s+"), text, flags=re.IGNORECASE):
                line = text.count("\n", 0, found.start()) + 1
                wrong.append(f"{name}:{line}: {found[0]!r}; the field says: {word}")
    assert wrong == []


def test_no_module_function_or_class_is_called_by_an_everyday_word() -> None:
    modules = {f"{module} (module)": module.split(".")[-1] for module in trees()}
    inside = {
        f"{module}: {name}": name.lower()
        for module, tree in trees().items()
        for name in definitions(tree)
    }
    assert [where for where, name in (modules | inside).items() if name in EVERYDAY] == []


def test_no_key_column_or_rule_is_called_by_an_everyday_word() -> None:
    schema = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text())
    keys = {
        key
        for section in (schema, *schema["$defs"].values())
        for key in section.get("properties", {})
    }
    rules = {
        name
        for path in ROOT.glob("rules/*.smk")
        for name in re.findall(r"^rule (\w+):", path.read_text(), re.M)
    }
    columns = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/outputs.md").read_text(), re.M))
    assert (keys | rules | columns) & (EVERYDAY - KEYS_THAT_STAY) == set()


def test_public_names_are_no_bare_participles() -> None:
    names = [(name, module) for module, tree in trees().items() for name in definitions(tree)]
    found = [
        pair for pair in names if PARTICIPLE.fullmatch(pair[0]) and pair[0] not in NOUNS_AND_VERBS
    ]
    assert len(found) <= MOST_PARTICIPLES, found


def test_a_public_name_has_one_home() -> None:
    homes = defaultdict(set)
    for module, tree in trees().items():
        assigned = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
        constants = [
            target.id for targets in assigned for target in targets if isinstance(target, ast.Name)
        ]
        for name in {*definitions(tree), *constants} - PROTOCOLS:
            homes[name].add(module)
    several = {name: sorted(modules) for name, modules in homes.items() if len(modules) > 1}
    assert len(several) <= MOST_NAMES_WITH_SEVERAL_HOMES, several


def test_the_sentences_of_guides_are_short_and_plain() -> None:
    pages = [path for folder in ("docs", "word_lists") for path in (ROOT / folder).rglob("*.md")]
    guides = {"README.md", *(str(path.relative_to(ROOT)) for path in pages)} - FOR_REFERENCE
    faults = [
        f"{guide}: {sentence}"
        for guide in sorted(guides)
        for sentence in sentences(read_document(guide))
        if len(sentence.split()) > MOST_WORDS_OF_A_SENTENCE or TRANSLATED.search(sentence)
    ]
    assert faults == []


def test_sentences_come_from_prose() -> None:
    prose = "One `a. B` is\n[here](x.md). Two (e.g. this) has 0.29.\n\n- Three.\n- Four\n  goes on."
    page = f"# A title. B\n\n```sh\nCode. Code\n```\n\n| A. B | c |\n\n{prose}\n"
    assert [*sentences(page)] == [
        "One CODE is here.",
        "Two (e.g. this) has 0.29.",
        "Three.",
        "Four goes on.",
    ]


def names_in(body: Sequence[ast.stmt], path: str) -> Iterator[str]:
    """Yields the dotted names of what a module or class defines, members of classes included."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{path}.{node.name}"
            yield from names_in(node.body, f"{path}.{node.name}")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (part for target in targets for part in ast.walk(target)):
                if isinstance(name, ast.Name):
                    yield f"{path}.{name.id}"


def package_names() -> set[str]:
    """Returns all names in the package, in full and from any of their dots on."""
    names = set()
    for module, tree in trees().items():
        path = f"biasgrid.{module}".removesuffix(".__init__")
        for name in (path, *names_in(tree.body, path)):
            parts = name.split(".")
            names.update(".".join(parts[start:]) for start in range(len(parts)))
    return names


def referred_names(docstring: str, rooms: Collection[str]) -> Iterator[str]:
    """Yields the names of code that a docstring refers to: behind "see", or with their room."""
    text = " ".join(docstring.split())
    for names in REFERENCE.findall(text):
        yield from QUOTED.findall(names)
    for name in QUOTED.findall(text):
        room, dot, _ = name.partition(".")
        if dot and room in rooms and name.replace(".", "").isidentifier():
            yield name


def test_names_that_docstrings_refer_to_exist() -> None:
    known = package_names()
    rooms = {module.partition(".")[0] for module in trees()}
    unknown = []
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                for name in referred_names(str(node.value.value), rooms):
                    if name not in known and not name.endswith(FILE_ENDINGS):
                        unknown.append(f"{module}, line {node.lineno}: {name}")
    assert unknown == []
