"""Says what is wrong with the templates of a variant, given its subjects and attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from biasgrid.base.faults import Fault, nearest, one_of
from biasgrid.families.texts import wide_space
from biasgrid.families.underspecified.word_lists import (
    MASK,
    PLACEHOLDER,
    SUBJECT_SLOT,
    Attribute,
    Subjects,
    Template,
    attribute_type,
    negated_head,
    types_of,
)

Problem = tuple[str, str]
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
    attributes: dict[str, list[Attribute]]
    masked: bool

    @classmethod
    def of(cls, subjects: Sequence[Subjects], attributes: dict[str, list[Attribute]], masked: bool) -> Slots:
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


def check_templates(path: Path, templates: Sequence[Template], slots: Slots, faults: list[Fault]) -> None:
    """Reports what keeps templates from being expanded, or would make their numbers wrong."""
    first: dict[str, int] = {}
    for template in templates:
        line = first.setdefault(template.text, template.line)
        twice = [(f"the template is already in line {line}", "every template once")]
        problems = problems_of(template, slots) if line == template.line else twice
        faults += [Fault(str(path), f"line {template.line}", *problem) for problem in problems]


def problems_of(template: Template, slots: Slots) -> Iterator[Problem]:
    """Yields what is wrong with one template."""
    for name, text in texts_of(template).items():
        if found := wide_space(text):
            yield f"white space in {found!r} in the {name}", "one space between two words"
    known = slots.placeholders()
    unknown = [one for one in dict.fromkeys(PLACEHOLDER.findall(template.text)) if one not in known]
    for placeholder in unknown:
        yield f"nothing fills {placeholder}{nearest(placeholder, known)}", one_of(known)
    yield from subject_problems(template, slots.names)
    types = types_of(template, slots.attributes)
    if len(types) != 1:
        yield f"{len(types)} attribute types ({', '.join(types) or 'none'})", "exactly one attribute type in a template"
    elif not unknown:
        yield from attribute_problems(template, types[0])
    yield from mask_problems(template, slots.masked)


def texts_of(template: Template) -> dict[str, str]:
    """Returns the three texts of a template by what messages call them."""
    return {
        "context": template.context,
        "question": template.question,
        "negated question": template.negated_question,
    }


def subject_problems(template: Template, names: Collection[str]) -> Iterator[Problem]:
    """Yields subjects that do not stand once in the context, in one form, or that stand beside their slots."""
    for which in (1, 2):
        in_context = [slot for slot in SUBJECT_SLOT.finditer(template.context) if int(slot[1]) == which]
        everywhere = {slot[0] for slot in SUBJECT_SLOT.finditer(template.text) if int(slot[1]) == which}
        if len(in_context) != 1:
            yield f"[subj{which}] is {len(in_context)} times in the context", "both subjects once in the context"
        if len(everywhere) > 1:
            forms = ", ".join(sorted(everywhere))
            yield f"subject {which} in several forms: {forms}", "one form of a subject in a template"
    # UnQover looks subjects up by their text, wherever it stands; and a model may answer with a third person.
    literals = PLACEHOLDER.split(template.context)
    named = [repr(name) for name in names if any(name in literal for literal in literals)]
    if named:
        problem = f"the context has {', '.join(named)} outside the slots"
        yield problem, "no subject of the lists there, not even inside a longer word"


def attribute_problems(template: Template, kind: str) -> Iterator[Problem]:
    """Yields questions that do not ask for the attribute, or negated ones that do not ask for its negation."""
    for name, head in (("question", kind), ("negated question", negated_head(kind))):
        placeholders = PLACEHOLDER.findall(texts_of(template)[name])
        asked = dict.fromkeys(one for one in placeholders if attribute_type(one) == kind)
        if [*asked] != [head]:
            yield f"the {name} has {', '.join(asked) or 'no attribute'}", f"{head} there"


def mask_problems(template: Template, masked: bool) -> Iterator[Problem]:
    """Yields `[mask]` where it should not be, or missing where it should."""
    masks = [text.count(MASK) for text in texts_of(template).values()]
    if masked and masks != [0, 1, 1]:
        yield "[mask] is not exactly once in both statements", "one [mask] in each statement and none in the context"
    if not masked and any(masks):
        yield "[mask] in a template for question answering", "a template without [mask]"
