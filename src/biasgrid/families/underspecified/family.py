"""The family of underspecified questions about pairs of subjects, as others see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.base.faults import Fault, nearest_name, one_of, unknown_names
from biasgrid.base.sections import Model
from biasgrid.families.family import Family, Format, Grid, Question
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.families.underspecified.lists.stereotypes import (
    groups_named,
    stereotype_form_faults,
    unknown_stereotype_faults,
)
from biasgrid.families.underspecified.pack import WordListFiles, WordLists, design_of
from biasgrid.families.underspecified.section import (
    SCORES_OF_MODE,
    UnderspecifiedDataset,
    is_generative,
)
from biasgrid.groups.definitions import about_groups, measures_of_groups
from biasgrid.groups.section import GROUP_FIGURES, combination_faults
from biasgrid.tables.metric import Measure, read_definitions

SWAP_GROUP_DESIGN = ("template", "subject", "attribute")
DEFINITIONS = read_definitions("families/underspecified")
GENERATIVE_TASK = "text-generation"
VARIANT_OF_TASK = {"fill-mask": "lm-", "question-answering": "qa", GENERATIVE_TASK: "llm"}
"""How the variants begin that are for models of a task."""
ANSWER_KIND_OF_MODEL = {
    "question-answering": "span",
    "fill-mask": "choice",
    "text-generation": "choice",
}
"""The answer kind of models of each task."""
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
# Measured by writing the tables of config/config.yaml with random probabilities, of which each
# takes 3.6 bytes: numbers and all else take 0.1 bytes a row, instances 0.3 to 0.7; a table of few
# rows has 5 to 9 kB.
BYTES_PER_INSTANCE = {"question-answering": 17.8, "fill-mask": 7.1, "text-generation": 15.3}
PRONOUN_BYTES = 7.3


def underspecified_datasets(grid: Grid) -> dict[str, UnderspecifiedDataset]:
    """Returns the datasets of the family, by name."""
    return {
        name: section
        for name, section in grid.datasets.items()
        if isinstance(section, UnderspecifiedDataset)
    }


def prompt_faults(source: str, dataset: str, section: UnderspecifiedDataset) -> Iterator[Fault]:
    """Yields variants of generative models without a prompt, and other variants with one."""
    for variant, chosen in section.variants.items():
        key, files = f"datasets.{dataset}.variants.{variant}.prompt", chosen.prompt_files
        if is_generative(variant) and not files:
            expected = "a file such as prompts/two-options.txt, which generative models need"
            yield Fault(source, key, "none", expected)
        if not is_generative(variant) and files:
            names = ", ".join(map(repr, files))
            expected = "no prompt, which is only for generative models (`llm`)"
            yield Fault(source, key, names, expected)
        if chosen.prompt and chosen.prompts:
            yield Fault(source, key, f"{chosen.prompt!r} together with `prompts`", "one of the two")


def filtering_tokenizer(section: UnderspecifiedDataset, variant: str) -> str | None:
    """Returns the tokenizer that drops subjects of several tokens, None if all are kept."""
    chosen = section.variants.get(variant)
    if chosen is None or not variant.startswith("lm-") or chosen.subjects or section.target_scoring:
        return None
    return variant.removeprefix("lm-")


def needed_tokenizer(section: UnderspecifiedDataset, variant: str) -> str | None:
    """Returns the tokenizer that drops or balances subjects, None if no tokens are counted."""
    chosen = section.variants.get(variant)
    if chosen is not None and balances_by_tokens(section):
        return variant.removeprefix("lm-") if variant.startswith("lm-") else chosen.tokenizer
    return filtering_tokenizer(section, variant)


def balances_by_tokens(section: UnderspecifiedDataset) -> bool:
    """Whether groups of subjects are made alike in their tokens."""
    return section.balance is not None and "tokens" in section.balance.by


def balance_faults(
    grid: Grid, source: str, dataset: str, section: UnderspecifiedDataset
) -> Iterator[Fault]:
    """Yields variants whose tokenizer is missing, unknown, or has nothing to balance."""
    by_tokens = balances_by_tokens(section)
    for variant, chosen in section.variants.items():
        key = f"datasets.{dataset}.variants.{variant}.tokenizer"
        has_own, tokenizer = variant.startswith("lm-"), chosen.tokenizer
        if tokenizer is None:
            if by_tokens and not has_own:
                problem = "none, although the dataset balances by tokens"
                yield Fault(source, key, problem, one_of(grid.tokenizers))
        elif has_own:
            reason = "a variant of masked language models has its own tokenizer"
            yield Fault(source, key, f"{tokenizer!r}, but {reason}", "no `tokenizer` here")
        elif not by_tokens:
            reason = "the dataset does not balance by tokens"
            yield Fault(source, key, f"{tokenizer!r}, but {reason}", "no `tokenizer` here")
        else:
            yield from unknown_names(source, key, [tokenizer], grid.tokenizers)


def config_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields names that the config does not define, and models that do not fit datasets."""
    datasets = underspecified_datasets(grid)
    yield from synthetic_faults(grid, source)
    yield from mask_faults(grid, source)
    for name, model in grid.models.items():
        key = f"models.{name}"
        yield from task_faults(grid, source, name)
        yield from tokenizer_faults(grid, source, f"{key}.variant", model.variant)
        yield from unknown_names(source, f"{key}.predictions", [*model.predictions], datasets)
    for name, section in datasets.items():
        yield from dataset_faults(grid, source, name, section)
    for model_name in grid.run.models:
        for dataset_name in grid.run.datasets:
            are_defined = dataset_name in datasets and model_name in grid.models
            if are_defined and grid.fits(model_name, dataset_name):
                yield from cell_faults(grid, source, model_name, dataset_name)


