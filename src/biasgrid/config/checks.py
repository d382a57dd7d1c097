"""Faults of a config: names without a definition, missing files, and settings that conflict."""

from __future__ import annotations

import json
import os
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
from biasgrid.base.languages import is_language_file, language_file_faults
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


def model_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields faults of models whose section does not suit the back end of their task and source."""
    for name in config.models:
        yield from class_faults(config, config_file, name)
        yield from source_faults(config, config_file, name)


def reference_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields undefined names, missing files and conflicts, for a config whose models are valid."""
    yield from unknown_names(config_file, "run.models", config.run.models, config.models)
    yield from unknown_names(config_file, "run.datasets", config.run.datasets, config.datasets)
    yield from name_faults(config, config_file)
    yield from model_label_faults(config, config_file)
    yield from place_faults(config, config_file)
    yield from font_faults(config, config_file)
    yield from folder_faults(config, config_file)
    yield from file_faults(config, config_file)
    yield from wildcard_faults(config, config_file)
    yield from tokenizer_folder_faults(config, config_file)
    yield from spread_faults(config, config_file)
    for name in config.models:
        yield from strength_faults(config, config_file, name)
    for name, dataset in config.datasets.items():
        where, figures = f"datasets.{name}.figures", config.registry.figures
        yield from unknown_names(config_file, where, dataset.figures, figures)
        yield from control_faults(config, config_file, name)
        yield from language_faults(config, config_file, name)
    for family in config.registry.families:
        yield from config.registry.family(family).faults(config, config_file)
    yield from unanswered_faults(config, config_file)
    yield from kind_faults(config, config_file)
    yield from scorer_faults(config, config_file)


def measure_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields faults of measures, thresholds and limits, for a config without other faults."""
    for family in config.registry.families:
        yield from config.registry.family(family).measure_faults(config, config_file)
    yield from unknown_names(
        config_file, "validity", [*config.validity], sorted(known_flags(config))
    )
    yield from unknown_names(config_file, "thresholds", [*config.thresholds], config.datasets)
    for dataset in known_names([*config.thresholds], config.datasets):
        where, names = f"thresholds.{dataset}", [*config.thresholds[dataset]]
        yield from unknown_names(config_file, where, names, config.dataset_measures(dataset))


def known_flags(config: Config) -> set[str]:
    """Returns the names of the validity flags of all families, with or without a dataset."""
    flags: set[str] = set()
    for dataset in config.datasets:
        flags.update(MetricDefinitions.from_measures(config.dataset_measures(dataset)).limits)
    for family in config.registry.families:
        flags.update(config.registry.family(family).flags)
    return flags


def known_names(entries: list[str], registry: Mapping[str, Section]) -> list[str]:
    """Returns the entries that a registry of the config defines, in their order."""
    return [name for name in entries if name in registry]


def unanswered_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields selected datasets that no selected model answers, and models that answer none."""
    models = known_names(config.run.models, config.models)
    datasets = known_names(config.run.datasets, config.datasets)
    if not models or not datasets:
        return
    # If nothing is answered at all, faults of models and of datasets would repeat each other.
    is_answered = bool(config.cells())
    if is_answered or len(models) < len(datasets):
        yield from idle_model_faults(config, config_file, models, datasets)
    if is_answered or len(models) >= len(datasets):
        yield from unanswered_dataset_faults(config, config_file, models, datasets)


def idle_model_faults(
    config: Config, config_file: str, models: list[str], datasets: list[str]
) -> Iterator[Fault]:
    """Yields models that answer none of the datasets."""
    answering = {model for model, _ in config.cells()}
    expected = " or ".join(dict.fromkeys(config.family(dataset).expected for dataset in datasets))
    for model in models:
        if model not in answering:
            reason = unfit_clause(config, [(model, dataset) for dataset in datasets])
            problem = f"{model!r} answers none of the selected datasets{reason}"
            yield Fault(config_file, "run.models", problem, expected)


