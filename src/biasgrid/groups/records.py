"""The outputs of a model for every case and group, and the division of records into pools.

Everything is computed for many pools at once: a pool is an integer from 0 that each of its records
carries, and a number of all pools is one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.base.faults import UserError
from biasgrid.base.languages import ENGLISH_WORDS

PoolingMode = Literal["group", "counterfactual"]
ALL_CASES: PoolingMode = "group"
"""All records of a group are one pool, whatever the case."""
EACH_CASE: PoolingMode = "counterfactual"
"""Groups are compared in one and the same case."""


OutputType = Literal["classes", "words", "answers", "subjects"]
"""Probabilities of classes, probabilities of target words, texts of answers, or scores of
subjects.
"""


@dataclass(frozen=True)
class ClassOutputs:
    """Outputs of classifiers.

    Attributes:
        probabilities: float64, shape (records, classes).
        gold: int64, shape (records,), the class that is right.
    """

    probabilities: FloatArray
    gold: IntArray
    output_type: ClassVar[OutputType] = "classes"

    def __len__(self) -> int:
        return len(self.probabilities)

    def only(self, rows: IntArray) -> ClassOutputs:
        """Returns the outputs of some rows, in the order of `rows`."""
        return ClassOutputs(self.probabilities[rows], self.gold[rows])


@dataclass(frozen=True)
class TargetOutputs:
    """Outputs of masked language models.

    Attributes:
        probabilities: float64, shape (records, targets), of each target at the mask. A record with
            fewer targets than others has them in its first columns, and NaN in the rest.
        in_top_k: bool, shape (records, targets), whether the target is among the k most probable
            tokens; False where a record has no target. None if no ranks are known.
    """

    probabilities: FloatArray
    in_top_k: BoolArray | None
    output_type: ClassVar[OutputType] = "words"

    def __len__(self) -> int:
        return len(self.probabilities)

    def only(self, rows: IntArray) -> TargetOutputs:
        """Returns the outputs of some rows, in the order of `rows`."""
        in_top_k = None if self.in_top_k is None else self.in_top_k[rows]
        return TargetOutputs(self.probabilities[rows], in_top_k)


@dataclass(frozen=True)
class AnswerOutputs:
    """Outputs of question answering models.

    Attributes:
        answers: the answer of each record.
        gold: the right answer of each record.
        articles: words that are left out of both before they are compared.
    """

    answers: Sequence[str]
    gold: Sequence[str]
    articles: tuple[str, ...] = ENGLISH_WORDS.articles
    output_type: ClassVar[OutputType] = "answers"

    def __len__(self) -> int:
        return len(self.answers)

    def only(self, rows: IntArray) -> AnswerOutputs:
        """Returns the outputs of some rows, in the order of `rows`."""
        answers = [self.answers[row] for row in rows]
        gold = [self.gold[row] for row in rows]
        return AnswerOutputs(answers, gold, self.articles)


@dataclass(frozen=True)
class SubjectOutputs:
    """Scores of the subjects that are compared.

    Attributes:
        probabilities: float64, shape (records, 1), the subject's score: how probable it is as the
            answer.
    """

    probabilities: FloatArray
    output_type: ClassVar[OutputType] = "subjects"

    def __len__(self) -> int:
        return len(self.probabilities)

    def only(self, rows: IntArray) -> SubjectOutputs:
        """Returns the outputs of some rows, in the order of `rows`."""
        return SubjectOutputs(self.probabilities[rows])


Outputs = ClassOutputs | TargetOutputs | AnswerOutputs | SubjectOutputs


@dataclass(frozen=True)
class Records:
    """One record per forward pass: a case in which one identity term stands for its group.

    Attributes:
        case: shape (records,), the case; an integer is one case of one template in all bias types.
        template: shape (records,), the case's template, or its unit
            (`stats.clusters.template_units`).
        bias_type: shape (records,), index into `bias_types`.
        group: shape (records,), index into `groups`; two bias types may share the name of a group.
        term: shape (records,), index into `terms`.
        bias_types: names of bias types.
        groups: names of groups, in the order in which results list them.
        terms: the identity terms.
        outputs: the outputs of the model, in the order of the records.

    Raises:
        ValueError: there are no records, or columns have different lengths.
    """

    case: IntArray
    template: IntArray
    bias_type: IntArray
    group: IntArray
    term: IntArray
    bias_types: Sequence[str]
    groups: Sequence[str]
    terms: Sequence[str]
    outputs: Outputs
    _units: dict[PoolingMode, ComparisonUnits] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        columns = (self.case, self.template, self.bias_type, self.group, self.term, self.outputs)
        lengths = [len(column) for column in columns]
        if len(set(lengths)) != 1 or not lengths[0]:
            raise ValueError(
                f"records with columns of {lengths} rows; expected one length of at least 1"
            )

    def only(self, rows: IntArray) -> Records:
        """Returns some of the records, at least one, in the order of `rows`."""
        columns = {
            name: getattr(self, name)[rows]
            for name in ("case", "template", "bias_type", "group", "term")
        }
        return replace(self, **columns, outputs=self.outputs.only(rows))

    def units(self, mode: PoolingMode) -> ComparisonUnits:
        """Returns `divide_into_units` of the records, which is computed once per mode."""
        if mode not in self._units:
            self._units[mode] = divide_into_units(self, mode)
        return self._units[mode]


@dataclass(frozen=True)
class Pools:
    """A partition of records.

    Attributes:
        pool: shape (records,), the pool of each record.
        pool_count: how many pools there are, those without records included.
    """

    pool: IntArray
    pool_count: int

    @cached_property
    def sizes(self) -> IntArray:
        """The number of records of each pool, shape (pools,)."""
        return np.bincount(self.pool, minlength=self.pool_count)

    def means(self, values: FloatArray) -> FloatArray:
        """Returns the mean over each pool of one value per record, NaN where a pool is empty."""
        return divide(np.bincount(self.pool, values, minlength=self.pool_count), self.sizes)


@dataclass(frozen=True)
class ComparisonUnits:
    """The places where groups are compared: bias types, or cases in bias types, as the mode says.

    Attributes:
        mode: `ALL_CASES` if a unit is a bias type, `EACH_CASE` if it is a case in a bias type.
        unit: shape (records,), the unit of each record.
        place: shape (records,), the position of the record's group in `group_names` of its bias
            type.
        bias_type: shape (units,), the bias type of each unit.
        first_record: shape (units,), a record of each unit, as an index into all records.
        group_names: by bias type, the names of the groups that have records.
    """

    mode: PoolingMode
    unit: IntArray
    place: IntArray
    bias_type: IntArray
    first_record: IntArray
    group_names: Sequence[Sequence[str]]

    @property
    def width(self) -> int:
        """The number of groups of the bias type that has the most.

        Arrays of shape (units, width) have the groups of a unit in its first columns; in the rest
        there is no group.
        """
        return max(len(names) for names in self.group_names)

    @cached_property
    def backgrounds(self) -> Pools:
        """The units as pools, each with the records of all its groups."""
        return Pools(self.unit, len(self.bias_type))

    @cached_property
    def pools(self) -> Pools:
        """The groups of all units: `width` pools for each, empty where there is no such group."""
        return Pools(self.unit * self.width + self.place, len(self.bias_type) * self.width)

    @property
    def sizes(self) -> IntArray:
        """The number of records of each group, shape (units, width)."""
        return self.pools.sizes.reshape(-1, self.width)

    def only(self, is_chosen: BoolArray) -> ComparisonUnits:
        """Returns the same units with some of the records alone; units may become empty.

        Args:
            is_chosen: shape (records,).
        """
        if is_chosen.all():
            return self
        return replace(self, unit=self.unit[is_chosen], place=self.place[is_chosen])


def divide_into_units(records: Records, mode: PoolingMode) -> ComparisonUnits:
    """Divides records into units, and the units into groups.

    Args:
        records: the records.
        mode: `ALL_CASES` makes a unit of each bias type, `EACH_CASE` of each case in each bias
            type.

    Returns:
        The units in the order of bias types and, within these, of cases.
    """
    # Products of narrow integers would overflow below.
    bias_type = records.bias_type.astype(np.int64)
    group, case = records.group.astype(np.int64), records.case.astype(np.int64)
    # Two bias types may share the name of a group, which is then a group of each.
    group_keys, own_key = np.unique(bias_type * len(records.groups) + group, return_inverse=True)
    bias_type_of_key, group_of_key = np.divmod(group_keys, len(records.groups))
    first_of_bias_type = np.searchsorted(bias_type_of_key, bias_type_of_key)
    place = np.arange(len(group_keys)) - first_of_bias_type
    names = []
    for code in range(len(records.bias_types)):
        own_groups = group_of_key[bias_type_of_key == code]
        names.append([records.groups[own_group] for own_group in own_groups])
    unit_key = bias_type if mode == ALL_CASES else bias_type * (case.max() + 1) + case
    _, first_record, unit = np.unique(unit_key, return_index=True, return_inverse=True)
    return ComparisonUnits(
        mode=mode,
        unit=unit,
        place=place[own_key],
        bias_type=bias_type[first_record],
        first_record=first_record,
        group_names=names,
    )


def probability_column(probabilities: FloatArray, index: int, noun: str) -> FloatArray:
    """Returns the probabilities of one class or target, shape (records,).

    Args:
        probabilities: shape (records, classes) or (records, targets).
        index: the column, from 0.
        noun: "class" or "target", for the message.

    Raises:
        UserError: there is no such column.
    """
    count = probabilities.shape[1]
    if index >= count:
        raise UserError(f"there is no {noun} {index}; expected an index from 0 to {count - 1}")
    return probabilities[:, index]
