"""What is crossed with what: every ordered pair of subjects is asked every item.

The expansion builds the instances of a design; a plan only counts them and looks at a few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress, product
from typing import TYPE_CHECKING

from biasgrid.families.family import OneToken
from biasgrid.families.sampling import ALL, BlockSample, Sample
from biasgrid.families.underspecified.word_lists import (
    MASK,
    SUBJECT_SLOT,
    AttributeRow,
    DesignItem,
    QuestionPrompt,
    QuestionTemplate,
    Subjects,
    WordLists,
    types_of,
)

if TYPE_CHECKING:
    from biasgrid.families.underspecified.blocks import Blocks, Crossing

GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Design:
    """The design of a variant's instances.

    Attributes:
        templates: the templates that are kept.
        subjects: one list of subjects (all pairs within it) or two (all pairs across them).
        items: what every pair is asked; the two questions of an example stand next to each other, plain first.
        filler: the text before every context, or an empty one.
        mask: the mask token of masked language models, None for question answering.
        pronouns: of masked language models that are asked for pronouns too, the pronoun of each cluster.
        dropped: names of the subjects that are not a single token.
        asked: which of the swap groups are asked, None for all.
        prompts: of generative models, what is put around a question, one for each prompt format.
        is_english: see `WordListFiles`.
    """

    templates: list[QuestionTemplate]
    subjects: list[Subjects]
    items: list[DesignItem]
    filler: str
    mask: str | None
    pronouns: Mapping[str, str]
    dropped: list[str]
    asked: Sample | None = None
    prompts: tuple[QuestionPrompt, ...] = ()
    is_english: bool = True

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of subjects in one order, as rows of the first and of the last list."""
        first_rows, second_rows = (range(len(side.groups)) for side in self.sides)
        within = len(self.subjects) == 1
        return list(combinations(first_rows, 2)) if within else list(product(first_rows, second_rows))

    @property
    def swap_groups(self) -> int:
        """How many swap groups there are, whether they are asked or not."""
        return len(self.pairs) * len(self.items) // 2

    @property
    def instances(self) -> int:
        """How many instances there are: each pair is asked each item in both orders."""
        if isinstance(self.asked, BlockSample):
            return 4 * self.blocks.swap_groups
        return 4 * (self.asked.count(self.swap_groups) if self.asked else self.swap_groups)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks that are asked, of a sample of them."""
        # What finds them imports numpy and polars, which plans without such samples do without.
        from biasgrid.families.underspecified.blocks import blocks_of_sample

        return blocks_of_sample(self.crossing, self.asked or ALL)

    @cached_property
    def crossing(self) -> Crossing:
        """What is crossed with what, in numbers."""
        from biasgrid.families.underspecified.blocks import Crossing

        asked = self.items[::2]
        place = {name: number for number, name in enumerate(dict.fromkeys(item.attribute.name for item in asked))}
        return Crossing(
            [len(subjects.groups) for subjects in self.subjects],
            self.pairs,
            [place[item.attribute.name] for item in asked],
            [item.template for item in asked],
        )

    @property
    def lead(self) -> str:
        """What stands before every context."""
        return f"{self.filler}  " if self.filler else ""

    def question(self, item: DesignItem) -> str:
        """Returns what a template asks, with its slots.

        For masked language models their mask token stands in it, for generative models their prompt around it.
        """
        template = self.templates[item.template]
        text = template.negated_question if item.negated else template.question
        text = text.replace(MASK, self.mask) if self.mask else text
        return item.prompt.ask(text, template) if item.prompt else text

    def sample(self, count: int) -> list[tuple[str, str, tuple[str, str]]]:
        """Returns context, question and both candidates of about `count` instances, spread over pairs and items.

        A system text stands before the context. Articles stay as the templates have them; orders are not swapped. A
        design of fewer pairs with items is returned whole.
        """
        size = len(self.pairs) * len(self.items)
        if size <= count:
            return [self.texts(item, pair) for pair in self.pairs for item in self.items]
        # The pairs in even steps, the items in steps of the golden ratio, which fall in with no period of theirs.
        places = [((step + 0.5) / count, (step + 0.5) * GOLDEN_RATIO % 1) for step in range(count)]
        return [
            self.texts(self.items[int(len(self.items) * second)], self.pairs[int(len(self.pairs) * first)])
            for first, second in places
        ]

    def texts(self, item: DesignItem, pair: tuple[int, int]) -> tuple[str, str, tuple[str, str]]:
        """Returns context, question and both candidates of one instance, without smoothing its articles."""
        sides = [forms_of_row(subjects, row) for subjects, row in zip(self.sides, pair, strict=True)]

        def fill(text: str) -> str:
            text = fill_attribute(text, item.attribute)
            return SUBJECT_SLOT.sub(lambda slot: sides[int(slot[1]) - 1][f"[subj{slot[2] or ''}]"], text)

        template = self.templates[item.template]
        named = sides[0][template.subject_form(1)], sides[1][template.subject_form(2)]
        candidates = item.prompt.letters(template) if item.prompt else named
        system = f"{item.prompt.system}\n\n" if item.prompt and item.prompt.system else ""
        return system + self.lead + fill(template.context), fill(self.question(item)), candidates

    @property
    def sides(self) -> tuple[Subjects, Subjects]:
        """The lists that the first and the second subject of a pair come from, which may be the same."""
        return self.subjects[0], self.subjects[-1]


def design_of(lists: WordLists, one_token: OneToken | None = None) -> Design:
    """Crosses word lists.

    Args:
        lists: the word lists.
        one_token: says of texts whether each is a single token; subjects of which a needed form is not are
            dropped. None keeps all subjects.
    """
    templates = lists.templates[: lists.limit.get("templates")]
    attributes = {kind: rows[: lists.limit.get("attributes")] for kind, rows in lists.attributes.items()}
    used_forms = {template.subject_form(which) for template in templates for which in (1, 2)}
    kept, dropped = zip(*(keep_one_token(subjects, used_forms, one_token) for subjects in lists.subjects), strict=True)
    items = [
        DesignItem(number, attribute, negated, prompt)
        for number, template in enumerate(templates)
        for kind in types_of(template, attributes)
        for attribute in attributes[kind]
        for prompt in lists.prompts or (None,)
        for negated in (False, True)
    ]
    subjects = [first_subjects(subject_list, lists.limit.get("subjects")) for subject_list in kept]
    names = [name for side in dropped for name in side]
    given = lists.sample, lists.prompts, lists.is_english
    return Design(templates, subjects, items, lists.filler, lists.mask, lists.pronouns, names, *given)


def keep_one_token(subjects: Subjects, used_forms: set[str], one_token: OneToken | None) -> tuple[Subjects, list[str]]:
    """Splits a subject list into the subjects whose used forms are one token each, and the names of the others."""
    if one_token is None:
        return subjects, []
    known = [all(row) for row in zip(*(one_token(subjects.forms[form]) for form in sorted(used_forms)), strict=True)]
    forms = {head: list(compress(terms, known)) for head, terms in subjects.forms.items()}
    dropped = [name for name, keep in zip(subjects.forms["[subj]"], known, strict=True) if not keep]
    return Subjects(forms, list(compress(subjects.groups, known))), dropped


def first_subjects(subjects: Subjects, count: int | None) -> Subjects:
    """Returns the first `count` subjects of a list, all if it is None."""
    return Subjects({head: terms[:count] for head, terms in subjects.forms.items()}, subjects.groups[:count])


def forms_of_row(subjects: Subjects, row: int) -> dict[str, str]:
    """Returns the forms of one subject."""
    return {head: terms[row] for head, terms in subjects.forms.items()}


def fill_attribute(text: str, attribute: AttributeRow) -> str:
    """Fills an attribute in."""
    for head, term in attribute.texts.items():
        text = text.replace(head, term)
    return text
