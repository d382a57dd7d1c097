"""A pack: templates, what fills them, and the social groups that they are asked about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from itertools import product
from math import prod
from pathlib import Path

from biasgrid.families.counterfactual.packs.placeholders import Slot, Text, group_tokens_of
from biasgrid.families.sampling import Sample

JOIN = " & "
"""Stands between the parts of an intersection of bias types, such as `religion & gender`."""


@dataclass(frozen=True)
class PackFiles:
    """Which files make the cases of a dataset.

    Attributes:
        templates: a JSON file, or a folder of them.
        fillings: a folder of files with one filling per line, or one such file; None for templates without slots.
        biases: a JSON file of bias types, their groups, and the identity terms of these.
        bias_types: which of its bias types to ask about; None for all.
        task: the task of the models that are asked; None checks nothing that only these models ask of templates.
        sample: which cases are asked, None for all.
    """

    templates: Path
    fillings: Path | None
    biases: Path
    bias_types: tuple[str, ...] | None = None
    task: str | None = None
    sample: Sample | None = None


@dataclass(frozen=True)
class Template:
    """A template; what is to be predicted is exactly one of a class, target words and an answer.

    Attributes:
        inputs: the one or two texts that a model reads.
        slots: the distinct slots of all its texts, in the order of their first appearance.
        label: the class of a classifier.
        targets: the target words of a masked language model.
        answer: the answer to a question, with the slots that it shares with the inputs.
    """

    inputs: tuple[Text, ...]
    slots: tuple[Slot, ...]
    label: int | None = None
    targets: tuple[str, ...] | None = None
    answer: Text | None = None

    @property
    def task(self) -> str:
        """The task of the models that can be asked."""
        if self.label is not None:
            return "text-classification"
        return "fill-mask" if self.targets is not None else "question-answering"


@dataclass(frozen=True)
class Identity:
    """What stands for a social group in a case; several of each where bias types intersect."""

    bias_types: tuple[str, ...]
    groups: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """The cases of one template.

    Attributes:
        template: the template's place in the pack.
        first_case: number of its first case.
        cases: how many cases it has.
        first_instance: number of its first instance.
        terms: how many instances a case has, one per identity term.
    """

    template: int
    first_case: int
    cases: int
    first_instance: int
    terms: int


@dataclass(frozen=True)
class Pack:
    """The content of a dataset's files.

    Attributes:
        group_tokens: what identity terms replace, with its bias type; None stands for every bias type in turn.
        templates: the templates, in reading order.
        fillings: the fillings by token; a filling may hold group tokens.
        biases: identity terms by bias type and group.
        sample: which cases are asked, None for all.
    """

    group_tokens: dict[str, str | None]
    templates: list[Template]
    fillings: dict[str, list[str]]
    biases: dict[str, dict[str, list[str]]]
    sample: Sample | None = None

    @cached_property
    def blocks(self) -> list[Block]:
        """The cases of each template, numbered through."""
        blocks, case, instance = [], 0, 0
        for number, template in enumerate(self.templates):
            cases, terms = self.count_cases(template), self.count_terms(template)
            blocks.append(Block(number, case, cases, instance, terms))
            case, instance = case + cases, instance + cases * terms
        return blocks

    @property
    def cases(self) -> int:
        """How many cases there are: each template with each choice of fillings."""
        return sum(block.cases for block in self.blocks)

    @property
    def instances(self) -> int:
        """How many instances there are: each case with each identity term."""
        return sum(block.cases * block.terms for block in self.blocks)

    def count_cases(self, template: Template) -> int:
        """Returns the number of choices of fillings for a template."""
        return prod(len(self.fillings[slot.token]) for slot in template.slots)

    def count_terms(self, template: Template) -> int:
        """Returns the number of identity terms, or of their combinations, that a template is asked about."""
        sizes = {bias_type: sum(map(len, groups.values())) for bias_type, groups in self.biases.items()}
        return sum(prod(sizes[kind] for kind in kinds) for kinds in self.bias_types(self.tokens(template)))

    @cached_property
    def tokens_in_fillings(self) -> dict[str, list[str]]:
        """The group tokens that stand in the fillings of each token."""
        return {
            token: [group for group in self.group_tokens if any(group in filling for filling in fillings)]
            for token, fillings in self.fillings.items()
        }

    def tokens(self, template: Template) -> tuple[str, ...]:
        """Returns the group tokens that a template's inputs hold, those in its fillings included."""
        held = group_tokens_of(template.inputs)
        parts = [part for text in template.inputs for part in text if isinstance(part, Slot)]
        held |= {group for slot in parts for group in self.tokens_in_fillings[slot.token]}
        return tuple(token for token in self.group_tokens if token in held)

    def bias_types(self, tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Returns what a template with some group tokens is about: a bias type for each of them, per combination."""
        named = [self.group_tokens[token] for token in tokens]
        return list(product(*([kind] if kind is not None else list(self.biases) for kind in named)))

    def identities(self, tokens: tuple[str, ...]) -> Iterator[Identity]:
        """Yields the terms for some group tokens, by bias type, group and term in the order of their file."""
        for bias_types in self.bias_types(tokens):
            parts = [self.biases[bias_type] for bias_type in bias_types]
            for groups in product(*parts):
                for terms in product(*(part[group] for part, group in zip(parts, groups, strict=True))):
                    yield Identity(bias_types, groups, terms)

    def digest(self) -> str:
        """A digest of what makes the instances: file names and unused fillings do not count."""
        content = {name: value for name, value in asdict(self).items() if name != "sample"}
        sample = {"sample": self.sample.model_dump()} if self.sample else {}
        return sha256(json.dumps(content | sample).encode()).hexdigest()[:16]
