"""Describes a model that a user names: a folder, a repository of the hub, or a server's address."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biasgrid.base.addresses import page_of_hub, public_address, whole_address
from biasgrid.base.faults import UserError, first_few
from biasgrid.base.files import missing_path
from biasgrid.base.messages import validate_content
from biasgrid.inference.checkpoints.checkpoint import ModelError, read_tokenizer
from biasgrid.inference.checkpoints.fetch import check_all_read, check_config
from biasgrid.inference.checkpoints.files import (
    CONFIG,
    OTHER_FILES,
    TOKENIZER_FILES,
    VOCABULARIES,
    file_names,
    matching,
    read_checkpoint_json,
)
from biasgrid.inference.checkpoints.unsupported import ADAPTER_CONFIG
from biasgrid.inference.checkpoints.uses import (
    Use,
    checkpoint_advice,
    checkpoint_use,
)
from biasgrid.inference.models.servers.section import Endpoint

HUB_PARTS = 2
"""Number of parts in the name of a repository, such as `org/name`."""


@dataclass(frozen=True)
class DescribedModel:
    """A model as a config describes it.

    Attributes:
        name: its name in the config.
        section: its section there.
        folder: the folder of its checkpoint, None for a model behind a server.
        tokenizer: the section of its tokenizer, which masked language models need; else empty.
    """

    name: str
    section: dict[str, Any]
    folder: Path | None
    tokenizer: dict[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The Hugging Face task that it is used for."""
        return str(self.section["task"])


def describe_model(
    model: str,
    labels: Mapping[str, str],
    served_name: str | None,
    key: str | None,
    name_as_is: bool = False,
) -> DescribedModel:
    """Describes a model for a config.

    Args:
        model: a folder, a repository of the hub, or the address of a server that speaks OpenAI's
            protocol.
        labels: a classifier's names of the classes of datasets; empty if the names are the same.
        served_name: the server's name of the model.
        key: the environment variable that holds the server's key.
        name_as_is: whether the server takes names that it does not list.

    Raises:
        UserError: there is no such model, or it cannot be asked.
    """
    if not Path(model).is_dir():
        check_is_address(model)
    if re.match(r"https?://", model):
        return describe_served_model(model, served_name, key, name_as_is)
    if Path(model).is_dir():
        check_is_checkpoint(model)
        check_description(model, file_names(model), Path(model))
        folder = Path(model).resolve()
        source = {"folder": str(folder)}
        # A link has a name of its own; `.` and `..` have none.
        path = str(folder) if Path(model).name in ("", "..") else model
    else:
        folder, source = download_description(model)
        path = model
    config = read_checkpoint_json(model, folder / CONFIG)
    use = use_of_config(model, config)
    name = config_name(path)
    section: dict[str, Any] = {"task": use.task, "kind": use.kind, "label": model_label(path)}
    section |= source
    if use.variant:
        section["variant"] = use.variant.format(name=name)
    if use.needs == "labels":
        section["labels"] = dict(labels) or classifier_labels(model, config)
    tokenizer = {}
    if use.needs == "mask":
        tokenizer = {"mask": mask_token_of(model, folder), **source}
    return DescribedModel(name, section, folder, tokenizer)


def describe_served_model(
    url: str, name: str | None, key: str | None, name_as_is: bool = False
) -> DescribedModel:
    """Describes a model behind a server.

    Raises:
        UserError: nobody answers there, or the key or the name of the model is refused.
    """
    from biasgrid.inference.models.sources.reachable import check_endpoint, only_model

    endpoint: dict[str, Any] = {"url": url, "model": "any" if name is None else name}
    if key is not None:
        endpoint["key"] = key_reference(key)
    if name_as_is:
        endpoint["name_as_is"] = True
    checked = validate_content(Endpoint, endpoint, "the command line")
    if name is None:
        endpoint["model"] = name = only_model(checked)
    else:
        check_endpoint(checked)
    section = {
        "task": "text-generation",
        "variant": "llm",
        "kind": "API",
        "label": model_label(name),
        "endpoint": endpoint,
    }
    return DescribedModel(config_name(name), section, None)


def key_reference(variable: str) -> str:
    """Returns the reference to a variable of the environment, such as `${NAME}`.

    Raises:
        UserError: there is no such variable, or it is empty. The text is not shown: it is often the
            key itself.
    """
    if not os.environ.get(variable, "").strip():
        raise UserError(
            "--key: a value that is not shown, because it may be a secret, and that names no "
            "variable of the environment; expected the name of a variable that holds the key, such "
            "as OPENAI_API_KEY, after `export OPENAI_API_KEY=...` in this shell"
        )
    return f"${{{variable}}}"


def check_is_checkpoint(model: str) -> None:
    """Refuses a folder of checkpoints' folders; raises UserError with their names."""
    if Path(model, CONFIG).is_file():
        return
    checkpoints = sorted(path.parent.name for path in Path(model).glob(f"*/{CONFIG}"))
    if checkpoints:
        raise UserError(
            f"{model}: is a folder of folders; expected the folder of "
            f"one model: {first_few(checkpoints, 8)}"
        )


def check_description(model: str, model_names: Sequence[str], folder: Path) -> None:
    """Refuses a checkpoint that cannot be described by its config.json alone.

    Args:
        model: its name.
        model_names: the names of all its files.
        folder: the folder of its JSON files.

    Raises:
        ModelError: it has files that decide its numbers and are not read, or no config.json.
    """
    check_all_read(model, model_names, folder, allow_remote_code=False)
    check_config(model, model_names)


