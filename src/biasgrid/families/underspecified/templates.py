"""Attributes, the templates of questions about them, and prompts: their files and their faults.

An attribute has a wording for each head of its type: `[p_act]`, its negation `[p_act:neg]`, perhaps
an antonym `[p_act:antonym]`, and the same for further types such as `[p_act-single]`. A template
asks for the attributes of one type.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import wide_space
from biasgrid.families.prompts import NumberedLines, Prompt, prompt_of_lines
from biasgrid.families.underspecified.lists import (
    LIST_PLACEHOLDER,
    Columns,
    LineProblem,
    ListEntry,
    ListFile,
    Subjects,
    check_aligned,
    check_distinct_terms,
    read_columns,
)

SUBJECT_SLOT = re.compile(r"\[subj([12])(:[a-z]+)?\]")
MASK, QUESTION = "[mask]", "[question]"
OPTION_SLOTS = ("[option1]", "[option2]")
LETTERED = re.compile(r"^([A-Za-z0-9]+)[.):]? \[option([12])\]$", re.MULTILINE)

# Attributes


@dataclass(frozen=True)
class AttributeRow:
    """One attribute of an attribute type.

    Attributes:
        texts: its wording by head, such as `[p_act-single]` and `[p_act-single:neg]`.
        name: its wording in the base type, which identifies the attribute.
        group: its group, None if it has none.
    """

    texts: dict[str, str]
    name: str
    group: str | None

    def fill(self, text: str) -> str:
        """Replaces its placeholders in a text by its wording."""
        for head, term in self.texts.items():
            text = text.replace(head, term)
        return text


Attributes = dict[str, list[AttributeRow]]
"""Attributes by their type, such as `[p_act]`."""


def attribute_type(head: str) -> str:
    """Returns the type of a head: `[p_act-single:neg]` -> `[p_act-single]`."""
    return head.split(":")[0].rstrip("]") + "]"


def base_head(kind: str) -> str:
    """Returns the head of the column with the names of a type: `[p_act-single]` -> `[p_act]`."""
    return f"[{kind[1:-1].split('-')[0]}]"


def negated_head(kind: str) -> str:
    """Returns the head of a type's negations: `[p_act]` -> `[p_act:neg]`."""
    return f"{kind[:-1]}:neg]"


def antonym_head(kind: str) -> str:
    """Returns the head of a type's antonyms: `[p_act]` -> `[p_act:antonym]`."""
    return f"{kind[:-1]}:antonym]"


def read_attributes(path: Path, faults: list[Fault]) -> Attributes:
    """Reads an attribute file into rows by type, types in order of first appearance.

    Faulty types are kept as far as they go, so that templates that use them are not taken for
    faulty too.
    """
    file = ListFile(path, faults)
    columns = read_columns(file, "[act]")
    types: dict[str, dict[str, list[ListEntry]]] = {}
    for head, entries in columns.items():
        types.setdefault(attribute_type(head), {})[head] = entries
        for entry in entries:
            if entry.term.endswith("."):
                expected = "a phrase without it, because the templates end the sentence"
                file.add_fault(f"{entry.term!r} ends with a full stop", expected, entry.line)
    attributes = {}
    for kind, heads in types.items():
        # Without a column of the base type, which is a fault, the last column stands in.
        last = list(heads.values())[-1]
        names = columns.get(base_head(kind))
        check_attribute_type(file, kind, heads, names)
        # Rows that not all columns have are a fault, and left out.
        complete = zip(names or last, last, *heads.values(), strict=False)
        rows = []
        for name, entry, *entries in complete:
            texts = {head: own.term for head, own in zip(heads, entries, strict=True)}
            rows.append(AttributeRow(texts, name.term, entry.group))
        attributes[kind] = rows
    return attributes


def check_attribute_type(
    file: ListFile, kind: str, heads: Columns, base_entries: Sequence[ListEntry] | None
) -> None:
    """Refuses an attribute type without negations or names, and attributes that are their opposite.

    Args:
        file: the attribute file.
        kind: the type.
        heads: its columns.
        base_entries: the column of its base type, None if there is none.
    """
    negations = negated_head(kind)
    if not {kind, negations} <= heads.keys():
        missing = negations if kind in heads else kind
        first_line = next(iter(heads.values()))[0].line
        file.add_fault(
            f"{kind} has no {missing} lines", "each attribute with its negation", first_line
        )
    elif base_entries is None:
        expected = f"{base_head(kind)} lines that name the attributes"
        file.add_fault(f"{kind} has no base type", expected, heads[kind][0].line)
    elif check_aligned(file, {base_head(kind): base_entries, **heads}):
        opposites = {"negation": heads[negations], "antonym": heads.get(antonym_head(kind), [])}
        for noun, entries in opposites.items():
            expected = f"its {noun}, because otherwise both questions would be the same"
            for plain, opposite in zip(heads[kind], entries, strict=False):
                if plain.term == opposite.term:
                    problem = f"{opposite.term!r} is also the {kind} of line {plain.line}"
                    file.add_fault(problem, expected, opposite.line)
        if kind == base_head(kind):
            check_distinct_terms(file, base_entries, "attribute")


