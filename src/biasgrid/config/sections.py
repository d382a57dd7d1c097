"""What may stand in a config.

The models here, in `dataset_sections` and in `model_sections` are the one source: the schema in `workflow/schemas/`
and the tables of keys in `config/README.md` are generated from them (`biasgrid schema`), and a test keeps them in step.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from biasgrid.config.dataset_sections import CounterfactualDataset, Dataset, UnderspecifiedDataset
from biasgrid.config.model_sections import Model, Tokenizer
from biasgrid.families.counterfactual.packs import PackFiles
from biasgrid.families.underspecified.word_lists import WordListFiles
from biasgrid.section import FOLDER, Name, Scoring, Section
from biasgrid.tables.measure import Measure

PRONOUNS = [3, 4]
"""Which candidates of the underspecified family are pronouns."""
CASES = "cases"
"""The one variant of counterfactual datasets."""


class Inference(Section):
    """How models are run."""

    precision: Literal["float32", "tf32", "float16", "bfloat16", "auto"] = Field(
        "float32", description="arithmetic; `auto` is bfloat16 on GPUs and processors that multiply it, else float32"
    )
    token_budget: int = Field(16384, ge=1, description="tokens per batch; changes speed, not numbers")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="where to run; changes the speed of inference, not its numbers (but see `precision: auto`). Models "
        "that are trained on a GPU have other weights than on a CPU; another device trains none again. With `auto` and "
        "`cuda` every job leases one of the GPUs that it sees and waits where none is free; `auto` takes the CPU where "
        "there is no GPU",
    )
    jobs_per_gpu: int = Field(
        1, ge=1, description="jobs that may have one GPU at a time, so that one loads its model while another computes"
    )
    time_limit: float = Field(
        60,
        ge=0.01,
        allow_inf_nan=False,
        description="minutes without progress after which an inference job ends itself",
    )


class Planted(Section):
    """Planted bias: corpora from which tiny models learn associations of known strength."""

    strengths: dict[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        description="largest planted difference in answer probability, by name; in cases of text classification, "
        "largest share of a group's labels that are guesses"
    )
    repeats: int = Field(8, gt=0, description="answers, or labels, that each instance gets in the corpus")
    seed: int = Field(1, ge=0, description="seed of what is planted and of the answers")


class Run(Section):
    """What is run: cells are the pairs of these models and datasets that fit."""

    models: list[Name] = Field(min_length=1, description="names of models")
    datasets: list[Name] = Field(min_length=1, description="names of datasets")


class Config(Section):
    """A whole config."""

    title: str = Field("biasgrid", description="title of the report")
    results: str = Field("results", pattern=FOLDER, description="folder of everything that is made")
    word_lists: str = Field("word_lists", description="folder of the word lists")
    scoring: Scoring = Field(
        "exact",
        description="`unqover` repeats the original's choices where they change numbers (see docs/scoring.md)",
    )
    inference: Inference = Field(Inference(), description="how models are run")
    planted: Planted | None = Field(None, description="planted bias, for models with `train.planted`")
    tokenizers: dict[Name, Tokenizer] = Field(default_factory=dict, description="families of tokenizers, by name")
    models: dict[Name, Model] = Field(min_length=1, description="registry of models, by name")
    datasets: dict[Name, Dataset] = Field(min_length=1, description="registry of datasets, by name")
    run: Run = Field(description="what is run")

    @field_validator("results")
    @classmethod
    def _one_spelling(cls, folder: str) -> str:
        # To Snakemake `results/x` and `results//x` are two files, and the second is not there.
        return os.path.normpath(folder)

    @property
    def underspecified(self) -> dict[str, UnderspecifiedDataset]:
        """The datasets of the underspecified family, by name."""
        return {name: entry for name, entry in self.datasets.items() if isinstance(entry, UnderspecifiedDataset)}

    @property
    def counterfactual(self) -> dict[str, CounterfactualDataset]:
        """The datasets of the counterfactual family, by name."""
        return {name: entry for name, entry in self.datasets.items() if isinstance(entry, CounterfactualDataset)}

    def fits(self, model: str, dataset: str) -> bool:
        """Says whether a dataset is for a model.

        Underspecified datasets are for models with a variant, counterfactual ones for those of their task, classifiers
        among them only with their classes.
        """
        entry, asked = self.models[model], self.datasets[dataset]
        if isinstance(asked, UnderspecifiedDataset):
            return entry.variant is not None
        return entry.task == asked.task and not entry.predictions and set(entry.labels) == set(asked.labels)

    def variant_of(self, model: str, dataset: str) -> str:
        """Returns which variant of a dataset a model answers; counterfactual datasets have one, `cases`.

        Raises:
            ValueError: the dataset is not for the model.
        """
        variant = self.models[model].variant if dataset in self.underspecified else CASES
        if variant is None or not self.fits(model, dataset):
            raise ValueError(f"{dataset} is not for {model}")
        return variant

    def cells(self, *families: str) -> list[tuple[str, str]]:
        """Returns model and dataset of every cell of the grid, dataset by dataset, of all or of some families."""
        return [
            (model, dataset)
            for dataset in self.run.datasets
            for model in self.run.models
            if (not families or self.datasets[dataset].family in families) and self.fits(model, dataset)
        ]

    def compares_groups(self, dataset: str) -> bool:
        """Says whether the groups of a dataset are compared."""
        return self.datasets[dataset].measures != []

    def group_cells(self) -> list[tuple[str, str]]:
        """Returns model and dataset of every cell whose groups are compared."""
        return [(model, dataset) for model, dataset in self.cells() if self.compares_groups(dataset)]

    def measures_of(self, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of a dataset by name."""
        entry = self.datasets[dataset]
        declared: Mapping[str, Measure] = import_module(f"biasgrid.families.{entry.family}.declared").measures(entry)
        return declared

    def measure_options(self, model: str, dataset: str) -> dict[str, Any]:
        """Returns what decides the measures of a cell: see `measure_cell` of its family."""
        entry, task = self.datasets[dataset], self.models[model].task
        if isinstance(entry, CounterfactualDataset):
            own = {"text-classification": {"labels"}, "fill-mask": {"top_k"}}.get(task, set())
            return {"task": task} | entry.model_dump(include={"measures", "failure_threshold", *own})
        of_groups = {"measures", "failure_threshold"} if self.compares_groups(dataset) else {"measures"}
        return {"task": task, "scoring": self.scoring_of(model, dataset)} | entry.model_dump(include=of_groups)

    def scoring_of(self, model: str, dataset: str) -> Scoring:
        """Returns how a cell of the underspecified family is scored: an imported one as its dump was."""
        dump = self.models[model].predictions.get(dataset)
        return dump.scoring if dump else self.scoring

    def choices_of(self, model: str, dataset: str) -> dict[str, Any]:
        """Returns what decides the numbers of a cell's predictions beside model and precision.

        They are fields of `biasgrid.engine.settings.Settings`.
        """
        entry, asked = self.models[model], self.datasets[dataset]
        if isinstance(asked, UnderspecifiedDataset):
            masked = {"target_scoring": asked.target_scoring, "either_case": PRONOUNS if asked.pronouns else []}
            return {"scoring": self.scoring} | (masked if entry.task == "fill-mask" else {})
        if asked.task == "text-classification":
            return {"labels": [entry.labels[label] for label in asked.labels]}
        return {"target_scoring": asked.target_scoring, "ranks": True} if asked.task == "fill-mask" else {}

    def what_predictions_say(self, model: str, dataset: str) -> dict[str, Any]:
        """Returns what a cell's predictions must say of themselves in their provenance."""
        task = {"task": self.models[model].task}
        if dataset in self.underspecified:
            return task | {"scoring": self.scoring_of(model, dataset)}
        return task | self.choices_of(model, dataset)

    def files(self, dataset: str, variant: str) -> PackFiles | WordListFiles:
        """Returns the files that a dataset's variant is made of."""
        return self.pack_files(dataset) if dataset in self.counterfactual else self.word_list_files(dataset, variant)

    def pack_files(self, dataset: str) -> PackFiles:
        """Returns the files of a counterfactual dataset."""
        folder, entry = Path(self.word_lists), self.counterfactual[dataset]
        return PackFiles(
            templates=folder / entry.templates,
            fillings=folder / entry.fillings if entry.fillings else None,
            biases=folder / entry.groups,
            bias_types=None if entry.bias_types is None else tuple(entry.bias_types),
            task=entry.task,
        )

    def word_list_files(self, dataset: str, variant: str) -> WordListFiles:
        """Returns the word lists of an underspecified dataset's variant."""
        folder, entry = Path(self.word_lists), self.underspecified[dataset]
        chosen, masked = entry.variants[variant], variant.startswith("lm-")
        return WordListFiles(
            templates=folder / chosen.templates,
            subjects=tuple(folder / name for name in chosen.subjects or entry.subjects),
            attributes=folder / entry.attributes,
            filler=folder / chosen.filler if chosen.filler else None,
            mask=self.tokenizers[variant.removeprefix("lm-")].mask if masked else None,
            limit=entry.limit.model_dump(exclude_none=True),
            pronouns=entry.pronouns if masked else {},
        )

    def filtering_tokenizer(self, dataset: str, variant: str) -> str | None:
        """Returns the tokenizer that decides which subjects are kept, None where all are."""
        entry = self.underspecified.get(dataset)
        if entry is None or not variant.startswith("lm-") or entry.variants[variant].subjects or entry.target_scoring:
            return None
        return variant.removeprefix("lm-")

    def source_of_model(self, name: str) -> dict[str, Any]:
        """Returns where a model's files are, as arguments of `biasgrid.checkpoints.fetch.make_record`."""
        model = self.models[name]
        folder = f"{self.results}/trained/{name}" if model.train else model.folder
        source = {"checkpoint": model.checkpoint, "revision": model.revision, "folder": folder}
        allowed = {"allow_pickle": model.allow_pickle, "allow_remote_code": model.allow_remote_code}
        return source | {"weights": True} | allowed | {"training": self.training_of(name)}

    def training_of(self, name: str) -> dict[str, Any] | None:
        """Returns how a model is trained: its section `train`, with the section `planted` where it names a strength."""
        train = self.models[name].train
        if train is None:
            return None
        training = train.model_dump(mode="json")
        if train.planted is not None and self.planted is not None:
            strengths = {train.planted: self.planted.strengths[train.planted]}
            training["planted"] = self.planted.model_dump(mode="json") | {"strengths": strengths}
        return training

    def source_of_base(self, name: str) -> dict[str, Any]:
        """Returns where the checkpoint is that a model's training starts from, as arguments of `make_record`."""
        model = self.models[name]
        if model.train is None or model.train.base is None:
            raise ValueError(f"{name} is not trained from a checkpoint")
        return model.train.base.model_dump() | {"weights": True, "allow_pickle": model.allow_pickle}

    def source_of_tokenizer(self, name: str) -> dict[str, Any]:
        """Returns where a tokenizer's files are, as arguments of `biasgrid.checkpoints.fetch.make_record`."""
        source = self.tokenizers[name].model_dump(exclude={"mask"})
        return source | {"weights": False, "allow_pickle": False}

    def learned_datasets(self, model: str) -> list[str]:
        """Returns the datasets whose planted corpora a model is trained on, selected or not; none for other models."""
        entry = self.models[model]
        if entry.train is None or entry.train.planted is None:
            return []
        if entry.train.dataset is not None:
            return [entry.train.dataset]
        return [name for name, asked in self.underspecified.items() if entry.variant in asked.variants]

    def planted_variants(self, dataset: str) -> dict[str, str]:
        """Returns the variants of a dataset that planted corpora are made of, by the task of models that learn them."""
        learners = [name for name in self.models if dataset in self.learned_datasets(name)]
        return {self.models[name].task: self.variant_of(name, dataset) for name in learners}

    def needed_variants(self, *families: str) -> list[tuple[str, str]]:
        """Returns dataset and variant of all instances tables that are expanded: also those that models learn from."""
        learned = {name for model in self.run.models for name in self.learned_datasets(model)}
        planted = [
            (name, variant)
            for name in self.datasets
            if name in learned and (not families or self.datasets[name].family in families)
            for variant in self.planted_variants(name).values()
        ]
        return list(dict.fromkeys(self.selected_variants(*families) + planted))

    def selected_variants(self, *families: str) -> list[tuple[str, str]]:
        """Returns dataset and variant of all instances tables that models are asked: dumps bring their own."""
        asked = [(dataset, model) for model, dataset in self.cells(*families) if not self.models[model].predictions]
        return list(dict.fromkeys((dataset, self.variant_of(model, dataset)) for dataset, model in asked))
