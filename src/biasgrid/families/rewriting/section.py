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
    """Prompts that are rewritten for every group: a column of the grid. Its files lie in `word_lists`."""

    family: Literal["rewriting"] = Field(description="what is asked and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    prompts: str = Field(description="file of prompts: `.txt` (one a line), `.jsonl`, `.csv` or `.parquet`")
    column: str = Field("prompt", description="where the prompts stand in a file that has columns")
    layout: LayoutName | None = Field(
        None,
        description="reads `prompts`, a folder of yours, as that of a set that people have: `realtoxicityprompts` or "
        "`dialogsum`",
    )
    template: Annotated[str, Field(pattern=r"\{prompt\}")] | None = Field(
        None,
        description="what is asked of each prompt, which stands in place of `{prompt}`; by default the prompt itself, "
        "of `dialogsum` for a summary",
    )
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
    scorers: list[str] = Field(
        default=["vader-negative"],
        description="what scores each answer, to compare the scores of groups: `vader-negative`, `vader-positive`, or "
        "models of the config that have a `scorer`",
    )
    embeddings: Name | None = Field(
        None,
        description="a model of the task `feature-extraction`, by whose vectors answers are compared: `cosine`, which "
        "then is the headline",
    )
    harms: dict[str, ScoreThreshold] = Field(
        default_factory=dict,
        description="scorers of something bad, each with the score above which an answer counts, such as "
        "`{toxicity: 0.3, stereotypes: 0.5}`: measures how much of it there is, and how bad the worst is",
    )
    targets: str | None = Field(
        None, description="file of words, one a line: measures how unevenly they stand near the words of groups"
    )
    stop_words: str | None = Field(
        None,
        description="words that co-occurrence is not counted of: a file, one a line, or `nltk` for the English ones of "
        "your NLTK data, which are the default in `mode: langfair`; elsewhere biasgrid has a list of its own",
    )
    lists: bool = Field(
        False, description="whether answers are lists, such as recommendations, of which names and ranks are compared"
    )
    neutral: bool = Field(
        False,
        description="whether all prompts are asked with neutral words, too, those without words of groups as they are: "
        "the group `neutral`, which counts in `harms` and `targets`, and which `lists` are compared with",
    )
    threshold: float = Field(0.5, ge=0, le=1, description="from what score on an answer counts, above it")
    mode: Literal["langfair"] | None = Field(
        None, description="`langfair` rewrites and neutralises as LangFair does, with its faults"
    )
