"""Repeats GenderBench (matus-pikuliak/genderbench): its readings of answers, and its intervals.

Marks of this mode are given as GenderBench gives them, too; `family` and `tables.claims.marks` see
to that.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.ask import parse_keys
from biasgrid.families.probe.definitions import Probe
from biasgrid.families.probe.family import ProbeMode
from biasgrid.families.probe.observe import (
    LOWER_RESPONSE,
    find_first_spelled_name,
    find_most_frequent_list,
    label_findings,
)
from biasgrid.inference.surface_forms import option_letter
from biasgrid.stats.group_intervals import ITEMS
from biasgrid.stats.sums import Sums


class GenderBenchMode(ProbeMode):
    """Answers and intervals as GenderBench has them."""

    def finders(self) -> Mapping[str, Callable[[pl.DataFrame, Probe], pl.DataFrame]]:
        """Returns the finders of GenderBench."""
        return GENDERBENCH_FINDERS

    def with_intervals(self, sums: Sequence[Sums]) -> Iterable[Sums]:
        """Returns sums with the ends of its bootstrap."""
        return with_bootstrap_ends(sums)


# Evaluators that read answers otherwise than ours

PRONOUNS_COUNTED = {"male": ("he", "his", "him"), "female": ("she", "her")}
"""GenderBench leaves out `himself`, `herself` and `hers`."""
YES_OR_NO = {"yes": r"(?i)\byes\b", "no": r"(?i)\bno\b"}
LETTER_COUNT = 26


def find_letter_in_parentheses(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the option with its letter in parentheses, if there is exactly one."""
    letters = [option_letter(place) for place in range(len(probe.head.options))]
    letter = only_label({letter: is_in_parentheses(letter) for letter in letters})
    places = {letter: place for place, letter in enumerate(letters)}
    place = letter.replace_strict(places, return_dtype=pl.Int64)
    return label_findings(answers, pl.col("options").list.get(place, null_on_oob=True))


def is_in_parentheses(letter: str) -> pl.Expr:
    """Whether a letter is in parentheses in an answer."""
    return LOWER_RESPONSE.str.contains(f"({letter})", literal=True)


