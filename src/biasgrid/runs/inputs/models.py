"""Inputs, params and resources of the rules of models: synthetic corpora, training, records,
capabilities, GPUs and mutexes.

Params that take `input` are not compared with those of the last run: a record that changes runs
jobs again by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from biasgrid.inference.checkpoints.files import files_that_count
from biasgrid.runs.inputs.grid import GridInputs, Wildcards
from biasgrid.training.corpora import CORPORA
from biasgrid.training.strength import without_bias, written_strength

CHECKPOINT_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
"""The files of a trained model."""


class ModelInputs:
    """Inputs, params and resources of the rules of models."""

    def __init__(self, inputs: GridInputs):
        """Keeps the inputs of the whole grid."""
        self.inputs, self.grid, self.layout = inputs, inputs.grid, inputs.layout

    def source(self, wildcards: Wildcards, input: Any) -> dict[str, Any]:
        """Returns the source of a model in the config, which its record is compared with."""
        return self.grid.source_of_model(wildcards.model)

    def base_source(self, wildcards: Wildcards, input: Any) -> dict[str, Any] | None:
        """Returns the source in the config of the checkpoint that training starts from.

        None if that is made.
        """
        train = self.grid.models[wildcards.model].train
        return self.grid.source_of_base(wildcards.model) if train and train.base else None

    def record_source(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the source of a checkpoint of which a record is made, and the files needed."""
        name = wildcards.name
        if wildcards.sort == "models":
            return self.grid.source_of_model(name)
        if wildcards.sort == "bases":
            return self.grid.source_of_base(name)
        return self.grid.source_of_tokenizer(name)

    def record_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns a checkpoint's files if they are made or lie in a folder, and of its training."""
        train = self.grid.models[wildcards.name].train if wildcards.sort == "models" else None
        if train is None:
            return {"files": local_files(self.record_source(wildcards))}
        folder = self.layout.trained_model(wildcards.name)
        files = {"files": folder / "model.safetensors", "training": folder / "training.json"}
        if train.base:
            files["base"] = self.layout.record("bases", wildcards.name)
        return files

    def strengths(self) -> list[str]:
        """Returns the names of the strengths of synthetic bias."""
        return list(self.grid.synthetic.strengths) if self.grid.synthetic else []

    def synthetic_instances(self, wildcards: Wildcards) -> list[Path]:
        """Returns the instances that a dataset's synthetic corpora are made of, task by task."""
        variants = self.grid.synthetic_variants(wildcards.dataset).values()
        return [self.layout.instances(wildcards.dataset, variant) for variant in variants]

    def synthetic_bias(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Returns the synthetic bias of a dataset, None if the grid has none.

        The bias of a control has no strength: there is nothing to find.
        """
        synthetic = self.grid.synthetic
        if synthetic is None:
            return None
        content = synthetic.model_dump()
        if self.grid.datasets[wildcards.dataset].control_of:
            content["strengths"] = {
                name: written_strength(without_bias(strength))
                for name, strength in synthetic.strengths.items()
            }
        return content

    def synthetic_options(self, wildcards: Wildcards) -> Mapping[str, Any]:
        """Returns the options that the family of a dataset needs for its synthetic bias."""
        return self.grid.family(wildcards.dataset).synthetic_options(self.grid, wildcards.dataset)

    def dataset_corpora(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns the files of a dataset's synthetic corpora, by task."""
        return {task: CORPORA[task] for task in self.grid.synthetic_variants(wildcards.dataset)}

    def dataset_labels(self, wildcards: Wildcards) -> list[str]:
        """Returns the labels of a dataset's cases; none in families without labels."""
        return getattr(self.grid.datasets[wildcards.dataset], "labels", [])

    def training_files(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the data that a model is trained on, and the record of its starting point.

        Models of synthetic bias start from a checkpoint that is made for them, of the words that
        they learn.
        """
        train = self.grid.models[wildcards.model].train
        assert train is not None, f"{wildcards.model} is not trained"
        if not train.synthetic:
            return {"data": train.data, "base": self.layout.record("bases", wildcards.model)}
        datasets = self.grid.learned_datasets(wildcards.model)
        folders = [self.layout.synthetic(dataset) for dataset in datasets]
        return {
            "data": [folder / train.synthetic for folder in folders],
            "words": [folder / "words.json" for folder in folders],
        }

    def training(self, wildcards: Wildcards) -> dict[str, Any] | None:
        """Returns the settings by which a model is trained."""
        return self.grid.training_of(wildcards.model)

    def training_corpus(self, wildcards: Wildcards) -> str:
        """Returns the name of a model's corpus, by its task, in the folder of a strength."""
        return CORPORA[self.grid.models[wildcards.model].task]

    def training_labels(self, wildcards: Wildcards) -> list[str]:
        """Returns the labels that a model learns."""
        return list(self.grid.models[wildcards.model].labels.values())

    def look(self, wildcards: Wildcards) -> str:
        """Returns the function that finds out a model's capabilities, as `reference:function`."""
        return self.grid.back_end_of(wildcards.model).look

    def look_code(self, wildcards: Wildcards) -> str:
        """Digests the code that finds out a model's capabilities."""
        return self.inputs.code_digest("capabilities", self.look(wildcards).split(":")[0])

    def deciding_keys(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the keys of a model that decide its answers."""
        return self.grid.models[wildcards.model].source.deciding_keys()

    def gpus(self, wildcards: Wildcards) -> int:
        """Returns the number of GPUs that a job of a model needs, if there are any."""
        if self.grid.inference.device == "cpu":
            return 0
        return self.grid.models[wildcards.model].source.gpus

    def mutexes(self) -> dict[str, Callable[[Wildcards], int]]:
        """Returns the resources of which there is one each.

        Jobs that need the same one run one after the other.
        """

        def need_of(mutex: str) -> Callable[[Wildcards], int]:
            def need(wildcards: Wildcards) -> int:
                return int(self.grid.turn(wildcards.model, wildcards.get("dataset", "")) == mutex)

            return need

        return {mutex: need_of(mutex) for mutex in self.inputs.mutexes}


def local_files(source: Mapping[str, Any]) -> list[Any]:
    """Returns the files that count of a checkpoint in a folder, or of answers; of the hub none.

    They are inputs, so that changed ones are noticed.
    """
    if source.get("folder") is None:
        return list(source.get("files", []))
    allowed = {key: source.get(key, False) for key in ("allow_pickle", "allow_remote_code")}
    return list(files_that_count(source["folder"], source["weights"], **allowed))
