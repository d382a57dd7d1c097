"""Who wins which attribute: the subjects that a model chooses most often, with intervals."""

from __future__ import annotations

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
"""Of more attributes or subjects than this, their groups are drawn, where they have some."""
WINNERS = 3
LONGEST_WINNER = 46
WINNER_PANELS = 3
WINNER_ROW = 0.19
"""Height of a winner in inches."""
WINNER_SEPARATOR = "\N{INFORMATION SEPARATOR ONE}"


def win_ratios(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns who wins what how often, by group where there are too many subjects or attributes.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `subject` and `attribute` (or groups of them), `value`, `low`, `high`, `clusters`
        and `found`, whether the association of the two is significant.
    """
    single = select_rows(measures, "win_ratio", ["subject", "attribute"])
    many = {key: single[key].n_unique() > READABLE for key in ("subject", "attribute")}
    wanted = [
        [f"subject{'_group' * by_subject}", f"attribute{'_group' * by_attribute}"]
        for by_subject in ((True, False) if many["subject"] else (False,))
        for by_attribute in ((True, False) if many["attribute"] else (False,))
    ]
    tables = ((keys, select_rows(measures, "win_ratio", keys, intervals=True)) for keys in wanted)
    keys, rows = next((keys, rows) for keys, rows in tables if rows.height or keys == wanted[-1])
    found = is_significant().fill_null(value=False)
    tests = select_rows(measures, "gamma", keys, intervals=True).select("model", *keys, found=found)
    return (
        rows.drop_nulls("value")
        .join(tests, on=["model", *keys], how="left", maintain_order="left")
        .select(
            "model",
            "value",
            "low",
            "high",
            "clusters",
            subject=keys[0],
            attribute=keys[1],
            found=pl.col("found").fill_null(value=False),
        )
    )


def winners(ratios: pl.DataFrame, most: int) -> pl.DataFrame:
    """Keeps of each model the three subjects that win each attribute most often, and the attributes
    won most clearly.

    Args:
        ratios: what `win_ratios` returns.
        most: how many attributes of a model to keep.

    Returns:
        The same rows; of each model the attribute with the highest ratio first, in each the winner
        first.
    """
    part = ["model", "attribute"]
    ranked = ratios.sort(-pl.col("value"), "subject", "attribute", maintain_order=True)
    best = ranked.group_by(part, maintain_order=True).head(WINNERS)
    clearest = best.group_by(part, maintain_order=True).agg(clearest=pl.col("value").max())
    kept = clearest.group_by("model", maintain_order=True).head(most)
    chosen = best.join(kept, on=part, maintain_order="left")
    return chosen.sort(
        "clearest", "attribute", "value", descending=[True, False, True], maintain_order=True
    ).select(ratios.columns)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the three highest win ratios of each attribute: a panel per model, a row per subject
    and attribute.

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
    # A pair may stand in several panels, each of which has an order of its own.
    place = pl.format("{}{}{}: {}", "model", pl.lit(WINNER_SEPARATOR), "attribute", "subject")
    rows = rows.with_columns(place=place, model=pl.col("model").replace_strict(names))
    places = rows["place"].to_list()[::-1]
    rows = order_by_value(rows, model=panels, place=places)
    short = {
        name: shorten_text(name.partition(WINNER_SEPARATOR)[2], LONGEST_WINNER) for name in places
    }
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
