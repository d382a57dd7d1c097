"""Reads configs and says what is wrong with one: all faults at once, each with key, value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from biasgrid.config.dataset_sections import without_family
from biasgrid.config.references import measure_faults, reference_faults
from biasgrid.config.sections import Config
from biasgrid.config.yaml_file import parse_yaml
from biasgrid.families.counterfactual import reading as counterfactual
from biasgrid.families.counterfactual.packs import Pack
from biasgrid.families.underspecified import reading as underspecified
from biasgrid.families.underspecified.word_lists import WordLists
from biasgrid.faults import Fault, InputError
from biasgrid.reading import read_text
from biasgrid.wording import as_fault


def read_config(path: str | Path) -> dict[str, Any]:
    """Reads a YAML file.

    Raises:
        InputError: it cannot be read, or is not YAML, or not a mapping, or a key stands twice.
    """
    text = read_text(path, "a config in YAML")
    try:
        content, repeated = parse_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else ""
        problem = f"not YAML ({getattr(error, 'problem', error)})"
        raise InputError([Fault(str(path), where, problem, "a config in YAML")]) from None
    except ValueError as error:
        raise InputError([Fault(str(path), "", f"holds a date that is none ({error})", "a config in YAML")]) from None
    except RecursionError:
        raise InputError([Fault(str(path), "", "holds an alias of what it stands in", "a config in YAML")]) from None
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
        details = [detail | {"loc": without_family(detail["loc"])} for detail in error.errors()]
        raise InputError(as_fault(detail, source) for detail in details) from None
    faults = list(reference_faults(config, source)) or list(measure_faults(config, source))
    if faults:
        raise InputError(faults)
    return config


def pronoun_faults(config: Config, dataset: str, lists: WordLists) -> Iterator[Fault]:
    """Yields clusters of subjects that have no pronoun, in a dataset that asks for pronouns."""
    entry = config.underspecified[dataset]
    clusters = {cluster for subjects in lists.subjects for cluster in subjects.clusters} if entry.pronouns else set()
    for cluster in sorted(clusters - entry.pronouns.keys(), key=str):
        problem = f"has no pronoun for subjects of cluster {cluster!r}" if cluster else "has subjects without cluster"
        files = ", ".join(entry.subjects)
        yield Fault(files, f"datasets.{dataset}.pronouns", problem, "a pronoun for the cluster of every subject")


def pack_faults(config: Config, dataset: str, pack: Pack) -> Iterator[Fault]:
    """Yields what a counterfactual dataset asks that its models cannot answer."""
    entry = config.counterfactual[dataset]
    templates = str(config.pack_files(dataset).templates)
    task = next((template.task for template in pack.templates if template.task != entry.task), None)
    if task is not None:
        problem = f"{entry.task!r}, but {templates} holds templates for {task!r}"
        yield Fault(f"datasets.{dataset}", "task", problem, "templates for models of the task")
    classes = 1 + max((template.label for template in pack.templates if template.label is not None), default=-1)
    most = max((len(template.targets or ()) for template in pack.templates), default=0)
    for place, measure in enumerate(entry.measures or ()):
        if entry.task == "fill-mask" and isinstance(measure.argument, int) and measure.argument >= most:
            problem = f"{measure.argument}, but templates have at most {most} targets"
            yield Fault(f"datasets.{dataset}", f"measures[{place}].argument", problem, f"an index from 0 to {most - 1}")
    if task is None and classes > len(entry.labels):
        problem = f"names {len(entry.labels)} classes, but {templates} has the class {classes - 1}"
        yield Fault(f"datasets.{dataset}", "labels", problem, "a name for every class from 0")


def load_word_lists(config: Config) -> dict[tuple[str, str], WordLists | Pack]:
    """Reads the word lists of all datasets and variants that are expanded.

    Raises:
        InputError: with every fault in any of them.
    """
    lists: dict[tuple[str, str], WordLists | Pack] = {}
    faults: list[Fault] = []
    if config.needed_variants() and not Path(config.word_lists).is_dir():
        expected = "a folder of word lists: `word_lists` in the config, or on the command line --config "
        expected += "word_lists=FOLDER of snakemake, --word-lists FOLDER of biasgrid"
        raise InputError([Fault(config.word_lists, "", "there is no such folder", expected)])
    for dataset, variant in config.needed_variants("underspecified"):
        content, found = underspecified.read(config.word_list_files(dataset, variant))
        faults += found
        if variant.startswith("lm-"):
            faults += pronoun_faults(config, dataset, content)
        lists[dataset, variant] = content
    for dataset, variant in config.needed_variants("counterfactual"):
        pack, found = counterfactual.read(config.pack_files(dataset))
        faults += found or pack_faults(config, dataset, pack)
        lists[dataset, variant] = pack
    if faults:
        raise InputError(dict.fromkeys(faults))
    return lists
