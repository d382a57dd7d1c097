"""How numbers turn with the prompt format, a measure of cells that are asked in several formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.clusters import parse_units
from biasgrid.stats.estimate import estimate
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Along, Sums

NOTHING_FOUND = "nothing is significant"


def prompt_sign(parts: Iterable[Sums], settings: StatisticsSettings) -> pl.DataFrame:
    """Numbers significant with both signs, in several formats / numbers significant in any.

    Within a format numbers are tested over clusters, and q is of those of a kind.

    Args:
        parts: the numbers of a cell that are tested.
        settings: clusters and level.

    Returns:
        A row of measures; none where there are not several formats.
    """
    has_several_formats = False
    significant = contrary = 0
    for part in parts:
        _, formats = parse_units(part.along[TEMPLATES].units)
        if not any(formats):
            continue
        has_several_formats = True
        signs = signs_in_formats(part, settings)
        is_above, is_below = (signs > 0).any(axis=0), (signs < 0).any(axis=0)
        significant += int((is_above | is_below).sum())
        contrary += int((is_above & is_below).sum())
    if not has_several_formats:
        return pl.DataFrame()
    row = {
        "measure": prompt_sign.__name__,
        "options": "",
        "n": significant,
        "left_out": 0,
        "flag": f"{contrary} of {significant}",
    }
    if significant:
        row["value"] = contrary / significant
    else:
        row |= {"value": None, "reason": NOTHING_FOUND}
    table = pl.DataFrame([row], schema_overrides={"value": pl.Float64})
    return table.with_columns(is_claim=pl.lit(value=True))


def signs_in_formats(part: Sums, settings: StatisticsSettings) -> FloatArray:
    """Returns the sign of each number in each prompt format where it is significant, else 0.

    Args:
        part: numbers along templates, each in its format.
        settings: clusters and level.

    Returns:
        Shape (formats, numbers).
    """
    units, sums = part.along[TEMPLATES]
    templates, formats = parse_units(units)
    is_found = is_significant().fill_null(value=False)
    signs = []
    for name in dict.fromkeys(formats):
        own = np.flatnonzero(np.array(formats) == name)
        names = [str(template) for template in templates[own].tolist()]
        alone = replace(part, along={TEMPLATES: Along(names, sums[:, own])})
        rows = estimate([alone], settings)
        difference = rows["value"].fill_null(np.nan).to_numpy() - part.fair
        signs.append(np.where(rows.select(is_found).to_series(), np.sign(difference), 0))
    return np.array(signs, dtype=np.float64)
