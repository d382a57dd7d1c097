"""The section of a config for a comparison of groups, and its check against a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from biasgrid.base.faults import Fault
from biasgrid.base.sections import Section
from biasgrid.groups.combinations import ImpossibleCombination, check_argument, check_combination

if TYPE_CHECKING:
    from biasgrid.groups.records import OutputType


class GroupMeasure(Section):
    """A comparison of social groups; `docs/measures.md` says which go together."""

    score: str = Field(description="score of a group, such as `f1` or `mean_likelihood`")
    argument: str | int | None = Field(
        None, description="argument of the score, such as an average or a class"
    )
    distance: str = Field(
        description="distance between groups, such as `absolute` or `wasserstein`"
    )
    comparison: str = Field(
        description="which groups are compared with each other, such as `pairwise`"
    )

    @field_validator("argument", mode="before")
    @classmethod
    def _name_or_index(cls, argument: Any) -> Any:
        # Pydantic would report a wrong value once for each type of the union.
        if argument is not None and type(argument) not in (str, int):
            raise ValueError("expected text or a whole number")
        return argument


def combination_faults(
    source: str,
    dataset: str,
    measures: Sequence[GroupMeasure],
    *,
    output_type: OutputType,
    class_count: int,
) -> Iterator[Fault]:
    """Yields a fault for each comparison that cannot be computed for a dataset.

    Args:
        source: the config's file.
        dataset: the dataset's name.
        measures: `measures` of its section, in their order.
        output_type: the outputs of its records.
        class_count: the number of its classes, 0 if its models are not classifiers.
    """
    for position, measure in enumerate(measures):
        try:
            check_combination(output_type, **measure.model_dump())
            check_argument(measure.score, measure.argument, class_count=class_count)
            if output_type == "subjects" and measure.argument is not None:
                raise ImpossibleCombination(
                    f"{measure.argument!r}, but a record has only one subject", "no argument"
                )
        except ImpossibleCombination as error:
            place = f"datasets.{dataset}.measures[{position}]"
            yield Fault(source, place, error.problem, error.expected)


GROUP_FIGURES = (
    "group_scores",
    "group_pairs",
    "group_differences",
    "failure_curve",
    "group_templates",
)
