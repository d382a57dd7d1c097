"""The config: what may stand in it, and what is wrong with one.

These models are the one source: the schema in `workflow/schemas/` and the table of keys in `config/README.md` are
generated from them (`biasgrid schema`), and a test keeps them in step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from biasgrid.families.underspecified.word_lists import WordListFiles, WordLists, read_word_lists
from biasgrid.faults import Fault, InputError, nearest, one_of

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


class Hyperparameters(Section):
    """How a model is trained; the defaults are those of UnQover's SQuAD models."""

    epochs: float = Field(2, gt=0, description="passes over the data")
    learning_rate: float = Field(3e-5, gt=0, description="peak learning rate")
    batch_size: int = Field(20, gt=0, description="rows per step")
    max_length: int = Field(384, gt=0, description="tokens per window")
    stride: int = Field(128, ge=0, description="tokens that neighbouring windows share (question answering)")
    mask_probability: float = Field(0.15, gt=0, lt=1, description="share of tokens that are masked (fill-mask)")
    seed: int = Field(3435, ge=0, description="seed of initialisation, order and masking")


class Training(Section):
    """A model that the workflow trains itself."""

    base: Source | None = Field(None, description="the checkpoint to start from")
    data: str | None = Field(None, description="SQuAD-format JSON (question answering) or text, one a line (fill-mask)")
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
        if (self.task == "fill-mask") != self.variant.startswith("lm-"):
            raise ValueError("expected a variant `lm-...` for fill-mask and `qa...` for question-answering")
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
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="where to run; changes speed, not numbers")


class Planted(Section):
    """Planted bias: corpora from which tiny models learn associations of known strength."""

    strengths: dict[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        description="largest planted difference in answer probability, by name"
    )
    repeats: int = Field(8, gt=0, description="how often each instance stands in the corpus")
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


def read_config(path: str | Path) -> dict[str, Any]:
    """Reads a YAML file.

    Raises:
        InputError: it is missing, or not YAML, or not a mapping.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError([Fault(str(path), "", f"cannot be read ({error.strerror})", "a config in YAML")]) from None
    except UnicodeDecodeError as error:
        raise InputError([Fault(str(path), "", f"byte {error.start + 1} is not UTF-8", "a config in YAML")]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else ""
        problem = f"not YAML ({getattr(error, 'problem', error)})"
        raise InputError([Fault(str(path), where, problem, "a config in YAML")]) from None
    if not isinstance(content, dict):
        raise InputError([Fault(str(path), "", "not a mapping", "keys such as models, datasets and run")])
    return content


def parse_config(content: Mapping[str, Any], source: str) -> Config:
    """Checks a config's keys and values, and that what it names exists in it.

    Args:
        content: the config as a mapping.
        source: the name of its file, for messages.

    Raises:
        InputError: with every fault, each with the key's path, the value, what is allowed and the nearest name.
    """
    try:
        config = Config.model_validate(content)
    except ValidationError as error:
        raise InputError([as_fault(detail, source) for detail in error.errors()]) from None
    faults = list(reference_faults(config, source))
    if faults:
        raise InputError(faults)
    return config


def as_fault(detail: Any, source: str) -> Fault:
    """Words one of pydantic's errors."""
    path = ".".join(str(part) for part in detail["loc"] if part != "[key]")
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        allowed = keys_at(detail["loc"][:-1])
        return Fault(source, path, f"unknown key{nearest(str(detail['loc'][-1]), allowed)}", one_of(allowed))
    if kind == "missing":
        return Fault(source, path, "missing", f"the key {detail['loc'][-1]!r}")
    if kind == "literal_error":
        allowed = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return Fault(source, path, f"{detail['input']!r}{nearest(str(detail['input']), allowed)}", one_of(allowed))
    if kind == "value_error":
        return Fault(source, path, "inconsistent", str(context["error"]).removeprefix("expected "))
    expected = detail["msg"].removeprefix("Input should be ").removeprefix("Value should be ")
    return Fault(source, path, f"{detail['input']!r}", expected[0].lower() + expected[1:])


def keys_at(path: tuple[int | str, ...]) -> list[str]:
    """Returns the keys that the section at a path of the config may have."""
    section: Any = Config
    for part in path:
        field = section.model_fields.get(part)
        section = section_of(field.annotation) if field is not None else section
    return list(section.model_fields)


