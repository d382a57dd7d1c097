"""What a config may say of a dataset of cases."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from biasgrid.base.faults import one_of
from biasgrid.base.names import fold_name
from biasgrid.base.sections import TargetScoring
from biasgrid.families.counterfactual.pack import CLASSIFICATION
from biasgrid.families.family import DatasetSection
from biasgrid.groups.section import GroupMeasure

USUAL_CLASSES = ("positive", "entailment")
"""Names of classes whose probability people look at."""


class CounterfactualDataset(DatasetSection):
    """A dataset of cases, each asked with the terms of all groups: a column of the grid. Files lie
    in `word_lists`.
    """

    family: Literal["counterfactual"] = Field(description="what is asked, and how it is measured")
    task: Literal["fill-mask", "question-answering", "text-classification"] = Field(
        description="task of the models that are asked"
    )
    templates: str = Field(description="template file, or a folder of template files")
    fillings: str | None = Field(None, description="folder with the fillings of the templates")
    groups: str = Field(description="file with bias types, their groups and identity terms")
    bias_types: list[str] | None = Field(
        None, min_length=1, description="which bias types of the file to ask about; default: all"
    )
    labels: list[str] = Field(
        default_factory=list,
        validate_default=True,
        description=(
            "for text classification: the names of the classes 0, 1, ... of the templates; models "
            "with the same `labels` are asked"
        ),
    )
    fixed_class: str | None = Field(
        None,
        description=(
            "for text classification: the class whose probability is compared between groups; "
            "default: `positive` or `entailment` if there is one, else the last of `labels`"
        ),
    )
    target_scoring: TargetScoring = Field(
        "joint",
        description=(
            "for masked language models: how words of several tokens are "
            "scored (see docs/scoring.md)"
        ),
    )
    top_k: int = Field(
        5,
        ge=1,
        description=(
            "for masked language models: how many of the most probable words count as right"
        ),
    )
    measures: list[GroupMeasure] | None = Field(
        None, min_length=1, description="comparisons of groups; default: all that are possible"
    )
    failure_threshold: float = Field(
        0.1,
        ge=0,
        le=1,
        description="a case fails if the scores of its groups differ by more than this",
    )

    @field_validator("labels")
    @classmethod
    def _labels_of_classes(cls, labels: list[str], info: ValidationInfo) -> list[str]:
        task = info.data.get("task")
        if task == CLASSIFICATION and not labels:
            raise ValueError(f"expected the names of the classes, because the task is {task}")
        if task not in (None, CLASSIFICATION) and labels:
            raise ValueError(f"expected no `labels`, because the task is {task}")
        if len(set(map(fold_name, labels))) != len(labels):
            raise ValueError("expected labels that differ from each other")
        return labels

    @field_validator("fixed_class")
    @classmethod
    def _one_of_labels(cls, fixed_class: str | None, info: ValidationInfo) -> str | None:
        labels = info.data.get("labels")
        # Labels that are faulty themselves are not there.
        if fixed_class is None or labels is None or fixed_class in labels:
            return fixed_class
        expected = one_of(labels) if labels else "no such key but for classifiers"
        raise ValueError(f"expected {expected}")

    @property
    def compared_class(self) -> str | None:
        """The class whose probability groups are compared by; None if there are no classes."""
        if self.fixed_class:
            return self.fixed_class
        for label in self.labels:
            if fold_name(label) in USUAL_CLASSES:
                return label
        return self.labels[-1] if self.labels else None
