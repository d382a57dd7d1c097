"""What is wrong in a config with datasets of underspecified questions, and with what models are asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from biasgrid.base.faults import Fault, nearest, one_of, unknown_names
from biasgrid.families.family import Grid
from biasgrid.families.underspecified.section import UnderspecifiedDataset, is_generative

GENERATIVE = "text-generation"
KINDS = {"fill-mask": "lm-", "question-answering": "qa", GENERATIVE: "llm"}
"""How the variants begin that are for models of a task."""


def datasets_of(grid: Grid) -> dict[str, UnderspecifiedDataset]:
    """Returns the datasets of the family, by name."""
    return {name: section for name, section in grid.datasets.items() if isinstance(section, UnderspecifiedDataset)}


def prompt_faults(source: str, dataset: str, section: UnderspecifiedDataset) -> Iterator[Fault]:
    """Yields variants of generative models without a prompt, and others with one."""
    for variant, chosen in section.variants.items():
        key = f"datasets.{dataset}.variants.{variant}.prompt"
        if is_generative(variant) and chosen.prompt is None:
            yield Fault(source, key, "none", "a file such as prompts/two-options.txt, as generative models need one")
        if not is_generative(variant) and chosen.prompt is not None:
            yield Fault(source, key, repr(chosen.prompt), "no prompt, which is for generative models (`llm`) alone")


def filtering_tokenizer(section: UnderspecifiedDataset, variant: str) -> str | None:
    """Returns the tokenizer that decides which subjects are kept, None where all are."""
    chosen = section.variants.get(variant)
    if chosen is None or not variant.startswith("lm-") or chosen.subjects or section.target_scoring:
        return None
    return variant.removeprefix("lm-")


def faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields what the config names but does not have, and pairs that cannot be."""
    datasets = datasets_of(grid)
    yield from synthetic_faults(grid, source)
    for name, model in grid.models.items():
        yield from task_faults(grid, source, name)
        yield from tokenizer_faults(grid, source, f"models.{name}.variant", model.variant)
        yield from unknown_names(source, f"models.{name}.predictions", [*model.predictions], datasets)
    for name, section in datasets.items():
        for variant in section.variants:
            yield from tokenizer_faults(grid, source, f"datasets.{name}.variants.{variant}", variant)
        yield from prompt_faults(source, name, section)
        if section.target_scoring and grid.scoring == "unqover":
            problem = f"{section.target_scoring!r}, but `scoring: unqover` knows words of one token alone"
            yield Fault(source, f"datasets.{name}.target_scoring", problem, "`scoring: exact`, or no `target_scoring`")
    for model_name in grid.run.models:
        for dataset_name in grid.run.datasets:
            if dataset_name in datasets and model_name in grid.models and grid.models[model_name].variant is not None:
                yield from cell_faults(grid, source, model_name, dataset_name)


def synthetic_faults(grid: Grid, source: str) -> Iterator[Fault]:
    """Yields what keeps models from learning the synthetic bias of all datasets of their variant.

    Models that are not selected count too, because corpora are the same whichever are: one for each dataset and task.
    """
    first: dict[str, str | None] = {}
    for name, model in grid.models.items():
        train = model.train
        if train is None or train.synthetic is None or train.dataset or model.task not in KINDS:
            continue
        learned = [dataset for dataset, section in datasets_of(grid).items() if model.variant in section.variants]
        # Generative models may learn statements alone.
        if not learned and name in grid.run.models and (model.variant is not None or model.task != GENERATIVE):
            problem = f"{name!r} is trained on the synthetic bias of underspecified datasets, but answers none"
            yield Fault(source, f"models.{name}.train.synthetic", problem, "a `variant` that a dataset has")
        variant = first.setdefault(model.task, model.variant)
        if model.variant != variant:
            problem = f"{model.variant!r}, while other synthetic models of the task answer {variant!r}"
            yield Fault(source, f"models.{name}.variant", problem, "one variant for all synthetic models of a task")
        for dataset in learned:
            yield from synthetic_subject_faults(grid, source, name, dataset)


def synthetic_subject_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields subjects of masked language models alone: the known effect in a dataset is the same for all models."""
    section, variant = datasets_of(grid)[dataset], str(grid.models[model].variant)
    subjects = section.variants[variant].subjects
    if variant.startswith("lm-") and subjects != section.subjects:
        key = f"datasets.{dataset}.variants.{variant}.subjects"
        problem = f"{subjects}, but {model!r} is trained on synthetic bias"
        yield Fault(source, key, problem, f"the subjects of the dataset, {section.subjects}")


def task_faults(grid: Grid, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose variant is for models of another task."""
    model = grid.models[name]
    kind = KINDS.get(model.task)
    if model.variant is None or (kind and model.variant.startswith(kind)):
        return
    variants = {variant for section in datasets_of(grid).values() for variant in section.variants}
    fitting = {variant for variant in variants if kind and variant.startswith(kind)}
    problem = f"{model.variant!r} is not for the task {model.task!r}{nearest(model.variant, fitting)}"
    yield Fault(source, f"models.{name}.variant", problem, one_of(fitting) if kind else "no variant")


def tokenizer_faults(grid: Grid, source: str, key: str, variant: str | None) -> Iterator[Fault]:
    """Yields a variant whose tokenizer is not in the config."""
    tokenizer = (variant or "").removeprefix("lm-")
    if variant and variant.startswith("lm-") and tokenizer not in grid.tokenizers:
        problem = f"unknown tokenizer {tokenizer!r}{nearest(tokenizer, grid.tokenizers)}"
        yield Fault(source, key, problem, one_of(grid.tokenizers) + " (tokenizers)")


def cell_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields what keeps a model from answering a dataset."""
    variant, section = grid.models[model].variant, datasets_of(grid)[dataset]
    if variant is None or variant not in section.variants:
        problem = f"model {model!r} answers variant {variant!r}, which dataset {dataset!r} does not have"
        yield Fault(source, "run", problem + nearest(str(variant), section.variants), one_of(section.variants))
        return
    if grid.models[model].predictions:
        yield from dump_faults(grid, source, model, dataset)
        return
    tokenizer = filtering_tokenizer(section, variant)
    entry = grid.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        problem = f"{tokenizer!r} has no `checkpoint` or `folder`, but filters the subjects of {dataset!r}"
        expected = "one of them, or `subjects` in the variant, or `target_scoring` in the dataset"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, expected)


def dump_faults(grid: Grid, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields what keeps an imported model from having its dump of a dataset."""
    key = f"models.{model}.predictions"
    dump = grid.models[model].predictions.get(dataset)
    if dump is None:
        given = ", ".join(grid.models[model].predictions)
        yield Fault(source, key, f"no dump of the selected dataset {dataset!r}, only of {given}", "one of each dataset")
    elif dump.file is not None and not Path(dump.file).is_file():
        problem = f"there is no file {dump.file!r}"
        yield Fault(source, f"{key}.{dataset}.file", problem, "an output.json of UnQover")
    elif dump.file is not None and Path(dump.file).resolve().is_relative_to(Path(grid.results).resolve()):
        problem = f"{dump.file!r} lies in the folder of results, whose files are removed and made again"
        yield Fault(source, f"{key}.{dataset}.file", problem, "a file of your own: copy it to another folder")
