"""Inputs, params and resources of the rules of models: synthetic corpora, training, records,
capabilities, GPUs and mutexes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from biasgrid.inference.checkpoints.files import files_that_count
from biasgrid.runs.inputs.grid import GridInputs, Wildcards
from biasgrid.runs.inputs.params import SyntheticParams, TrainingParams
from biasgrid.training.corpora import CORPORA
from biasgrid.training.strength import without_bias, written_strength

CHECKPOINT_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
"""The files of a trained model."""


class ModelInputs:
    """Inputs, params and resources of the rules of models."""

    def __init__(self, inputs: GridInputs):
        """Keeps the inputs of the whole grid."""
        self.inputs, self.grid, self.layout = inputs, inputs.grid, inputs.layout

    def source(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the source of a model in the config, of which its record must be."""
        return self.grid.model_record_arguments(wildcards.model)

    def base_source(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Returns the config's source of the checkpoint that is fine-tuned.

        None for models of synthetic bias, which start from random weights.
        """
        train = self.grid.models[wildcards.model].train
        return self.grid.base_record_arguments(wildcards.model) if train and train.base else None

    def record_source(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the config's source of the checkpoint of a record."""
        name = wildcards.name
        if wildcards.record_kind == "models":
            return self.grid.model_record_arguments(name)
        if wildcards.record_kind == "bases":
            return self.grid.base_record_arguments(name)
        return self.grid.tokenizer_record_arguments(name)

    def record_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the inputs of rule `fetch`, which makes the record of a checkpoint.

        Returns:
            `files`, the local files of the checkpoint, so that a change makes its record anew; of a
            model that is trained here also `training` and, if it is fine-tuned, `base`.
        """
        if wildcards.record_kind == "models" and self.grid.models[wildcards.name].train:
            return self.trained_files(wildcards.name)
        return {"files": local_files(self.record_source(wildcards))}

    def trained_files(self, model: str) -> dict[str, Any]:
        """Returns the inputs of rule `fetch` for a model that is trained here."""
        folder = self.layout.trained_model(model)
        files = {"files": folder / "model.safetensors", "training": folder / "training.json"}
        train = self.grid.models[model].train
        if train and train.base:
            files["base"] = self.layout.record("bases", model)
        return files

    def strengths(self) -> list[str]:
        """Returns the names of the strengths of synthetic bias."""
        return list(self.grid.synthetic.strengths) if self.grid.synthetic else []

    def synthetic_instances(self, wildcards: Wildcards) -> list[Path]:
        """Returns the instances from which a dataset's synthetic corpora are made.

        One table per task, in the order of `dataset_corpora`.
        """
        variants = self.grid.synthetic_variants(wildcards.dataset).values()
        return [self.layout.instances(wildcards.dataset, variant) for variant in variants]

    def synthetic_bias(self, wildcards: Wildcards) -> SyntheticParams | None:
        """Returns the synthetic bias of a dataset, None if the grid has none.

        All strengths of a control are without bias: there is nothing to find.
        """
        synthetic = self.grid.synthetic
        if synthetic is None:
            return None
        section = cast(SyntheticParams, synthetic.model_dump())
        if self.grid.datasets[wildcards.dataset].control_of:
            section["strengths"] = {
                name: written_strength(without_bias(strength))
                for name, strength in synthetic.strengths.items()
            }
        return section

    def synthetic_options(self, wildcards: Wildcards) -> Mapping[str, Any]:
        """Returns the options that the family of a dataset needs for its synthetic bias."""
        return self.grid.family(wildcards.dataset).synthetic_options(self.grid, wildcards.dataset)

    def dataset_corpora(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns the names of the files of a dataset's synthetic corpora, by task."""
        return {task: CORPORA[task] for task in self.grid.synthetic_variants(wildcards.dataset)}

    def dataset_labels(self, wildcards: Wildcards) -> list[str]:
        """Returns the labels of a dataset's cases; none in families without labels."""
        return getattr(self.grid.datasets[wildcards.dataset], "labels", [])

    def training_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the inputs of rule `train`, which has a job only for models that are trained.

        Returns:
            `data` and `base` of a model that is fine-tuned. Of a model of synthetic bias `data`,
            the folders of its corpora, and `words`, the words of its vocabulary.
        """
        train = self.grid.models[wildcards.model].train
        assert train is not None, f"{wildcards.model} is not trained"
        if not train.synthetic:
            return {"data": train.data, "base": self.layout.record("bases", wildcards.model)}
        datasets = self.grid.training_datasets(wildcards.model)
        folders = [self.layout.synthetic(dataset) for dataset in datasets]
        return {
            "data": [folder / train.synthetic for folder in folders],
            "words": [folder / "words.json" for folder in folders],
        }

    def training(self, wildcards: Wildcards) -> TrainingParams | None:
        """Returns the settings by which a model is trained, None if it is not trained."""
        return cast(TrainingParams | None, self.grid.training_settings(wildcards.model))

    def training_corpus(self, wildcards: Wildcards) -> str:
        """Returns the file name of a model's corpus within each folder of corpora."""
        return CORPORA[self.grid.models[wildcards.model].task]

    def training_labels(self, wildcards: Wildcards) -> list[str]:
        """Returns the labels that a classifier learns; none for other models."""
        return list(self.grid.models[wildcards.model].labels.values())

    def probe_reference(self, wildcards: Wildcards) -> str:
        """Returns the probe that finds out a model's capabilities, as `reference:name`."""
        return self.grid.back_end_entry(wildcards.model).probe

    def probed_answers(self, wildcards: Wildcards) -> list[str]:
        """Returns the kinds of answers that need a model's capabilities.

        They do not depend on the datasets, so that another dataset does not probe a model again.
        """
        return list(self.grid.back_end_entry(wildcards.model).probed)

    def probe_code(self, wildcards: Wildcards) -> str:
        """Digests the code that finds out a model's capabilities."""
        module, _, _ = self.probe_reference(wildcards).partition(":")
        return self.inputs.code_digest("capabilities", module)

    def deciding_keys(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the keys of a model that decide its answers."""
        return self.grid.models[wildcards.model].source.deciding_keys()

    def task(self, wildcards: Wildcards) -> str:
        """Returns the task of a model."""
        return self.grid.models[wildcards.model].task

    def gpus(self, wildcards: Wildcards) -> int:
        """Returns the number of GPUs that a job of a model asks for.

        0 on the device `cpu`, and for models that compute elsewhere. On a machine without GPUs the
        job ignores it.
        """
        if self.grid.inference.device == "cpu":
            return 0
        return self.grid.models[wildcards.model].source.gpus

    def mutexes(self) -> dict[str, Callable[[Wildcards], int]]:
        """Returns the resources that one job at a time may use, such as an endpoint.

        Each is 1 for a job that needs it, else 0, so such jobs run one after the other.
        """

        def need_of(mutex: str) -> Callable[[Wildcards], int]:
            def need(wildcards: Wildcards) -> int:
                return int(
                    self.grid.exclusive_resource(wildcards.model, wildcards.get("dataset", ""))
                    == mutex
                )

            return need

        return {mutex: need_of(mutex) for mutex in self.inputs.mutexes}


def local_files(source: Mapping[str, Any]) -> list[Any]:
    """Returns the files of a source that lie on this machine, so that a change of them is noticed.

    These are the files of a checkpoint in a folder that decide its numbers, or files of responses;
    none for a checkpoint of the hub.
    """
    if source.get("folder") is None:
        return list(source.get("files", []))
    allowed = {key: source.get(key, False) for key in ("allow_pickle", "allow_remote_code")}
    return list(files_that_count(source["folder"], weights=source["weights"], **allowed))
