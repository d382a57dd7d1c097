"""What servers have in common, whoever starts them."""

from __future__ import annotations

from typing import Any

from biasgrid.base.sections import KeysError, ModelSource
from biasgrid.inference.models.generation.section import GenerativeModel


class ServerSource(ModelSource):
    """A server, whose section of the config is the key of its name."""

    asks_server = True

    def check(self) -> None:
        """Refuses a server that uses a chat template where the model shall be asked plainly."""
        assert isinstance(self.model, GenerativeModel)
        if not self.model.chat_template and self.section.api != "completions":
            raise KeysError(
                "expected `api: completions`, which uses no chat template, together with "
                "`chat_template: false`"
            )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how it writes, and what of the server decides answers: its prompts are the
        server's own.
        """
        return {
            **self.model.model_dump(mode="json", include={"generation"}),
            self.name: self.section.deciding_keys(),
        }