def dataset_faults(
    grid: Grid, source: str, name: str, section: UnderspecifiedDataset
) -> Iterator[Fault]:
    """Yields the faults of a dataset's section."""
    for variant in section.variants:
        key = f"datasets.{name}.variants.{variant}"
        yield from tokenizer_faults(grid, source, key, variant)
    yield from prompt_faults(source, name, section)
    yield from balance_faults(grid, source, name, section)
    if section.target_scoring and grid.scoring in SCORES_OF_MODE:
        only = f"`scoring: {grid.scoring}` scores only words of one token"
        problem = f"{section.target_scoring!r}, but {only}"
        expected = "`scoring: exact`, or no `target_scoring`"
        yield Fault(source, f"datasets.{name}.target_scoring", problem, expected)


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
        refusal = design_of(lists).refusal
        if refusal is not None:
            yield Fault(source, key, *refusal)


def synthetic_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields models that cannot learn the synthetic bias of all datasets of their variant.

    Models that are not selected count too, because corpora are the same whichever are: one for each
    dataset and task.
    """
    variant_of_task: dict[str, str | None] = {}
    for name, model in grid.models.items():
        if not learns_variant(model):
            continue
        datasets = datasets_with_variant(grid, model.variant)
        # Generative models may learn statements alone, and any model datasets of families without
        # variants.
        learns_others = model.task == GENERATIVE_TASK or bool(grid.learned_datasets(name))
        needs_dataset = model.variant is not None or not learns_others
        if not datasets and name in grid.run.models and needs_dataset:
            deed = "is trained on the synthetic bias of underspecified datasets"
            problem = f"{name!r} {deed} but answers none of them"
            key = f"models.{name}.train.synthetic"
            yield Fault(source, key, problem, "a `variant` of one of the datasets")
        variant = variant_of_task.setdefault(model.task, model.variant)
        if model.variant != variant:
            others = f"other synthetic models of the task answer {variant!r}"
            expected = "the same variant for all synthetic models of a task"
            yield Fault(
                source, f"models.{name}.variant", f"{model.variant!r}, but {others}", expected
            )
        for dataset in datasets:
            yield from synthetic_subject_faults(grid, source, name, dataset)


def learns_variant(model: Model) -> bool:
    """Whether a model learns the synthetic bias of all datasets of its variant."""
    train = model.train
    if train is None or train.synthetic is None or train.dataset:
        return False
    return model.task in VARIANT_OF_TASK


def datasets_with_variant(grid: Grid, variant: str | None) -> list[str]:
    """Returns the names of the datasets that have a variant."""
    datasets = underspecified_datasets(grid)
    return [name for name, section in datasets.items() if variant in section.variants]


def synthetic_subject_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields subjects that masked language models have for themselves.

    The known effect in a dataset must be the same for all models.
    """
    section, variant = underspecified_datasets(grid)[dataset], str(grid.models[model].variant)
    subjects = section.variants[variant].subjects
    if variant.startswith("lm-") and subjects != section.subjects:
        key = f"datasets.{dataset}.variants.{variant}.subjects"
        problem = f"{subjects}, but {model!r} is trained on synthetic bias"
        yield Fault(source, key, problem, f"the subjects of the dataset, {section.subjects}")


