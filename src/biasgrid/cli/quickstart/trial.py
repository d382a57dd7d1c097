"""Trials that fit the time: a pilot measures how fast models answer, and samples are as large as
the time allows.

A trial asks the beginning of an order of blocks that its seed decides (`families.sampling`): trials
of one size ask the same, and a longer trial asks all that a shorter one has asked, and more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.files import write_text
from biasgrid.config import Config, load_word_lists, parse_config
from biasgrid.config.sections import Inference
from biasgrid.jobs.gpu import threads_of_job
from biasgrid.jobs.run_progress import time_text
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import MachineRate, make_plan
from biasgrid.tables.claims.facts import COVERAGE, GridFacts

if TYPE_CHECKING:
    from biasgrid.cli.quickstart.model import DescribedModel
    from biasgrid.families.family import Lists

PILOT_ROWS = 32
"""The largest number of rows of a dataset in a pilot."""
BLOCK_SAMPLE = {"units": 1, "seed": 1}
"""The smallest sample of a dataset: a block of its units."""
PAIR_BLOCKS = 4
"""The number of blocks in the smallest trial of a dataset whose blocks are pairs of subjects: fewer
subjects say nothing of a group.
"""
CONTROL_WEIGHT = 0.5
"""The time of a control, as a share of the time of its dataset."""
AUDIT_GROWTH = 2
"""How much longer than in a pilot a job takes besides its answers: it audits more rows."""
SECONDS_OF_JOB = 4
"""Approximate time of a cell besides its answers: the start of its jobs, measures, intervals."""
SECONDS_AFTER = 15
"""Approximate time from the last measures of a trial to its last line: report and summary."""
HALVINGS = 60
PACE_FILE = "trial.json"
"""A file in a folder of results: the `Pace` of each cell, by `DATASET/MODEL`."""


class DatasetSizes(NamedTuple):
    """The size of a dataset, in rows of the variant that has most.

    Attributes:
        whole: the number of rows.
        block: the number of rows of its smallest sample.
        fewest: the number of rows of the smallest trial.
    """

    whole: float
    block: float
    fewest: float


class Pace(NamedTuple):
    """How fast a model answers a dataset, as a pilot has measured it.

    Attributes:
        rows_per_second: the rate of one job.
        seconds_around: the time that its job takes besides, such as to load the model.
        host: the machine.
    """

    rows_per_second: float
    seconds_around: float
    host: str


@dataclass(frozen=True)
class TrialTime:
    """Shares out the time of a trial.

    Attributes:
        content: the content of the config, with whole datasets.
        sizes: the size of each dataset.
        paces: the pace of each cell of the pilot, by `DATASET/MODEL`; a control has that of its
            dataset.
        jobs: the number of jobs that ask models at once.
        seconds_before: the time that has passed when the trial begins.
    """

    content: Mapping[str, Any]
    sizes: Mapping[str, DatasetSizes]
    paces: Mapping[str, Pace]
    jobs: int
    seconds_before: float

    def subject(self, dataset: str) -> str:
        """Returns the dataset that a dataset controls, or its own name."""
        controlled = self.content["datasets"][dataset].get("control_of")
        return str(controlled) if controlled in self.content["datasets"] else dataset

    def dataset_paces(self, dataset: str) -> list[Pace]:
        """Returns the pace of each model that answers a dataset."""
        beginning = f"{self.subject(dataset)}/"
        return [pace for cell, pace in self.paces.items() if cell.startswith(beginning)]

    def row_seconds(self, dataset: str) -> float:
        """Returns how long one row of a dataset takes, asked of all models."""
        seconds = sum(1 / pace.rows_per_second for pace in self.dataset_paces(dataset))
        return seconds / self.jobs

    @property
    def seconds_around(self) -> float:
        """The time of the trial without answers."""
        seconds = self.seconds_before + SECONDS_AFTER
        for dataset in self.sizes:
            for pace in self.dataset_paces(dataset):
                seconds += AUDIT_GROWTH * pace.seconds_around + SECONDS_OF_JOB
        return seconds

    def trial_seconds(self, rows: Mapping[str, float]) -> float:
        """Returns the time of a whole trial of so many rows of each dataset."""
        answers = sum(count * self.row_seconds(dataset) for dataset, count in rows.items())
        return self.seconds_around + answers

    def rows_within(self, seconds: float) -> dict[str, float]:
        """Returns the number of rows of each dataset that a trial of so many seconds may ask.

        Datasets share the time evenly, and each gives a third of its part to its control. None has
        fewer rows than the smallest trial; what a small dataset does not need others have.

        Raises:
            UserError: not even the smallest trial fits.
        """
        fewest = {dataset: sizes.fewest for dataset, sizes in self.sizes.items()}
        needed = self.trial_seconds(fewest)
        if needed > seconds:
            raise UserError(self.too_short(seconds, needed))
        weights = {}
        for dataset in self.sizes:
            is_control = self.subject(dataset) != dataset
            weights[dataset] = CONTROL_WEIGHT if is_control else 1.0
        row_seconds = {dataset: self.row_seconds(dataset) for dataset in self.sizes}
        least = {name: count * row_seconds[name] for name, count in fewest.items()}
        largest = {name: sizes.whole * row_seconds[name] for name, sizes in self.sizes.items()}
        parts = share_out(seconds - self.seconds_around, weights, least, largest)
        return {dataset: part / row_seconds[dataset] for dataset, part in parts.items()}

    def too_short(self, seconds: float, needed: float) -> str:
        """Returns the message that a time is too short for the smallest trial."""
        names = ", ".join(dict.fromkeys(map(self.subject, self.sizes)))
        rows = sum(sizes.fewest for sizes in self.sizes.values())
        return (
            f"{minutes_text(seconds)} {'is' if seconds == 60 else 'are'} too short for {names}: "
            f"{self.rate_text}, and the smallest trial with a result asks {rows:,.0f} rows; "
            f"expected --minutes {ceil(needed / 60)}, or --on with a smaller dataset "
            "(see `biasgrid list`)"
        )

    @property
    def rate_text(self) -> str:
        """How fast the slowest model answers, in words."""
        rate = min(pace.rows_per_second for pace in self.paces.values()) * self.jobs
        return f"{rate:,.{0 if rate >= 10 else 1}f} rows/s on this machine"

    def text(self, rows: Mapping[str, float], seconds: float) -> str:
        """Returns a sentence on what fits into a time."""
        row_count = sum(rows.values())
        whole = sum(sizes.whole for sizes in self.sizes.values())
        if row_count >= whole:
            return f"{self.rate_text}: all {whole:,.0f} rows fit into {minutes_text(seconds)}."
        all_seconds = self.trial_seconds({name: sizes.whole for name, sizes in self.sizes.items()})
        return (
            f"{self.rate_text}: about {row_count:,.0f} of {whole:,.0f} rows fit into "
            f"{minutes_text(seconds)}. All would take {time_text(all_seconds)}."
        )


def share_out(
    seconds: float,
    weights: Mapping[str, float],
    least: Mapping[str, float],
    largest: Mapping[str, float],
) -> dict[str, float]:
    """Shares seconds out by weights, within the least and the most seconds of each name.

    The sum of the least seconds must not be larger than the seconds. If that of the most seconds is
    not larger, these are the parts.
    """

    def parts(scale: float) -> dict[str, float]:
        return {
            name: min(max(scale * weight, least[name]), largest[name])
            for name, weight in weights.items()
        }

    low, high = 0.0, max((largest[name] / weight for name, weight in weights.items()), default=0.0)
    if sum(largest.values()) <= seconds:
        return parts(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if sum(parts(middle).values()) <= seconds:
            low = middle
        else:
            high = middle
    return parts(low)


def minutes_text(seconds: float) -> str:
    """Returns a number of minutes in words."""
    return f"{seconds / 60:g} minute{'' if seconds == 60 else 's'}"


def dataset_sizes(content: Mapping[str, Any]) -> dict[str, DatasetSizes]:
    """Returns the size of each dataset of a config."""
    whole, block = planned_rows(content, "all"), planned_rows(content, BLOCK_SAMPLE)
    sizes = {}
    for name, section in content["datasets"].items():
        block_count = PAIR_BLOCKS if "subjects" in section else 1
        fewest = min(block_count * block[name], whole[name])
        sizes[name] = DatasetSizes(whole[name], block[name], fewest)
    return sizes


def planned_rows(content: Mapping[str, Any], sample: Any) -> dict[str, float]:
    """Returns the number of rows of each dataset's largest variant, if each has a sample."""
    samples = dict.fromkeys(content["datasets"], sample)
    config = parse_config({**content, "datasets": with_samples(content, samples)}, "try")
    rows: dict[str, float] = {}
    for cell in make_plan(config, load_word_lists(config), MachineRate()).cells:
        rows[cell.dataset] = max(rows.get(cell.dataset, 0), cell.instances.value or 0)
    return rows


