"""A pack of statements: templates, and domains of the values of their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from biasgrid.base.arrays import IntArray
from biasgrid.base.digests import digest_fields
from biasgrid.base.languages import ENGLISH, language_words
from biasgrid.families.prompts import Prompt
from biasgrid.families.sampling import Sample, sample_content
from biasgrid.families.statement.constraints import (
    Constraint,
    DomainValue,
    allowed_combinations,
    count_combinations,
)

YES, NO = "Yes", "No"
STATEMENT_LABELS = (YES, NO)
"""The right answers of templates. Candidates of instances are the words for them, in this order,
that their prompt asks for.
"""
UNUSED = ""
"""The domain of a parameter that a template leaves out: it has one value, without name and
class.
"""
STATEMENT = "{statement}"
"""Placeholder of the statement in a prompt."""


@dataclass(frozen=True)
class StatementFiles:
    """The files of a dataset and the options that determine its instances.

    Attributes:
        templates: a CSV file.
        domains: a folder of files, one a domain.
        mode: the project as which they are read, a key of `StatementMode.replications`; None for
            this one.
        repetitions: how often each statement is asked.
        sample: the sample of statements, None to ask all.
        system: the system text, None without one.
        prompt: the prompt, with `STATEMENT` in it.
        prompts: files in place of `prompt` and `system`, one for each prompt format.
        language: the language of statements and answers; see `languages.language_words`.
    """

    templates: Path
    domains: Path
    mode: str | None
    repetitions: int
    sample: Sample | None
    system: str | None
    prompt: str
    prompts: tuple[Path, ...] = ()
    language: str = ENGLISH


@dataclass(frozen=True)
class StatementTemplate:
    """A template.

    Attributes:
        identifier: its `template_id`.
        text: its text, with `#1` where the value of parameter 1 stands.
        domains: the domain of each parameter of the file, `UNUSED` for those that it leaves out.
        constraint: which values go together.
        label: the right answer, one of `STATEMENT_LABELS` in a pack that is checked.
        negation_of: the `template_id` of the template that it negates, empty for none.
        where: its place in the file, for messages; no part of a digest.
    """

    identifier: str
    text: str
    domains: tuple[str, ...]
    constraint: Constraint
    label: str
    negation_of: str = ""
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class StatementPack:
    """The templates and values of a dataset, with the options that determine its instances.

    Attributes:
        parameters: the numbers of the parameters, as in the names of their columns.
        values: the values of each domain, `UNUSED` included.
        templates: the templates, in the order of their file.
        negations: by the place of a template that has a negation, the place of that negation.
        files: the files and options.
        prompts: the prompt in each prompt format.
    """

    parameters: tuple[str, ...]
    values: Mapping[str, tuple[DomainValue, ...]]
    templates: tuple[StatementTemplate, ...]
    negations: Mapping[int, int]
    files: StatementFiles
    prompts: tuple[Prompt, ...]

    @property
    def repetitions(self) -> int:
        """How often each statement is asked, in all prompt formats together."""
        return self.files.repetitions * len(self.prompts)

    @cached_property
    def statements(self) -> list[tuple[int, ...]]:
        """The places of the templates, each with that of its negation if it has one."""
        negations = {*self.negations.values()}
        statements: list[tuple[int, ...]] = []
        for place in range(len(self.templates)):
            if place in self.negations:
                statements.append((place, self.negations[place]))
            elif place not in negations:
                statements.append((place,))
        return statements

    def requested_answers(self, prompt: Prompt) -> tuple[str, ...]:
        """Returns the two answers that a prompt asks for, such as Yes and No.

        See `Language.requested_answers`.
        """
        language = language_words(self.files.language)
        return language.requested_answers(f"{prompt.system or ''}\n{prompt.text}")

    def values_of(self, template: StatementTemplate) -> list[tuple[DomainValue, ...]]:
        """Returns the values of each parameter of a template."""
        return [self.values[domain] for domain in template.domains]

    def count(self, template: StatementTemplate) -> int:
        """Returns how many combinations of values there are, whether they go together or not."""
        return count_combinations(self.values_of(template))

    def allowed(self, template: StatementTemplate) -> IntArray:
        """Returns the combinations of values that go together, ascending."""
        return allowed_combinations(self.values_of(template), template.constraint)

    def digest(self) -> str:
        """Returns a digest of everything that determines the instances.

        Domains that no template names are left out.
        """
        files, sample = self.files, self.files.sample
        used = sorted({domain for template in self.templates for domain in template.domains})
        return digest_fields(
            self.parameters,
            {domain: self.values[domain] for domain in used},
            self.templates,
            sorted(self.negations.items()),
            self.prompts,
            [self.requested_answers(prompt) for prompt in self.prompts],
            files.mode,
            files.repetitions,
            sample_content(sample) if sample else None,
        )
