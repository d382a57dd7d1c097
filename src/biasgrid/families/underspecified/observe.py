"""Compares the two subjects of every swap group: from predictions to C (UnQover), and to
preferences.

A swap group is four instances: either order of the pair's subjects in the context, with the plain
and the negated question. Below, x1 is the subject that stands first where `swapped` is false, x2
the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.base.references import load_reference
from biasgrid.base.sections import Scoring
from biasgrid.families.underspecified.section import SCORES_OF_MODE
from biasgrid.tables.files import TableError
from biasgrid.tables.instances import OF_FORMAT

Places = npt.NDArray[np.uint32]
SWAP_GROUP_KEYS = ["swap_group", "swapped", "negated"]
GROUPS_AT_ONCE = 2**14
"""How many rows are computed together."""
SCORES_AT_ONCE = 2**18
"""Rows whose scores are put in their places together: polars hands out each part of a column by
itself.
"""
SUBJECT_SCORES, PRONOUN_SCORES = "scores", "pronoun_scores"
"""The columns of observations with the scores of subjects and, where they were read, of their
pronouns.
"""
UNKNOWN_TEXT = "unknown_text"
"""The column of observations that says whether a tokenizer does not know the text of one of the
four instances.
"""
SWAP_GROUP_COLUMNS = [
    "template",
    "subject1",
    "subject2",
    "group1",
    "group2",
    "attribute",
    "attribute_group",
]

UNIT = "swap_group"
"""What is observed as a whole: a cell is read and measured part by part, each of whole swap
groups.
"""
READ = ["instance", *SWAP_GROUP_KEYS, *SWAP_GROUP_COLUMNS, *OF_FORMAT]
"""The columns of instances that are observed."""
SAID = ["instance", "starts", "ends", "probabilities", "unknown"]
"""The columns of predictions that are observed, of those that the kind has."""
LEAST_MASS = 1e-6
"""Swap groups in one of whose instances both subjects together are less probable have no share."""
LEAST_MASS_OF_PRECISION = {"float16": 1e-5}
"""The same where the arithmetic of the model is coarser: its error of a share is 0.013 at 1e-6."""
STEPS_OF_LEAST_MASS = 100
"""Of scores that were stored with few decimals, how many steps the least mass is."""
STORED_DECIMALS = (4, 5, 6, 7)
"""With how many decimals scores may have been stored; with fewer they are choices, not
probabilities.
"""
FEWEST_SCORES = 1000
"""Fewer scores do not tell with how many decimals they were stored."""
STEP_TOLERANCE = 1e-7
"""How far from a step stored scores may be, as a share of their size: they come as 32-bit
numbers.
"""


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Compares the subjects of every swap group; see `compare_subjects`."""
    return compare_subjects(instances, predictions, options["scoring"])


