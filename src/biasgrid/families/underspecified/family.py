"""The family of underspecified questions about pairs of subjects, as others see it.

In the order of this file: the options of a dataset and its variants, how each model is asked, what
may be wrong with a config, and the family itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from biasgrid.base.faults import Fault, nearest_name, one_of, unknown_names
from biasgrid.base.sections import Model, Name, Section, TargetScoring, Variant
from biasgrid.families.family import DatasetSection, Family, Grid, Question
from biasgrid.families.sampling import (
    Balance,
    Sample,
    SampleOrAll,
    sample_faults,
    sample_unless_all,
    size_faults,
)
from biasgrid.families.underspecified.lists import read_stereotypes, unknown_stereotypes
from biasgrid.families.underspecified.read import WordListFiles, WordLists, planned_instances
from biasgrid.groups.definitions import about_groups, group_measures
from biasgrid.groups.section import GROUP_FIGURES, GroupMeasure, combination_faults
from biasgrid.tables.metric import Measure, read_definitions

MODES = {"unqover": "biasgrid.families.underspecified.unqover:scores_with_pronouns"}
"""Functions that make scores of the probabilities of words, by `scoring` of another project."""
SWAP_GROUP_DESIGN = ("template", "subject", "attribute")
DEFINITIONS = read_definitions("families/underspecified")
GENERATIVE_TASK = "text-generation"
ASSOCIATION_FIGURES = (
    "ranks",
    "heat_map",
    "associations",
    "significant_associations",
    "winners",
)
SUBJECT_GROUPS = "subject_groups"
"""The figure of datasets with two lists of subjects, such as female and male names."""
COARSE_PRECISIONS = ("float16",)
"""Arithmetic whose shares need more mass, see `observe.least_mass`."""
PRONOUN_PLACES = [3, 4]
"""Which candidates are pronouns."""
PRONOUN_BYTES = 7.3
"""How many bytes the probabilities of pronouns add to a row of predictions."""


class AskedTask(NamedTuple):
    """How models of a task are asked.

    Attributes:
        variants: how the names of the variants begin that are for them.
        answer: the kind of their answers.
        row_bytes: how many bytes a row of predictions takes. Measured by writing the tables of
            config/config.yaml with random probabilities, of which each takes 3.6 bytes: numbers and
            all else take 0.1 bytes a row, instances 0.3 to 0.7; a table of few rows has 5 to 9 kB.
    """

    variants: str
    answer: str
    row_bytes: float


ASKED_TASKS = {
    "question-answering": AskedTask("qa", "span", 17.8),
    "fill-mask": AskedTask("lm-", "choice", 7.1),
    GENERATIVE_TASK: AskedTask("llm", "choice", 15.3),
}

# Options


class ListLimit(Section):
    """Cuts word lists down, for demos and first looks."""

    templates: int | None = Field(None, gt=0, description="number of templates to keep")
    subjects: int | None = Field(
        None, gt=0, description="number of subjects to keep from each list"
    )
    attributes: int | None = Field(
        None, gt=0, description="number of attributes to keep from each type"
    )


class DatasetVariant(Section):
    """What one kind of model is asked. Files are relative to `word_lists`."""

    templates: str = Field(description="template file")
    filler: str | None = Field(None, description="file with a line that is put before each context")
    prompt: str | None = Field(
        None,
        description=(
            "for generative models (`llm`): file with the text around a question and "
            "its lettered options"
        ),
    )
    prompts: list[str] | None = Field(
        None,
        min_length=1,
        description=(
            "several such files instead of `prompt`: everything is asked in each of these prompt "
            "formats, and intervals also generalise to other formats"
        ),
    )
    sample: SampleOrAll | None = Field(
        None, description="replaces the dataset's `sample`; `all` asks everything"
    )
    subjects: list[str] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description=(
            "subject lists that replace the dataset's. Without them, variants of masked language "
            "models keep the subjects that are a single token of their tokenizer, or all subjects "
            "if the dataset has `target_scoring`"
        ),
    )

    tokenizer: Name | None = Field(
        None,
        description=(
            "with `balance`: the tokenizer whose tokens count, one of `tokenizers`; use the "
            "tokenizer of the models that answer the variant. Variants of masked language models "
            "have their own"
        ),
    )

    @property
    def prompt_files(self) -> list[str]:
        """The files of prompts, one for each prompt format."""
        if self.prompts:
            return self.prompts
        return [self.prompt] if self.prompt else []


class UnderspecifiedDataset(DatasetSection):
    """A dataset of underspecified questions about pairs of subjects: a column of the grid."""

    family: Literal["underspecified"] = Field(
        "underspecified", description="what is asked, and how it is measured"
    )
    subjects: list[str] = Field(
        min_length=1,
        max_length=2,
        description="one subject list (all pairs) or two (all pairs across the lists)",
    )
    attributes: str = Field(description="attribute file")
    pronouns: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "pronoun of each group of subjects; masked language models are also asked "
            "for the pronouns"
        ),
    )
    antonyms: bool = Field(
        False,
        description=(
            "whether antonyms of attributes (`[p_act:antonym]`) are asked instead "
            "of their negations"
        ),
    )
    balance: Balance | None = Field(
        None,
        description=(
            "keeps only subjects that make the groups alike in tokens, or in tokens and frequency"
        ),
    )
    target_scoring: TargetScoring | None = Field(
        None,
        description=(
            "for masked language models: how subjects and pronouns of several tokens are scored "
            "(see docs/scoring.md); without it, such subjects are dropped"
        ),
    )
    measures: list[GroupMeasure] | None = Field(
        [],
        description=(
            "comparisons of the subjects as groups, in addition to the measures of the family; "
            "null for all"
        ),
    )
    stereotypes: str | None = Field(
        None,
        description=(
            "file with attributes, each with the group that a stereotype links to it: measures how "
            "far models agree with the stereotypes (see docs/datasets.md)"
        ),
    )
    failure_threshold: float = Field(
        0.1,
        ge=0,
        le=1,
        description=(
            "with `measures`: a case fails if the scores of its groups differ by more than this"
        ),
    )
    limit: ListLimit = Field(ListLimit(), description="shortens the word lists")
    variants: dict[Variant, DatasetVariant] = Field(
        min_length=1, description="what each kind of model is asked"
    )

    @property
    def compares_groups(self) -> bool:
        """Whether its subjects are compared as groups."""
        return self.measures != []

    def variant_sample(self, variant: str) -> Sample | None:
        """Returns the sample of a variant, None if all is asked."""
        return self.variants[variant].sample or self.sample

    def variant_subjects(self, variant: str) -> list[str]:
        """Returns the subject lists of a variant."""
        return self.variants[variant].subjects or self.subjects

    @property
    def balances_by_tokens(self) -> bool:
        """Whether groups of subjects are made alike in their tokens."""
        return self.balance is not None and "tokens" in self.balance.by

    def filtering_tokenizer(self, variant: str) -> str | None:
        """Returns the tokenizer that drops subjects of several tokens, None if all are kept."""
        dataset_variant = self.variants.get(variant)
        if dataset_variant is None or dataset_variant.subjects or self.target_scoring:
            return None
        return masked_tokenizer(variant)

    def needed_tokenizer(self, variant: str) -> str | None:
        """Returns the tokenizer that drops or balances subjects, None if no tokens are counted."""
        dataset_variant = self.variants.get(variant)
        if dataset_variant is None or not self.balances_by_tokens:
            return self.filtering_tokenizer(variant)
        return masked_tokenizer(variant) or dataset_variant.tokenizer


def is_generative(variant: str) -> bool:
    """Whether a variant is for generative models."""
    return variant.split("-")[0] == "llm"


def masked_tokenizer(variant: str) -> str | None:
    """Returns the tokenizer of a variant of masked language models, None of other variants."""
    return variant.removeprefix("lm-") if variant.startswith("lm-") else None


def underspecified_datasets(grid: Grid) -> dict[str, UnderspecifiedDataset]:
    """Returns the datasets of the family, by name."""
    return {
        name: section
        for name, section in grid.datasets.items()
        if isinstance(section, UnderspecifiedDataset)
    }


# Faults of a config


class ConfigFaults:
    """Finds what is wrong with the datasets of the family and the models that answer them.

    Attributes:
        grid: the config.
        source: its file.
        datasets: the datasets of the family, by name.
        variants: the variants of all of them.
    """

    def __init__(self, grid: Grid, source: str) -> None:
        self.grid = grid
        self.source = source
        self.datasets = underspecified_datasets(grid)
        self.variants = {name for section in self.datasets.values() for name in section.variants}

    def fault(self, key: str, problem: str, expected: str) -> Fault:
        """Returns a fault of a key of the config."""
        return Fault(self.source, key, problem, expected)

    def __iter__(self) -> Iterator[Fault]:
        """Yields names that the config does not define, and models that do not fit datasets."""
        yield from self.unlearned()
        yield from self.missing_masks()
        for name, model in self.grid.models.items():
            key = f"models.{name}"
            yield from self.unfit_variant(f"{key}.variant", model)
            yield from self.unknown_tokenizer(f"{key}.variant", model.variant)
            names = [*model.predictions]
            yield from unknown_names(self.source, f"{key}.predictions", names, self.datasets)
        for name, section in self.datasets.items():
            yield from self.section_faults(f"datasets.{name}", section)
        for model_name in self.grid.run.models:
            for dataset in self.grid.run.datasets:
                are_defined = dataset in self.datasets and model_name in self.grid.models
                if are_defined and self.grid.fits(model_name, dataset):
                    yield from cell_faults(self.grid, self.source, model_name, dataset)

    def section_faults(self, key: str, section: UnderspecifiedDataset) -> Iterator[Fault]:
        """Yields the faults of the section of a dataset, with `key` as its place in the config."""
        for variant, dataset_variant in section.variants.items():
            place = f"{key}.variants.{variant}"
            yield from self.unknown_tokenizer(place, variant)
            yield from self.prompt_faults(f"{place}.prompt", variant, dataset_variant)
            yield from self.tokenizer_faults(
                f"{place}.tokenizer", variant, dataset_variant.tokenizer, section.balances_by_tokens
            )
        if section.target_scoring and self.grid.scoring in MODES:
            only = f"`scoring: {self.grid.scoring}` scores only words of one token"
            problem = f"{section.target_scoring!r}, but {only}"
            expected = "`scoring: exact`, or no `target_scoring`"
            yield self.fault(f"{key}.target_scoring", problem, expected)

    def prompt_faults(
        self, key: str, variant: str, dataset_variant: DatasetVariant
    ) -> Iterator[Fault]:
        """Yields a generative variant without a prompt, and another variant with one."""
        files = ", ".join(map(repr, dataset_variant.prompt_files))
        if is_generative(variant) and not files:
            expected = "a file such as prompts/two-options.txt, which generative models need"
            yield self.fault(key, "none", expected)
        if not is_generative(variant) and files:
            expected = "no prompt, which is only for generative models (`llm`)"
            yield self.fault(key, files, expected)
        if dataset_variant.prompt and dataset_variant.prompts:
            yield self.fault(
                key, f"{dataset_variant.prompt!r} together with `prompts`", "one of the two"
            )

    def tokenizer_faults(
        self, key: str, variant: str, tokenizer: str | None, by_tokens: bool
    ) -> Iterator[Fault]:
        """Yields a tokenizer of a variant that is missing, unknown, or has nothing to balance.

        Args:
            key: the key of the tokenizer.
            variant: the variant.
            tokenizer: the tokenizer, None without one.
            by_tokens: whether the dataset balances groups by tokens.
        """
        tokenizers, has_own = self.grid.tokenizers, masked_tokenizer(variant) is not None
        if tokenizer is None:
            if by_tokens and not has_own:
                problem = "none, although the dataset balances by tokens"
                yield self.fault(key, problem, one_of(tokenizers))
        elif by_tokens and not has_own:
            yield from unknown_names(self.source, key, [tokenizer], tokenizers)
        else:
            reason = "the dataset does not balance by tokens"
            if has_own:
                reason = "a variant of masked language models has its own tokenizer"
            yield self.fault(key, f"{tokenizer!r}, but {reason}", "no `tokenizer` here")

    def unlearned(self) -> Iterator[Fault]:
        """Yields models that cannot learn the synthetic bias of all datasets of their variant.

        Models that are not selected count too, because corpora are the same whichever are: one for
        each dataset and task.
        """
        variant_of_task: dict[str, str | None] = {}
        for name, model in self.grid.models.items():
            if not learns_variant(model):
                continue
            datasets = []
            for dataset, section in self.datasets.items():
                if model.variant in section.variants:
                    datasets.append(dataset)
            # Generative models may learn statements alone, and any model datasets of families
            # without variants.
            learns_others = model.task == GENERATIVE_TASK or self.grid.training_datasets(name)
            needs_dataset = model.variant is not None or not learns_others
            if not datasets and name in self.grid.run.models and needs_dataset:
                reason = "is trained on the synthetic bias of underspecified datasets"
                problem = f"{name!r} {reason} but answers none of them"
                expected = "a `variant` of one of the datasets"
                yield self.fault(f"models.{name}.train.synthetic", problem, expected)
            variant = variant_of_task.setdefault(model.task, model.variant)
            if model.variant != variant:
                conflict = f"other synthetic models of the task answer {variant!r}"
                expected = "the same variant for all synthetic models of a task"
                problem = f"{model.variant!r}, but {conflict}"
                yield self.fault(f"models.{name}.variant", problem, expected)
            for dataset in datasets:
                yield from self.own_subjects(name, dataset, str(model.variant))

    def own_subjects(self, model: str, dataset: str, variant: str) -> Iterator[Fault]:
        """Yields subjects that masked language models have for themselves.

        The known effect in a dataset must be the same for all models.
        """
        section = self.datasets[dataset]
        subjects = section.variants[variant].subjects
        if masked_tokenizer(variant) and subjects != section.subjects:
            key = f"datasets.{dataset}.variants.{variant}.subjects"
            problem = f"{subjects}, but {model!r} is trained on synthetic bias"
            yield self.fault(key, problem, f"the subjects of the dataset, {section.subjects}")

    def unfit_variant(self, key: str, model: Model) -> Iterator[Fault]:
        """Yields a variant of a model that is for models of another task."""
        task = ASKED_TASKS.get(model.task)
        if model.variant is None or (task and model.variant.startswith(task.variants)):
            return
        fitting: set[str] = set()
        if task:
            fitting = {name for name in self.variants if name.startswith(task.variants)}
        hint = nearest_name(model.variant, fitting)
        problem = f"{model.variant!r} is not for the task {model.task!r}{hint}"
        yield self.fault(key, problem, one_of(fitting) if task else "no variant")

    def missing_masks(self) -> Iterator[Fault]:
        """Yields tokenizers of masked language models without a mask token."""
        model_variants = {model.variant for model in self.grid.models.values()}
        for name, tokenizer in self.grid.tokenizers.items():
            variant = f"lm-{name}"
            if variant in self.variants | model_variants and tokenizer.mask is None:
                expected = f"the key, because masked language models answer the variant {variant}"
                yield self.fault(f"tokenizers.{name}.mask", "missing", expected)

    def unknown_tokenizer(self, key: str, variant: str | None) -> Iterator[Fault]:
        """Yields a variant of masked language models if the config lacks its tokenizer."""
        tokenizers, tokenizer = self.grid.tokenizers, masked_tokenizer(variant or "")
        if tokenizer is not None and tokenizer not in tokenizers:
            problem = f"unknown tokenizer {tokenizer!r}{nearest_name(tokenizer, tokenizers)}"
            yield self.fault(key, problem, one_of(tokenizers) + " (tokenizers)")


def learns_variant(model: Model) -> bool:
    """Whether a model learns the synthetic bias of all datasets of its variant."""
    train = model.train
    if train is None or train.synthetic is None or train.dataset:
        return False
    return model.task in ASKED_TASKS


def cell_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields the reasons why a model cannot answer a dataset."""
    variant, section = str(grid.models[model].variant), underspecified_datasets(grid)[dataset]
    origin = grid.models[model].source
    yield from origin.cell_faults(model, dataset, grid.results, source)
    if origin.brings_instances:
        return
    tokenizer = section.needed_tokenizer(variant)
    entry = grid.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        action, expected = "balances", "one of them"
        if not section.balance:
            action = "filters"
            expected += ", or `subjects` in the variant, or `target_scoring` in the dataset"
        lacks = f"{tokenizer!r} has no `checkpoint` or `folder`"
        problem = f"{lacks}, but {action} the subjects of {dataset!r}"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, expected)


