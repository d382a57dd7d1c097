"""A pack of statements: templates, the domains of their parameters, and how statements are asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import NamedTuple

from biasgrid.families.sampling import Sample
from biasgrid.families.statement.packs.constraints import Constraint

UNUSED = ""
"""The domain of a parameter that a template leaves out: it has one value, without name and class."""
STATEMENT = "{statement}"
"""Stands for the statement in what a model is asked."""


@dataclass(frozen=True)
class PackFiles:
    """What makes the instances of a dataset.

    Attributes:
        templates: a CSV file.
        domains: a folder of files, one a domain.
        as_original: whether both are read as APES reads them.
        repetitions: how often each statement is asked.
        sample: which statements are asked, None for all.
        system: the system text, None where there is none.
        prompt: what a model is asked, with `STATEMENT` in it.
    """

    templates: Path
    domains: Path
    as_original: bool
    repetitions: int
    sample: Sample | None
    system: str | None
    prompt: str


class Value(NamedTuple):
    """A value of a parameter, and the class that it belongs to."""

    name: str
    group: str


@dataclass(frozen=True)
class Template:
    """A template.

    Attributes:
        identifier: its `template_id`.
        text: its text, with `#1` where the value of parameter 1 stands.
        domains: the domain of each parameter of the file, `UNUSED` for those that it leaves out.
        constraint: which values go together.
        label: the right answer.
    """

    identifier: str
    text: str
    domains: tuple[str, ...]
    constraint: Constraint
    label: str


@dataclass(frozen=True)
class Pack:
    """What the files of a dataset hold.

    Attributes:
        parameters: the numbers of the parameters, as in the names of their columns.
        values: the values of each domain.
        templates: the templates.
        negations: of templates that have one, the place of their negation.
        files: where they come from, and how statements are asked.
    """

    parameters: tuple[str, ...]
    values: Mapping[str, tuple[Value, ...]]
    templates: tuple[Template, ...]
    negations: Mapping[int, int]
    files: PackFiles

    @cached_property
    def statements(self) -> list[tuple[int, ...]]:
        """The templates by place, each with its negation where it has one."""
        negated = set(self.negations.values())
        places = [place for place in range(len(self.templates)) if place not in negated]
        return [(place, self.negations[place]) if place in self.negations else (place,) for place in places]

    def values_of(self, template: Template) -> list[tuple[Value, ...]]:
        """Returns the values of each parameter of a template."""
        return [self.values[domain] for domain in template.domains]

    def combinations(self, template: Template) -> int:
        """Returns how many combinations of values there are, whether they go together or not."""
        return prod(len(values) for values in self.values_of(template))

    def is_negation(self, place: int) -> bool:
        """Says whether a template negates another one; to APES those of the second half do."""
        return 2 * place >= len(self.templates) if self.files.as_original else place in self.negations.values()

    def digest(self) -> str:
        """Returns a digest of what makes the instances."""
        files = self.files
        asked = (files.as_original, files.repetitions, files.sample, files.system, files.prompt)
        used = sorted({domain for template in self.templates for domain in template.domains})
        values = [(domain, self.values[domain]) for domain in used]
        content = (self.parameters, values, self.templates, sorted(self.negations.items()), asked)
        return sha256(repr(content).encode()).hexdigest()[:16]
