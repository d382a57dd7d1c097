"""The sections and keys of a config.

The models here, those of tasks, sources and families are the one source: the schema in
`workflow/schemas/` and the tables of keys in `config/README.md` are generated from them (`biasgrid
schema --write .`), and a test keeps them in step.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import InitErrorDetails

from biasgrid.base.sections import (
    FOLDER_PATTERN,
    KeysError,
    Model,
    Name,
    Scoring,
    Section,
    Tokenizer,
    not_one_of,
)
from biasgrid.base.yaml import Document
from biasgrid.config.paths import ConfigFolders
from biasgrid.config.registry import BUILT_IN, Registry
from biasgrid.families.family import DatasetSection, Family, Question
from biasgrid.inference.models.registry import RegistryEntry
from biasgrid.stats.section import ComparisonSection, StatisticsSection
from biasgrid.tables.metric import IMPROBABLE, Measure
from biasgrid.training.strength import AnyStrength, written_strength


def check_budget(value: Any) -> Any:
    """Refuses what is no token budget, with one fault in place of one for each kind that it may
    be.
    """
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value != "auto" and not is_number:
        raise ValueError("expected a whole number of at least 1, or auto")
    return value


class Inference(Section):
    """How models are run."""

    precision: Literal["float32", "tf32", "float16", "bfloat16", "auto"] = Field(
        "float32",
        description=(
            "arithmetic; `auto` is bfloat16 on GPUs and processors that multiply it, else float32"
        ),
    )
    token_budget: Annotated[
        Annotated[int, Field(ge=1)] | Literal["auto"], BeforeValidator(check_budget)
    ] = Field(
        "auto",
        description=(
            "tokens per batch; changes the speed, not the numbers. `auto` depends on the memory of "
            "the GPU or the cache of the processor"
        ),
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description=(
            "where to run; changes the speed of inference, not the numbers (but see `precision: "
            "auto`). Training on a GPU gives other weights than training on a CPU, but a new "
            "device does not repeat a finished training. With `auto` and `cuda`, each job leases "
            "one of the GPUs that it sees and waits until one is free. Without a GPU, `auto` uses "
            "the CPU"
        ),
    )
    jobs_per_gpu: int = Field(
        1,
        ge=1,
        description=(
            "number of jobs that can share a GPU, so that one loads its model "
            "while another computes"
        ),
    )
    time_limit: float = Field(
        60,
        ge=0.01,
        allow_inf_nan=False,
        description="number of minutes without progress after which an inference job ends itself",
    )


class Synthetic(Section):
    """Synthetic bias: corpora from which tiny models learn associations of known strength."""

    strengths: dict[Name, AnyStrength] = Field(
        description=(
            "named strengths: the largest synthetic difference in answer probability between two "
            "subjects (underspecified questions), between Yes for wrong and for right statements "
            "(statements), or between unkind answers to prompts for two groups (rewriting). For "
            "probes, how much more of the probability beyond chance goes to the expected option in "
            "one group than in another. For text classification, twice the largest difference of "
            "two groups in the probability of the `fixed_class`. For questions with options, the "
            "share of answers that follow the stereotype. For decisions, about the difference in "
            "the share of Yes. Instead of a number, a strength can have a part by group and a part "
            "by name: `{group: 0.4, name: 0.1}`. A single number is the part by name in "
            "underspecified questions, and the part by group elsewhere"
        )
    )
    repeats: int = Field(
        8, gt=0, description="number of answers or labels for each instance in the corpus"
    )
    seed: int = Field(1, ge=0, description="seed for the known effect and the answers")
    spread: float = Field(
        0,
        ge=0,
        le=1,
        description=(
            "largest deviation of a synthetic difference in answer probability from template to "
            "template; the deviations of all templates cancel. Real models vary like this. Without "
            "it, intervals over templates show only the variation left by training"
        ),
    )


class Run(Section):
    """What is run: cells are the pairs of these models and datasets that fit."""

    models: list[Name] = Field(min_length=1, description="names of models to run")
    datasets: list[Name] = Field(min_length=1, description="names of datasets to ask")


class Report(Section):
    """The page that shows what was found."""

    megabytes: float = Field(
        8,
        gt=0,
        description=(
            "largest size of the report in megabytes; it includes as many of the sentences behind "
            "numbers as fit"
        ),
    )
    figures: Literal["none", "main"] = Field("main", description="which figures are drawn")
    font: str | None = Field(
        None,
        description=(
            "font family of the text in figures, such as `Arial`; it must be installed. Default: "
            "DejaVu Sans"
        ),
    )
    figure_scale: float = Field(
        1,
        ge=0.25,
        le=4,
        description=(
            "factor for the width and height of figures; the text keeps its size, so below 1 it is "
            "larger in proportion"
        ),
    )
    references: list[str] = Field(
        default_factory=list,
        description=(
            "files with published numbers and marks to show beside yours (see docs/references.md)"
        ),
    )


def registry_in(info: ValidationInfo) -> Registry:
    """Returns what a config that is checked can name."""
    return info.context if isinstance(info.context, Registry) else BUILT_IN


def checked_model(entry: Any, info: ValidationInfo) -> Model:
    """Checks a model against the section of its task's back end.

    Raises:
        ValidationError: with all that is wrong with it.
    """
    registry, task = registry_in(info), entry.get("task") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or "task" not in entry or task in registry.tasks:
        return registry.model_section(str(task)).model_validate(entry)
    errors = [not_one_of("task", task, registry.tasks)]
    try:
        registry.model_section("").model_validate(entry)
    except ValidationError as error:
        errors += [
            InitErrorDetails(
                type=each["type"], loc=each["loc"], input=each["input"], ctx=each.get("ctx", {})
            )
            for each in error.errors()
            if each["loc"] != ("task",)
        ]
    raise ValidationError.from_exception_data("Model", errors)


def checked_dataset(entry: Any, info: ValidationInfo) -> DatasetSection:
    """Checks a dataset against the section of its family, by default the first family.

    Raises:
        ValidationError: with all that is wrong with it.
        ValueError: it is no section, or has the keys of a family that must be named.
    """
    if not isinstance(entry, dict):
        raise ValueError("expected the keys of a dataset")
    families = {name: registry_in(info).family(name) for name in registry_in(info).families}
    default = next(iter(families))
    name = entry.get("family", default)
    if not isinstance(name, str) or name not in families:
        errors = [not_one_of("family", name, list(families))]
        raise ValidationError.from_exception_data("Dataset", errors)
    if "family" not in entry and not required_keys(families[default]) & entry.keys():
        for other, family in families.items():
            if required_keys(family) & entry.keys():
                raise KeysError(f"expected `family: {other}` together with them")
    return families[name].Section.model_validate(entry | {"family": name})


def required_keys(family: Family) -> set[str]:
    """Returns the keys that datasets of a family must have, beside those of all datasets."""
    fields = family.Section.model_fields
    return {
        key for key, field in fields.items() if field.is_required()
    } - DatasetSection.model_fields.keys()


class Config(Section):
    """A whole config."""

    title: str = Field("biasgrid", description="title of the report")
    trial: bool = Field(
        False,
        description=(
            "whether this is a quick trial, as written by `biasgrid try`; if so, the page, the "
            "card and the terminal first say how little was asked"
        ),
    )
    results: str = Field(
        "results", pattern=FOLDER_PATTERN, description="folder to which all results are written"
    )
    word_lists: str = Field("word_lists", description="folder with the word lists")
    scoring: Scoring = Field(
        "exact",
        description=(
            "how probabilities are scored; `unqover` repeats the choices of the original where "
            "they change numbers (see docs/scoring.md)"
        ),
    )
    inference: Inference = Field(Inference(), description="how models are run")
    validity: dict[str, float] = Field(
        default_factory=dict,
        description=(
            "limits of validity flags that replace the defaults, by the names in docs/validity.md, "
            "such as `unknown_tokens: 0.2`"
        ),
    )
    statistics: StatisticsSection = Field(
        StatisticsSection(), description="uncertainty of the measures: intervals and tests"
    )
    comparison: ComparisonSection = Field(
        ComparisonSection(), description="which models are compared"
    )
    thresholds: dict[Name, dict[str, Annotated[float, Field(allow_inf_nan=False)]]] = Field(
        default_factory=dict,
        description="largest values that `biasgrid gate` allows, by dataset and measure, such as "
        "`gender: {mu_corrected: 0.05}` (see docs/gate.md)",
    )
    report: Report = Field(Report(), description="the page that shows the results")
    synthetic: Synthetic | None = Field(
        None, description="synthetic bias, for models with `train.synthetic`"
    )
    tokenizers: dict[Name, Tokenizer] = Field(
        default_factory=dict, description="tokenizers, by name"
    )
    plugins: list[str] = Field(
        default_factory=list,
        description=(
            "Python files and packages with your own families, back ends and figures (see "
            "docs/extending.md); their code runs"
        ),
    )
    models: dict[Name, SerializeAsAny[Annotated[Model, BeforeValidator(checked_model)]]] = Field(
        min_length=1, description="registry of models, by name"
    )
    datasets: dict[
        Name, SerializeAsAny[Annotated[DatasetSection, BeforeValidator(checked_dataset)]]
    ] = Field(min_length=1, description="registry of datasets, by name")
    run: Run = Field(description="the models and datasets that are run")

    _registry: Registry = PrivateAttr(default_factory=lambda: BUILT_IN)
    _origin: tuple[str, Document] = PrivateAttr(("the config", Document({}, {})))
    _folders: ConfigFolders = PrivateAttr(default_factory=ConfigFolders)

    def model_post_init(self, context: Any) -> None:
        """Keeps what the config was checked against."""
        self._registry = context if isinstance(context, Registry) else BUILT_IN

    @field_validator("results")
    @classmethod
    def _one_spelling(cls, folder: str) -> str:
        # To Snakemake `results/x` and `results//x` are two files, and the second is not there.
        return os.path.normpath(folder)

    @property
    def registry(self) -> Registry:
        """What the config can name."""
        return self._registry

    @property
    def origin(self) -> tuple[str, Document]:
        """The name of its file and its content, for messages."""
        return self._origin

    @property
    def folders(self) -> ConfigFolders:
        """Where the files that it names are looked for."""
        return self._folders

    def family(self, dataset: str) -> Family:
        """Returns the family of a dataset."""
        return self.registry.family(self.datasets[dataset].family)

    def family_reference(self, dataset: str) -> str:
        """Returns where the family of a dataset is."""
        return self.registry.families[self.datasets[dataset].family]

    def back_end_entry(self, model: str) -> RegistryEntry:
        """Returns where the back end of a model is."""
        entry = self.models[model]
        return self.registry.back_ends[entry.task, entry.back_end]

    def question(self, model: str, dataset: str, writer: str | None = None) -> Question:
        """Returns what a model is asked of a dataset, or of the texts that another model, the
        writer, answered there.

        Raises:
            ValueError: the dataset is not for the model.
        """
        if writer:
            return Question(writer, self.question(writer, dataset).scorers[model])
        question = self._asked_of(dataset, model)
        if question is None:
            raise ValueError(f"{dataset} is not for {model}")
        return question

    def fits(self, model: str, dataset: str) -> bool:
        """Returns whether a model can answer a dataset."""
        return self._asked_of(dataset, model) is not None

    @cached_property
    def _asked_of(self) -> Callable[[str, str], Question | None]:
        # Thousands of jobs need what a few thousand cells ask.
        return cache(self._question)

    def _question(self, dataset: str, model: str) -> Question | None:
        family = self.family(dataset)
        return (
            family.question(self, dataset, model)
            if self.models[model].source.has_dataset(family.formats)
            else None
        )

    def cells(self) -> list[tuple[str, str]]:
        """Returns model and dataset of every cell of the grid, dataset by dataset; names of nothing
        have none.
        """
        models = [model for model in self.run.models if model in self.models]
        datasets = (dataset for dataset in self.run.datasets if dataset in self.datasets)
        return [
            (model, dataset)
            for dataset in datasets
            for model in models
            if self.fits(model, dataset)
        ]

    def dataset_measures(self, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of a dataset by name, validity flags with the limits of this
        config.
        """
        declared = self.family(dataset).measures(self, dataset)
        known = {
            name: measure.limited(self.validity.get(name)) for name, measure in declared.items()
        }
        # Whether names are probable enough is decided by a dataset for its control too, see
        # `controls`.
        if self.datasets[dataset].control_of and IMPROBABLE in known:
            known[IMPROBABLE] = known[IMPROBABLE].without_withholding()
        return known

    def dataset_title(self, dataset: str) -> str:
        """Returns the title of a dataset, with its name where another one that is run has the same
        title.
        """
        title = self.datasets[dataset].title
        others = (name for name in self.run.datasets if name != dataset)
        is_shared = any(self.datasets[name].title == title for name in others)
        return f"{title} ({dataset})" if is_shared else title

    def dataset_figures(self, dataset: str) -> list[str]:
        """Returns the names of a dataset's figures."""
        section = self.datasets[dataset]
        return list(dict.fromkeys([*self.family(dataset).figures(section), *section.figures]))

    def predictions_provenance(self, model: str, dataset: str) -> dict[str, Any]:
        """Returns what the provenance of a cell's predictions must contain."""
        return {"task": self.models[model].task, **self.question(model, dataset).settings}

    def deciding_settings(
        self, model: str, dataset: str, writer: str | None = None
    ) -> dict[str, Any]:
        """Returns what decides predictions beside model and precision, as its back end's `Choices`;
        see `question`.
        """
        return {
            **self.question(model, dataset, writer).settings,
            **self.models[model].source.choices(),
        }

    @cached_property
    def readers(self) -> list[str]:
        """The models that read the texts of selected ones."""
        named = (name for cell in self.cells() for name in self.question(*cell).scorers)
        return [name for name in dict.fromkeys(named) if name in self.models]

    def exclusive_resource(self, model: str, dataset: str = "") -> str | None:
        """Names what jobs of a model that ask a dataset, or none, must have to themselves; None
        where they need not.
        """
        return self.models[model].source.mutex(model, dataset)

    def files(self, dataset: str, variant: str) -> Any:
        """Returns the files that a dataset's variant is made of."""
        return self.family(dataset).files(self, dataset, variant)

    def model_record_arguments(self, name: str) -> dict[str, Any]:
        """Returns a model's origin: the arguments of `make_record` or `make_keys_record`."""
        return self.models[name].source.record_source(
            f"{self.results}/trained/{name}", self.training_settings(name)
        )

    def training_settings(self, name: str) -> dict[str, Any] | None:
        """Returns how a model is trained: its section `train`, and section `synthetic` where it
        names a strength.
        """
        train = self.models[name].train
        if train is None:
            return None
        training = train.model_dump(mode="json")
        if train.synthetic is not None and self.synthetic is not None:
            strengths = {
                train.synthetic: written_strength(self.synthetic.strengths[train.synthetic])
            }
            training["synthetic"] = self.synthetic.model_dump(mode="json") | {
                "strengths": strengths
            }
        return training

    def base_record_arguments(self, name: str) -> dict[str, Any]:
        """Returns where the checkpoint is that a model's training starts from, as arguments of
        `make_record`.
        """
        model = self.models[name]
        if model.train is None or model.train.base is None:
            raise ValueError(f"{name} is not trained from a checkpoint")
        return model.train.base.model_dump() | {"weights": True, "allow_pickle": model.allow_pickle}

    def tokenizer_record_arguments(self, name: str) -> dict[str, Any]:
        """Returns where a tokenizer's files are, as arguments of
        `biasgrid.inference.checkpoints.fetch.make_record`.
        """
        source = self.tokenizers[name].model_dump(exclude={"mask"})
        return source | {"weights": False, "allow_pickle": False}

    def training_datasets(self, model: str) -> list[str]:
        """Returns the datasets whose synthetic corpora a model is trained on, selected or not; none
        for others.
        """
        train = self.models[model].train
        return [] if train is None or train.synthetic is None else self._taught(model)

    @cached_property
    def _taught(self) -> Callable[[str], list[str]]:
        """The datasets that teach a model its synthetic bias, looked up once per model."""

        @cache
        def datasets_of(model: str) -> list[str]:
            return [name for name in self.datasets if self.family(name).teaches(self, name, model)]

        return datasets_of

    def synthetic_variants(self, dataset: str) -> dict[str, str]:
        """Returns the variants of a dataset that synthetic corpora have, by the task of models that
        learn them.
        """
        learners = [name for name in self.models if dataset in self.training_datasets(name)]
        return {self.models[name].task: self.question(name, dataset).variant for name in learners}

    @cached_property
    def needed_variants(self) -> dict[tuple[str, str], Question]:
        """The questions of all instances tables, by dataset and variant.

        Besides those of `selected_variants`, these are the tables that selected models learn from.
        """
        learned = []
        for dataset in self.datasets:
            learners = [name for name in self.models if dataset in self.training_datasets(name)]
            if set(learners) & set(self.run.models):
                learned += [(model, dataset) for model in learners]
        return self.selected_variants | self._questions(learned)

    @cached_property
    def selected_variants(self) -> dict[tuple[str, str], Question]:
        """The questions of instances tables that models answer, by dataset and variant.

        Cells of dumps are not among them: they bring their own instances.
        """
        cells = []
        for model, dataset in self.cells():
            if not self.models[model].source.brings_instances:
                cells.append((model, dataset))
        return self._questions(cells)

    def _questions(self, cells: list[tuple[str, str]]) -> dict[tuple[str, str], Question]:
        """Returns the questions of cells (model, dataset), each variant of a dataset once."""
        questions: dict[tuple[str, str], Question] = {}
        for model, dataset in cells:
            question = self.question(model, dataset)
            questions.setdefault((dataset, question.variant), question)
        return questions