# Faults of word lists


def unbalanced_faults(source: str, key: str, lists: WordLists) -> Iterator[Fault]:
    """Yields subjects that cannot be balanced, and groups that are too small if they are.

    Args:
        source: the config's file.
        key: the key of the dataset's `balance`.
        lists: the word lists of a variant.
    """
    if lists.balance is None:
        return
    have_frequencies = all(subjects.frequencies is not None for subjects in lists.subjects)
    if any(None in subjects.groups for subjects in lists.subjects):
        expected = "a group of each subject: [subj] group | term"
        yield Fault(source, key, "subjects without a group", expected)
    elif "frequency" in lists.balance.by and not have_frequencies:
        expected = "lists with `[subj] group | term | frequency`, or `by: [tokens]`"
        yield Fault(source, f"{key}.by", "subjects without a frequency", expected)
    else:
        refusal = planned_instances(lists).refusal
        if refusal is not None:
            yield Fault(source, key, *refusal)


def pronoun_faults(
    source: str, key: str, section: UnderspecifiedDataset, lists: WordLists
) -> Iterator[Fault]:
    """Yields groups of subjects without a pronoun.

    Args:
        source: the config's file.
        key: the key of the dataset's `pronouns`.
        section: the dataset.
        lists: the word lists of a variant.
    """
    groups = {group for subjects in lists.subjects for group in subjects.groups}
    for group in sorted(groups - section.pronouns.keys(), key=str):
        noun = f"subjects of group {group!r}" if group else "subjects without a group"
        problem = f"no pronoun for {noun} in {', '.join(section.subjects)}"
        yield Fault(source, key, problem, "a pronoun for the group of each subject")


