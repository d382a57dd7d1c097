"""What a config may say of a dataset of underspecified questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from biasgrid.base.sections import Name, Section, TargetScoring, Variant
from biasgrid.families.family import DatasetSection
from biasgrid.families.sampling import Balance, Sample, SampleOrAll
from biasgrid.groups.section import GroupMeasure

SCORES_OF_MODE = {"unqover": "biasgrid.formats.unqover.mode:scores_with_pronouns"}
"""How scores are made of the probabilities of words where `scoring` repeats another project's choices."""


class ListLimit(Section):
    """Cuts word lists down, for demos and first looks."""

    templates: int | None = Field(None, gt=0, description="how many templates to keep")
    subjects: int | None = Field(None, gt=0, description="how many subjects to keep of each list")
    attributes: int | None = Field(None, gt=0, description="how many attributes to keep of each type")


class DatasetVariant(Section):
    """What one kind of model is asked. Files are relative to `word_lists`."""

    templates: str = Field(description="template file")
    filler: str | None = Field(None, description="file whose line is put before every context")
    prompt: str | None = Field(
        None, description="of generative models (`llm`): file of what is put around a question, with lettered options"
    )
    prompts: list[str] | None = Field(
        None,
        min_length=1,
        description="several such files in place of `prompt`: all is asked in each of these prompt formats, and "
        "intervals are over formats, too",
    )
    sample: SampleOrAll | None = Field(None, description="in place of the dataset's `sample`; `all` for none")
    subjects: list[str] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description="subject lists in place of the dataset's; without them, variants of masked language models keep "
        "the subjects that are one token of their tokenizer, or all if the dataset has `target_scoring`",
    )

    tokenizer: Name | None = Field(
        None,
        description="with `balance`: whose tokens count, one of `tokenizers`, that of the models which answer the "
        "variant; variants of masked language models have their own",
    )

    @property
    def prompt_files(self) -> list[str]:
        """The files of prompts, one for each prompt format."""
        return self.prompts or ([self.prompt] if self.prompt else [])


def is_generative(variant: str) -> bool:
    """Says whether a variant is for generative models."""
    return variant.split("-")[0] == "llm"


class UnderspecifiedDataset(DatasetSection):
    """A dataset of underspecified questions about pairs of subjects: a column of the grid."""

    family: Literal["underspecified"] = Field("underspecified", description="what is asked and how it is measured")
    subjects: list[str] = Field(
        min_length=1, max_length=2, description="one subject list (all pairs) or two (all pairs across them)"
    )
    attributes: str = Field(description="attribute file")
    pronouns: dict[str, str] = Field(
        default_factory=dict,
        description="pronoun of each group of subjects; masked LMs are asked for it too",
    )
    antonyms: bool = Field(
        False,
        description="whether the antonyms of attributes (`[p_act:antonym]`) are asked in place of their negations",
    )
    balance: Balance | None = Field(
        None, description="keeps of each group of subjects those that are alike in tokens, or in frequency too"
    )
    target_scoring: TargetScoring | None = Field(
        None,
        description="of masked language models: how subjects and pronouns of several tokens are scored (see "
        "docs/scoring.md); without it such subjects are dropped",
    )
    measures: list[GroupMeasure] | None = Field(
        [], description="comparisons of the subjects as groups, beside the family's own measures; null for all"
    )
    stereotypes: str | None = Field(
        None,
        description="file of attributes, each with the group that its stereotype names: asks how far models agree with "
        "it (see docs/datasets.md)",
    )
    failure_threshold: float = Field(
        0.1, ge=0, le=1, description="a case fails where its groups' scores differ by more; for `measures`"
    )
    limit: ListLimit = Field(ListLimit(), description="cuts the word lists down")
    variants: dict[Variant, DatasetVariant] = Field(min_length=1, description="what each kind of model is asked")

    @property
    def compares_groups(self) -> bool:
        """Whether its subjects are compared as groups."""
        return self.measures != []

    def sample_of(self, variant: str) -> Sample | None:
        """Returns the sample of a variant, None where nothing is said of one."""
        return self.variants[variant].sample or self.sample

    def subjects_of(self, variant: str) -> list[str]:
        """Returns the subject lists of a variant."""
        return self.variants[variant].subjects or self.subjects