def unanswered_dataset_faults(
    config: Config, config_file: str, models: list[str], datasets: list[str]
) -> Iterator[Fault]:
    """Yields datasets that none of the models answers."""
    with_answers = {dataset for _, dataset in config.cells()}
    for dataset in datasets:
        if dataset not in with_answers:
            reason = unfit_clause(config, [(model, dataset) for model in models])
            problem = f"no selected model answers {dataset!r}{reason}"
            yield Fault(config_file, "run.datasets", problem, config.family(dataset).expected)


def unfit_clause(config: Config, cells: Iterable[tuple[str, str]]) -> str:
    """Returns the first known reason why a model does not answer a dataset, to follow a problem.

    Args:
        config: the config.
        cells: pairs of model and dataset, none of which is in the grid.

    Returns:
        A clause such as `: there is ...`; empty if no family gives a reason.
    """
    for model, dataset in cells:
        reason = config.family(dataset).unfit(config, dataset, model)
        if reason:
            return f": there is {reason}"
    return ""


def models_left_out(config: Config) -> Iterator[str]:
    """Yields a sentence for each reason why selected models are not asked a selected dataset.

    The last sentence counts the pairs for which the family gives no reason, such as an encoder and
    texts to write.
    """
    pairs = [(model, dataset) for dataset in config.run.datasets for model in config.run.models]
    models_by_reason: dict[str, list[str]] = {}
    without_reason = 0
    for model, dataset in pairs:
        if config.fits(model, dataset):
            continue
        reason = config.family(dataset).unfit(config, dataset, model)
        if reason:
            sentence = f"not asked {dataset}, because there is {reason}"
            models_by_reason.setdefault(sentence, []).append(model)
        else:
            without_reason += 1
    for sentence, models in models_by_reason.items():
        yield f"{first_few(models)}: {sentence}"
    if without_reason:
        yield (
            f"{without_reason} of {len(pairs)} pairs of model and dataset are not asked, because "
            "the dataset is for other kinds of model"
        )


def kind_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields selected models that do not give the kind of answers that a dataset needs."""
    for name, dataset in config.cells():
        answer_kind = config.question(name, dataset).answer
        kinds = config.back_end_entry(name).answers
        if answer_kind not in kinds:
            listed = " and ".join(f"`{kind}`" for kind in kinds)
            problem = f"gives {listed} but no `{answer_kind}`, which {dataset!r} needs"
            expected = (
                "a model that does, or a dataset for what this model gives (`answers: written`)"
            )
            yield Fault(config_file, f"models.{name}", problem, expected)


def scorer_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields scorers of a dataset that are not defined or do not give the answers it needs."""
    scorers = set()
    for model, dataset in config.cells():
        for name, answer in config.question(model, dataset).scorers.items():
            scorers.add((dataset, name, answer))
    for dataset, name, answer in sorted(scorers):
        suitable = [
            model for model in config.models if answer in config.back_end_entry(model).answers
        ]
        if name not in suitable:
            hint = nearest_name(name, suitable)
            problem = f"asks {name!r}{hint}, which does not give texts a `{answer}`"
            expected = one_of(suitable) if suitable else "a model that does"
            yield Fault(config_file, f"datasets.{dataset}", problem, expected)


def control_faults(config: Config, config_file: str, name: str) -> Iterator[Fault]:
    """Yields faults of `control_of`: an unknown dataset, or one that cannot have the control."""
    control = config.datasets[name]
    target = control.control_of
    if target is None:
        return
    where = f"datasets.{name}.control_of"
    yield from unknown_names(config_file, where, [target], config.datasets)
    dataset = config.datasets.get(target)
    if dataset is None:
        return
    expected = "a different dataset, one that is not a control"
    if target == name:
        yield Fault(config_file, where, f"{target!r} is the dataset itself", expected)
    elif dataset.control_of is not None:
        problem = f"{target!r} is itself a control, of {dataset.control_of!r}"
        yield Fault(config_file, where, problem, expected)
    if dataset.family != control.family:
        problem = f"{target!r} is of the family {dataset.family!r}"
        yield Fault(config_file, where, problem, "a dataset of the same family")


