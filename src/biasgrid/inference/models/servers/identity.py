"""Who answers: what of a server decides an answer, and so is part of the key under which the answer is kept."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.addresses import canonical_address, public_address, with_secrets
from biasgrid.base.faults import InputError
from biasgrid.base.files import digest_file
from biasgrid.inference.models.servers.requests import json_digest

MANIFEST_NAME = "manifest.json"
"""In the folder of results."""
SECRET_NAME = re.compile("auth|key|token|secret|cookie|password", re.IGNORECASE)
FORMER_FILES = (
    "config.json", "generation_config.json", "tokenizer.json", "vocab.txt", "vocab.json", "spiece.model",
    "sentencepiece.bpe.model", "spm.model", "tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json",
    "added_tokens.json", "merges.txt", "*.py", "model.safetensors", "model-*.safetensors",
    "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json",
)  # fmt: skip
"""Those of a checkpoint that records of version 0.1.0 have."""


class Owner(NamedTuple):
    """Whose answers those of version 0.1.0 are taken to be, which kept them without an address.

    Attributes:
        answered_by: the digest of who answers, see `answered_by`.
        name: the address or the command, for the message.
        source: what names it: `the manifest` or `the config`.
    """

    answered_by: str
    name: str
    source: str


def server_of(section: Mapping[str, Any]) -> str:
    """Digests the server that a model's section of the config names: 32 hexadecimal digits.

    Of an `endpoint` scheme, host, port, path, provider, version, API and the model's name count, and headers that the
    environment adds to requests; of `serve` the command without its port, the content of files that it names, API and
    the model's name.

    Raises:
        InputError: the address has a variable that the environment lacks.
    """
    if "endpoint" in section:
        keys = section["endpoint"]
        address = canonical_address(with_secrets(keys["url"]))
        api, provider = keys.get("api", "chat"), keys.get("provider", "openai")
        headers = headers_of_environment(api)
        more = [headers] if headers else []
        return json_digest("endpoint", address, provider, keys.get("api_version"), api, keys["model"], *more)
    serve = section["serve"]
    command = without_port(serve["command"], serve.get("port"))
    called = serve.get("model", "{folder}")
    return json_digest("serve", command, digests_of_files(command), serve.get("api", "chat"), called)


def headers_of_environment(api: str) -> list[str]:
    """Returns the headers that a maker's client adds to each request, but for those that hold a key."""
    variable = f"{'ANTHROPIC' if api == 'anthropic' else 'OPENAI'}_CUSTOM_HEADERS"
    lines = (line.strip() for line in os.environ.get(variable, "").split("\n"))
    return sorted(line for line in lines if line and not SECRET_NAME.search(line.partition(":")[0]))


def answering_server(server: str, record: Mapping[str, Any]) -> str:
    """Digests who answers: a server, and the weights that it was given, if they are of a record."""
    if "keys" in record:
        return server
    others = record.get("other_files")
    return json_digest(server, record["files"], *([others] if others else []))


def without_port(command: str, port: int | None) -> str:
    """Returns a command with `{port}` in place of a fixed port, which does not decide what is answered."""
    return command if port is None else re.sub(rf"(?<!\d){port}(?!\d)", "{port}", command)


def digests_of_files(command: str) -> dict[str, str]:
    """Digests the files that a command is given, such as a chat template; not the program itself."""
    named = (Path(word.rpartition("=")[2]) for word in shlex.split(command)[1:])
    states = {str(path): path.stat() for path in named if path.is_file()}
    return {name: digest_in_state(name, state.st_size, state.st_mtime_ns) for name, state in states.items()}


@lru_cache
def digest_in_state(name: str, _size: int, _time: int) -> str:
    """Digests a file, which may be large, once for as long as it stays as it is."""
    return digest_file(Path(name))


def former_model(section: Mapping[str, Any], record: Mapping[str, Any], serve: Mapping[str, Any] | None) -> str:
    """Digests a model as version 0.1.0 did.

    Args:
        section: its section of the config.
        record: its record.
        serve: `command`, `model` and `api` of a server that is started for a job.
    """
    asked = section.get("endpoint") or section["serve"]
    name = str(record["keys"]["endpoint"]["model"]) if "keys" in record else json_digest(former_files(record))
    return json_digest(name, serve, asked.get("api", "chat"))


def former_serve(serve: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns what version 0.1.0 knew of a server that is started for a job; None where there is none."""
    return None if serve is None else {key: value for key, value in serve.items() if key != "files"}


def former_files(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns the files of a record that version 0.1.0 had in it, with their digests."""
    return {
        name: digest
        for name, digest in record["files"].items()
        if any(fnmatchcase(name, pattern) for pattern in FORMER_FILES)
    }


def owner_before(manifest: Path, model: str, section: Mapping[str, Any], record: Mapping[str, Any]) -> Owner:
    """Returns whose answers a store of version 0.1.0 holds: of whom the manifest says it, else of whom the config says.

    Args:
        manifest: the manifest of the results, which need not be there.
        model: the model's name.
        section: its section of the config.
        record: its record.
    """
    now = section.get("endpoint") or section["serve"]
    name = public_address(now["url"]) if "url" in now else now["command"]
    known = record_in(manifest, model)
    if known is None or ("keys" in known) != ("keys" in record):
        return Owner(answering_server(server_of(section), record), name, "the config")
    if "keys" not in known:
        same = former_files(known) == former_files(record)
        return Owner(answering_server(server_of(section), record if same else known), name, "the manifest")
    then = known["keys"]["endpoint"]
    if then["url"] == name:
        return Owner(server_of(section), name, "the manifest")
    try:
        return Owner(server_of({"endpoint": then}), then["url"], "the manifest")
    except InputError:
        return Owner(json_digest(then["url"]), then["url"], "the manifest")


def record_in(manifest: Path, model: str) -> Mapping[str, Any] | None:
    """Returns what a manifest says of a model behind a server or on one; None where it says nothing."""
    try:
        record = json.loads(manifest.read_bytes())["models"][model]
        return record if "files" in record and ("keys" not in record or "url" in record["keys"]["endpoint"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
