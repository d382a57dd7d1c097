"""Inputs and params of the rules of cells: expand, predict, scorers, dumps, measure, statistics.

Snakemake compares the params of a job with those of its last run, but for those that a function
makes of `input`: a function here takes `input` where its value must run nothing again. What counts
of word lists and records is their content, of which each rule has a digest.

Values that one param can hold are one function: calling it takes Snakemake a while, and there are
thousands of cells.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from biasgrid.base.references import stage
from biasgrid.inference.models.registry import RegistryEntry, modules_of_entry
from biasgrid.runs.inputs.grid import GridInputs, Wildcards
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
        """Returns the record of the tokenizer that decides which subjects are kept.

        If all are kept, there is none.
        """
        tokenizer = self.grid.needed_variants[wildcards.dataset, wildcards.variant].tokenizer
        return self.layout.record("tokenizers", tokenizer) if tokenizer else []

    def tokenizer_source(self, wildcards: Wildcards, input: Any) -> dict[str, Any] | None:
        """Returns the source in the config of the tokenizer that decides which subjects are kept.

        None if all are kept.
        """
        tokenizer = self.grid.needed_variants[wildcards.dataset, wildcards.variant].tokenizer
        return self.grid.source_of_tokenizer(tokenizer) if tokenizer else None

    def word_lists(self, wildcards: Wildcards, input: Any) -> Any:
        """Returns the files of the word lists of a dataset's variant.

        When they are moved, nothing runs again.
        """
        return self.grid.files(wildcards.dataset, wildcards.variant)

    def word_lists_digest(self, wildcards: Wildcards) -> str | None:
        """Digests the content of the word lists of a dataset's variant."""
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

        There are none if it writes texts, or if its back end looks for none.
        """
        answer = self.grid.question(wildcards.model, wildcards.dataset).answer
        is_needed = answer != "text" and self.back_end(wildcards).look
        return self.layout.capabilities(wildcards.model) if is_needed else []

    def predict_params(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns params that decide a cell's predictions beside model, precision and device."""
        back_end = self.back_end(wildcards)
        question = self.grid.question(wildcards.model, wildcards.dataset, wildcards.get("writer"))
        modules = modules_of_entry(back_end, question.answer)
        return {
            "back_end": back_end.path_of(question.answer),
            "task": self.task(wildcards),
            "answer": question.answer,
            "choices": self.choices(wildcards),
            "code": self.inputs.code_digest("predict", *modules),
        }

    def deciding_device(self, wildcards: Wildcards) -> str | None:
        """Returns the device if it decides the precision; None if it changes no numbers."""
        inference = self.grid.inference
        return inference.device if inference.precision == "auto" else None

    def back_end(self, wildcards: Wildcards) -> RegistryEntry:
        """Returns the registry entry of a model's back end."""
        return self.grid.back_end_of(wildcards.model)

    def task(self, wildcards: Wildcards) -> str:
        """Returns the task of a model."""
        return self.grid.models[wildcards.model].task

    def choices(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the keys of the config that decide the numbers of a cell's predictions."""
        return self.grid.choices(wildcards.model, wildcards.dataset, wildcards.get("writer"))

    def instances_lists_digest(self, wildcards: Wildcards, input: Any) -> str | None:
        """Digests the word lists of a cell's instances, which these are compared with.

        None for texts of models.
        """
        if wildcards.get("writer"):
            return None
        variant = self.grid.question(wildcards.model, wildcards.dataset).variant
        return self.inputs.lists_digest(wildcards.dataset, variant)

    def writer_predictions(self, wildcards: Wildcards) -> list[Path]:
        """Returns the predictions of a cell, whose texts another model reads."""
        return self.layout.predictions_of_cell(wildcards.dataset, wildcards.writer)

    def dump_origin(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Returns the origin of a cell's dump; None if its model is asked."""
        return self.grid.models[wildcards.model].source.origin(wildcards.dataset)

    def dump(self, wildcards: Wildcards) -> str | Path:
        """Returns a cell's dump, which is downloaded first if the config gives a url."""
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
        """Returns the subject lists that a dump is compared with.

        There are none if one is missing, since dumps need none.
        """
        variant = self.grid.question(wildcards.model, wildcards.dataset).variant
        files = self.grid.files(wildcards.dataset, variant).subjects
        return list(files) if all(file.is_file() for file in files) else []

    def measure_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the files for the measures of a cell: instances, predictions, and scorers'."""
        dataset, model = wildcards.dataset, wildcards.model
        return {
            "instances": self.inputs.cell_file(self.layout.instances_of_cell, dataset, model),
            "predictions": self.inputs.predictions(dataset, model),
            "scorers": self.scorer_files(wildcards),
        }

    def scorers(self, wildcards: Wildcards) -> dict[str, tuple[str, str]]:
        """Returns kind and file of the responses of each scorer to a cell's texts."""
        dataset, writer = wildcards.dataset, wildcards.model
        scorers = {}
        for reader, kind in self.grid.question(writer, dataset).scorers.items():
            predictions = self.layout.scorer(dataset, writer, reader).predictions
            scorers[reader] = kind, str(predictions)
        return scorers

    def scorer_files(self, wildcards: Wildcards) -> list[str | Path]:
        """Returns the texts of a cell and the responses of scorers; empty without scorers."""
        files = [file for _, file in self.scorers(wildcards).values()]
        return [self.layout.texts(wildcards.dataset, wildcards.model), *files] if files else []

    def measure_params(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns params that decide a cell's measures, and facts that predictions must have."""
        dataset, model = wildcards.dataset, wildcards.model
        question = self.grid.question(model, dataset)
        stages = self.inputs.stages(wildcards, "keys", "observe", "measures", "evidence")
        return {
            "family": self.inputs.family(wildcards),
            "answer": question.answer,
            "names": list(self.inputs.metrics(dataset).names),
            "expected": self.grid.what_predictions_say(model, dataset),
            "dump": self.dump_origin(wildcards),
            "measure_options": dict(question.measure_options),
            "scorers": self.scorers(wildcards),
            "recomputed": self.recomputation(wildcards),
            "code": self.inputs.code_digest("measure", *stages),
        }

    def recomputation(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns clusters and units of measures that are computed again without each cluster.

        Measures that are sums need no such computation.
        """
        if self.grid.family(wildcards.dataset).yields_sums:
            return {}
        variant = self.grid.question(wildcards.model, wildcards.dataset).variant
        clusters = self.inputs.template_clusters(wildcards.dataset, variant)
        return {"clusters": clusters, "units": self._units(wildcards.dataset)}

    def model_record(self, wildcards: Wildcards, input: Any) -> str | None:
        """Returns the record of a cell's model, which its predictions are compared with.

        None for dumps.
        """
        if self.inputs.is_imported(wildcards.model):
            return None
        return str(self.layout.record("models", wildcards.model))

    def statistics_params(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the params that decide a cell's numbers, given its sums."""
        dataset = wildcards.dataset
        family = self.inputs.family(wildcards)
        question = self.grid.question(wildcards.model, dataset)
        return {
            "family": family,
            "declared": self.declared(wildcards),
            "units": self._units(dataset),
            "ranges": self._ranges(dataset),
            "measure_options": dict(question.measure_options),
            "clusters": self.inputs.template_clusters(dataset, question.variant),
            "templates": self.inputs.templates_digest(dataset, question.variant),
            "settings": self.grid.statistics.model_dump(),
            "controls": self.controls(wildcards),
            "code": self.inputs.code_digest("statistics", stage(family, "measures")),
        }

    def declared(self, wildcards: Wildcards) -> MetricDefinitions:
        """Returns the definitions by which a cell's measures are checked.

        Flags withhold nothing of a model that answers at random.
        """
        metrics = self.inputs.metrics(wildcards.dataset)
        return metrics.of_control() if wildcards.model in self._controls.models else metrics

    def controls(self, wildcards: Wildcards) -> list[str]:
        """Returns the controls of a cell's dataset that its model is asked too, by name."""
        return [
            name
            for name in self._controls.of(wildcards.dataset)
            if self.grid.fits(wildcards.model, name)
        ]

    def control_measures(self, wildcards: Wildcards) -> list[str]:
        """Returns the measures of the same model's controls, whose sizes are the null of a cell."""
        return [
            self.inputs.cell_file(self.layout.measures, name, wildcards.model)
            for name in self.controls(wildcards)
        ]

    def _units_of_measures(self, dataset: str) -> dict[str, str | None]:
        """Returns the units of a dataset's measures, except validity flags.

        None for a measure that no sampling changes.
        """
        units: dict[str, str | None] = {}
        for name, measure in self.grid.measures_of(dataset).items():
            if measure.limit is None:
                units[name] = measure.unit if measure.design else None
        return units

    def _ranges_of_measures(self, dataset: str) -> dict[str, tuple[float, float]]:
        """Returns the ranges of measures that have others than their units."""
        return {
            name: measure.range
            for name, measure in self.grid.measures_of(dataset).items()
            if measure.range
        }
