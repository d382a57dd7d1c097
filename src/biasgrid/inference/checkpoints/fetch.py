"""Checkpoints are fetched: what is needed of a repository or folder, and no more, and recorded by
its digests.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError
from biasgrid.base.files import digest_file
from biasgrid.inference.checkpoints.checkpoint import ModelError, read_record
from biasgrid.inference.checkpoints.files import (
    CHAT_KEY,
    CONFIG,
    OTHER_FILES,
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    TOKENIZER_CONFIG,
    TOKENIZER_FILES,
    VOCABULARIES,
    chat_template_of,
    file_names,
    generation_keys,
    matching,
    others_among,
    read_checkpoint_json,
    weights_among,
    without_weights,
)
from biasgrid.inference.checkpoints.unsupported import (
    ADAPTERS,
    missing_config,
    other_tokenizer,
    other_weights,
    unsupported_files,
)


def make_record(
    checkpoint: str | None,
    folder: str | None,
    revision: str | None,
    weights: bool,
    allow_pickle: bool,
    allow_remote_code: bool = False,
    training: Mapping[str, Any] | None = None,
    commit: str | None = None,
) -> dict[str, Any]:
    """Fetches a checkpoint and returns its record: where it is from, and a digest of each file that
    counts.

    Later stages depend on the record, so they run again when the content of a file that counts
    changes, and not when other files lie beside it.

    Args:
        checkpoint: a repository of the hub, or None where `folder` is given.
        folder: a local folder.
        revision: the commit, tag or branch of the repository.
        weights: whether the weights are needed, or the tokenizer alone.
        allow_pickle: whether weights may be pickled files, which can run code when they are loaded.
        allow_remote_code: whether code that comes with the checkpoint may be run.
        training: how the checkpoint was made, where the workflow has trained it.
        commit: what the revision stands for, where that is known already.

    Returns:
        `checkpoint` and `folder` as given, `requested` the given revision, `revision` the commit it
        stood for when it was fetched (None for a folder), `files` the SHA-256 of each file by name,
        `weights` and `tokenizer` one SHA-256 for the files of each (None without weights),
        `allow_remote_code` and `training` as given, and where there are some the SHA-256 of the
        chat template as `chat_template`, what is taken of generation_config.json and what is not as
        `generation_config`, and the SHA-256 of files that decide the numbers of some uses, by name,
        as `other_files`.

    Raises:
        ModelError: it cannot be fetched, is not what was asked for, or would run code that is not
            allowed.
    """
    name = str(checkpoint or folder)
    wanted = without_weights(allow_remote_code)
    looked_at = (*wanted, *OTHER_FILES, *ADAPTERS[:1])
    if checkpoint is None:
        path = existing_folder(name)
        names = file_names(path)
    else:
        # Takes longer to import than a folder's files take to read.
        from biasgrid.inference.checkpoints.hub import download_checkpoint, list_files, verify

        path = download_checkpoint(checkpoint, commit or revision, looked_at)
        names = list_files(checkpoint, path)
    # A tokenizer is the same with an adapter.
    check_all_read(name, names if weights else (), path, allow_remote_code)
    check_completeness(name, names, weights)
    check_code(name, path, weights, allow_remote_code)
    weight_files = choose_weights(name, names, allow_pickle) if weights else []
    files, others = sorted([*matching(names, wanted), *weight_files]), others_among(names)
    if checkpoint is not None:
        if weight_files or others:
            download_checkpoint(checkpoint, path.name, [*weight_files, *others])
        verify(checkpoint, path.name, [*files, *others])
    if weights:
        check_weights(name, path, weight_files)
    digests = {file: digest_file(path / file) for file in files}
    return {
        "checkpoint": checkpoint,
        "folder": folder,
        "requested": revision,
        "revision": None if checkpoint is None else path.name,
        "files": digests,
        "weights": digest_of_digests(digests[file] for file in weight_files) if weights else None,
        "tokenizer": digest_of_digests(digests[file] for file in matching(files, TOKENIZER_FILES)),
        "allow_remote_code": allow_remote_code,
        "training": None if training is None else dict(training),
        **template_digest(name, path),
        **generation_keys(name, path),
        **({"other_files": {file: digest_file(path / file) for file in others}} if others else {}),
    }


def template_digest(name: str, path: Path) -> dict[str, str]:
    """Returns the SHA-256 of a checkpoint's chat template as `chat_template`, nothing where it has
    none.
    """
    template = chat_template_of(name, path)
    return {CHAT_KEY: sha256(json.dumps(template).encode()).hexdigest()} if template else {}


def record_of_keys(keys: Mapping[str, Any], files: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the record of a model that has no checkpoint: what the config says of it decides its
    answers.

    Args:
        keys: the keys of its back end.
        files: files whose content decides its answers, too.

    Returns:
        As `make_record`, with `keys` as given.
    """
    nothing = dict.fromkeys(
        ("checkpoint", "folder", "requested", "revision", "weights", "tokenizer", "training")
    )
    digests = {file: digest_file(Path(file)) for file in files}
    return {**nothing, "files": digests, "allow_remote_code": False, "keys": dict(keys)}


