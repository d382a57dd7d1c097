"""What a config may say of comparisons of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from biasgrid.base.faults import Fault
from biasgrid.base.sections import Section
from biasgrid.groups.combinations import ImpossibleCombination, check_argument, check_combination

if TYPE_CHECKING:
    from biasgrid.groups.records import Sort


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
        # A union of types would tell of a wrong one once for each of its types.
        if argument is not None and type(argument) not in (str, int):
            raise ValueError("expected text or a whole number")
        return argument


def combination_faults(
    source: str, dataset: str, sort: Sort, asked: Sequence[GroupMeasure], classes: int
) -> Iterator[Fault]:
    """Yields comparisons that cannot be computed of a dataset.

    Args:
        source: the config's file.
        dataset: the dataset's name.
        sort: what there is of its records.
        asked: the comparisons.
        classes: how many classes it has, 0 for no classifiers.
    """
    for place, measure in enumerate(asked):
        try:
            check_combination(sort, **measure.model_dump())
            check_argument(measure.score, measure.argument, classes)
            if sort == "subjects" and measure.argument is not None:
                raise ImpossibleCombination(
                    f"{measure.argument!r}, but a record has only one subject", "no argument"
                )
        except ImpossibleCombination as error:
            yield Fault(
                source, f"datasets.{dataset}.measures[{place}]", error.problem, error.expected
            )


GROUP_FIGURES = (
    "group_scores",
    "group_pairs",
    "group_differences",
    "failure_curve",
    "group_templates",
)
