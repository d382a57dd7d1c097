"""Keys of the config for classifiers, scorers of texts, and encoders of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from biasgrid.base.sections import KeysError, Model, Section

ANSWERS = "answers"
"""The back end of models whose answers are in a file."""


class Scorer(Section):
    """Makes one number of a classifier's outputs for a text."""

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
    """A model that encodes texts which other models write."""

    max_tokens: int | None = Field(
        None,
        ge=1,
        description=(
            "maximum number of tokens that are read of a text. Default: as in the checkpoint's "
            "`sentence_bert_config.json` or, without that file, as many as the model can read"
        ),
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide its answers: how much of a text it reads."""
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
        """The name of its back end; scorers and files of scorers' answers have their own."""
        if self.scorer:
            return "scorer"
        has_scores = super().back_end == ANSWERS and not self.labels
        return "scorer-answers" if has_scores else super().back_end

    @property
    def scored(self) -> Sequence[str]:
        """The classes whose probabilities a scorer reads; none for other classifiers."""
        return self.scorer.labels if self.scorer else ()

    @property
    def activation(self) -> str | None:
        """The activation of a scorer's outputs; None if the config has none."""
        return self.scorer.activation if self.scorer else None

    @model_validator(mode="after")
    def _either(self) -> Classifier:
        if self.scorer and self.labels:
            raise KeysError("expected either `labels` for the classes of a dataset, or `scorer`")
        if self.scorer and not (self.checkpoint or self.folder):
            raise KeysError("expected a `checkpoint` or `folder` together with `scorer`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide a scorer's answers; datasets decide those of others."""
        return {"scorer": self.scorer.model_dump(mode="json")} if self.scorer else {}