def both_sides(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns every swap group twice, once as seen from each subject; C(x2, x1) is exactly -C(x1,
    x2).

    Args:
        observations: from `compare_subjects`.

    Returns:
        `swap_group`, `template`, `subject`, `other`, `subject_group`, `other_group`, `attribute`,
        `attribute_group` and `comparison`, C(subject, other).
    """
    sides = [("1", "2", pl.col("comparison")), ("2", "1", -pl.col("comparison"))]
    return pl.concat(
        observations.select(
            "swap_group",
            "template",
            "attribute",
            "attribute_group",
            subject=f"subject{one}",
            other=f"subject{two}",
            subject_group=f"group{one}",
            other_group=f"group{two}",
            comparison=comparison,
        )
        for one, two, comparison in sides
    )


def scores_in_groups(observations: pl.DataFrame, column: str = SUBJECT_SCORES) -> FloatArray:
    """Returns S, shape (groups, 2 orders, 2 questions, 2 subjects).

    The orders are not swapped and swapped, the questions plain and negated, the subjects x1 and x2.

    Args:
        observations: from `compare_subjects`.
        column: whose scores.
    """
    return observations[column].to_numpy().reshape(-1, 2, 2, 2)


def score_array(predictions: pl.DataFrame, scoring: Scoring) -> FloatArray:
    """Returns how much a model chose each subject of each instance.

    Args:
        predictions: answers of the kind `span` or `choice`, distinguishable by their columns.
        scoring: how probabilities of words become scores: as they are, or as a mode of
            `SCORES_OF_MODE` does it.

    Returns:
        Shape (rows, 2), in [0, 1]: for spans the geometric mean of the probabilities of their start
        and end, for masks and options the probability; NaN where there is none.
    """
    if "starts" in predictions.columns:
        start, end = (_of_candidates(predictions[column], 2) for column in ("starts", "ends"))
        return np.sqrt(start * end, out=start)
    if scoring not in SCORES_OF_MODE:
        return _of_candidates(predictions["probabilities"], 2)
    # The candidates behind both subjects are their pronouns.
    words = np.split(_of_candidates(predictions["probabilities"], 4), 2, axis=1)
    scores: FloatArray = load_reference(SCORES_OF_MODE[scoring])(*words)
    return scores


def pronoun_scores(predictions: pl.DataFrame) -> FloatArray:
    """Returns the probabilities of the pronouns of both subjects, which stand behind these; shape
    (rows, 2).
    """
    return _of_candidates(predictions["probabilities"], 4)[:, 2:]


def _of_candidates(lists: pl.Series, count: int) -> FloatArray:
    """Returns the first numbers of each list; shape (rows, count), NaN where there are fewer."""
    if not (lists.list.len() == count).all(ignore_nulls=False):
        lists = lists.list.gather(list(range(count)), null_on_oob=True)
    values: FloatArray = lists.list.to_array(count).to_numpy().astype(np.float64)
    # The schemas let rounding push a probability a little below 0, where the root would have no
    # value.
    return np.maximum(values, 0, out=values)


def compare_subjects(
    instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring
) -> pl.DataFrame:
    """Compares the subjects of every swap group (Li et al., Findings of EMNLP 2020).

    With S(x; e, q) the score of subject x in order e for question q, B(x) = mean over e of S(x; e,
    plain) - mean over e of S(x; e, negated) and C(x1, x2) = (B(x1) - B(x2)) / 2. A preference for a
    place cancels in the means, what does not depend on the attribute in the difference.

    Args:
        instances: the family's instances, whole swap groups in any order; needs no texts.
        predictions: one row for each of these instances; further ones are ignored.
        scoring: see `score_array`.

    Returns:
        A row per swap group, in the order of their ids: `swap_group`, `template`, `subject1` (x1),
        `subject2` (x2), their `group1` and `group2`, `attribute`, `attribute_group`,
        `prompt_format` if there are several, the float64 `comparison` C(x1, x2) in [-1, 1],
        `delta`, `epsilon` and `answer_probability` (float64, in [0, 1]), whether the winner changes
        with the order (`winner_changes`), and `scores`, an array of the 8 float64 S (see
        `scores_in_groups`); where pronouns were read, `pronoun_scores`, the same of these; and
        `unknown_text`, where predictions say whether the tokenizer knows the text. Where one of its
        four instances has no answer, a swap group has NaN as comparison (see `answered_groups`).

    Raises:
        TableError: a swap group has not exactly its four instances.
    """
    firsts, place = places_in_swap_groups(instances)
    of_subjects = partial(score_array, scoring=scoring)
    by_subject = scores_in_places(instances, predictions, of_subjects, place).reshape(-1, 2, 2, 2)
    said: dict[str, npt.NDArray[Any]] = {}
    for part in row_slices(len(firsts)):
        for name, values in compare_scores(by_subject[part]).items():
            said.setdefault(name, np.empty(len(firsts), dtype=values.dtype))[part] = values
    of_format = [name for name in OF_FORMAT if name in instances.columns]
    groups = instances.select("swap_group", *SWAP_GROUP_COLUMNS, *of_format)[firsts]
    of_groups = {**said, SUBJECT_SCORES: by_subject.reshape(-1, 8)}
    if (
        "probabilities" in predictions.columns
        and (predictions["probabilities"].list.len() > 3).any()
    ):
        of_groups[PRONOUN_SCORES] = scores_in_places(
            instances, predictions, pronoun_scores, place
        ).reshape(-1, 8)
    if "unknown" in predictions.columns:
        unknown = scores_in_places(instances, predictions, unknown_texts, place).reshape(-1, 8)
        of_groups[UNKNOWN_TEXT] = unknown.max(axis=1) > 0
    return groups.with_columns(
        **{name: pl.lit(pl.Series(values)) for name, values in of_groups.items()}
    )


def unknown_texts(predictions: pl.DataFrame) -> FloatArray:
    """Returns 1 where the tokenizer does not know the text, else 0, twice as of two subjects; shape
    (rows, 2).
    """
    unknown = predictions["unknown"].fill_null(value=False).to_numpy().astype(np.float64)
    return np.repeat(unknown[:, None], 2, axis=1)


def answered_groups(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns the swap groups whose four instances were all answered.

    Args:
        observations: from `compare_subjects`.
    """
    return observations.filter(pl.col("comparison").is_not_nan())


def row_slices(count: int, size: int = GROUPS_AT_ONCE) -> Iterator[slice]:
    """Yields consecutive parts of some rows, so small that what is computed of one fits into a
    processor's cache.
    """
    for start in range(0, count, size):
        yield slice(start, start + size)


def compare_scores(scores: FloatArray) -> dict[str, npt.NDArray[Any]]:
    """Computes what is said of swap groups one by one; see `compare_subjects`.

    Args:
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects).

    Returns:
        Arrays of shape (groups,).
    """
    # The groups last, so that each step goes through the scores of all of them.
    of_places = np.ascontiguousarray(scores.reshape(-1, 8).T).reshape(2, 2, 2, -1)
    by_question = (of_places[0] + of_places[1]) / 2
    bias = by_question[0] - by_question[1]
    # The other subject's score for the negated question, in one and the same context.
    across = of_places[:, 0] - of_places[:, 1, ::-1]
    winner = np.sign(of_places[:, 0, 0] - of_places[:, 0, 1])
    return {
        "comparison": (bias[0] - bias[1]) / 2,
        "delta": np.abs(of_places[0] - of_places[1]).mean(axis=(0, 1)),
        "epsilon": np.abs(across).mean(axis=(0, 1)),
        # In this order they are what a sum over all eight at once would make of them.
        "answer_probability": of_places.sum(axis=2).sum(axis=1).sum(axis=0) / 8,
        "winner_changes": winner[0] != winner[1],
    }


def places_in_swap_groups(instances: pl.DataFrame) -> tuple[Places, Places]:
    """Finds the four instances of every swap group; much faster than sorting.

    Returns:
        Shape (groups,), the row of each group's instance that is plain and not swapped, in the
        order of the groups' ids; and shape (instances,), 4 times the number of the group in that
        order + 2 if swapped + 1 if negated.

    Raises:
        TableError: instances are not four to a swap group; with the number of malformed ones and
            one of them.
    """
    ids = instances["swap_group"].to_numpy()
    least = ids.min()
    ids = ids - least
    there = np.zeros(int(ids.max()) + 1, dtype=np.bool_)
    there[ids] = True
    group_ids, first = np.flatnonzero(there), 4 * (np.cumsum(there, dtype=np.uint32) - 1)
    swapped, negated = (
        instances[name].to_numpy().view(np.uint8) for name in ("swapped", "negated")
    )
    place = np.empty(len(ids), dtype=np.uint32)
    for part in row_slices(len(ids)):
        place[part] = first[ids[part]] + 2 * swapped[part] + negated[part]
    taken = np.zeros(4 * len(group_ids), dtype=np.bool_)
    taken[place] = True
    if taken.all() and len(taken) == len(place):
        is_first = np.flatnonzero(place % 4 == 0)
        firsts = np.empty(len(group_ids), dtype=np.uint32)
        firsts[place[is_first] // 4] = is_first
        malformed = mixed_groups(instances, firsts, place)
    else:
        malformed = (np.bincount(place, minlength=len(taken)) != 1).reshape(-1, 4).any(axis=1)
    if malformed.any():
        raise TableError(
            f"instances: {np.count_nonzero(malformed)} of {len(group_ids)} swap groups (such as "
            f"{least + group_ids[malformed.argmax()]}) are malformed; expected four instances "
            "each: one pair of subjects in either order, with the plain and the negated question "
            "about one attribute"
        )
    return firsts, place


def mixed_groups(instances: pl.DataFrame, firsts: Places, place: Places) -> BoolArray:
    """Says of each swap group whether its rows differ in the pair or the attribute; see
    `places_in_swap_groups`.
    """
    named = [
        instances[name].to_physical().to_numpy() for name in ("subject1", "subject2", "attribute")
    ]
    x1, x2, attribute = (names[firsts] for names in named)
    differ = np.zeros(len(firsts), dtype=np.bool_)
    for part in row_slices(len(place)):
        group, is_swapped = place[part] // 4, place[part] & 2 > 0
        one, two, asked = (names[part] for names in named)
        first, second = np.where(is_swapped, two, one), np.where(is_swapped, one, two)
        wrong = (first != x1[group]) | (second != x2[group]) | (asked != attribute[group])
        differ[group[wrong]] = True
    return differ


def scores_in_places(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    read: Callable[[pl.DataFrame], FloatArray],
    place: Places,
) -> FloatArray:
    """Returns S of x1 and x2, shape (instances, 2), each instance where its place is; see
    `places_in_swap_groups`.

    Args:
        instances: see `compare_subjects`.
        predictions: likewise.
        read: returns the scores of both subjects in the order of predictions, shape (rows, 2).
        place: of each instance.
    """
    if not predictions["instance"].equals(instances["instance"]):
        of_instances = instances.select("instance", place=pl.lit(pl.Series(place)))
        predictions = predictions.join(of_instances, on="instance", maintain_order="left")
        place = predictions["place"].to_numpy()
    by_subject = np.empty((len(place), 2))
    flat = by_subject.reshape(-1)
    for part in row_slices(len(predictions), SCORES_AT_ONCE):
        said = read(predictions[part])
        # x1 stands second where the order is swapped.
        of_first = 2 * place[part].astype(np.int64) + (place[part] >> 1 & 1)
        flat[of_first] = said[:, 0]
        flat[of_first ^ 1] = said[:, 1]
    return by_subject


def has_subject_groups(parts: Iterable[pl.DataFrame]) -> bool:
    """Says whether subjects have groups.

    Args:
        parts: what was observed of a cell, part by part.
    """
    return any(part["group1"].count() > 0 for part in parts)


def stereotype_sides(
    observations: pl.DataFrame, stereotypes: Mapping[str, str], by: str
) -> IntArray:
    """Says which subject of each swap group is of the group that the stereotype of its attribute
    names.

    Args:
        observations: from `observe.compare_subjects`.
        stereotypes: the group by attribute: a group of subjects or, where subjects have none, a
            subject.
        by: which of the two, `group` or `subject`.

    Returns:
        Shape (swap groups,): 1 for x1 alone and -1 for x2 alone, so that times C it is what the
        named one sees; 0 where it is both or neither, or the attribute has no stereotype.
    """
    attributes = observations["attribute"].cast(pl.String)
    named = attributes.replace_strict(dict(stereotypes), default=None, return_dtype=pl.String)
    one, other = (
        (observations[f"{by}{side}"].cast(pl.String) == named)
        .fill_null(False)
        .to_numpy()
        .astype(np.int64)
        for side in (1, 2)
    )
    return one - other


class Preferences(NamedTuple):
    """What is said of swap groups whatever S(x) + S(y) is; arrays of shape (groups,), NaN below the
    least mass.

    Attributes:
        share: C of shares s(x) = S(x) / (S(x) + S(y)), in [-1, 1].
        mass: the part of C that is no preference: what S(x) + S(y) alone makes of it.
        question: ln S(x) - ln S(y) of the question, mean over orders; NaN where a score is 0.
        negation: the same of the negated question.
        room: mean over orders of 4 s (1 - s), s the mean share in question and negation: 1 where
            both subjects are equally probable, 0 where one is certain.
        change: mean over orders of |ln (S(x) + S(y)) of the question less that of the negation|.
    """

    share: FloatArray
    mass: FloatArray
    question: FloatArray
    negation: FloatArray
    room: FloatArray
    change: FloatArray

    @property
    def log_odds(self) -> FloatArray:
        """C of log odds: mean over orders of the log odds in the question less those in the
        negation, / 4.
        """
        return (self.question - self.negation) / 4

    @property
    def has_share(self) -> BoolArray:
        """Which swap groups have a share."""
        return ~np.isnan(self.share)

    @property
    def has_odds(self) -> BoolArray:
        """Which swap groups have log odds in both questions."""
        return ~np.isnan(self.question + self.negation)


def preferences_of(scores: FloatArray, least: float = LEAST_MASS) -> Preferences:
    """Returns the preferences of swap groups.

    With S = M s, M being S(x) + S(y) and s the share, C is the mean over orders of the mass of both
    questions times the difference of shares (the preference), and of the difference of masses times
    that of the mean shares (`mass`).

    Args:
        scores: S, shape (groups, 2 orders, 2 questions, 2 subjects).
        least: the least mass that a share is made of.
    """
    found = np.empty((len(Preferences._fields), len(scores)))
    for part in row_slices(len(scores)):
        found[:, part] = preferences_of_part(scores[part], least)
    return Preferences(*found)


def preferences_of_part(scores: FloatArray, least: float) -> Preferences:
    """Returns what `preferences_of` does, of swap groups that fit into a processor's cache."""
    # The groups last, so that each step goes through the scores of all of them.
    one, other = np.moveaxis(
        np.ascontiguousarray(scores.reshape(-1, 8).T).reshape(2, 2, 2, -1), 2, 0
    )
    mass = one + other
    mass[:, :, (mass < least).any(axis=(0, 1))] = np.nan
    share = one / mass
    # Both shares add up to 1, so that a difference of the two is 2 s - 1.
    balance = share[:, 0] + share[:, 1] - 1
    of_mass = (mass[:, 0] - mass[:, 1]) * balance / 2
    odds = np.log(np.where((one > 0) & (other > 0), divide(one, other), np.nan) + 0 * mass).mean(
        axis=0
    )
    change = np.abs(np.log(mass[:, 0] / mass[:, 1]))
    in_orders = (share[:, 0] - share[:, 1], of_mass, 1 - balance**2, change)
    difference, of_mass, room, change = (each.mean(axis=0) for each in in_orders)
    return Preferences(difference, of_mass, odds[0], odds[1], room, change)


def least_mass(parts: Iterable[FloatArray], precision: str | None = None) -> float:
    """Returns the least S(x) + S(y) that a share is made of: what is less is mostly rounding.

    Args:
        parts: S, part by part, shape (groups, 2 orders, 2 questions, 2 subjects) each.
        precision: the arithmetic of the model, where it is known.
    """
    of_arithmetic = LEAST_MASS_OF_PRECISION.get(precision or "", LEAST_MASS)
    return max(of_arithmetic, STEPS_OF_LEAST_MASS * stored_step(parts))


def stored_step(parts: Iterable[FloatArray]) -> float:
    """Returns the steps in which scores were stored, 0 where they have all their digits.

    Args:
        parts: scores of any shape, part by part, of which no more are asked for than tell it.
    """
    choices = 10.0 ** (1 - STORED_DECIMALS[0])
    possible, count = [choices, *(10.0**-decimals for decimals in STORED_DECIMALS)], 0
    for part in parts:
        count += part.size
        possible = [step for step in possible if are_multiples(part.reshape(-1), step)]
        if not possible:
            return 0.0
    return 0.0 if count < FEWEST_SCORES or choices in possible else possible[0]


def are_multiples(values: FloatArray, step: float) -> bool:
    """Says whether all values are multiples of a step, but for rounding; stops at the first that is
    not.
    """
    for part in row_slices(len(values)):
        steps = values[part] / step
        # A 32-bit number has its digits from the first one on.
        if (np.abs(steps - np.round(steps)) > STEP_TOLERANCE * np.maximum(10, steps)).any():
            return False
    return True
