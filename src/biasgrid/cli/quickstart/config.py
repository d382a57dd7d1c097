"""Configs for a user's own models: the datasets that biasgrid has for them, with comments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from filecmp import cmp
from pathlib import Path
from typing import Any

import yaml

from biasgrid.base.faults import InputError, UserError, one_of, unknown_names
from biasgrid.base.messages import validate_content
from biasgrid.cli.quickstart.model import DescribedModel
from biasgrid.config import Config, read_config
from biasgrid.config.paths import leaves
from biasgrid.config.registry import load_registry

STANDARD_CONFIGS = ("config.yaml", "llm.yaml", "fairness.yaml")
"""The configs whose datasets are asked if none is named."""
SHIPPED_CONFIGS = (*STANDARD_CONFIGS, "people.yaml")
"""The configs whose datasets can be named."""
CONFIGS_WITH_LISTS = (*SHIPPED_CONFIGS, "demo.yaml", "demo-full.yaml")
"""The configs whose word lists come with biasgrid."""
BUDGET_NOTE = ("limit", "sample")
"""The keys that downsample a dataset. Without them all of it is asked, and responses are reused."""

QUICK_SAMPLE = {"units": 2500, "seed": 1}
"""The sample of underspecified questions for generative models; a dataset has 100,000s of units."""


def built_in_datasets(root: Path, files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns the sections of all datasets of shipped configs, complete and with all variants.

    Datasets that balance subjects by the tokens of certain models are left out.

    Args:
        root: the folder that has `config/`.
        files: the names of the configs.
    """
    datasets: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, section in read_config(root / "config" / file)["datasets"].items():
            if "balance" in section:
                continue
            if name not in datasets:
                datasets[name] = whole_section(section)
            variants = datasets[name].get("variants", {}) | section.get("variants", {})
            if variants:
                datasets[name]["variants"] = variants
    return datasets


def unchanged_datasets(root: Path, config: Config) -> set[str]:
    """Returns the datasets of a config whose word lists come with biasgrid and are not changed.

    Args:
        root: the folder that has `config/` and `word_lists/`.
        config: a config that was read from its file.
    """
    shipped: set[str] = set()
    for file in CONFIGS_WITH_LISTS:
        datasets = read_config(root / "config" / file)["datasets"]
        shipped |= {path for section in datasets.values() for path in texts_within(section)}
    own = Path(config.word_lists)
    names = set()
    for name, section in config.origin[1].content["datasets"].items():
        files = [path for path in texts_within(section) if (own / path).is_file()]
        if files and all(
            path in shipped and cmp(own / path, root / "word_lists" / path, shallow=False)
            for path in files
        ):
            names.add(name)
    return names


def texts_within(section: Mapping[str, Any]) -> list[str]:
    """Returns the texts among the values of a section, and of the sections and lists in it."""
    texts = []
    for place in leaves(section):
        value: Any = section
        for key in place:
            value = value[key]
        if isinstance(value, str):
            texts.append(value)
    return texts


