"""How a model is trained: part of the config, and what training is called with."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from biasgrid.base.section import Section


class Hyperparameters(Section):
    """How a model is trained; the defaults are those of UnQover's SQuAD models (transformers' run_squad)."""

    # YAML takes 3e-5, which has no dot, for text.
    model_config = ConfigDict(strict=False)

    epochs: float = Field(2, gt=0, allow_inf_nan=False, description="passes over the data")
    learning_rate: float = Field(
        3e-5, gt=0, allow_inf_nan=False, description="first learning rate; it falls to zero in a straight line"
    )
    batch_size: int = Field(20, gt=0, description="sequences per step")
    max_length: int = Field(384, gt=0, description="longest sequence in tokens; longer contexts are cut into windows")
    stride: int = Field(128, ge=0, description="tokens that neighbouring windows share (question answering)")
    mask_probability: float = Field(
        0.15, gt=0, lt=1, description="share of tokens to predict in plain lines (fill-mask)"
    )
    seed: int = Field(3435, ge=0, description="seed of new weights, the order of the data and random masks")