def section_of(annotation: Any) -> Any:
    """Finds the section in a field's type, such as `dict[Name, Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    found = [section_of(inner) for inner in getattr(annotation, "__args__", ())]
    return next((section for section in found if section is not None), None)


def reference_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields what the config names but does not have, and pairs that cannot be."""
    for key, names, registry in (
        ("run.models", config.run.models, config.models),
        ("run.datasets", config.run.datasets, config.datasets),
    ):
        for name in names:
            if name not in registry:
                yield Fault(source, key, f"unknown name {name!r}{nearest(name, registry)}", one_of(registry))
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Fault(source, key, f"{name!r} stands twice", "every name once")
    for name, model in config.models.items():
        strengths = config.planted.strengths if config.planted else {}
        planted = model.train.planted if model.train else None
        if planted is not None and planted not in strengths:
            problem = f"unknown strength {planted!r}{nearest(planted, strengths)}"
            yield Fault(source, f"models.{name}.train.planted", problem, one_of(strengths) + " (planted.strengths)")
        yield from tokenizer_faults(config, source, f"models.{name}.variant", model.variant)
    for name, dataset in config.datasets.items():
        for variant in dataset.variants:
            yield from tokenizer_faults(config, source, f"datasets.{name}.variants.{variant}", variant)
    named: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(config.run.models):
        if name in config.models:
            shown = (config.models[name].kind, config.models[name].label)
            if shown in named:
                problem = f"{shown[1]!r} of kind {shown[0]!r} is the label of {named[shown]!r} too"
                yield Fault(
                    source, f"models.{name}.label", problem, "one label per model of a kind, as plots name them so"
                )
            named.setdefault(shown, name)
    for model_name, dataset_name in config.cells():
        if model_name in config.models and dataset_name in config.datasets:
            yield from cell_faults(config, source, model_name, dataset_name)


def tokenizer_faults(config: Config, source: str, key: str, variant: str) -> Iterator[Fault]:
    """Yields a variant whose tokenizer is not in the config."""
    tokenizer = variant.removeprefix("lm-")
    if variant.startswith("lm-") and tokenizer not in config.tokenizers:
        problem = f"unknown tokenizer {tokenizer!r}{nearest(tokenizer, config.tokenizers)}"
        yield Fault(source, key, problem, one_of(config.tokenizers) + " (tokenizers)")


def cell_faults(config: Config, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields what keeps a model from answering a dataset."""
    variant, variants = config.models[model].variant, config.datasets[dataset].variants
    if variant not in variants:
        problem = f"model {model!r} answers variant {variant!r}, which dataset {dataset!r} does not have"
        yield Fault(source, "run", problem + nearest(variant, variants), one_of(variants))
        return
    tokenizer = config.filtering_tokenizer(dataset, variant)
    entry = config.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        problem = f"{tokenizer!r} has no `checkpoint` or `folder`, but filters the subjects of {dataset!r}"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, "one of them, or `subjects` in the variant")


def pronoun_faults(config: Config, dataset: str, lists: WordLists) -> Iterator[Fault]:
    """Yields clusters of subjects that have no pronoun, in a dataset that asks for pronouns."""
    entry = config.datasets[dataset]
    clusters = {cluster for subjects in lists.subjects for cluster in subjects.clusters} if entry.pronouns else set()
    for cluster in sorted(clusters - entry.pronouns.keys(), key=str):
        problem = f"has no pronoun for subjects of cluster {cluster!r}" if cluster else "has subjects without cluster"
        files = ", ".join(entry.subjects)
        yield Fault(files, f"datasets.{dataset}.pronouns", problem, "a pronoun for the cluster of every subject")


def load_word_lists(config: Config) -> dict[tuple[str, str], WordLists]:
    """Reads the word lists of all selected datasets and variants.

    Raises:
        InputError: with every fault in any of them.
    """
    lists, faults = {}, []
    if not Path(config.word_lists).is_dir():
        expected = "a folder of word lists (set it with --config word_lists=FOLDER)"
        raise InputError([Fault(config.word_lists, "", "there is no such folder", expected)])
    for dataset, variant in config.selected_variants():
        lists[dataset, variant], found = read_word_lists(config.files(dataset, variant))
        faults += found
        if variant.startswith("lm-"):
            faults += pronoun_faults(config, dataset, lists[dataset, variant])
    if faults:
        raise InputError(dict.fromkeys(faults))
    return lists
