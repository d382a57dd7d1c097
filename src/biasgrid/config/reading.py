"""Reads configs and says what is wrong with one: all faults at once, each with key, value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from biasgrid.config.dataset_sections import FAMILIES
from biasgrid.config.references import measure_faults, reference_faults
from biasgrid.config.sections import Config
from biasgrid.config.yaml_file import parse_yaml
from biasgrid.families.counterfactual.packs import Pack
from biasgrid.families.counterfactual.reading import read_pack
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
    faults = list(reference_faults(config, source)) or list(measure_faults(config, source))
    if faults:
        raise InputError(faults)
    return config


def as_fault(detail: Any, source: str) -> Fault:
    """Words one of pydantic's errors."""
    path = ".".join(str(part) for part in without_family(detail["loc"]) if part != "[key]")
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        allowed = keys_at(detail["loc"][:-1])
        return Fault(source, path, f"unknown key{nearest(str(detail['loc'][-1]), allowed)}", one_of(allowed))
    if kind == "missing":
        return Fault(source, path, "missing", f"the key {detail['loc'][-1]!r}")
    if kind == "literal_error":
        allowed = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return Fault(source, path, f"{detail['input']!r}{nearest(str(detail['input']), allowed)}", one_of(allowed))
    if kind == "union_tag_invalid":
        problem = f"{context['tag']!r}{nearest(context['tag'], FAMILIES)}"
        return Fault(source, f"{path}.family", problem, one_of(FAMILIES))
    if kind == "union_tag_not_found":
        return Fault(source, path, f"{detail['input']!r}", "the keys of a dataset")
    if kind == "value_error":
        keys = ", ".join(detail["input"]) or "no keys"
        return Fault(source, path, f"has {keys}", str(context["error"]).removeprefix("expected "))
    expected = detail["msg"].removeprefix("Input should be ").removeprefix("Value should be ")
    return Fault(source, path, f"{detail['input']!r}", expected[0].lower() + expected[1:])


def without_family(path: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Returns where a fault is, without the family that pydantic puts behind the name of a dataset."""
    return (*path[:2], *path[3:]) if path[:1] == ("datasets",) else path


def keys_at(path: tuple[int | str, ...]) -> list[str]:
    """Returns the keys that the section may have at a path of the config, as pydantic tells it."""
    if path[:1] == ("datasets",):
        return keys_of(FAMILIES[str(path[2])], path[3:])
    return keys_of(Config, path)


def keys_of(kind: Any, path: tuple[int | str, ...]) -> list[str]:
    """Returns the keys that the section at a path of a section may have."""
    for part in path:
        if isinstance(part, int):
            continue  # A place in a list: what the items are was found with the list.
        # In a mapping of sections the part is a name of the user's choice.
        kind = kind.model_fields[part].annotation if is_section(kind) else get_args(kind)[1]
        if get_origin(kind) is not dict:
            kind = section_in(kind)
    return list(kind.model_fields)


def section_in(kind: Any) -> Any:
    """Returns the section that a type allows, itself or in a list; the type where it allows none."""
    options = [kind, *get_args(kind)]
    items = [item for option in options if get_origin(option) is list for item in get_args(option)]
    return next((option for option in options + items if is_section(option)), kind)


def is_section(kind: Any) -> bool:
    """Says whether a type is a section of the config."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


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
    """Reads the word lists of all selected datasets and variants.

    Raises:
        InputError: with every fault in any of them.
    """
    lists: dict[tuple[str, str], WordLists | Pack] = {}
    faults: list[Fault] = []
    if config.selected_variants() and not Path(config.word_lists).is_dir():
        expected = "a folder of word lists: `word_lists` in the config, or on the command line --config "
        expected += "word_lists=FOLDER of snakemake, --word-lists FOLDER of biasgrid"
        raise InputError([Fault(config.word_lists, "", "there is no such folder", expected)])
    for dataset, variant in config.selected_variants("underspecified"):
        content, found = read_word_lists(config.files(dataset, variant))
        faults += found
        if variant.startswith("lm-"):
            faults += pronoun_faults(config, dataset, content)
        lists[dataset, variant] = content
    for dataset, variant in config.selected_variants("counterfactual"):
        try:
            pack = read_pack(config.pack_files(dataset))
        except InputError as error:
            faults += error.faults
        else:
            faults += pack_faults(config, dataset, pack)
            lists[dataset, variant] = pack
    if faults:
        raise InputError(dict.fromkeys(faults))
    return lists
