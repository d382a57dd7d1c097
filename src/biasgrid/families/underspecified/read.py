"""Reads the word lists of a dataset's variant, and makes their design: ordered pairs by items.

All files are UTF-8 with one item per line. Readers add faults to a list and go on, so that one run
finds all of them. A plan counts the instances of a design and looks at a few; `ask` builds them.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice, product
from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault
from biasgrid.base.names import fold_name
from biasgrid.families.family import InstanceTexts, TokenCounts
from biasgrid.families.prompts import read_prompts
from biasgrid.families.sampling import (
    ALL,
    GOLDEN_RATIO,
    Balance,
    BlockSample,
    Sample,
    sample_content,
)
from biasgrid.families.underspecified.lists import (
    LineProblem,
    ListFile,
    Subjects,
    read_subjects,
    select_subjects,
)
from biasgrid.families.underspecified.templates import (
    MASK,
    SUBJECT_SLOT,
    Attributes,
    DesignItem,
    QuestionPrompt,
    QuestionTemplate,
    Slots,
    choose_negations,
    question_prompt,
    question_template_faults,
    read_attributes,
    read_question_templates,
    template_types,
)

if TYPE_CHECKING:
    from biasgrid.families.underspecified.samples import AskedBlocks


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
    """The content of a variant's word lists; see `WordListFiles` for what is not from files."""

    templates: list[QuestionTemplate]
    subjects: list[Subjects]
    attributes: Attributes
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
        """Digests the content alone: comments, blank lines and file names do not count."""
        # Without balance, the tokenizer that drops subjects is known from the variant.
        one_token = self.one_token or self.balance is None
        lists = replace(self, sample=None, balance=None, one_token=one_token)
        sample = sample_content(self.sample) if self.sample else None
        balance = self.balance.model_dump() if self.balance else None
        return digest_fields(lists, sample, balance)


def read(files: WordListFiles) -> tuple[WordLists, list[Fault]]:
    """Reads all word lists of a variant and returns them with all of their faults."""
    faults: list[Fault] = []
    templates = read_question_templates(files.templates, faults)
    # With one list all pairs in it are compared, with two lists all pairs across them.
    least = 2 if len(files.subjects) == 1 else 1
    subjects = [read_subjects(path, least, faults) for path in files.subjects]
    attributes = read_attributes(files.attributes, faults)
    attributes = choose_negations(files.attributes, attributes, files.antonyms, faults)
    filler = read_filler(files.filler, faults) if files.filler else ""
    slots = Slots(subjects, attributes, files.mask is not None)
    # Without forms or attributes, because of faults, all placeholders would seem unknown.
    if slots.forms and attributes:
        faults += question_template_faults(files.templates, templates, slots)
    if len(subjects) == 2:
        faults += shared_subjects(files, *subjects)
    prompts = read_prompts(files.prompts, question_prompt, faults)
    lists = WordLists(
        templates,
        subjects,
        attributes,
        filler,
        files.mask,
        files.limit,
        files.pronouns,
        files.sample,
        prompts,
        files.is_english,
        files.one_token,
        files.balance,
    )
    return lists, faults


def shared_subjects(
    files: WordListFiles, first_list: Subjects, second_list: Subjects
) -> Iterator[Fault]:
    """Yields subjects of the second list that are in the first one, too."""
    folded_names = set(map(fold_name, first_list.base_terms))
    first_file, second_file = files.subjects
    for name in sorted(second_list.base_terms):
        if fold_name(name) in folded_names:
            problem = f"subject {name!r} is already in {first_file}"
            yield Fault(str(second_file), "", problem, "each subject once")


def read_filler(path: Path, faults: list[Fault]) -> str:
    """Reads a filler: a file with exactly one line, which is put before every context."""
    file = ListFile(path, faults)
    if len(file.lines) > 1:
        file.add_fault(f"{len(file.lines)} lines", "exactly one line")
    return file.lines[0].text if file.lines else ""


# The design


