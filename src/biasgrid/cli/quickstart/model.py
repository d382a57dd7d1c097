"""What a model is that a person names: a folder, a repository of the hub, or the address of a
server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError, first_few
from biasgrid.base.files import missing_path
from biasgrid.inference.checkpoints.checkpoint import ModelError, read_tokenizer
from biasgrid.inference.checkpoints.fetch import check_all_read, check_config
from biasgrid.inference.checkpoints.files import (
    CONFIG,
    OTHER_FILES,
    TOKENIZER_FILES,
    file_names,
    read_checkpoint_json,
)
from biasgrid.inference.checkpoints.unsupported import ADAPTERS
from biasgrid.inference.checkpoints.uses import Use, advice_of, architecture_names, use_of
from biasgrid.inference.models.servers.section import Endpoint

HUB_PARTS = 2
"""Of the name of a repository, such as `org/name`."""


@dataclass(frozen=True)
class DescribedModel:
    """A model as a config has it.

    Attributes:
        name: its name in the config.
        section: its section there.
        folder: the folder of its checkpoint; None of one behind a server.
        tokenizer: the section of its tokenizer where masked language models need one, else empty.
    """

    name: str
    section: dict[str, Any]
    folder: Path | None
    tokenizer: dict[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """What it is used for."""
        return str(self.section["task"])


def describe_model(
    model: str, labels: Mapping[str, str], served_name: str | None, key: str | None
) -> DescribedModel:
    """Finds out what a model is.

    Args:
        model: a folder, a repository of the hub, or the address of a server that speaks OpenAI's
            protocol.
        labels: the classes that datasets have, and what a classifier calls them; empty where it
            calls them so.
        served_name: what the server calls the model.
        key: the variable of the environment that has the server's key.

    Raises:
        UserError: there is no such model, or none that can be asked.
    """
    if re.match(r"https?://", model):
        return describe_served_model(model, served_name, key)
    if Path(model).is_dir():
        check_is_checkpoint(model)
        check_description(model, file_names(model), Path(model))
        folder, source = Path(model).resolve(), {"folder": str(Path(model).resolve())}
        # A link has a name of its own; `.` and `..` have none.
        called = str(folder) if Path(model).name in ("", "..") else model
    else:
        folder, source = download_description(model)
        called = model
    config = read_checkpoint_json(model, folder / CONFIG)
    use = use_of_config(model, config)
    name = config_name(called)
    section: dict[str, Any] = {
        "task": use.task,
        "kind": use.kind,
        "label": model_label(called),
        **source,
    }
    if use.variant:
        section["variant"] = use.variant.format(name=name)
    if use.needs == "labels":
        section["labels"] = dict(labels) or classifier_labels(model, config)
    tokenizer = {"mask": mask_token_of(model, folder), **source} if use.needs == "mask" else {}
    return DescribedModel(name, section, folder, tokenizer)


def describe_served_model(url: str, name: str | None, key: str | None) -> DescribedModel:
    """Describes a model behind a server.

    Raises:
        UserError: nobody answers there, or the key or the name of the model is refused.
    """
    from biasgrid.inference.models.sources.reachable import check_endpoint, only_model

    reference = f"${{{key}}}" if key else None
    if name is None:
        name = only_model(url, reference)
    else:
        check_endpoint(Endpoint(url=url, model=name, key=reference))
    endpoint = {"url": url, "model": name, **({"key": reference} if reference else {})}
    section = {
        "task": "text-generation",
        "variant": "llm",
        "kind": "API",
        "label": model_label(name),
        "endpoint": endpoint,
    }
    return DescribedModel(config_name(name), section, None)


def check_is_checkpoint(model: str) -> None:
    """Refuses a folder that holds folders of checkpoints.

    Raises:
        UserError: with their names.
    """
    within = sorted(path.parent.name for path in Path(model).glob(f"*/{CONFIG}"))
    if within and not Path(model, CONFIG).is_file():
        raise UserError(
            f"{model}: is a folder of folders; expected the folder of "
            f"one model: {first_few(within, 8)}"
        )


def check_description(model: str, names: Sequence[str], folder: Path) -> None:
    """Refuses a checkpoint that cannot be described by its config.json alone.

    Args:
        model: its name.
        names: the names of all its files.
        folder: the folder of its JSON files.

    Raises:
        ModelError: it has files that decide its numbers and are not read, or no config.json.
    """
    check_all_read(model, names, folder, False)
    check_config(model, names)


def check_is_hub_name(model: str) -> None:
    """Refuses what is a file, or can only have been meant as a folder, so that no hub is asked for
    it.

    Raises:
        UserError: with the folder of the file, or the name that is most like the one that is not
            there.
    """
    path = Path(model)
    if path.is_file():
        raise UserError(f"{model}: is a file; expected the folder of the model: {path.parent}")
    if re.match(r"[./~\\]|[A-Za-z]:", model) or len(path.parts) > HUB_PARTS:
        raise UserError(f"{model}: {missing_path(path)}; expected the folder of a model")


def download_description(checkpoint: str) -> tuple[Path, dict[str, Any]]:
    """Downloads the files that describe a repository's model, and returns their folder and the
    commit.

    Raises:
        UserError: there is neither such a folder nor such a repository.
    """
    from biasgrid.inference.checkpoints.hub import download_checkpoint, list_files

    check_is_hub_name(checkpoint)
    try:
        folder = download_checkpoint(
            checkpoint, None, [CONFIG, *TOKENIZER_FILES, *OTHER_FILES, *ADAPTERS[:1]]
        )
    except ModelError as error:
        raise UserError(
            f"{checkpoint}: {missing_path(Path(checkpoint))}, and the hub says: {error}"
        ) from None
    check_description(checkpoint, list_files(checkpoint, folder), folder)
    return folder, {"checkpoint": checkpoint, "revision": folder.name}


def use_of_config(model: str, config: Mapping[str, Any]) -> Use:
    """Reads off a config.json what a model is used for.

    Raises:
        UserError: it names no class that can be asked.
    """
    use = use_of(config)
    if use is None:
        raise UserError(
            f"{model}: architectures {architecture_names(config)} in {CONFIG}: {advice_of(config)}"
        )
    return use


def classifier_labels(model: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the classes of a classifier, each under its own name in lower case.

    Raises:
        UserError: nobody has named them.
    """
    names = [str(name) for name in (config.get("id2label") or {}).values()]
    if not names or any(re.fullmatch(r"LABEL_\d+", name) for name in names):
        raise UserError(
            f"{model}: its classes are {', '.join(names) or 'without names'}; expected --labels "
            "with their meaning, such as negative=LABEL_0,positive=LABEL_1 (see the model's card)"
        )
    return {name.lower(): name for name in names}


