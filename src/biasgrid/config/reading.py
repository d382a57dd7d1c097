"""Reads configs and reports all their faults at once, each with its key, its value and what is
allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from hashlib import sha256
from os.path import commonprefix
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.references import load, load_reference, plugin_faults, stage
from biasgrid.base.yaml import Document, NodePlace, read_yaml
from biasgrid.config.checks import measure_faults, model_faults, paths_of, reference_faults
from biasgrid.config.paths import ConfigFolders
from biasgrid.config.registry import registry_of
from biasgrid.config.sections import Config
from biasgrid.families.family import Lists


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
    """Returns the content of a YAML file with text in place of its dates, which JSON does not
    have.
    """
    if isinstance(content, Mapping):
        return {key: days_as_text(value) for key, value in content.items()}
    if isinstance(content, list):
        return [days_as_text(value) for value in content]
    return content.isoformat() if isinstance(content, date) else content


def load_config(path: str | Path, given: dict[str, Any] | None = None) -> Config:
    """Reads a config and checks it.

    Args:
        path: its file; the code of its `plugins` is run.
        given: keys that replace those of the file.

    Raises:
        InputError: with every fault; see `parse_config`.
    """
    document, given = read_document(path), given or {}
    folders = ConfigFolders.of([path], given)
    return parse_config(document.content | given, str(path), document.lines_but(given), folders)


def parse_config(
    content: Mapping[str, Any],
    source: str,
    lines: Mapping[NodePlace, int] | None = None,
    folders: ConfigFolders | None = None,
) -> Config:
    """Checks a config's keys and values, and that what it names exists in it.

    Args:
        content: the config as a mapping; the code of its `plugins` is run.
        source: the name of its file, for messages.
        lines: the lines of its keys in that file.
        folders: where the files that it names are looked for; by default the working folder.

    Raises:
        InputError: with every fault, each with the key's line and path, the value, what is allowed
            and the nearest name.
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
    """Does what `parse_config` does; faults of what the config names have no lines yet."""
    named = document.content.get("plugins") or []
    usable = isinstance(named, list) and all(isinstance(path, str) for path in named)
    paths = {f"plugins[{place}]": path for place, path in enumerate(named if usable else [])}
    document = folders.found(document, paths)
    try:
        registry = registry_of(document.content["plugins"] if paths else [], source)
        config = document.checked(Config, source, registry)
        paths = paths_of(config, config.models, config.tokenizers)
        if (moved := folders.found(document, paths)) is not document:
            config = moved.checked(Config, source, registry)
        # Each asks what makes sense only where the ones before have found nothing.
        for look in (model_faults, reference_faults, measure_faults):
            if faults := list(look(config, source)):
                raise InputError(faults)
    except InputError as error:
        raise InputError(folders.explain(fault, paths) for fault in error.faults) from None
    config._folders = folders
    return config


@plugin_faults()
def load_word_lists(config: Config) -> dict[tuple[str, str], Lists]:
    """Reads the word lists of all datasets and variants that are expanded.

    Raises:
        InputError: with every fault in any of them, and every key of the config that does not fit
            them.
    """
    source, document = config.origin
    lists: dict[tuple[str, str], Lists] = {}
    faults: list[Fault] = []
    if config.needed_variants and not Path(config.word_lists).is_dir():
        expected = (
            "a folder of word lists: set `word_lists` in the config, or give it on the command "
            "line: --config "
        )
        expected += "word_lists=FOLDER with snakemake, --word-lists FOLDER with biasgrid"
        missing = Fault(source, "word_lists", f"there is no folder {config.word_lists!r}", expected)
        missing = config.folders.explain(missing, {"word_lists": config.word_lists})
        raise InputError(document.with_lines([missing], source))
    for dataset, variant in config.needed_variants:
        reading = load(stage(config.reference_of_family(dataset), "reading"))
        content, wrong = reading.read(config.files(dataset, variant))
        faults += wrong or [
            *config.family(dataset).list_faults(config, source, dataset, variant, content),
            *template_cluster_faults(config, source, dataset, content),
        ]
        lists[dataset, variant] = content
    faults = faults or [*unanswerable_faults(config, lists)]
    if faults:
        raise InputError(document.with_lines(dict.fromkeys(faults), source))
    return lists


