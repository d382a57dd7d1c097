"""Reads UnQover's word lists, templates and prompts, and says what is wrong with them.

All files are UTF-8 with one item per line; lines are stripped, empty lines and lines that begin
with `#` are dropped. Readers append what is wrong to a list of faults and go on, so that one look
finds everything.
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
"""What is wrong, and what was expected."""


@dataclass(frozen=True)
class Slots:
    """What may be filled in, for checks.

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
        """Takes together what the subject lists have."""
        forms = set.intersection(*(set(subject_list.forms) for subject_list in subjects))
        columns = [terms for subject_list in subjects for terms in subject_list.forms.values()]
        names = list(dict.fromkeys(name for terms in columns for name in terms))
        return cls(forms, names, attributes, masked)

    def placeholders(self) -> set[str]:
        """Returns the placeholders that templates may have."""
        heads = {head for rows in self.attributes.values() for row in rows for head in row.texts}
        heads |= {head for kind in self.attributes for head in (kind, negated_head(kind))}
        slots = {head.replace("subj", f"subj{which}") for head in self.forms for which in (1, 2)}
        return heads | slots | {MASK}


def check_templates(
    path: Path, templates: Sequence[QuestionTemplate], slots: Slots, faults: list[Fault]
) -> None:
    """Reports what keeps templates from being expanded, or would make their numbers wrong."""
    first: dict[str, int] = {}
    for template in templates:
        line = first.setdefault(template.text, template.line)
        twice = [(f"the template is already in line {line}", "each template once")]
        problems = template_problems(template, slots) if line == template.line else twice
        faults += [Fault(str(path), f"line {template.line}", *problem) for problem in problems]


def template_problems(template: QuestionTemplate, slots: Slots) -> Iterator[TemplateProblem]:
    """Yields what is wrong with one template."""
    for name, text in texts_of_template(template).items():
        if found := wide_space(text):
            yield f"white space in {found!r} in the {name}", "a single space between words"
    known = slots.placeholders()
    unknown = [
        one for one in dict.fromkeys(LIST_PLACEHOLDER.findall(template.text)) if one not in known
    ]
    for placeholder in unknown:
        yield f"nothing fills {placeholder}{nearest_name(placeholder, known)}", one_of(known)
    yield from subject_problems(template, slots.names)
    types = types_of(template, slots.attributes)
    if len(types) != 1:
        yield (
            f"{len(types)} attribute types ({', '.join(types) or 'none'})",
            "exactly one attribute type per template",
        )
    elif not unknown:
        yield from attribute_problems(template, types[0])
    yield from mask_problems(template, slots.masked)


def texts_of_template(template: QuestionTemplate) -> dict[str, str]:
    """Returns the three texts of a template by what messages call them."""
    return {
        "context": template.context,
        "question": template.question,
        "negated question": template.negated_question,
    }


def subject_problems(
    template: QuestionTemplate, names: Collection[str]
) -> Iterator[TemplateProblem]:
    """Yields subjects that do not stand once in the context, in one form, or that stand beside
    their slots.
    """
    for which in (1, 2):
        in_context = [
            slot for slot in SUBJECT_SLOT.finditer(template.context) if int(slot[1]) == which
        ]
        everywhere = {
            slot[0] for slot in SUBJECT_SLOT.finditer(template.text) if int(slot[1]) == which
        }
        if len(in_context) != 1:
            yield (
                f"[subj{which}] appears {len(in_context)} times in the context",
                "each subject once in the context",
            )
        if len(everywhere) > 1:
            forms = ", ".join(sorted(everywhere))
            yield (
                f"subject {which} has several forms: {forms}",
                "the same form of a subject throughout a template",
            )
    # UnQover looks subjects up by their text, wherever it stands; and a model may answer with a
    # third person.
    literals = LIST_PLACEHOLDER.split(template.context)
    named = [repr(name) for name in names if any(name in literal for literal in literals)]
    if named:
        problem = f"the context has {', '.join(named)} outside the slots"
        yield problem, "no subject of the lists outside the slots, not even inside a longer word"


def attribute_problems(template: QuestionTemplate, kind: str) -> Iterator[TemplateProblem]:
    """Yields questions that do not ask for the attribute, or negated ones that do not ask for its
    negation.
    """
    for name, head in (("question", kind), ("negated question", negated_head(kind))):
        placeholders = LIST_PLACEHOLDER.findall(texts_of_template(template)[name])
        asked = dict.fromkeys(one for one in placeholders if attribute_type(one) == kind)
        if [*asked] != [head]:
            yield f"the {name} has {', '.join(asked) or 'no attribute'}", f"{head} there"


def mask_problems(template: QuestionTemplate, masked: bool) -> Iterator[TemplateProblem]:
    """Yields `[mask]` where it should not be, or missing where it should."""
    masks = [text.count(MASK) for text in texts_of_template(template).values()]
    if masked and masks != [0, 1, 1]:
        yield (
            "[mask] does not appear exactly once in both statements",
            "one [mask] in each statement, and none in the context",
        )
    if not masked and any(masks):
        yield "[mask] in a template for question answering", "a template without [mask]"


