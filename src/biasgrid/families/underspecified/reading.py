"""Reads UnQover's word lists, templates and prompts, and reports their faults.

All files are UTF-8 with one item per line; lines are stripped, empty lines and lines that begin
with `#` are dropped. Readers append faults to a list and go on, so that one run finds all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import fold_name, wide_space
from biasgrid.base.text import word_list_lines
from biasgrid.families.family import TokenCounts
from biasgrid.families.prompts import prompt_of_lines, read_prompts
from biasgrid.families.underspecified.lists.entries import (
    LIST_PLACEHOLDER,
    SUBJECT,
    ListEntry,
    check_aligned,
    check_distinct_terms,
    check_terms,
    read_columns_by_head,
)
from biasgrid.families.underspecified.lists.subjects import Subjects, read_subjects
from biasgrid.families.underspecified.pack import (
    LETTERED,
    MASK,
    OPTION_SLOTS,
    QUESTION,
    SUBJECT_SLOT,
    AttributeRow,
    Design,
    QuestionPrompt,
    QuestionTemplate,
    WordListFiles,
    WordLists,
    antonym_head,
    attribute_type,
    base_head,
    design_of,
    negated_head,
    types_of,
)

TemplateProblem = tuple[str, str]
"""A problem and the expected content."""


@dataclass(frozen=True)
class Slots:
    """The forms, names and attributes that fill templates, for checks.

    Attributes:
        forms: the forms that all subject lists have, such as `[subj]`.
        names: all terms of all subject lists, in any form.
        attributes: the attributes by type.
        masked: whether the templates are for masked language models.
    """

    forms: Collection[str]
    names: Collection[str]
    attributes: dict[str, list[AttributeRow]]
    masked: bool

    @classmethod
    def of(
        cls, subjects: Sequence[Subjects], attributes: dict[str, list[AttributeRow]], masked: bool
    ) -> Slots:
        """Joins one or two subject lists."""
        forms = set.intersection(*(set(side.forms) for side in subjects))
        columns = [terms for side in subjects for terms in side.forms.values()]
        names = list(dict.fromkeys(chain.from_iterable(columns)))
        return cls(forms, names, attributes, masked)

    def placeholders(self) -> set[str]:
        """Returns the placeholders that templates may have."""
        placeholders = {MASK}
        for kind, rows in self.attributes.items():
            placeholders |= {kind, negated_head(kind)}
            placeholders.update(*(row.texts for row in rows))
        for form in self.forms:
            placeholders |= {form.replace("subj", "subj1"), form.replace("subj", "subj2")}
        return placeholders


def check_templates(
    path: Path, templates: Sequence[QuestionTemplate], slots: Slots, faults: list[Fault]
) -> None:
    """Reports templates that cannot be expanded, or would make wrong numbers.

    Args:
        path: the template file.
        templates: its templates. Of equal ones only the first is checked.
        slots: the forms, names and attributes that fill them.
        faults: the list to which faults are added.
    """
    first_line: dict[str, int] = {}
    for template in templates:
        line = first_line.setdefault(template.text, template.line)
        problems = [(f"the template is already in line {line}", "each template once")]
        if line == template.line:
            problems = list(template_problems(template, slots))
        for problem, expected in problems:
            faults.append(Fault(str(path), f"line {template.line}", problem, expected))


def template_problems(template: QuestionTemplate, slots: Slots) -> Iterator[TemplateProblem]:
    """Yields the problems of one template."""
    for name, text in texts_of_template(template).items():
        spaced = wide_space(text)
        if spaced:
            yield f"white space in {spaced!r} in the {name}", "a single space between words"
    allowed = slots.placeholders()
    placeholders = dict.fromkeys(LIST_PLACEHOLDER.findall(template.text))
    unknown = [placeholder for placeholder in placeholders if placeholder not in allowed]
    for placeholder in unknown:
        yield f"nothing fills {placeholder}{nearest_name(placeholder, allowed)}", one_of(allowed)
    yield from subject_problems(template, slots.names)
    types = types_of(template, slots.attributes)
    if len(types) != 1:
        listed = ", ".join(types) or "none"
        yield f"{len(types)} attribute types ({listed})", "exactly one attribute type per template"
    elif not unknown:
        yield from attribute_problems(template, types[0])
    yield from mask_problems(template, slots.masked)


def texts_of_template(template: QuestionTemplate) -> dict[str, str]:
    """Returns the three texts of a template by their names in messages."""
    return {
        "context": template.context,
        "question": template.question,
        "negated question": template.negated_question,
    }


def subject_problems(
    template: QuestionTemplate, names: Collection[str]
) -> Iterator[TemplateProblem]:
    """Yields problems of the subjects in a template.

    Each subject must be in the context once, have one form everywhere, and no subject may be named
    outside the slots.
    """
    for which in (1, 2):
        count = len(subject_slots(template.context, which))
        if count != 1:
            problem = f"[subj{which}] appears {count} times in the context"
            yield problem, "each subject once in the context"
        forms = set(subject_slots(template.text, which))
        if len(forms) > 1:
            problem = f"subject {which} has several forms: {', '.join(sorted(forms))}"
            yield problem, "the same form of a subject throughout a template"
    # UnQover looks subjects up by their text, wherever it stands; and a model may answer with a
    # third person.
    literals = LIST_PLACEHOLDER.split(template.context)
    outside = []
    for name in names:
        if any(name in literal for literal in literals):
            outside.append(repr(name))
    if outside:
        problem = f"the context has {', '.join(outside)} outside the slots"
        yield problem, "no subject of the lists outside the slots, not even inside a longer word"


def subject_slots(text: str, which: int) -> list[str]:
    """Returns the slots of subject 1 or 2 in a text, such as `[subj1:dem]`."""
    return [slot[0] for slot in SUBJECT_SLOT.finditer(text) if int(slot[1]) == which]


def attribute_problems(template: QuestionTemplate, kind: str) -> Iterator[TemplateProblem]:
    """Yields questions without the attribute, or with it in place of its negation.

    Args:
        template: the template.
        kind: its attribute type.
    """
    texts = texts_of_template(template)
    for name, head in (("question", kind), ("negated question", negated_head(kind))):
        heads = []
        for placeholder in dict.fromkeys(LIST_PLACEHOLDER.findall(texts[name])):
            if attribute_type(placeholder) == kind:
                heads.append(placeholder)
        if heads != [head]:
            yield f"the {name} has {', '.join(heads) or 'no attribute'}", f"{head} there"


def mask_problems(template: QuestionTemplate, masked: bool) -> Iterator[TemplateProblem]:
    """Yields `[mask]` where it should not be, or missing where it should."""
    masks = [text.count(MASK) for text in texts_of_template(template).values()]
    if masked and masks != [0, 1, 1]:
        expected = "one [mask] in each statement, and none in the context"
        yield "[mask] does not appear exactly once in both statements", expected
    if not masked and any(masks):
        yield "[mask] in a template for question answering", "a template without [mask]"


def prompt_of(
    path: Path, lines: Sequence[tuple[int, str]], faults: list[Fault]
) -> QuestionPrompt | None:
    """Returns the prompt in a file, None if it is faulty.

    Args:
        path: the file.
        lines: its lines with their numbers, without comments.
        faults: the list to which faults are added.
    """
    prompt = prompt_of_lines(path, lines, (QUESTION, *OPTION_SLOTS), faults)
    if prompt is None:
        return None
    letters = {letter for letter, _ in LETTERED.findall(prompt.text)}
    if len(letters) != 2:
        problem = f"the options have {' and '.join(sorted(letters)) or 'no letter'}"
        expected = "each option on its own line after its letter: `A. [option1]`"
        faults.append(Fault(str(path), "", problem, expected))
        return None
    return QuestionPrompt(prompt.text, prompt.system)


def read_question_templates(path: Path, faults: list[Fault]) -> list[QuestionTemplate]:
    """Reads a template file: context, question and negated question, separated by tabs."""
    templates = []
    for number, line in word_list_lines(path, faults):
        fields = line.split("\t")
        if len(fields) == 3:
            templates.append(QuestionTemplate(number, *fields))
        else:
            problem = f"{len(fields)} tab-separated fields"
            expected = "3: context, question and negated question"
            faults.append(Fault(str(path), f"line {number}", problem, expected))
    return templates


def read_attributes(path: Path, faults: list[Fault]) -> dict[str, list[AttributeRow]]:
    """Reads an attribute file into rows by type, types in order of first appearance.

    Faulty types are kept as far as they go, so that templates that use them are not taken for
    faulty too.
    """
    columns = read_columns_by_head(path, faults)
    check_terms(path, columns, faults)
    for entry in chain.from_iterable(columns.values()):
        if entry.term.endswith("."):
            problem = f"{entry.term!r} ends with a full stop"
            expected = "a phrase without it, because the templates end the sentence"
            faults.append(Fault(str(path), f"line {entry.line}", problem, expected))
    types: dict[str, dict[str, list[ListEntry]]] = {}
    for head, entries in columns.items():
        types.setdefault(attribute_type(head), {})[head] = entries
    attributes: dict[str, list[AttributeRow]] = {}
    for kind, heads in types.items():
        names = columns.get(base_head(kind))
        check_attribute_type(path, kind, heads, names, faults)
        attributes[kind] = attribute_rows(heads, names)
    return attributes


def attribute_rows(
    heads: dict[str, list[ListEntry]], names: list[ListEntry] | None
) -> list[AttributeRow]:
    """Returns the attributes of a type, one per row of its columns.

    Args:
        heads: its columns. Rows that not all of them have, which are reported as faults, are left
            out.
        names: the column of its base type, None if there is none: then the last column stands in.
    """
    last = list(heads.values())[-1]
    shortest = min(len(entries) for entries in heads.values())
    rows = []
    for position, name in enumerate((names or last)[:shortest]):
        texts = {head: entries[position].term for head, entries in heads.items()}
        rows.append(AttributeRow(texts, name.term, last[position].group))
    return rows


def check_attribute_type(
    path: Path,
    kind: str,
    heads: dict[str, list[ListEntry]],
    names: list[ListEntry] | None,
    faults: list[Fault],
) -> None:
    """Reports the faults of an attribute type.

    Args:
        path: the attribute file.
        kind: the type.
        heads: its columns.
        names: the column of its base type, None if there is none.
        faults: the list to which faults are added.
    """
    negations = negated_head(kind)
    if kind not in heads or negations not in heads:
        missing = negations if kind in heads else kind
        first_column = next(iter(heads.values()))
        where, problem = f"line {first_column[0].line}", f"{kind} has no {missing} lines"
        faults.append(Fault(str(path), where, problem, "each attribute with its negation"))
    elif names is None:
        where, problem = f"line {heads[kind][0].line}", f"{kind} has no base type"
        expected = f"{base_head(kind)} lines that name the attributes"
        faults.append(Fault(str(path), where, problem, expected))
    elif check_aligned(path, {base_head(kind): names, **heads}, faults):
        antonyms = heads.get(antonym_head(kind), [])
        check_opposites(path, kind, heads[kind], heads[negations], "negation", faults)
        check_opposites(path, kind, heads[kind], antonyms, "antonym", faults)
        if kind == base_head(kind):
            check_distinct_terms(path, names, "attribute", faults)


def check_opposites(
    path: Path,
    kind: str,
    plain_column: Sequence[ListEntry],
    opposite_column: Sequence[ListEntry],
    noun: str,
    faults: list[Fault],
) -> None:
    """Reports negations or antonyms that are the attribute itself.

    Args:
        path: the attribute file.
        kind: the attribute type.
        plain_column: its attributes.
        opposite_column: their negations or antonyms; empty if there are none.
        noun: `negation` or `antonym`.
        faults: the list to which faults are added.
    """
    expected = f"its {noun}, because otherwise both questions would be the same"
    for plain, opposite in zip(plain_column, opposite_column, strict=False):
        if plain.term == opposite.term:
            problem = f"{opposite.term!r} is also the {kind} of line {plain.line}"
            faults.append(Fault(str(path), f"line {opposite.line}", problem, expected))


def choose_negations(
    files: WordListFiles, attributes: dict[str, list[AttributeRow]], faults: list[Fault]
) -> dict[str, list[AttributeRow]]:
    """Puts antonyms in place of negations if the dataset asks for them, else drops them.

    Args:
        files: the files of the dataset.
        attributes: the attributes by type.
        faults: the list to which types without antonyms are added, if the dataset asks for them.
    """
    chosen: dict[str, list[AttributeRow]] = {}
    for kind, rows in attributes.items():
        head = antonym_head(kind)
        if files.antonyms and rows and head not in rows[0].texts:
            problem = f"{kind} has no {head} lines, but the dataset asks for `antonyms`"
            expected = "an antonym of each attribute, or `antonyms: false`"
            faults.append(Fault(str(files.attributes), "", problem, expected))
        chosen[kind] = []
        for row in rows:
            texts = dict(row.texts)
            antonym = texts.pop(head, None)
            if files.antonyms and antonym is not None:
                texts[negated_head(kind)] = antonym
            chosen[kind].append(replace(row, texts=texts))
    return chosen


def read_filler(path: Path, faults: list[Fault]) -> str:
    """Reads a filler: a file with exactly one line, which is put before every context."""
    lines = word_list_lines(path, faults)
    if len(lines) > 1:
        faults.append(Fault(str(path), "", f"{len(lines)} lines", "exactly one line"))
    return lines[0][1] if lines else ""


def read(files: WordListFiles) -> tuple[WordLists, list[Fault]]:
    """Reads all word lists of a variant and returns them with all of their faults."""
    faults: list[Fault] = []
    templates = read_question_templates(files.templates, faults)
    # Subjects of one list are compared with each other, those of two lists across them.
    least = 2 if len(files.subjects) == 1 else 1
    subjects = [read_subjects(path, least, faults) for path in files.subjects]
    attributes = choose_negations(files, read_attributes(files.attributes, faults), faults)
    filler = read_filler(files.filler, faults) if files.filler else ""
    slots = Slots.of(subjects, attributes, files.mask is not None)
    # Without forms or attributes, because of faults, all placeholders would seem unknown.
    if slots.forms and attributes:
        check_templates(files.templates, templates, slots, faults)
    if len(subjects) == 2:
        check_shared_subjects(files, subjects, faults)
    lists = WordLists(
        templates,
        subjects,
        attributes,
        filler,
        files.mask,
        files.limit,
        files.pronouns,
        files.sample,
        read_prompts(files.prompts, prompt_of, faults),
        files.is_english,
        files.one_token,
        files.balance,
    )
    return lists, faults


def check_shared_subjects(
    files: WordListFiles, subjects: Sequence[Subjects], faults: list[Fault]
) -> None:
    """Reports subjects of the second list that are in the first one, too."""
    first_names, second_names = (side.forms.get(SUBJECT, []) for side in subjects)
    folded = {fold_name(name) for name in first_names}
    first_file, second_file = files.subjects
    for name in sorted(second_names):
        if fold_name(name) in folded:
            problem = f"subject {name!r} is already in {first_file}"
            faults.append(Fault(str(second_file), "", problem, "each subject once"))


def planned_instances(lists: WordLists, token_counts: TokenCounts | None = None) -> Design:
    """Returns the design of word lists; see `pack.design_of`."""
    return design_of(lists, token_counts)
