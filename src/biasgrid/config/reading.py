"""Reads configs and reports all their faults at once, each with key, value and allowed values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256
from os.path import commonprefix
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import KeyPath
from biasgrid.base.references import load, load_reference, plugin_faults, stage_module
from biasgrid.base.yaml import Document, read_yaml
from biasgrid.config.checks import config_paths, measure_faults, model_faults, reference_faults
from biasgrid.config.paths import ConfigFolders
from biasgrid.config.registry import load_registry
from biasgrid.config.sections import Config
from biasgrid.families.family import Family, Lists

SIGN_CHARACTERS = 4096
"""The number of characters by which the family of a file is recognised."""


def read_document(path: str | Path) -> Document:
    """Reads a YAML file with the lines of its keys.

    Raises:
        InputError: it cannot be read, or is not YAML, or not a mapping, or a key appears twice.
    """
    return read_yaml(path, "a config in YAML", "keys such as models, datasets and run")


def read_config(path: str | Path) -> dict[str, Any]:
    """Returns the content of a YAML file; see `read_document`."""
    return read_document(path).content


def days_as_text(content: Any) -> Any:
    """Replaces dates in parsed YAML by text in ISO format, since JSON has no dates."""
    if isinstance(content, Mapping):
        return {key: days_as_text(value) for key, value in content.items()}
    if isinstance(content, list):
        return [days_as_text(value) for value in content]
    return content.isoformat() if isinstance(content, date) else content


def load_config(path: str | Path, overrides: dict[str, Any] | None = None) -> Config:
    """Reads a config and checks it.

    Args:
        path: its file; the code of its `plugins` is run.
        overrides: keys that replace those of the file.

    Raises:
        InputError: with every fault; see `parse_config`.
    """
    document, overrides = read_document(path), overrides or {}
    folders = ConfigFolders.of([path], overrides)
    return parse_config(
        document.content | overrides, str(path), document.lines_but(overrides), folders
    )


def parse_config(
    content: Mapping[str, Any],
    source: str,
    lines: Mapping[KeyPath, int] | None = None,
    folders: ConfigFolders | None = None,
) -> Config:
    """Checks the keys and values of a config, and that the names in it are defined.

    Args:
        content: the config as a mapping; the code of its `plugins` is run.
        source: the name of its file, for messages.
        lines: the lines of its keys in that file.
        folders: the folders of the files that it names; by default the working folder.

    Raises:
        InputError: with every fault, each with the key's line and path, the value, the values that
            are allowed, and the nearest name.
    """
    document = Document(dict(content), lines or {})
    try:
        config = check_config(document, source, folders or ConfigFolders())
    except InputError as error:
        raise InputError(document.with_lines(error.faults, source)) from None
    config._origin = source, document
    return config


@plugin_faults()
def check_config(document: Document, source: str, folders: ConfigFolders) -> Config:
    """Checks a config; see `parse_config`. Faults may have no lines yet."""
    plugins = document.content.get("plugins") or []
    plugin_paths = {}
    # Another value of `plugins` is refused with the other keys.
    if isinstance(plugins, list) and all(isinstance(path, str) for path in plugins):
        plugin_paths = {f"plugins[{place}]": path for place, path in enumerate(plugins)}
    with_plugins = folders.found(document, plugin_paths)
    searched_paths = plugin_paths
    try:
        registry = load_registry(with_plugins.content["plugins"] if plugin_paths else [], source)
        config = with_plugins.checked(Config, source, registry)
        searched_paths = config_paths(config, config.models, config.tokenizers)
        with_paths = folders.found(with_plugins, searched_paths)
        if with_paths is not with_plugins:
            config = with_paths.checked(Config, source, registry)
        # Later checks make sense only if earlier ones have found no faults.
        for check in (model_faults, reference_faults, measure_faults):
            faults = list(check(config, source))
            if faults:
                raise InputError(faults)
    except InputError as error:
        # The paths of the stage that failed: of plugins, or of the whole config.
        faults = [folders.explain(fault, searched_paths) for fault in error.faults]
        raise InputError(faults) from None
    config._folders = folders
    return config


@plugin_faults()
def load_word_lists(config: Config) -> dict[tuple[str, str], Lists]:
    """Reads the word lists of all datasets and variants that are expanded.

    Raises:
        InputError: with every fault of the lists, and every key of the config that does not fit
            them.
    """
    source, document = config.origin
    lists: dict[tuple[str, str], Lists] = {}
    faults: list[Fault] = []
    if config.needed_variants and not Path(config.word_lists).is_dir():
        expected = (
            "a folder of word lists: set `word_lists` in the config, or give it on the command "
            "line: --config word_lists=FOLDER with snakemake, --word-lists FOLDER with biasgrid"
        )
        missing = Fault(source, "word_lists", f"there is no folder {config.word_lists!r}", expected)
        missing = config.folders.explain(missing, {"word_lists": config.word_lists})
        raise InputError(document.with_lines([missing], source))
    for dataset, variant in config.needed_variants:
        reading = load(stage_module(config.family_reference(dataset), "reading"))
        content, file_faults = reading.read(config.files(dataset, variant))
        faults += name_other_families(config, dataset, file_faults)
        if not file_faults:
            family = config.family(dataset)
            faults += family.list_faults(config, source, dataset, variant, content)
            faults += template_cluster_faults(config, source, dataset, content)
        lists[dataset, variant] = content
    faults = faults or [*unanswerable_faults(config, lists)]
    if faults:
        raise InputError(document.with_lines(dict.fromkeys(faults), source))
    return lists


def name_other_families(config: Config, dataset: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    """Yields faults of a dataset's files; all those of a file of another family become one.

    Args:
        config: the config.
        dataset: the dataset's name.
        faults: the faults of its files.
    """
    own = config.family(dataset)
    by_file: dict[str, list[Fault]] = {}
    for fault in faults:
        by_file.setdefault(fault.file, []).append(fault)
    for file, file_faults in by_file.items():
        other = other_family(config, own, file)
        if other is None:
            yield from file_faults
        else:
            problem = f"looks like a file of `family: {other.name}` ({other.asks})"
            expected = f"a file of {own.name!r}, the family of {dataset!r} ({own.asks})"
            yield Fault(file, "", problem, expected)


def other_family(config: Config, own: Family, file: str) -> Family | None:
    """Returns the family whose files begin as a file does, None if it is unknown or `own`."""
    if not own.file_sign or not Path(file).is_file():
        return None
    with Path(file).open(encoding="utf-8", errors="replace") as stream:
        beginning = stream.read(SIGN_CHARACTERS)
    if re.search(own.file_sign, beginning):
        return None
    for name in config.registry.families:
        family = config.registry.family(name)
        if family.file_sign and re.search(family.file_sign, beginning):
            return family
    return None


def unanswerable_faults(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[Fault]:
    """Yields faults of instances that a model cannot answer, if its back end checks that."""
    for model, dataset in config.cells():
        reference = config.back_end_entry(model).check
        if not reference or config.models[model].source.brings_instances:
            continue
        check = load_reference(reference)
        question = config.question(model, dataset)
        expand = load(stage_module(config.family_reference(dataset), "expand")).expand
        for instances in expand(lists[dataset, question.variant]).parts:
            yield from check(config.models[model], instances, question.answer)


def template_cluster_faults(
    config: Config, source: str, dataset: str, content: Lists
) -> Iterator[Fault]:
    """Yields a fault if `template_clusters` names a template that the dataset does not have."""
    clusters = config.datasets[dataset].template_clusters
    texts = config.family(dataset).cluster_texts(content)
    if not texts or not isinstance(clusters, list):
        return
    last = max((number for cluster in clusters for number in cluster), default=-1)
    if last >= len(texts):
        where = f"datasets.{dataset}.template_clusters"
        expected = f"numbers from 0 to {len(texts) - 1}"
        yield Fault(source, where, f"there is no template {last}", expected)


def variant_clusters(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> list[int]:
    """Returns the cluster of each template of a dataset's variant, indexed by template.

    Templates beyond the end of the list are clusters of their own. For `auto` the list is empty if
    the texts of templates are not known.

    Args:
        config: the config.
        lists: from `load_word_lists`. Lists of a variant that is not among them, such as a dump's,
            are read from their files.
        dataset: the dataset's name.
        variant: the variant's name.
    """
    from biasgrid.stats.clusters import clusters_from_texts

    variant_lists = find_lists(config, lists, dataset, variant)
    texts: Sequence[str] = ()
    if variant_lists is not None:
        texts = config.family(dataset).cluster_texts(variant_lists)
    return clusters_from_texts(texts, config.datasets[dataset].template_clusters)


def template_texts_digest(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> str | None:
    """Returns a digest of the templates of a dataset's variant, by which models are paired.

    Args:
        config: the config.
        lists: see `variant_clusters`.
        dataset: the dataset's name.
        variant: the variant's name.

    Returns:
        The digest of template texts; of the lists if the family has no template texts; None without
        lists.
    """
    variant_lists = find_lists(config, lists, dataset, variant)
    if variant_lists is None:
        return None
    texts = config.family(dataset).cluster_texts(variant_lists)
    return sha256("\0".join(texts).encode()).hexdigest()[:16] if texts else variant_lists.digest()


def shared_template_texts(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str
) -> list[str]:
    """Returns the text of each template of a dataset, by number, as far as all variants share it.

    Args:
        config: the config.
        lists: see `variant_clusters`.
        dataset: the dataset's name.
    """
    models = [model for model, cell_dataset in config.cells() if cell_dataset == dataset]
    variants = dict.fromkeys(config.question(model, dataset).variant for model in models)
    texts_by_variant = []
    for variant in variants:
        variant_lists = find_lists(config, lists, dataset, variant)
        if variant_lists is not None:
            texts_by_variant.append(config.family(dataset).template_texts(variant_lists))
    templates = zip(*texts_by_variant, strict=False)
    return [commonprefix(texts) for texts in templates]  # noqa: RUF071 (characters are what is compared)


def find_lists(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> Lists | None:
    """Returns the word lists of a variant, None if they are missing or faulty.

    `lists` has only variants that are expanded. The lists of others are read from their files.
    """
    if (dataset, variant) in lists:
        return lists[dataset, variant]
    try:
        files = config.files(dataset, variant)
    except KeyError:
        return None
    reading = load(stage_module(config.family_reference(dataset), "reading"))
    content, faults = reading.read(files)
    return None if faults else content
