"""The look of all figures, dots that stay small in files, and saving figures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from matplotlib.path import Path as StrokePath
from mizani.bounds import squish
from plotnine import (
    element_blank,
    element_line,
    element_rect,
    element_text,
    geom_blank,
    geom_point,
    ggplot,
    guide_colorbar,
    guide_legend,
    guides,
    labs,
    scale_fill_gradient,
    scale_x_discrete,
    scale_y_discrete,
    theme,
    theme_minimal,
)
from plotnine.exceptions import PlotnineWarning

from biasgrid.base.files import whole_file

# Jobs may inherit a display that is gone; nothing here is shown on a screen anyway.
mpl.use("agg")

PNG_RESOLUTION = 150
FILE_OPTIONS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
    "png": {"dpi": PNG_RESOLUTION, "metadata": {"Software": None}},
}
"""Options of `savefig` for each kind of file, by its ending."""

GAMMA = "\N{GREEK SMALL LETTER GAMMA}"
"""Spelled out, because in code it looks like a Latin y."""

# Okabe and Ito (2008), "Color Universal Design", without its yellow, which is too pale on white.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
SHAPES = ("o", "^", "s", "D", "v", "P", "X")
LineType = str | tuple[int, tuple[int, ...]]
LINETYPES: tuple[LineType, ...] = ("solid", "dashed", "dashdot", (0, (1, 1)), (0, (8, 4)))
"""Their number and the number of colours are coprime, so that all combinations occur."""
INK = "#222222"
FAINT = "#8A8A8A"

# Blue and red are distinguishable with every common colour blindness, green and red are not.
LEAST, NEUTRAL, MOST = "#2E6DA8", "#F7F7F7", "#C0402F"
NOT_ASKED = "#D9D9D9"
PALE, STRONG = "#F3F6FA", "#0B4F85"

CELL_SIDE = 0.155
"""Side of a heat map's cell in inches: the smallest in which a label of 7 points fits."""

SATURATED = 0.98
"""Share of cells with a colour of their own; stronger ones have the colour of the strongest."""

CHARACTER = 0.075
"""Width of a character of a name in inches, with room to spare."""

FROM_ZERO = (0, 0.001)
"""Minimum range of axes of non-negative numbers, so that numbers that are all 0 are at the left."""

SUBTITLE_CHARACTER = 0.076
"""Width of a character of the subtitle in inches, with room to spare."""

SUBTITLE_LINE = 0.16
"""Height of a line of the subtitle in inches."""

LEGEND_COLUMNS = 5
"""Maximum number of columns in a legend, even if its names are short."""

LEGEND_LINE = 0.21
"""Height of a line of a legend in inches."""

LEGEND_COLOURS = 15
"""Steps of the colour bar."""

DOT_DIAMETER = np.sqrt(np.pi)
"""Diameter of a point of size 1, as plotnine draws it."""
DOT_LENGTH = 1e-4
"""Length of a stroke, as a share of the axis: one without a length would not be drawn in a PNG."""


def palette(size: int) -> list[str]:
    """Returns colours for unordered things: Okabe-Ito or, for many, steps of viridis."""
    if size <= len(OKABE_ITO):
        return list(OKABE_ITO[:size])
    steps = [index / (size - 1) for index in range(size)]
    return [mpl.colors.to_hex(mpl.colormaps["viridis"](step)) for step in steps]


def shapes(size: int) -> list[str]:
    """Returns point shapes for so many things, repeated if there are more things than shapes."""
    return [SHAPES[index % len(SHAPES)] for index in range(size)]


def line_looks(line_count: int) -> list[tuple[str, LineType]]:
    """Returns a colour and a line type for each line; the first 35 are all different.

    Lines are thin, so more shades of colours would be hard to distinguish.
    """
    looks = []
    for position in range(line_count):
        colour = OKABE_ITO[position % len(OKABE_ITO)]
        looks.append((colour, LINETYPES[position % len(LINETYPES)]))
    return looks


def colour_limit(values: pl.Series) -> float:
    """Returns the size with the strongest colour, so that extreme cells do not make others pale."""
    return values.abs().quantile(SATURATED) or 1.0


def legend_columns(entries: Sequence[str], width: float) -> int:
    """Returns the number of columns of a legend that fit below a figure.

    Args:
        entries: the texts of the legend; at least one.
        width: the width of the figure in inches.
    """
    title, key, character = 0.7, 0.45, 0.055
    widest_entry = key + character * max(map(len, entries))
    columns_that_fit = int((width - title) / widest_entry)
    return max(1, min(columns_that_fit, LEGEND_COLUMNS, len(entries)))


def legend_below(entries: Sequence[str], width: float, *aesthetics: str) -> guides:
    """Returns a legend of these aesthetics in as many columns as fit; see `legend_columns`."""
    columns = legend_columns(entries, width)
    return guides(**{aesthetic: guide_legend(ncol=columns) for aesthetic in aesthetics})


def legend_height(entries: Sequence[str], width: float) -> float:
    """Returns the inches by which a legend is higher than one line; see `legend_columns`."""
    lines = ceil(len(entries) / legend_columns(entries, width))
    return LEGEND_LINE * (lines - 1)


def distance_scale(limit: float) -> scale_fill_gradient:
    """Returns a scale of colours from 0, which do not change beyond `limit`."""
    return scale_fill_gradient(
        PALE,
        STRONG,
        limits=(0, limit),
        breaks=[0, limit],
        labels=["0", f"{limit:.2g} or more"],
        oob=squish,
        na_value=NOT_ASKED,
    )


