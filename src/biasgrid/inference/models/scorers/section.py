"""What a config may say of classifiers: the classes of datasets, or which of its own classes score
a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from biasgrid.base.sections import KeysError, Model, Section

ANSWERS = "answers"
"""The source of models whose answers are in a file."""


class Scorer(Section):
    """How a classifier's outputs for a text become one number."""

    labels: list[str] = Field(
        min_length=1,
        description="classes that count, by their names in the checkpoint's `id2label`",
    )
    activation: Literal["softmax", "sigmoid"] | None = Field(
        None,
        description=(
            "`softmax` if each text has exactly one class, `sigmoid` if it can have several or "
            "none. Default: as the checkpoint's `problem_type` says, or `softmax` if it has none"
        ),
    )
    join: Literal["max", "sum"] = Field(
        "max",
        description=(
            "how the probabilities of several classes that count are combined: the largest, or "
            "the sum"
        ),
    )


class Encoder(Model):
    """A model that encodes texts which others write."""

    max_tokens: int | None = Field(
        None,
        ge=1,
        description=(
            "maximum number of tokens that are read of a text. Default: as in the checkpoint's "
            "`sentence_bert_config.json` or, without that file, as many as the model can read"
        ),
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how much of a text is read."""
        return self.model_dump(mode="json", include={"max_tokens"})


class Classifier(Model):
    """A model that classifies texts."""

    scorer: Scorer | None = Field(
        None,
        description=(
            "makes the model a scorer of texts written by generative models, instead of `labels`; "
            "datasets name the scorer, and it need not be in `run.models`"
        ),
    )

    @property
    def back_end(self) -> str:
        """The name of its back end: a scorer has one of its own, and so has a file of a scorer's
        answers.
        """
        if self.scorer:
            return "scorer"
        has_scores = super().back_end == ANSWERS and not self.labels
        return "scorer-answers" if has_scores else super().back_end

    @property
    def scored(self) -> Sequence[str]:
        """The classes that count."""
        return self.scorer.labels if self.scorer else ()

    @property
    def activation(self) -> str | None:
        """What makes probabilities of its outputs."""
        return self.scorer.activation if self.scorer else None

    @model_validator(mode="after")
    def _either(self) -> Classifier:
        if self.scorer and self.labels:
            raise KeysError("expected either `labels` for the classes of a dataset, or `scorer`")
        if self.scorer and not (self.checkpoint or self.folder):
            raise KeysError("expected a `checkpoint` or `folder` together with `scorer`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how a scorer scores; what others answer hangs on their datasets."""
        return {"scorer": self.scorer.model_dump(mode="json")} if self.scorer else {}
