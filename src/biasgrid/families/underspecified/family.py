"""The family of underspecified questions about pairs of subjects, as others see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.base.faults import Fault, nearest_name, one_of, unknown_names
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
    """Yields variants of generative models without a prompt, and others with one."""
    for variant, chosen in section.variants.items():
        key, files = f"datasets.{dataset}.variants.{variant}.prompt", chosen.prompt_files
        if is_generative(variant) and not files:
            yield Fault(
                source,
                key,
                "none",
                "a file such as prompts/two-options.txt, which generative models need",
            )
        if not is_generative(variant) and files:
            given = ", ".join(map(repr, files))
            yield Fault(
                source, key, given, "no prompt, which is only for generative models (`llm`)"
            )
        if chosen.prompt and chosen.prompts:
            yield Fault(source, key, f"{chosen.prompt!r} together with `prompts`", "one of the two")


def filtering_tokenizer(section: UnderspecifiedDataset, variant: str) -> str | None:
    """Returns the tokenizer that decides which subjects are kept, None where all are."""
    chosen = section.variants.get(variant)
    if chosen is None or not variant.startswith("lm-") or chosen.subjects or section.target_scoring:
        return None
    return variant.removeprefix("lm-")


def needed_tokenizer(section: UnderspecifiedDataset, variant: str) -> str | None:
    """Returns the tokenizer that decides which subjects are kept, because it filters or balances
    them.
    """
    chosen = section.variants.get(variant)
    if chosen is not None and section.balance and "tokens" in section.balance.by:
        return variant.removeprefix("lm-") if variant.startswith("lm-") else chosen.tokenizer
    return filtering_tokenizer(section, variant)


def balance_faults(
    grid: Grid, source: str, dataset: str, section: UnderspecifiedDataset
) -> Iterator[Fault]:
    """Yields variants whose tokenizer is missing, unknown, or has nothing to balance."""
    by_tokens = section.balance is not None and "tokens" in section.balance.by
    for variant, chosen in section.variants.items():
        key, has_own = f"datasets.{dataset}.variants.{variant}.tokenizer", variant.startswith("lm-")
        if chosen.tokenizer is not None and (has_own or not by_tokens):
            why = (
                "a variant of masked language models has its own tokenizer"
                if has_own
                else "the dataset does not balance by tokens"
            )
            yield Fault(source, key, f"{chosen.tokenizer!r}, but {why}", "no `tokenizer` here")
        elif chosen.tokenizer is not None:
            yield from unknown_names(source, key, [chosen.tokenizer], grid.tokenizers)
        elif by_tokens and not has_own:
            yield Fault(
                source,
                key,
                "none, although the dataset balances by tokens",
                one_of(grid.tokenizers),
            )


def config_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields what the config names but does not have, and pairs that cannot be."""
    datasets = underspecified_datasets(grid)
    yield from synthetic_faults(grid, source)
    yield from mask_faults(grid, source)
    for name, model in grid.models.items():
        yield from task_faults(grid, source, name)
        yield from tokenizer_faults(grid, source, f"models.{name}.variant", model.variant)
        yield from unknown_names(
            source, f"models.{name}.predictions", [*model.predictions], datasets
        )
    for name, section in datasets.items():
        for variant in section.variants:
            yield from tokenizer_faults(
                grid, source, f"datasets.{name}.variants.{variant}", variant
            )
        yield from prompt_faults(source, name, section)
        yield from balance_faults(grid, source, name, section)
        if section.target_scoring and grid.scoring in SCORES_OF_MODE:
            problem = (
                f"{section.target_scoring!r}, but `scoring: {grid.scoring}` scores only words of "
                "one token"
            )
            yield Fault(
                source,
                f"datasets.{name}.target_scoring",
                problem,
                "`scoring: exact`, or no `target_scoring`",
            )
    for model_name in grid.run.models:
        for dataset_name in grid.run.datasets:
            if (
                dataset_name in datasets
                and model_name in grid.models
                and grid.fits(model_name, dataset_name)
            ):
                yield from cell_faults(grid, source, model_name, dataset_name)


