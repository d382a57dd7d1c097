"""Whether a model reads the negation, and associations in the question alone.

B and C subtract the answer to the negated question. A model that gives the same answers to both loses its associations
in that difference; they are still there in the log odds of the question. There a name's own probability is taken off by
what the name has over all attributes of a template.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.families.underspecified.associations.parts import is_compared, sums_of_parts
from biasgrid.families.underspecified.associations.swap_groups import SwapGroups
from biasgrid.stats.sums import TEMPLATES, Along, Finish, Sums

LEAST_SINGULAR = 1e-10
"""What is smaller, relative to the largest eigenvalue, is 0: all utilities may move together."""
ROUNDING = 1e-10
"""What is left of log odds and smaller than this, relative to the largest of them, is 0."""


def question_association(groups: SwapGroups, question: FloatArray, asked: SwapGroups) -> Iterator[Sums]:
    """Log odds of x against its partners in the question alone, centred over subjects and attributes of a template.

    Args:
        groups: the swap groups that have log odds.
        question: shape (groups,), see `without_names`.
        asked: all swap groups, of which the others are left out.

    Yields:
        The parts that are about attributes: over all attributes together it is 0 for each subject.
    """
    for sums in sums_of_parts(groups, groups.sums(question, -question), asked):
        if {"attribute", "attribute_group"} & {*sums.keys.columns}:
            yield replace(sums, test="q", compared=is_compared(sums)).named("question_association")


def pronoun_association(groups: SwapGroups, question: FloatArray, asked: SwapGroups) -> Iterator[Sums]:
    """Log odds of the pronoun of a group against that of the other in the question alone, centred likewise.

    Args:
        groups: the swap groups of two groups whose pronouns have log odds.
        question: shape (groups,), see `without_names`.
        asked: all swap groups, of which the others are left out.

    Yields:
        The parts that are about groups of subjects, which pronouns stand for, and about attributes.
    """
    for sums in sums_of_parts(groups, groups.sums(question, -question), asked):
        keys = {*sums.keys.columns}
        if "subject_group" in keys and {"attribute", "attribute_group"} & keys:
            yield replace(sums, test="q").named("pronoun_association")


def negation_reading(groups: SwapGroups, question: FloatArray, negation: FloatArray, left_out: int) -> Sums:
    """Correlation of log odds in the question and in its negation over subjects and attributes, each centred.

    -1 where the negation is read and believed, 0 where it is read, near 1 where a model gives both the same answers.
    Log odds are means over partners, so that what is noise in single pairs does not hide what is alike.

    Args:
        groups: the swap groups that have log odds.
        question: shape (groups,), see `without_names`.
        negation: the same of the negated question.
        left_out: how many more there are.
    """
    one, other = (mean_over_partners(groups, each) for each in (question, negation))
    products = np.stack([one * other, one**2, other**2], axis=-1)
    columns = np.nansum(products.reshape(-1, *products.shape[2:]), axis=0)
    keys = pl.DataFrame({"measure": [""], "options": [""], "n": [len(question)], "left_out": [left_out]})
    return Sums(keys, {TEMPLATES: Along(groups.templates, columns[None])}, CORRELATION, "t").named("negation_reading")


def mean_over_partners(groups: SwapGroups, odds: FloatArray) -> FloatArray:
    """Returns the means of log odds as each subject sees them, shape (subjects, attributes, templates), NaN of none."""
    shape = (len(groups.subjects), len(groups.attributes), len(groups.templates))
    sums, counts = np.zeros((2, int(np.prod(shape))))
    for subject, seen in ((groups.one, odds), (groups.other, -odds)):
        place = np.ravel_multi_index((subject, groups.attribute, groups.template), shape)
        sums += np.bincount(place, seen, minlength=len(sums))
        counts += np.bincount(place, minlength=len(counts))
    return divide(sums, counts).reshape(shape)


def correlation(sums: FloatArray) -> FloatArray:
    """Returns the correlation of what has mean 0, shape (...), NaN where one does not vary.

    Args:
        sums: shape (..., 3), sums of products, and of the squares of each.
    """
    return divide(sums[..., 0], np.sqrt(np.maximum(sums[..., 1] * sums[..., 2], 0)))


CORRELATION = Finish("correlation", correlation)


def without_names(groups: SwapGroups, odds: FloatArray) -> FloatArray:
    """Takes off log odds what both subjects have over all attributes of their template.

    That is the difference of utilities, one for each subject in each template, by least squares over all pairs that
    were asked: where every pair is asked about every attribute, it is their mean over attributes.

    Args:
        groups: the swap groups.
        odds: shape (groups,), ln S(x) - ln S(y).

    Returns:
        Shape (groups,); NaN in templates that ask about a single attribute, which cannot tell it from a name.
    """
    subjects, templates = len(groups.subjects), len(groups.templates)
    shape = (templates, subjects, subjects)
    place = np.ravel_multi_index((groups.template, groups.one, groups.other), shape)
    counts, sums = (
        np.bincount(place, each, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
        for each in (None, odds)
    )
    pairs = counts + np.swapaxes(counts, 1, 2)
    equations = pairs.sum(axis=2)[..., None] * np.eye(subjects) - pairs
    own = (sums.sum(axis=2) - sums.sum(axis=1))[..., None]
    utilities = (np.linalg.pinv(equations, rcond=LEAST_SINGULAR, hermitian=True) @ own)[..., 0]
    left = odds - (utilities[groups.template, groups.one] - utilities[groups.template, groups.other])
    left[np.abs(left) <= ROUNDING * np.abs(odds).max(initial=0)] = 0
    asked = np.zeros((templates, len(groups.attributes)), dtype=np.bool_)
    asked[groups.template, groups.attribute] = True
    left[asked.sum(axis=1)[groups.template] < 2] = np.nan
    return np.asarray(left)
