"""What a config may say of a dataset of underspecified questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from biasgrid.base.sections import Name, Section, TargetScoring, Variant
from biasgrid.families.family import DatasetSection
from biasgrid.families.sampling import Balance, Sample, SampleOrAll
from biasgrid.groups.section import GroupMeasure

SCORES_OF_MODE = {"unqover": "biasgrid.formats.unqover.mode:scores_with_pronouns"}
"""Functions that make scores of the probabilities of words, by `scoring` of another project."""


class ListLimit(Section):
    """Cuts word lists down, for demos and first looks."""

    templates: int | None = Field(None, gt=0, description="number of templates to keep")
    subjects: int | None = Field(
        None, gt=0, description="number of subjects to keep from each list"
    )
    attributes: int | None = Field(
        None, gt=0, description="number of attributes to keep from each type"
    )


class DatasetVariant(Section):
    """What one kind of model is asked. Files are relative to `word_lists`."""

    templates: str = Field(description="template file")
    filler: str | None = Field(None, description="file with a line that is put before each context")
    prompt: str | None = Field(
        None,
        description=(
            "for generative models (`llm`): file with the text around a question and "
            "its lettered options"
        ),
    )
    prompts: list[str] | None = Field(
        None,
        min_length=1,
        description=(
            "several such files instead of `prompt`: everything is asked in each of these prompt "
            "formats, and intervals also generalise to other formats"
        ),
    )
    sample: SampleOrAll | None = Field(
        None, description="replaces the dataset's `sample`; `all` asks everything"
    )
    subjects: list[str] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description=(
            "subject lists that replace the dataset's. Without them, variants of masked language "
            "models keep the subjects that are a single token of their tokenizer, or all subjects "
            "if the dataset has `target_scoring`"
        ),
    )

    tokenizer: Name | None = Field(
        None,
        description=(
            "with `balance`: the tokenizer whose tokens count, one of `tokenizers`; use the "
            "tokenizer of the models that answer the variant. Variants of masked language models "
            "have their own"
        ),
    )

    @property
    def prompt_files(self) -> list[str]:
        """The files of prompts, one for each prompt format."""
        if self.prompts:
            return self.prompts
        return [self.prompt] if self.prompt else []


def is_generative(variant: str) -> bool:
    """Whether a variant is for generative models."""
    return variant.split("-")[0] == "llm"


class UnderspecifiedDataset(DatasetSection):
    """A dataset of underspecified questions about pairs of subjects: a column of the grid."""

    family: Literal["underspecified"] = Field(
        "underspecified", description="what is asked, and how it is measured"
    )
    subjects: list[str] = Field(
        min_length=1,
        max_length=2,
        description="one subject list (all pairs) or two (all pairs across the lists)",
    )
    attributes: str = Field(description="attribute file")
    pronouns: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "pronoun of each group of subjects; masked language models are also asked "
            "for the pronouns"
        ),
    )
    antonyms: bool = Field(
        False,
        description=(
            "whether antonyms of attributes (`[p_act:antonym]`) are asked instead "
            "of their negations"
        ),
    )
    balance: Balance | None = Field(
        None,
        description=(
            "keeps only subjects that make the groups alike in tokens, or in tokens and frequency"
        ),
    )
    target_scoring: TargetScoring | None = Field(
        None,
        description=(
            "for masked language models: how subjects and pronouns of several tokens are scored "
            "(see docs/scoring.md); without it, such subjects are dropped"
        ),
    )
    measures: list[GroupMeasure] | None = Field(
        [],
        description=(
            "comparisons of the subjects as groups, in addition to the measures of the family; "
            "null for all"
        ),
    )
    stereotypes: str | None = Field(
        None,
        description=(
            "file with attributes, each with the group that a stereotype links to it: measures how "
            "far models agree with the stereotypes (see docs/datasets.md)"
        ),
    )
    failure_threshold: float = Field(
        0.1,
        ge=0,
        le=1,
        description=(
            "with `measures`: a case fails if the scores of its groups differ by more than this"
        ),
    )
    limit: ListLimit = Field(ListLimit(), description="shortens the word lists")
    variants: dict[Variant, DatasetVariant] = Field(
        min_length=1, description="what each kind of model is asked"
    )

    @property
    def compares_groups(self) -> bool:
        """Whether its subjects are compared as groups."""
        return self.measures != []

    def sample_of(self, variant: str) -> Sample | None:
        """Returns the sample of a variant, None if all is asked."""
        return self.variants[variant].sample or self.sample

    def subjects_of(self, variant: str) -> list[str]:
        """Returns the subject lists of a variant."""
        return self.variants[variant].subjects or self.subjects
