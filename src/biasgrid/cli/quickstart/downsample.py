"""Datasets downsampled to a quick trial: fewer subjects and attributes first, then a sample.

The questions of a trial depend only on the size of its model, so that the same command asks the
same on any machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.config import Config, load_word_lists, parse_config
from biasgrid.config.sections import Inference
from biasgrid.jobs.gpu import threads_of_job
from biasgrid.runs.plan import CellPlan, MachineRate, make_plan
from biasgrid.tables.claims.facts import COVERAGE, GridFacts

if TYPE_CHECKING:
    from biasgrid.cli.quickstart.model import DescribedModel
    from biasgrid.families.family import Lists

ROWS_BY_PARAMETERS = ((3e7, 40_000), (1.5e8, 8_000), (5e8, 3_000), (inf, 1_000))
"""The number of rows in a trial of models with up to so many parameters, without embeddings.

Two processors answer them in about `ANSWER_SECONDS`, or longer for the largest models, which few
people run on processors.
"""
SERVER_REQUESTS = 600
"""The number of requests in a trial of a server."""
ANSWER_SECONDS = 75
SECONDS_AROUND = 45
"""Approximate time of a trial without the model's answers: expansion, measures and report."""
SIZES = (32, 24, 16, 12, 10, 8, 6, 4)
"""Numbers of subjects of each list, and of attributes of each type, from which a trial chooses.

All templates stay, since intervals are over template clusters.
"""
CONTROL_SHARE = 0.25
"""The number of rows of a control, as a share of the rows of a dataset."""
CONTROL_ATTRIBUTES = 8
"""Minimum number of attributes of each type in a control.

The size of a control with fewer is too uncertain to be a null.
"""


class TrialSize(NamedTuple):
    """The number of rows in a trial.

    Attributes:
        whole: the number of rows, or requests to a server, that the size of its model allows.
        minutes: the time that it may take, None if it is not limited.
    """

    whole: int
    minutes: float | None

    @property
    def rows(self) -> int:
        """The approximate number of rows or requests."""
        if self.minutes is None:
            return self.whole
        share = max(60 * self.minutes - SECONDS_AROUND, 5) / ANSWER_SECONDS
        return round(min(share, 1) * self.whole)

    @property
    def note(self) -> str:
        """The effect of `--minutes`, in words; empty without it."""
        if self.minutes is None:
            return ""
        if self.rows < self.whole:
            return (
                f"--minutes {self.minutes:g} lowers the number of rows from about {self.whole:,} "
                f"to {self.rows:,}."
            )
        return (
            f"--minutes {self.minutes:g} changes nothing: the size of the model already limits the "
            f"trial to about {self.rows:,} rows."
        )


def trial_size(models: Sequence[DescribedModel], minutes: float | None) -> TrialSize:
    """Returns the size of a trial that is right for the largest of its models.

    Args:
        models: the models; a model of unknown size counts as a large one.
        minutes: the time that the trial may take, None if it is not limited.
    """
    return TrialSize(min(rows_for(model) for model in models), minutes)


def rows_for(model: DescribedModel) -> int:
    """Returns the number of rows in a trial of a model, or of requests to its server."""
    from biasgrid.inference.checkpoints.cost import parameters

    if not model.folder:
        return SERVER_REQUESTS
    count = parameters(model.folder)
    size = inf if count is None else count
    return next(rows for most, rows in ROWS_BY_PARAMETERS if size <= most)