def leave_out_pronouns(
    datasets: dict[str, dict[str, Any]], tried: Sequence[DescribedModel]
) -> Iterator[str]:
    """Takes pronouns out of the datasets of a config that was made where a masked model cannot be
    asked for them.

    Args:
        datasets: the sections of the datasets, by name, which are changed.
        tried: the models.

    Yields:
        A note of each dataset.
    """
    from biasgrid.inference.models.masked.one_token import are_one_token

    masked = [read_tokenizer(one.name, one.folder) for one in tried if one.tokenizer and one.folder]
    for name, section in datasets.items():
        # As models are asked: one spelling is enough.
        unknown = [
            pronoun
            for pronoun in section.get("pronouns", {}).values()
            if not all(
                any(are_one_token(tokenizer, [pronoun, pronoun.capitalize()]))
                for tokenizer in masked
            )
        ]
        if unknown:
            del section["pronouns"]
            verb = "is not a single token" if len(unknown) == 1 else "are not single tokens"
            yield f"{name}: pronouns are left out, because {first_few(unknown)} {verb} of the model"


def mask_token_of(model: str, folder: Path) -> str:
    """Returns the mask token of a masked language model.

    Raises:
        UserError: its tokenizer has none.
    """
    mask = read_tokenizer(model, folder).mask_token
    if mask is None:
        raise UserError(
            f"{model}: its tokenizer has no mask token, which a masked language model needs; "
            "expected the tokenizer of the model"
        )
    return str(mask)


def model_label(model: str) -> str:
    """Returns how a model is called in tables: the last part of its name."""
    return model.rstrip("/").rsplit("/", 1)[-1]


def config_name(model: str) -> str:
    """Returns how a config may call a model: the last part of its name, in letters, digits and
    hyphens.
    """
    return re.sub(r"[^a-z0-9]+", "-", model_label(model).lower()).strip("-") or "model"