# The family


def cell_options(grid: Grid, section: UnderspecifiedDataset) -> dict[str, Any]:
    """Returns the measure options that all cells of a dataset share; see `measure.measure`."""
    # The threshold of failures counts only if there are comparisons.
    comparisons = {"measures", "failure_threshold"} if section.compares_groups else {"measures"}
    options = section.model_dump(include=comparisons)
    if section.stereotypes:
        stereotypes = read_stereotypes(Path(grid.word_lists, section.stereotypes), [])
        options["stereotypes"] = {name: line.text for name, line in stereotypes.items()}
    return options


class Underspecified(Family):
    """Asks models for a variant which of two subjects an attribute belongs to."""

    name = "underspecified"
    place = 1
    unit = "swap groups"
    asks = "which of two people or groups did something, when the text does not say"
    Section = UnderspecifiedDataset
    is_synthetic = True
    yields_sums = True
    grid_figures = ("intensity_mu", "model_ranks", "errors")
    group_number = "share_gamma"
    instance_bytes = 0.24
    formats = ("unqover",)
    modes = MODES
    output_types: ClassVar = dict.fromkeys(ASKED_TASKS, "subjects")
    own_measures = DEFINITIONS.select("measures", "stereotypes", "pronouns", "generative")
    flags = DEFINITIONS.select("flags")
    expected = "a model with a `variant` of the underspecified datasets"
    file_sign = r"(?m)^[^{\n]*\[(?:subj|act)[12]?[\]:]"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model: of the variant that it names, None without it."""
        entry, section = grid.models[model], underspecified_datasets(grid)[dataset]
        if entry.variant is None or entry.variant not in section.variants:
            return None
        imported_scoring = entry.source.scoring(dataset)
        scoring = imported_scoring or grid.scoring
        options = {"task": entry.task, "scoring": scoring, **cell_options(grid, section)}
        if grid.inference.precision in COARSE_PRECISIONS and not imported_scoring:
            options["precision"] = grid.inference.precision
        # Options of generative models are letters, whose probabilities are read in one way.
        settings: dict[str, Any] = {} if is_generative(entry.variant) else {"scoring": scoring}
        task = ASKED_TASKS.get(entry.task, AskedTask("", "", 0))
        row_bytes = task.row_bytes
        if entry.task == "fill-mask" and imported_scoring is None:
            pronouns = PRONOUN_PLACES if section.pronouns else []
            settings |= {"target_scoring": section.target_scoring, "either_case": pronouns}
            row_bytes += PRONOUN_BYTES if pronouns else 0
        tokenizer = section.needed_tokenizer(entry.variant)
        return Question(entry.variant, task.answer, settings, options, tokenizer, row_bytes)

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Describes that the dataset lacks the variant that a model names."""
        variant = grid.models[model].variant
        if variant is None:
            return ""
        variants = underspecified_datasets(grid)[dataset].variants
        hint = nearest_name(variant, variants)
        return f"no variant {variant!r}{hint}, only {', '.join(sorted(variants))}"

    def files(self, grid: Grid, dataset: str, variant: str) -> WordListFiles:
        """Returns the word lists of a dataset's variant."""
        folder, section = Path(grid.word_lists), underspecified_datasets(grid)[dataset]
        dataset_variant = section.variants[variant]
        tokenizer = masked_tokenizer(variant)
        mask, pronouns = None, {}
        if tokenizer is not None:
            mask, pronouns = grid.tokenizers[tokenizer].mask, section.pronouns
        return WordListFiles(
            templates=folder / dataset_variant.templates,
            subjects=tuple(folder / name for name in section.variant_subjects(variant)),
            attributes=folder / section.attributes,
            filler=folder / dataset_variant.filler if dataset_variant.filler else None,
            mask=mask,
            limit=section.limit.model_dump(exclude_none=True),
            pronouns=pronouns,
            sample=sample_unless_all(section.variant_sample(variant), section.sample_by),
            prompts=tuple(folder / name for name in dataset_variant.prompt_files),
            is_english=section.is_english,
            antonyms=section.antonyms,
            one_token=section.filtering_tokenizer(variant) is not None,
            balance=section.balance,
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of the family, and measures of groups if it compares them."""
        section = underspecified_datasets(grid)[dataset]
        definitions = ["measures"]
        if section.stereotypes:
            definitions.append("stereotypes")
        if section.pronouns:
            definitions.append("pronouns")
        if any(map(is_generative, section.variants)):
            definitions.append("generative")
        measures = dict(DEFINITIONS.select(*definitions))
        if section.compares_groups:
            threshold = section.failure_threshold
            measures |= group_measures("subjects", threshold, SWAP_GROUP_DESIGN)
        return {**measures, **DEFINITIONS.select("flags")}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Describes the questions, and groups if the dataset compares them."""
        if underspecified_datasets(grid)[dataset].compares_groups:
            return DEFINITIONS.about, about_groups()
        return (DEFINITIONS.about,)

    def cluster_texts(self, lists: WordLists) -> Sequence[str]:
        """Returns context and both questions of each template."""
        return [template.text for template in lists.templates]

    def templates_asked(self, lists: WordLists) -> int:
        """Returns how many templates the key `limit` leaves."""
        return min(len(lists.templates), lists.limit.get("templates", len(lists.templates)))

    def sampled(self, lists: WordLists, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Describes a sample: how many of its associations are asked in all of their clusters.

        Args:
            lists: the word lists.
            clusters: returns the cluster of each template.

        Returns:
            The description, None without a sample.
        """
        if lists.sample is None:
            return None
        design = planned_instances(lists)
        # The config is read faster without polars.
        from biasgrid.families.underspecified.samples import asked_groups, association_clusters

        unit_mask = asked_groups(design, lists.sample)
        asked_clusters, available_clusters = association_clusters(design, unit_mask, clusters())
        complete = (asked_clusters == available_clusters).sum()
        fewest, most = available_clusters.min(), available_clusters.max()
        number = f"{most}" if fewest == most else f"{fewest} to {most}"
        associations = (
            f"{complete:,} of {len(available_clusters):,} associations with {number} clusters"
        )
        return f"{int(unit_mask.sum()):,} swap groups: {associations}"

    def figures(self, dataset: UnderspecifiedDataset) -> Sequence[str]:
        """Names the family's figures, with group figures if the dataset compares groups."""
        figures = list(ASSOCIATION_FIGURES)
        if len(dataset.subjects) == 2:
            figures.append(SUBJECT_GROUPS)
        if dataset.compares_groups:
            figures += GROUP_FIGURES
        return tuple(figures)

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields the faults of variants, tokenizers, dumps and the known effect."""
        yield from ConfigFaults(grid, source)

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of groups that cannot be computed, and faulty stereotypes."""
        for name in grid.run.datasets:
            section = underspecified_datasets(grid).get(name)
            if section is None:
                continue
            # A missing folder of lists is reported once, not for each of its files.
            if section.stereotypes and Path(grid.word_lists).is_dir():
                faults: list[Fault] = []
                read_stereotypes(Path(grid.word_lists, section.stereotypes), faults)
                yield from faults
            measures = section.measures or ()
            yield from combination_faults(
                source, name, measures, output_type="subjects", class_count=0
            )

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: WordLists
    ) -> Iterator[Fault]:
        """Yields where the section of a dataset does not fit its word lists.

        Groups may have no pronoun or be too small to balance, samples may be empty or too large,
        and stereotypes may name attributes or groups that the dataset does not have.
        """
        section = underspecified_datasets(grid)[dataset]
        key = f"datasets.{dataset}"
        balance_faults = list(unbalanced_faults(source, f"{key}.balance", lists))
        if balance_faults:
            yield from balance_faults
            return
        design = planned_instances(lists)
        if section.stereotypes:
            path = Path(grid.word_lists, section.stereotypes)
            attributes = {row.name for rows in lists.attributes.values() for row in rows}
            yield from unknown_stereotypes(path, attributes, lists.subjects)
        sample = section.variant_sample(variant)
        if is_generative(variant):
            instances, noun = design.instances, "swap groups of four"
            yield from size_faults(source, f"{key}.sample", sample, instances, noun)
        has_own_sample = section.variants[variant].sample is not None
        sample_key = f"{key}.variants.{variant}.sample" if has_own_sample else f"{key}.sample"
        yield from sample_faults(source, sample_key, sample, design.swap_groups, "swap groups")
        if section.pronouns and masked_tokenizer(variant) is not None:
            yield from pronoun_faults(source, f"{key}.pronouns", section, lists)

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model learns the dataset, because it learns all datasets of its variant."""
        entry, section = grid.models[model], underspecified_datasets(grid)[dataset]
        if entry.train is None or entry.train.dataset:
            return False
        return entry.variant in section.variants


FAMILY = Underspecified()