def choose_negations(
    path: Path, attributes: Attributes, with_antonyms: bool, faults: list[Fault]
) -> Attributes:
    """Puts antonyms in place of negations if the dataset asks for them, else drops them.

    Args:
        path: the attribute file.
        attributes: the attributes by type.
        with_antonyms: whether the dataset asks for antonyms.
        faults: the list to which types without antonyms are added, if they are asked for.
    """
    with_negations: Attributes = {}
    for kind, rows in attributes.items():
        head = antonym_head(kind)
        if with_antonyms and rows and head not in rows[0].texts:
            problem = f"{kind} has no {head} lines, but the dataset asks for `antonyms`"
            expected = "an antonym of each attribute, or `antonyms: false`"
            faults.append(Fault(str(path), "", problem, expected))
        with_negations[kind] = []
        for row in rows:
            texts = dict(row.texts)
            antonym = texts.pop(head, None)
            if with_antonyms and antonym is not None:
                texts[negated_head(kind)] = antonym
            with_negations[kind].append(AttributeRow(texts, row.name, row.group))
    return with_negations


# Templates


@dataclass(frozen=True)
class QuestionTemplate:
    """One line of a template file.

    Attributes:
        line: its number, from 1.
        context: the text that does not answer the question.
        question: the question; for masked language models a statement with `[mask]`.
        negated_question: the same with the negated attribute.
    """

    line: int = field(compare=False)
    context: str
    question: str
    negated_question: str

    @property
    def texts(self) -> dict[str, str]:
        """The three texts by their names in messages."""
        return {
            "context": self.context,
            "question": self.question,
            "negated question": self.negated_question,
        }

    @property
    def text(self) -> str:
        """The whole line, in which attribute types are looked for."""
        return "\t".join(self.texts.values())

    def subject_slot(self, which: int) -> str:
        """Returns the slot of subject 1 or 2 in the context, such as `[subj1:dem]`."""
        return subject_slots(self.context, which)[0]

    def subject_form(self, which: int) -> str:
        """Returns the form in which subject 1 or 2 appears in the context, such as `[subj:dem]`."""
        return self.subject_slot(which).replace(f"subj{which}", "subj")

    @property
    def order(self) -> tuple[int, int]:
        """The subjects, 1 and 2, in the order in which the context names them."""
        first = SUBJECT_SLOT.search(self.context)
        return (1, 2) if first and first[1] == "1" else (2, 1)


def subject_slots(text: str, which: int) -> list[str]:
    """Returns the slots of subject 1 or 2 in a text, such as `[subj1:dem]`."""
    return [slot[0] for slot in SUBJECT_SLOT.finditer(text) if int(slot[1]) == which]


def template_types(template: QuestionTemplate, attributes: Iterable[str]) -> list[str]:
    """Returns the attribute types with a placeholder in a template, as `attributes` orders them."""
    types = []
    for kind in attributes:
        with_form = f"{kind[:-1]}:"
        if kind in template.text or with_form in template.text:
            types.append(kind)
    return types


def read_question_templates(path: Path, faults: list[Fault]) -> list[QuestionTemplate]:
    """Reads a template file: context, question and negated question, separated by tabs."""
    file = ListFile(path, faults)
    templates = []
    for number, line in file.lines:
        fields = line.split("\t")
        if len(fields) == 3:
            templates.append(QuestionTemplate(number, *fields))
        else:
            expected = "3: context, question and negated question"
            file.add_fault(f"{len(fields)} tab-separated fields", expected, number)
    return templates


class Slots:
    """The forms, names and attributes that fill templates, for checks.

    Attributes:
        forms: the forms that all subject lists have, such as `[subj]`.
        terms: all terms of all subject lists, in any form.
        attributes: the attribute types.
        is_masked: whether the templates are for masked language models.
        allowed: the placeholders that templates may have.
    """

    def __init__(
        self,
        subjects: Sequence[Subjects],
        attributes: Mapping[str, Sequence[AttributeRow]],
        is_masked: bool,
    ) -> None:
        """Joins one or two subject lists."""
        self.forms = set.intersection(*(set(side.forms) for side in subjects))
        columns = [terms for side in subjects for terms in side.forms.values()]
        self.terms = list(dict.fromkeys(term for terms in columns for term in terms))
        self.attributes = attributes
        self.is_masked = is_masked
        self.allowed = {MASK}
        for kind, rows in attributes.items():
            self.allowed |= {kind, negated_head(kind)}
            self.allowed.update(*(row.texts for row in rows))
        for form in self.forms:
            self.allowed |= {form.replace("subj", "subj1"), form.replace("subj", "subj2")}


