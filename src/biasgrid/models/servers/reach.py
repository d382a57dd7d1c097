"""Reaches the server of a model: one that is there already, or one that is started for the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from biasgrid.addresses import shown, with_secrets
from biasgrid.checkpoints.checkpoint import checked_folder
from biasgrid.models.servers.access import Access
from biasgrid.models.servers.section import Endpoint, Serve
from biasgrid.models.servers.serving import served


@contextmanager
def reached(record: Mapping[str, Any], section: Mapping[str, Any], log: Path | None) -> Iterator[Access]:
    """Gives access to a model's server for as long as the context lasts.

    Args:
        record: the model's record.
        section: its section of the config.
        log: the log of the job; the output of a server of ours goes beside it.

    Raises:
        InputError: a variable of the environment is not there.
        ModelError: the server cannot be started, or the checkpoint is not what it was.
    """
    if "endpoint" in section:
        endpoint = Endpoint.model_validate(section["endpoint"])
        yield Access(
            url=with_secrets(endpoint.url),
            shown=shown(endpoint.url),
            model=endpoint.model,
            asking=endpoint,
            provider=endpoint.provider,
            api_version=endpoint.api_version,
            key=None if endpoint.key is None else with_secrets(endpoint.key).strip(),
        )
        return
    serve = Serve.model_validate(section["serve"])
    folder = str(checked_folder(record).resolve())
    with served(serve, folder, (log or Path("server.log")).with_suffix(".server.log")) as url:
        yield Access(url=url, shown=url, model=serve.model.format(folder=folder), asking=serve)