def prompt_of(
    path: Path, lines: Sequence[tuple[int, str]], faults: list[Fault]
) -> QuestionPrompt | None:
    """Makes a prompt of a file's lines, None where they are none.

    Args:
        path: the file.
        lines: its lines with their numbers, without comments.
        faults: where to add what is wrong.
    """
    prompt = prompt_of_lines(path, lines, (QUESTION, *OPTION_SLOTS), faults)
    if prompt is None:
        return None
    letters = {letter for letter, _ in LETTERED.findall(prompt.text)}
    if len(letters) != 2:
        problem = f"the options have {' and '.join(sorted(letters)) or 'no letter'}"
        faults.append(
            Fault(
                str(path),
                "",
                problem,
                "each option on its own line after its letter: `A. [option1]`",
            )
        )
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
            faults.append(
                Fault(
                    str(path),
                    f"line {entry.line}",
                    problem,
                    "a phrase without it, because the templates end the sentence",
                )
            )
    types: dict[str, dict[str, list[ListEntry]]] = {}
    for head, entries in columns.items():
        types.setdefault(attribute_type(head), {})[head] = entries
    attributes: dict[str, list[AttributeRow]] = {}
    for kind, heads in types.items():
        check_attribute_type(path, kind, heads, columns.get(base_head(kind)), faults)
        last = list(heads.values())[-1]
        names = columns.get(base_head(kind), last)
        attributes[kind] = [
            AttributeRow(
                {head: entries[row].term for head, entries in heads.items()},
                name.term,
                last[row].group,
            )
            for row, name in enumerate(names[: min(len(entries) for entries in heads.values())])
        ]
    return attributes


def check_attribute_type(
    path: Path,
    kind: str,
    heads: dict[str, list[ListEntry]],
    names: list[ListEntry] | None,
    faults: list[Fault],
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
        fault(heads[kind][0].line, problem, f"{base_head(kind)} lines that name the attributes")
    elif check_aligned(path, {base_head(kind): names, **heads}, faults):
        for plain, negated in zip(heads[kind], heads[negated_head(kind)], strict=True):
            if plain.term == negated.term:
                problem = f"{negated.term!r} is also the {kind} of line {plain.line}"
                fault(
                    negated.line,
                    problem,
                    "its negation, because otherwise both questions would be the same",
                )
        for plain, antonym in zip(heads[kind], heads.get(antonym_head(kind), ()), strict=False):
            if plain.term == antonym.term:
                problem = f"{antonym.term!r} is also the {kind} of line {plain.line}"
                fault(
                    antonym.line,
                    problem,
                    "its antonym, because otherwise both questions would be the same",
                )
        if kind == base_head(kind):
            check_distinct_terms(path, names, "attribute", faults)


def choose_negations(
    files: WordListFiles, attributes: dict[str, list[AttributeRow]], faults: list[Fault]
) -> dict[str, list[AttributeRow]]:
    """Puts antonyms in place of negations where they are asked, and drops them otherwise; reports
    types without any.
    """
    chosen: dict[str, list[AttributeRow]] = {}
    for kind, rows in attributes.items():
        head = antonym_head(kind)
        if files.antonyms and rows and head not in rows[0].texts:
            problem = f"{kind} has no {head} lines, but the dataset asks for `antonyms`"
            faults.append(
                Fault(
                    str(files.attributes),
                    "",
                    problem,
                    "an antonym of each attribute, or `antonyms: false`",
                )
            )
        chosen[kind] = []
        for row in rows:
            texts = {key: text for key, text in row.texts.items() if key != head}
            if files.antonyms and head in row.texts:
                texts[negated_head(kind)] = row.texts[head]
            chosen[kind].append(replace(row, texts=texts))
    return chosen


def read_filler(path: Path, faults: list[Fault]) -> str:
    """Reads a filler: a file with exactly one line, which is put before every context."""
    lines = word_list_lines(path, faults)
    if len(lines) > 1:
        faults.append(Fault(str(path), "", f"{len(lines)} lines", "exactly one line"))
    return lines[0][1] if lines else ""


def read(files: WordListFiles) -> tuple[WordLists, list[Fault]]:
    """Reads all word lists of a variant and returns them with every fault that is in them."""
    faults: list[Fault] = []
    templates = read_question_templates(files.templates, faults)
    # Subjects of one list are compared with each other, those of two lists across them.
    least = 2 if len(files.subjects) == 1 else 1
    subjects = [read_subjects(path, least, faults) for path in files.subjects]
    attributes = choose_negations(files, read_attributes(files.attributes, faults), faults)
    filler = read_filler(files.filler, faults) if files.filler else ""
    slots = Slots.of(subjects, attributes, files.mask is not None)
    if slots.forms and attributes:
        check_templates(files.templates, templates, slots, faults)
    if len(subjects) == 2:
        others = {fold_name(name) for name in subjects[0].forms.get("[subj]", [])}
        for name in sorted(
            name for name in subjects[1].forms.get("[subj]", []) if fold_name(name) in others
        ):
            problem = f"subject {name!r} is already in {files.subjects[0]}"
            faults.append(Fault(str(files.subjects[1]), "", problem, "each subject once"))
    prompts = read_prompts(files.prompts, prompt_of, faults)
    given = (
        files.mask,
        files.limit,
        files.pronouns,
        files.sample,
        prompts,
        files.is_english,
        files.one_token,
    )
    return WordLists(templates, subjects, attributes, filler, *given, files.balance), faults


def planned_instances(lists: WordLists, token_counts: TokenCounts | None = None) -> Design:
    """Returns what word lists ask; see `pack.design_of`."""
    return design_of(lists, token_counts)
