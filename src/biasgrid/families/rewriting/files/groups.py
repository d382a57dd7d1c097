"""Reads groups and their words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import Field

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.names import normal_form, similar_names
from biasgrid.base.sections import Section
from biasgrid.base.text import read_text
from biasgrid.base.yaml import Document, NodePlace, read_yaml

GROUPS_FILE = "groups and their words in YAML"
GROUPS_KEYS = "keys such as bias_type, groups and words"
PEOPLE_EXPECTED = "words for people, one a line; # begins a comment"
Condition = Literal["noun", "person"]
CONDITIONS: Mapping[str, Condition | None] = {
    "words": None,
    "nouns": None,
    "before_noun": "noun",
    "before_person": "person",
}
"""What must follow the words of each section of a file."""
ONLY_WRITTEN = re.compile(r"^\((.+)\)$")
DEFAULT_SIGN = "*"
WordsOfGroup = str | list[str]


class GroupFile(Section):
    """What a file of groups may say."""

    bias_type: str = Field(min_length=1, description="what the groups have in common")
    warning: str | None = Field(None, description="what readers are warned of")
    groups: list[str] = Field(min_length=2, description="their names, in the order of the words in a row")
    words: list[list[WordsOfGroup]] = Field(default_factory=list, description="rows of words, the neutral one last")
    nouns: list[list[WordsOfGroup]] = Field(default_factory=list, description="the same with their plurals")
    before_noun: list[list[WordsOfGroup]] = Field(
        default_factory=list, description="words that hold before a noun alone"
    )
    before_person: list[list[WordsOfGroup]] = Field(
        default_factory=list, description="words that hold before a person alone"
    )
    people: str | None = Field(None, description="file of words for persons, beside this one")
    agreement: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="what becomes of the word behind one that was written"
    )


@dataclass(frozen=True)
class WordRow:
    """Words that say the same of each group.

    Attributes:
        written: what is written for each group, and last the neutral word where there is one.
        sought: for each group what is looked for, in the spelling of the file.
        condition: what must follow.
        defaults: which of what is looked for is meant where another row has it, too.
        place: the row's place in its file.
    """

    written: tuple[str, ...]
    sought: tuple[tuple[str, ...], ...]
    condition: Condition | None
    defaults: frozenset[str]
    place: NodePlace


@dataclass(frozen=True)
class GroupWords:
    """Groups and their words.

    Attributes:
        bias_type: what they have in common.
        names: their names.
        rows: their words.
        people: words for persons, in lower case.
        agreement: by words in lower case, what becomes of the word behind them.
        warning: what readers are warned of.
    """

    bias_type: str
    names: tuple[str, ...]
    rows: tuple[WordRow, ...]
    people: tuple[str, ...] = ()
    agreement: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    warning: str | None = None

    @property
    def has_neutral(self) -> bool:
        """Whether there are neutral words."""
        return all(len(row.written) > len(self.names) for row in self.rows)

    def deciding_words(self) -> list[object]:
        """Returns what decides how texts are rewritten, for digests."""
        rows = [[row.written, row.sought, row.condition, sorted(row.defaults)] for row in self.rows]
        agreement = {word: dict(following) for word, following in self.agreement.items()}
        return [self.names, rows, self.people, agreement]


def read_group_words(path: Path) -> tuple[GroupWords | None, list[Fault]]:
    """Reads groups and returns them with every fault that is in their file."""
    try:
        document = read_yaml(path, GROUPS_FILE, GROUPS_KEYS)
        head = document.checked(GroupFile, path)
        people = read_people(path.parent / head.people) if head.people else ()
    except InputError as error:
        return None, error.faults
    faults = [*word_row_faults(path, document, head)]
    if faults:
        return None, faults
    agreement = {word.lower(): following for word, following in head.agreement.items()}
    groups = GroupWords(head.bias_type, tuple(head.groups), tuple(word_rows(head)), people, agreement, head.warning)
    return groups, [*word_faults(path, document, groups)]


def groups_digest(path: Path) -> str:
    """Returns a digest of the words of groups, empty where they cannot be read, which `read` tells."""
    groups, faults = read_group_words(path)
    return "" if groups is None or faults else sha256(json.dumps(groups.deciding_words()).encode()).hexdigest()[:16]


def read_people(path: Path) -> tuple[str, ...]:
    """Reads words for persons.

    Raises:
        InputError: the file cannot be read, or holds none.
    """
    words = [line.split("#")[0].strip().lower() for line in read_text(path, PEOPLE_EXPECTED).split("\n")]
    found = tuple(dict.fromkeys(word for word in words if word))
    if not found:
        raise InputError([Fault(str(path), "", "holds no words", PEOPLE_EXPECTED)])
    return found


def word_row_faults(path: Path, document: Document, head: GroupFile) -> Iterator[Fault]:
    """Yields rows of unequal lengths, empty words, groups named twice, and what needs `people`."""
    for name in sorted({name for name in head.groups if head.groups.count(name) > 1}):
        yield document.fault(path, ("groups",), f"{name!r} appears twice", "every group once")
    for name, other in similar_names(head.groups):
        problem = f"{name!r} is {other!r} but for case or normal form"
        yield document.fault(path, ("groups",), problem, "every group once")
    sections = {name: getattr(head, name) for name in CONDITIONS}
    rows = [((name, number), row) for name, section in sections.items() for number, row in enumerate(section)]
    if not rows:
        yield Fault(str(path), "", "no words", f"rows of words in one of {', '.join(CONDITIONS)}")
    lengths = {len(row) for _, row in rows}
    allowed = max(lengths & {len(head.groups), len(head.groups) + 1}, default=len(head.groups))
    for place, row in rows:
        if len(row) != allowed:
            names = [*head.groups, "neutral"][:allowed]
            expected = f"{allowed}, as other rows have: one each for {', '.join(names)}"
            yield document.fault(path, place, f"{len(row)} words", expected)
        for number, cell in enumerate(row):
            if not cell or not all(word.strip("() *") for word in words_of_cell(cell)):
                expected = "a word, or a list of words whose first one is written"
                yield document.fault(path, (*place, number), "no word", expected)
    if head.before_person and not head.people:
        yield document.fault(path, ("before_person",), "no `people`", "`people`, a file of words for persons")


def words_of_cell(cell: WordsOfGroup) -> list[str]:
    """Returns the words of a cell as they are given."""
    return [cell] if isinstance(cell, str) else cell


def word_rows(head: GroupFile) -> Iterator[WordRow]:
    """Yields the rows of a file, of nouns one for the singular and one for the plural."""
    for name, condition in CONDITIONS.items():
        for number, row in enumerate(getattr(head, name)):
            for forms in (singulars, plurals) if name == "nouns" else (list,):
                yield word_row(
                    [forms(words_of_cell(cell)) for cell in row], len(head.groups), condition, (name, number)
                )


def word_row(cells: list[list[str]], groups: int, condition: Condition | None, place: NodePlace) -> WordRow:
    """Returns a row of words."""
    plain = [[ONLY_WRITTEN.sub(r"\1", word.removesuffix(DEFAULT_SIGN)) for word in cell] for cell in cells]
    sought = tuple(
        tuple(word for word, as_given in zip(words, cell, strict=True) if not ONLY_WRITTEN.match(as_given))
        for words, cell in zip(plain[:groups], cells, strict=False)
    )
    defaults = frozenset(
        word.removesuffix(DEFAULT_SIGN).lower() for cell in cells for word in cell if word.endswith(DEFAULT_SIGN)
    )
    return WordRow(tuple(words[0] for words in plain), sought, condition, defaults, place)


def singulars(words: list[str]) -> list[str]:
    """Returns the part of nouns before the stroke."""
    return [re.sub(r"/[^)*]+", "", word) for word in words]


def plurals(words: list[str]) -> list[str]:
    """Returns the plurals of nouns: behind a stroke, or made with -s, -es or -ies."""
    return [re.sub(r"^(\(?)([^)*]+)", lambda found: found[1] + plural(found[2]), word) for word in words]


def plural(noun: str) -> str:
    """Returns the plural of a noun, or of the last word of several."""
    singular, stroke, plural_form = noun.partition("/")
    if stroke:
        return plural_form
    if re.search(r"(?:s|x|z|ch|sh)$", singular):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if re.search(r"[^aeiou]y$", singular) else f"{singular}s"


def word_faults(path: Path, document: Document, groups: GroupWords) -> Iterator[Fault]:
    """Yields words that name two groups, and words of two rows of which neither is the default."""
    rows: dict[str, list[tuple[int, WordRow]]] = {}
    for row in groups.rows:
        for number, sought in enumerate(row.sought):
            for word in sought:
                rows.setdefault(word.lower(), []).append((number, row))
    for word, other in similar_names(rows, normal_form):
        problem = f"{word!r} is {other!r} in another normal form"
        yield document.fault(path, rows[word][0][1].place, problem, "every word once, or all in the normal form NFC")
    for word, several in rows.items():
        place = several[-1][1].place
        names = [groups.names[number] for number in dict.fromkeys(number for number, _ in several)]
        if len(names) > 1:
            problem = f"{word!r} is a word of {' and of '.join(names)}"
            yield document.fault(path, place, problem, f"a word of one group; ({word}) is written, but not looked for")
            continue
        for condition in dict.fromkeys(row.condition for _, row in several):
            same = [row for _, row in several if row.condition == condition]
            marked = sum(word in row.defaults for row in same)
            if len(same) > 1 and marked != 1:
                problem = f"{word!r} is in {len(same)} rows, {marked} of them marked"
                yield document.fault(path, place, problem, f"{word}{DEFAULT_SIGN} in the row that is meant by default")
