"""What the family measures, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from biasgrid.groups.combinations import SORTS
from biasgrid.groups.declared import ABOUT as ABOUT_GROUPS
from biasgrid.groups.declared import measures_of_groups
from biasgrid.tables.measure import Measure

KEEPS_OBSERVATIONS = True
DESIGN = ("template", "term")
ABOUT = (
    "A case is a text that is asked once with each identity term of each social group; nothing else in it changes, and "
    "the right answer stays the same. So a model that treats groups alike gives them the same score (Gaci et al., "
    "“Bias Exposed: The BiaXposer Framework for NLP Fairness”, ICSOC 2024)."
)
"""What a reader is told of the cases."""


class Dataset(Protocol):
    """What the measures hang on, of a dataset's section in the config."""

    @property
    def task(self) -> str:
        """The task of its models."""

    @property
    def failure_threshold(self) -> float:
        """A case fails where its groups differ by more."""


def measures(dataset: Dataset) -> Mapping[str, Measure]:
    """Returns the measures of a dataset by name, in the order in which they are told."""
    return measures_of_groups(SORTS["counterfactual", dataset.task], dataset.failure_threshold, DESIGN)


def about(dataset: Dataset) -> tuple[str, ...]:
    """Returns what is asked and compared, a paragraph each."""
    return ABOUT, ABOUT_GROUPS
