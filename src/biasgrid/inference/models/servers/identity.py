"""Who answers: what of a server decides an answer, and so is part of the key under which the answer
is kept.
"""

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
from biasgrid.inference.models.servers.requests import json_digest

SECRET_NAME = re.compile("auth|key|token|secret|cookie|password", re.IGNORECASE)


def server_of(section: Mapping[str, Any]) -> str:
    """Digests the server that a model's section of the config names: 32 hexadecimal digits.

    Of an `endpoint` scheme, host, port, path, provider, version, API and the model's name count,
    and headers that the environment adds to requests; of `serve` the command without its port, the
    content of files that it names, API and the model's name.

    Raises:
        InputError: the address has a variable that the environment lacks.
    """
    if "endpoint" in section:
        keys = section["endpoint"]
        address = canonical_address(fill_secrets(keys["url"]))
        api, provider = keys.get("api", "chat"), keys.get("provider", "openai")
        headers = headers_of_environment(api)
        more = [headers] if headers else []
        return json_digest(
            "endpoint", address, provider, keys.get("api_version"), api, keys["model"], *more
        )
    serve = section["serve"]
    command = without_port(serve["command"], serve.get("port"))
    called = serve.get("model", "{folder}")
    return json_digest(
        "serve", command, digests_of_files(command), serve.get("api", "chat"), called
    )


def headers_of_environment(api: str) -> list[str]:
    """Returns the headers that a maker's client adds to each request, but for those that hold a
    key.
    """
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
    """Returns a command with `{port}` in place of a fixed port, which does not decide what is
    answered.
    """
    return command if port is None else re.sub(rf"(?<!\d){port}(?!\d)", "{port}", command)


def digests_of_files(command: str) -> dict[str, str]:
    """Digests the files that a command is given, such as a chat template; not the program
    itself.
    """
    named = (Path(word.rpartition("=")[2]) for word in shlex.split(command)[1:])
    states = {str(path): path.stat() for path in named if path.is_file()}
    return {
        name: digest_in_state(name, state.st_size, state.st_mtime_ns)
        for name, state in states.items()
    }


@lru_cache
def digest_in_state(name: str, _size: int, _time: int) -> str:
    """Digests a file, which may be large, once for as long as it stays as it is."""
    return digest_file(Path(name))