def unbalanced_faults(source: str, key: str, lists: WordLists) -> Iterator[Fault]:
    """Yields what keeps subjects from being balanced, and groups that are too small if they are."""
    if lists.balance is None:
        return
    known = [subjects.frequencies is not None for subjects in lists.subjects]
    if any(group is None for subjects in lists.subjects for group in subjects.groups):
        yield Fault(
            source, key, "subjects without a group", "a group of each subject: [subj] group | term"
        )
    elif "frequency" in lists.balance.by and not all(known):
        expected = "lists with `[subj] group | term | frequency`, or `by: [tokens]`"
        yield Fault(source, f"{key}.by", "subjects without a frequency", expected)
    elif refusal := design_of(lists).refusal:
        yield Fault(source, key, *refusal)


def synthetic_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields what keeps models from learning the synthetic bias of all datasets of their variant.

    Models that are not selected count too, because corpora are the same whichever are: one for each
    dataset and task.
    """
    first: dict[str, str | None] = {}
    for name, model in grid.models.items():
        train = model.train
        if (
            train is None
            or train.synthetic is None
            or train.dataset
            or model.task not in VARIANT_OF_TASK
        ):
            continue
        learned = [
            dataset
            for dataset, section in underspecified_datasets(grid).items()
            if model.variant in section.variants
        ]
        # Generative models may learn statements alone, and any model datasets of families without
        # variants.
        learns_others = model.task == GENERATIVE_TASK or bool(grid.learned_datasets(name))
        if (
            not learned
            and name in grid.run.models
            and (model.variant is not None or not learns_others)
        ):
            problem = (
                f"{name!r} is trained on the synthetic bias of underspecified datasets but "
                "answers none of them"
            )
            yield Fault(
                source,
                f"models.{name}.train.synthetic",
                problem,
                "a `variant` of one of the datasets",
            )
        variant = first.setdefault(model.task, model.variant)
        if model.variant != variant:
            problem = (
                f"{model.variant!r}, but other synthetic models of the task answer {variant!r}"
            )
            yield Fault(
                source,
                f"models.{name}.variant",
                problem,
                "the same variant for all synthetic models of a task",
            )
        for dataset in learned:
            yield from synthetic_subject_faults(grid, source, name, dataset)


def synthetic_subject_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields subjects of masked language models alone: the known effect in a dataset is the same
    for all models.
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
    kind = VARIANT_OF_TASK.get(model.task)
    if model.variant is None or (kind and model.variant.startswith(kind)):
        return
    variants = {
        variant
        for section in underspecified_datasets(grid).values()
        for variant in section.variants
    }
    fitting = {variant for variant in variants if kind and variant.startswith(kind)}
    problem = (
        f"{model.variant!r} is not for "
        f"the task {model.task!r}{nearest_name(model.variant, fitting)}"
    )
    yield Fault(
        source, f"models.{name}.variant", problem, one_of(fitting) if kind else "no variant"
    )


def mask_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields tokenizers of masked language models without a mask token."""
    variants = {
        variant
        for section in underspecified_datasets(grid).values()
        for variant in section.variants
    }
    variants |= {model.variant for model in grid.models.values() if model.variant}
    for name, tokenizer in grid.tokenizers.items():
        if f"lm-{name}" in variants and tokenizer.mask is None:
            problem, expected = (
                "missing",
                f"the key, because masked language models answer the variant lm-{name}",
            )
            yield Fault(source, f"tokenizers.{name}.mask", problem, expected)


def tokenizer_faults(grid: Grid, source: str, key: str, variant: str | None) -> Iterator[Fault]:
    """Yields a variant whose tokenizer is not in the config."""
    tokenizer = (variant or "").removeprefix("lm-")
    if variant and variant.startswith("lm-") and tokenizer not in grid.tokenizers:
        problem = f"unknown tokenizer {tokenizer!r}{nearest_name(tokenizer, grid.tokenizers)}"
        yield Fault(source, key, problem, one_of(grid.tokenizers) + " (tokenizers)")