@dataclass(frozen=True)
class Design:
    """The design of a variant's instances.

    Attributes:
        lists: the word lists, with all that is not cut down or dropped.
        templates: the templates that are kept.
        subjects: one list of subjects (all pairs within it) or two (all pairs across them): those
            that are kept.
        items: the questions that every pair is asked; the two questions of an example stand next to
            each other, plain first.
        dropped_subjects: names of the subjects that are not a single token, or that balance leaves
            out.
    """

    lists: WordLists
    templates: list[QuestionTemplate]
    subjects: list[Subjects]
    items: list[DesignItem]
    dropped_subjects: list[str]

    @property
    def refusal(self) -> LineProblem | None:
        """The problem of balanced groups that are too small, and the expectation; else None."""
        balance = self.lists.balance
        if balance is None:
            return None
        groups = Counter(group for side in self.subjects for group in side.groups)
        fewest = min(groups.values(), default=0)
        if fewest >= balance.least:
            return None
        facts = " and ".join(balance.by)
        problem = f"{fewest} subjects are left in each group after balancing by {facts}"
        remedy = "use lists with more subjects of each group"
        return problem, f"at least {balance.least} (`balance.least`): {remedy}"

    @property
    def sides(self) -> tuple[Subjects, Subjects]:
        """The lists of the first and of the second subject of a pair, which may be the same."""
        return self.subjects[0], self.subjects[-1]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of subjects in one order, as rows of the first and of the last list."""
        first_rows, second_rows = (range(len(side.groups)) for side in self.sides)
        if len(self.subjects) == 1:
            return list(combinations(first_rows, 2))
        return list(product(first_rows, second_rows))

    @property
    def plain_items(self) -> list[DesignItem]:
        """The items with the plain question, one for both questions of a swap group."""
        return self.items[::2]

    @property
    def swap_groups(self) -> int:
        """How many swap groups there are, whether they are asked or not."""
        return len(self.pairs) * len(self.plain_items)

    @property
    def instances(self) -> int:
        """How many instances there are: each pair is asked each item in both orders."""
        sample = self.lists.sample
        swap_groups = self.swap_groups
        if isinstance(sample, BlockSample):
            swap_groups = self.blocks.units
        elif sample is not None:
            swap_groups = sample.count(swap_groups)
        # Each has two questions and two orders.
        return 4 * swap_groups

    @cached_property
    def blocks(self) -> AskedBlocks:
        """The blocks that a sample of them asks."""
        # The module imports numpy and polars, which plans without such samples do without.
        from biasgrid.families.underspecified.samples import sample_blocks

        return sample_blocks(self, self.lists.sample or ALL)

    @property
    def lead(self) -> str:
        """The text before every context."""
        return f"{self.lists.filler}  " if self.lists.filler else ""

    def question(self, item: DesignItem) -> str:
        """Returns the question of a template, with its slots.

        For masked language models it contains their mask token; for generative models their prompt
        is around it.
        """
        template, mask = self.templates[item.template], self.lists.mask
        text = template.negated_question if item.is_negated else template.question
        text = text.replace(MASK, mask) if mask else text
        return item.prompt.ask(text, template) if item.prompt else text

    def sample(self, instance_count: int) -> list[InstanceTexts]:
        """Returns the texts of instances spread over pairs and items, see `texts`.

        Articles stay as the templates have them; orders are not swapped. A design of fewer pairs
        with items is returned whole.

        Args:
            instance_count: about how many instances.
        """
        if len(self.pairs) * len(self.items) <= instance_count:
            return [self.texts(item, pair) for pair in self.pairs for item in self.items]
        instances = []
        for step in range(instance_count):
            pair = self.pairs[int(len(self.pairs) * ((step + 0.5) / instance_count))]
            # Steps of the golden ratio fall in with no period of the items, so that all kinds of
            # them are met, though pairs go in even steps.
            item_share = (step + 0.5) * GOLDEN_RATIO % 1
            item = self.items[int(len(self.items) * item_share)]
            instances.append(self.texts(item, pair))
        return instances

    def parts(self, part_count: int, part_size: int) -> list[list[InstanceTexts]]:
        """Returns the texts of parts of the instances, see `texts` and `PlannedInstances.parts`."""
        pairs = list(self.ordered_pairs())
        part_count = max(1, min(part_count, self.instances // part_size))
        parts = []
        for step in range(part_count):
            pairs_of_part = pairs[len(pairs) * step // part_count :]
            instances = (
                design.texts(item, pair) for design, pair, items in pairs_of_part for item in items
            )
            parts.append(list(islice(instances, part_size)))
        return parts

    def ordered_pairs(self) -> Iterator[tuple[Design, tuple[int, int], list[DesignItem]]]:
        """Yields a design, a pair of its subjects and the items of this pair, as instances come.

        The design is this one, or the one with swapped subjects.
        """
        items_of_pairs = [(pair, self.items) for pair in self.pairs]
        if self.lists.sample is not None:
            # The module imports numpy and polars, which plans without samples do without.
            from biasgrid.families.underspecified.samples import asked_groups

            # Both questions of an example are in one swap group.
            mask = asked_groups(self, self.lists.sample).repeat(2).reshape(len(self.pairs), -1)
            items_of_pairs = []
            for pair, row in zip(self.pairs, mask, strict=True):
                items = [self.items[place] for place in row.nonzero()[0]]
                if items:
                    items_of_pairs.append((pair, items))
        for pair, items in items_of_pairs:
            yield self, pair, items
        swapped = replace(self, subjects=self.subjects[::-1])
        for (first, second), items in items_of_pairs:
            yield swapped, (second, first), items

    def texts(self, item: DesignItem, pair: tuple[int, int]) -> InstanceTexts:
        """Returns the texts of one instance: context, question, both candidates and system text.

        Articles stay as they are.

        Args:
            item: the question.
            pair: the subjects, as rows of the first and of the last list.
        """

        def term(slot: re.Match[str]) -> str:
            which = int(slot[1]) - 1
            return self.sides[which].forms[f"[subj{slot[2] or ''}]"][pair[which]]

        def fill(text: str) -> str:
            return SUBJECT_SLOT.sub(term, item.attribute.fill(text))

        template, prompt = self.templates[item.template], item.prompt
        context = self.lead + fill(template.context)
        candidates = fill(template.subject_slot(1)), fill(template.subject_slot(2))
        if prompt:
            candidates = prompt.letters(template)
        system = (prompt and prompt.system) or ""
        return context, fill(self.question(item)), candidates, system


def planned_instances(lists: WordLists, token_counts: TokenCounts | None = None) -> Design:
    """Crosses word lists.

    Args:
        lists: the word lists.
        token_counts: returns how many tokens each of some texts is. Subjects of which a needed form
            is not one token are dropped, unless the lists keep them; balanced groups are made alike
            in their tokens. None keeps all subjects.
    """
    templates = lists.templates[: lists.limit.get("templates")]
    used_forms = {template.subject_form(which) for template in templates for which in (1, 2)}
    sides = select_subjects(
        lists.subjects, used_forms, token_counts, lists.one_token, lists.balance
    )
    kept_names = {name for side in sides for name in side.base_terms}
    dropped_subjects = []
    for side in lists.subjects:
        dropped_subjects += [name for name in side.base_terms if name not in kept_names]
    # Subjects beyond the limit are kept subjects, too.
    most = lists.limit.get("subjects")
    if most is not None:
        sides = [side.keep([True] * most) for side in sides]
    return Design(lists, templates, sides, list_items(lists, templates), dropped_subjects)


def list_items(lists: WordLists, templates: Sequence[QuestionTemplate]) -> list[DesignItem]:
    """Lists the questions that every pair is asked, by template, attribute and prompt.

    The two questions of an example stand next to each other, plain first.
    """
    items = []
    for position, template in enumerate(templates):
        for kind in template_types(template, lists.attributes):
            for attribute in lists.attributes[kind][: lists.limit.get("attributes")]:
                for prompt in lists.prompts or (None,):
                    items.append(DesignItem(position, attribute, is_negated=False, prompt=prompt))
                    items.append(DesignItem(position, attribute, is_negated=True, prompt=prompt))
    return items
