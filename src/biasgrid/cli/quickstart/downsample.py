"""Datasets cut down to a quick trial: fewer subjects and attributes first, then a sample.

What a trial asks is decided by the size of its model alone, so that the same command asks the same
on any machine.
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
"""How many rows a trial asks of models of up to so many parameters, but for embeddings: what two
processors answer in about `ANSWER_SECONDS`, and more of larger ones, which few people run there.
"""
SERVER_REQUESTS = 600
"""How many requests a trial sends to a server."""
ANSWER_SECONDS = 75
SECONDS_AROUND = 45
"""What a trial takes besides the model's answers, about: questions, measures, intervals and the
report.
"""
SIZES = (32, 24, 16, 12, 10, 8, 6, 4)
"""How many subjects of each list, and attributes of each type, are tried. All templates stay:
clusters are what intervals are over.
"""
CONTROL_SHARE = 0.25
"""How much is asked of a control, of what is asked of a dataset."""
CONTROL_ATTRIBUTES = 8
"""How many attributes of each type a control keeps at least: of fewer its size is too uncertain to
be a null.
"""


class TrialSize(NamedTuple):
    """How much a trial asks.

    Attributes:
        whole: how many rows, or requests to a server, the size of its model allows.
        minutes: how long it may take, None where nobody says so.
    """

    whole: int
    minutes: float | None

    @property
    def rows(self) -> int:
        """How many rows, or requests, it asks, about."""
        if self.minutes is None:
            return self.whole
        share = max(60 * self.minutes - SECONDS_AROUND, 5) / ANSWER_SECONDS
        return round(min(share, 1) * self.whole)

    @property
    def note(self) -> str:
        """What `--minutes` has changed, in words; empty where nobody gave it."""
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
    """Returns how much a trial asks: what is right for the largest of its models.

    Args:
        models: the models; one whose size nobody knows counts as a large one.
        minutes: how long the trial may take.
    """
    from biasgrid.inference.checkpoints.cost import parameters

    sizes = []
    for model in models:
        count = parameters(model.folder) if model.folder else None
        rows = next(
            rows for most, rows in ROWS_BY_PARAMETERS if (inf if count is None else count) <= most
        )
        sizes.append(rows if model.folder else SERVER_REQUESTS)
    return TrialSize(min(sizes), minutes)


def downsample_config(content: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Cuts the datasets of a config down.

    Args:
        content: the config, with whole datasets.
        rows: how many rows, or requests to a server, each of its models shall answer, all datasets
            together.

    Returns:
        The config of a trial, with `limit` and `sample` where a dataset has more than its share of
        the rows.
    """
    datasets = {name: deepcopy(section) for name, section in content["datasets"].items()}
    shares = {
        name: CONTROL_SHARE if "control_of" in section else 1.0
        for name, section in datasets.items()
    }
    for name, section in datasets.items():
        each = rows * shares[name] / sum(shares.values())
        fewest = CONTROL_ATTRIBUTES if "control_of" in section else 0
        for size in (None, *SIZES):
            if size is not None and "subjects" in section:
                section["limit"] = {"subjects": size, "attributes": max(size, fewest)}
            cells = plan_dataset(content, name, section)
            needed = max(cell.requests.value or cell.instances.value or 0 for cell in cells)
            # A sample of half leaves each subject and attribute with enough; one of less would thin
            # them out.
            if needed <= 2 * each or "subjects" not in section:
                break
        share = max(round(each / needed, 4), 0.0001) if needed > each else None
        section["sample"] = {"share": share, "seed": 1} if share else "all"
        # One job at a time asks a server. Each other one takes its threads of the processors, and a
        # second to begin.
        device = Inference(**content.get("inference", {})).device
        at_once = max(1, (os.cpu_count() or 1) // threads_of_job(device))
        section["shards"] = 1 if any(cell.requests.value for cell in cells) else at_once
    return {**content, "trial": True, "datasets": datasets}


def plan_dataset(
    content: Mapping[str, Any], name: str, section: Mapping[str, Any]
) -> Sequence[CellPlan]:
    """Plans the cells of one dataset."""
    # Generative models must be told that a dataset is asked whole; what a control is set beside is
    # not planned here.
    whole = {**section, "sample": "all", "control_of": None}
    config = parse_config(
        {**content, "datasets": {name: whole}, "run": {**content["run"], "datasets": [name]}}, "try"
    )
    return make_plan(config, load_word_lists(config), MachineRate()).cells


def trial_text(config: Config, lists: Mapping[tuple[str, str], Lists]) -> str:
    """Returns how little a trial will ask, as `GridFacts.trial_text` says it of one that was run.

    Args:
        config: the trial's config.
        lists: its word lists, by dataset and variant.
    """
    from biasgrid.base.references import load, stage
    from biasgrid.runs.counts import token_counter
    from biasgrid.runs.layout import Layout

    datasets = [name for name in config.run.datasets if config.datasets[name].control_of is None]
    facts = {}
    for model, dataset in config.cells():
        if dataset in datasets:
            variant = config.question(model, dataset).variant
            tokenizer = config.needed_variants[dataset, variant].tokenizer
            counter = token_counter(Layout(config), tokenizer) if tokenizer else None
            filters = {"token_counts": counter} if counter else {}
            expand = load(stage(config.reference_of_family(dataset), "expand")).expand
            facts[f"{dataset}/{model}"] = {
                COVERAGE: expand(lists[dataset, variant], **filters).facts[COVERAGE]
            }
    return GridFacts(cells=facts, trial=datasets).trial_text()