class geom_dots(geom_point):  # type: ignore[misc]  # noqa: N801 (as plotnine names its geoms)
    """Disks, drawn as one path of short strokes with round ends for all dots of the same look.

    Of `geom_point`, an SVG has a path for each point. Only the aesthetics colour, alpha and size
    count; a dot is as wide as a stroke of its size.
    """

    @staticmethod
    def draw_group(
        data: Any, panel_params: Any, coord: Any, ax: Any, params: dict[str, Any]
    ) -> None:
        """Draws the dots of a panel."""
        places = coord.transform(data, panel_params)
        low, high = panel_params.x.range
        by_look = places.groupby(["color", "alpha", "size"], sort=False, observed=True)
        for (color, alpha, size), dots in by_look:
            centres = dots[["x", "y"]].to_numpy(dtype=float)
            # Each stroke begins at the centre of its dot and ends beside it.
            ends = np.repeat(centres, 2, axis=0)
            ends[1::2, 0] += DOT_LENGTH * (high - low)
            commands = np.tile([StrokePath.MOVETO, StrokePath.LINETO], len(dots))
            strokes = StrokePath(ends, commands)
            strokes.should_simplify = False
            patch = PathPatch(
                strokes,
                zorder=params["zorder"],
                fill=False,
                edgecolor=to_rgba(color, alpha),
                linewidth=size * DOT_DIAMETER,
                capstyle="round",
                snap=False,
            )
            ax.add_artist(patch)


def biasgrid_theme(width: float, height: float) -> theme:
    """Returns the look of all figures.

    Args:
        width: the width of the figure in inches.
        height: its height in inches.
    """
    return theme_minimal(base_size=9) + theme(
        figure_size=(width, height),
        dpi=PNG_RESOLUTION,
        text=element_text(color=INK),
        plot_title=element_text(size=12, weight="bold", ha="left"),
        plot_title_position="plot",
        plot_subtitle=element_text(size=9, color="#555555", ha="left"),
        strip_text=element_text(size=10, weight="bold"),
        strip_text_y=element_text(angle=0, ha="left"),
        legend_position="bottom",
        legend_title=element_text(size=9),
        panel_grid_minor=element_blank(),
        panel_grid_major=element_line(color="#E4E4E4", size=0.5),
        plot_background=element_rect(fill="white", color="white"),
        panel_spacing=0.02,
    )


def heat_map_parts(
    x_labels: Sequence[str], y_labels: Sequence[str], legend_title: str
) -> list[scale_x_discrete | scale_y_discrete | guides | labs | theme]:
    """Returns the parts of a heat map except its colour scale.

    Args:
        x_labels: the columns, from left to right.
        y_labels: the rows, from bottom to top.
        legend_title: the title of the colour bar.
    """
    look = theme(
        axis_text=element_text(size=7),
        axis_text_x=element_text(size=7, angle=90, ha="center", va="top"),
        panel_grid=element_blank(),
        legend_position="top",
        legend_key_width=180,
    )
    # A bar of images or of a gradient would be misplaced or huge in SVG.
    colour_bar = guide_colorbar(display="rectangles", nbin=LEGEND_COLOURS)
    return [
        scale_x_discrete(limits=x_labels, expand=(0, 0)),
        scale_y_discrete(limits=y_labels, expand=(0, 0)),
        guides(fill=colour_bar),
        labs(fill=legend_title),
        look,
    ]


def empty_figure(title: str, reason: str) -> ggplot:
    """Returns a figure whose text explains why there is nothing to draw."""
    return ggplot() + geom_blank() + labs(title=title, subtitle=reason) + biasgrid_theme(7.5, 1)


def scaled(figure: ggplot, scale: float) -> ggplot:
    """Multiplies width and height of a figure, if its theme gives them, but not its text."""
    size = figure.theme.getp("figure_size", None)
    if size is None or scale == 1:
        return figure
    width, height = size
    return figure + theme(figure_size=(scale * width, scale * height))


def with_whole_subtitle(figure: ggplot) -> ggplot:
    """Breaks a subtitle that is wider than its figure into lines, which make the figure higher."""
    size = figure.theme.getp("figure_size", None)
    if size is None:
        return figure
    width, height = size
    lines = (figure.labels.subtitle or "").split("\n")
    short_lines: list[str] = []
    for line in lines:
        short_lines += wrap(line, int(width / SUBTITLE_CHARACTER))
    if len(short_lines) <= len(lines):
        return figure
    added_height = SUBTITLE_LINE * (len(short_lines) - len(lines))
    figure_size = (width, height + added_height)
    return figure + labs(subtitle="\n".join(short_lines)) + theme(figure_size=figure_size)


def save_figure(figure: ggplot, path: Path, font: str | None = None, scale: float = 1) -> None:
    """Saves a figure as SVG, as PDF and as PNG (150 dots per inch).

    The same figure gives the same bytes each time: ids are salted alike and no date is written.
    Text stays text.

    Args:
        figure: the figure.
        path: the file without its ending.
        font: the family of its text; None for the font that comes with matplotlib.
        scale: the factor of its width and height; the size of its text stays.
    """
    figure = with_whole_subtitle(scaled(figure, scale))
    fonts = mpl.rcParams["font.sans-serif"]
    settings: dict[Any, Any] = {
        "svg.hashsalt": "biasgrid",
        "svg.fonttype": "none",
        # Journals refuse fonts of type 3.
        "pdf.fonttype": 42,
        # A dollar in a name begins no formula.
        "text.parse_math": False,
        "font.sans-serif": [font, *fonts] if font else fonts,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Subjects that a model was not asked about have no value, of which plotnine would warn each
        # time.
        warnings.simplefilter("ignore", PlotnineWarning)
        drawn = figure.draw()
        for ending, options in FILE_OPTIONS.items():
            with whole_file(path.with_suffix(f".{ending}")) as partial:
                drawn.savefig(partial, format=ending, **options)
        plt.close(drawn)
