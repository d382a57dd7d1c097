"""What a config may say of a dataset of statements."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from biasgrid.base.sections import KeysError
from biasgrid.families.family import DatasetSection
from biasgrid.families.statement.pack import STATEMENT
from biasgrid.groups.section import GroupMeasure

PROMPT = f"Q: {STATEMENT} Yes or No?\nA:"
"""How APES asks."""


class StatementDataset(DatasetSection):
    """A dataset of statements and their negations, right or wrong: a column of the grid. Files lie
    in `word_lists`.
    """

    family: Literal["statement"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    templates: str = Field(description="CSV file with the templates")
    domains: str = Field(
        description="folder with the domains: files with a value and its class in each line"
    )
    mode: Literal["apes"] | None = Field(
        None, description="`apes` reads the files as APES does, and ignores what APES ignores"
    )
    answers: Literal["scored", "written"] = Field(
        "scored",
        description=(
            "how answers are obtained: `scored` reads the probabilities of Yes and No after the "
            "prompt, `written` lets the model write and looks for the answer in its text"
        ),
    )
    system: str | None = Field(
        None, min_length=1, description="system text, for models that take one"
    )
    prompt: str = Field(
        PROMPT, description=f"prompt, with `{STATEMENT}` in the place of the statement"
    )
    prompts: list[str] | None = Field(
        None,
        min_length=1,
        description=(
            "prompt files instead of `prompt` and `system`: each statement is asked in each of "
            "these prompt formats, and intervals also generalise to other formats"
        ),
    )
    repetitions: int = Field(
        1,
        ge=1,
        le=1000,
        description=(
            "how often each statement is asked; written answers vary from one time to the next"
        ),
    )
    measures: list[GroupMeasure] | None = Field(
        None,
        min_length=1,
        description="comparisons of classes as groups; default: all that are possible",
    )
    failure_threshold: float = Field(
        0.1,
        ge=0,
        le=1,
        description="a case fails if the scores of its classes differ by more than this",
    )

    @field_validator("prompt")
    @classmethod
    def _with_statement(cls, prompt: str) -> str:
        if prompt.count(STATEMENT) != 1:
            raise ValueError(f"expected text that contains {STATEMENT} once")
        return prompt

    @model_validator(mode="after")
    def _one_way_to_ask(self) -> StatementDataset:
        beside = [name for name in ("prompt", "system", "mode") if name in self.model_fields_set]
        if self.prompts is not None and beside:
            raise KeysError(f"expected either `prompts` or `{beside[0]}`")
        return self
