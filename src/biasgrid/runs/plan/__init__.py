"""What a grid will cost, cell by cell, and what of it is done: told without running or loading anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from biasgrid.config import Config
from biasgrid.families.family import Lists
from biasgrid.inference.engine.findings import found_on_processors, words_of
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan.numbers import CellPlan, Costs, Rate, Totals, totals_of
from biasgrid.runs.plan.planner import Planner

__all__ = ["CellPlan", "Costs", "Plan", "Rate", "Totals", "make_plan", "totals_of"]


@dataclass(frozen=True)
class Plan:
    """What a grid costs.

    Attributes:
        cells: its cells, dataset by dataset.
        follow_ups: what models are asked of the texts of cells, dataset by dataset.
        totals: the sums of both.
        faster: by model what `precision: auto` would do, where a job has found that it is at least twice as fast.
    """

    cells: list[CellPlan]
    follow_ups: list[CellPlan]
    totals: Totals
    faster: dict[str, str]


def make_plan(config: Config, lists: Mapping[tuple[str, str], Lists], rate: Rate) -> Plan:
    """Plans a grid.

    Args:
        config: the config.
        lists: the word lists of all selected datasets and variants.
        rate: how fast the machine is; times are unknown where it does not say.
    """
    planner = Planner(config, lists, rate)
    cells = [planner.cell(dataset, model) for model, dataset in config.cells()]
    follow_ups = [planner.follow_up(*follow_up) for follow_up in planner.layout.follow_ups()]
    return Plan(cells, follow_ups, totals_of(cells, follow_ups), faster_models(config))


def faster_models(config: Config) -> dict[str, str]:
    """Returns what `precision: auto` would do of the models that are at least twice as fast with it."""
    if config.inference.precision != "float32":
        return {}
    layout = Layout(config)
    found = [
        (each["auto_is_faster"], model, words_of(each))
        for model, dataset in config.cells()
        for each in found_on_processors(layout.answers(dataset, model))
        if "drift" in each
    ]
    # Of several cells the one with the largest gain stands for the model.
    return {model: words for _, model, words in sorted(found)}
