"""Reads LangFair's word lists out of its source, which is parsed and not run."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import write_text
from biasgrid.base.text import read_text
from biasgrid.formats.packages import open_package_folder, version_line, version_of

SOURCE = Path("langfair/constants/word_lists.py")
LANGFAIR_EXPECTED = (
    "its wheel (`pip download --no-deps langfair==0.8.0`), or the folder that contains "
    "its folder langfair"
)
GENDER_LISTS = ("FEMALE_WORDS", "MALE_WORDS", "GENDER_NEUTRAL_WORDS")
"""Lists whose words at the same place belong together."""
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
SUMS = {
    "PERSON_WORDS_LIST": (
        "FEMALE_WORDS + MALE_WORDS + GENDER_NEUTRAL_WORDS + PROFESSION_LIST + OTHER_PERSON_NOUNS"
    ),
    "PERSON_WORDS": "list(set(PERSON_WORDS_LIST) - set(WORDS_TO_REMOVE))",
}
"""How LangFair makes its words for persons of these."""
RACES = ("white", "black", "hispanic", "asian")
"""Its groups, in the order of their prompts."""
BEGINNINGS = {
    "white": ("white", "caucasian", "anglo"),
    "black": ("black", "african"),
    "hispanic": ("hispanic", "latin"),
}
"""How the words of a race begin; LangFair replaces all alike, and its other words stand with those
of the last one.
"""
LangFairWords = Mapping[str, Sequence[str]]


def import_package(package: Path, folder: Path) -> list[str]:
    """Writes the words of LangFair into a folder, in place of files that are there.

    Args:
        package: its wheel, or the folder where its own is.
        folder: where the files go.

    Returns:
        Lines that tell which version was read and what was written.

    Raises:
        InputError: it is no such package, or its lists are not made as those of the versions that
            are known.
    """
    with open_package_folder(package, str(SOURCE), f"has no {SOURCE}", LANGFAIR_EXPECTED) as source:
        words = read_lists(read_text(source / SOURCE, "LangFair's word lists"), package)
        version = version_of(source, "langfair")
    folder.mkdir(parents=True, exist_ok=True)
    files = dict(word_files(words))
    for name, text in files.items():
        write_text(folder / name, f"# Read from {version_line('langfair', version)}\n{text}")
    return [version_line("langfair", version), *(f"{folder / name} written." for name in files)]


def read_lists(text: str, package: Path) -> LangFairWords:
    """Returns the lists in a source by their names.

    Args:
        text: the source.
        package: what a message names.

    Raises:
        InputError: it is no Python, a list is missing or no list of texts, or words for persons are
            made otherwise.
    """
    where, expected = str(SOURCE), "the same as in LangFair 0.8.0"
    try:
        found = dict(assignments(ast.parse(text)))
    except SyntaxError as error:
        problem = f"cannot be parsed ({error.msg}, line {error.lineno})"
        raise InputError([Fault(str(package), where, problem, LANGFAIR_EXPECTED)]) from None
    faults = [
        Fault(str(package), where, f"{name} is not {written}", expected)
        for name, written in SUMS.items()
        if name not in found or ast.unparse(found[name]) != written
    ]
    lists = {name: literal_texts(found[name]) if name in found else None for name in WORD_LISTS}
    wrong = [name for name, words in lists.items() if not words]
    faults += [
        Fault(str(package), where, f"{name} is missing, or is not a list of texts", expected)
        for name in wrong
    ]
    if not wrong and len({len(lists[name] or ()) for name in GENDER_LISTS}) > 1:
        faults.append(
            Fault(str(package), where, f"{', '.join(GENDER_LISTS)} differ in length", expected)
        )
    if faults:
        raise InputError(faults)
    return {name: words for name, words in lists.items() if words}


def assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yields the names at the top of a source, with what they are set to."""
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        for target in targets:
            if (
                isinstance(target, ast.Name)
                and isinstance(node, ast.Assign | ast.AnnAssign)
                and node.value is not None
            ):
                yield target.id, node.value


def literal_texts(value: ast.expr) -> list[str] | None:
    """Returns a literal list of texts, None of all else."""
    try:
        told = ast.literal_eval(value)
    except (ValueError, TypeError):
        return None
    return told if isinstance(told, list) and all(isinstance(one, str) for one in told) else None


def word_files(words: LangFairWords) -> Iterator[tuple[str, str]]:
    """Yields the names of the files and what stands in them."""
    rows = [list(row) for row in zip(*(words[name] for name in GENDER_LISTS), strict=True)]
    yield "langfair-gender.yaml", yaml_of("gender", ["female", "male"], {"words": rows})
    alone, before = (words[f"RACE_WORDS_{kind}REQUIRING_CONTEXT"] for kind in ("NOT_", ""))
    races = {"before_person": [race_row(before)], "words": [race_row(alone)]}
    yield "langfair-race.yaml", "people: langfair-people.txt\n" + yaml_of("race", RACES, races)
    parts = (*GENDER_LISTS, "PROFESSION_LIST", "OTHER_PERSON_NOUNS")
    people = {word for name in parts for word in words[name]} - {*words["WORDS_TO_REMOVE"]}
    professions = words["PROFESSION_LIST"]
    yield "langfair-people.txt", word_lines(sorted(people))
    yield "langfair-adjectives.txt", word_lines(words["ADJECTIVE_LIST"])
    yield "langfair-professions.txt", word_lines(professions)
    yield (
        "langfair-professions-plural.txt",
        word_lines([*professions, *(f"{word}s" for word in professions)]),
    )


def race_row(words: Sequence[str]) -> list[object]:
    """Returns the row of words of races: of each race what is written, not looked for unless
    listed, and its words.
    """
    race_of = {
        word: next((race for race, some in BEGINNINGS.items() if word.startswith(some)), RACES[-1])
        for word in words
    }
    cells = []
    for race in RACES:
        of_race = [word for word in words if race_of[word] == race and word != race]
        cells.append([race if race in words else f"({race})", *of_race])
    return [*cells, "[MASK]"]


def yaml_of(bias_type: str, groups: Sequence[str], sections: Mapping[str, Sequence[object]]) -> str:
    """Writes a file of groups, a row of words a line."""
    head = f"bias_type: {bias_type}\ngroups: {json.dumps(groups)}\n"
    return head + "".join(
        "".join([f"{name}:\n", *(f"  - {json.dumps(row)}\n" for row in rows)])
        for name, rows in sections.items()
    )


def word_lines(words: Sequence[str]) -> str:
    """Writes words, one a line."""
    return "".join(f"{word}\n" for word in words)