def task_faults(grid: Grid, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose variant is for models of another task."""
    model = grid.models[name]
    start = VARIANT_OF_TASK.get(model.task)
    if model.variant is None or (start and model.variant.startswith(start)):
        return
    fitting: set[str] = set()
    if start:
        fitting = {variant for variant in all_variants(grid) if variant.startswith(start)}
    hint = nearest_name(model.variant, fitting)
    problem = f"{model.variant!r} is not for the task {model.task!r}{hint}"
    expected = one_of(fitting) if start else "no variant"
    yield Fault(source, f"models.{name}.variant", problem, expected)


def all_variants(grid: Grid) -> set[str]:
    """Returns the variants of all datasets."""
    variants: set[str] = set()
    for section in underspecified_datasets(grid).values():
        variants.update(section.variants)
    return variants


def mask_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields tokenizers of masked language models without a mask token."""
    variants = all_variants(grid)
    variants.update(model.variant for model in grid.models.values() if model.variant)
    for name, tokenizer in grid.tokenizers.items():
        variant = f"lm-{name}"
        if variant in variants and tokenizer.mask is None:
            expected = f"the key, because masked language models answer the variant {variant}"
            yield Fault(source, f"tokenizers.{name}.mask", "missing", expected)


def tokenizer_faults(grid: Grid, source: str, key: str, variant: str | None) -> Iterator[Fault]:
    """Yields a variant whose tokenizer is not in the config."""
    tokenizer = (variant or "").removeprefix("lm-")
    if variant and variant.startswith("lm-") and tokenizer not in grid.tokenizers:
        problem = f"unknown tokenizer {tokenizer!r}{nearest_name(tokenizer, grid.tokenizers)}"
        yield Fault(source, key, problem, one_of(grid.tokenizers) + " (tokenizers)")


def cell_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields the reasons why a model cannot answer a dataset."""
    variant, section = str(grid.models[model].variant), underspecified_datasets(grid)[dataset]
    origin = grid.models[model].source
    yield from origin.cell_faults(model, dataset, grid.results, source)
    if origin.brings_instances:
        return
    tokenizer = needed_tokenizer(section, variant)
    entry = grid.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        deed, expected = "balances", "one of them"
        if not section.balance:
            deed = "filters"
            expected += ", or `subjects` in the variant, or `target_scoring` in the dataset"
        lacks = f"{tokenizer!r} has no `checkpoint` or `folder`"
        problem = f"{lacks}, but {deed} the subjects of {dataset!r}"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, expected)


def group_options(section: UnderspecifiedDataset) -> dict[str, Any]:
    """Returns the comparisons of groups; the threshold of failures only if there are any."""
    if not section.compares_groups:
        return {"measures": section.measures}
    return section.model_dump(include={"measures", "failure_threshold"})


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
    formats: ClassVar = {
        "unqover": Format(
            "biasgrid.formats.unqover.commands:import_file",
            "biasgrid.formats.unqover.commands:export_cell",
        )
    }
    modes = SCORES_OF_MODE
    sorts: ClassVar = dict.fromkeys(ANSWER_KIND_OF_MODEL, "subjects")
    own_measures = DEFINITIONS.of("measures", "stereotypes", "pronouns", "generative")
    flags = DEFINITIONS.of("flags")
    expected = "a model with a `variant` of the underspecified datasets"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model: of the variant that it names, None without it."""
        entry, section = grid.models[model], underspecified_datasets(grid)[dataset]
        if entry.variant is None or entry.variant not in section.variants:
            return None
        imported = entry.source.scoring(dataset)
        scoring = imported or grid.scoring
        options = {"task": entry.task, "scoring": scoring, **group_options(section)}
        if grid.inference.precision in COARSE_PRECISIONS and not imported:
            options["precision"] = grid.inference.precision
        if section.stereotypes:
            options["stereotypes"] = groups_named(Path(grid.word_lists, section.stereotypes))
        # Options of generative models are letters, whose probabilities are read in one way.
        settings: dict[str, Any] = {} if is_generative(entry.variant) else {"scoring": scoring}
        row_bytes = BYTES_PER_INSTANCE.get(entry.task, 0)
        if entry.task == "fill-mask" and imported is None:
            pronouns = PRONOUN_PLACES if section.pronouns else []
            settings |= {"target_scoring": section.target_scoring, "either_case": pronouns}
            row_bytes += PRONOUN_BYTES if pronouns else 0
        return Question(
            entry.variant,
            ANSWER_KIND_OF_MODEL.get(entry.task, ""),
            settings,
            options,
            needed_tokenizer(section, entry.variant),
            row_bytes,
        )

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
        chosen = section.variants[variant]
        mask, pronouns = None, {}
        if variant.startswith("lm-"):
            mask = grid.tokenizers[variant.removeprefix("lm-")].mask
            pronouns = section.pronouns
        return WordListFiles(
            templates=folder / chosen.templates,
            subjects=tuple(folder / name for name in section.subjects_of(variant)),
            attributes=folder / section.attributes,
            filler=folder / chosen.filler if chosen.filler else None,
            mask=mask,
            limit=section.limit.model_dump(exclude_none=True),
            pronouns=pronouns,
            sample=sample_unless_all(section.sample_of(variant), section.sample_by),
            prompts=tuple(folder / name for name in chosen.prompt_files),
            is_english=section.is_english,
            antonyms=section.antonyms,
            one_token=filtering_tokenizer(section, variant) is not None,
            balance=section.balance,
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of the family, and those of groups if the dataset compares them."""
        section = underspecified_datasets(grid)[dataset]
        definitions = ["measures"]
        if section.stereotypes:
            definitions.append("stereotypes")
        if section.pronouns:
            definitions.append("pronouns")
        if any(map(is_generative, section.variants)):
            definitions.append("generative")
        measures = dict(DEFINITIONS.of(*definitions))
        if section.compares_groups:
            threshold = section.failure_threshold
            measures |= measures_of_groups("subjects", threshold, SWAP_GROUP_DESIGN)
        return {**measures, **DEFINITIONS.of("flags")}

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
        design = design_of(lists)
        if design.asked is None:
            return None
        # The config is read faster without polars.
        from biasgrid.families.underspecified.blocks import clusters_of_associations
        from biasgrid.families.underspecified.expand import asked_groups

        chosen = asked_groups(design, design.asked)
        asked, available = clusters_of_associations(design.crossing, chosen, clusters())
        complete = (asked == available).sum()
        fewest, most = available.min(), available.max()
        number = f"{most}" if fewest == most else f"{fewest} to {most}"
        associations = f"{complete:,} of {len(available):,} associations with {number} clusters"
        return f"{int(chosen.sum()):,} swap groups: {associations}"

    def figures(self, dataset: UnderspecifiedDataset) -> Sequence[str]:
        """Names the family's figures, and those of groups if the dataset compares them."""
        figures = list(ASSOCIATION_FIGURES)
        if len(dataset.subjects) == 2:
            figures.append(SUBJECT_GROUPS)
        if dataset.compares_groups:
            figures += GROUP_FIGURES
        return tuple(figures)

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields the faults of variants, tokenizers, dumps and the known effect."""
        yield from config_faults(grid, source)

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of groups that cannot be computed, and faulty stereotypes."""
        for name in grid.run.datasets:
            section = underspecified_datasets(grid).get(name)
            if section is None:
                continue
            # A missing folder of lists is reported once, not for each of its files.
            if section.stereotypes and Path(grid.word_lists).is_dir():
                yield from stereotype_form_faults(Path(grid.word_lists, section.stereotypes))
            measures = section.measures or ()
            yield from combination_faults(source, name, "subjects", measures, classes=0)

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: WordLists
    ) -> Iterator[Fault]:
        """Yields where the section of a dataset does not fit its word lists.

        Groups may have no pronoun or be too small to balance, samples may be empty or too large,
        and stereotypes may name attributes or groups that the dataset does not have.
        """
        section = underspecified_datasets(grid)[dataset]
        key = f"datasets.{dataset}"
        unbalanced = list(unbalanced_faults(source, f"{key}.balance", lists))
        if unbalanced:
            yield from unbalanced
            return
        design = design_of(lists)
        if section.stereotypes:
            yield from unknown_stereotype_faults(Path(grid.word_lists, section.stereotypes), lists)
        sample = section.sample_of(variant)
        if is_generative(variant):
            instances, noun = design.instances, "swap groups of four"
            yield from size_faults(source, f"{key}.sample", sample, instances, noun)
        has_own_sample = section.variants[variant].sample is not None
        sample_key = f"{key}.variants.{variant}.sample" if has_own_sample else f"{key}.sample"
        yield from sample_faults(source, sample_key, sample, design.swap_groups, "swap groups")
        if section.pronouns and variant.startswith("lm-"):
            yield from pronoun_faults(source, f"{key}.pronouns", section, lists)

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model learns the dataset, because it learns all datasets of its variant."""
        entry, section = grid.models[model], underspecified_datasets(grid)[dataset]
        if entry.train is None or entry.train.dataset:
            return False
        return entry.variant in section.variants


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
    groups: set[str | None] = set()
    for subjects in lists.subjects:
        groups.update(subjects.groups)
    for group in sorted(groups - section.pronouns.keys(), key=str):
        noun = f"subjects of group {group!r}" if group else "subjects without a group"
        problem = f"no pronoun for {noun} in {', '.join(section.subjects)}"
        yield Fault(source, key, problem, "a pronoun for the group of each subject")


FAMILY = Underspecified()
