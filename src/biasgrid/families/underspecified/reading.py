"""Reads UnQover's word lists and says what is wrong with them.

All files are UTF-8 with one item per line; lines are stripped, empty lines and lines that begin with `#` are
dropped. Readers append what is wrong to a list of faults and go on, so that one look finds everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.names import alike, fold_name
from biasgrid.base.text import read_text
from biasgrid.families.family import OneToken
from biasgrid.families.texts import wide_space
from biasgrid.families.underspecified.design import Design, design_of
from biasgrid.families.underspecified.prompts import prompt_of
from biasgrid.families.underspecified.template_checks import Slots, check_templates
from biasgrid.families.underspecified.word_lists import (
    PLACEHOLDER,
    Attribute,
    Subjects,
    Template,
    WordListFiles,
    WordLists,
    attribute_type,
    base_head,
    negated_head,
)


@dataclass(frozen=True)
class Entry:
    """A `HEAD [group |] term` line."""

    line: int
    group: str | None
    term: str


def read_lines(path: Path, faults: list[Fault]) -> list[tuple[int, str]]:
    """Returns the kept lines of a word list with their 1-based numbers."""
    try:
        text = read_text(path, "a word list")
    except InputError as error:
        faults += error.faults
        return []
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    kept = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not kept:
        problem = "only comments" if text.strip() else "the file is empty"
        faults.append(Fault(str(path), "", problem, "one item per line"))
    return kept


def read_templates(path: Path, faults: list[Fault]) -> list[Template]:
    """Reads a template file: context, question and negated question, separated by tabs."""
    templates = []
    for number, line in read_lines(path, faults):
        fields = line.split("\t")
        if len(fields) == 3:
            templates.append(Template(number, *fields))
        else:
            problem = f"{len(fields)} tab-separated fields"
            expected = "3: context, question and negated question, with a tab between each"
            faults.append(Fault(str(path), f"line {number}", problem, expected))
    return templates


def read_columns(path: Path, faults: list[Fault]) -> dict[str, list[Entry]]:
    """Reads `HEAD [group |] term` lines into columns by head, in order of first appearance."""
    columns: dict[str, list[Entry]] = {}
    for number, line in read_lines(path, faults):
        head, _, rest = line.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        where = f"line {number}"
        if not PLACEHOLDER.fullmatch(head):
            faults.append(Fault(str(path), where, f"begins with {head!r}", "a head such as [subj] and a space"))
        elif len(parts) > 2:
            faults.append(Fault(str(path), where, f"{len(parts) - 1} '|' signs", "at most one: group | term"))
        elif not parts[-1]:
            faults.append(Fault(str(path), where, f"no term after {head}", "a term"))
        else:
            subject_group = parts[0] if len(parts) == 2 else None
            columns.setdefault(head, []).append(Entry(number, subject_group, parts[-1]))
    return columns


def check_aligned(path: Path, columns: dict[str, list[Entry]], faults: list[Fault]) -> bool:
    """Reports columns of unequal length; returns whether all are equally long."""
    lengths = {head: len(entries) for head, entries in columns.items()}
    if len(set(lengths.values())) <= 1:
        return True
    counts = ", ".join(f"{head} {length}" for head, length in lengths.items())
    shortest = min(lengths, key=lambda head: lengths[head])
    last = columns[shortest][-1].line
    faults.append(
        Fault(
            str(path),
            f"line {last}",
            f"columns of unequal length: {counts}",
            f"as many {shortest} lines as of the others (its last one is line {last})",
        )
    )
    return False


def check_columns(path: Path, columns: dict[str, list[Entry]], faults: list[Fault]) -> None:
    """Reports terms with odd white space or placeholders, and lines with or without a group unlike most others."""
    for head, entries in columns.items():
        for entry in entries:
            for placeholder in PLACEHOLDER.findall(entry.term):
                problem = f"placeholder {placeholder} in {entry.term!r}"
                faults.append(Fault(str(path), f"line {entry.line}", problem, "only words: nothing fills it there"))
            if found := wide_space(entry.term):
                problem = f"white space in {found!r}"
                faults.append(Fault(str(path), f"line {entry.line}", problem, "one space between two words"))
        without = [entry for entry in entries if entry.group is None]
        clustered = [entry for entry in entries if entry.group is not None]
        for subject_group, other in alike(entry.group for entry in clustered if entry.group is not None):
            line = next(entry.line for entry in clustered if entry.group == subject_group)
            problem = f"the group {subject_group!r} is {other!r} but for case or normal form"
            faults.append(Fault(str(path), f"line {line}", problem, "every group spelled alike"))
        if without and clustered:
            for entry in min(without, clustered, key=len):
                problem = f"{'no group' if entry.group is None else 'a group'}, unlike other {head} lines"
                expected = f"a group and '|' in all {head} lines or in none"
                faults.append(Fault(str(path), f"line {entry.line}", problem, expected))


def check_distinct(path: Path, entries: Iterable[Entry], what: str, faults: list[Fault]) -> None:
    """Reports terms that stand twice in a column, or look like another one."""
    first: dict[str, Entry] = {}
    for entry in entries:
        other = first.setdefault(fold_name(entry.term), entry)
        if other is not entry:
            unlike = f"is {other.term!r} of line {other.line} but for case or normal form"
            problem = f"is already in line {other.line}" if entry.term == other.term else unlike
            where = f"line {entry.line}"
            faults.append(Fault(str(path), where, f"{what} {entry.term!r} {problem}", f"every {what} once"))


def read_subjects(path: Path, least: int, faults: list[Fault]) -> Subjects:
    """Reads a subject list, of `least` subjects at least; a subject's group is the one in the file's last column."""
    columns = read_columns(path, faults)
    if columns and "[subj]" not in columns:
        faults.append(Fault(str(path), "", f"no [subj] lines, only {', '.join(columns)}", "[subj] lines"))
        return Subjects({}, [])
    if not columns:
        return Subjects({}, [])
    check_aligned(path, columns, faults)
    check_columns(path, columns, faults)
    check_distinct(path, columns["[subj]"], "subject", faults)
    if len(columns["[subj]"]) < least:
        line = columns["[subj]"][-1].line
        faults.append(Fault(str(path), f"line {line}", "only one subject", "at least 2 to compare"))
    forms = {head: [entry.term for entry in entries] for head, entries in columns.items()}
    last = list(columns.values())[-1]
    return Subjects(forms, [entry.group for entry in last])


def read_attributes(path: Path, faults: list[Fault]) -> dict[str, list[Attribute]]:
    """Reads an attribute file into rows by type, types in order of first appearance.

    Faulty types are kept as far as they go, so that templates that use them are not taken for faulty too.
    """
    columns = read_columns(path, faults)
    check_columns(path, columns, faults)
    for entry in chain.from_iterable(columns.values()):
        if entry.term.endswith("."):
            problem = f"{entry.term!r} ends with a full stop"
            faults.append(Fault(str(path), f"line {entry.line}", problem, "a phrase, as templates end the sentence"))
    types: dict[str, dict[str, list[Entry]]] = {}
    for head, entries in columns.items():
        types.setdefault(attribute_type(head), {})[head] = entries
    attributes: dict[str, list[Attribute]] = {}
    for kind, heads in types.items():
        check_type(path, kind, heads, columns.get(base_head(kind)), faults)
        last = list(heads.values())[-1]
        names = columns.get(base_head(kind), last)
        attributes[kind] = [
            Attribute({head: entries[row].term for head, entries in heads.items()}, name.term, last[row].group)
            for row, name in enumerate(names[: min(len(entries) for entries in heads.values())])
        ]
    return attributes


def check_type(
    path: Path, kind: str, heads: dict[str, list[Entry]], names: list[Entry] | None, faults: list[Fault]
) -> None:
    """Reports what is wrong with an attribute type.

    Args:
        path: the attribute file.
        kind: the type.
        heads: its columns.
        names: the column of its base type, None where there is none.
        faults: where to add what is wrong.
    """

    def fault(line: int, problem: str, expected: str) -> None:
        faults.append(Fault(str(path), f"line {line}", problem, expected))

    if kind not in heads or negated_head(kind) not in heads:
        missing = negated_head(kind) if kind in heads else kind
        line = next(iter(heads.values()))[0].line
        fault(line, f"{kind} has no {missing} lines", "each attribute with its negation")
    elif names is None:
        problem = f"{kind} has no base type"
        fault(heads[kind][0].line, problem, f"{base_head(kind)} lines, which name the attributes")
    elif check_aligned(path, {base_head(kind): names, **heads}, faults):
        for plain, negated in zip(heads[kind], heads[negated_head(kind)], strict=True):
            if plain.term == negated.term:
                problem = f"{negated.term!r} is the {kind} of line {plain.line} too"
                fault(negated.line, problem, "its negation, as both questions would be the same")
        if kind == base_head(kind):
            check_distinct(path, names, "attribute", faults)


def read_filler(path: Path, faults: list[Fault]) -> str:
    """Reads a filler: a file with exactly one line, which is put before every context."""
    lines = read_lines(path, faults)
    if len(lines) > 1:
        faults.append(Fault(str(path), "", f"{len(lines)} lines", "exactly one line"))
    return lines[0][1] if lines else ""


def read(files: WordListFiles) -> tuple[WordLists, list[Fault]]:
    """Reads all word lists of a variant and returns them with every fault that is in them."""
    faults: list[Fault] = []
    templates = read_templates(files.templates, faults)
    # Subjects of one list are compared with each other, those of two lists across them.
    least = 2 if len(files.subjects) == 1 else 1
    subjects = [read_subjects(path, least, faults) for path in files.subjects]
    attributes = read_attributes(files.attributes, faults)
    filler = read_filler(files.filler, faults) if files.filler else ""
    slots = Slots.of(subjects, attributes, files.mask is not None)
    if slots.forms and attributes:
        check_templates(files.templates, templates, slots, faults)
    if len(subjects) == 2:
        others = {fold_name(name) for name in subjects[0].forms.get("[subj]", [])}
        for name in sorted(name for name in subjects[1].forms.get("[subj]", []) if fold_name(name) in others):
            problem = f"subject {name!r} is in {files.subjects[0]} too"
            faults.append(Fault(str(files.subjects[1]), "", problem, "every subject once"))
    prompt = prompt_of(files.prompt, read_lines(files.prompt, faults), faults) if files.prompt else None
    given = files.mask, files.limit, files.pronouns, files.sample, prompt
    return WordLists(templates, subjects, attributes, filler, *given), faults


def asked(lists: WordLists, one_token: OneToken | None = None) -> Design:
    """Returns what word lists ask; see `design.design_of`."""
    return design_of(lists, one_token)
