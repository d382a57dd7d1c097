"""Keys of the config for models of extractive question answering."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from biasgrid.base.sections import Model


class ExtractiveModel(Model):
    """A model that finds answers in a text."""

    no_answer: bool = Field(
        False,
        description=(
            "whether the model has learned to point at the first token if the text contains no "
            "answer, as on SQuAD 2.0; this counts as an answer if the dataset has an option for it"
        ),
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns nothing: the dataset decides whether "no answer" counts as an answer."""
        return {}