def check_is_address(model: str) -> None:
    """Refuses the page of a model on the hub, and the address of a server without its beginning.

    Raises:
        UserError: with what to write instead.
    """
    if repository := page_of_hub(model):
        raise UserError(
            f"{public_address(model)}: is a page of the hub; expected the name of the model: "
            f"{repository}"
        )
    if address := whole_address(model):
        raise UserError(f"{model}: is an address without its beginning; expected {address}")


def check_is_hub_name(model: str) -> None:
    """Refuses a file, or a path that does not exist, so that the hub is not asked for it.

    Raises:
        UserError: with the folder of the file, or the existing name most like the path.
    """
    path = Path(model)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        raise UserError(
            f"{model}: is a config, and `try` takes a model; expected `biasgrid run {model}`, or "
            "the folder of a model"
        )
    if path.is_file():
        raise UserError(f"{model}: is a file; expected the folder of the model: {path.parent}")
    if re.match(r"[./~\\]|[A-Za-z]:", model) or len(path.parts) > HUB_PARTS:
        raise UserError(f"{model}: {missing_path(path)}; expected the folder of a model")


def download_description(checkpoint: str) -> tuple[Path, dict[str, Any]]:
    """Downloads the files that describe a repository's model.

    Returns:
        Their folder, and the keys `checkpoint` and `revision` of the model's section.

    Raises:
        UserError: there is neither such a folder nor such a repository.
    """
    from biasgrid.inference.checkpoints.hub import download_checkpoint, list_files

    check_is_hub_name(checkpoint)
    files = [CONFIG, *TOKENIZER_FILES, *OTHER_FILES, ADAPTER_CONFIG]
    try:
        folder = download_checkpoint(checkpoint, None, files)
    except ModelError as error:
        problem = missing_path(Path(checkpoint))
        raise UserError(f"{checkpoint}: {problem}, and the hub says: {error}") from None
    check_description(checkpoint, list_files(checkpoint, folder), folder)
    return folder, {"checkpoint": checkpoint, "revision": folder.name}


def use_of_config(model: str, config: Mapping[str, Any]) -> Use:
    """Returns the use of a model by its config.json; raises UserError without a usable class."""
    use = checkpoint_use(config)
    if use is None:
        raise UserError(f"{model}: {checkpoint_advice(config)}")
    return use


def classifier_labels(model: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the classes of a classifier by their names in lower case.

    Raises:
        UserError: they have no names, or names such as `LABEL_0` that say nothing.
    """
    names = [str(name) for name in (config.get("id2label") or {}).values()]
    if not names or any(re.fullmatch(r"LABEL_\d+", name) for name in names):
        raise UserError(
            f"{model}: its classes are {', '.join(names) or 'without names'}; expected --labels "
            "with their meaning, such as negative=LABEL_0,positive=LABEL_1 (see the model's card)"
        )
    return {name.lower(): name for name in names}


def leave_out_pronouns(
    datasets: dict[str, dict[str, Any]], models: Sequence[DescribedModel]
) -> Iterator[str]:
    """Removes pronouns from datasets if a masked model does not have them as single tokens.

    Args:
        datasets: the sections of the datasets, by name. Are changed.
        models: the models.

    Yields:
        A note about each dataset that is changed.
    """
    from biasgrid.inference.models.masked.one_token import are_one_token

    tokenizers = []
    for model in models:
        if model.tokenizer and model.folder:
            tokenizers.append(read_tokenizer(model.name, model.folder))
    for name, section in datasets.items():
        unknown = []
        for pronoun in section.get("pronouns", {}).values():
            # One spelling as a single token is enough to ask for the pronoun.
            spellings = [pronoun, pronoun.capitalize()]
            if not all(any(are_one_token(tokenizer, spellings)) for tokenizer in tokenizers):
                unknown.append(pronoun)
        if unknown:
            del section["pronouns"]
            verb = "is not a single token" if len(unknown) == 1 else "are not single tokens"
            yield f"{name}: pronouns are left out, because {first_few(unknown)} {verb} of the model"


def mask_token_of(model: str, folder: Path) -> str:
    """Returns the mask token of a masked language model.

    Raises:
        UserError: its tokenizer has none, or there is no tokenizer.
    """
    # `transformers` makes an empty tokenizer of a folder without one.
    if not matching(file_names(folder), VOCABULARIES):
        raise UserError(
            f"{model}: contains no tokenizer; expected one of {', '.join(VOCABULARIES)}, as "
            f"`AutoTokenizer.from_pretrained(BASE).save_pretrained({model!r})` writes it for the "
            "model BASE that this one was made from"
        )
    mask = read_tokenizer(model, folder).mask_token
    if mask is None:
        raise UserError(
            f"{model}: its tokenizer has no mask token, which a masked language model needs; "
            "expected the tokenizer of the model"
        )
    return str(mask)


def model_label(model: str) -> str:
    """Returns the label of a model in tables: the last part of its name."""
    return model.rstrip("/").rsplit("/", 1)[-1]


def config_name(model: str) -> str:
    """Returns the name of a model in a config: the last part of its name, as `a-z`, `0-9`, `-`."""
    return re.sub(r"[^a-z0-9]+", "-", model_label(model).lower()).strip("-") or "model"