def with_samples(content: Mapping[str, Any], samples: Mapping[str, Any]) -> dict[str, Any]:
    """Returns copies of the datasets of a config, each with a sample."""
    sections: dict[str, Any] = deepcopy(dict(content["datasets"]))
    for name, section in sections.items():
        section["sample"] = samples[name]
    return sections


def pilot_config(content: Mapping[str, Any], sizes: Mapping[str, DatasetSizes]) -> dict[str, Any]:
    """Returns the config of a pilot: of each dataset a block, in shards of at most `PILOT_ROWS`.

    Controls are left out. Of its answers, those of the first shards are needed.
    """
    sections = with_samples(content, dict.fromkeys(content["datasets"], BLOCK_SAMPLE))
    subjects = {name: section for name, section in sections.items() if "control_of" not in section}
    datasets = subjects or sections
    for name, section in datasets.items():
        section["shards"] = max(ceil(sizes[name].block / PILOT_ROWS), 1)
    run = {**content["run"], "datasets": [*datasets]}
    return {**content, "trial": True, "datasets": datasets, "run": run}


def first_shards(pilot: Config) -> dict[str, Path]:
    """Returns the predictions of the first shard of each cell of a pilot, by `DATASET/MODEL`."""
    layout = Layout(pilot)
    return {
        f"{dataset}/{model}": layout.shards(dataset, model)[0].predictions
        for model, dataset in pilot.cells()
    }


