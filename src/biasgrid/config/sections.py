"""What may stand in a config.

These models are the one source: the schema in `workflow/schemas/` and the tables of keys in `config/README.md` are
generated from them (`biasgrid schema`), and a test keeps them in step.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from biasgrid.families.underspecified.word_lists import WordListFiles
from biasgrid.models.hyperparameters import Hyperparameters

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Variant = Annotated[str, Field(pattern=r"^(qa|lm)(-[A-Za-z0-9]+)*$")]
Task = Literal["fill-mask", "question-answering"]


class Section(BaseModel):
    """A part of the config: no unknown keys, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Section):
    """Where a checkpoint comes from."""

    checkpoint: str | None = Field(None, description="repository of the Hugging Face hub, such as `roberta-base`")
    revision: str | None = Field(None, description="commit, tag or branch of the repository; a commit is the safest")
    folder: str | None = Field(None, description="local folder with a checkpoint, in place of `checkpoint`")

    @model_validator(mode="after")
    def _one_source(self) -> Source:
        if (self.checkpoint is None) == (self.folder is None):
            raise ValueError("expected either `checkpoint` (with `revision`) or `folder`")
        if (self.checkpoint is None) != (self.revision is None):
            raise ValueError("expected `revision` exactly where there is a `checkpoint`")
        return self


class Training(Section):
    """A model that the workflow trains itself."""

    base: Source | None = Field(None, description="the checkpoint to start from")
    data: str | None = Field(
        None,
        description="SQuAD-format JSON (question answering); text, one a line, or cloze lines: text with the mask "
        "token and, behind tabs, the words that fill it (fill-mask)",
    )
    planted: str | None = Field(
        None,
        description="name of a strength in `planted.strengths`: trains a tiny model on the planted corpus",
    )
    hyperparameters: Hyperparameters = Field(Hyperparameters(), description="how to train")

    @model_validator(mode="after")
    def _one_kind(self) -> Training:
        if (self.planted is None) == (self.base is None or self.data is None):
            raise ValueError("expected either `planted`, or both `base` and `data`")
        return self


class Model(Section):
    """A model: a column of the grid."""

    task: Task = Field(description="the Hugging Face task it is used for")
    variant: Variant = Field(
        description="which variant of the datasets it answers: `qa`, `qa-newsqa`, or `lm-` and a key of `tokenizers`"
    )
    kind: str = Field(description="kind of model, which groups the plots: SQuAD, NewsQA, LM, ...")
    label: str = Field(description="name in plots; models of different kinds may share it, such as `BERT base`")
    checkpoint: str | None = Field(None, description="repository of the Hugging Face hub")
    revision: str | None = Field(None, description="commit, tag or branch of the repository")
    folder: str | None = Field(None, description="local folder with a checkpoint")
    train: Training | None = Field(None, description="trains the model in place of fetching it")
    allow_pickle: bool = Field(False, description="whether weights may be pickled files (`pytorch_model.bin`)")

    @model_validator(mode="after")
    def _one_source(self) -> Model:
        given = [key for key in ("checkpoint", "folder", "train") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError("expected exactly one of `checkpoint`, `folder` and `train`")
        if (self.checkpoint is None) != (self.revision is None):
            raise ValueError("expected `revision` exactly where there is a `checkpoint`")
        return self


class Tokenizer(Section):
    """A family of tokenizers of masked language models."""

    mask: str = Field(description="its mask token, such as `[MASK]`")
    checkpoint: str | None = Field(None, description="repository of the hub whose tokenizer stands for the family")
    revision: str | None = Field(None, description="commit, tag or branch of the repository")
    folder: str | None = Field(None, description="local folder with such a tokenizer")


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
        description="where to run; changes speed, not numbers (but see `precision: auto`). "
        "`auto` runs one job at a time, for the GPU; on a machine without one write `cpu`",
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
    results: str = Field("results", description="folder of everything that is made")
    word_lists: str = Field("word_lists", description="folder of the word lists")
    scoring: Literal["exact", "unqover"] = Field(
        "exact",
        description="`unqover` repeats the original's choices where they change numbers (see docs/scoring.md)",
    )
    inference: Inference = Field(Inference(), description="how models are run")
    planted: Planted | None = Field(None, description="planted bias, for models with `train.planted`")
    tokenizers: dict[Name, Tokenizer] = Field(default_factory=dict, description="families of tokenizers, by name")
    models: dict[Name, Model] = Field(min_length=1, description="registry of models, by name")
    datasets: dict[Name, Dataset] = Field(min_length=1, description="registry of datasets, by name")
    run: Run = Field(description="what is run")

    def cells(self) -> Iterator[tuple[str, str]]:
        """Yields model and dataset of every cell of the grid."""
        for dataset in self.run.datasets:
            for model in self.run.models:
                yield model, dataset

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
        """Returns where a model's files are, as arguments of `biasgrid.models.checkpoint.make_record`."""
        model = self.models[name]
        folder = f"{self.results}/trained/{name}" if model.train else model.folder
        source = {"checkpoint": model.checkpoint, "revision": model.revision, "folder": folder}
        return source | {"weights": True, "allow_pickle": model.allow_pickle}

    def source_of_tokenizer(self, name: str) -> dict[str, Any]:
        """Returns where a tokenizer's files are, as arguments of `biasgrid.models.checkpoint.make_record`."""
        tokenizer = self.tokenizers[name]
        source = {"checkpoint": tokenizer.checkpoint, "revision": tokenizer.revision, "folder": tokenizer.folder}
        return source | {"weights": False, "allow_pickle": False}

    def selected_variants(self) -> list[tuple[str, str]]:
        """Returns dataset and variant of all instances tables that the run needs."""
        return list(dict.fromkeys((dataset, self.models[model].variant) for model, dataset in self.cells()))