def record_of_source(
    source: Mapping[str, Any], earlier: str | Path | None = None
) -> dict[str, Any]:
    """Returns the record of a checkpoint, or of a model without one.

    Args:
        source: where it is from, as arguments of `make_record` or `record_of_keys`.
        earlier: where an earlier record may lie, whose commit a tag or branch keeps.
    """
    if "keys" in source:
        return record_of_keys(**source)
    commit = recorded_commit(earlier, source["checkpoint"], source["revision"]) if earlier else None
    return make_record(**source, commit=commit)


def recorded_commit(path: str | Path, checkpoint: str | None, revision: str | None) -> str | None:
    """Returns the commit that a revision stood for when it was first fetched, None where that is
    not on record.

    Args:
        path: where the record lies, if there is one.
        checkpoint: the repository.
        revision: the commit, tag or branch.
    """
    try:
        record = read_record(path)
    except (OSError, UserError):
        return None
    known: str | None = record.get("revision")
    return (
        known
        if (record.get("checkpoint"), record.get("requested")) == (checkpoint, revision)
        else None
    )


def existing_folder(folder: str) -> Path:
    """Returns a folder that is there."""
    path = Path(folder)
    if not path.is_dir():
        raise ModelError(
            f"there is no folder {folder}; expected a checkpoint with config.json and weights"
        )
    return path


def check_all_read(name: str, names: Collection[str], path: Path, allow_remote_code: bool) -> None:
    """Refuses a checkpoint with files that decide its numbers and are not read.

    Raises:
        ModelError: with the first of them, and what to do.
    """
    for problem, expected in unsupported_files(name, names, path, allow_remote_code):
        raise ModelError(f"{name} {problem}; expected {expected}")


def check_config(name: str, names: Collection[str]) -> None:
    """Refuses a model without its config.

    Raises:
        ModelError: with what to do about the weights, if they are in a format that is not read.
    """
    if CONFIG not in names:
        problem, expected = missing_config(names)
        raise ModelError(f"{name} {problem}; expected {expected}")


def check_completeness(name: str, names: Collection[str], weights: bool) -> None:
    """Refuses a checkpoint without a tokenizer's vocabulary, or a model's without its config."""
    if weights:
        check_config(name, names)
    if not matching(names, VOCABULARIES):
        if other := other_tokenizer(names):
            raise ModelError(f"{name} {other.problem}; expected {other.expected}")
        raise ModelError(f"{name} has no tokenizer; expected one of {', '.join(VOCABULARIES)}")


