"""The word lists of a dataset in UnQover's files, and their design: ordered pairs by items.

The expansion builds the instances of a design; a plan only counts them and looks at a few.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
    """One line of a template file.

    Attributes:
        line: its number, from 1.
        context: the text that does not answer the question.
        question: the question; for masked language models a statement with `[mask]`.
        negated_question: the same with the negated attribute.
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
        """Returns the form in which subject 1 or 2 appears in the context, such as `[subj:dem]`."""
        slots = SUBJECT_SLOT.finditer(self.context)
        slot = next(slot for slot in slots if int(slot[1]) == which)
        return f"[subj{slot[2] or ''}]"

    @property
    def order(self) -> tuple[int, int]:
        """The subjects, 1 and 2, in the order in which the context names them."""
        first = int(next(SUBJECT_SLOT.finditer(self.context))[1])
        return (1, 2) if first == 1 else (2, 1)


class QuestionPrompt(Prompt):
    """The text around a question, behind the context: it has slots for the question and options."""

    def letters(self, template: QuestionTemplate) -> tuple[str, str]:
        """Returns the letters of the options that name subject 1 and subject 2.

        The first option is the subject that the template's context names first.
        """
        letter_of_option = {int(option): letter for letter, option in LETTERED.findall(self.text)}
        letter_of_subject = {}
        for option, which in enumerate(template.order, start=1):
            letter_of_subject[which] = letter_of_option[option]
        return letter_of_subject[1], letter_of_subject[2]

    def ask(self, question: str, template: QuestionTemplate) -> str:
        """Puts a question in, and slots for the subjects in the forms that a template has."""
        text = self.text.replace(QUESTION, question)
        for option, which in zip(OPTION_SLOTS, template.order, strict=True):
            slot = template.subject_form(which).replace("subj", f"subj{which}")
            text = text.replace(option, slot)
        return text


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
    """Returns the attribute types whose placeholders are in a template."""
    types = []
    for kind in attributes:
        with_form = f"{kind[:-1]}:"
        if kind in template.text or with_form in template.text:
            types.append(kind)
    return types


@dataclass(frozen=True)
class DesignItem:
    """A question that every pair is asked: an attribute in a template, plain or negated.

    Attributes:
        template: the position of the template.
        attribute: the attribute, of the template's type.
        negated: whether the question is the negated one.
        prompt: the text around the question, None if there is none.
    """

    template: int
    attribute: AttributeRow
    negated: bool
    prompt: QuestionPrompt | None = None


