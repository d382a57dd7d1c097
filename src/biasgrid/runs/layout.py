"""The places of the files of a config's results, and the figures that there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from biasgrid.config import Config
from biasgrid.report.figures.registry import GRID
from biasgrid.tables.metric import Controls

RECORDS = ("models", "bases", "tokenizers")
"""The folders of the records that rule fetch makes."""
SCORERS = "scorers"
"""The folder of the responses of scorers."""
REPORT = Path("report", "index.html")
"""The first page of the report, in the folder of results."""
MANIFEST = "manifest.json"
FAILED_MANIFEST = "manifest.failed.json"
SYNTHETIC_FIGURE = "synthetic"
"""The figure of the known effect beside the measured one."""
CONVERGENCE_FIGURE = "convergence"
"""The figure of how datasets of different families agree on the same groups."""


class ScorerCell(NamedTuple):
    """A cell whose texts a scorer rates.

    Attributes:
        dataset: the dataset of the cell.
        writer: the model that wrote the texts.
        scorer: the model that rates them.
    """

    dataset: str
    writer: str
    scorer: str


@dataclass(frozen=True)
class Shard:
    """The files of a part of a cell's inference.

    Attributes:
        predictions: the predictions table.
        timing: its time, as a `Timing` of `inference.models.predict`.
        progress: its last `jobs.progress.Beat`. It stays when the shard is finished.
        log: the log of its last run.
    """

    predictions: Path
    timing: Path
    progress: Path
    log: Path


class Layout:
    """The places of a config's files, which no other module knows.

    Called without names, methods return the patterns of rules, such as
    `results/measures/{dataset}/{model}.parquet`.

    Attributes:
        config: the config.
        results: the folder of results.
        logs: the folder of logs in it.
    """

    def __init__(self, config: Config):
        """Takes the places from a config."""
        self.config = config
        self.results = Path(config.results)
        self.logs = self.results / "logs"

    def log(self, rule: str, *names: str) -> Path:
        """Returns the log of a rule's job; `names` are the values of its wildcards, in order."""
        if not names:
            return self.logs / f"{rule}.log"
        return Path(self.logs, rule, *names).with_suffix(".log")

    def instances(self, dataset: str = "{dataset}", variant: str = "{variant}") -> Path:
        """Returns the instances table of a dataset's variant."""
        return self.results.joinpath("instances", dataset, f"{variant}.parquet")

    def instances_of_cell(self, dataset: str, model: str) -> Path:
        """Returns the instances table that a model answers: of the variant, or of its dump."""
        if self.config.models[model].source.brings_instances:
            return self.imported_tables(dataset, model) / "instances.parquet"
        return self.instances(dataset, self.config.question(model, dataset).variant)

    def dump(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the place to which the dump of a cell is downloaded."""
        return self.results.joinpath("dumps", dataset, f"{model}.json")

    def imported_tables(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the folder of the instances and predictions in a cell's dump."""
        return self.results.joinpath("imported", dataset, model)

    def predictions_of_cell(self, dataset: str, model: str) -> list[Path]:
        """Returns the predictions tables of a cell: one per shard, or a single imported one."""
        if self.config.models[model].source.brings_instances:
            return [self.imported_tables(dataset, model) / "predictions.parquet"]
        return [shard.predictions for shard in self.shards(dataset, model)]

    def shards(self, dataset: str, model: str) -> list[Shard]:
        """Returns the shards of a cell's inference, in the order of their instances.

        Empty for an imported cell.
        """
        if self.config.models[model].source.brings_instances:
            return []
        shard_count = self.config.datasets[dataset].shards
        names = [f"{shard}-of-{shard_count}" for shard in range(1, shard_count + 1)]
        return [self.shard(dataset, model, name) for name in names]

    def shard(
        self, dataset: str = "{dataset}", model: str = "{model}", name: str = "{shard}-of-{shards}"
    ) -> Shard:
        """Returns the files of a shard."""
        return Shard(
            predictions=self.results.joinpath("predictions", dataset, model, f"{name}.parquet"),
            timing=self.results.joinpath("timings", dataset, model, f"{name}.json"),
            progress=self.answers(dataset, model) / f"{name}.json",
            log=self.logs.joinpath("predict", dataset, model, f"{name}.log"),
        )

    def answers(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the folder of a model's answers to a dataset, which stay from run to run."""
        return self.results.joinpath(".answers", dataset, model)

    def texts(self, dataset: str = "{dataset}", writer: str = "{writer}") -> Path:
        """Returns the texts that a model has written in a cell, as instances for scorers."""
        return self.results.joinpath(SCORERS, "instances", dataset, f"{writer}.parquet")

    def scorer(
        self, dataset: str = "{dataset}", writer: str = "{writer}", model: str = "{model}"
    ) -> Shard:
        """Returns the files of a scorer, `model`, of the texts of a cell, which are one shard."""
        folder, name = self.results / SCORERS, "1-of-1"
        return Shard(
            predictions=folder.joinpath("predictions", dataset, writer, f"{model}.parquet"),
            timing=folder.joinpath("timings", dataset, writer, f"{model}.json"),
            progress=self.scorer_answers(dataset, writer, model) / f"{name}.json",
            log=self.logs.joinpath("predict_scorer", dataset, writer, f"{model}.log"),
        )

    def scorers(self) -> list[ScorerCell]:
        """Returns the scorers of all selected cells whose texts are scored, cell by cell."""
        scorers = []
        for writer, dataset in self.config.cells():
            question = self.config.question(writer, dataset)
            scorers += [ScorerCell(dataset, writer, scorer) for scorer in question.scorers]
        return scorers

    def scorer_answers(
        self, dataset: str = "{dataset}", writer: str = "{writer}", model: str = "{model}"
    ) -> Path:
        """Returns the folder of a scorer's responses to the texts of a cell; see `answers`."""
        return self.results.joinpath(".answers", f"{dataset}+{writer}", model)

    def measures(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the measures of a cell."""
        return self.results.joinpath("measures", dataset, f"{model}.parquet")

    def evidence(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the sentences behind a cell's measures."""
        return self.results.joinpath("evidence", dataset, f"{model}.parquet")

    def evidence_parts(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns measures by template and by partner, for the evidence of a cell."""
        return self.results.joinpath("evidence_parts", dataset, f"{model}.parquet")

    def sums(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the sums from which the numbers of a cell are computed."""
        return self.results / "sums" / dataset / f"{model}.parquet"

    def intervals(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns intervals of a cell's measures over other factors than those of the claims."""
        return self.results / "intervals" / dataset / f"{model}.parquet"

    def design(self, dataset: str = "{dataset}", model: str = "{model}") -> Path:
        """Returns the parts of a cell's variance, and the influence of each of its clusters."""
        return self.results / "design" / dataset / f"{model}.parquet"

    def comparisons(self, dataset: str = "{dataset}") -> Path:
        """Returns the differences of the models of a dataset, pair by pair."""
        return self.results / "comparisons" / f"{dataset}.parquet"

    def ranks(self, dataset: str = "{dataset}") -> Path:
        """Returns the ranks of the models of a dataset."""
        return self.results / "ranks" / f"{dataset}.parquet"

    def agreement(self, dataset: str = "{dataset}") -> Path:
        """Returns the agreement of the models of a dataset on the order of subjects, by pairs."""
        return self.results / "agreement" / f"{dataset}.parquet"

    def summary(self, ending: str) -> Path:
        """Returns the summary of the grid; `ending` is `parquet` or `csv`."""
        return self.results / f"summary.{ending}"

    @property
    def verdicts(self) -> Path:
        """The table of claims on each cell."""
        return self.results / "verdicts.parquet"

    @property
    def convergence(self) -> Path:
        """The table of the agreement of datasets of different families on groups."""
        return self.results / "convergence.parquet"

    def synthetic(self, dataset: str = "{dataset}") -> Path:
        """Returns the folder of the known effect in a dataset.

        It has the table `synthetic.parquet`, and a folder of corpora for each strength.
        """
        return self.results / "synthetic" / dataset

    def record(self, record_kind: str = "{record_kind}", name: str = "{name}") -> Path:
        """Returns the record of a checkpoint; `record_kind` is one of `RECORDS`."""
        return self.results / record_kind / f"{name}.json"

    def capabilities(self, model: str = "{model}") -> Path:
        """Returns the capabilities of a model, which are probed before it is asked."""
        return self.results / "capabilities" / f"{model}.json"

    def kept_capabilities(self, model: str = "{model}") -> Path:
        """Returns the capabilities of earlier runs, which Snakemake does not delete."""
        return self.results / ".answers" / ".capabilities" / f"{model}.json"

    def training_lock(self, model: str = "{model}") -> Path:
        """Returns the file that keeps a second job from training a model."""
        return self.results / ".parts" / "trained" / f"{model}.lock"

    def kept_trained(self, model: str = "{model}") -> Path:
        """Returns the folder of earlier trainings of a model; see `training.kept_models`."""
        return self.results / ".answers" / ".trained" / model

    def trained_model(self, model: str = "{model}") -> Path:
        """Returns the folder of a model that the workflow trains."""
        return self.results / "trained" / model

    def figures(self, of: str = "{of}") -> Path:
        """Returns the folder of the figures of a dataset, or of all: `of` is then `grid`."""
        return self.results / "plots" / of

    @property
    def outputs(self) -> set[str]:
        """The names of files and folders in the folder of results that a run makes."""
        shard = self.shard()
        records = [self.record(folder) for folder in RECORDS]
        models = [self.capabilities(), *records, self.trained_model()]
        answers = [self.instances(), shard.predictions, shard.timing, self.texts()]
        imports = [self.dump(), self.imported_tables(), self.synthetic()]
        cells = [self.measures(), self.evidence(), self.evidence_parts()]
        statistics = [self.sums(), self.intervals(), self.design()]
        comparisons = [self.comparisons(), self.ranks(), self.agreement()]
        grid = [self.summary("parquet"), self.summary("csv"), self.verdicts, self.convergence]
        pages = [self.figures(), self.report]
        groups = (models, answers, imports, cells, statistics, comparisons, grid, pages)
        paths = chain.from_iterable(groups)
        return {path.relative_to(self.results).parts[0] for path in paths}

    @property
    def report(self) -> Path:
        """The report."""
        return self.results / REPORT

    @property
    def manifest(self) -> Path:
        """The manifest: outputs with origin, times and digests."""
        return self.results / MANIFEST

    @property
    def failed_manifest(self) -> Path:
        """The manifest of the last run if it failed."""
        return self.results / FAILED_MANIFEST


def figure_references(config: Config) -> dict[str, dict[str, str]]:
    """Returns by folder of figures the references of figures by name.

    A folder is `grid`, or a measured dataset. Empty if the config has `report: {figures: none}`.
    """
    if config.report.figures == "none":
        return {}
    measured = list(dict.fromkeys(dataset for _, dataset in config.cells()))
    figure_names = {GRID: grid_figures(config, measured)}
    figure_names |= {dataset: config.dataset_figures(dataset) for dataset in measured}
    figures = {}
    for folder, names in figure_names.items():
        figures[folder] = {name: config.registry.figure(name) for name in names}
    return figures


def grid_figures(config: Config, measured: Sequence[str]) -> list[str]:
    """Returns the names of the figures of the whole grid, each once.

    Args:
        config: the config.
        measured: the datasets that are measured.
    """
    # Datasets of one family ask for the same figures.
    names = list(
        dict.fromkeys(name for dataset in measured for name in config.family(dataset).grid_figures)
    )
    if any(dataset in config.training_datasets(model) for model, dataset in config.cells()):
        names.append(SYNTHETIC_FIGURE)
    families = {config.datasets[dataset].family for dataset in group_numbers(config)}
    if len(families) > 1:
        names.append(CONVERGENCE_FIGURE)
    return names


def figure_datasets(config: Config, figure: str) -> list[str]:
    """Returns the datasets of a figure of the grid.

    These are the datasets of the families that ask for the figure; all for a figure of no family.
    """
    figures = {dataset: config.family(dataset).grid_figures for _, dataset in config.cells()}
    datasets = [dataset for dataset, names in figures.items() if figure in names]
    return datasets or list(figures)


def group_numbers(config: Config) -> dict[str, str]:
    """Returns by dataset the measure of how a model treats a group.

    Datasets that are not measured, are controls or have no such measure are left out.
    """
    measures = {}
    for _, dataset in config.cells():
        measure = config.family(dataset).group_number
        if measure and not config.datasets[dataset].control_of:
            measures[dataset] = measure
    return measures


def controls_of_config(config: Config) -> Controls:
    """Returns the negative controls among the selected datasets and models."""
    datasets = {}
    for name in config.run.datasets:
        original = config.datasets[name].control_of
        if original in config.run.datasets:
            datasets[name] = original
    models = [name for name in config.run.models if config.models[name].source.is_control]
    return Controls(datasets, models)
