"""Many small dots that stay sharp and are few bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from plotnine import geom_point

DOT_DIAMETER = np.sqrt(np.pi)
"""Of a point of size 1, as plotnine draws it."""
DOT_LENGTH = 1e-4
"""Length of a stroke, as a share of the axis: one without a length would not be drawn in a PNG."""


class geom_dots(geom_point):  # type: ignore[misc]  # noqa: N801 (as plotnine names its geoms)
    """Disks, those of one look as one path of short strokes with round ends: of `geom_point` an SVG holds a path each.

    Of the aesthetics colour, alpha and size count; a dot is as wide as a stroke of its size.
    """

    @staticmethod
    def draw_group(data: Any, panel_params: Any, coord: Any, ax: Any, params: dict[str, Any]) -> None:
        """Draws the dots of a panel."""
        places, (low, high) = coord.transform(data, panel_params), panel_params.x.range
        for (color, alpha, size), dots in places.groupby(["color", "alpha", "size"], sort=False, observed=True):
            ends = np.repeat(dots[["x", "y"]].to_numpy(dtype=float), 2, axis=0)
            ends[1::2, 0] += DOT_LENGTH * (high - low)
            strokes = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(dots)))
            strokes.should_simplify = False
            width, ink = size * DOT_DIAMETER, to_rgba(color, alpha)
            look = {"fill": False, "edgecolor": ink, "linewidth": width, "capstyle": "round", "snap": False}
            ax.add_artist(PathPatch(strokes, zorder=params["zorder"], **look))
