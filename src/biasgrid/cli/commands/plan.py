"""How wide intervals will be, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from biasgrid.cli.tables import estimate_text, fit_to_width, terminal_table, time_text
from biasgrid.runs.forecast import ASSUMED, Forecast

ASSUMPTION = (
    f"assumed without a finished cell: clusters differ by {ASSUMED} (standard deviation), in samples as noise of "
    "single instances"
)
FIRST_TO_GO = ("time", "instances", "found")


def forecast_table(outlooks: Sequence[Forecast], width: float | None, with_times: bool, columns: int) -> RenderableType:
    """Draws how sure numbers will be: a line per share under each variant of a dataset.

    Args:
        outlooks: of all variants.
        width: how wide intervals may be, None where that was not asked.
        with_times: whether a rate was given, so that times are known.
        columns: how many characters a line may have.
    """
    times = ["time"] if with_times else []
    table = terminal_table(["asked"], ["instances", *times, "width", "found"], columns)
    for outlook in outlooks:
        table.add_row(f"{outlook.dataset} ({outlook.variant})", "", *[""] * len(times), "", "", style="bold")
        for step in outlook.steps:
            spent = [estimate_text(step.seconds, time_text)] if with_times else []
            told = (
                estimate_text(step.instances),
                *spent,
                estimate_text(step.width, size_text),
                estimate_text(step.minimal_effect, size_text),
            )
            table.add_row(f"  {step.share:.0%}", *told)
    lines = [
        "",
        "asked: share of what the config asks; width: of an interval over templates, from end to end; found: the "
        "size found in 80 % of cells; -: fewer than 2 clusters",
        *(basis(outlook) for outlook in outlooks),
        *([ASSUMPTION] if any(not outlook.cells for outlook in outlooks) else []),
        *(width_answer(outlook, width) for outlook in outlooks if width is not None),
    ]
    return Group(fit_to_width(table, FIRST_TO_GO, columns), Text("\n".join(lines), style="dim"))


def size_text(value: float) -> str:
    """Words a size in two digits."""
    return f"{value:.2g}"


def basis(outlook: Forecast) -> str:
    """Words what the widths of a variant are told from."""
    name = f"{outlook.dataset} ({outlook.variant})"
    if outlook.cells:
        cells = f"the noisiest of {outlook.cells} finished cells" if outlook.cells > 1 else "a finished cell"
        return f"{name}: {outlook.number}, {template_clusters_text(outlook)}, from {cells}"
    return f"{name}: {outlook.number}, {template_clusters_text(outlook)}, assumed"


def template_clusters_text(outlook: Forecast) -> str:
    """Words how many clusters a variant has."""
    return f"{outlook.clusters} cluster{'s' if outlook.clusters != 1 else ''}"


def width_answer(outlook: Forecast, width: float | None) -> str:
    """Words how much must be asked for a width."""
    name = f"{outlook.dataset} ({outlook.variant})"
    if outlook.wanted is not None:
        return (
            f"{name}: a width of {width:g} needs {outlook.wanted:.2g} of it (sample: {{share: {outlook.wanted:.2g}}})"
        )
    needed = (
        f"{outlook.clusters_wanted} clusters like these would do"
        if outlook.clusters_wanted
        else "1000 clusters would not do either"
    )
    return f"{name}: no sample has a width of {width:g}, which has {template_clusters_text(outlook)}; {needed}"
