"""The sections of a config that say how models are run, and which."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biasgrid.section import Name, Section


class Inference(Section):
    """How models are run."""

    precision: Literal["float32", "tf32", "float16", "bfloat16", "auto"] = Field(
        "float32", description="arithmetic; `auto` is bfloat16 on GPUs and processors that multiply it, else float32"
    )
    token_budget: int = Field(16384, ge=1, description="tokens per batch; changes speed, not numbers")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="where to run; changes the speed of inference, not its numbers (but see `precision: auto`). Models "
        "that are trained on a GPU have other weights than on a CPU; another device trains none again. With `auto` and "
        "`cuda` every job leases one of the GPUs that it sees and waits where none is free; `auto` takes the CPU where "
        "there is no GPU",
    )
    jobs_per_gpu: int = Field(
        1, ge=1, description="jobs that may have one GPU at a time, so that one loads its model while another computes"
    )
    time_limit: float = Field(
        60,
        ge=0.01,
        allow_inf_nan=False,
        description="minutes without progress after which an inference job ends itself",
    )


class Planted(Section):
    """Planted bias: corpora from which tiny models learn associations of known strength."""

    strengths: dict[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        description="largest planted difference in answer probability, by name; in cases of text classification, "
        "largest share of a group's labels that are guesses"
    )
    repeats: int = Field(8, gt=0, description="answers, or labels, that each instance gets in the corpus")
    seed: int = Field(1, ge=0, description="seed of what is planted and of the answers")


class Run(Section):
    """What is run: cells are the pairs of these models and datasets that fit."""

    models: list[Name] = Field(min_length=1, description="names of models")
    datasets: list[Name] = Field(min_length=1, description="names of datasets")
