"""What a config may say of a dataset of questions with options."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from biasgrid.base.faults import one_of
from biasgrid.families.family import DatasetSection
from biasgrid.families.multiple_choice.prompts import CONTEXT, PROMPTS, QUESTION


class MultipleChoiceDataset(DatasetSection):
    """Questions with options in the files of a benchmark: a row of the grid. Files lie in
    `word_lists`.
    """

    family: Literal["multiple_choice"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    layout: Literal["bbq", "esbbq", "kobbq"] = Field(
        description="layout of the files: `bbq` (BBQ, MBBQ), `esbbq` (EsBBQ, CaBBQ) or `kobbq`"
    )
    files: list[str] = Field(
        min_length=1,
        description=(
            "files with items, folders of such files, or patterns such as `mbbq/data/*_es.jsonl`"
        ),
    )
    metadata: str | None = Field(
        None,
        description=(
            "BBQ's `additional_metadata.csv`; without it, categories that cross two dimensions "
            "have no bias scores"
        ),
    )
    answers: Literal["scored", "written"] = Field(
        "scored",
        description=(
            "how answers are obtained: `scored` reads the probabilities of the options, `written` "
            "lets the model write and looks for the option in its answer"
        ),
    )
    prompt: str = Field(
        "letters",
        description=(
            f"what a model reads: {one_of(f'`{name}`' for name in PROMPTS)}, or a text that "
            f"contains `{CONTEXT}` and `{QUESTION}`, and `{{options}}` where the options go with "
            "their letters"
        ),
    )
    system: str | None = Field(
        None, min_length=1, description="system text, for models that take one"
    )
    orders: Literal["all", "file"] = Field(
        "all",
        description=(
            "whether the options are asked in all six orders, or only in the order of the file"
        ),
    )
    matching: Literal["unique", "paper"] = Field(
        "unique",
        description=(
            "when a written answer chooses an option: with `unique`, if it commits to one; with "
            "`paper`, as BBQ's own script decides"
        ),
    )

    @field_validator("prompt")
    @classmethod
    def _known_prompt(cls, prompt: str) -> str:
        if prompt not in PROMPTS and not (prompt.count(QUESTION) == prompt.count(CONTEXT) == 1):
            raise ValueError(
                f"expected {one_of(PROMPTS)}, or a text that contains {CONTEXT} and {QUESTION} "
                "once each"
            )
        return prompt
