"""What a config may say of models for extractive question answering."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from biasgrid.base.sections import Model


class ExtractiveModel(Model):
    """A model that finds answers in a text."""

    no_answer: bool = Field(
        False,
        description="whether the model has learned, as on SQuAD 2.0, to point at the first token where the text has no "
        "answer; then that counts as an answer, where a dataset has an option for it",
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns nothing: datasets decide whether no answer is one."""
        return {}
