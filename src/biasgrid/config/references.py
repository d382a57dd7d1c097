"""What a config names but does not have, and what does not go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from biasgrid.checkpoints.files import CONFIG, VOCABULARIES, matching, names_in
from biasgrid.config.sections import Config
from biasgrid.faults import Fault, nearest, one_of
from biasgrid.groups.combinations import SORTS, ImpossibleCombination, check_argument, check_combination
from biasgrid.section import Section


def reference_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields what the config names but does not have, and pairs that cannot be."""
    yield from selection_faults(source, "run.models", config.run.models, config.models)
    yield from selection_faults(source, "run.datasets", config.run.datasets, config.datasets)
    yield from label_faults(config, source)
    yield from planted_faults(config, source)
    yield from folder_faults(config, source)
    yield from data_faults(config, source)
    yield from tokenizer_folder_faults(config, source)
    for name, model in config.models.items():
        yield from strength_faults(config, source, name)
        yield from planted_cases_faults(config, source, name)
        yield from task_faults(config, source, name)
        yield from tokenizer_faults(config, source, f"models.{name}.variant", model.variant)
        yield from selection_faults(source, f"models.{name}.predictions", [*model.predictions], config.underspecified)
    for name, dataset in config.underspecified.items():
        for variant in dataset.variants:
            yield from tokenizer_faults(config, source, f"datasets.{name}.variants.{variant}", variant)
        if dataset.target_scoring and config.scoring == "unqover":
            problem = f"{dataset.target_scoring!r}, but `scoring: unqover` knows words of one token alone"
            yield Fault(source, f"datasets.{name}.target_scoring", problem, "`scoring: exact`, or no `target_scoring`")
    yield from unanswered_faults(config, source)
    for model_name in known(config.run.models, config.models):
        for dataset_name in known(config.run.datasets, config.underspecified):
            if config.models[model_name].variant is not None:
                yield from cell_faults(config, source, model_name, dataset_name)


def known(names: list[str], registry: Mapping[str, Section]) -> list[str]:
    """Returns the names that are in a registry."""
    return [name for name in names if name in registry]


def unanswered_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields selected datasets that no selected model answers, and models that answer none."""
    models, datasets = known(config.run.models, config.models), known(config.run.datasets, config.datasets)
    cells = [(model, dataset) for model in models for dataset in datasets if config.fits(model, dataset)]
    expected = "a `variant` for underspecified datasets, the same task and `labels` for others"
    for model in models:
        if datasets and model not in {cell[0] for cell in cells}:
            yield Fault(source, "run.models", f"{model!r} answers none of the selected datasets", expected)
    for dataset in datasets:
        if models and dataset not in {cell[1] for cell in cells}:
            yield Fault(source, "run.datasets", f"no selected model answers {dataset!r}", expected)


def selection_faults(source: str, key: str, names: list[str], registry: Mapping[str, Section]) -> Iterator[Fault]:
    """Yields selected names that are not in their registry, or stand twice."""
    for name in names:
        if name not in registry:
            yield Fault(source, key, f"unknown name {name!r}{nearest(name, registry)}", one_of(registry))
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Fault(source, key, f"{name!r} stands twice", "every name once")


def label_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields selected models that plots could not tell apart."""
    named: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(config.run.models):
        if name in config.models:
            kind, label = config.models[name].kind, config.models[name].label
            if (kind, label) in named:
                problem = f"{label!r} of kind {kind!r} is the label of {named[kind, label]!r} too"
                yield Fault(source, f"models.{name}.label", problem, "one label per model of a kind, as plots need it")
            named.setdefault((kind, label), name)


