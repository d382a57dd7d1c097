"""The word lists of a dataset: templates, subjects, attributes and fillers, as UnQover's files hold them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

from biasgrid.families.prompts import Prompt
from biasgrid.families.sampling import Sample, sample_content

LIST_PLACEHOLDER = re.compile(r"\[[^\[\]\s]+\]")
SUBJECT_SLOT = re.compile(r"\[subj([12])(:[a-z]+)?\]")
MASK, QUESTION = "[mask]", "[question]"
OPTION_SLOTS = ("[option1]", "[option2]")
LETTERED = re.compile(r"^([A-Za-z0-9]+)[.):]? \[option([12])\]$", re.MULTILINE)


@dataclass(frozen=True)
class QuestionTemplate:
    """One line of a template file; `question` is a statement with `[mask]` for masked language models."""

    line: int
    context: str
    question: str
    negated_question: str

    @property
    def text(self) -> str:
        """The whole line, in which attribute types are looked for."""
        return "\t".join((self.context, self.question, self.negated_question))

    def subject_form(self, which: int) -> str:
        """Returns the head of the form in which subject `which` (1 or 2) appears, such as `[subj:dem]`."""
        slots = [slot for slot in SUBJECT_SLOT.finditer(self.context) if int(slot[1]) == which]
        return f"[subj{slots[0][2] or ''}]"

    @property
    def order(self) -> tuple[int, int]:
        """The subjects, 1 and 2, in the order in which the context names them."""
        first = int(next(SUBJECT_SLOT.finditer(self.context))[1])
        return (1, 2) if first == 1 else (2, 1)


class QuestionPrompt(Prompt):
    """What is put around a question, behind the context: placeholders are the question and both options."""

    def letters(self, template: QuestionTemplate) -> tuple[str, str]:
        """Returns the letters of subject 1 and 2: whom the template's context names first has the first option."""
        of_option = {int(option): letter for letter, option in LETTERED.findall(self.text)}
        options = [1 + template.order.index(which) for which in (1, 2)]
        return of_option[options[0]], of_option[options[1]]

    def ask(self, question: str, template: QuestionTemplate) -> str:
        """Puts a question in, and slots for the subjects in the forms that a template has."""
        text = self.text.replace(QUESTION, question)
        for option, which in zip(OPTION_SLOTS, template.order, strict=True):
            text = text.replace(option, template.subject_form(which).replace("subj", f"subj{which}"))
        return text


@dataclass(frozen=True)
class Subjects:
    """A subject list: aligned forms (`[subj]`, `[subj:dem]`, ...) and one group per subject."""

    forms: dict[str, list[str]]
    groups: list[str | None]


@dataclass(frozen=True)
class AttributeRow:
    """One row of an attribute type; `name` is the wording of the base type, which identifies the attribute."""

    texts: dict[str, str]
    name: str
    group: str | None


def attribute_type(head: str) -> str:
    """Returns the type of a head: `[p_act-single:neg]` -> `[p_act-single]`."""
    return head.split(":")[0].rstrip("]") + "]"


def base_head(kind: str) -> str:
    """Returns the head whose terms name the attributes of a type: `[p_act-single]` -> `[p_act]`."""
    return f"[{kind[1:-1].split('-')[0]}]"


def negated_head(kind: str) -> str:
    """Returns the head of a type's negations: `[p_act]` -> `[p_act:neg]`."""
    return f"{kind[:-1]}:neg]"


def types_of(template: QuestionTemplate, attributes: dict[str, list[AttributeRow]]) -> list[str]:
    """Returns the attribute types whose placeholders stand in a template."""
    return [kind for kind in attributes if kind in template.text or f"{kind[:-1]}:" in template.text]


@dataclass(frozen=True)
class DesignItem:
    """What is asked of every pair: a template with one row of its attribute type, plain or negated, in a prompt."""

    template: int
    attribute: AttributeRow
    negated: bool
    prompt: QuestionPrompt | None = None


@dataclass(frozen=True)
class WordListFiles:
    """Which word lists make the instances of one dataset and variant.

    Attributes:
        templates: the template file.
        subjects: one list (all pairs within it) or two (all pairs across them).
        attributes: the attribute file.
        filler: a file whose only line is put before every context.
        mask: the mask token of masked language models, None for question answering.
        limit: how many `templates`, `subjects` (of each list) and `attributes` (of each type) to keep.
        pronouns: of masked language models that are asked for pronouns too, the pronoun of each group of subjects.
        sample: which swap groups are asked, None for all.
        prompts: of generative models, the files of what is put around a question, one for each prompt format.
        is_english: whether the article `a` of a template becomes `an` before a vowel.
    """

    templates: Path
    subjects: tuple[Path, ...]
    attributes: Path
    filler: Path | None
    mask: str | None
    limit: dict[str, int]
    pronouns: dict[str, str] = field(default_factory=dict)
    sample: Sample | None = None
    prompts: tuple[Path, ...] = ()
    is_english: bool = True

    def paths(self) -> list[Path]:
        """All files that are read."""
        return [self.templates, *self.subjects, self.attributes, *filter(None, [self.filler]), *self.prompts]


@dataclass(frozen=True)
class WordLists:
    """The content of a variant's word lists."""

    templates: list[QuestionTemplate]
    subjects: list[Subjects]
    attributes: dict[str, list[AttributeRow]]
    filler: str
    mask: str | None
    limit: dict[str, int]
    pronouns: dict[str, str] = field(default_factory=dict)
    sample: Sample | None = None
    prompts: tuple[QuestionPrompt, ...] = ()
    is_english: bool = True

    def digest(self) -> str:
        """A digest of the content alone: comments, blank lines and file names do not count."""
        content = {
            "templates": [template.text for template in self.templates],
            # Under the names of version 0.1.0, so that references which were made with it name the same texts.
            "subjects": [{"forms": subjects.forms, "clusters": subjects.groups} for subjects in self.subjects],
            "attributes": {
                kind: [{"texts": row.texts, "name": row.name, "cluster": row.group} for row in rows]
                for kind, rows in self.attributes.items()
            },
            "filler": self.filler,
            "mask": self.mask,
            "limit": self.limit,
            "pronouns": self.pronouns,
            **({"sample": sample_content(self.sample)} if self.sample else {}),
            **({} if self.is_english else {"articles": "as they are"}),
        }
        # One format has the digest that it had before there were several.
        prompts = [asdict(prompt) for prompt in self.prompts]
        if prompts:
            content |= {"prompts": prompts} if len(prompts) > 1 else {"prompt": prompts[0]}
        return sha256(json.dumps(content).encode()).hexdigest()[:16]
