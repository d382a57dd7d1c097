"""Win ratios: the subjects that a model chooses most often for each attribute, with intervals."""

from __future__ import annotations

from itertools import product

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_point,
    geom_vline,
    ggplot,
    labs,
    scale_fill_manual,
    scale_y_discrete,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_lines, interval_note
from biasgrid.report.figures.drawing.layout import (
    columns_of,
    most_rows,
    order_by_value,
    shorten_text,
)
from biasgrid.report.figures.drawing.theme import (
    CHARACTER,
    FAINT,
    OKABE_ITO,
    biasgrid_theme,
    empty_figure,
)
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows

CAPTION = (
    "For each attribute, the three subjects that win it most often: the share of comparisons that "
    "each wins, with its interval (0.5, the grey line, is no preference). A dot is filled if the "
    "association is significant (q at most 0.05). If there are many attributes or subjects, their "
    "groups are shown, and at most the 12 attributes with the clearest winners, so intervals tend "
    "to be too narrow. A win counts whatever its margin."
)
READABLE = 12
"""Number of attributes or subjects above which their groups are drawn, if they have groups."""
WINNERS = 3
LONGEST_WINNER = 46
WINNER_PANELS = 3
WINNER_ROW = 0.19
"""Height of a winner in inches."""
WINNER_SEPARATOR = "\N{INFORMATION SEPARATOR ONE}"


def win_ratios(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the win ratios of subjects, or of groups if there are too many to read.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `subject` and `attribute` (or groups of them), `value`, `low`, `high`, `clusters`
        and `found`, whether the association of the two is significant.
    """
    keys = readable_keys(measures)
    rows = select_rows(measures, "win_ratio", keys, intervals=True).drop_nulls("value")
    found = is_significant().fill_null(value=False)
    tests = select_rows(measures, "gamma", keys, intervals=True).select("model", *keys, found=found)
    joined = rows.join(tests, on=["model", *keys], how="left", maintain_order="left")
    subject, attribute = keys
    return joined.select(
        "model",
        "value",
        "low",
        "high",
        "clusters",
        subject=subject,
        attribute=attribute,
        found=pl.col("found").fill_null(value=False),
    )


def readable_keys(measures: pl.DataFrame) -> list[str]:
    """Returns the keys of the win ratios that are drawn: of subjects or groups, and attributes.

    Groups are preferred if there are too many to read, but not every combination is measured.

    Returns:
        The key of subjects and the key of attributes.
    """
    single = select_rows(measures, "win_ratio", ["subject", "attribute"])
    choices = {}
    for key in ("subject", "attribute"):
        is_readable = single[key].n_unique() <= READABLE
        choices[key] = [key] if is_readable else [f"{key}_group", key]
    for subject, attribute in product(choices["subject"], choices["attribute"]):
        if select_rows(measures, "win_ratio", [subject, attribute], intervals=True).height:
            return [subject, attribute]
    return ["subject", "attribute"]


def winners(ratios: pl.DataFrame, most: int) -> pl.DataFrame:
    """Picks the three subjects that win an attribute most often, for the clearest attributes.

    Args:
        ratios: from `win_ratios`.
        most: the maximum number of attributes of a model.

    Returns:
        Rows of `ratios`, for each model the attribute with the highest ratio first, and the winner
        of each attribute first.
    """
    part = ["model", "attribute"]
    ranked = ratios.sort(-pl.col("value"), "subject", "attribute", maintain_order=True)
    best = ranked.group_by(part, maintain_order=True).head(WINNERS)
    clearest = best.group_by(part, maintain_order=True).agg(clearest=pl.col("value").max())
    kept = clearest.group_by("model", maintain_order=True).head(most)
    chosen = best.join(kept, on=part, maintain_order="left")
    order, descending = ["clearest", "attribute", "value"], [True, False, True]
    ordered = chosen.sort(order, descending=descending, maintain_order=True)
    return ordered.select(ratios.columns)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the three highest win ratios of each attribute: a panel per model, a row per ratio.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    heading, ratios = f"Who wins which attribute: {context.title}", win_ratios(measures)
    if ratios.is_empty():
        return empty_figure(heading, "no two subjects were compared")
    names = context.names(ratios)
    panels = list(names.values())
    columns = columns_of(len(panels), WINNER_PANELS)
    lines = -(-len(panels) // columns)
    rows = winners(ratios, min(READABLE, most_rows(lines) // WINNERS))
    # A pair may be in several panels, each of which has an order of its own.
    place = pl.format("{}{}{}: {}", "model", pl.lit(WINNER_SEPARATOR), "attribute", "subject")
    rows = rows.with_columns(place=place, model=pl.col("model").replace_strict(names))
    places = rows["place"].to_list()[::-1]
    rows = order_by_value(rows, model=panels, place=places)
    short = {}
    for name in places:
        _, _, pair = name.partition(WINNER_SEPARATOR)
        short[name] = shorten_text(pair, LONGEST_WINNER)
    beside = CHARACTER * max(map(len, short.values()))
    count = max(rows.group_by("model").len()["len"].to_list())
    return (
        ggplot(rows, aes("value", "place"))
        + geom_vline(xintercept=0.5, color=FAINT, size=0.5)
        + interval_lines(rows, "place", color=OKABE_ITO[0], size=0.8)
        + geom_point(aes(fill="found"), size=1.8, color=OKABE_ITO[0], stroke=0.5, show_legend=False)
        + facet_wrap("model", ncol=columns, scales="free_y")
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(labels=lambda shown: [short[name] for name in shown])
        + labs(
            title=heading,
            subtitle=(
                "the three highest of each attribute; line: "
                f"{interval_note(rows, context.level)}; filled: significant"
            ),
            x="win ratio: share of comparisons that the subject wins (0.5 = no preference)",
            y="attribute: subject",
        )
        + biasgrid_theme(
            max(8, columns * (beside + 2.4)), 1.5 + lines * (0.5 + WINNER_ROW * max(count, 4))
        )
    )
