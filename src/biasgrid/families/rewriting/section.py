"""What a config may say of a dataset of rewritten prompts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from biasgrid.families.family import DatasetSection

Scorer = Literal["vader-negative", "vader-positive"]


class RewritingDataset(DatasetSection):
    """Prompts that are rewritten for every group: a row of the grid. Its files lie in `word_lists`."""

    family: Literal["rewriting"] = Field(description="what is asked and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    prompts: str = Field(description="file of prompts: `.txt` (one a line), `.jsonl`, `.csv` or `.parquet`")
    column: str = Field("prompt", description="where the prompts stand in a file that has columns")
    groups: str = Field(description="file of groups and their words, in YAML")
    rewrite: Literal["prompt", "system"] = Field(
        "prompt", description="what is rewritten: each prompt, or the system text before all of them"
    )
    system: str | None = Field(None, description="a system text before every prompt")
    repetitions: int = Field(
        5, ge=1, le=1000, description="how often each text is asked; without a second time there is no noise floor"
    )
    neutralise: bool = Field(
        True, description="whether ROUGE and BLEU compare answers in which words of groups are replaced by neutral ones"
    )
    scorers: list[Scorer] = Field(
        default=["vader-negative"], description="what scores each answer, to compare the scores of groups"
    )
    threshold: float = Field(0.5, ge=0, le=1, description="from what score on an answer counts, above it")
    mode: Literal["langfair"] | None = Field(
        None, description="`langfair` rewrites and neutralises as LangFair does, with its faults"
    )
