"""How sure the numbers of a grid will be, by how much of each dataset is asked: told without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import isnan

from biasgrid.config import Config, frames_of_variant
from biasgrid.families.family import Lists
from biasgrid.runs.estimates import Figure, total
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import CellPlan, Plan
from biasgrid.runs.precision.noise import found_in, noise_of
from biasgrid.stats.planning import Noise, frames_for_width, precision_at, share_for
from biasgrid.tables.metric import Declared

SHARES = (1.0, 0.3, 0.1, 0.03, 0.01)
ASSUMED = 0.1
"""Standard deviation between frames where no cell is finished: about that of a model whose strongest associations are
0.2 and as much the frame's as the subject's."""


@dataclass(frozen=True)
class Step:
    """What a share of a dataset's variant costs and tells.

    Attributes:
        share: which share of what the config asks.
        instances: how many instances a cell has.
        width: from the lower to the upper end of an interval over templates; unknown where there is none.
        minimal_effect: the size of a number that is found in 80 % of cells; unknown where none is.
        seconds: how long all cells take together at the given rate.
    """

    share: float
    instances: Figure
    width: Figure
    minimal_effect: Figure
    seconds: Figure


@dataclass(frozen=True)
class Outlook:
    """How sure one number of a dataset's variant will be.

    Attributes:
        dataset, variant: what is asked.
        number: which number: an association, or the name of a measure.
        frames: how many frames the variant has.
        cells: how many finished cells this is from; of none, from what is assumed.
        steps: what shares of it cost and tell.
        wanted: the share that has intervals of the wanted width; None where none has, or no width is wanted.
        frames_wanted: how many frames had such intervals, where no share has; None where a thousand had not.
    """

    dataset: str
    variant: str
    number: str
    frames: int
    cells: int
    steps: list[Step]
    wanted: float | None
    frames_wanted: int | None


def outlooks(
    config: Config, lists: Mapping[tuple[str, str], Lists], planned: Plan, width: float | None
) -> list[Outlook]:
    """Tells of each variant of a dataset that models answer how sure its numbers will be.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        planned: what its cells cost.
        width: how wide intervals may be, None where that is not asked.
    """
    variants = sorted(planned.cells, key=asked_of)
    return [
        outlook(config, lists, dataset, variant, list(cells), width)
        for (dataset, variant), cells in groupby(variants, key=asked_of)
    ]


def asked_of(cell: CellPlan) -> tuple[str, str]:
    """Returns the dataset and the variant that a cell asks."""
    return cell.dataset, cell.variant


def outlook(
    config: Config,
    lists: Mapping[tuple[str, str], Lists],
    dataset: str,
    variant: str,
    cells: list[CellPlan],
    width: float | None,
) -> Outlook:
    """Tells how sure the numbers of one variant will be; of several finished cells those of the noisiest."""
    layout, alpha = Layout(config), 1 - config.statistics.level
    headlines = Declared.of(config.measures_of(dataset)).headlines
    found = [each for cell in cells for each in found_in(layout, cell, headlines)]
    frames = frames_asked(config, lists, dataset, variant)
    assumed = noise_of(ASSUMED**2 / frames, frames, cells[0].instances.value or 1), "a mean over templates"
    noise, number = max(found, key=lambda each: precision_at(each[0], 1, alpha).width) if found else assumed
    wanted = share_for(noise, width, alpha) if width is not None else None
    missed = width is not None and wanted is None
    return Outlook(
        dataset,
        variant,
        number,
        noise.frames,
        len(found),
        [step(noise, share, alpha, cells, known=bool(found)) for share in SHARES],
        wanted,
        frames_for_width(noise, width, alpha) if missed and width is not None else None,
    )


def frames_asked(config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str) -> int:
    """Returns how many frames a variant asks; 1 where its family tells no templates."""
    asked = config.family(dataset).templates_asked(lists[dataset, variant]) if (dataset, variant) in lists else None
    return max(1, len(set(frames_of_variant(config, lists, dataset, variant)[:asked])))


def step(noise: Noise, share: float, alpha: float, cells: list[CellPlan], known: bool) -> Step:
    """Tells what a share costs and tells; without a finished cell widths are about right at best."""
    found = precision_at(noise, share, alpha)
    width, effect = (Figure(None if isnan(each) else each, "sampled" if known else "about") for each in found)
    instances = cells[0].instances.times(share, "about" if share < 1 else "exact")
    return Step(share, instances, width, effect, total(cell.seconds for cell in cells).times(share))
