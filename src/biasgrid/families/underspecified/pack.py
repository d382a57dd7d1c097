"""The word lists of a dataset, as UnQover's files hold them, and their design: each ordered pair is
asked each item.

The expansion builds the instances of a design; a plan only counts them and looks at a few.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.families.family import TokenCounts
from biasgrid.families.prompts import Prompt
from biasgrid.families.sampling import ALL, Balance, BlockSample, Sample, sample_content
from biasgrid.families.underspecified.lists.subjects import (
    Subjects,
    kept_subjects,
    tokens_of_subjects,
)

if TYPE_CHECKING:
    from biasgrid.families.underspecified.blocks import AskedBlocks, CrossedLists

SUBJECT_SLOT = re.compile(r"\[subj([12])(:[a-z]+)?\]")
MASK, QUESTION = "[mask]", "[question]"
OPTION_SLOTS = ("[option1]", "[option2]")
LETTERED = re.compile(r"^([A-Za-z0-9]+)[.):]? \[option([12])\]$", re.MULTILINE)
GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class QuestionTemplate:
    """One line of a template file; `question` is a statement with `[mask]` for masked language
    models.
    """

    line: int
    context: str
    question: str
    negated_question: str

    @property
    def text(self) -> str:
        """The whole line, in which attribute types are looked for."""
        return "\t".join((self.context, self.question, self.negated_question))

    def subject_form(self, which: int) -> str:
        """Returns the head of the form in which subject `which` (1 or 2) appears, such as
        `[subj:dem]`.
        """
        slots = [slot for slot in SUBJECT_SLOT.finditer(self.context) if int(slot[1]) == which]
        return f"[subj{slots[0][2] or ''}]"

    @property
    def order(self) -> tuple[int, int]:
        """The subjects, 1 and 2, in the order in which the context names them."""
        first = int(next(SUBJECT_SLOT.finditer(self.context))[1])
        return (1, 2) if first == 1 else (2, 1)


class QuestionPrompt(Prompt):
    """What is put around a question, behind the context: placeholders are the question and both
    options.
    """

    def letters(self, template: QuestionTemplate) -> tuple[str, str]:
        """Returns the letters of subject 1 and 2: whom the template's context names first has the
        first option.
        """
        of_option = {int(option): letter for letter, option in LETTERED.findall(self.text)}
        options = [1 + template.order.index(which) for which in (1, 2)]
        return of_option[options[0]], of_option[options[1]]

    def ask(self, question: str, template: QuestionTemplate) -> str:
        """Puts a question in, and slots for the subjects in the forms that a template has."""
        text = self.text.replace(QUESTION, question)
        for option, which in zip(OPTION_SLOTS, template.order, strict=True):
            text = text.replace(
                option, template.subject_form(which).replace("subj", f"subj{which}")
            )
        return text


@dataclass(frozen=True)
class AttributeRow:
    """One row of an attribute type; `name` is the wording of the base type, which identifies the
    attribute.
    """

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


def antonym_head(kind: str) -> str:
    """Returns the head of a type's antonyms: `[p_act]` -> `[p_act:antonym]`."""
    return f"{kind[:-1]}:antonym]"


def types_of(template: QuestionTemplate, attributes: dict[str, list[AttributeRow]]) -> list[str]:
    """Returns the attribute types whose placeholders stand in a template."""
    return [
        kind for kind in attributes if kind in template.text or f"{kind[:-1]}:" in template.text
    ]


