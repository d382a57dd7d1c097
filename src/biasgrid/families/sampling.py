"""Samples of datasets, in whole units such as swap groups or cases, and balanced groups.

A sample is of whole blocks, unless the config asks for rows. A number is about what its interval is
over, and templates are what most intervals are over: a sample of rows thins out the templates of
each number, while one of blocks has fewer subjects, attributes and fillings, each with all of its
templates. Each family says what its blocks are; where units are blocks already, such as a probe's
items with all prompts, there is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from biasgrid.base.faults import Fault
from biasgrid.base.sections import KeysError, Section

MOST_UNASKED = 100_000
"""So many instances a generative model is asked without a word about it."""


class Sample(Section):
    """A random sample of a dataset's units: swap groups, counterfactual cases, statements with
    their negations.
    """

    units: int | None = Field(
        None, ge=1, description="number of units that are asked, each with all its instances"
    )
    share: float | None = Field(
        None,
        gt=0,
        le=1,
        strict=False,
        allow_inf_nan=False,
        description="share of all units that is asked, instead of `units`",
    )
    seed: int = Field(
        1,
        ge=0,
        description=(
            "seed that chooses the units; with the same seed, a smaller sample is part of a "
            "larger one"
        ),
    )

    @model_validator(mode="after")
    def _units_or_share(self) -> Sample:
        if (self.units is None) == (self.share is None):
            raise KeysError("expected either `units` or `share`")
        return self

    def count(self, units: int) -> int:
        """Returns how many units of so many are asked: at least one, at most all."""
        wanted = round(self.share * units) if self.share is not None else self.units or 0
        return min(max(wanted, 1), units)


class BlockSample(Sample):
    """A random sample of whole blocks; see the head of this file."""


class Balance(Section):
    """Which subjects are kept, so that the groups that are compared are alike.

    A name of three tokens is less probable than one of one, and a rare name than a frequent one,
    whoever has it.
    """

    by: list[Literal["tokens", "frequency"]] = Field(
        ["tokens"],
        min_length=1,
        description=(
            "in what groups are made alike: with `tokens`, each group has the same number of "
            "subjects of one token, of two tokens and so on; with `frequency`, those subjects are "
            "kept whose frequencies in the list are closest"
        ),
    )
    least: int = Field(4, ge=1, description="minimum number of subjects that each group must keep")


ALL = Sample(share=1)
GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Steps of this share of a list, which go round it, fall in with no period of the list."""
SampleBy = Literal["blocks", "rows"]


def parse_sample(value: Any) -> Any:
    """Puts a sample that holds every unit in place of `all`."""
    return ALL if value == "all" else value


SampleOrAll = Annotated[
    Sample, BeforeValidator(parse_sample, json_schema_input_type=Sample | Literal["all"])
]


def sample_unless_all(sample: Sample | None, by: SampleBy = "rows") -> Sample | None:
    """Returns a sample, None where it is one of all units: these are asked in their own order.

    Args:
        sample: the sample of a config.
        by: whether it takes whole blocks; of families whose units are blocks it need not be said.
    """
    if sample is None or sample.share == 1:
        return None
    return BlockSample(**sample.model_dump()) if by == "blocks" else sample


def sample_content(sample: Sample) -> dict[str, Any]:
    """Returns the fields that decide a sample, for digests.

    A sample of rows has the fields that it had before there were blocks.
    """
    content = sample.model_dump()
    if isinstance(sample, BlockSample):
        content["by"] = "blocks"
    return content


def size_faults(
    source: str, key: str, sample: Sample | None, instances: int, unit: str
) -> Iterator[Fault]:
    """Yields a fault if a dataset has many instances and its config says nothing of a sample.

    `sample: all` is a sample here; see `sample_faults`.
    """
    if sample is None and instances > MOST_UNASKED:
        problem = f"none, although the dataset asks generative models {instances:,} instances"
        yield Fault(source, key, problem, f"`sample: {{units: N}}`, in {unit}, or `sample: all`")


def sample_faults(
    source: str, key: str, sample: Sample | None, units: int, name: str
) -> Iterator[Fault]:
    """Yields a sample that is larger than its dataset.

    Args:
        source: the config's file.
        key: where the sample stands there.
        sample: the sample of the config, None if it says nothing; not that of
            `sample_unless_all`, where None is all.
        units: how many units there are.
        name: name of the units, for messages.
    """
    if sample is not None and sample.units is not None and sample.units > units:
        problem = f"{sample.units:,} units, but there are only {units:,} {name}"
        yield Fault(source, f"{key}.units", problem, f"at most {units:,}, or `sample: all`")


def balanced_rows(
    groups: Sequence[str | None],
    tokens: Sequence[tuple[int, ...]],
    frequencies: Sequence[float] | None = None,
) -> list[int]:
    """Chooses subjects so that all groups have equally many of each number of tokens.

    Args:
        groups: the group of each subject.
        tokens: how many tokens each of its forms is; a subject with a 0, an unknown token, is never
            chosen.
        frequencies: how frequent each is. Of the subjects of a group that has more than others,
            those are chosen whose frequencies are closest to the frequencies in the smallest group;
            without it, the first.

    Returns:
        The places of the chosen subjects, in order.
    """
    strata: dict[tuple[int, ...], dict[str | None, list[int]]] = {}
    for place, (group, counts) in enumerate(zip(groups, tokens, strict=True)):
        if all(counts):
            strata.setdefault(counts, {}).setdefault(group, []).append(place)
    chosen: list[int] = []
    for members in strata.values():
        # A group without subjects of these lengths would be compared with nobody.
        if len(members) < len(set(groups)):
            continue
        smallest = min(members.values(), key=len)
        for places in members.values():
            if frequencies is None:
                chosen += places[: len(smallest)]
            else:
                chosen += closest(places, smallest, frequencies)
    return sorted(chosen)


def closest(
    places: Sequence[int], targets: Sequence[int], frequencies: Sequence[float]
) -> list[int]:
    """Returns as many places as are wanted, with the most similar frequencies.

    Similar means that ratios of frequencies are as close to 1 as they can be.
    """
    from scipy.optimize import linear_sum_assignment

    logs = [log(frequencies[place]) for place in places]
    # A ratio of 2 and a ratio of 1/2 are equally far from 1: their logarithms are.
    costs = []
    for place in targets:
        own = log(frequencies[place])
        costs.append([abs(own - other) for other in logs])
    _, columns = linear_sum_assignment(costs)
    return [places[column] for column in columns]