def take_paces(pilot: Config) -> dict[str, Pace]:
    """Reads the pace of each cell of a finished pilot, and keeps it; removes the pilot's tables.

    Its answers are kept, as all answers are.

    Raises:
        UserError: nothing was asked, because all answers were there without their pace.
    """
    layout = Layout(pilot)
    paces = {}
    for model, dataset in pilot.cells():
        shard = layout.shards(dataset, model)[0]
        timing = json.loads(shard.timing.read_text())
        new_rows = timing["rows"] - timing["found"]
        if not new_rows:
            raise UserError(
                f"{pilot.results} has the pilot's answers, but not how long they took on this "
                "machine; expected another --folder, or remove these results"
            )
        around = timing["job_seconds"] - timing["seconds"]
        paces[f"{dataset}/{model}"] = Pace(new_rows / timing["seconds"], around, timing["host"])
        shard.timing.unlink()
        shard.predictions.unlink()
    path = Path(pilot.results) / PACE_FILE
    write_text(path, json.dumps({**kept_paces(path.parent), **paces}, indent=2))
    return paces


def kept_paces(results: Path) -> dict[str, Pace]:
    """Returns the paces that earlier trials have measured on this machine."""
    path = results / PACE_FILE
    if not path.exists():
        return {}
    paces = {cell: Pace(*pace) for cell, pace in json.loads(path.read_text()).items()}
    return {cell: pace for cell, pace in paces.items() if pace.host == gethostname()}


def trial_config(trial: TrialTime, rows: Mapping[str, float]) -> dict[str, Any]:
    """Returns the config of a trial that asks about so many rows of each dataset."""
    samples: dict[str, Any] = {}
    for name, count in rows.items():
        share = float(f"{count / trial.sizes[name].whole:.3g}")
        samples[name] = "all" if share >= 1 else {"share": share, "seed": 1}
    sections = with_samples(trial.content, samples)
    for section in sections.values():
        section["shards"] = trial.jobs
    return {**trial.content, "trial": True, "datasets": sections}


def jobs_at_once(models: Sequence[DescribedModel]) -> int:
    """Returns the number of jobs that ask models at once.

    One at a time asks a server. Each other one takes its threads of the processors.
    """
    if not all(model.folder for model in models):
        return 1
    return max(1, (os.cpu_count() or 1) // threads_of_job(Inference().device))


def effect_text(config: Config, lists: Mapping[tuple[str, str], Lists]) -> str:
    """Returns the effects that a trial would find, in words.

    Args:
        config: the trial's config.
        lists: its word lists, by dataset and variant.
    """
    from biasgrid.runs.forecast import forecast_intervals

    effects = {}
    for forecast in forecast_intervals(
        config, lists, make_plan(config, lists, MachineRate()), None
    ):
        whole, *_ = forecast.steps
        is_control = config.datasets[forecast.dataset].control_of is not None
        if whole.minimal_effect.value is not None and not is_control:
            effects[forecast.dataset] = f"{whole.minimal_effect.value:.2f} in {forecast.dataset}"
    if not effects:
        return "So few rows cannot be tested."
    return f"An effect of {', of '.join(effects.values())} would be found (power 0.8, rough guess)."


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
