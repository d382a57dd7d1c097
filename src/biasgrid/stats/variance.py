"""Where the variance of comparisons is: between subjects, their associations, and what frames make of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import FloatArray

WANTED = 0.8
"""The reliability for which frames are counted."""


class Components(NamedTuple):
    """Variances in C of subjects, associations, and the two with frames; uncut, so that some may be negative."""

    subject: float
    association: float
    subject_and_frame: float
    association_and_frame: float


class Indices(NamedTuple):
    """What variances say of the frames; see `docs/statistics.md`."""

    template_share: float
    reliability: float
    frames_needed: float


def components_of(utilities: FloatArray) -> Components | None:
    """Divides the variance of utilities.

    Args:
        utilities: shape (subjects, attributes, frames), none missing; see `relabelling.utilities`.

    Returns:
        None for fewer than 3 subjects, 2 attributes or 2 frames.
    """
    subjects, attributes, frames = utilities.shape
    if subjects < 3 or attributes < 2 or frames < 2:
        return None
    centred = utilities - utilities.mean(axis=0, keepdims=True)
    free = subjects - 1
    by_attribute, by_frame = centred.mean(axis=2, keepdims=True), centred.mean(axis=1, keepdims=True)
    by_subject = centred.mean(axis=(1, 2), keepdims=True)
    rest = ((centred - by_attribute - by_frame + by_subject) ** 2).sum() / (free * (attributes - 1) * (frames - 1))
    of_attributes = frames * ((by_attribute - by_subject) ** 2).sum() / (free * (attributes - 1))
    of_frames = attributes * ((by_frame - by_subject) ** 2).sum() / (free * (frames - 1))
    of_subjects = attributes * frames * (by_subject**2).sum() / free
    doubled = (
        (of_subjects - of_attributes - of_frames + rest) / (attributes * frames),
        (of_attributes - rest) / frames,
        (of_frames - rest) / attributes,
        rest,
    )
    # C is half a difference of utilities, so its variance is half of theirs.
    return Components(*(float(each) / 2 for each in doubled))


def indices_of(components: Components, frames: int) -> Indices:
    """Returns template share, reliability, and how many frames a reliability of 0.8 needs."""
    subject, association, *with_frames = (max(each, 0.0) for each in components)
    signal, noise = subject + association, sum(with_frames)
    if signal + noise == 0:
        return Indices(float("nan"), float("nan"), float("nan"))
    needed = np.ceil(WANTED / (1 - WANTED) * noise / signal - 1e-9) if signal > 0 else float("nan")
    return Indices(noise / (signal + noise), signal / (signal + noise / frames), float(max(needed, 1.0)))