def choose_weights(name: str, names: Iterable[str], allow_pickle: bool) -> list[str]:
    """Names the files of the weights: safe ones where there are any.

    Raises:
        ModelError: there are none, or pickled ones only, which are not allowed.
    """
    names = tuple(names)
    chosen = weights_among(names, allow_pickle)
    if chosen:
        return chosen
    pickled = matching(names, PICKLED_WEIGHTS)
    if pickled:
        raise ModelError(
            f"{name} has no weights in safetensors files, only {', '.join(pickled[:3])}, which can "
            "run code when they are loaded; if you trust them, set `allow_pickle: true` for this "
            "model in the config"
        )
    if other := other_weights(names):
        raise ModelError(f"{name} {other.problem}; expected {other.expected}")
    expected = SAFE_WEIGHTS[:2] + (PICKLED_WEIGHTS[:2] if allow_pickle else ())
    raise ModelError(f"{name} has no weights; expected one of {', '.join(expected)}")


def check_weights(name: str, path: Path, weight_files: Collection[str]) -> None:
    """Refuses weights that lead to files which are not fetched and digested, and might be
    pickles.
    """
    if "transformers_weights" in read_checkpoint_json(name, path / CONFIG):
        raise ModelError(
            f"{name}: config.json names its own weights files "
            f"(transformers_weights); expected {SAFE_WEIGHTS[0]}"
        )
    for index in matching(weight_files, ["*.index.json"]):
        named = set(strings(read_checkpoint_json(name, path / index).get("weight_map", {})))
        if not named or not named.issubset(weight_files):
            wrong = ", ".join(sorted(named.difference(weight_files))) or "no files"
            expected = (
                ", ".join(sorted(set(weight_files) - {index})) or "files of weights beside it"
            )
            raise ModelError(f"{name}: {index} names {wrong}; expected only {expected}")


def check_code(name: str, path: Path, weights: bool, allowed: bool) -> None:
    """Refuses a checkpoint that runs code which is not allowed, or was not fetched.

    Its files name such code under `auto_map`. It is needed for model types and tokenizers that
    transformers lacks.
    """
    config, tokenizer = (
        read_checkpoint_json(name, path / CONFIG),
        read_checkpoint_json(name, path / TOKENIZER_CONFIG),
    )
    codes = [config.get("auto_map") if weights else None, tokenizer.get("auto_map")]
    if not any(codes):
        return
    elsewhere = sorted({word for word in strings(codes) if "--" in word})
    if allowed and elsewhere:
        raise ModelError(
            f"{name} runs code from another repository ({elsewhere[0]}), which is not fetched; "
            "expected its own code: put both into one folder, correct `auto_map` there, "
            "and set `folder`"
        )
    foreign = [] if allowed else foreign_parts(config, tokenizer, weights)
    if foreign:
        raise ModelError(
            f"{name} runs its own code ({', '.join(foreign)} not known to transformers), which is "
            "not allowed; if you have read that code and trust it, set `allow_remote_code: true` "
            "for it in the config"
        )


def foreign_parts(
    config: Mapping[str, Any], tokenizer: Mapping[str, Any], weights: bool
) -> list[str]:
    """Names what transformers has no code for, of the parts for which a checkpoint brings its
    own.
    """
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    kind, tokenizer_class = config.get("model_type"), tokenizer.get("tokenizer_class")
    if kind in CONFIG_MAPPING:
        return []
    parts = [f"model type {kind!r}"] if weights and config.get("auto_map") else []
    known = tokenizer_class is not None and tokenizer_class_from_name(tokenizer_class) is not None
    return (
        [*parts, f"tokenizer {tokenizer_class!r}"]
        if tokenizer.get("auto_map") and not known
        else parts
    )


def strings(value: Any) -> Iterable[str]:
    """Returns all texts in nested lists and mappings."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [word for part in parts for word in strings(part)]


def digest_of_digests(digests: Iterable[str]) -> str:
    """Returns one SHA-256 of the sorted digests of several files, one a line."""
    return sha256("\n".join(sorted(digests)).encode()).hexdigest()