def language_faults(config: Config, config_file: str, name: str) -> Iterator[Fault]:
    """Yields faults of a selected dataset's language: in its file of words, or English parts.

    A file that several datasets name is reported for the first of them.
    """
    section = config.datasets[name]
    if name not in config.run.datasets:
        return
    if section.language_file is not None:
        reference = section.language_reference(config.word_lists)
        if not is_language_file(reference) or not Path(reference).is_file():
            problem = f"{section.language_file!r}"
            if is_language_file(reference):
                problem = missing_path(Path(reference))
            expected = "a YAML file in the folder of word lists, such as portuguese.yaml"
            yield Fault(config_file, f"datasets.{name}.language_file", problem, expected)
            return
        faults = list(language_file_faults(reference))
        if faults:
            if name == first_with_file(config, section.language_file):
                yield from faults
            return
    if not section.is_english:
        for english_part, expected in config.family(name).english(config, name):
            problem = f"{section.language!r}, but {english_part}"
            yield Fault(config_file, f"datasets.{name}.language", problem, expected)


def first_with_file(config: Config, language_file: str) -> str:
    """Returns the first selected dataset with a file of words; one must have it."""
    # Undefined names are faults of their own and may come first.
    datasets = known_names(config.run.datasets, config.datasets)
    return next(name for name in datasets if config.datasets[name].language_file == language_file)


def model_label_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields selected models with the same kind and label, which plots could not distinguish."""
    first: dict[tuple[str, str], str] = {}
    for name in known_names(list(dict.fromkeys(config.run.models)), config.models):
        kind, label = config.models[name].kind, config.models[name].label
        first_name = first.setdefault((kind, label), name)
        if first_name != name:
            problem = f"{label!r} of kind {kind!r} is already the label of {first_name!r}"
            expected = (
                "a different label for each model of a kind, so that plots can tell them apart"
            )
            yield Fault(config_file, f"models.{name}.label", problem, expected)


def name_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields names whose files would be the same as the files of another name."""
    registries = {key: getattr(config, key) for key in ("models", "datasets", "tokenizers")}
    registries["synthetic.strengths"] = config.synthetic.strengths if config.synthetic else {}
    for registry, names in registries.items():
        for name, other in similar_names(names):
            problem = f"differs from {other!r} only in case, which some disks ignore"
            yield Fault(config_file, f"{registry}.{name}", problem, "a different name")
    if GRID in config.datasets:
        problem = "is reserved for the files that compare all datasets"
        yield Fault(config_file, f"datasets.{GRID}", problem, "a different name")


def place_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields a folder of results in which runs must not write: it is, or has, other things."""
    problem = place_problem(Path(config.results).resolve(), Path(config.word_lists).resolve())
    if problem:
        expected = f"a different folder, such as results/{Path(config_file).stem}"
        yield Fault(config_file, "results", f"{config.results!r} is {problem}", expected)


def place_problem(results: Path, word_lists: Path) -> str:
    """Returns what a folder is in which results must not be written, "" without a problem.

    Args:
        results: the folder, absolute.
        word_lists: the folder of word lists, absolute.
    """
    if results == word_lists:
        return "the folder of word lists"
    if results.is_file():
        return "a file"
    if results == results.parent:
        return "the whole disk"
    # `Path.home` raises an error if there is none.
    if results == Path(os.path.expanduser("~")).resolve():  # noqa: PTH111
        return "the home folder"
    if results == Path.cwd():
        return "the current folder, among whose files a run would write its own"
    if results in Path.cwd().parents:
        return "a folder around the current one, among whose files a run would write its own"
    return ""


def font_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields a font that is not installed; matplotlib would only warn at the end of a run."""
    font = config.report.font
    if font is None:
        return
    # Imported here, because most configs name no font.
    from matplotlib.font_manager import fontManager

    font_names = sorted({entry.name for entry in fontManager.ttflist})
    if font not in font_names:
        problem = f"{font!r} is not installed{nearest_name(font, font_names)}"
        yield Fault(config_file, "report.font", problem, f"one of {first_few(font_names)}")


