"""Frames: templates that are rewordings of one are one piece of evidence, the unit of all statistics."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from biasgrid.base.arrays import IntArray

NEUTRAL = {
    **dict.fromkeys(("man", "woman", "gentleman", "lady", "guy"), "person"),
    **dict.fromkeys(("men", "women"), "people"),
    **dict.fromkeys(("boy", "girl"), "child"),
    **dict.fromkeys(("boys", "girls"), "children"),
    **dict.fromkeys(("male", "female"), "gendered"),
    **dict.fromkeys(("he", "she"), "they"),
    **dict.fromkeys(("him", "her", "his", "hers"), "them"),
    **dict.fromkeys(("himself", "herself"), "themselves"),
}
"""Words that differ in gender alone."""
WORD = re.compile(r"[a-z]+")
Chosen = str | Sequence[Sequence[int]]
"""`auto`, `none`, or lists of template numbers."""


def frames_of(texts: Sequence[str], chosen: Chosen) -> list[int]:
    """Divides templates into frames.

    Args:
        texts: what each template says, by number.
        chosen: `auto` makes a frame of templates that differ in the gender of their words alone, `none` of each
            template; lists name those of each frame, templates in none of them are frames of their own.

    Returns:
        The frame of each template; frames are numbered by their first templates.
    """
    if chosen == "auto":
        names = [neutral(text) for text in texts]
    else:
        lists = {} if isinstance(chosen, str) else {number: place for place, one in enumerate(chosen) for number in one}
        count = max([len(texts), *(number + 1 for number in lists)])
        names = [f"list {lists[number]}" if number in lists else f"template {number}" for number in range(count)]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return [places[name] for name in names]


def neutral(text: str) -> str:
    """Returns a text in lower case in which words that differ in gender alone are the same."""
    return WORD.sub(lambda word: NEUTRAL.get(word[0], word[0]), text.lower())


def frames_of_templates(templates: IntArray, frames: Sequence[int]) -> IntArray:
    """Returns the frame of each template, those that are there numbered from 0 by their first templates.

    Args:
        templates: shape (rows,), template numbers.
        frames: from `frames_of`; templates beyond it are frames of their own.
    """
    present, place = np.unique(templates, return_inverse=True)
    own = [frames[number] if number < len(frames) else -1 - number for number in present.tolist()]
    numbers = {frame: number for number, frame in enumerate(dict.fromkeys(own))}
    return np.array([numbers[frame] for frame in own], dtype=np.int64)[place]
