"""Identifies a server and its weights, for the key under which an answer is stored."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from biasgrid.base.addresses import canonical_address, fill_secrets
from biasgrid.base.files import digest_file
from biasgrid.inference.checkpoints.checkpoint import has_checkpoint
from biasgrid.inference.models.servers.requests import json_digest

SECRET_NAME = re.compile("auth|key|token|secret|cookie|password", re.IGNORECASE)


def server_digest(section: Mapping[str, Any]) -> str:
    """Returns a digest of a model's server: 32 hexadecimal digits.

    For an `endpoint` it covers scheme, host, port, path, provider, version, API, the model's name,
    and headers that the environment adds to requests; for `serve` the command without its port,
    the content of files that it names, API and the model's name.

    Args:
        section: the model's section of the config, with `endpoint` or `serve`.

    Raises:
        InputError: an environment variable of the address is missing.
    """
    if "endpoint" in section:
        keys = section["endpoint"]
        address = canonical_address(fill_secrets(keys["url"]))
        api, provider = keys.get("api", "chat"), keys.get("provider", "openai")
        headers = environment_headers(api)
        parts = ["endpoint", address, provider, keys.get("api_version"), api, keys["model"]]
        if headers:
            parts.append(headers)
        return json_digest(*parts)
    serve = section["serve"]
    command = without_port(serve["command"], serve.get("port"))
    model = serve.get("model", "{folder}")
    return json_digest("serve", command, file_digests(command), serve.get("api", "chat"), model)


def environment_headers(api: str) -> list[str]:
    """Returns the headers, except keys, that the library adds to each request, sorted."""
    library = "ANTHROPIC" if api == "anthropic" else "OPENAI"
    variable = f"{library}_CUSTOM_HEADERS"
    lines = (line.strip() for line in os.environ.get(variable, "").split("\n"))
    return sorted(line for line in lines if line and not SECRET_NAME.search(line.partition(":")[0]))


def answering_server(server: str, record: Mapping[str, Any]) -> str:
    """Returns a digest of a server with its weights; for an endpoint the server's own digest.

    Args:
        server: the digest of the server.
        record: the model's record.
    """
    if not has_checkpoint(record):
        return server
    parts = [server, record["files"]]
    if record.get("other_files"):
        parts.append(record["other_files"])
    return json_digest(*parts)


def without_port(command: str, port: int | None) -> str:
    """Returns a command with `{port}` in place of a fixed port, which changes no answer."""
    return command if port is None else re.sub(rf"(?<!\d){port}(?!\d)", "{port}", command)


def file_digests(command: str) -> dict[str, str]:
    """Returns the digests of files that a command names, such as a chat template, by their paths.

    The program itself is not among them.
    """
    digests = {}
    for word in shlex.split(command)[1:]:
        # `--option=FILE` or FILE.
        path = Path(word.rpartition("=")[2])
        if path.is_file():
            state = path.stat()
            digests[str(path)] = unchanged_file_digest(str(path), state.st_size, state.st_mtime_ns)
    return digests


@lru_cache
def unchanged_file_digest(path: str, _size: int, _modified: int) -> str:
    """Returns the digest of a file, which may be large; reads it again only after a change."""
    return digest_file(Path(path))