def whole_section(section: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of a dataset's section without the keys that downsample or split it."""
    left_out: tuple[str, ...] = ("shards",)
    # A control is small, as it is: it need not be as large as the dataset it controls.
    if "control_of" not in section:
        left_out += BUDGET_NOTE
    whole = deepcopy({key: value for key, value in section.items() if key not in left_out})
    for variant in whole.get("variants", {}).values():
        variant.pop("sample", None)
    return whole


def one_of_each_family(root: Path, datasets: Sequence[str]) -> list[str]:
    """Returns the first dataset of each family and language among datasets that biasgrid has."""
    firsts: dict[tuple[str | None, str | None], str] = {}
    built_in = built_in_datasets(root, SHIPPED_CONFIGS)
    for name in datasets:
        section = built_in[name]
        firsts.setdefault((section.get("family"), section.get("language")), name)
    return list(firsts.values())


def make_config(
    root: Path, results: str, models: Sequence[DescribedModel], dataset_names: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Makes the content of a config for models.

    Args:
        root: the folder that has `config/` and `word_lists/`.
        results: the folder for its results.
        models: the models.
        dataset_names: names of datasets; if empty, those of the standard configs that are for one
            of the models.

    Returns:
        The content, with the controls of its datasets, and the names of all datasets that are for
        one of the models, without controls.

    Raises:
        UserError: there is no such dataset, or none is for these models.
    """
    built_in = built_in_datasets(root, SHIPPED_CONFIGS)
    faults = list(unknown_names("the command line", "datasets", dataset_names, built_in))
    if faults:
        raise InputError(faults)
    content: dict[str, Any] = {
        "title": ", ".join(str(model.section["label"]) for model in models),
        "results": results,
        "word_lists": str(root / "word_lists"),
        **model_sections(models),
    }
    answered = answered_sections(content, built_in, models)
    offered = [name for name, section in answered.items() if "control_of" not in section]
    standard = built_in_datasets(root, STANDARD_CONFIGS)
    wanted = dataset_names or [name for name in offered if name in standard]
    chosen = [name for name in wanted if name in answered]
    if not chosen:
        raise no_dataset_error(dataset_names, offered, models)
    chosen += controls_of(chosen, answered)
    content["datasets"] = {name: answered[name] for name in chosen}
    content["run"] = {"models": [*content["models"]], "datasets": chosen}
    return content, offered


def model_sections(models: Sequence[DescribedModel]) -> dict[str, dict[str, Any]]:
    """Returns the keys `tokenizers` and `models` of a config."""
    return {
        "tokenizers": {model.name: model.tokenizer for model in models if model.tokenizer},
        "models": {model.name: model.section for model in models},
    }


def answered_sections(
    content: Mapping[str, Any],
    built_in: Mapping[str, Mapping[str, Any]],
    models: Sequence[DescribedModel],
) -> dict[str, dict[str, Any]]:
    """Returns the sections of the datasets that at least one of the models can answer, by name.

    Args:
        content: the content of a config without datasets.
        built_in: the sections of all datasets with all their variants, by name.
        models: the models of the config.
    """
    datasets = {}
    for name, built_in_section in built_in.items():
        section = for_models(built_in_section, models)
        # Nothing is left of a dataset if no model answers any of its variants.
        if section.get("variants", True):
            datasets[name] = section
    names = [model.name for model in models]
    selected = {"models": names, "datasets": list(datasets)}
    whole = {**content, "datasets": datasets, "run": selected}
    # Only the sections are checked: models need not answer all the datasets that are selected.
    source = "the command line"
    config = validate_content(Config, whole, source, load_registry([], source))
    answered = {}
    for name, section in datasets.items():
        if any(config.fits(model, name) for model in names):
            answered[name] = section
    return answered


def controls_of(chosen: Sequence[str], sections: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns the controls of chosen datasets that are not chosen themselves.

    Args:
        chosen: the names of the chosen datasets.
        sections: the sections of all datasets that can be chosen, by name.
    """
    controls = []
    for name, section in sections.items():
        if section.get("control_of") in chosen and name not in chosen:
            controls.append(name)
    return controls


def no_dataset_error(
    dataset_names: Sequence[str], offered: Sequence[str], models: Sequence[DescribedModel]
) -> UserError:
    """Returns an error for datasets none of which is for some models; see `make_config`."""
    subject = "no dataset is"
    if dataset_names:
        verb = "is" if len(dataset_names) == 1 else "are"
        subject = f"{', '.join(dataset_names)} {verb} not"
    tasks = ", ".join(dict.fromkeys(model.task for model in models))
    return UserError(f"{subject} for models of {tasks}; expected {one_of(offered)}")


def for_models(section: Mapping[str, Any], models: Sequence[DescribedModel]) -> dict[str, Any]:
    """Returns a dataset's section with the variants that models answer.

    Variants are of one kind if their names begin alike, such as `lm-bert` and `lm-roberta`. Those
    of masked language models are named after the models' tokenizers.
    """
    if "variants" not in section:
        return dict(section)
    names = {str(model.section["variant"]) for model in models if "variant" in model.section}
    variants = {}
    for name in sorted(names):
        kind, _, _ = name.partition("-")
        of_kind = [
            variant for own, variant in section["variants"].items() if own.partition("-")[0] == kind
        ]
        if of_kind:
            variants[name] = section["variants"].get(name, of_kind[0])
    return {**section, "variants": variants}


def sample_generative(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a config's content with samples for generative models.

    A config without them is refused, as generative models are slow.
    """
    generative = set()
    for model in content["models"].values():
        if model["task"] == "text-generation":
            generative.add(model.get("variant"))
    datasets = deepcopy(content["datasets"])
    for section in datasets.values():
        for name, variant in section.get("variants", {}).items():
            if name in generative:
                variant["sample"] = dict(QUICK_SAMPLE)
    return {**content, "datasets": datasets}


def config_text(content: Mapping[str, Any], head: Sequence[str], notes: Mapping[str, str]) -> str:
    """Formats a config as YAML with comments.

    Args:
        content: its content.
        head: lines of comment that it begins with.
        notes: comments by key; one is put behind every line with that key.
    """
    text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=110)
    lines = [f"# {line}" for line in head]
    for line in text.splitlines():
        key = re.match(r"\s*([\w-]+):", line)
        note = notes.get(key[1]) if key else None
        lines.append(f"{line}  # {note}" if note else line)
    return "\n".join([*lines, ""])
