"""What is sent to a server, and what it answers: both in the words of this package, whatever the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

BYTES_OF_A_TOKEN = 4
"""About; a token has at least one."""
TOKENS_AROUND = 16
"""Tokens that a chat template puts around a message, at most."""


class Answer(NamedTuple):
    """An answer as it is stored.

    Attributes:
        text: what was written.
        finish: why it ended: `stop`, `length`, `content_filter`, `refusal`.
        tokens_in: how many tokens were read, None where the server does not say.
        tokens_out: how many were written.
        model: what the server calls the model that has answered.
        scores: log-probabilities by token: of an echoed text those of its end in their order, else those of the most
            probable first tokens; None where the server gives none.
    """

    text: str
    finish: str
    tokens_in: int | None
    tokens_out: int | None
    model: str
    scores: list[tuple[str, float]] | None = None


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        model: what tells the model from others.
        asked_with: a digest of what is the same in all requests of a cell, see `asked_with`.
        key: the key of the instance that it is of.
        messages: what is asked: role and text of each message, or the text alone of completions.
        parameters: what else is sent, the model aside.
    """

    model: str
    asked_with: str
    key: int
    messages: Sequence[Mapping[str, str]] | str
    parameters: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """By which it is found in a store: of model, messages, parameters and key."""
        return digest_of(self.model, self.key, self.messages, self.parameters)

    @property
    def texts(self) -> list[str]:
        """The texts that are read."""
        return [self.messages] if isinstance(self.messages, str) else [message["content"] for message in self.messages]

    @property
    def most_tokens_in(self) -> int:
        """How many tokens are read at most."""
        return sum(len(text.encode()) + TOKENS_AROUND for text in self.texts)

    @property
    def tokens_in(self) -> int:
        """About how many tokens are read."""
        return tokens_about(self.texts)

    @property
    def most_tokens_out(self) -> int:
        """How many tokens are written at most."""
        return int(self.parameters["max_tokens"])


def tokens_about(texts: Iterable[str]) -> int:
    """Returns about how many tokens texts have together."""
    return sum(len(text.encode()) // BYTES_OF_A_TOKEN + 1 for text in texts)


def digest_of(*parts: Any) -> str:
    """Digests what can be written as JSON; 32 hexadecimal digits."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def asked_with(model: Any, api: str, parameters: Mapping[str, Any]) -> str:
    """Digests what is the same in all requests of a cell, by which one knows whose answers it uses.

    Args:
        model: what the config says of the model.
        api: how it is asked.
        parameters: those of any of its requests; seeds and lists of options are each request's own.
    """
    return digest_of(
        model, api, {name: each for name, each in parameters.items() if name not in ("seed", "extra_body")}
    )
