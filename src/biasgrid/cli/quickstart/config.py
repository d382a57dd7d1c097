"""Configs for models of one's own: the datasets that biasgrid has for them, in a file with
comments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from biasgrid.base.faults import InputError, UserError, one_of, unknown_names
from biasgrid.cli.quickstart.model import DescribedModel
from biasgrid.config import Config, read_config
from biasgrid.config.registry import registry_of

BUILT_IN_CONFIG = ("config.yaml", "llm.yaml", "fairness.yaml")
"""The configs whose datasets are offered."""
BUDGET_NOTE = ("limit", "sample")
"""The keys that cut a dataset down; without them the whole is asked, and nothing that was answered
is asked again.
"""

QUICK_SAMPLE = {"units": 2500, "seed": 1}
"""What generative models are asked of underspecified questions, which have hundreds of thousands of
units.
"""


def built_in_datasets(root: Path) -> dict[str, dict[str, Any]]:
    """Returns the sections of all datasets that biasgrid has, whole and with all their variants.

    Args:
        root: the folder that has `config/`.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in BUILT_IN_CONFIG:
        for dataset, section in read_config(root / "config" / name)["datasets"].items():
            variants = found.get(dataset, {}).get("variants", {})
            # A control is small, as it is: it need not be as large as what it is set beside.
            left_out = ("shards",) if "control_of" in section else (*BUDGET_NOTE, "shards")
            kept = {key: value for key, value in section.items() if key not in left_out}
            found[dataset] = deepcopy(found.get(dataset, kept))
            if variants := variants | section.get("variants", {}):
                found[dataset]["variants"] = variants
    return found


def make_config(
    root: Path, results: str, tried: Sequence[DescribedModel], wanted: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Makes the content of a config for models.

    Args:
        root: the folder that has `config/` and `word_lists/`.
        results: where its results go.
        tried: the models.
        wanted: names of datasets; without any, all that are for one of the models.

    Returns:
        The content, with the controls of its datasets, and the names of all datasets that are for
        one of the models, without controls.

    Raises:
        UserError: there is no such dataset, or none is for these models.
    """
    shipped = built_in_datasets(root)
    if faults := list(unknown_names("the command line", "datasets", wanted, shipped)):
        raise InputError(faults)
    datasets = {name: for_models(section, tried) for name, section in shipped.items()}
    # Where no model answers any variant, none is left.
    datasets = {
        name: section for name, section in datasets.items() if section.get("variants", True)
    }
    content: dict[str, Any] = {
        "title": ", ".join(str(one.section["label"]) for one in tried),
        "results": results,
        "word_lists": str(root / "word_lists"),
        "tokenizers": {one.name: one.tokenizer for one in tried if one.tokenizer},
        "models": {one.name: one.section for one in tried},
        "datasets": datasets,
        "run": {"models": [one.name for one in tried], "datasets": list(datasets)},
    }
    # What is selected need not fit yet, as a whole check would ask for.
    config = Config.model_validate(content, context=registry_of([], "the config template"))
    answered = [name for name in datasets if any(config.fits(one.name, name) for one in tried)]
    fitting = [name for name in answered if "control_of" not in datasets[name]]
    chosen = [name for name in wanted or fitting if name in answered]
    if not chosen:
        tasks = ", ".join(dict.fromkeys(one.task for one in tried))
        wanted_names = (
            f"{', '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} not"
            if wanted
            else "no dataset is"
        )
        raise UserError(f"{wanted_names} for models of {tasks}; expected {one_of(fitting)}")
    chosen += [
        name
        for name in answered
        if datasets[name].get("control_of") in chosen and name not in chosen
    ]
    content["datasets"] = {name: datasets[name] for name in chosen}
    content["run"] = {"models": [one.name for one in tried], "datasets": chosen}
    return content, fitting


def for_models(section: Mapping[str, Any], tried: Sequence[DescribedModel]) -> dict[str, Any]:
    """Returns a dataset's section with the variants that models answer; those of masked ones get
    their tokenizers.
    """
    if "variants" not in section:
        return dict(section)
    shipped = section["variants"]
    masked = next(value for name, value in shipped.items() if name.startswith("lm-"))
    named = {str(one.section["variant"]) for one in tried if "variant" in one.section}
    variants = {name: masked if name.startswith("lm-") else shipped[name] for name in sorted(named)}
    return {**section, "variants": variants}


def sample_generative(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a config's content in which generative models are asked samples where the whole would
    be refused.
    """
    datasets = deepcopy(content["datasets"])
    generative = {
        model.get("variant")
        for model in content["models"].values()
        if model["task"] == "text-generation"
    }
    for section in datasets.values():
        for name, variant in section.get("variants", {}).items():
            if name in generative:
                variant["sample"] = dict(QUICK_SAMPLE)
    return {**content, "datasets": datasets}


def config_text(content: Mapping[str, Any], head: Sequence[str], notes: Mapping[str, str]) -> str:
    """Writes a config.

    Args:
        content: its content.
        head: lines of comment that it begins with.
        notes: comments by the keys behind which they stand, wherever these are.
    """
    text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=110)
    lines = []
    for line in text.splitlines():
        key = re.match(r"\s*([\w-]+):", line)
        note = notes.get(key[1]) if key else None
        lines.append(f"{line}  # {note}" if note else line)
    return "\n".join([*(f"# {line}" for line in head), *lines, ""])
