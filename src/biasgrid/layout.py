"""Where the files of a config's results lie: what the workflow's rules name, for all that looks at results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from biasgrid.config import Config

OUTPUTS = {
    "expand": "instances/{name}.parquet",
    "expand_cases": "instances/{name}/cases.parquet",
    "predict": "predictions/{name}.parquet",
    "fetch_predictions": "dumps/{name}.json",
    "import_predictions": "imported/{name}/predictions.parquet",
    "measure": "measures/{name}.parquet",
    "measure_groups": "group_measures/{name}.parquet",
    "group_summary": "group_summary.parquet",
    "summary": "summary.parquet",
    "plant": "planted/planted.parquet",
    "plant_cases": "planted_cases/{name}/planted.parquet",
    "train": "trained/{name}/model.safetensors",
    "fetch_base": "bases/{name}.json",
    "fetch_model": "models/{name}.json",
    "fetch_tokenizer": "tokenizers/{name}.json",
    "plot_grid": "plots/grid/intensity_mu.svg",
    "plot_dataset": "plots/{name}/ranks.svg",
    "plot_groups": "plots/{name}/group_scores.svg",
    "plot_planted": "plots/planted.svg",
    "plot_planted_groups": "plots/planted_groups.svg",
    "report": "report/index.html",
    "manifest": "manifest.json",
}
"""An output of each rule; `name` is the path of the job's log beneath the rule's folder of logs."""


@dataclass(frozen=True)
class Shard:
    """Where the files of a part of a cell's inference lie.

    Attributes:
        predictions: the predictions table.
        timing: how long it took.
        parts: the folder of a shard that is not done: `progress.json`, and its parts as `*/*.parquet`.
        log: the log of its last run.
    """

    predictions: Path
    timing: Path
    parts: Path
    log: Path

    @property
    def progress(self) -> Path:
        """How far a running shard is."""
        return self.parts / "progress.json"


class Layout:
    """Knows where the files of a config lie."""

    def __init__(self, config: Config):
        """Keeps the config."""
        self.config = config
        self.results = Path(config.results)
        self.logs = self.results / "logs"

    def instances(self, dataset: str, variant: str) -> Path:
        """Returns the instances table of a dataset's variant."""
        return self.results / "instances" / dataset / f"{variant}.parquet"

    def instances_of_cell(self, dataset: str, model: str) -> Path:
        """Returns the instances table that a model answers, or that its dump holds."""
        if self.config.models[model].predictions:
            return self.imported(dataset, model) / "instances.parquet"
        return self.instances(dataset, self.config.variant_of(model, dataset))

    def imported(self, dataset: str, model: str) -> Path:
        """Returns the folder of the tables that a cell's dump holds."""
        return self.results / "imported" / dataset / model

    def predictions_of_cell(self, dataset: str, model: str) -> list[Path]:
        """Returns the predictions tables of a cell, imported or of its shards."""
        if self.config.models[model].predictions:
            return [self.imported(dataset, model) / "predictions.parquet"]
        return [shard.predictions for shard in self.shards(dataset, model)]

    def shards(self, dataset: str, model: str) -> list[Shard]:
        """Returns the shards of a cell's inference, in the order of their instances; an imported cell has none."""
        if self.config.models[model].predictions:
            return []
        count = self.config.datasets[dataset].shards
        cell = Path(dataset, model)
        return [
            Shard(
                predictions=self.results / "predictions" / cell / f"{name}.parquet",
                timing=self.results / "timings" / cell / f"{name}.json",
                parts=self.results / ".parts" / cell / name,
                log=self.logs / "predict" / cell / f"{name}.log",
            )
            for name in (f"{number}-of-{count}" for number in range(1, count + 1))
        ]

    def measures(self, dataset: str, model: str) -> list[Path]:
        """Returns the measures of a cell: those of its family, and those of its groups where these are compared."""
        folders = ["measures"] if dataset in self.config.underspecified else []
        folders += ["group_measures"] if self.config.compares_groups(dataset) else []
        return [self.results / folder / dataset / f"{model}.parquet" for folder in folders]

    def model_record(self, model: str) -> Path:
        """Returns the record of a model's checkpoint."""
        return self.results / "models" / f"{model}.json"

    def tokenizer_record(self, tokenizer: str) -> Path:
        """Returns the record of a family's tokenizer."""
        return self.results / "tokenizers" / f"{tokenizer}.json"

    def output_of(self, log: Path) -> Path | None:
        """Returns an output of the job that writes a log, None for logs of rules that are not known."""
        rule, *names = log.relative_to(self.logs).as_posix().removesuffix(".log").split("/")
        return self.results / OUTPUTS[rule].format(name="/".join(names)) if rule in OUTPUTS else None
