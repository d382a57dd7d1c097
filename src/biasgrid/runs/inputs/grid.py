"""Inputs of several rules: files of the whole grid, and digests of code and of word lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from biasgrid.base.references import exists, stage_module
from biasgrid.config import Config, template_texts_digest, variant_clusters
from biasgrid.families.family import Lists
from biasgrid.jobs.code_digest import code_digest
from biasgrid.runs.layout import Layout
from biasgrid.tables.metric import MetricDefinitions

CellFile = Callable[[str, str], Path]
"""Gives a file of a dataset and a model, such as `Layout.measures`."""


class Wildcards(Protocol):
    """The wildcards of a job, as Snakemake hands them to functions."""

    def __getattr__(self, name: str) -> str:
        """Returns the value of a wildcard."""

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a wildcard that not all rules have."""


def not_compared(param: Callable[[Wildcards], Any]) -> Callable[[Wildcards, Any], Any]:
    """Makes a param of which Snakemake does not compare the value with that of the last run.

    Snakemake compares no param whose function takes `input`, since changed inputs run a job again
    by themselves. A parameter of that name is all it looks for, so `functools.wraps`, which would
    show it the parameters of `param`, must not be used here.

    Args:
        param: the function that gives the value.
    """

    def with_input(wildcards: Wildcards, input: Any) -> Any:
        return param(wildcards)

    return with_input


