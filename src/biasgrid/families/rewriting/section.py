"""What a config may say of a dataset of rewritten prompts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from biasgrid.base.sections import Name
from biasgrid.families.family import DatasetSection

VADER_SCORERS = {"vader-negative": "neg", "vader-positive": "pos"}
"""Scorers that need no model, and what VADER calls their number."""
LayoutName = Literal["realtoxicityprompts", "dialogsum"]
ScoreThreshold = Annotated[float, Field(ge=0, le=1)]
NEUTRAL_GROUP = "neutral"
"""The group of prompts that name none."""


class RewritingDataset(DatasetSection):
    """Prompts that are rewritten for every group: a column of the grid. Its files lie in
    `word_lists`.
    """

    family: Literal["rewriting"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    prompts: str = Field(
        description="file with prompts: `.txt` (one per line), `.jsonl`, `.csv` or `.parquet`"
    )
    column: str = Field("prompt", description="column with the prompts, in a file that has columns")
    layout: LayoutName | None = Field(
        None,
        description=(
            "reads `prompts`, a folder, as your copy of a public set: "
            "`realtoxicityprompts` or `dialogsum`"
        ),
    )
    template: Annotated[str, Field(pattern=r"\{prompt\}")] | None = Field(
        None,
        description=(
            "request for each prompt, with `{prompt}` in the place of the prompt; default: the "
            "prompt itself, or for `dialogsum` a request for a summary"
        ),
    )
    groups: str = Field(description="YAML file with groups and their words")
    rewrite: Literal["prompt", "system"] = Field(
        "prompt",
        description="what is rewritten: each prompt, or the system text before all prompts",
    )
    system: str | None = Field(None, description="system text before each prompt")
    repetitions: int = Field(
        5,
        ge=1,
        le=1000,
        description=(
            "how often each text is asked; if it is asked only once, there is no noise floor"
        ),
    )
    neutralise: bool = Field(
        True,
        description=(
            "whether words of groups are replaced by neutral words before ROUGE and "
            "BLEU compare answers"
        ),
    )
    scorers: list[str] = Field(
        default=["vader-negative"],
        description=(
            "scorers of the answers, to compare the scores of groups: `vader-negative`, "
            "`vader-positive`, or models in the config with a `scorer`"
        ),
    )
    embeddings: Name | None = Field(
        None,
        description=(
            "model of the task `feature-extraction` whose vectors are used to compare answers: "
            "`cosine`, which is then the headline"
        ),
    )
    harms: dict[str, ScoreThreshold] = Field(
        default_factory=dict,
        description=(
            "scorers of harmful content, each with the score above which an answer counts, such as "
            "`{toxicity: 0.3, stereotypes: 0.5}`: measures how much harmful content there is, "
            "and how bad the worst of it is"
        ),
    )
    targets: str | None = Field(
        None,
        description=(
            "file of words, one a line: measures how unevenly these words appear near the words "
            "of groups"
        ),
    )
    stop_words: str | None = Field(
        None,
        description=(
            "words that co-occurrence ignores: a file, one a line, or `nltk` for the English stop "
            "words in your NLTK data, which is the default in `mode: langfair`. Otherwise biasgrid "
            "uses its own list"
        ),
    )
    lists: bool = Field(
        False,
        description=(
            "whether answers are lists, such as recommendations, whose names and ranks are compared"
        ),
    )
    neutral: bool = Field(
        False,
        description=(
            "whether all prompts are also asked with neutral words, and prompts without words of "
            "groups unchanged. They form the group `neutral`, which counts in `harms` and "
            "`targets`, and with which `lists` are compared"
        ),
    )
    threshold: float = Field(0.5, ge=0, le=1, description="score above which an answer counts")
    mode: Literal["langfair"] | None = Field(
        None,
        description=(
            "`langfair` rewrites and neutralises exactly as LangFair does, including its faults"
        ),
    )
