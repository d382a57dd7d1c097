"""Inputs and params of the rules of tables and pages: compare, summary, plot, report, manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.references import exists, stage_module
from biasgrid.config import shared_template_texts
from biasgrid.report.figures.registry import GRID
from biasgrid.runs.inputs.grid import CellFile, GridInputs, Wildcards
from biasgrid.runs.inputs.params import ConfigParams, ReportParams
from biasgrid.runs.layout import (
    controls_of_config,
    figure_datasets,
    figure_references,
    group_numbers,
)
from biasgrid.tables.claims.facts import claim_facts
from biasgrid.tables.claims.marks import Mark, MarkSection
from biasgrid.tables.claims.numbers import signed_fair_values
from biasgrid.tables.metric import CONTROLS, NO_CONTROLS, Controls


class PageInputs:
    """Inputs and params of the rules of all cells, and of the figures of a dataset or of the whole
    grid.

    Attributes:
        inputs: inputs of rules of the whole grid.
        grid: the config.
        layout: the places of its files.
        config_name: the name of the config in the report and the manifest.
        figures: by folder of figures, which is a dataset or `grid`, the reference of each figure by
            its name. Folders without figures are left out.
        controls: the datasets and models that are negative controls.
    """

    def __init__(self, inputs: GridInputs, config_name: str):
        """Finds the figures and controls of the grid."""
        self.inputs = inputs
        self.grid = inputs.grid
        self.layout = inputs.layout
        self.config_name = config_name
        self.figures = {
            of: figures for of, figures in figure_references(self.grid).items() if figures
        }
        self.controls = controls_of_config(self.grid)

    def dataset_models(self, wildcards: Wildcards) -> list[str]:
        """Returns the models that answer a dataset, in the order of `GridInputs.of_dataset`."""
        return [model for model, dataset in self.inputs.cells if dataset == wildcards.dataset]

    def dataset_marks(self, wildcards: Wildcards) -> Mapping[str, tuple[Mark, ...]]:
        """Returns the marks of a dataset by measure; measures without marks are left out."""
        return self.marks([wildcards.dataset]).get(wildcards.dataset, {})

    def marks(self, datasets: Iterable[str]) -> dict[str, dict[str, tuple[Mark, ...]]]:
        """Returns marks by dataset and measure; measures and datasets without are left out."""
        marks = {}
        for dataset in datasets:
            measures = self.grid.dataset_measures(dataset)
            own = {name: measure.marks for name, measure in measures.items() if measure.marks}
            if own:
                marks[dataset] = own
        return marks

    def fair_values(self, wildcards: Wildcards) -> dict[str, float]:
        """Returns the value of equal treatment by signed measure of a dataset."""
        return signed_fair_values(self.grid.dataset_measures(wildcards.dataset))

    def headlines(self) -> dict[str, Mapping[str, str]]:
        """Returns by dataset and headline measure the options of its row in the summary."""
        return {
            dataset: self.inputs.metrics(dataset).headlines for dataset in self.grid.run.datasets
        }

    def claims(self) -> dict[str, Any]:
        """Returns fields of `GridFacts` that the config decides, for the summary's provenance."""
        datasets = self.grid.run.datasets
        claims = claim_facts({name: self.grid.dataset_measures(name) for name in datasets})
        claims |= {"units": self.units()}
        # Absent unless the run is a trial: a new key would change all earlier summaries.
        if self.grid.trial:
            trial = [name for name in datasets if name not in self.controls.datasets]
            if trial:
                claims["trial"] = trial
        return claims

    def units(self) -> dict[str, str]:
        """Returns the units that the numbers of each dataset are computed from, in words."""
        return {name: self.grid.family(name).unit for name in self.grid.run.datasets}

    def models(self, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Returns `kind`, `label` and `scoring` of the selected models, as fields of `ModelFacts`.

        Models that can answer none of the datasets are left out.
        """
        datasets = list(datasets)
        models = {}
        for name in self.grid.run.models:
            if not any(self.grid.fits(name, dataset) for dataset in datasets):
                continue
            section = self.grid.models[name]
            models[name] = {
                "kind": section.kind,
                "label": section.label,
                "scoring": self._scoring(name, datasets),
            }
        return models

    def _scoring(self, model: str, datasets: Iterable[str]) -> dict[str, Any]:
        """Returns the scoring of a model by dataset; datasets without a choice are left out."""
        scoring = {}
        for dataset in datasets:
            if self.grid.fits(model, dataset):
                settings = self.grid.question(model, dataset).settings
                if "scoring" in settings:
                    scoring[dataset] = settings["scoring"]
        return scoring

    def summary_marks(self, wildcards: Wildcards) -> dict[str, dict[str, tuple[Mark, ...]]]:
        """Returns the marks of all selected datasets."""
        return self.marks(self.grid.run.datasets)

    def figure_files(self, file: CellFile) -> Callable[[Wildcards], list[str]]:
        """Makes an input: a file of each cell of the datasets in a folder of figures."""
        return lambda wildcards: self.inputs.of_cells(file, *self._datasets_of(wildcards))

    def figure_effects(self, wildcards: Wildcards) -> list[Path]:
        """Returns the tables of known effects for figures of the grid; none for a dataset."""
        return self.inputs.synthetic_tables() if wildcards.of == GRID else []

    def figure_ranks(self, wildcards: Wildcards) -> list[Path]:
        """Returns the tables of ranks for figures of the grid; none for a dataset."""
        return self.inputs.of_datasets(self.layout.ranks) if wildcards.of == GRID else []

    def figure_convergence(self, wildcards: Wildcards) -> list[Path]:
        """Returns the table of convergence for figures of the grid; none for a dataset."""
        return [self.layout.convergence] if wildcards.of == GRID else []

    def group_numbers(self) -> dict[str, tuple[str, str]]:
        """Returns by dataset its family and the measure of how a model treats a group.

        Datasets without such a measure are left out.
        """
        return {
            dataset: (self.grid.datasets[dataset].family, measure)
            for dataset, measure in group_numbers(self.grid).items()
        }

    def figure_parts(self, wildcards: Wildcards) -> list[str]:
        """Returns evidence by template for figures of a dataset; none for the grid."""
        if wildcards.of == GRID:
            return []
        return self.inputs.of_cells(self.layout.evidence_parts, wildcards.of)

    def _datasets_of(self, wildcards: Wildcards) -> list[str]:
        """Returns the datasets that the figures in a folder are about."""
        return self.grid.run.datasets if wildcards.of == GRID else [wildcards.of]

    def figure_folders(self) -> list[Path]:
        """Returns the folders of all figures."""
        return [self.layout.figures(of) for of in self.figures]

    def references_by_folder(self) -> dict[str, dict[str, str]]:
        """Returns by path of a folder of figures the reference of each figure by its name."""
        return {str(self.layout.figures(of)): figures for of, figures in self.figures.items()}

    def figure_references(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns the references of the figures in a job's folder, by their names."""
        return self.figures[wildcards.of]

    def figure_datasets(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Returns by figure in a job's folder the datasets that it is about."""
        folder = wildcards.of
        if folder != GRID:
            return {name: [folder] for name in self.figures[folder]}
        return {name: figure_datasets(self.grid, name) for name in self.figures[GRID]}

    def figure_titles(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns the titles of the datasets of a job's figures."""
        return {name: self.grid.dataset_title(name) for name in self._datasets_of(wildcards)}

    def figure_models(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Returns the models of a job's figures; see `models`."""
        return self.models(self._datasets_of(wildcards))

    def figure_threshold(self, wildcards: Wildcards) -> float | None:
        """Returns the failure threshold of a dataset; None for the grid, or without such a key."""
        return getattr(self.grid.datasets.get(wildcards.of), "failure_threshold", None)

    def figure_templates(self, wildcards: Wildcards) -> list[str]:
        """Returns the texts of a dataset's templates by template number; none for the grid.

        Of each template only the beginning that all variants of the dataset share.
        """
        if wildcards.of == GRID:
            return []
        return shared_template_texts(self.grid, self.inputs.word_lists, wildcards.of)

    def figure_controls(self, wildcards: Wildcards) -> Controls:
        """Returns the negative controls for figures of the grid; none for a dataset."""
        return self.controls if wildcards.of == GRID else NO_CONTROLS

    def figure_strengths(self, wildcards: Wildcards) -> dict[str, dict[str, str]]:
        """Returns `strengths` for figures of the grid; none for a dataset."""
        return self.strengths() if wildcards.of == GRID else {}

    def figure_marks(self, wildcards: Wildcards) -> dict[str, dict[str, tuple[Mark, ...]]]:
        """Returns the marks of a job's figures; see `marks`."""
        return self.marks(self._datasets_of(wildcards))

    def figure_sections(self, wildcards: Wildcards) -> dict[str, MarkSection]:
        """Returns the sections of the datasets of a job's figures, whose marks are judged together.

        Datasets without a section are left out.
        """
        sections = {}
        for dataset in self._datasets_of(wildcards):
            section = self.grid.family(dataset).section(self.grid, dataset)
            if section:
                sections[dataset] = section
        return sections

    def figure_code(self, wildcards: Wildcards) -> str:
        """Digests the code that draws the figures in a job's folder."""
        return self.inputs.code_digest("plot", *self._figure_modules(wildcards.of))

    def _figure_modules(self, *folders: str) -> list[str]:
        """Returns the modules that draw the figures in some folders, sorted."""
        modules: set[str] = set()
        for folder in folders:
            modules.update(self.figures[folder].values())
        return sorted(modules)

    def strengths(self) -> dict[str, dict[str, str]]:
        """Returns by dataset and model the name of the strength of synthetic bias it has learned.

        Models without synthetic bias are left out.
        """
        strengths: dict[str, dict[str, str]] = {}
        for model, dataset in self.inputs.synthetic_cells():
            train = self.grid.models[model].train
            if train and train.synthetic:
                strengths.setdefault(dataset, {})[model] = train.synthetic
        return strengths

    def report_params(self, wildcards: Wildcards) -> ReportParams:
        """Returns param `run_settings` of rule `report`.

        A function and no value, because every job reads the rules: only the report's own job then
        reads the texts of templates from their files.
        """
        fields = {"kind", "label", "task"}
        models = {
            name: self.grid.models[name].model_dump(include=fields) for name in self.grid.run.models
        }
        return {
            "title": self.grid.title,
            "config": self.config_name,
            "strengths": self.strengths(),
            "level": self.grid.statistics.level,
            "results": self.grid.results,
            "megabytes": self.grid.report.megabytes,
            "controls": self.controls,
            "datasets": {name: self._dataset_facts(name) for name in self.grid.run.datasets},
            "models": models,
        }

    def _dataset_facts(self, dataset: str) -> dict[str, Any]:
        """Returns the fields of `report.run.ReportDataset` that are not read from its tables."""
        section, family = self.grid.datasets[dataset], self.grid.family(dataset)
        return {
            "title": self.grid.dataset_title(dataset),
            "about": family.about(self.grid, dataset),
            "measures": {**self.grid.dataset_measures(dataset), **CONTROLS},
            "family": section.family,
            "reference": self.grid.family_reference(dataset),
            "sensitive": section.sensitive,
            "templates": shared_template_texts(self.grid, self.inputs.word_lists, dataset),
        }

    def report_code(self, wildcards: Wildcards) -> str:
        """Digests the code of the report, with captions of figures and pages of cells."""
        families = {self.grid.family_reference(dataset) for dataset in self.grid.run.datasets}
        # The reference of a package stands for the HTML in its folder, see `code_digest`.
        modules = set(families)
        for family in families:
            stages = (stage_module(family, name) for name in ("page", "evidence"))
            modules.update(reference for reference in stages if exists(reference))
        figure_modules = self._figure_modules(*self.figures)
        return self.inputs.code_digest("report", *figure_modules, *sorted(modules))

    def config_params(self, wildcards: Wildcards) -> ConfigParams:
        """Returns param `config` of rule `manifest`.

        A function and no value, because Snakemake would replace braces in the config's name by
        wildcards.
        """
        folders = self.grid.folders
        return {
            "name": self.config_name,
            "folders": list(folders.beside),
            "command_line_keys": sorted(folders.given),
        }

    def title(self, wildcards: Wildcards) -> str:
        """Returns the title of the grid; a function for the reason of `config_params`."""
        return self.grid.title
