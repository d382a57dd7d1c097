"""Faults of a config: names that it does not define, files that are missing, and settings that
exclude each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from biasgrid.base.faults import (
    Fault,
    InputError,
    first_few,
    nearest_name,
    one_of,
    unknown_names,
    value_text,
)
from biasgrid.base.files import missing_path
from biasgrid.base.languages import is_file_of_words, language_file_faults
from biasgrid.base.names import similar_names
from biasgrid.base.sections import Section
from biasgrid.config.sections import Config
from biasgrid.inference.checkpoints.files import VOCABULARIES, file_names, matching
from biasgrid.inference.checkpoints.inspection import CheckpointUse, inspect_folder
from biasgrid.report.figures.registry import GRID
from biasgrid.tables.metric import MetricDefinitions
from biasgrid.training.strength import total_strength

ANY_MASK = "[MASK]"
"""The placeholder for the mask of any model."""
WILDCARD = re.compile(r"\{.*\}")


def model_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields models that do not fit what their tasks' back ends need."""
    for name in config.models:
        yield from class_faults(config, source, name)
        yield from source_faults(config, source, name)


def reference_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields what the config names but does not have, and pairs that cannot be."""
    yield from unknown_names(source, "run.models", config.run.models, config.models)
    yield from unknown_names(source, "run.datasets", config.run.datasets, config.datasets)
    yield from name_faults(config, source)
    yield from model_label_faults(config, source)
    yield from place_faults(config, source)
    yield from font_faults(config, source)
    yield from folder_faults(config, source)
    yield from file_faults(config, source)
    yield from wildcard_faults(config, source)
    yield from tokenizer_folder_faults(config, source)
    yield from spread_faults(config, source)
    for name in config.models:
        yield from strength_faults(config, source, name)
    for name, dataset in config.datasets.items():
        known = config.registry.figures
        yield from unknown_names(source, f"datasets.{name}.figures", dataset.figures, known)
        yield from control_faults(config, source, name)
        yield from language_faults(config, source, name)
    for family in config.registry.families:
        yield from config.registry.family(family).faults(config, source)
    yield from unanswered_faults(config, source)
    yield from kind_faults(config, source)
    yield from scorer_faults(config, source)


def measure_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields measures that cannot be computed, of a config in which nothing else is wrong."""
    for family in config.registry.families:
        yield from config.registry.family(family).measure_faults(config, source)
    yield from unknown_names(source, "validity", [*config.validity], sorted(known_flags(config)))
    yield from unknown_names(source, "thresholds", [*config.thresholds], config.datasets)
    for dataset in known_names([*config.thresholds], config.datasets):
        measures = config.measures_of(dataset)
        yield from unknown_names(
            source, f"thresholds.{dataset}", [*config.thresholds[dataset]], measures
        )


def known_flags(config: Config) -> set[str]:
    """Returns the names of the validity flags of all families, whether there is a dataset of theirs
    or not.
    """
    of_datasets = {
        name
        for dataset in config.datasets
        for name in MetricDefinitions.of(config.measures_of(dataset)).limits
    }
    return of_datasets.union(
        *(config.registry.family(family).flags for family in config.registry.families)
    )


def known_names(names: list[str], registry: Mapping[str, Section]) -> list[str]:
    """Returns the names that are in a registry."""
    return [name for name in names if name in registry]