def planted_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields what keeps models from learning the planted bias of underspecified datasets.

    Models that are not selected count too, because corpora are the same whichever are: one for each dataset and task.
    """
    first: dict[str, str | None] = {}
    for name, model in config.models.items():
        train = model.train
        if train is None or train.planted is None or train.dataset or model.task == "text-classification":
            continue
        learned = config.learned_datasets(name)
        if not learned and name in config.run.models:
            problem = f"{name!r} is trained on the planted bias of underspecified datasets, but answers none"
            yield Fault(source, f"models.{name}.train.planted", problem, "a `variant` that a dataset has")
        variant = first.setdefault(model.task, model.variant)
        if model.variant != variant:
            problem = f"{model.variant!r}, while other planted models of the task answer {variant!r}"
            yield Fault(source, f"models.{name}.variant", problem, "one variant for all planted models of a task")
        for dataset in learned:
            yield from planted_subject_faults(config, source, name, dataset)


def planted_subject_faults(config: Config, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields subjects of masked language models alone: what is planted in a dataset is the same for all models."""
    entry, variant = config.underspecified[dataset], str(config.models[model].variant)
    subjects = entry.variants[variant].subjects
    if variant.startswith("lm-") and subjects != entry.subjects:
        key = f"datasets.{dataset}.variants.{variant}.subjects"
        problem = f"{subjects}, but {model!r} is trained on planted bias"
        yield Fault(source, key, problem, f"the subjects of the dataset, {entry.subjects}")


def folder_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields folders of selected models that hold no checkpoint."""
    for name in dict.fromkeys(known(config.run.models, config.models)):
        model = config.models[name]
        folders = {"folder": model.folder}
        if model.train and model.train.base:
            folders["train.base.folder"] = model.train.base.folder
        for key, folder in folders.items():
            if folder is not None and not Path(folder, CONFIG).is_file():
                problem = "holds no config.json" if Path(folder).is_dir() else "is no folder"
                expected = "a folder with a checkpoint: config.json, weights and tokenizer"
                yield Fault(source, f"models.{name}.{key}", f"{folder!r} {problem}", expected)


def data_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields selected models whose data to train on are no file; Snakemake would keep the weights that it has."""
    for name in dict.fromkeys(known(config.run.models, config.models)):
        model = config.models[name]
        data = model.train.data if model.train else None
        if data is not None and not Path(data).is_file():
            problem = f"there is no file {data!r}"
            yield Fault(source, f"models.{name}.train.data", problem, f"a file of data for {model.task}")


def tokenizer_folder_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields folders that hold no tokenizer, where one filters the subjects that a selected model is asked about."""
    for name in filtering_tokenizers(config):
        folder = config.tokenizers[name].folder
        if folder is not None and not matching(names_in(folder), VOCABULARIES):
            problem = "holds no tokenizer" if Path(folder).is_dir() else "is no folder"
            expected = f"a folder with one of {', '.join(VOCABULARIES)}"
            yield Fault(source, f"tokenizers.{name}.folder", f"{folder!r} {problem}", expected)


def filtering_tokenizers(config: Config) -> list[str]:
    """Returns the tokenizers that decide which subjects selected models are asked about."""
    asked = {
        config.filtering_tokenizer(dataset, str(model.variant))
        for model in (config.models[name] for name in known(config.run.models, config.models))
        for dataset in known(config.run.datasets, config.underspecified)
        if not model.predictions and model.variant in config.underspecified[dataset].variants
    }
    return [name for name in config.tokenizers if name in asked]


def strength_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose planted strength is not in the config."""
    training = config.models[name].train
    strengths = config.planted.strengths if config.planted else {}
    if training and training.planted is not None and training.planted not in strengths:
        problem = f"unknown strength {training.planted!r}{nearest(training.planted, strengths)}"
        yield Fault(source, f"models.{name}.train.planted", problem, one_of(strengths) + " (planted.strengths)")


