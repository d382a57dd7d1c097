"""Reads LangFair's word lists from its source, which is parsed and not run; writes them to files.

The files are groups of words and lists of words for datasets with `mode: langfair`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import write_text
from biasgrid.base.text import read_text
from biasgrid.formats.packages import open_package_folder, package_version, version_line

SOURCE = Path("langfair/constants/word_lists.py")
LANGFAIR_EXPECTED = (
    "its wheel (`pip download --no-deps langfair==0.8.0`), or the folder that contains "
    "its folder langfair"
)
GENDER_LISTS = ("FEMALE_WORDS", "MALE_WORDS", "GENDER_NEUTRAL_WORDS")
"""Lists of equal length: words at the same position are counterparts."""
WORD_LISTS = (
    *GENDER_LISTS,
    "RACE_WORDS_NOT_REQUIRING_CONTEXT",
    "RACE_WORDS_REQUIRING_CONTEXT",
    "ADJECTIVE_LIST",
    "PROFESSION_LIST",
    "OTHER_PERSON_NOUNS",
    "WORDS_TO_REMOVE",
)
"""The lists that are read."""
SUMS_OF_LISTS = {
    "PERSON_WORDS_LIST": (
        "FEMALE_WORDS + MALE_WORDS + GENDER_NEUTRAL_WORDS + PROFESSION_LIST + OTHER_PERSON_NOUNS"
    ),
    "PERSON_WORDS": "list(set(PERSON_WORDS_LIST) - set(WORDS_TO_REMOVE))",
}
"""The expressions that combine the lists in LangFair's source. `word_files` repeats them, so any
other expression is refused.
"""
RACES = ("white", "black", "hispanic", "asian")
"""LangFair's groups, in the order of their prompts."""
BEGINNINGS = {
    "white": ("white", "caucasian", "anglo"),
    "black": ("black", "african"),
    "hispanic": ("hispanic", "latin"),
}
"""The beginnings of words of races; other words are listed with the last race. LangFair replaces
the words of all races alike.
"""
LangFairWords = Mapping[str, Sequence[str]]


def import_words(
    package: Annotated[
        Path,
        typer.Argument(help="LangFair: its wheel, or the folder that contains its folder langfair"),
    ],
    out: Annotated[
        Path, typer.Option(help="folder to write the word files, within `word_lists` of a config")
    ],
) -> list[str]:
    """Writes the words of your copy of LangFair as files for `mode: langfair`; runs none of its
    code.
    """
    with open_package_folder(
        package, str(SOURCE), problem=f"has no {SOURCE}", expected=LANGFAIR_EXPECTED
    ) as source:
        words = read_lists(read_text(source / SOURCE, "LangFair's word lists"), package)
        version = version_line("langfair", package_version(source, "langfair"))
    out.mkdir(parents=True, exist_ok=True)
    lines = [version]
    for name, text in word_files(words):
        write_text(out / name, f"# Read from {version}\n{text}")
        lines.append(f"{out / name} written.")
    return lines


# Reading


def read_lists(text: str, package: Path) -> LangFairWords:
    """Returns the lists in a source by their names.

    Args:
        text: the source.
        package: the path of the package, for messages.

    Raises:
        InputError: the source is not Python; a list is missing, empty or not a list of texts; the
            lists of `GENDER_LISTS` differ in length; or the lists are not combined as in LangFair
            0.8.0.
    """
    try:
        values = dict(assignments(ast.parse(text)))
    except SyntaxError as error:
        problem = f"cannot be parsed ({error.msg}, line {error.lineno})"
        raise InputError([Fault(str(package), str(SOURCE), problem, LANGFAIR_EXPECTED)]) from None
    problems = []
    for name, expression in SUMS_OF_LISTS.items():
        if name not in values or ast.unparse(values[name]) != expression:
            problems.append(f"{name} is not {expression}")
    lists = {}
    for name in WORD_LISTS:
        lists[name] = literal_texts(values.get(name))
        if not lists[name]:
            problems.append(f"{name} is missing, or is not a list of texts")
    lengths = {len(lists[name]) for name in GENDER_LISTS}
    if all(lists.values()) and len(lengths) > 1:
        problems.append(f"{', '.join(GENDER_LISTS)} differ in length")
    if problems:
        expected = "the same as in LangFair 0.8.0"
        faults = [Fault(str(package), str(SOURCE), problem, expected) for problem in problems]
        raise InputError(faults)
    return lists


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yields the module variables that a source sets, with their values."""
    for node in tree.body:
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign):
            targets, value = [node.target], node.value
        if value is None:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, value


def literal_texts(value: ast.expr | None) -> list[str]:
    """Returns a literal list of texts; an empty list for anything else."""
    if value is None:
        return []
    try:
        content = ast.literal_eval(value)
    except (ValueError, TypeError):
        return []
    is_list = isinstance(content, list) and all(isinstance(text, str) for text in content)
    return content if is_list else []


# Writing


def word_files(words: LangFairWords) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each file.

    Args:
        words: from `read_lists`.
    """
    genders = [words[name] for name in GENDER_LISTS]
    rows = [list(row) for row in zip(*genders, strict=True)]
    yield "langfair-gender.yaml", group_file("gender", ["female", "male"], {"words": rows})
    races = {
        "before_person": [race_row(words["RACE_WORDS_REQUIRING_CONTEXT"])],
        "words": [race_row(words["RACE_WORDS_NOT_REQUIRING_CONTEXT"])],
    }
    yield "langfair-race.yaml", "people: langfair-people.txt\n" + group_file("race", RACES, races)
    people: set[str] = set()
    for name in (*GENDER_LISTS, "PROFESSION_LIST", "OTHER_PERSON_NOUNS"):
        people.update(words[name])
    people.difference_update(words["WORDS_TO_REMOVE"])
    yield "langfair-people.txt", word_lines(sorted(people))
    yield "langfair-adjectives.txt", word_lines(words["ADJECTIVE_LIST"])
    professions = words["PROFESSION_LIST"]
    yield "langfair-professions.txt", word_lines(professions)
    # LangFair adds an s to every profession, whatever its plural.
    plurals = [f"{word}s" for word in professions]
    yield "langfair-professions-plural.txt", word_lines([*professions, *plurals])


def race_row(words: Sequence[str]) -> list[object]:
    """Returns the words of races as a row of a file of groups.

    Args:
        words: the words of all races that are searched for in prompts.

    Returns:
        A cell per race: first the word to write, in parentheses if it is not to be searched for,
        then the words that it replaces. The last cell is the neutral word.
    """
    cells: list[object] = []
    for race in RACES:
        synonyms = [word for word in words if word_race(word) == race and word != race]
        cells.append([race if race in words else f"({race})", *synonyms])
    return [*cells, "[MASK]"]


def word_race(word: str) -> str:
    """Returns the race of a word by its beginning; the last race if no beginning matches."""
    for race, beginnings in BEGINNINGS.items():
        if word.startswith(beginnings):
            return race
    return RACES[-1]


def group_file(
    bias_type: str, groups: Sequence[str], sections: Mapping[str, Sequence[object]]
) -> str:
    """Formats a file of groups in YAML, with one row of words per line."""
    lines = [f"bias_type: {bias_type}", f"groups: {json.dumps(groups)}"]
    for name, rows in sections.items():
        lines.append(f"{name}:")
        lines += [f"  - {json.dumps(row)}" for row in rows]
    return word_lines(lines)


def word_lines(words: Sequence[str]) -> str:
    """Formats words or lines as text, one per line."""
    return "".join(f"{word}\n" for word in words)
