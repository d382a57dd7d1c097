"""What the rules of tables and pages are given: compare, summary, plot, report and manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.references import exists, stage
from biasgrid.config import texts_of_templates
from biasgrid.report.figures.registry import GRID
from biasgrid.runs.inputs.grid import CellFile, GridInputs, Wildcards
from biasgrid.runs.layout import controls_of_config, datasets_of_figure, figures_of, group_numbers
from biasgrid.tables.claims.facts import claims_of
from biasgrid.tables.claims.marks import Mark, MarkSection
from biasgrid.tables.claims.numbers import fair_values_of_signed
from biasgrid.tables.metric import CONTROLS, NO_CONTROLS, Controls


class PageInputs:
    """Inputs and params of the rules of all cells, and of the figures of a dataset or of the whole
    grid.

    Attributes:
        figures: the references of the figures of each dataset and of the whole grid, by their
            names.
        controls: which datasets and models are negative controls.
        config_name: what the report and the manifest call the config.
    """

    def __init__(self, inputs: GridInputs, config_name: str):
        """Keeps what is known of the whole grid."""
        self.inputs, self.grid, self.layout, self.config_name = (
            inputs,
            inputs.grid,
            inputs.layout,
            config_name,
        )
        self.figures = {of: figures for of, figures in figures_of(self.grid).items() if figures}
        self.controls = controls_of_config(self.grid)

    def dataset_models(self, wildcards: Wildcards) -> list[str]:
        """Returns the models that are asked a dataset."""
        return [model for model, dataset in self.inputs.cells if dataset == wildcards.dataset]

    def dataset_marks(self, wildcards: Wildcards) -> Mapping[str, tuple[Mark, ...]]:
        """Returns the marks of those measures of a dataset that have marks."""
        return self.marks([wildcards.dataset]).get(wildcards.dataset, {})

    def marks(self, datasets: Iterable[str]) -> dict[str, dict[str, tuple[Mark, ...]]]:
        """Returns for each dataset the marks of those of its measures that have marks."""
        measures = {dataset: self.grid.measures_of(dataset) for dataset in datasets}
        marks = {
            of: {name: one.marks for name, one in each.items() if one.marks}
            for of, each in measures.items()
        }
        return {of: known for of, known in marks.items() if known}

    def fair_values(self, wildcards: Wildcards) -> dict[str, float]:
        """Returns the value of equal treatment of those measures of a dataset that are signed."""
        return fair_values_of_signed(self.grid.measures_of(wildcards.dataset))

    def headlines(self) -> dict[str, Mapping[str, str]]:
        """Returns for each dataset the options of the row of each measure that stands in the
        summary.
        """
        return {
            dataset: self.inputs.metrics(dataset).headlines for dataset in self.grid.run.datasets
        }

    def claims(self) -> dict[str, Any]:
        """Returns what is said of the measures of each dataset, see `GridFacts`, and what a trial
        asks.
        """
        datasets = self.grid.run.datasets
        # What is no trial has no such fact, so that summaries of before stay as they are.
        trial = (
            [name for name in datasets if name not in self.controls.datasets]
            if self.grid.trial
            else []
        )
        claims = claims_of({name: self.grid.measures_of(name) for name in datasets}) | {
            "units": self.units()
        }
        return claims | ({"trial": trial} if trial else {})

    def units(self) -> dict[str, str]:
        """Returns what the numbers of each dataset are computed from, in words."""
        return {name: self.grid.family(name).unit for name in self.grid.run.datasets}

    def models(self, datasets: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Returns how tables and plots name the selected models, and how these are scored on some
        datasets.
        """
        datasets = list(datasets)
        return {
            name: {
                "kind": self.grid.models[name].kind,
                "label": self.grid.models[name].label,
                "scoring": self._scoring(name, datasets),
            }
            for name in self.grid.run.models
            if any(self.grid.fits(name, dataset) for dataset in datasets)
        }

    def _scoring(self, model: str, datasets: Iterable[str]) -> dict[str, Any]:
        """Returns how a model is scored on those of some datasets where one can choose."""
        questions = {
            of: self.grid.question(model, of) for of in datasets if self.grid.fits(model, of)
        }
        return {
            of: each.settings["scoring"]
            for of, each in questions.items()
            if "scoring" in each.settings
        }

    def summary_marks(self, wildcards: Wildcards) -> dict[str, dict[str, tuple[Mark, ...]]]:
        """Returns the marks of all selected datasets."""
        return self.marks(self.grid.run.datasets)

    def figure_files(self, file: CellFile) -> Callable[[Wildcards], list[str]]:
        """Returns an input: a file of each cell of the datasets that the figures in a folder are
        about.
        """
        return lambda wildcards: self.inputs.of_cells(file, *self._datasets_of(wildcards))

    def figure_effects(self, wildcards: Wildcards) -> list[Path]:
        """Returns the known effects, which figures of the grid show."""
        return self.inputs.synthetic_tables() if wildcards.of == GRID else []

    def figure_ranks(self, wildcards: Wildcards) -> list[Path]:
        """Returns the ranks of models, which figures of the grid show."""
        return self.inputs.of_datasets(self.layout.ranks) if wildcards.of == GRID else []

    def figure_convergence(self, wildcards: Wildcards) -> list[Path]:
        """Returns how datasets of different families agree, which figures of the grid show."""
        return [self.layout.convergence] if wildcards.of == GRID else []

    def group_numbers(self) -> dict[str, tuple[str, str]]:
        """Returns of each dataset its family and the measure that says how a model treats a
        group.
        """
        return {
            of: (self.grid.datasets[of].family, measure)
            for of, measure in group_numbers(self.grid).items()
        }

    def figure_parts(self, wildcards: Wildcards) -> list[str]:
        """Returns the associations by template, which are in no figure of all datasets."""
        return (
            []
            if wildcards.of == GRID
            else self.inputs.of_cells(self.layout.evidence_parts, wildcards.of)
        )

    def _datasets_of(self, wildcards: Wildcards) -> list[str]:
        """Returns the datasets that the figures in a folder are about."""
        return self.grid.run.datasets if wildcards.of == GRID else [wildcards.of]

    def figure_folders(self) -> list[Path]:
        """Returns the folders of all figures."""
        return [self.layout.figures(of) for of in self.figures]

    def figure_references(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns the references of the figures in a folder, by their names."""
        return self.figures[wildcards.of]

    def figure_datasets(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Returns the datasets that each of the figures in a folder is about."""
        of = wildcards.of
        return {
            name: datasets_of_figure(self.grid, name) if of == GRID else [of]
            for name in self.figures[of]
        }

    def figure_titles(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns the titles of the datasets of figures."""
        return {name: self.grid.title_of(name) for name in self._datasets_of(wildcards)}

    def figure_models(self, wildcards: Wildcards) -> dict[str, dict[str, Any]]:
        """Returns how figures name models; see `models`."""
        return self.models(self._datasets_of(wildcards))

    def figure_threshold(self, wildcards: Wildcards) -> float | None:
        """Returns the failure threshold of a dataset, None where its family has no such key."""
        return getattr(self.grid.datasets.get(wildcards.of), "failure_threshold", None)

    def figure_templates(self, wildcards: Wildcards) -> list[str]:
        """Returns the text of each template of a dataset; figures of all datasets name no
        templates.
        """
        return (
            []
            if wildcards.of == GRID
            else texts_of_templates(self.grid, self.inputs.word_lists, wildcards.of)
        )

    def figure_controls(self, wildcards: Wildcards) -> Controls:
        """Returns the negative controls, which figures of the grid show."""
        return self.controls if wildcards.of == GRID else NO_CONTROLS

    def figure_strengths(self, wildcards: Wildcards) -> dict[str, dict[str, str]]:
        """Returns the strengths of synthetic bias, which figures of the grid show."""
        return self.strengths() if wildcards.of == GRID else {}

    def figure_marks(self, wildcards: Wildcards) -> dict[str, dict[str, tuple[Mark, ...]]]:
        """Returns the marks of the datasets of figures."""
        return self.marks(self._datasets_of(wildcards))

    def figure_sections(self, wildcards: Wildcards) -> dict[str, MarkSection]:
        """Returns the common name of datasets whose marks are judged together."""
        sections = {
            of: self.grid.family(of).section(self.grid, of) for of in self._datasets_of(wildcards)
        }
        return {dataset: section for dataset, section in sections.items() if section}

    def figure_code(self, wildcards: Wildcards) -> str:
        """Digests the code that draws the figures in a folder."""
        return self.inputs.code_digest("plot", *self._figure_modules(wildcards.of))

    def _figure_modules(self, *folders: str) -> list[str]:
        """Returns the modules that draw the figures in some folders, and know their captions."""
        return sorted({reference for of in folders for reference in self.figures[of].values()})

    def strengths(self) -> dict[str, dict[str, str]]:
        """Returns for each dataset the strength that each selected model has learned in its
        synthetic corpora.
        """
        strengths: dict[str, dict[str, str]] = {}
        for model, dataset in self.inputs.synthetic_cells():
            train = self.grid.models[model].train
            if train and train.synthetic:
                strengths.setdefault(dataset, {})[model] = train.synthetic
        return strengths

    def report_facts(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns what the report says of the run, besides what its tables say.

        It is a function because jobs read the rules too, and what templates say is read from files.
        """
        names = {"kind", "label", "task"}
        return {
            "title": self.grid.title,
            "config": self.config_name,
            "strengths": self.strengths(),
            "level": self.grid.statistics.level,
            "results": self.grid.results,
            "megabytes": self.grid.report.megabytes,
            "controls": self.controls,
            "datasets": {name: self._dataset_facts(name) for name in self.grid.run.datasets},
            "models": {
                name: self.grid.models[name].model_dump(include=names)
                for name in self.grid.run.models
            },
        }

    def _dataset_facts(self, dataset: str) -> dict[str, Any]:
        """Returns what a dataset asks, and its measures, in words."""
        section, family = self.grid.datasets[dataset], self.grid.family(dataset)
        return {
            "title": self.grid.title_of(dataset),
            "about": family.about(self.grid, dataset),
            "measures": {**self.grid.measures_of(dataset), **CONTROLS},
            "family": section.family,
            "reference": self.grid.reference_of_family(dataset),
            "sensitive": section.sensitive,
            "templates": texts_of_templates(self.grid, self.inputs.word_lists, dataset),
        }

    def report_code(self, wildcards: Wildcards) -> str:
        """Digests the code of the report: also of what its figures' captions and the pages of cells
        say.
        """
        families = {self.grid.reference_of_family(dataset) for dataset in self.grid.run.datasets}
        shown = {stage(family, name) for family in families for name in ("payload", "evidence")}
        # Of a family's package itself its view counts.
        modules = sorted(families | set(filter(exists, shown)))
        return self.inputs.code_digest("report", *self._figure_modules(*self.figures), *modules)

    def manifest_config(self, wildcards: Wildcards) -> str:
        """Returns the name of the config; as a function, because Snakemake fills {wildcards} into
        texts.
        """
        return self.config_name

    def manifest_folders(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Returns the folders of the config's files and the keys given beside them; see
        `ConfigFolders`.
        """
        folders = self.grid.folders
        return {"beside": list(folders.beside), "given": sorted(folders.given)}

    def manifest_title(self, wildcards: Wildcards) -> str:
        """Returns the title of the grid; see `manifest_config`."""
        return self.grid.title