@dataclass(frozen=True)
class WordListFiles:
    """The word lists that make the instances of a dataset's variant.

    Attributes:
        templates: the template file.
        subjects: one list (all pairs within it) or two (all pairs across them).
        attributes: the attribute file.
        filler: a file whose only line is put before every context.
        mask: the mask token of masked language models, None for question answering.
        limit: how many `templates`, `subjects` (of each list) and `attributes` (of each type) to
            keep.
        pronouns: for masked language models that are asked for pronouns too, the pronoun of each
            group of subjects.
        sample: the sample of swap groups that are asked, None for all.
        prompts: for generative models, the files with the text around a question, one for each
            prompt format.
        is_english: whether the article `a` of a template becomes `an` before a vowel.
        antonyms: whether antonyms of attributes stand in for their negations.
        one_token: whether a tokenizer drops subjects that are not one of its tokens.
        balance: how groups of subjects are made alike, None if all subjects are kept.
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
        filler = [] if self.filler is None else [self.filler]
        return [self.templates, *self.subjects, self.attributes, *filler, *self.prompts]


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
        """Digests the content alone: comments, blank lines and file names do not count.

        Results are found again by this digest. Lists that use no newer feature therefore have
        nothing of it in their content.
        """
        content: dict[str, Any] = {
            "templates": [template.text for template in self.templates],
            "subjects": [],
            "attributes": {},
            "filler": self.filler,
            "mask": self.mask,
            "limit": self.limit,
            "pronouns": self.pronouns,
        }
        for subjects in self.subjects:
            content["subjects"].append({"forms": subjects.forms, "groups": subjects.groups})
        for kind, rows in self.attributes.items():
            content["attributes"][kind] = list(map(asdict, rows))
        if self.sample:
            content["sample"] = sample_content(self.sample)
        if not self.is_english:
            content["articles"] = "as they are"
        frequencies = [subjects.frequencies for subjects in self.subjects]
        if any(frequencies):
            content["frequencies"] = frequencies
        if self.balance:
            content["balance"] = {**self.balance.model_dump(), "one_token": self.one_token}
        prompts = list(map(asdict, self.prompts))
        if len(prompts) == 1:
            content["prompt"] = prompts[0]
        elif prompts:
            content["prompts"] = prompts
        return sha256(json.dumps(content).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Design:
    """The design of a variant's instances.

    Attributes:
        templates: the templates that are kept.
        subjects: one list of subjects (all pairs within it) or two (all pairs across them).
        items: the questions that every pair is asked; the two questions of an example stand next to
            each other, plain first.
        filler: the text before every context, or an empty one.
        mask: the mask token of masked language models, None for question answering.
        pronouns: for masked language models that are asked for pronouns too, the pronoun of each
            cluster.
        dropped: names of the subjects that are not a single token, or that balance leaves out.
        asked: which of the swap groups are asked, None for all.
        prompts: for generative models, the text around a question, one for each prompt format.
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
        """The problem of balanced groups that are too small, and the expectation; else None."""
        if self.balance is None:
            return None
        groups = Counter(group for side in self.subjects for group in side.groups)
        fewest = min(groups.values(), default=0)
        least = self.balance.least
        if fewest >= least:
            return None
        facts = " and ".join(self.balance.by)
        problem = f"{fewest} subjects are left in each group after balancing by {facts}"
        remedy = "use lists with more subjects of each group"
        return problem, f"at least {least} (`balance.least`): {remedy}"

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of subjects in one order, as rows of the first and of the last list."""
        first_side, second_side = self.sides
        first_rows = range(len(first_side.groups))
        if len(self.subjects) == 1:
            return list(combinations(first_rows, 2))
        return list(product(first_rows, range(len(second_side.groups))))

    @property
    def swap_groups(self) -> int:
        """How many swap groups there are, whether they are asked or not."""
        return len(self.pairs) * len(self.items) // 2

    @property
    def instances(self) -> int:
        """How many instances there are: each pair is asked each item in both orders."""
        if self.asked is None:
            swap_groups = self.swap_groups
        elif isinstance(self.asked, BlockSample):
            swap_groups = self.blocks.units
        else:
            swap_groups = self.asked.count(self.swap_groups)
        # Each has two questions and two orders.
        return 4 * swap_groups

    @cached_property
    def blocks(self) -> AskedBlocks:
        """The blocks that a sample of them asks."""
        # The module imports numpy and polars, which plans without such samples do without.
        from biasgrid.families.underspecified.blocks import blocks_of_sample

        return blocks_of_sample(self.crossing, self.asked or ALL)

    @cached_property
    def crossing(self) -> CrossedLists:
        """The lists that are crossed."""
        from biasgrid.families.underspecified.blocks import CrossedLists, Member

        # Both questions of an example are one item of a block.
        plain_items = self.items[::2]
        group_of = {item.attribute.name: item.attribute.group for item in plain_items}
        number_of = {name: number for number, name in enumerate(group_of)}
        subjects = []
        for side in self.subjects:
            subjects.append([*map(Member, side.forms["[subj]"], side.groups)])
        return CrossedLists(
            subjects,
            [*map(Member, group_of, group_of.values())],
            self.pairs,
            [number_of[item.attribute.name] for item in plain_items],
            [item.template for item in plain_items],
        )

    @property
    def lead(self) -> str:
        """The text before every context."""
        return f"{self.filler}  " if self.filler else ""

    def question(self, item: DesignItem) -> str:
        """Returns the question of a template, with its slots.

        For masked language models it contains their mask token; for generative models their prompt
        is around it.
        """
        template = self.templates[item.template]
        text = template.negated_question if item.negated else template.question
        text = text.replace(MASK, self.mask) if self.mask else text
        return item.prompt.ask(text, template) if item.prompt else text

    def sample(self, count: int) -> list[tuple[str, str, tuple[str, str]]]:
        """Returns context, question and candidates of instances spread over pairs and items.

        A system text stands before the context. Articles stay as the templates have them; orders
        are not swapped. A design of fewer pairs with items is returned whole.

        Args:
            count: about how many instances.
        """
        if len(self.pairs) * len(self.items) <= count:
            return [self.texts(item, pair) for pair in self.pairs for item in self.items]
        instances = []
        for step in range(count):
            pair = self.pairs[int(len(self.pairs) * ((step + 0.5) / count))]
            # Steps of the golden ratio fall in with no period of the items, so that all kinds of
            # them are met, though pairs go in even steps.
            item_share = (step + 0.5) * GOLDEN_RATIO % 1
            item = self.items[int(len(self.items) * item_share)]
            instances.append(self.texts(item, pair))
        return instances

    def texts(self, item: DesignItem, pair: tuple[int, int]) -> tuple[str, str, tuple[str, str]]:
        """Returns context, question and both candidates of one instance; articles stay as they are.

        Args:
            item: the question.
            pair: the subjects, as rows of the first and of the last list.
        """
        first_side, second_side = self.sides
        first_row, second_row = pair

        def term_of_slot(slot: re.Match[str]) -> str:
            side, row = (first_side, first_row) if slot[1] == "1" else (second_side, second_row)
            return side.forms[f"[subj{slot[2] or ''}]"][row]

        def fill(text: str) -> str:
            return SUBJECT_SLOT.sub(term_of_slot, fill_attribute(text, item.attribute))

        template = self.templates[item.template]
        first_name = first_side.forms[template.subject_form(1)][first_row]
        second_name = second_side.forms[template.subject_form(2)][second_row]
        candidates = item.prompt.letters(template) if item.prompt else (first_name, second_name)
        system = f"{item.prompt.system}\n\n" if item.prompt and item.prompt.system else ""
        return system + self.lead + fill(template.context), fill(self.question(item)), candidates

    @property
    def sides(self) -> tuple[Subjects, Subjects]:
        """The lists of the first and of the second subject of a pair, which may be the same."""
        return self.subjects[0], self.subjects[-1]


def design_of(lists: WordLists, token_counts: TokenCounts | None = None) -> Design:
    """Crosses word lists.

    Args:
        lists: the word lists.
        token_counts: returns how many tokens each of some texts is. Subjects of which a needed form
            is not one token are dropped, unless the lists keep them; balanced groups are made alike
            in their tokens. None keeps all subjects.
    """
    templates = lists.templates[: lists.limit.get("templates")]
    used_forms: set[str] = set()
    for template in templates:
        used_forms |= {template.subject_form(1), template.subject_form(2)}
    counts = [tokens_of_subjects(subjects, used_forms, token_counts) for subjects in lists.subjects]
    sides = kept_subjects(lists.subjects, counts, lists.one_token, lists.balance)
    names = subject_names(sides)
    kept_names = set(names)
    # Subjects beyond the limit are kept subjects, too.
    most = lists.limit.get("subjects")
    return Design(
        templates,
        [side.keep_first(most) for side in sides],
        list_items(lists, templates),
        lists.filler,
        lists.mask,
        lists.pronouns,
        [name for name in subject_names(lists.subjects) if name not in kept_names],
        lists.sample,
        lists.prompts,
        lists.is_english,
        lists.balance,
    )


def subject_names(sides: Sequence[Subjects]) -> list[str]:
    """Returns the names of the subjects of one or two lists."""
    return [name for side in sides for name in side.forms["[subj]"]]


def list_items(lists: WordLists, templates: Sequence[QuestionTemplate]) -> list[DesignItem]:
    """Lists the questions that every pair is asked, by template, attribute and prompt.

    The two questions of an example stand next to each other, plain first.
    """
    items = []
    for position, template in enumerate(templates):
        for kind in types_of(template, lists.attributes):
            for attribute in lists.attributes[kind][: lists.limit.get("attributes")]:
                for prompt in lists.prompts or (None,):
                    items.append(DesignItem(position, attribute, negated=False, prompt=prompt))
                    items.append(DesignItem(position, attribute, negated=True, prompt=prompt))
    return items


def fill_attribute(text: str, attribute: AttributeRow) -> str:
    """Replaces the placeholders of an attribute in a text by its wording."""
    for head, term in attribute.texts.items():
        text = text.replace(head, term)
    return text
