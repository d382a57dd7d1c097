"""What may stand in a config.

The models here and in `model_sections` are the one source: the schema in `workflow/schemas/` and the tables of keys in
`config/README.md` are generated from them (`biasgrid schema`), and a test keeps them in step.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from biasgrid.config.model_sections import Model, Tokenizer
from biasgrid.config.section import Name, Scoring, Section, Variant
from biasgrid.families.underspecified.word_lists import WordListFiles


class Limit(Section):
    """Cuts word lists down, for demos and first looks."""

    templates: int | None = Field(None, gt=0, description="how many templates to keep")
    subjects: int | None = Field(None, gt=0, description="how many subjects to keep of each list")
    attributes: int | None = Field(None, gt=0, description="how many attributes to keep of each type")


class DatasetVariant(Section):
    """What one kind of model is asked. Files are relative to `word_lists`."""

    templates: str = Field(description="template file")
    filler: str | None = Field(None, description="file whose line is put before every context")
    subjects: list[str] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description="subject lists in place of the dataset's; without them, variants of masked language models keep "
        "the subjects that are one token of their tokenizer",
    )


class Dataset(Section):
    """A dataset: a row of the grid."""

    family: Literal["underspecified"] = Field("underspecified", description="what is asked and how it is measured")
    title: str = Field(description="name in plots and the report")
    subjects: list[str] = Field(
        min_length=1, max_length=2, description="one subject list (all pairs) or two (all pairs across them)"
    )
    attributes: str = Field(description="attribute file")
    pronouns: dict[str, str] = Field(
        default_factory=dict,
        description="pronoun of each cluster of subjects; masked LMs are asked for it too",
    )
    shards: int = Field(1, ge=1, le=256, description="jobs that share the inference of a cell")
    limit: Limit = Field(Limit(), description="cuts the word lists down")
    variants: dict[Variant, DatasetVariant] = Field(min_length=1, description="what each kind of model is asked")


class Inference(Section):
    """How models are run."""

    precision: Literal["float32", "tf32", "float16", "bfloat16", "auto"] = Field(
        "float32", description="arithmetic; `auto` is bfloat16 on GPUs that have it"
    )
    token_budget: int = Field(16384, ge=1, description="tokens per batch; changes speed, not numbers")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="where to run; changes speed, not numbers (but see `precision: auto`). With `auto` and `cuda` "
        "every job leases one of the GPUs that it sees and waits where none is free; `auto` takes the CPU where there "
        "is no GPU",
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
        description="largest planted difference in answer probability, by name"
    )
    repeats: int = Field(8, gt=0, description="answers that each instance gets in the corpus")
    seed: int = Field(1, ge=0, description="seed of the associations and the answers")


class Run(Section):
    """What is run: cells are all pairs of these models and datasets."""

    models: list[Name] = Field(min_length=1, description="names of models")
    datasets: list[Name] = Field(min_length=1, description="names of datasets")


class Config(Section):
    """A whole config."""

    title: str = Field("biasgrid", description="title of the report")
    results: str = Field("results", pattern=r"^[^{}<>]+$", description="folder of everything that is made")
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

    def cells(self) -> Iterator[tuple[str, str]]:
        """Yields model and dataset of every cell of the grid."""
        for dataset in self.run.datasets:
            for model in self.run.models:
                yield model, dataset

    def scoring_of(self, model: str, dataset: str) -> Scoring:
        """Returns how a cell is scored: an imported one as its dump was."""
        dump = self.models[model].predictions.get(dataset)
        return dump.scoring if dump else self.scoring

    def files(self, dataset: str, variant: str) -> WordListFiles:
        """Returns the word lists of a dataset's variant."""
        folder = Path(self.word_lists)
        entry = self.datasets[dataset]
        chosen = entry.variants[variant]
        return WordListFiles(
            templates=folder / chosen.templates,
            subjects=tuple(folder / name for name in chosen.subjects or entry.subjects),
            attributes=folder / entry.attributes,
            filler=folder / chosen.filler if chosen.filler else None,
            mask=self.tokenizers[variant.removeprefix("lm-")].mask if variant.startswith("lm-") else None,
            limit=entry.limit.model_dump(exclude_none=True),
        )

    def filtering_tokenizer(self, dataset: str, variant: str) -> str | None:
        """Returns the tokenizer that decides which subjects are kept, None where all are."""
        if not variant.startswith("lm-") or self.datasets[dataset].variants[variant].subjects:
            return None
        return variant.removeprefix("lm-")

    def source_of_model(self, name: str) -> dict[str, Any]:
        """Returns where a model's files are, as arguments of `biasgrid.models.fetch.make_record`."""
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
        """Returns where a tokenizer's files are, as arguments of `biasgrid.models.fetch.make_record`."""
        source = self.tokenizers[name].model_dump(exclude={"mask"})
        return source | {"weights": False, "allow_pickle": False}

    def selected_variants(self) -> list[tuple[str, str]]:
        """Returns dataset and variant of all instances tables that are expanded: dumps bring their own."""
        asked = ((dataset, self.models[model]) for model, dataset in self.cells())
        return list(dict.fromkeys((dataset, model.variant) for dataset, model in asked if not model.predictions))
