"""What a config may say of a dataset that is a probe."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from biasgrid.families.family import DatasetSection

INTERVALS_OF_MODE = {"genderbench": "biasgrid.formats.genderbench.bootstrap:with_bootstrap_ends"}
"""What adds the intervals of a mode to sums, by the mode."""


class ProbeDataset(DatasetSection):
    """A probe: a row of the grid. Its file lies in `word_lists`."""

    family: Literal["probe"] = Field(description="what is asked and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    probe: str = Field(description="file of the probe: YAML, or Python with its class, whose code runs then")
    answers: Literal["scored", "written"] | None = Field(
        None,
        description="`scored` reads the probabilities of the options or of yes and no, `written` lets the model write "
        "and looks for its answer there; without it scored where that can be and nothing is repeated",
    )
    repetitions: int = Field(
        1, ge=1, le=1000, description="how often each prompt is asked; written answers differ from time to time"
    )
    mode: Literal["genderbench"] | None = Field(
        None, description="`genderbench` takes intervals and marks as GenderBench takes them"
    )
