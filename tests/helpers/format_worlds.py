"""Worlds of associations that are asked in several templates and prompt formats."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.stats.sums import MEAN, TEMPLATES, Along, SignificanceTest, Sums

SUBJECTS, ATTRIBUTES, TEMPLATES_ASKED, FORMATS_ASKED = 6, 5, 7, 3
SHAPE = (SUBJECTS, ATTRIBUTES, TEMPLATES_ASKED, FORMATS_ASKED)
SPREAD = {"template": 0.4, "format": 0.4, "rest": 0.3}
"""Standard deviations of what an association has in a template, in a format, and in one of both
alone.
"""


def world(
    random: np.random.Generator,
    truth: npt.NDArray[np.float64],
    gain: float = 0.0,
    of_format: float = SPREAD["format"],
) -> Sums:
    """Associations whose formats, and templates, have random effects; a format may multiply all of
    them.
    """
    values = truth[:, :, None, None] * (1 + gain * random.normal(size=FORMATS_ASKED))
    values = values + SPREAD["template"] * random.normal(size=(*SHAPE[:3], 1))
    values = values + of_format * random.normal(size=(*SHAPE[:2], 1, FORMATS_ASKED))
    values = values + SPREAD["rest"] * random.normal(size=SHAPE)
    flat = values.reshape(SUBJECTS * ATTRIBUTES, -1)
    keys = pl.DataFrame(
        list(product(map(str, range(SUBJECTS)), map(str, range(ATTRIBUTES)))), orient="row"
    )
    keys = keys.rename(dict(zip(keys.columns, ("subject", "attribute"), strict=True)))
    keys = keys.with_columns(n=pl.lit(21, pl.Int64), left_out=pl.lit(0, pl.Int64))
    units = [
        f"{template}/{place}"
        for template, place in product(range(TEMPLATES_ASKED), range(FORMATS_ASKED))
    ]
    along = {TEMPLATES: Along(units, np.stack([flat, np.ones_like(flat)], axis=-1))}
    return Sums(
        keys, along, finish=MEAN, interval="moderated t", test=SignificanceTest.CORRECTED
    ).named("gamma")
