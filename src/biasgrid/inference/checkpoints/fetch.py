"""Fetches checkpoints, and makes their records, with the digests of all files that count."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError
from biasgrid.base.files import digest_once
from biasgrid.inference.checkpoints.checkpoint import ModelError, has_checkpoint, read_record
from biasgrid.inference.checkpoints.files import (
    CHAT_KEY,
    CONFIG,
    OTHER_FILES,
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    TOKENIZER_CONFIG,
    TOKENIZER_FILES,
    VOCABULARIES,
    file_names,
    generation_keys,
    matching,
    read_chat_template,
    read_checkpoint_json,
    unusual_files,
    weights_among,
    without_weights,
)
from biasgrid.inference.checkpoints.unsupported import (
    ADAPTER_CONFIG,
    missing_config,
    other_tokenizer,
    other_weights,
    unsupported_files,
)


def make_record(
    *,
    checkpoint: str | None,
    folder: str | None,
    revision: str | None,
    weights: bool,
    allow_pickle: bool,
    allow_remote_code: bool = False,
    training: Mapping[str, Any] | None = None,
    commit: str | None = None,
) -> dict[str, Any]:
    """Fetches a checkpoint and returns its record: its origin, and a digest of each file.

    Later stages depend on the record, so they run again when the content of a file that counts
    changes, and not when other files lie beside it.

    Args:
        checkpoint: a repository of the hub; None for a folder.
        folder: a local folder. Not read if there is a `checkpoint`.
        revision: the commit, tag or branch of the repository; None for its default branch.
        weights: whether the weights are needed, or the tokenizer alone.
        allow_pickle: whether weights may be pickled files, which can run code when they are loaded.
        allow_remote_code: whether code that comes with the checkpoint may be run.
        training: how the workflow trained the checkpoint; None if it did not.
        commit: the commit in an earlier record. It is fetched in place of `revision`, so that a
            branch stays where it was at its first fetch. None for the commit that `revision` has
            now.

    Returns:
        `checkpoint` and `folder` as above; `requested`, the argument `revision`; `revision`, the
        fetched commit (None for a folder); `files`, the SHA-256 of each file by name; `weights`,
        one SHA-256 for all files of weights (None without weights); `tokenizer`, likewise; and
        `allow_remote_code` and `training` as above.
        Three keys are missing if they would be empty: `chat_template`, the SHA-256 of the template;
        `generation_config`, the settings of generation_config.json, split into used and unused
        ones; `other_files`, the SHA-256 by name of files that only some uses depend on.

    Raises:
        ModelError: the checkpoint cannot be fetched, lacks files or has unsupported ones, or would
            run code that is not allowed.
    """
    name = str(checkpoint or folder)
    patterns = without_weights(allow_remote_code=allow_remote_code)
    fetched_commit = None
    if checkpoint is None:
        path = existing_folder(name)
        names = file_names(path)
    else:
        # Takes longer to import than a folder's files take to read.
        from biasgrid.inference.checkpoints.hub import (
            commit_in_path,
            download_checkpoint,
            list_files,
            verify,
        )

        # The config of an adapter is needed only to refuse it with the name of its base model.
        first_files = (*patterns, *OTHER_FILES, ADAPTER_CONFIG)
        path = download_checkpoint(checkpoint, commit or revision, first_files)
        fetched_commit = commit_in_path(path)
        names = list_files(checkpoint, path)
    check_all_read(name, names, path, allow_remote_code=allow_remote_code, weights=weights)
    check_completeness(name, names, weights=weights)
    check_code(name, path, weights=weights, is_allowed=allow_remote_code)
    weight_files = choose_weights(name, names, allow_pickle=allow_pickle) if weights else []
    files = sorted([*matching(names, patterns), *weight_files])
    other_files = unusual_files(names)
    if checkpoint is not None and fetched_commit is not None:
        remaining = [*weight_files, *other_files]
        if remaining:
            download_checkpoint(checkpoint, fetched_commit, remaining)
        verify(checkpoint, fetched_commit, [*files, *other_files])
    if weights:
        check_weights(name, path, weight_files)
    digests = digest_files(path, files)
    tokenizer_files = matching(files, TOKENIZER_FILES)
    record: dict[str, Any] = {
        "checkpoint": checkpoint,
        "folder": folder,
        "requested": revision,
        "revision": fetched_commit,
        "files": digests,
        "weights": joint_digest(digests, weight_files) if weights else None,
        "tokenizer": joint_digest(digests, tokenizer_files),
        "allow_remote_code": allow_remote_code,
        "training": None if training is None else dict(training),
        **template_digest(name, path),
        **generation_keys(name, path),
    }
    if other_files:
        record["other_files"] = digest_files(path, other_files)
    return record


def template_digest(name: str, path: Path) -> dict[str, str]:
    """Returns `chat_template`, the SHA-256 of a checkpoint's chat template; empty without one."""
    template = read_chat_template(name, path)
    if not template:
        return {}
    return {CHAT_KEY: sha256(json.dumps(template).encode()).hexdigest()}