class GridInputs:
    """The grid as rules see it: its cells, their files, and digests that decide what runs again.

    What several rules need of each cell is put together once, because a grid has thousands of
    cells.

    Attributes:
        grid: the config.
        layout: where its files are.
        word_lists: the word lists of each dataset and variant; none in jobs that were submitted,
            which read no lists.
        cells: model and dataset of each selected cell.
        datasets: the datasets that have cells.
        mutexes: the names of resources of which there is one each, so that jobs which need the same
            one take turns.
    """

    def __init__(
        self,
        grid: Config,
        layout: Layout,
        word_lists: Mapping[tuple[str, str], Lists],
        workflow_folder: str | Path,
    ):
        """Keeps config, layout and lists; the scripts of the rules are in `workflow/scripts` of the
        folder.
        """
        self.grid, self.layout, self.word_lists = grid, layout, word_lists
        self._scripts = Path(workflow_folder, "workflow", "scripts")
        self.cells = grid.cells()
        self.datasets = list(dict.fromkeys(dataset for _, dataset in self.cells))
        needed = {
            mutex
            for model, dataset in self.cells
            for mutex in (grid.exclusive_resource(model, dataset), grid.exclusive_resource(model))
        }
        self.mutexes = sorted(mutex for mutex in needed if mutex)
        self.shards = cache(layout.shards)
        self.predictions = cache(layout.predictions_of_cell)
        self.cell_file = cache(self._cell_file)
        self.code_digest = cache(self._code_digest)
        self.metrics = cache(self._metrics)
        self.lists_digest = cache(self._lists_digest)
        self.template_clusters = cache(self._template_clusters)
        self.templates_digest = cache(self._templates_digest)

    def _cell_file(self, file: CellFile, dataset: str, model: str) -> str:
        """Returns a file of a cell."""
        return str(file(dataset, model))

    def _code_digest(self, script: str, *references: str) -> str:
        """Digests a script, modules that it finds by their references, and their imports."""
        return code_digest(self._scripts / f"{script}.py", *references)

    def _metrics(self, dataset: str) -> MetricDefinitions:
        """Returns names, headlines and limits of a dataset's measures."""
        return MetricDefinitions.from_measures(self.grid.dataset_measures(dataset))

    def _lists_digest(self, dataset: str, variant: str) -> str | None:
        """Digests the content of a variant's word lists; None if the lists are not read."""
        lists = self.word_lists.get((dataset, variant))
        return None if lists is None else lists.digest()

    def _template_clusters(self, dataset: str, variant: str) -> list[int]:
        """Returns the cluster of each template of a dataset's variant."""
        return variant_clusters(self.grid, self.word_lists, dataset, variant)

    def _templates_digest(self, dataset: str, variant: str) -> str | None:
        """Digests the texts of the templates of a dataset's variant."""
        return template_texts_digest(self.grid, self.word_lists, dataset, variant)

    def code_of(self, script: str, *references: str) -> Callable[[Wildcards], str]:
        """Returns a param: a digest of the code of a script and of modules that it finds by their
        references.

        It is a function because a job that was submitted needs the digest of its own rule alone.
        """
        return lambda wildcards: self.code_digest(script, *references)

    def code_of_family(self, script: str, *stages: str) -> Callable[[Wildcards], str]:
        """Returns a param: a digest of the code of a script and of modules of the family of a job's
        dataset.
        """
        return lambda wildcards: self.code_digest(script, *self.stages(wildcards, *stages))

    def stages(self, wildcards: Wildcards, *names: str) -> list[str]:
        """Returns references of stages that a dataset's family has, and of replications they
        import.
        """
        family = self.family(wildcards)
        modules = dict.fromkeys(stage_module(family, name) for name in names)
        references = [module for module in modules if exists(module)]
        for mode in self.grid.family(wildcards.dataset).modes.values():
            module, _, _ = mode.partition(":")
            references.append(module)
        return references

    def family(self, wildcards: Wildcards) -> str:
        """Returns the reference of the family of a dataset."""
        return self.grid.family_reference(wildcards.dataset)

    def is_imported(self, model: str) -> bool:
        """Whether a model's answers are imported, together with their instances."""
        return self.grid.models[model].source.brings_instances

    def of_cells(self, file: CellFile, *datasets: str) -> list[str]:
        """Returns a file of each cell, of the whole grid or of some datasets."""
        files = []
        for model, dataset in self.cells:
            if not datasets or dataset in datasets:
                files.append(self.cell_file(file, dataset, model))
        return files

    def of_dataset(self, file: CellFile) -> Callable[[Wildcards], list[str]]:
        """Returns an input: a file of each cell of a job's dataset."""
        return lambda wildcards: self.of_cells(file, wildcards.dataset)

    def of_datasets(self, file: Callable[[str], Path]) -> list[Path]:
        """Returns a file of each dataset that has cells."""
        return [file(dataset) for dataset in self.datasets]

    def instances_of_variants(self) -> list[Path]:
        """Returns the instances tables that the selected models answer."""
        return [
            self.layout.instances(dataset, variant)
            for dataset, variant in self.grid.selected_variants
        ]

    def predictions_of_cells(self) -> list[Path]:
        """Returns the predictions tables of all cells, imported or of their shards."""
        return [file for model, dataset in self.cells for file in self.predictions(dataset, model)]

    def imported_predictions(self) -> list[Path]:
        """Returns the predictions tables of the cells that have dumps."""
        imported = [(dataset, model) for model, dataset in self.cells if self.is_imported(model)]
        return [self.layout.imported_tables(*cell) / "predictions.parquet" for cell in imported]

    def timings(self) -> list[Path]:
        """Returns the timings of the shards of all cells."""
        return [
            shard.timing for model, dataset in self.cells for shard in self.shards(dataset, model)
        ]

    def records(self) -> list[Path]:
        """Returns the records of all selected models that have weights, and of scorers."""
        models = dict.fromkeys([*self.grid.run.models, *self.grid.scorer_models])
        return [
            self.layout.record("models", model) for model in models if not self.is_imported(model)
        ]

    def synthetic_cells(self) -> list[tuple[str, str]]:
        """Returns model and dataset of the cells whose model has learned the dataset.

        Controls are left out.
        """
        cells = []
        for model, dataset in self.cells:
            is_control = self.grid.datasets[dataset].control_of
            if not is_control and dataset in self.grid.training_datasets(model):
                cells.append((model, dataset))
        return cells

    def synthetic_tables(self) -> list[Path]:
        """Returns the known effect in the datasets of these cells."""
        datasets = dict.fromkeys(dataset for _, dataset in self.synthetic_cells())
        return [self.layout.synthetic(dataset) / "synthetic.parquet" for dataset in datasets]
