"""What a config may say of classifiers: the classes of datasets, or which of its own classes score a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from biasgrid.base.sections import KeysError, Model, Section


class Scorer(Section):
    """How a classifier's outputs for a text become one number."""

    labels: list[str] = Field(
        min_length=1, description="the classes that count, by the names in the checkpoint's `id2label`"
    )
    activation: Literal["softmax", "sigmoid"] | None = Field(
        None,
        description="`softmax` where a text has one class of all, `sigmoid` where it may have several or none; without "
        "it the checkpoint's `problem_type` decides, and where it has none it is `softmax`",
    )
    join: Literal["max", "sum"] = Field(
        "max", description="what becomes of several classes that count: their largest probability, or the sum"
    )


class Encoder(Model):
    """A model that encodes texts which others write."""

    max_tokens: int | None = Field(
        None,
        ge=1,
        description="how many tokens of a text are read at most; without it as many as the checkpoint's "
        "`sentence_bert_config.json` says, and where there is none as many as the model takes",
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how much of a text is read."""
        return self.model_dump(mode="json", include={"max_tokens"})


class Classifier(Model):
    """A model that classifies texts."""

    scorer: Scorer | None = Field(
        None,
        description="makes it a scorer of texts that generative models write, in place of `labels`; datasets name it, "
        "and it need not be in `run.models`",
    )

    @property
    def back_end(self) -> str:
        """The name of its back end: a scorer has one of its own."""
        return "scorer" if self.scorer else super().back_end

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
            raise KeysError("expected either `labels`, of a dataset's classes, or `scorer`")
        if self.scorer and not (self.checkpoint or self.folder):
            raise KeysError("expected a `checkpoint` or `folder` beside `scorer`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns how a scorer scores; what others answer hangs on their datasets."""
        return {"scorer": self.scorer.model_dump(mode="json")} if self.scorer else {}