def question_template_faults(
    path: Path, templates: Sequence[QuestionTemplate], slots: Slots
) -> Iterator[Fault]:
    """Yields the faults of templates that cannot be expanded, or would make wrong numbers.

    Args:
        path: the template file.
        templates: its templates. Of equal ones only the first is checked.
        slots: the forms, names and attributes that fill them.
    """
    first_line: dict[str, int] = {}
    for template in templates:
        line = first_line.setdefault(template.text, template.line)
        problems = [(f"the template is already in line {line}", "each template once")]
        if line == template.line:
            problems = list(template_problems(template, slots))
        for problem, expected in problems:
            yield Fault(str(path), f"line {template.line}", problem, expected)


def template_problems(template: QuestionTemplate, slots: Slots) -> Iterator[LineProblem]:
    """Yields the problems of one template."""
    for name, text in template.texts.items():
        odd_space = wide_space(text)
        if odd_space:
            yield f"white space in {odd_space!r} in the {name}", "a single space between words"
    placeholders = dict.fromkeys(LIST_PLACEHOLDER.findall(template.text))
    unknown = [name for name in placeholders if name not in slots.allowed]
    for name in unknown:
        yield f"nothing fills {name}{nearest_name(name, slots.allowed)}", one_of(slots.allowed)
    yield from subject_problems(template, slots.terms)
    types = template_types(template, slots.attributes)
    if len(types) != 1:
        type_list = ", ".join(types) or "none"
        yield (
            f"{len(types)} attribute types ({type_list})",
            "exactly one attribute type per template",
        )
    elif not unknown:
        yield from attribute_problems(template, types[0])
    yield from mask_problems(template, slots.is_masked)


def mask_problems(template: QuestionTemplate, is_masked: bool) -> Iterator[LineProblem]:
    """Yields `[mask]` where it should not be, or missing where it should."""
    masks = [text.count(MASK) for text in template.texts.values()]
    if is_masked and masks != [0, 1, 1]:
        expected = "one [mask] in each statement, and none in the context"
        yield "[mask] does not appear exactly once in both statements", expected
    if not is_masked and any(masks):
        yield "[mask] in a template for question answering", "a template without [mask]"


def subject_problems(template: QuestionTemplate, terms: Sequence[str]) -> Iterator[LineProblem]:
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
    # third person. A slot becomes a line break, which no name has.
    literals = LIST_PLACEHOLDER.sub("\n", template.context)
    outside = [repr(name) for name in terms if name in literals]
    if outside:
        problem = f"the context has {', '.join(outside)} outside the slots"
        yield problem, "no subject of the lists outside the slots, not even inside a longer word"


def attribute_problems(template: QuestionTemplate, kind: str) -> Iterator[LineProblem]:
    """Yields questions without the attribute, or with it in place of its negation.

    Args:
        template: the template.
        kind: its attribute type.
    """
    for name, head in (("question", kind), ("negated question", negated_head(kind))):
        placeholders = dict.fromkeys(LIST_PLACEHOLDER.findall(template.texts[name]))
        heads = [form for form in placeholders if attribute_type(form) == kind]
        if heads != [head]:
            yield f"the {name} has {', '.join(heads) or 'no attribute'}", f"{head} there"


# Prompts


class QuestionPrompt(Prompt):
    """The text around a question, behind the context: it has slots for the question and options.

    The first option is the subject that the context names first.
    """

    def letters(self, template: QuestionTemplate) -> tuple[str, str]:
        """Returns the letters of the options that name subject 1 and subject 2."""
        letter_of_option = {int(option): letter for letter, option in LETTERED.findall(self.text)}
        # Of two subjects, the place of each in the order is the order of each place.
        first, second = template.order
        return letter_of_option[first], letter_of_option[second]

    def ask(self, question: str, template: QuestionTemplate) -> str:
        """Puts a question in, and slots for the subjects in the forms that a template has."""
        text = self.text.replace(QUESTION, question)
        for option, which in zip(OPTION_SLOTS, template.order, strict=True):
            text = text.replace(option, template.subject_slot(which))
        return text


def question_prompt(path: Path, lines: NumberedLines, faults: list[Fault]) -> QuestionPrompt | None:
    """Returns the prompt in a file, None if it is faulty.

    Args:
        path: the file.
        lines: its lines.
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


@dataclass(frozen=True)
class DesignItem:
    """A question that every pair is asked: an attribute in a template, plain or negated.

    Attributes:
        template: the position of the template.
        attribute: the attribute, of the template's type.
        is_negated: whether the question is the negated one.
        prompt: the text around the question, None if there is none.
    """

    template: int
    attribute: AttributeRow
    is_negated: bool
    prompt: QuestionPrompt | None = None
