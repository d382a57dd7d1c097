"""The sections of a config that say how models are run, and which."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from biasgrid.base.section import Name, Section


def checked_budget(value: Any) -> Any:
    """Refuses what is no token budget, with one fault in place of one for each kind that it may be."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value != "auto" and not is_number:
        raise ValueError("expected a whole number of at least 1, or auto")
    return value


class Inference(Section):
    """How models are run."""

    precision: Literal["float32", "tf32", "float16", "bfloat16", "auto"] = Field(
        "float32", description="arithmetic; `auto` is bfloat16 on GPUs and processors that multiply it, else float32"
    )
    token_budget: Annotated[Annotated[int, Field(ge=1)] | Literal["auto"], BeforeValidator(checked_budget)] = Field(
        "auto",
        description="tokens per batch; changes speed, not numbers. `auto` is decided by the GPU's memory, or by the "
        "processor's cache",
    )
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
        description="largest planted difference in answer probability, by name: of two subjects, or of Yes behind "
        "statements that are wrong and that are right, of unkind answers to prompts rewritten for two groups; of "
        "probes, how much more of what chance leaves is the expected option in one group than in another; in cases of "
        "text classification, largest share of a group's labels that are guesses"
    )
    repeats: int = Field(8, gt=0, description="answers, or labels, that each instance gets in the corpus")
    seed: int = Field(1, ge=0, description="seed of what is planted and of the answers")
    spread: float = Field(
        0,
        ge=0,
        le=1,
        description="by how much a planted difference in answer probability varies with the template of a question, at "
        "most; all templates' deviations cancel. Real models vary so; without it, intervals over templates are of what "
        "training leaves alone",
    )


class Run(Section):
    """What is run: cells are the pairs of these models and datasets that fit."""

    models: list[Name] = Field(min_length=1, description="names of models")
    datasets: list[Name] = Field(min_length=1, description="names of datasets")


class Report(Section):
    """The page that shows what was found."""

    megabytes: float = Field(
        8, gt=0, description="how large it may become: sentences behind numbers are carried as far as they fit"
    )
    references: list[str] = Field(
        default_factory=list,
        description="files of published numbers and marks that the report puts ours beside, see docs/reading.md",
    )
