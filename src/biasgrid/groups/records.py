"""What a model said of every case about every group, and how records are pooled by group.

Written for many pools at once: a pool is a number from 0 that each of its records has, and what is
said of all pools is one array.
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

Mode = Literal["group", "counterfactual"]
ALL_CASES: Mode = "group"
"""All records of a group are one pool, whatever the case."""
EACH_CASE: Mode = "counterfactual"
"""Groups are compared in one and the same case."""


Sort = Literal["classes", "words", "answers", "subjects"]
"""What there is of records: probabilities of classes, of target words, texts of answers, or scores
of subjects.
"""


@dataclass(frozen=True)
class ClassOutputs:
    """What classifiers said.

    Attributes:
        probabilities: float64, shape (records, classes).
        gold: int64, shape (records,), the class that is right.
    """

    probabilities: FloatArray
    gold: IntArray
    sort: ClassVar[Sort] = "classes"

    def __len__(self) -> int:
        return len(self.probabilities)

    def only(self, rows: IntArray) -> ClassOutputs:
        """Returns what was said in some rows."""
        return ClassOutputs(self.probabilities[rows], self.gold[rows])


@dataclass(frozen=True)
class TargetOutputs:
    """What masked language models said.

    Attributes:
        probabilities: float64, shape (records, targets), of each target at the mask; NaN behind a
            record's last one.
        in_top_k: bool, shape (records, targets), whether the target is among the k most probable
            tokens; False behind a record's last target. None if no ranks are known.
    """

    probabilities: FloatArray
    in_top_k: BoolArray | None
    sort: ClassVar[Sort] = "words"

    def __len__(self) -> int:
        return len(self.probabilities)

    def only(self, rows: IntArray) -> TargetOutputs:
        """Returns the outputs of some rows."""
        in_top_k = None if self.in_top_k is None else self.in_top_k[rows]
        return TargetOutputs(self.probabilities[rows], in_top_k)


@dataclass(frozen=True)
class AnswerOutputs:
    """What question answering models said.

    Attributes:
        answers: the answer of each record.
        gold: the text that is right.
        articles: what is left out of both before they are compared.
    """

    answers: Sequence[str]
    gold: Sequence[str]
    articles: tuple[str, ...] = ENGLISH_WORDS.articles
    sort: ClassVar[Sort] = "answers"

    def __len__(self) -> int:
        return len(self.answers)

    def only(self, rows: IntArray) -> AnswerOutputs:
        """Returns the outputs of some rows."""
        answers = [self.answers[row] for row in rows]
        gold = [self.gold[row] for row in rows]
        return AnswerOutputs(answers, gold, self.articles)


@dataclass(frozen=True)
class SubjectOutputs:
    """What models said of the subjects that are compared.

    Attributes:
        probabilities: float64, shape (records, 1), the subject's score: how probable it is as the
            answer.
    """

    probabilities: FloatArray
    sort: ClassVar[Sort] = "subjects"

    def __len__(self) -> int:
        return len(self.probabilities)

    def only(self, rows: IntArray) -> SubjectOutputs:
        """Returns what was said in some rows."""
        return SubjectOutputs(self.probabilities[rows])


Outputs = ClassOutputs | TargetOutputs | AnswerOutputs | SubjectOutputs


@dataclass(frozen=True)
class Records:
    """One record per forward pass: a case in which one identity term stands for its group.

    The columns are of integers.

    Attributes:
        case: shape (records,), the case; one number is one case of one template in all bias types.
        template: shape (records,), the case's template, or its unit
            (`stats.clusters.template_units`).
        bias_type: shape (records,), index into `bias_types`.
        group: shape (records,), index into `groups`; two bias types may share the name of a group.
        term: shape (records,), index into `terms`.
        bias_types: names of bias types.
        groups: names of groups, in the order in which results name them.
        terms: the identity terms.
        outputs: what the model said, in the order of the records.

    Raises:
        ValueError: there are no records, or not as many of one column as of the others.
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
    _units: dict[Mode, Units] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = (self.case, self.template, self.bias_type, self.group, self.term, self.outputs)
        lengths = [len(column) for column in columns]
        if len(set(lengths)) != 1 or not lengths[0]:
            raise ValueError(
                f"records with columns of {lengths} rows; expected one length of at least 1"
            )

    def only(self, rows: IntArray) -> Records:
        """Returns some of the records."""
        columns = {
            name: getattr(self, name)[rows]
            for name in ("case", "template", "bias_type", "group", "term")
        }
        return replace(self, **columns, outputs=self.outputs.only(rows))

    def units(self, mode: Mode) -> Units:
        """Returns what `units_of` makes of the records; all comparisons share it."""
        if mode not in self._units:
            self._units[mode] = units_of(self, mode)
        return self._units[mode]


@dataclass(frozen=True)
class Pools:
    """A partition of records.

    Attributes:
        of_record: shape (records,), the pool of each record.
        count: how many pools there are, those without records included.
    """

    of_record: IntArray
    count: int

    @cached_property
    def sizes(self) -> IntArray:
        """The number of records of each pool, shape (pools,)."""
        return np.bincount(self.of_record, minlength=self.count)

    def means(self, values: FloatArray) -> FloatArray:
        """Returns the mean over each pool of one value per record, NaN where a pool is empty."""
        return divide(np.bincount(self.of_record, values, minlength=self.count), self.sizes)


@dataclass(frozen=True)
class Units:
    """Where groups are compared: a bias type, or a case in a bias type, as the mode says.

    Attributes:
        unit: shape (records,), the unit of each record.
        place: shape (records,), the place of the record's group among those of its bias type.
        bias_type: shape (units,), the bias type of each unit.
        first_record: shape (units,), a record of each unit.
        group_names: by bias type, the names of the groups that have records.
    """

    unit: IntArray
    place: IntArray
    bias_type: IntArray
    first_record: IntArray
    group_names: Sequence[Sequence[str]]

    @property
    def width(self) -> int:
        """The number of groups of the bias type that has the most."""
        return max(len(names) for names in self.group_names)

    @cached_property
    def backgrounds(self) -> Pools:
        """The units as pools."""
        return Pools(self.unit, len(self.bias_type))

    @cached_property
    def pools(self) -> Pools:
        """The groups of all units: `width` pools for each, empty where there is no such group."""
        return Pools(self.unit * self.width + self.place, len(self.bias_type) * self.width)

    @property
    def sizes(self) -> IntArray:
        """The number of records of each group, shape (units, width)."""
        return self.pools.sizes.reshape(-1, self.width)

    def only(self, chosen: BoolArray) -> Units:
        """Returns the same units with the chosen records alone."""
        if chosen.all():
            return self
        return replace(self, unit=self.unit[chosen], place=self.place[chosen])


def units_of(records: Records, mode: Mode) -> Units:
    """Divides records into units, and the units into groups.

    Args:
        records: the records.
        mode: `ALL_CASES` makes a unit of each bias type, `EACH_CASE` of each case in each bias
            type.
    """
    # Narrow integers would overflow below.
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
    _, first, unit = np.unique(unit_key, return_index=True, return_inverse=True)
    return Units(unit, place[own_key], bias_type[first], first, names)


def probability_column(probabilities: FloatArray, index: int, what: str) -> FloatArray:
    """Returns the probabilities of one class or target.

    Raises:
        UserError: there are not so many.
    """
    count = probabilities.shape[1]
    if index >= count:
        raise UserError(f"there is no {what} {index}; expected an index from 0 to {count - 1}")
    return probabilities[:, index]