def folder_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields faults of checkpoints of selected models and of the models that score their texts.

    They are paths in place of hub repositories, and local folders with an incomplete checkpoint or
    without the expected classes.
    """
    for name in dict.fromkeys(
        [*known_names(config.run.models, config.models), *config.scorer_models]
    ):
        model = config.models[name]
        if model.checkpoint and model.checkpoint.startswith((".", "/", "~")):
            problem = f"{model.checkpoint!r} is a path"
            expected = "a repository on the hub, or `folder` for a path"
            yield Fault(config_file, f"models.{name}.checkpoint", problem, expected)
        # The base of training may have any classes, which the classes of the data replace.
        folders = {"folder": (model.folder, list(model.labels.values()))}
        if model.train and model.train.base:
            folders["train.base.folder"] = (model.train.base.folder, [])
        use = CheckpointUse(model.allow_pickle, model.allow_remote_code, model.source.is_served)
        use = use._replace(scored=model.scored, activation=model.activation)
        for key, (folder, classes) in folders.items():
            if folder is None:
                continue
            for problem, expected in inspect_folder(folder, use._replace(classes=classes)):
                yield Fault(config_file, f"models.{name}.{key}", f"{folder!r} {problem}", expected)


def file_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields training data, responses and references that do not exist.

    Snakemake would not notice: without an input it keeps the weights that it has.
    """
    for name in dict.fromkeys(known_names(config.run.models, config.models)):
        model = config.models[name]
        data = model.train.data if model.train else None
        if data is not None and not Path(data).is_file():
            problem, expected = (
                f"there is no file {data!r}",
                f"a file with training data for {model.task}",
            )
            yield Fault(config_file, f"models.{name}.train.data", problem, expected)
        for key, file in model.source.files().items():
            if not Path(file).is_file():
                problem = f"there is no file {file!r}"
                yield Fault(config_file, f"models.{name}.{key}", problem, f"a file of {key}")
    for number, reference in enumerate(config.report.references):
        if Path(reference).is_file():
            yield from published_file_faults(reference)
        else:
            where, problem = f"report.references[{number}]", f"there is no file {reference!r}"
            yield Fault(config_file, where, problem, "a file of published numbers")


def published_file_faults(reference: str) -> list[Fault]:
    """Returns the faults of a file of published numbers.

    The report would refuse it, but only at the end of a run.
    """
    from biasgrid.stats.compare.references import read_references

    try:
        read_references(reference)
    except InputError as error:
        return error.faults
    return []


def config_paths(
    config: Config, models: Iterable[str], tokenizers: Iterable[str]
) -> dict[str, str]:
    """Returns the files and folders that a config names, by key.

    Args:
        config: the config.
        models: the names of the models whose paths count.
        tokenizers: the names of the tokenizers whose paths count.
    """
    paths: dict[str, str | None] = {"word_lists": config.word_lists}
    for name in models:
        for key, path in config.models[name].source.paths().items():
            paths[f"models.{name}.{key}"] = path
    for name in tokenizers:
        paths[f"tokenizers.{name}.folder"] = config.tokenizers[name].folder
    for number, file in enumerate(config.report.references):
        paths[f"report.references[{number}]"] = file
    return {where: path for where, path in paths.items() if path is not None}