def unanswerable_faults(config: Config, lists: Mapping[tuple[str, str], Lists]) -> Iterator[Fault]:
    """Yields what back ends that know it beforehand cannot answer, of the very instances that their
    jobs will ask.
    """
    for model, dataset in config.cells():
        question, check = config.question(model, dataset), config.back_end_of(model).check
        if check and not config.models[model].source.brings_instances:
            expand = load(stage(config.reference_of_family(dataset), "expand")).expand
            for instances in expand(lists[dataset, question.variant]).parts:
                yield from load_reference(check)(config.models[model], instances, question.answer)


def template_cluster_faults(
    config: Config, source: str, dataset: str, content: Lists
) -> Iterator[Fault]:
    """Yields a template that a dataset puts into a cluster and does not have."""
    chosen, texts = (
        config.datasets[dataset].template_clusters,
        config.family(dataset).cluster_texts(content),
    )
    last = (
        max((number for cluster in chosen for number in cluster), default=-1)
        if isinstance(chosen, list)
        else -1
    )
    if texts and last >= len(texts):
        where = f"datasets.{dataset}.template_clusters"
        yield Fault(
            source, where, f"there is no template {last}", f"numbers from 0 to {len(texts) - 1}"
        )


def clusters_of_variant(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> list[int]:
    """Returns the cluster of each template of a dataset's variant, by number.

    Args:
        config: the config.
        lists: from `load_word_lists`; those of dumps are read where they are there, and `auto` else
            makes a cluster of each template.
        dataset: the dataset's name.
        variant: the variant's name.
    """
    from biasgrid.stats.clusters import clusters_from_texts

    content = lists.get((dataset, variant)) or lists_of_dump(config, dataset, variant)
    texts = config.family(dataset).cluster_texts(content) if content is not None else []
    return clusters_from_texts(texts, config.datasets[dataset].template_clusters)


def digest_of_templates(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str, variant: str
) -> str | None:
    """Digests the texts of a dataset variant's templates: models that are asked the same ones are
    paired.

    Args:
        config: the config.
        lists: see `clusters_of_variant`.
        dataset: the dataset's name.
        variant: the variant's name.

    Returns:
        The digest; for families without template texts the digest of the lists; None where there
        are no lists.
    """
    content = lists.get((dataset, variant)) or lists_of_dump(config, dataset, variant)
    if content is None:
        return None
    texts = config.family(dataset).cluster_texts(content)
    return sha256("\0".join(texts).encode()).hexdigest()[:16] if texts else content.digest()


def texts_of_templates(
    config: Config, lists: Mapping[tuple[str, str], Lists], dataset: str
) -> list[str]:
    """Returns the text of each template of a dataset, by number, as far as it is the same in all
    variants.

    Args:
        config: the config.
        lists: see `clusters_of_variant`.
        dataset: the dataset's name.
    """
    variants = dict.fromkeys(
        config.question(model, of).variant for model, of in config.cells() if of == dataset
    )
    contents = [
        lists.get((dataset, each)) or lists_of_dump(config, dataset, each) for each in variants
    ]
    texts = [
        config.family(dataset).template_texts(content)
        for content in contents
        if content is not None
    ]
    return [commonprefix(same) for same in zip(*texts, strict=False)]  # noqa: RUF071 (characters are what is compared)


def lists_of_dump(config: Config, dataset: str, variant: str) -> Lists | None:
    """Reads the word lists of a variant that is not expanded, None where they are not there or not
    right.
    """
    try:
        files = config.files(dataset, variant)
    except KeyError:
        return None
    content, faults = load(stage(config.reference_of_family(dataset), "reading")).read(files)
    return None if faults else content
