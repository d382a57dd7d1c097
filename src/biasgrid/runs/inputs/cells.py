"""Inputs and params of the rules of cells: expand, predict, scorers, dumps, measure, statistics.

Snakemake runs a job again if a param has changed since its last run. Where a file may move without
running anything again, the rule wraps its path in `grid.not_compared`, and another param or input
of the rule has the digest of its content.

A param that holds several values (see `params`) comes from one method: Snakemake takes a while to
call a function, and there are thousands of cells.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from biasgrid.base.references import stage_module
from biasgrid.inference.models.registry import RegistryEntry, code_references
from biasgrid.runs.inputs.grid import GridInputs, Wildcards
from biasgrid.runs.inputs.params import MeasureParams, PredictParams, StatisticsParams
from biasgrid.runs.layout import controls_of_config
from biasgrid.tables.metric import MetricDefinitions


class CellInputs:
    """Inputs and params of the rules of variants, cells and shards."""

    def __init__(self, inputs: GridInputs):
        """Keeps the inputs of the whole grid."""
        self.inputs, self.grid, self.layout = inputs, inputs.grid, inputs.layout
        self._controls = controls_of_config(inputs.grid)
        self._units = cache(self._units_of_measures)
        self._ranges = cache(self._ranges_of_measures)

    def tokenizer_record(self, wildcards: Wildcards) -> Path | list[Path]:
        """Returns the record of the tokenizer that filters the subjects; [] if all are kept."""
        tokenizer = self.grid.needed_variants[wildcards.dataset, wildcards.variant].tokenizer
        return self.layout.record("tokenizers", tokenizer) if tokenizer else []

    def tokenizer_source(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Returns the config's source of the tokenizer that filters the subjects; None without."""
        tokenizer = self.grid.needed_variants[wildcards.dataset, wildcards.variant].tokenizer
        return self.grid.tokenizer_record_arguments(tokenizer) if tokenizer else None

    def word_list_files(self, wildcards: Wildcards) -> Any:
        """Returns the word lists of a dataset's variant, as the files that its family reads."""
        return self.grid.files(wildcards.dataset, wildcards.variant)

    def word_lists_digest(self, wildcards: Wildcards) -> str | None:
        """Digests the content of the word lists of a dataset's variant.

        None in submitted jobs, which read no lists.
        """
        return self.inputs.lists_digest(wildcards.dataset, wildcards.variant)

    def predict_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the files for the answers of a cell: instances, model and its capabilities."""
        dataset, model = wildcards.dataset, wildcards.model
        return {
            "instances": self.inputs.cell_file(self.layout.instances_of_cell, dataset, model),
            "model": self.layout.record("models", model),
            "capabilities": self.capabilities(wildcards),
        }

    def capabilities(self, wildcards: Wildcards) -> Path | list[Path]:
        """Returns the capabilities of a cell's model.

        [] if its back end has no capabilities to find out for this kind of answers.
        """
        answer = self.grid.question(wildcards.model, wildcards.dataset).answer
        is_needed = answer in self.back_end(wildcards).probed
        return self.layout.capabilities(wildcards.model) if is_needed else []

    def predict_params(self, wildcards: Wildcards) -> PredictParams:
        """Returns param `cell` of rules `predict` and `predict_scorer`."""
        back_end = self.back_end(wildcards)
        question = self.grid.question(wildcards.model, wildcards.dataset, wildcards.get("writer"))
        modules = code_references(back_end, question.answer)
        return {
            "back_end": back_end.class_path(question.answer),
            "task": self.task(wildcards),
            "answer": question.answer,
            "choices": self.choices(wildcards),
            "code": self.inputs.code_digest("predict", *modules),
        }

    def back_end(self, wildcards: Wildcards) -> RegistryEntry:
        """Returns the registry entry of a model's back end."""
        return self.grid.back_end_entry(wildcards.model)

    def task(self, wildcards: Wildcards) -> str:
        """Returns the task of a model."""
        return self.grid.models[wildcards.model].task

    def choices(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the settings that decide a cell's predictions, such as `scoring`."""
        return self.grid.deciding_settings(
            wildcards.model, wildcards.dataset, wildcards.get("writer")
        )

    def instances_lists_digest(self, wildcards: Wildcards) -> str | None:
        """Digests the word lists from which a cell's instances must have been made.

        None for texts that a model wrote, which come from no lists, and in submitted jobs, which
        read none.
        """
        if wildcards.get("writer"):
            return None
        variant = self.grid.question(wildcards.model, wildcards.dataset).variant
        return self.inputs.lists_digest(wildcards.dataset, variant)

    def writer_predictions(self, wildcards: Wildcards) -> list[Path]:
        """Returns the predictions of the cell of a writer, whose texts other models read."""
        return self.layout.predictions_of_cell(wildcards.dataset, wildcards.writer)

    def dump_origin(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Returns the origin of a cell's dump; None if its model is asked."""
        return self.grid.models[wildcards.model].source.origin(wildcards.dataset)

    def dump(self, wildcards: Wildcards) -> str | Path:
        """Returns a cell's dump: the file in the config, or the place of its download."""
        origin = self.dump_origin(wildcards)
        return (origin and origin["file"]) or self.layout.dump(wildcards.dataset, wildcards.model)

    def dump_reader(self, wildcards: Wildcards) -> str:
        """Returns the reader of a cell's dump, as `reference:function`."""
        return self.back_end(wildcards).path

    def dump_code(self, wildcards: Wildcards) -> str:
        """Digests the code that reads a cell's dump."""
        module, _, _ = self.dump_reader(wildcards).partition(":")
        return self.inputs.code_digest("import_predictions", module)

    def subject_lists(self, wildcards: Wildcards) -> list[Path]:
        """Returns the subject lists that a dump is compared with; none if one is missing.

        A dump has its own instances, so it can be imported without any list.
        """
        variant = self.grid.question(wildcards.model, wildcards.dataset).variant
        files = self.grid.files(wildcards.dataset, variant).subjects
        return list(files) if all(file.is_file() for file in files) else []

    def measure_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the inputs of rule `measure`; `texts` and `scorers` are [] without scorers."""
        dataset, model = wildcards.dataset, wildcards.model
        scorers = [file for _, file in self.scorers(wildcards).values()]
        return {
            "instances": self.inputs.cell_file(self.layout.instances_of_cell, dataset, model),
            "predictions": self.inputs.predictions(dataset, model),
            "texts": self.layout.texts(dataset, model) if scorers else [],
            "scorers": scorers,
        }

    def scorers(self, wildcards: Wildcards) -> dict[str, tuple[str, str]]:
        """Returns by scorer the kind of its responses to a cell's texts, and their file."""
        dataset, writer = wildcards.dataset, wildcards.model
        scorers = {}
        for scorer, kind in self.grid.question(writer, dataset).scorers.items():
            predictions = self.layout.scorer(dataset, writer, scorer).predictions
            scorers[scorer] = kind, str(predictions)
        return scorers

    def measure_params(self, wildcards: Wildcards) -> MeasureParams:
        """Returns param `cell` of rule `measure`."""
        dataset, model = wildcards.dataset, wildcards.model
        question = self.grid.question(model, dataset)
        stages = self.inputs.stages(wildcards, "keys", "observe", "measures", "evidence")
        return {
            "family": self.inputs.family(wildcards),
            "answer": question.answer,
            "names": list(self.inputs.metrics(dataset).measure_names),
            "expected": self.grid.predictions_provenance(model, dataset),
            "dump": self.dump_origin(wildcards),
            "measure_options": dict(question.measure_options),
            "scorers": self.scorers(wildcards),
            "jackknife": self.jackknife_settings(wildcards),
            "code": self.inputs.code_digest("measure", *stages),
        }

    def jackknife_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns `clusters` and `units` of measures that are recomputed without each cluster.

        Empty for measures that are functions of sums: rule `statistics` leaves clusters out of
        these without the observations.
        """
        if self.grid.family(wildcards.dataset).yields_sums:
            return {}
        variant = self.grid.question(wildcards.model, wildcards.dataset).variant
        clusters = self.inputs.template_clusters(wildcards.dataset, variant)
        return {"clusters": clusters, "units": self._units(wildcards.dataset)}

    def model_record(self, wildcards: Wildcards) -> str | None:
        """Returns the record of the model that must have made a cell's predictions.

        None for dumps.
        """
        if self.inputs.is_imported(wildcards.model):
            return None
        return str(self.layout.record("models", wildcards.model))

    def statistics_params(self, wildcards: Wildcards) -> StatisticsParams:
        """Returns param `cell` of rule `statistics`."""
        dataset = wildcards.dataset
        family = self.inputs.family(wildcards)
        question = self.grid.question(wildcards.model, dataset)
        return {
            "family": family,
            "definitions": self.definitions(wildcards),
            "units": self._units(dataset),
            "ranges": self._ranges(dataset),
            "measure_options": dict(question.measure_options),
            "clusters": self.inputs.template_clusters(dataset, question.variant),
            "templates": self.inputs.templates_digest(dataset, question.variant),
            "settings": self.grid.statistics.model_dump(),
            "controls": self.controls(wildcards),
            "code": self.inputs.code_digest("statistics", stage_module(family, "measures")),
        }

    def definitions(self, wildcards: Wildcards) -> MetricDefinitions:
        """Returns the definitions by which a cell's measures are checked.

        Those of a model that answers at random have no limits: its numbers are never withheld.
        """
        metrics = self.inputs.metrics(wildcards.dataset)
        return metrics.for_control() if wildcards.model in self._controls.models else metrics

    def controls(self, wildcards: Wildcards) -> list[str]:
        """Returns the names of the controls of a cell's dataset that its model can answer."""
        return [
            name
            for name in self._controls.dataset_controls(wildcards.dataset)
            if self.grid.fits(wildcards.model, name)
        ]

    def control_measures(self, wildcards: Wildcards) -> list[str]:
        """Returns the measures of the same model on each of `controls`, in their order.

        Their sizes are the expectation under no effect for the cell.
        """
        return [
            self.inputs.cell_file(self.layout.measures, name, wildcards.model)
            for name in self.controls(wildcards)
        ]

    def _units_of_measures(self, dataset: str) -> dict[str, str | None]:
        """Returns the units of a dataset's measures, except validity flags.

        None for a measure that no sampling changes.
        """
        units: dict[str, str | None] = {}
        for name, measure in self.grid.dataset_measures(dataset).items():
            if measure.limit is None:
                units[name] = measure.unit if measure.design else None
        return units

    def _ranges_of_measures(self, dataset: str) -> dict[str, tuple[float, float]]:
        """Returns the ranges of measures that differ from the range of their unit."""
        return {
            name: measure.range
            for name, measure in self.grid.dataset_measures(dataset).items()
            if measure.range
        }