def unanswered_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields selected datasets that no selected model answers, and models that answer none."""
    models, datasets = (
        known_names(config.run.models, config.models),
        known_names(config.run.datasets, config.datasets),
    )
    cells = config.cells()
    expected = " or ".join(dict.fromkeys(config.family(dataset).expected for dataset in datasets))
    # Where nothing is answered at all, faults of models and datasets would repeat each other.
    of_models = cells or len(models) < len(datasets)
    of_datasets = cells or not of_models
    for model in models:
        if of_models and datasets and model not in {cell[0] for cell in cells}:
            more = reason_of_unfit(config, [(model, dataset) for dataset in datasets])
            yield Fault(
                source,
                "run.models",
                f"{model!r} answers none of the selected datasets{more}",
                expected,
            )
    for dataset in datasets:
        if of_datasets and models and dataset not in {cell[1] for cell in cells}:
            more = reason_of_unfit(config, [(model, dataset) for model in models])
            problem, expected = (
                f"no selected model answers {dataset!r}{more}",
                config.family(dataset).expected,
            )
            yield Fault(source, "run.datasets", problem, expected)


def reason_of_unfit(config: Config, cells: Iterable[tuple[str, str]]) -> str:
    """Returns why a model does not answer a dataset, the first reason that is known; empty where
    none is.
    """
    reasons = (config.family(dataset).unfit(config, dataset, model) for model, dataset in cells)
    return next((f": there is {reason}" for reason in reasons if reason), "")


def models_left_out(config: Config) -> Iterator[str]:
    """Yields which selected datasets selected models are not asked, and why, as far as that is no
    matter of course.
    """
    pairs = [(model, dataset) for dataset in config.run.datasets for model in config.run.models]
    unasked = [(model, dataset) for model, dataset in pairs if not config.fits(model, dataset)]
    reasons: dict[str, list[str]] = {}
    for model, dataset in unasked:
        if reason := config.family(dataset).unfit(config, dataset, model):
            reasons.setdefault(f"not asked {dataset}, because there is {reason}", []).append(model)
    yield from (f"{first_few(models)}: {reason}" for reason, models in reasons.items())
    if others := len(unasked) - sum(map(len, reasons.values())):
        yield (
            f"{others} of {len(pairs)} pairs of model and dataset are not asked, because the "
            "dataset is for other kinds of model"
        )


def kind_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields selected models that do not give the kind of answers that a dataset asks of them."""
    for name, dataset in config.cells():
        kind, given = config.question(name, dataset).answer, config.back_end_of(name).answers
        if kind not in given:
            problem = (
                f"gives {' and '.join(f'`{each}`' for each in given)} but no `{kind}`, which "
                f"{dataset!r} needs"
            )
            expected = (
                "a model that does, or a dataset for what this model gives (`answers: written`)"
            )
            yield Fault(source, f"models.{name}", problem, expected)


def scorer_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields models that read the texts of others, and are not there or give other answers than a
    dataset needs.
    """
    scorers = {
        (cell[1], *each)
        for cell in config.cells()
        for each in config.question(*cell).scorers.items()
    }
    for dataset, name, answer in sorted(scorers):
        capabilities = [
            other for other in config.models if answer in config.back_end_of(other).answers
        ]
        if name not in capabilities:
            problem = (
                f"asks {name!r}{nearest_name(name, capabilities)}, which does not give "
                f"texts a `{answer}`"
            )
            yield Fault(
                source,
                f"datasets.{dataset}",
                problem,
                one_of(capabilities) if capabilities else "a model that does",
            )


def control_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a control of what is no dataset, or none that could have it as a control."""
    controlled, where = config.datasets[name].control_of, f"datasets.{name}.control_of"
    if controlled is None:
        return
    yield from unknown_names(source, where, [controlled], config.datasets)
    other, expected = (
        config.datasets.get(controlled),
        "a different dataset, one that is not a control",
    )
    if controlled == name:
        yield Fault(source, where, f"{controlled!r} is the dataset itself", expected)
    elif other and other.control_of is not None:
        yield Fault(
            source, where, f"{controlled!r} is itself a control, of {other.control_of!r}", expected
        )
    if other and other.family != config.datasets[name].family:
        yield Fault(
            source,
            where,
            f"{controlled!r} is of the family {other.family!r}",
            "a dataset of the same family",
        )


def language_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields faults of a selected dataset's own file of words, and what is English in one of
    another language.
    """
    section = config.datasets[name]
    if name not in config.run.datasets:
        return
    if section.language_file is not None:
        reference, where = (
            section.language_reference(config.word_lists),
            f"datasets.{name}.language_file",
        )
        if not is_file_of_words(reference) or not Path(reference).is_file():
            problem = (
                missing_path(Path(reference))
                if is_file_of_words(reference)
                else f"{section.language_file!r}"
            )
            yield Fault(
                source,
                where,
                problem,
                "a YAML file in the folder of word lists, such as portuguese.yaml",
            )
            return
        if faults := list(language_file_faults(reference)):
            # Several datasets of a language have one file.
            sharing = [
                each
                for each in config.run.datasets
                if config.datasets[each].language_file == section.language_file
            ]
            yield from faults if name == sharing[0] else ()
            return
    if not section.is_english:
        for what, instead in config.family(name).english(config, name):
            yield Fault(
                source, f"datasets.{name}.language", f"{section.language!r}, but {what}", instead
            )


def model_label_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields selected models with the same kind and label, which plots could not distinguish."""
    named: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(config.run.models):
        if name in config.models:
            kind, label = config.models[name].kind, config.models[name].label
            if (kind, label) in named:
                problem = (
                    f"{label!r} of kind {kind!r} is already the label of {named[kind, label]!r}"
                )
                yield Fault(
                    source,
                    f"models.{name}.label",
                    problem,
                    "a different label for each model of a kind, so that plots can tell them apart",
                )
            named.setdefault((kind, label), name)