def downsample_config(content: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Downsamples the datasets of a config.

    Args:
        content: the config, with whole datasets.
        rows: the number of rows, or requests to a server, that each of its models shall answer, all
            datasets together.

    Returns:
        The config of a trial, with `limit` and `sample` for datasets that have more than their
        share of the rows.
    """
    weights = {}
    for name, section in content["datasets"].items():
        weights[name] = CONTROL_SHARE if "control_of" in section else 1.0
    # One job at a time asks a server. Each other one takes its threads of the processors, and a
    # second to begin.
    device = Inference(**content.get("inference", {})).device
    jobs = max(1, (os.cpu_count() or 1) // threads_of_job(device))
    datasets = {}
    for name, section in content["datasets"].items():
        share = rows * weights[name] / sum(weights.values())
        limited, cells = limit_dataset(content, name, section, share)
        cell_rows = largest_cell_rows(cells)
        limited["sample"] = "all"
        if cell_rows > share:
            limited["sample"] = {"share": max(round(share / cell_rows, 4), 0.0001), "seed": 1}
        limited["shards"] = 1 if any(cell.requests.value for cell in cells) else jobs
        datasets[name] = limited
    return {**content, "trial": True, "datasets": datasets}


def limit_dataset(
    content: Mapping[str, Any], name: str, section: Mapping[str, Any], share: float
) -> tuple[dict[str, Any], Sequence[CellPlan]]:
    """Limits the subjects and attributes of a dataset until a sample of half its rows is enough.

    Args:
        content: the config, with whole datasets.
        name: the name of the dataset.
        section: its section.
        share: the number of rows that it may have.

    Returns:
        A copy of the section, with `limit` if the dataset is too large, and the plan of its cells
        without a sample. A dataset without lists of subjects cannot be limited.
    """
    limited: dict[str, Any] = deepcopy(dict(section))
    cells = plan_dataset(content, name, limited)
    if "subjects" not in section:
        return limited, cells
    fewest = CONTROL_ATTRIBUTES if "control_of" in section else 0
    for size in SIZES:
        # A sample of half leaves each subject and attribute with enough rows; a smaller one would
        # thin them out.
        if largest_cell_rows(cells) <= 2 * share:
            break
        limited["limit"] = {"subjects": size, "attributes": max(size, fewest)}
        cells = plan_dataset(content, name, limited)
    return limited, cells


def largest_cell_rows(cells: Sequence[CellPlan]) -> float:
    """Returns the number of rows, or requests to a server, in the largest of some cells.

    An unknown number counts as 0.
    """
    return max(cell.requests.value or cell.instances.value or 0 for cell in cells)


def plan_dataset(
    content: Mapping[str, Any], name: str, section: Mapping[str, Any]
) -> Sequence[CellPlan]:
    """Plans the cells of one dataset, without a sample."""
    # Generative models need an explicit sample of all. The dataset that a control belongs to is
    # not in this plan.
    whole = {**section, "sample": "all", "control_of": None}
    run = {**content["run"], "datasets": [name]}
    config = parse_config({**content, "datasets": {name: whole}, "run": run}, "try")
    return make_plan(config, load_word_lists(config), MachineRate()).cells


def trial_text(config: Config, lists: Mapping[tuple[str, str], Lists]) -> str:
    """Returns the part of datasets that a trial will ask, in words; see `GridFacts.trial_text`.

    Args:
        config: the trial's config.
        lists: its word lists, by dataset and variant.
    """
    from biasgrid.base.references import load, stage_module
    from biasgrid.runs.counts import token_counter
    from biasgrid.runs.layout import Layout

    datasets = [name for name in config.run.datasets if config.datasets[name].control_of is None]
    facts = {}
    for model, dataset in config.cells():
        if dataset not in datasets:
            continue
        variant = config.question(model, dataset).variant
        tokenizer = config.needed_variants[dataset, variant].tokenizer
        counter = token_counter(Layout(config), tokenizer) if tokenizer else None
        filters = {"token_counts": counter} if counter else {}
        expand = load(stage_module(config.family_reference(dataset), "expand")).expand
        expansion = expand(lists[dataset, variant], **filters)
        facts[f"{dataset}/{model}"] = {COVERAGE: expansion.facts[COVERAGE]}
    return GridFacts(cells=facts, trial=datasets).trial_text()