def make_keys_record(keys: Mapping[str, Any], files: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the record of a model without a checkpoint, whose answers depend on the config.

    Args:
        keys: the keys of its back end.
        files: files whose content decides its answers, too.

    Returns:
        The same keys as `make_record`, None for facts about checkpoints, and `keys`; see
        `checkpoint.has_checkpoint`.
    """
    checkpoint_facts = dict.fromkeys(
        ("checkpoint", "folder", "requested", "revision", "weights", "tokenizer", "training")
    )
    digests = digest_files(Path(), files)
    return {**checkpoint_facts, "files": digests, "allow_remote_code": False, "keys": dict(keys)}


def make_source_record(
    source: Mapping[str, Any], earlier: str | Path | None = None
) -> dict[str, Any]:
    """Returns the record of a checkpoint, or of a model without one.

    Args:
        source: the arguments of `make_record` or `make_keys_record`.
        earlier: path of an earlier record, which may be missing: a tag or branch keeps its commit.
    """
    if not has_checkpoint(source):
        return make_keys_record(**source)
    commit = None
    if earlier:
        commit = recorded_commit(earlier, source["checkpoint"], source["revision"])
    return make_record(**source, commit=commit)


def recorded_commit(path: str | Path, checkpoint: str | None, revision: str | None) -> str | None:
    """Returns the commit of a revision at the time of its first fetch.

    None if there is no record, it is damaged, or it is of another checkpoint or revision.

    Args:
        path: path of the record, which may be missing.
        checkpoint: the repository.
        revision: the commit, tag or branch.
    """
    try:
        record = read_record(path)
    except (OSError, UserError):
        return None
    if record.get("checkpoint") != checkpoint or record.get("requested") != revision:
        return None
    commit: str | None = record.get("revision")
    return commit


def existing_folder(folder: str) -> Path:
    """Returns the path of a folder; raises ModelError if it is missing."""
    path = Path(folder)
    if not path.is_dir():
        raise ModelError(
            f"there is no folder {folder}; expected a checkpoint with config.json and weights"
        )
    return path


def check_all_read(
    name: str,
    names: Collection[str],
    path: Path,
    *,
    allow_remote_code: bool,
    weights: bool = True,
) -> None:
    """Refuses a checkpoint with unsupported files that would change its numbers.

    Args:
        name: the checkpoint's name.
        names: the names of its files.
        path: the folder of its JSON files.
        allow_remote_code: whether code that comes with the checkpoint may be run.
        weights: whether the model is loaded, too. The names of files count only then: a tokenizer
            is the same with an adapter or other weights.

    Raises:
        ModelError: names the first such file, and the remedy.
    """
    relevant = names if weights else ()
    for problem, expected in unsupported_files(
        name, relevant, path, allow_remote_code=allow_remote_code
    ):
        raise ModelError(f"{name} {problem}; expected {expected}")


def check_config(name: str, names: Collection[str]) -> None:
    """Refuses a model without its config.

    Raises:
        ModelError: gives the remedy if the weights are in an unsupported format.
    """
    if CONFIG not in names:
        problem, expected = missing_config(names)
        raise ModelError(f"{name} {problem}; expected {expected}")


def check_completeness(name: str, names: Collection[str], *, weights: bool) -> None:
    """Refuses a checkpoint without vocabulary or, if its model is loaded, without config.

    Raises:
        ModelError: names the missing or unsupported files.
    """
    if weights:
        check_config(name, names)
    if not matching(names, VOCABULARIES):
        unsupported = other_tokenizer(names)
        if unsupported:
            raise ModelError(f"{name} {unsupported.problem}; expected {unsupported.expected}")
        raise ModelError(f"{name} has no tokenizer; expected one of {', '.join(VOCABULARIES)}")


def choose_weights(name: str, names: Iterable[str], *, allow_pickle: bool) -> list[str]:
    """Returns the files of the weights: safetensors if there are any, else pickles if allowed.

    Raises:
        ModelError: there are no weights, or only pickled ones, which are not allowed.
    """
    names = tuple(names)
    files = weights_among(names, allow_pickle=allow_pickle)
    if files:
        return files
    pickled = matching(names, PICKLED_WEIGHTS)
    if pickled:
        raise ModelError(
            f"{name} has no weights in safetensors files, only {', '.join(pickled[:3])}, which can "
            "run code when they are loaded; if you trust them, set `allow_pickle: true` for this "
            "model in the config"
        )
    unsupported = other_weights(names)
    if unsupported:
        raise ModelError(f"{name} {unsupported.problem}; expected {unsupported.expected}")
    expected = [*SAFE_WEIGHTS[:2]]
    if allow_pickle:
        expected += PICKLED_WEIGHTS[:2]
    raise ModelError(f"{name} has no weights; expected one of {', '.join(expected)}")


def check_weights(name: str, path: Path, weight_files: Collection[str]) -> None:
    """Refuses weights that refer to files without a digest, which might be pickles."""
    if "transformers_weights" in read_checkpoint_json(name, path / CONFIG):
        raise ModelError(
            f"{name}: config.json names its own weights files "
            f"(transformers_weights); expected {SAFE_WEIGHTS[0]}"
        )
    for index in matching(weight_files, ["*.index.json"]):
        weight_map = read_checkpoint_json(name, path / index).get("weight_map", {})
        files = set(strings(weight_map))
        if not files or not files.issubset(weight_files):
            unknown = sorted(files.difference(weight_files))
            listed = ", ".join(unknown) or "no files"
            shards = sorted(set(weight_files) - {index})
            expected = ", ".join(shards) or "files of weights beside it"
            raise ModelError(f"{name}: {index} names {listed}; expected only {expected}")


def check_code(name: str, path: Path, *, weights: bool, is_allowed: bool) -> None:
    """Refuses a checkpoint that runs code which is not allowed, or was not fetched.

    Its files name such code under `auto_map`. It is needed for model types and tokenizers that
    transformers lacks.

    Args:
        name: the checkpoint's name, for messages.
        path: the folder of its files.
        weights: whether the model is loaded, too; else the tokenizer alone.
        is_allowed: whether code that comes with the checkpoint may be run.

    Raises:
        ModelError: code would run that is not allowed, or lies in another repository.
    """
    config = read_checkpoint_json(name, path / CONFIG)
    tokenizer = read_checkpoint_json(name, path / TOKENIZER_CONFIG)
    model_code = config.get("auto_map") if weights else None
    code = [model_code, tokenizer.get("auto_map")]
    if not any(code):
        return
    # Transformers writes `owner/repository--module.Class` for code of another repository.
    elsewhere = sorted({reference for reference in strings(code) if "--" in reference})
    if is_allowed and elsewhere:
        raise ModelError(
            f"{name} runs code from another repository ({elsewhere[0]}), which is not fetched; "
            "expected its own code: put both into one folder, correct `auto_map` there, "
            "and set `folder`"
        )
    foreign = [] if is_allowed else foreign_parts(config, tokenizer, weights=weights)
    if foreign:
        raise ModelError(
            f"{name} runs its own code ({', '.join(foreign)} not known to transformers), which is "
            "not allowed; if you have read that code and trust it, set `allow_remote_code: true` "
            "for it in the config"
        )


def foreign_parts(
    config: Mapping[str, Any], tokenizer: Mapping[str, Any], *, weights: bool
) -> list[str]:
    """Names the parts of a checkpoint that run its own code, as transformers has none for them.

    Args:
        config: the content of config.json.
        tokenizer: the content of tokenizer_config.json.
        weights: whether the model is loaded, too; else the tokenizer alone.
    """
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    model_type = config.get("model_type")
    if model_type in CONFIG_MAPPING:
        return []
    parts = []
    if weights and config.get("auto_map"):
        parts.append(f"model type {model_type!r}")
    if tokenizer.get("auto_map"):
        tokenizer_class = tokenizer.get("tokenizer_class")
        if tokenizer_class is None or tokenizer_class_from_name(tokenizer_class) is None:
            parts.append(f"tokenizer {tokenizer_class!r}")
    return parts


def strings(value: Any) -> Iterator[str]:
    """Yields all texts in nested lists and mappings, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings(list(value.values()))
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def digest_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Returns the SHA-256 of files by their names in a folder."""
    return {name: digest_once(folder / name) for name in names}


def joint_digest(digests: Mapping[str, str], names: Iterable[str]) -> str:
    """Returns one SHA-256 for some files: of their sorted digests, one a line."""
    lines = sorted(digests[name] for name in names)
    return sha256("\n".join(lines).encode()).hexdigest()