@dataclass(frozen=True)
class DesignItem:
    """What is asked of every pair: a template with one row of its attribute type, plain or negated,
    in a prompt.
    """

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
        limit: how many `templates`, `subjects` (of each list) and `attributes` (of each type) to
            keep.
        pronouns: of masked language models that are asked for pronouns too, the pronoun of each
            group of subjects.
        sample: which swap groups are asked, None for all.
        prompts: of generative models, the files of what is put around a question, one for each
            prompt format.
        is_english: whether the article `a` of a template becomes `an` before a vowel.
        antonyms: whether antonyms of attributes stand in for their negations.
        one_token: whether a tokenizer drops subjects that are not one of its tokens.
        balance: how groups of subjects are made alike, None where all subjects are kept.
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
    antonyms: bool = False
    one_token: bool = True
    balance: Balance | None = None

    def paths(self) -> list[Path]:
        """All files that are read."""
        return [
            self.templates,
            *self.subjects,
            self.attributes,
            *filter(None, [self.filler]),
            *self.prompts,
        ]


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
    one_token: bool = True
    balance: Balance | None = None

    def digest(self) -> str:
        """A digest of the content alone: comments, blank lines and file names do not count."""
        content: dict[str, Any] = {
            "templates": [template.text for template in self.templates],
            "subjects": [
                {"forms": subjects.forms, "groups": subjects.groups} for subjects in self.subjects
            ],
            "attributes": {
                kind: [{"texts": row.texts, "name": row.name, "group": row.group} for row in rows]
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
        if any(subjects.frequencies for subjects in self.subjects):
            content["frequencies"] = [subjects.frequencies for subjects in self.subjects]
        if self.balance:
            content["balance"] = {**self.balance.model_dump(), "one_token": self.one_token}
        prompts = [asdict(prompt) for prompt in self.prompts]
        if prompts:
            content |= {"prompts": prompts} if len(prompts) > 1 else {"prompt": prompts[0]}
        return sha256(json.dumps(content).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Design:
    """The design of a variant's instances.

    Attributes:
        templates: the templates that are kept.
        subjects: one list of subjects (all pairs within it) or two (all pairs across them).
        items: what every pair is asked; the two questions of an example stand next to each other,
            plain first.
        filler: the text before every context, or an empty one.
        mask: the mask token of masked language models, None for question answering.
        pronouns: of masked language models that are asked for pronouns too, the pronoun of each
            cluster.
        dropped: names of the subjects that are not a single token, or that balance leaves out.
        asked: which of the swap groups are asked, None for all.
        prompts: of generative models, what is put around a question, one for each prompt format.
        is_english, balance: see `WordListFiles`.
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
    balance: Balance | None = None

    @property
    def refusal(self) -> tuple[str, str] | None:
        """What is wrong with balanced groups that are too small, and what was expected; None where
        nothing is.
        """
        if self.balance is None:
            return None
        fewest = min(
            Counter(group for side in self.subjects for group in side.groups).values(), default=0
        )
        if fewest >= self.balance.least:
            return None
        problem = (
            f"{fewest} subjects are left in each group after "
            f"balancing by {' and '.join(self.balance.by)}"
        )
        return (
            problem,
            (
                f"at least {self.balance.least} (`balance.least`): use lists with more subjects "
                "of each group"
            ),
        )

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of subjects in one order, as rows of the first and of the last list."""
        first_rows, second_rows = (range(len(side.groups)) for side in self.sides)
        within = len(self.subjects) == 1
        return (
            list(combinations(first_rows, 2)) if within else list(product(first_rows, second_rows))
        )

    @property
    def swap_groups(self) -> int:
        """How many swap groups there are, whether they are asked or not."""
        return len(self.pairs) * len(self.items) // 2

    @property
    def instances(self) -> int:
        """How many instances there are: each pair is asked each item in both orders."""
        if isinstance(self.asked, BlockSample):
            return 4 * self.blocks.units
        return 4 * (self.asked.count(self.swap_groups) if self.asked else self.swap_groups)

    @cached_property
    def blocks(self) -> AskedBlocks:
        """The blocks that are asked, of a sample of them."""
        # What finds them imports numpy and polars, which plans without such samples do without.
        from biasgrid.families.underspecified.blocks import blocks_of_sample

        return blocks_of_sample(self.crossing, self.asked or ALL)

    @cached_property
    def crossing(self) -> CrossedLists:
        """The lists that are crossed."""
        from biasgrid.families.underspecified.blocks import CrossedLists, Member

        asked = self.items[::2]
        group = {item.attribute.name: item.attribute.group for item in asked}
        place = {name: number for number, name in enumerate(group)}
        return CrossedLists(
            [[*map(Member, side.forms["[subj]"], side.groups)] for side in self.subjects],
            [*map(Member, group, group.values())],
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

        For masked language models their mask token stands in it, for generative models their prompt
        around it.
        """
        template = self.templates[item.template]
        text = template.negated_question if item.negated else template.question
        text = text.replace(MASK, self.mask) if self.mask else text
        return item.prompt.ask(text, template) if item.prompt else text

    def sample(self, count: int) -> list[tuple[str, str, tuple[str, str]]]:
        """Returns context, question and both candidates of about `count` instances, spread over
        pairs and items.

        A system text stands before the context. Articles stay as the templates have them; orders
        are not swapped. A design of fewer pairs with items is returned whole.
        """
        size = len(self.pairs) * len(self.items)
        if size <= count:
            return [self.texts(item, pair) for pair in self.pairs for item in self.items]
        # The pairs in even steps, the items in steps of the golden ratio, which fall in with no
        # period of theirs.
        places = [((step + 0.5) / count, (step + 0.5) * GOLDEN_RATIO % 1) for step in range(count)]
        return [
            self.texts(
                self.items[int(len(self.items) * second)], self.pairs[int(len(self.pairs) * first)]
            )
            for first, second in places
        ]

    def texts(self, item: DesignItem, pair: tuple[int, int]) -> tuple[str, str, tuple[str, str]]:
        """Returns context, question and both candidates of one instance, without smoothing its
        articles.
        """
        sides = [
            {head: terms[row] for head, terms in subjects.forms.items()}
            for subjects, row in zip(self.sides, pair, strict=True)
        ]

        def fill(text: str) -> str:
            text = fill_attribute(text, item.attribute)
            return SUBJECT_SLOT.sub(
                lambda slot: sides[int(slot[1]) - 1][f"[subj{slot[2] or ''}]"], text
            )

        template = self.templates[item.template]
        named = sides[0][template.subject_form(1)], sides[1][template.subject_form(2)]
        candidates = item.prompt.letters(template) if item.prompt else named
        system = f"{item.prompt.system}\n\n" if item.prompt and item.prompt.system else ""
        return system + self.lead + fill(template.context), fill(self.question(item)), candidates

    @property
    def sides(self) -> tuple[Subjects, Subjects]:
        """The lists that the first and the second subject of a pair come from, which may be the
        same.
        """
        return self.subjects[0], self.subjects[-1]


def design_of(lists: WordLists, token_counts: TokenCounts | None = None) -> Design:
    """Crosses word lists.

    Args:
        lists: the word lists.
        token_counts: says of texts how many tokens each is. Subjects of which a needed form is not
            one token are dropped, unless the lists keep them; balanced groups are made alike in it.
            None keeps all subjects.
    """
    templates = lists.templates[: lists.limit.get("templates")]
    attributes = {
        kind: rows[: lists.limit.get("attributes")] for kind, rows in lists.attributes.items()
    }
    used_forms = {template.subject_form(which) for template in templates for which in (1, 2)}
    counts = [tokens_of_subjects(subjects, used_forms, token_counts) for subjects in lists.subjects]
    sides = kept_subjects(lists.subjects, counts, lists.one_token, lists.balance)
    items = [
        DesignItem(number, attribute, negated, prompt)
        for number, template in enumerate(templates)
        for kind in types_of(template, attributes)
        for attribute in attributes[kind]
        for prompt in lists.prompts or (None,)
        for negated in (False, True)
    ]
    most = lists.limit.get("subjects")
    subjects = [
        side.keep([most is None or place < most for place in range(len(side.groups))])
        for side in sides
    ]
    names = {name for side in sides for name in side.forms["[subj]"]}
    dropped = [
        name for side in lists.subjects for name in side.forms["[subj]"] if name not in names
    ]
    given = lists.sample, lists.prompts, lists.is_english, lists.balance
    return Design(
        templates, subjects, items, lists.filler, lists.mask, lists.pronouns, dropped, *given
    )


def fill_attribute(text: str, attribute: AttributeRow) -> str:
    """Fills an attribute in."""
    for head, term in attribute.texts.items():
        text = text.replace(head, term)
    return text