def name_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields names whose files would be those of others."""
    registries = {key: getattr(config, key) for key in ("models", "datasets", "tokenizers")}
    registries["synthetic.strengths"] = config.synthetic.strengths if config.synthetic else {}
    for registry, names in registries.items():
        for name, other in similar_names(names):
            problem = f"differs from {other!r} only in case, which some disks ignore"
            yield Fault(source, f"{registry}.{name}", problem, "a different name")
    if GRID in config.datasets:
        yield Fault(
            source,
            f"datasets.{GRID}",
            "is reserved for the files that compare all datasets",
            "a different name",
        )


def place_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields a folder of results that is the folder of word lists."""
    if Path(config.results).resolve() == Path(config.word_lists).resolve():
        yield Fault(
            source,
            "results",
            f"{config.results!r} is the folder of word lists",
            "a different folder",
        )


def font_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields a font that is not installed, of which matplotlib would warn once all is measured."""
    if (font := config.report.font) is None:
        return
    # Imported here, because most configs name no font.
    from matplotlib.font_manager import fontManager

    installed = sorted({entry.name for entry in fontManager.ttflist})
    if font not in installed:
        problem = f"{font!r} is not installed{nearest_name(font, installed)}"
        yield Fault(source, "report.font", problem, f"one of {first_few(installed)}")


def folder_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields folders of selected models that hold no whole checkpoint, or one of other classes."""
    for name in dict.fromkeys([*known_names(config.run.models, config.models), *config.readers]):
        model = config.models[name]
        if model.checkpoint and model.checkpoint.startswith((".", "/", "~")):
            problem = f"{model.checkpoint!r} is a path"
            yield Fault(
                source,
                f"models.{name}.checkpoint",
                problem,
                "a repository on the hub, or `folder` for a path",
            )
        # What training starts from may have any classes: those of the data are its own.
        folders = {"folder": (model.folder, list(model.labels.values()))}
        if model.train and model.train.base:
            folders["train.base.folder"] = (model.train.base.folder, [])
        wanted = CheckpointUse(model.allow_pickle, model.allow_remote_code, model.source.is_served)
        for key, (folder, classes) in folders.items():
            of_classes = wanted._replace(
                classes=classes, scored=model.scored, activation=model.activation
            )
            problems = inspect_folder(folder, of_classes) if folder is not None else ()
            for problem, expected in problems:
                yield Fault(source, f"models.{name}.{key}", f"{folder!r} {problem}", expected)


def file_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields data, answers and references that are no file; Snakemake would keep the weights that
    it has.
    """
    for name in dict.fromkeys(known_names(config.run.models, config.models)):
        model = config.models[name]
        data = model.train.data if model.train else None
        if data is not None and not Path(data).is_file():
            problem = f"there is no file {data!r}"
            yield Fault(
                source,
                f"models.{name}.train.data",
                problem,
                f"a file with training data for {model.task}",
            )
        for key, file in model.source.files().items():
            if not Path(file).is_file():
                yield Fault(
                    source, f"models.{name}.{key}", f"there is no file {file!r}", f"a file of {key}"
                )
    for number, reference in enumerate(config.report.references):
        if not Path(reference).is_file():
            expected = "a file of published numbers"
            yield Fault(
                source, f"report.references[{number}]", f"there is no file {reference!r}", expected
            )
        else:
            yield from published_file_faults(reference)


def published_file_faults(reference: str) -> list[Fault]:
    """Returns what is wrong in a file of published numbers, which the report would refuse at the
    end of a run.
    """
    from biasgrid.stats.compare.references import read_references

    try:
        read_references(reference)
    except InputError as error:
        return error.faults
    return []


def paths_of(config: Config, models: Iterable[str], tokenizers: Iterable[str]) -> dict[str, str]:
    """Returns the files and folders that a config names, by key.

    Args:
        config: the config.
        models: the names of the models whose paths count.
        tokenizers: the names of the tokenizers whose paths count.
    """
    paths: dict[str, str | None] = {"word_lists": config.word_lists}
    for name in models:
        paths |= {
            f"models.{name}.{key}": path for key, path in config.models[name].source.paths().items()
        }
    paths |= {f"tokenizers.{name}.folder": config.tokenizers[name].folder for name in tokenizers}
    paths |= {
        f"report.references[{place}]": file for place, file in enumerate(config.report.references)
    }
    return {where: path for where, path in paths.items() if path is not None}


def wildcard_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields files and folders that Snakemake would take for a pattern, as they are inputs of its
    jobs.
    """
    models = dict.fromkeys([*known_names(config.run.models, config.models), *config.readers])
    for where, path in paths_of(config, models, filtering_tokenizers(config)).items():
        if WILDCARD.search(path):
            problem = f"{path!r} contains braces, which Snakemake would take for a placeholder"
            yield Fault(source, where, problem, "a path without { and }")


