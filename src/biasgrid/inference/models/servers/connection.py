"""How a server is reached: its address, what it calls the model, and the key, which no text of ours ever holds."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biasgrid.base.addresses import STARS, public_address, with_secrets, without_secret
from biasgrid.inference.checkpoints.checkpoint import ModelError, checked_folder
from biasgrid.inference.models.servers.section import Asking, Endpoint, Serve
from biasgrid.inference.models.servers.serving import served

NO_KEY = "none"
"""Servers that need no key take any; the clients insist on one, and would look for theirs in the environment."""
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")
"""What chats call the most tokens that may be written; services know one of them, or both."""
SHORTEST_SECRET = 8
"""Shorter keys, such as `none`, are words that an answer may have."""
TALKATIVE = ("anthropic", "httpcore2", "httpx2", "openai")
"""Libraries that log every request, and addresses with all that is in them."""


@dataclass(frozen=True)
class Access:
    """How a server is reached.

    Attributes:
        url: its address, secrets included.
        shown: what of it may be shown.
        model: what it calls the model.
        asking: how it is asked.
        provider: see `Endpoint`.
        api_version: see `Endpoint`.
        key: the key, None where it needs none.
        token_limit: what a chat calls the most tokens that may be written, see `capabilities`.
    """

    url: str = field(repr=False)
    shown: str
    model: str
    asking: Asking
    provider: str = "openai"
    api_version: str | None = None
    key: str | None = field(default=None, repr=False)
    token_limit: str = TOKEN_LIMITS[0]

    def without_key(self, text: str) -> str:
        """Takes the key, and an address that may hold another one, out of a text that a server has written."""
        for secret in self._secrets:
            text = text.replace(secret, STARS)
        return without_secret(text, self._secrets)

    def without_key_in_answer(self, text: str) -> str:
        """Takes the key out of an answer, where it is long enough to be no word that a model writes."""
        return without_secret(text, [secret for secret in self._secrets if len(secret) >= SHORTEST_SECRET])

    @property
    def _secrets(self) -> list[str]:
        return list(filter(None, (self.key, self.url if self.url != self.shown else None)))

    def error(self, problem: str, expected: str) -> ModelError:
        """Words what is wrong with a server."""
        return ModelError(self.without_key(f"{self.shown}: {problem}; expected {expected}"))


def quiet_libraries() -> None:
    """Keeps libraries from logging every request."""
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


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
            shown=public_address(endpoint.url),
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