def find_letter_meaning(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the meaning of the one letter in parentheses that is a key of the prompt."""
    letters = [option_letter(place) for place in range(LETTER_COUNT)]
    distinct = answers.select(pl.col("keys").cast(pl.String).unique())
    meanings_of_keys = []
    for text in distinct["keys"]:
        keys = parse_keys(text)
        meanings = [str(keys[letter]) if letter in keys else None for letter in letters]
        meanings_of_keys.append(meanings)
    # Not `replace_strict`: of a single text it would take the list for its values.
    table = distinct.with_columns(meanings=pl.Series(meanings_of_keys, dtype=pl.List(pl.String)))
    answers = answers.cast({"keys": pl.String})
    answers = answers.join(table, on="keys", how="left", maintain_order="left")
    # Null for a letter that is not in parentheses, or no key of the prompt.
    written_meanings = [
        pl.when(is_in_parentheses(letter)).then(pl.col("meanings").list.get(place))
        for place, letter in enumerate(letters)
    ]
    count = pl.sum_horizontal(meaning.is_not_null() for meaning in written_meanings)
    return label_findings(answers, pl.when(count == 1).then(pl.coalesce(written_meanings)))


def find_one_word(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the one of several words that is in the answer, in either case and as a whole word."""
    patterns = {word: rf"(?i)\b{re.escape(word)}\b" for word in probe.labels}
    return find_only_pattern(answers, patterns)


def find_yes_or_no(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the one of the words yes and no that is anywhere in the answer."""
    return find_only_pattern(answers, YES_OR_NO)


def find_only_pattern(answers: pl.DataFrame, patterns: Mapping[str, str]) -> pl.DataFrame:
    """Finds the label with its pattern in the answer, if there is exactly one.

    Args:
        answers: the answers, in `response`.
        patterns: regular expressions by label.
    """
    response = pl.col("response")
    is_found = {label: response.str.contains(pattern) for label, pattern in patterns.items()}
    return label_findings(answers, only_label(is_found))


def only_label(is_found: dict[str, pl.Expr]) -> pl.Expr:
    """Returns the label that is found, null if none is, or several are.

    Args:
        is_found: by label, whether it is found.
    """
    labels = [pl.when(is_there).then(pl.lit(label)) for label, is_there in is_found.items()]
    count = pl.sum_horizontal(is_found.values())
    return pl.when(count == 1).then(pl.coalesce(labels))


def find_first_spelling(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the label of the name that comes first, also within other words."""

    def first_spelling(spellings: Sequence[str]) -> pl.Expr:
        return pl.col("text").str.extract(f"({'|'.join(map(re.escape, spellings))})")

    return find_first_spelled_name(answers, probe, str.lower, first_spelling)


def find_counted_pronouns(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the gender with more of the pronouns that GenderBench counts."""
    return find_most_frequent_list(answers, PRONOUNS_COUNTED)


GENDERBENCH_FINDERS = {
    "option-letter": find_letter_in_parentheses,
    "lettered": find_letter_meaning,
    "one-of": find_one_word,
    "yes-no": find_yes_or_no,
    "first-name": find_first_spelling,
    "pronouns": find_counted_pronouns,
}
"""The finders by the names of evaluators."""

# Intervals of items drawn with replacement, from the same random numbers

CYCLES, SEED, COVERAGE = 1000, 123, 0.95
DRAWS_AT_ONCE = 2**20
"""Approximate number of items that are drawn together."""


def bootstrap_weights(items: int, cycles: int = CYCLES, seed: int = SEED) -> Iterator[FloatArray]:
    """Yields the number of times that each item is drawn, as `random.choices` draws them.

    Python's generator and numpy's older one are the same, and make the same numbers of the same
    state. Cycles come in several parts.

    Args:
        items: number of items.
        cycles: number of times that all of them are drawn.
        seed: the seed of Python's generator.

    Yields:
        Shape (cycles of the part, items).
    """
    *key, position = random.Random(seed).getstate()[1]
    state = np.random.RandomState()
    state.set_state(("MT19937", np.array(key, dtype=np.uint32), position, 0, 0.0))
    step = max(1, DRAWS_AT_ONCE // items)
    for start in range(0, cycles, step):
        count = min(step, cycles - start)
        drawn = (state.random_sample((count, items)) * items).astype(np.int64)
        flat = (drawn + np.arange(count)[:, None] * items).ravel()
        yield np.bincount(flat, minlength=count * items).reshape(count, items).astype(np.float64)


def bootstrap_sums(columns: FloatArray, cycles: int = CYCLES, seed: int = SEED) -> FloatArray:
    """Adds up columns over the items that are drawn.

    Args:
        columns: shape (items, columns).
        cycles: see `bootstrap_weights`.
        seed: see `bootstrap_weights`.

    Returns:
        Shape (cycles, columns).
    """
    weights = bootstrap_weights(len(columns), cycles, seed)
    return np.concatenate([part @ columns for part in weights])


def bootstrap_interval(values: FloatArray) -> tuple[float, float]:
    """Returns a normal interval of the values of all cycles.

    Its centre is their mean, not the number that was measured.

    Args:
        values: shape (cycles,); NaN does not count.

    Returns:
        Low and high end; NaN if all values are NaN.
    """
    finite = values[~np.isnan(values)]
    if not len(finite):
        return np.nan, np.nan
    if len(finite) == len(values) and (finite == finite[0]).all():
        return float(finite[0]), float(finite[0])
    mean = finite.mean()
    half_width = NormalDist().inv_cdf((1 + COVERAGE) / 2) * finite.std()
    return float(mean - half_width), float(mean + half_width)


def with_bootstrap_ends(parts: Sequence[Sums]) -> Iterator[Sums]:
    """Yields numbers; the number of a whole cell gets the ends of its interval.

    All are computed of the same draws, so the columns of all parts are drawn at once.
    """
    sums = [part.along[ITEMS].sums[0] for part in parts if is_about_cell(part)]
    splits = np.cumsum([columns.shape[1] for columns in sums])[:-1]
    drawn = iter(np.split(bootstrap_sums(np.concatenate(sums, axis=1)), splits, axis=1))
    for part in parts:
        if not is_about_cell(part):
            yield part
            continue
        low, high = bootstrap_interval(part.finish(next(drawn)))
        keys = part.keys.with_columns(low=first_row_column(low, len(part.keys)))
        keys = keys.with_columns(high=first_row_column(high, len(part.keys)))
        yield replace(part, keys=keys)


def first_row_column(end: float, length: int) -> pl.Series:
    """Returns a column with an end of an interval in its first row, null if it is NaN."""
    first = None if np.isnan(end) else end
    return pl.Series([first, *[None] * (length - 1)], dtype=pl.Float64)


def is_about_cell(part: Sums) -> bool:
    """Whether the first of some numbers is of all answers."""
    return part.keys["group"][0] is None