def tokenizer_folder_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields folders that hold no tokenizer, where one filters the subjects that a selected model
    is asked about.
    """
    for name in filtering_tokenizers(config):
        folder = config.tokenizers[name].folder
        if folder is not None and not matching(file_names(folder), VOCABULARIES):
            problem = "contains no tokenizer" if Path(folder).is_dir() else "is not a folder"
            expected = f"a folder with one of {', '.join(VOCABULARIES)}"
            yield Fault(source, f"tokenizers.{name}.folder", f"{folder!r} {problem}", expected)
        elif (
            folder is not None
            and (own := tokenizer_mask(folder))
            and config.tokenizers[name].mask not in (None, own, ANY_MASK)
        ):
            problem = (
                f"{config.tokenizers[name].mask!r} is not the mask token of the "
                f"tokenizer in {folder!r}"
            )
            yield Fault(source, f"tokenizers.{name}.mask", problem, own)


def tokenizer_mask(folder: str) -> str | None:
    """Returns the mask token of the tokenizer in a folder, None if its files do not contain it."""
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        try:
            token = json.loads(Path(folder, name).read_text("utf-8"))["mask_token"]
            mask = token["content"] if isinstance(token, dict) else token
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if isinstance(mask, str):
            return mask
    return None


def filtering_tokenizers(config: Config) -> list[str]:
    """Returns the tokenizers that the expansion for selected models needs."""
    needed = {question.tokenizer for question in config.selected_variants.values()}
    return [name for name in config.tokenizers if name in needed]


def strength_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose synthetic strength is not in the config."""
    training = config.models[name].train
    strengths = config.synthetic.strengths if config.synthetic else {}
    if training and training.synthetic is not None and training.synthetic not in strengths:
        problem = (
            f"unknown strength {training.synthetic!r}{nearest_name(training.synthetic, strengths)}"
        )
        yield Fault(
            source,
            f"models.{name}.train.synthetic",
            problem,
            one_of(strengths) + " (synthetic.strengths)",
        )


def spread_faults(config: Config, source: str) -> Iterator[Fault]:
    """Yields a spread that, beside the largest strength, would make probabilities outside of
    0..1.
    """
    synthetic = config.synthetic
    if synthetic is not None and synthetic.strengths:
        totals = {name: total_strength(strength) for name, strength in synthetic.strengths.items()}
        name, strength = max(totals.items(), key=lambda named: named[1])
        if strength + synthetic.spread > 1:
            expected = (
                f"at most {1 - strength:g}: strength {name!r} is {strength:g}, and the two add up "
                "to at most 1"
            )
            yield Fault(source, "synthetic.spread", f"{synthetic.spread:g}", expected)


def class_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields `labels` of a model that gives no classes, or their lack."""
    model = config.models[name]
    back_ends = config.registry.back_ends
    own = back_ends.get((model.task, model.back_end))
    of_task = (entry.classes for (task, _), entry in back_ends.items() if task == model.task)
    has_classes = own.classes if own else any(of_task)
    if has_classes and not model.labels:
        expected = f"the names of the classes, because the task is {model.task}"
        yield Fault(source, f"models.{name}.labels", "{}", expected)
    if not has_classes and model.labels:
        yield Fault(
            source,
            f"models.{name}.labels",
            value_text(model.labels),
            f"no `labels`, because the task is {model.task}",
        )


def source_faults(config: Config, source: str, name: str) -> Iterator[Fault]:
    """Yields a model whose task has no back end for where the model comes from."""
    model = config.models[name]
    sources = [origin for task, origin in config.registry.back_ends if task == model.task]
    if model.back_end not in sources:
        problem = f"{model.task!r} has no back end for {model.back_end}"
        yield Fault(source, f"models.{name}.{model.source.named_by}", problem, one_of(sources))