def cell_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields what keeps a model from answering a dataset."""
    variant, section = str(grid.models[model].variant), underspecified_datasets(grid)[dataset]
    yield from grid.models[model].source.cell_faults(model, dataset, grid.results, source)
    if grid.models[model].source.brings_instances:
        return
    tokenizer = needed_tokenizer(section, variant)
    entry = grid.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        deed = "balances" if section.balance else "filters"
        problem = (
            f"{tokenizer!r} has no `checkpoint` or `folder`, but {deed} the subjects of {dataset!r}"
        )
        otherwise = (
            ""
            if section.balance
            else ", or `subjects` in the variant, or `target_scoring` in the dataset"
        )
        expected = f"one of them{otherwise}"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, expected)


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
        """Says what a model is asked: the variant that it names, if the dataset has it."""
        entry, section = grid.models[model], underspecified_datasets(grid)[dataset]
        if entry.variant is None or entry.variant not in section.variants:
            return None
        imported = entry.source.scoring(dataset)
        settings: dict[str, Any] = {"scoring": imported or grid.scoring}
        of_groups = {"measures", "failure_threshold"} if section.compares_groups else {"measures"}
        options = {"task": entry.task, **settings, **section.model_dump(include=of_groups)}
        if grid.inference.precision in COARSE_PRECISIONS and not imported:
            options["precision"] = grid.inference.precision
        if is_generative(entry.variant):
            # Options are letters, whose probabilities are read in one way.
            settings = {}
        if section.stereotypes:
            options["stereotypes"] = groups_named(Path(grid.word_lists, section.stereotypes))
        row_bytes = BYTES_PER_INSTANCE.get(entry.task, 0)
        if entry.task == "fill-mask" and imported is None:
            pronouns = PRONOUN_PLACES if section.pronouns else []
            settings |= {"target_scoring": section.target_scoring, "either_case": pronouns}
            row_bytes += PRONOUN_BYTES if pronouns else 0
        tokenizer = needed_tokenizer(section, entry.variant)
        return Question(
            entry.variant,
            ANSWER_KIND_OF_MODEL.get(entry.task, ""),
            settings,
            options,
            tokenizer,
            row_bytes,
        )

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Says that the dataset lacks the variant that a model names."""
        variant, variants = (
            grid.models[model].variant,
            underspecified_datasets(grid)[dataset].variants,
        )
        if variant is None:
            return ""
        return (
            "no variant "
            f"{variant!r}{nearest_name(variant, variants)}, only {', '.join(sorted(variants))}"
        )

    def files(self, grid: Grid, dataset: str, variant: str) -> WordListFiles:
        """Returns the word lists of a dataset's variant."""
        folder, section = Path(grid.word_lists), underspecified_datasets(grid)[dataset]
        chosen, masked = section.variants[variant], variant.startswith("lm-")
        return WordListFiles(
            templates=folder / chosen.templates,
            subjects=tuple(folder / name for name in section.subjects_of(variant)),
            attributes=folder / section.attributes,
            filler=folder / chosen.filler if chosen.filler else None,
            mask=grid.tokenizers[variant.removeprefix("lm-")].mask if masked else None,
            limit=section.limit.model_dump(exclude_none=True),
            pronouns=section.pronouns if masked else {},
            sample=sample_unless_all(section.sample_of(variant), section.sample_by),
            prompts=tuple(folder / name for name in chosen.prompt_files),
            is_english=section.is_english,
            antonyms=section.antonyms,
            one_token=filtering_tokenizer(section, variant) is not None,
            balance=section.balance,
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the family's measures, and those of groups if the dataset asks for them."""
        section = underspecified_datasets(grid)[dataset]
        asked = {
            "stereotypes": section.stereotypes,
            "pronouns": section.pronouns,
            "generative": any(map(is_generative, section.variants)),
        }
        own = DEFINITIONS.of("measures", *(key for key, is_asked in asked.items() if is_asked))
        threshold, compares = section.failure_threshold, section.compares_groups
        of_groups = measures_of_groups("subjects", threshold, SWAP_GROUP_DESIGN) if compares else {}
        return {**own, **of_groups, **DEFINITIONS.of("flags")}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of the questions, and of groups if the dataset compares them."""
        section = underspecified_datasets(grid)[dataset]
        return (
            (DEFINITIONS.about, about_groups()) if section.compares_groups else (DEFINITIONS.about,)
        )

    def cluster_texts(self, lists: WordLists) -> Sequence[str]:
        """Returns context and both questions of each template."""
        return [template.text for template in lists.templates]

    def templates_asked(self, lists: WordLists) -> int:
        """Returns how many templates the key `limit` leaves."""
        return min(len(lists.templates), lists.limit.get("templates", len(lists.templates)))

    def sampled(self, lists: WordLists, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Says how many of the associations that a sample asks have all their clusters."""
        design = design_of(lists)
        if design.asked is None:
            return None
        from biasgrid.families.underspecified.blocks import clusters_of_associations
        from biasgrid.families.underspecified.expand import asked_groups

        chosen = asked_groups(design, design.asked)
        asked, of_all = clusters_of_associations(design.crossing, chosen, clusters())
        whole, (fewest, most) = (asked == of_all).sum(), (of_all.min(), of_all.max())
        number = f"{most}" if fewest == most else f"{fewest} to {most}"
        return (
            f"{int(chosen.sum()):,} swap groups: {whole:,} of {len(of_all):,} associations with "
            f"{number} clusters"
        )

    def figures(self, dataset: UnderspecifiedDataset) -> Sequence[str]:
        """Names the family's figures, and those of groups if the dataset compares them."""
        own = (
            (*ASSOCIATION_FIGURES, SUBJECT_GROUPS)
            if len(dataset.subjects) == 2
            else ASSOCIATION_FIGURES
        )
        return (*own, *GROUP_FIGURES) if dataset.compares_groups else own

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields what is wrong with variants, tokenizers, dumps and the known effect."""
        yield from config_faults(grid, source)

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of groups that cannot be computed of selected datasets, and what is no
        stereotype.
        """
        for name in grid.run.datasets:
            if section := underspecified_datasets(grid).get(name):
                # Without the folder of lists this is said of the folder, once.
                if section.stereotypes and Path(grid.word_lists).is_dir():
                    yield from stereotype_form_faults(Path(grid.word_lists, section.stereotypes))
                yield from combination_faults(
                    source, name, "subjects", section.measures or (), classes=0
                )

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: WordLists
    ) -> Iterator[Fault]:
        """Yields groups without a pronoun where pronouns are asked for, and samples that are none
        or too large.

        What a file of stereotypes names and the dataset does not have is a fault as well.
        """
        section = underspecified_datasets(grid)[dataset]
        if faults := [*unbalanced_faults(source, f"datasets.{dataset}.balance", lists)]:
            yield from faults
            return
        design = design_of(lists)
        if section.stereotypes:
            yield from unknown_stereotype_faults(Path(grid.word_lists, section.stereotypes), lists)
        sample, key = section.sample_of(variant), f"datasets.{dataset}.sample"
        if is_generative(variant):
            yield from size_faults(source, key, sample, design.instances, "swap groups of four")
        if section.variants[variant].sample is not None:
            key = f"datasets.{dataset}.variants.{variant}.sample"
        yield from sample_faults(source, key, sample, design.swap_groups, "swap groups")
        if not section.pronouns or not variant.startswith("lm-"):
            return
        subject_groups = {
            subject_group for subjects in lists.subjects for subject_group in subjects.groups
        }
        key, expected = f"datasets.{dataset}.pronouns", "a pronoun for the group of each subject"
        for subject_group in sorted(subject_groups - section.pronouns.keys(), key=str):
            whose = (
                f"subjects of group {subject_group!r}"
                if subject_group
                else "subjects without a group"
            )
            problem = f"no pronoun for {whose} in {', '.join(section.subjects)}"
            yield Fault(source, key, problem, expected)

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Says whether the dataset has the variant of a model that learns all datasets of its
        variant.
        """
        entry, section = grid.models[model], underspecified_datasets(grid)[dataset]
        return (
            entry.train is not None
            and not entry.train.dataset
            and entry.variant in section.variants
        )


FAMILY = Underspecified()
