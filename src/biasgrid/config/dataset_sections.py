"""What a config may say of datasets, family by family."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from biasgrid.engine.settings import TargetScoring
from biasgrid.section import KeysError, Section, Task, Variant, check_labels


class GroupMeasure(Section):
    """A comparison of social groups; `docs/measures.md` says which go together."""

    score: str = Field(description="what groups are scored by, such as `f1` or `mean_likelihood`")
    argument: str | int | None = Field(None, description="what the score takes, such as an average or a class")
    distance: str = Field(description="how far two groups are apart, such as `absolute` or `wasserstein`")
    comparison: str = Field(description="which groups are compared with which, such as `pairwise`")

    @field_validator("argument", mode="before")
    @classmethod
    def _name_or_index(cls, argument: Any) -> Any:
        # A union of types would tell of a wrong one once for each of its types.
        if argument is not None and type(argument) not in (str, int):
            raise ValueError("expected text or a whole number")
        return argument


class Limit(Section):
    """Cuts word lists down, for demos and first looks."""

    templates: int | None = Field(None, gt=0, description="how many templates to keep")
    subjects: int | None = Field(None, gt=0, description="how many subjects to keep of each list")
    attributes: int | None = Field(None, gt=0, description="how many attributes to keep of each type")


class DatasetVariant(Section):
    """What one kind of model is asked. Files are relative to `word_lists`."""

    templates: str = Field(description="template file")
    filler: str | None = Field(None, description="file whose line is put before every context")
    subjects: list[str] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description="subject lists in place of the dataset's; without them, variants of masked language models keep "
        "the subjects that are one token of their tokenizer, or all if the dataset has `target_scoring`",
    )


class UnderspecifiedDataset(Section):
    """A dataset of underspecified questions about pairs of subjects: a row of the grid."""

    family: Literal["underspecified"] = Field("underspecified", description="what is asked and how it is measured")
    title: str = Field(description="name in plots and the report")
    subjects: list[str] = Field(
        min_length=1, max_length=2, description="one subject list (all pairs) or two (all pairs across them)"
    )
    attributes: str = Field(description="attribute file")
    pronouns: dict[str, str] = Field(
        default_factory=dict,
        description="pronoun of each cluster of subjects; masked LMs are asked for it too",
    )
    target_scoring: TargetScoring | None = Field(
        None,
        description="of masked language models: how subjects and pronouns of several tokens are scored (see "
        "docs/scoring.md); without it such subjects are dropped",
    )
    measures: list[GroupMeasure] | None = Field(
        [], description="comparisons of the subjects as groups, beside the family's own measures; null for all"
    )
    failure_threshold: float = Field(
        0.1, ge=0, le=1, description="a case fails where its groups' scores differ by more; for `measures`"
    )
    shards: int = Field(1, ge=1, le=256, description="jobs that share the inference of a cell")
    limit: Limit = Field(Limit(), description="cuts the word lists down")
    variants: dict[Variant, DatasetVariant] = Field(min_length=1, description="what each kind of model is asked")


class CounterfactualDataset(Section):
    """A dataset of cases, each asked with the terms of all groups: a row of the grid. Files lie in `word_lists`."""

    family: Literal["counterfactual"] = Field(description="what is asked and how it is measured")
    title: str = Field(description="name in plots and the report")
    task: Task = Field(description="task of the models that it is for")
    templates: str = Field(description="template file, or a folder of them")
    fillings: str | None = Field(None, description="folder of what fills the templates")
    groups: str = Field(description="file of bias types, their groups and identity terms")
    bias_types: list[str] | None = Field(
        None, min_length=1, description="which bias types of the file to ask about; all without it"
    )
    labels: list[str] = Field(
        default_factory=list,
        validate_default=True,
        description="of text classification: the names of the classes 0, 1, ... of the templates; models with the "
        "same `labels` are asked",
    )
    target_scoring: TargetScoring = Field(
        "joint", description="of masked language models: how words of several tokens are scored (see docs/scoring.md)"
    )
    top_k: int = Field(5, ge=1, description="of masked language models: how many most probable words count as right")
    measures: list[GroupMeasure] | None = Field(
        None, min_length=1, description="comparisons of groups; without it all that are possible"
    )
    failure_threshold: float = Field(
        0.1, ge=0, le=1, description="a case fails where its groups' scores differ by more than this"
    )
    shards: int = Field(1, ge=1, le=256, description="jobs that share the inference of a cell")

    @field_validator("labels")
    @classmethod
    def _labels_of_classes(cls, labels: list[str], info: ValidationInfo) -> list[str]:
        check_labels(labels, info)
        if len(set(labels)) != len(labels):
            raise ValueError("expected labels that differ")
        return labels


OF_PAIRS, OF_CASES = {"subjects", "attributes", "variants"}, {"task", "groups"}
"""Keys that datasets of one family must have, and those of the other cannot."""


def with_family(entry: Any) -> Any:
    """Returns a dataset as it stands in a config with its family, where it names none.

    Raises:
        ValueError: it is no section, or has the keys of a family that must be named.
    """
    if not isinstance(entry, dict):
        raise ValueError("expected the keys of a dataset")
    if "family" in entry:
        return entry
    if OF_CASES & entry.keys() and not OF_PAIRS & entry.keys():
        raise KeysError("expected `family: counterfactual` beside them")
    return entry | {"family": "underspecified"}


Dataset = Annotated[
    UnderspecifiedDataset | CounterfactualDataset, Field(discriminator="family"), BeforeValidator(with_family)
]


def without_family(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Returns a place in a config without the family that pydantic puts behind the name of a dataset."""
    return (*place[:2], *place[3:]) if place[:1] == ("datasets",) else place
