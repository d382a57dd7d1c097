"""The sections and keys of a config.

The models here, those of tasks, sources and families are the one source: the schema in
`workflow/schemas/` and the tables of keys in `config/README.md` are generated from them (`biasgrid
schema --write .`), and a test keeps them in step.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Annotated, Any, Literal, NamedTuple

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
    """Rejects an invalid token budget with a single fault instead of one per type of the union."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value != "auto" and not is_number:
        raise ValueError("expected a whole number of at least 1, or auto")
    return value


class Inference(Section):
    """How models are run."""

    precision: Literal["float32", "tf32", "float16", "bfloat16", "auto"] = Field(
        "auto",
        description=(
            "arithmetic; `auto` is bfloat16 for generative checkpoints that are published in 16 "
            "bits, on GPUs and processors that multiply it, and float32 for all others. It is "
            "decided once for a model and kept in the folder of results"
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
            "where to run; changes the speed of inference, not the numbers (but see "
            "`precision`). Training on a GPU gives other weights than training on a CPU, but a new "
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
    """Returns the registry against which a config is validated, by default `BUILT_IN`."""
    return info.context if isinstance(info.context, Registry) else BUILT_IN


def checked_model(entry: Any, info: ValidationInfo) -> Model:
    """Validates a model as the section of its task, a subclass of `Model`.

    A model of an unknown task is validated as the section that is common to all tasks, so that its
    other faults are found, too.

    Raises:
        ValidationError: with all faults.
    """
    registry = registry_in(info)
    if not isinstance(entry, dict) or "task" not in entry:
        # The common section refuses both.
        return registry.model_section(None).model_validate(entry)
    task = entry["task"]
    if task in registry.tasks:
        return registry.model_section(task).model_validate(entry)
    errors = [not_one_of("task", task, registry.tasks)]
    try:
        registry.model_section(None).model_validate(entry)
    except ValidationError as error:
        errors += errors_elsewhere(error, "task")
    raise ValidationError.from_exception_data("Model", errors)


def errors_elsewhere(error: ValidationError, key: str) -> Iterator[InitErrorDetails]:
    """Yields the errors of a validation but those of one key, in a form to raise them again."""
    for detail in error.errors():
        if detail["loc"] != (key,):
            yield InitErrorDetails(
                type=detail["type"],
                loc=detail["loc"],
                input=detail["input"],
                ctx=detail.get("ctx", {}),
            )


def checked_dataset(entry: Any, info: ValidationInfo) -> DatasetSection:
    """Validates a dataset as the section of its family; without `family`, of the first family.

    Raises:
        ValidationError: with all faults.
        ValueError: it is not a mapping, or has keys of another family without `family`.
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
    """Returns the keys that a family requires of its datasets, without keys of all datasets."""
    fields = family.Section.model_fields
    return {
        key for key, field in fields.items() if field.is_required()
    } - DatasetSection.model_fields.keys()


class GridCell(NamedTuple):
    """A model and a dataset that it is asked, both by their names in the config."""

    model: str
    dataset: str


class Config(Section):
    """A whole config."""

    # Pydantic checks each key. That names are defined is checked by `reading.parse_config`.

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
        """Keeps the registry against which the config was validated."""
        self._registry = context if isinstance(context, Registry) else BUILT_IN

    @field_validator("results")
    @classmethod
    def _one_spelling(cls, folder: str) -> str:
        # To Snakemake `results/x` and `results//x` are two files, and the second is not there.
        # `Path.expanduser` raises an error if it does not know the home folder.
        return os.path.normpath(os.path.expanduser(folder))  # noqa: PTH111

    @property
    def registry(self) -> Registry:
        """Families, back ends and figures that the config can name."""
        return self._registry

    @property
    def origin(self) -> tuple[str, Document]:
        """The name of its file and its content, for messages."""
        return self._origin

    @property
    def folders(self) -> ConfigFolders:
        """The folders in which the config's files are looked for."""
        return self._folders

    def family(self, dataset: str) -> Family:
        """Returns the family of a dataset."""
        return self.registry.family(self.datasets[dataset].family)

    def family_reference(self, dataset: str) -> str:
        """Returns the reference of a dataset's family; see `base.references`."""
        return self.registry.families[self.datasets[dataset].family]

    def back_end_entry(self, model: str) -> RegistryEntry:
        """Returns the entry of a model's back end in the registry."""
        entry = self.models[model]
        return self.registry.back_ends[entry.task, entry.back_end]

    def question(self, model: str, dataset: str, writer: str | None = None) -> Question:
        """Returns the question that a dataset asks a model.

        Args:
            model: the model, or the scorer of a writer's texts.
            dataset: the dataset.
            writer: the model whose answers to the dataset are the texts that `model` scores; None
                or "" if `model` answers the dataset itself.

        Raises:
            ValueError: the dataset is not for the model.
        """
        if writer:
            return Question(writer, self.question(writer, dataset).scorers[model])
        question = self._cached_question(model, dataset)
        if question is None:
            raise ValueError(f"{dataset} is not for {model}")
        return question

    def fits(self, model: str, dataset: str) -> bool:
        """Whether a model can answer a dataset."""
        return self._cached_question(model, dataset) is not None

    @cached_property
    def _cached_question(self) -> Callable[[str, str], Question | None]:
        # Snakemake asks for the question of a cell many times, for each of thousands of jobs.
        return cache(self._question)

    def _question(self, model: str, dataset: str) -> Question | None:
        family = self.family(dataset)
        return (
            family.question(self, dataset, model)
            if self.models[model].source.has_dataset(family.formats)
            else None
        )

    def cells(self) -> list[GridCell]:
        """Returns the cells of the grid, dataset by dataset; undefined names are skipped."""
        models = [model for model in self.run.models if model in self.models]
        datasets = (dataset for dataset in self.run.datasets if dataset in self.datasets)
        return [
            GridCell(model, dataset)
            for dataset in datasets
            for model in models
            if self.fits(model, dataset)
        ]

    def dataset_measures(self, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of a dataset by name, flags with the limits of this config."""
        measures = {}
        for name, measure in self.family(dataset).measures(self, dataset).items():
            measures[name] = measure.limited(self.validity.get(name))
        # A dataset also decides for its control whether names are probable enough, see
        # `tables.controls`.
        if self.datasets[dataset].control_of and IMPROBABLE in measures:
            measures[IMPROBABLE] = measures[IMPROBABLE].without_withholding()
        return measures

    def dataset_title(self, dataset: str) -> str:
        """Returns the title of a dataset, with its name if another selected dataset shares it."""
        title = self.datasets[dataset].title
        other_datasets = (name for name in self.run.datasets if name != dataset)
        is_shared = any(self.datasets[name].title == title for name in other_datasets)
        return f"{title} ({dataset})" if is_shared else title

    def dataset_figures(self, dataset: str) -> list[str]:
        """Returns the names of a dataset's figures."""
        section = self.datasets[dataset]
        return list(dict.fromkeys([*self.family(dataset).figures(section), *section.figures]))

    def predictions_provenance(self, model: str, dataset: str) -> dict[str, Any]:
        """Returns the keys and values that the provenance of a cell's predictions must contain."""
        return {"task": self.models[model].task, **self.question(model, dataset).settings}

    def deciding_settings(
        self, model: str, dataset: str, writer: str | None = None
    ) -> dict[str, Any]:
        """Returns the settings that decide predictions, besides model and precision.

        They are fields of the back end's `Choices`. For the arguments see `question`.
        """
        return {
            **self.question(model, dataset, writer).settings,
            **self.models[model].source.choices(),
        }

    @cached_property
    def scorer_models(self) -> list[str]:
        """The models that score texts of selected models, each once, without undefined names."""
        scorers = [name for cell in self.cells() for name in self.question(*cell).scorers]
        return [name for name in dict.fromkeys(scorers) if name in self.models]

    def exclusive_resource(self, model: str, dataset: str = "") -> str | None:
        """Returns the resource that only one job of a model can use at a time, None if there is
        none.

        Args:
            model: the model.
            dataset: the dataset that the job asks; empty if it asks none.
        """
        return self.models[model].source.mutex(model, dataset)

    def files(self, dataset: str, variant: str) -> Any:
        """Returns the files that a dataset's variant is made of."""
        return self.family(dataset).files(self, dataset, variant)

    def model_record_arguments(self, name: str) -> dict[str, Any]:
        """Returns the arguments of `make_record` or `make_keys_record` for a model."""
        return self.models[name].source.record_source(
            f"{self.results}/trained/{name}", self.training_settings(name)
        )

    def training_settings(self, name: str) -> dict[str, Any] | None:
        """Returns the settings by which a model is trained, for its record; None if it is not.

        For synthetic bias, the key `synthetic` is not the name of the strength, as in the section
        `train`, but the config's section `synthetic` with this strength alone: the record needs the
        values.
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
        """Returns the arguments of `make_record` for the checkpoint that training starts from.

        Raises:
            ValueError: the model is not trained from a checkpoint.
        """
        model = self.models[name]
        if model.train is None or model.train.base is None:
            raise ValueError(f"{name} is not trained from a checkpoint")
        return model.train.base.model_dump() | {"weights": True, "allow_pickle": model.allow_pickle}

    def tokenizer_record_arguments(self, name: str) -> dict[str, Any]:
        """Returns the arguments of `make_record` for a tokenizer."""
        source = self.tokenizers[name].model_dump(exclude={"mask"})
        return source | {"weights": False, "allow_pickle": False}

    def training_datasets(self, model: str) -> list[str]:
        """Returns the datasets whose synthetic corpora a model is trained on, selected or not.

        Empty for models without synthetic bias.
        """
        train = self.models[model].train
        return [] if train is None or train.synthetic is None else self._taught(model)

    @cached_property
    def _taught(self) -> Callable[[str], list[str]]:
        """The datasets that teach a model its synthetic bias, looked up once per model."""

        @cache
        def taught_datasets(model: str) -> list[str]:
            return [name for name in self.datasets if self.family(name).teaches(self, name, model)]

        return taught_datasets

    def synthetic_variants(self, dataset: str) -> dict[str, str]:
        """Returns the variant of a dataset that models learn from, by their task."""
        learners = [name for name in self.models if dataset in self.training_datasets(name)]
        return {self.models[name].task: self.question(name, dataset).variant for name in learners}

    @cached_property
    def needed_variants(self) -> dict[tuple[str, str], Question]:
        """The questions of all instances tables, by dataset and variant.

        Besides those of `selected_variants`, these are the tables that selected models learn from.
        """
        training_cells = []
        for dataset in self.datasets:
            learners = [name for name in self.models if dataset in self.training_datasets(name)]
            if set(learners) & set(self.run.models):
                training_cells += [GridCell(model, dataset) for model in learners]
        return self.selected_variants | self._questions(training_cells)

    @cached_property
    def selected_variants(self) -> dict[tuple[str, str], Question]:
        """The questions of instances tables that models answer, by dataset and variant.

        Cells of dumps are not among them: they bring their own instances.
        """
        cells = []
        for cell in self.cells():
            if not self.models[cell.model].source.brings_instances:
                cells.append(cell)
        return self._questions(cells)

    def _questions(self, cells: list[GridCell]) -> dict[tuple[str, str], Question]:
        """Returns the questions of cells by dataset and variant; each variant has one question."""
        questions: dict[tuple[str, str], Question] = {}
        for model, dataset in cells:
            question = self.question(model, dataset)
            questions.setdefault((dataset, question.variant), question)
        return questions
