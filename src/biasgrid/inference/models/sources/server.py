"""The part that all sources with a server share, whoever starts it."""

from __future__ import annotations

from typing import Any

from biasgrid.base.sections import KeysError, ModelSource
from biasgrid.inference.models.generation.section import GenerativeModel


class ServerSource(ModelSource):
    """A server; its section is the key with the name of the source."""

    asks_server = True

    def check(self) -> None:
        """Refuses a server that applies a chat template if the config wants none.

        Raises:
            KeysError: with the keys that are expected.
        """
        assert isinstance(self.model, GenerativeModel)
        if not self.model.chat_template and self.section.api != "completions":
            raise KeysError(
                "expected `api: completions`, which uses no chat template, together with "
                "`chat_template: false`"
            )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns `generation` and the server's deciding keys.

        Keys of prompts are not among them, because the server itself applies the chat template.
        """
        return {
            **self.model.model_dump(mode="json", include={"generation"}),
            self.name: self.section.deciding_keys(),
        }
