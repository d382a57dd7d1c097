"""Reads configs and says what is wrong with one: all faults at once, each with key, value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from biasgrid.config.section import Section
from biasgrid.config.sections import Config
from biasgrid.config.yaml_file import parse_yaml
from biasgrid.families.underspecified.reading import read_word_lists
from biasgrid.families.underspecified.word_lists import WordLists
from biasgrid.faults import Fault, InputError, nearest, one_of


def read_config(path: str | Path) -> dict[str, Any]:
    """Reads a YAML file.

    Raises:
        InputError: it is missing, or not YAML, or not a mapping, or a key stands twice.
    """
    try:
        content, repeated = parse_yaml(Path(path).read_text(encoding="utf-8"))
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
    if repeated:
        raise InputError(
            Fault(str(path), f"line {line}", f"the key {key!r} stands already in line {first}", "every key once")
            for key, line, first in repeated
        )
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
        keys = ", ".join(detail["input"]) or "no keys"
        return Fault(source, path, f"has {keys}", str(context["error"]).removeprefix("expected "))
    expected = detail["msg"].removeprefix("Input should be ").removeprefix("Value should be ")
    return Fault(source, path, f"{detail['input']!r}", expected[0].lower() + expected[1:])


def keys_at(path: tuple[int | str, ...]) -> list[str]:
    """Returns the keys that the section at a path of the config may have."""
    kind: Any = Config
    for part in path:
        # In a mapping of sections the part is a name of the user's choice.
        kind = kind.model_fields[part].annotation if is_section(kind) else get_args(kind)[1]
        if get_origin(kind) is not dict:
            kind = next((option for option in get_args(kind) if is_section(option)), kind)
    return list(kind.model_fields)


def is_section(kind: Any) -> bool:
    """Says whether a type is a section of the config."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def reference_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields what the config names but does not have, and pairs that cannot be."""
    yield from selection_faults(source, "run.models", config.run.models, config.models)
    yield from selection_faults(source, "run.datasets", config.run.datasets, config.datasets)
    yield from label_faults(config, source)
    yield from planted_faults(config, source)
    yield from folder_faults(config, source)
    for name, model in config.models.items():
        yield from strength_faults(config, source, name)
        yield from task_faults(config, source, name)
        yield from tokenizer_faults(config, source, f"models.{name}.variant", model.variant)
        yield from selection_faults(source, f"models.{name}.predictions", [*model.predictions], config.datasets)
    for name, dataset in config.datasets.items():
        for variant in dataset.variants:
            yield from tokenizer_faults(config, source, f"datasets.{name}.variants.{variant}", variant)
    for model_name, dataset_name in config.cells():
        if model_name in config.models and dataset_name in config.datasets:
            yield from cell_faults(config, source, model_name, dataset_name)


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
    """Yields selected planted models of one task that answer different variants: a corpus is made of one."""
    first: dict[str, str] = {}
    for name in config.run.models:
        model = config.models.get(name)
        if model is not None and model.train is not None and model.train.planted is not None:
            variant = first.setdefault(model.task, model.variant)
            if model.variant != variant:
                problem = f"{model.variant!r}, while other planted models of the task answer {variant!r}"
                yield Fault(source, f"models.{name}.variant", problem, "one variant for all planted models of a task")


def folder_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields folders of selected models that hold no checkpoint."""
    for name in dict.fromkeys(config.run.models):
        model = config.models.get(name)
        folders = {"folder": model.folder if model else None}
        if model and model.train and model.train.base:
            folders["train.base.folder"] = model.train.base.folder
        for key, folder in folders.items():
            if folder is not None and not Path(folder, "config.json").is_file():
                problem = "holds no config.json" if Path(folder).is_dir() else "is no folder"
                expected = "a folder with a checkpoint: config.json, weights and tokenizer"
                yield Fault(source, f"models.{name}.{key}", f"{folder!r} {problem}", expected)


def strength_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose planted strength is not in the config."""
    training = config.models[name].train
    strengths = config.planted.strengths if config.planted else {}
    if training and training.planted is not None and training.planted not in strengths:
        problem = f"unknown strength {training.planted!r}{nearest(training.planted, strengths)}"
        yield Fault(source, f"models.{name}.train.planted", problem, one_of(strengths) + " (planted.strengths)")


def task_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose variant is for models of another task."""
    model = config.models[name]
    kind = "lm-" if model.task == "fill-mask" else "qa"
    if not model.variant.startswith(kind):
        known = {
            variant for dataset in config.datasets.values() for variant in dataset.variants if variant.startswith(kind)
        }
        problem = f"{model.variant!r} is not for the task {model.task!r}{nearest(model.variant, known)}"
        yield Fault(source, f"models.{name}.variant", problem, one_of(known))


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
    if config.models[model].predictions:
        yield from dump_faults(config, source, model, dataset)
        return
    training, subjects = config.models[model].train, config.datasets[dataset].variants[variant].subjects
    if (
        training
        and training.planted is not None
        and variant.startswith("lm-")
        and subjects != config.datasets[dataset].subjects
    ):
        key = f"datasets.{dataset}.variants.{variant}.subjects"
        problem = f"{subjects}, but {model!r} is trained on planted bias"
        yield Fault(source, key, problem, f"the subjects of the dataset, {config.datasets[dataset].subjects}")
    tokenizer = config.filtering_tokenizer(dataset, variant)
    entry = config.tokenizers.get(tokenizer) if tokenizer else None
    if entry is not None and entry.checkpoint is None and entry.folder is None:
        problem = f"{tokenizer!r} has no `checkpoint` or `folder`, but filters the subjects of {dataset!r}"
        yield Fault(source, f"tokenizers.{tokenizer}", problem, "one of them, or `subjects` in the variant")


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
    variants = config.selected_variants()
    if variants and not Path(config.word_lists).is_dir():
        expected = "a folder of word lists: `word_lists` in the config, or on the command line --config "
        expected += "word_lists=FOLDER of snakemake, --word-lists FOLDER of biasgrid"
        raise InputError([Fault(config.word_lists, "", "there is no such folder", expected)])
    for dataset, variant in variants:
        lists[dataset, variant], found = read_word_lists(config.files(dataset, variant))
        faults += found
        if variant.startswith("lm-"):
            faults += pronoun_faults(config, dataset, lists[dataset, variant])
    if faults:
        raise InputError(dict.fromkeys(faults))
    return lists