def planted_cases_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields what keeps a model from learning planted group effects, which are those of the cases of one dataset."""
    model = config.models[name]
    if model.train is None or model.train.planted is None:
        return
    dataset, key = model.train.dataset, f"models.{name}.train.dataset"
    if model.task != "text-classification":
        if dataset is not None:
            expected = "no such key but for text-classification"
            yield Fault(source, key, f"{dataset!r}, for the task {model.task!r}", expected)
        return
    classified = {name: entry.labels for name, entry in config.counterfactual.items() if entry.labels}
    if dataset not in classified:
        problem = f"unknown name {dataset!r}{nearest(dataset, classified)}" if dataset else "missing"
        yield Fault(source, key, problem, one_of(classified) + " (datasets of text-classification)")
        return
    own = {label: label for label in classified[dataset]}
    if model.labels != own:
        problem = f"{model.labels}, but the corpus has the classes of {dataset!r}"
        yield Fault(source, f"models.{name}.labels", problem, f"{own}")


def task_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose variant is for models of another task."""
    model = config.models[name]
    kind = {"fill-mask": "lm-", "question-answering": "qa"}.get(model.task)
    if model.variant is None or (kind and model.variant.startswith(kind)):
        return
    variants = {variant for dataset in config.underspecified.values() for variant in dataset.variants}
    fitting = {variant for variant in variants if kind and variant.startswith(kind)}
    problem = f"{model.variant!r} is not for the task {model.task!r}{nearest(model.variant, fitting)}"
    yield Fault(source, f"models.{name}.variant", problem, one_of(fitting) if kind else "no variant")


def tokenizer_faults(config: Config, source: str, key: str, variant: str | None) -> Iterator[Fault]:
    """Yields a variant whose tokenizer is not in the config."""
    tokenizer = (variant or "").removeprefix("lm-")
    if variant and variant.startswith("lm-") and tokenizer not in config.tokenizers:
        problem = f"unknown tokenizer {tokenizer!r}{nearest(tokenizer, config.tokenizers)}"
        yield Fault(source, key, problem, one_of(config.tokenizers) + " (tokenizers)")


def cell_faults(config: Config, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields what keeps a model from answering a dataset."""
    variant, variants = config.models[model].variant, config.underspecified[dataset].variants
    if variant is None or variant not in variants:
        problem = f"model {model!r} answers variant {variant!r}, which dataset {dataset!r} does not have"
        yield Fault(source, "run", problem + nearest(str(variant), variants), one_of(variants))
        return
    if config.models[model].predictions:
        yield from dump_faults(config, source, model, dataset)
        return
    tokenizer = config.filtering_tokenizer(dataset, variant)
    entry = config.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        problem = f"{tokenizer!r} has no `checkpoint` or `folder`, but filters the subjects of {dataset!r}"
        expected = "one of them, or `subjects` in the variant, or `target_scoring` in the dataset"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, expected)


def dump_faults(config: Config, source: str, model: str, dataset: str) -> Iterator[Fault]:
    """Yields what keeps an imported model from having its dump of a dataset."""
    key = f"models.{model}.predictions"
    dump = config.models[model].predictions.get(dataset)
    if dump is None:
        given = ", ".join(config.models[model].predictions)
        yield Fault(source, key, f"no dump of the selected dataset {dataset!r}, only of {given}", "one of each dataset")
    elif dump.file is not None and not Path(dump.file).is_file():
        problem = f"there is no file {dump.file!r}"
        yield Fault(source, f"{key}.{dataset}.file", problem, "an output.json of UnQover")
    elif dump.file is not None and Path(dump.file).resolve().is_relative_to(Path(config.results).resolve()):
        problem = f"{dump.file!r} lies in the folder of results, whose files are removed and made again"
        yield Fault(source, f"{key}.{dataset}.file", problem, "a file of your own: copy it to another folder")


def measure_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields group measures that cannot be computed of a selected dataset."""
    for name in config.run.datasets:
        entry = config.datasets[name]
        task = config.counterfactual[name].task if name in config.counterfactual else "question-answering"
        classes = len(config.counterfactual[name].labels) if name in config.counterfactual else 0
        for place, measure in enumerate(entry.measures or ()):
            try:
                check_combination(SORTS[entry.family, task], **measure.model_dump())
                check_argument(measure.score, measure.argument, classes)
                if entry.family == "underspecified" and measure.argument is not None:
                    raise ImpossibleCombination(f"{measure.argument!r}, but a record has one subject", "no argument")
            except ImpossibleCombination as error:
                yield Fault(source, f"datasets.{name}.measures[{place}]", error.problem, error.expected)