def wildcard_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields paths with braces, which Snakemake would take for wildcards.

    These are the paths of word lists, references, selected models, the models that score their
    texts, and tokenizers that filter subjects. All are inputs of jobs.
    """
    models = dict.fromkeys([*known_names(config.run.models, config.models), *config.scorer_models])
    for where, path in config_paths(config, models, filtering_tokenizers(config)).items():
        if WILDCARD.search(path):
            problem = f"{path!r} contains braces, which Snakemake would take for a placeholder"
            yield Fault(config_file, where, problem, "a path without { and }")


def tokenizer_folder_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields faults of folders without a tokenizer, and of mask tokens that differ from theirs.

    Only tokenizers that filter the subjects for a selected model are checked.
    """
    for name in filtering_tokenizers(config):
        folder, mask = config.tokenizers[name].folder, config.tokenizers[name].mask
        if folder is None:
            continue
        if not matching(file_names(folder), VOCABULARIES):
            problem = "contains no tokenizer" if Path(folder).is_dir() else "is not a folder"
            expected = f"a folder with one of {', '.join(VOCABULARIES)}"
            yield Fault(config_file, f"tokenizers.{name}.folder", f"{folder!r} {problem}", expected)
            continue
        # A tokenizer without a mask only balances names.
        if mask is None or mask == ANY_MASK:
            continue
        own_mask = tokenizer_mask(folder)
        if own_mask and mask != own_mask:
            problem = f"{mask!r} is not the mask token of the tokenizer in {folder!r}"
            yield Fault(config_file, f"tokenizers.{name}.mask", problem, own_mask)


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
    question_tokenizers = {question.tokenizer for question in config.selected_variants.values()}
    return [name for name in config.tokenizers if name in question_tokenizers]


def strength_faults(config: Config, config_file: str, name: str) -> Iterator[Fault]:
    """Yields a model whose synthetic strength is not in the config."""
    training = config.models[name].train
    strength = training.synthetic if training else None
    strengths = config.synthetic.strengths if config.synthetic else {}
    if strength is not None and strength not in strengths:
        problem = f"unknown strength {strength!r}{nearest_name(strength, strengths)}"
        expected = f"{one_of(strengths)} (synthetic.strengths)"
        yield Fault(config_file, f"models.{name}.train.synthetic", problem, expected)


def spread_faults(config: Config, config_file: str) -> Iterator[Fault]:
    """Yields a spread that, with the largest strength, makes probabilities outside of 0..1."""
    synthetic = config.synthetic
    if synthetic is None or not synthetic.strengths:
        return
    totals = {name: total_strength(strength) for name, strength in synthetic.strengths.items()}
    name = max(totals, key=totals.__getitem__)
    strength = totals[name]
    if strength + synthetic.spread > 1:
        expected = (
            f"at most {1 - strength:g}: strength {name!r} is {strength:g}, and the two add up to "
            "at most 1"
        )
        yield Fault(config_file, "synthetic.spread", f"{synthetic.spread:g}", expected)


def class_faults(config: Config, config_file: str, name: str) -> Iterator[Fault]:
    """Yields missing `labels` of a model that gives classes, or `labels` of another model."""
    model = config.models[name]
    back_ends = config.registry.back_ends
    own = back_ends.get((model.task, model.back_end))
    if own:
        has_classes = own.classes
    else:
        # `source_faults` names the missing back end.
        has_classes = any(
            back_end.classes for (task, _), back_end in back_ends.items() if task == model.task
        )
    if has_classes and not model.labels:
        expected = f"the names of the classes, because the task is {model.task}"
        yield Fault(config_file, f"models.{name}.labels", "{}", expected)
    if not has_classes and model.labels:
        expected = f"no `labels`, because the task is {model.task}"
        yield Fault(config_file, f"models.{name}.labels", value_text(model.labels), expected)


def source_faults(config: Config, config_file: str, name: str) -> Iterator[Fault]:
    """Yields a model whose task has no back end for its source."""
    model = config.models[name]
    sources = [origin for task, origin in config.registry.back_ends if task == model.task]
    if model.back_end not in sources:
        problem = f"{model.task!r} has no back end for {model.back_end}"
        yield Fault(config_file, f"models.{name}.{model.source.named_by}", problem, one_of(sources))
