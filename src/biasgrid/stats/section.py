"""The section `statistics` of a config, and the clusters of templates that a dataset may name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from biasgrid.base.sections import Section


class StatisticsSection(Section):
    """Uncertainty of measures: intervals and tests. A change reads no prediction again."""

    level: float = Field(0.95, gt=0.5, lt=1, description="coverage of intervals")
    permutations: int = Field(
        1999,
        ge=99,
        le=100_000,
        description="number of random permutations, if there are too many to try all",
    )
    seed: int = Field(
        0, ge=0, description="seed of the permutations; intervals need no random numbers"
    )
    fdr: Literal["bh", "by"] = Field(
        "bh",
        description=(
            "how false discoveries are controlled: `bh` (Benjamini and Hochberg), or `by` "
            "(Benjamini and Yekutieli), which holds under any dependence but detects less"
        ),
    )


class ComparisonSection(Section):
    """Which models are compared, and ranked together."""

    across: list[Literal["scoring", "prompt"]] = Field(
        default_factory=list,
        description=(
            "ways in which compared models may differ: `scoring` (how options are scored) or "
            "`prompt` (with a chat template or without); the tables name all other differences"
        ),
    )


def check_clusters(value: Any) -> Any:
    """Refuses a value that is neither a word nor lists of templates, with one fault for all."""
    if value in ("auto", "none"):
        return value
    numbers: list[Any] = []
    for templates in value if isinstance(value, list) else [value]:
        # None stands for an entry that is no list, and is refused below.
        numbers += templates if isinstance(templates, list) else [None]
    is_empty = value == []
    if is_empty or any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError(
            "expected auto, none, or lists of template numbers from 0, such as [[0, 1], [2, 3]]"
        )
    if len(set(numbers)) < len(numbers):
        raise ValueError("expected each template in only one list")
    return value


TemplateClusters = Annotated[
    Literal["auto", "none"] | list[list[int]], BeforeValidator(check_clusters)
]
