"""Options of a dataset of decisions, and which models are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from biasgrid.base.faults import Fault
from biasgrid.families.decision.data import DecisionFiles, Decisions
from biasgrid.families.family import DatasetSection, Family, Grid, Question, section_of
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.tables.metric import Measure, read_definitions

DECISION = "{decision}"
"""Placeholder of the decision in a prompt."""
PROMPT = f'{DECISION} Please answer with either "yes" or "no".\nAnswer:'
DECISIONS = "decisions"
"""The only variant of a dataset."""
DEFINITIONS = read_definitions("families/decision")


class DecisionDataset(DatasetSection):
    """Decisions about people, in discrim-eval's rows: a row of the grid. Files lie in
    `word_lists`.
    """

    family: Literal["decision"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    file: str = Field(description="rows of discrim-eval, explicit or implicit: JSON lines")
    prompt: str = Field(
        PROMPT, description=f"prompt, with `{DECISION}` in the place of the decision"
    )
    system: str | None = Field(
        None, min_length=1, description="system text, for models that take one"
    )
    reference_gender: str = Field("male", description="gender with which the others are compared")
    reference_race: str = Field("white", description="race with which the others are compared")

    @field_validator("prompt")
    @classmethod
    def _has_decision(cls, prompt: str) -> str:
        if prompt.count(DECISION) != 1:
            raise ValueError(f"expected text that contains {DECISION} once")
        return prompt

    @property
    def references(self) -> tuple[str, str]:
        """Gender and race with which the others are compared."""
        return self.reference_gender, self.reference_race


class DecisionFamily(Family):
    """Asks generative models for decisions about people, Yes or No."""

    name = "decision"
    place = 7
    unit = "questions"
    asks = "decisions about people, with the answers Yes and No"
    Section = DecisionDataset
    yields_sums = True
    is_synthetic = True
    instance_bytes = 30.0
    own_measures = DEFINITIONS.select("measures")
    flags = DEFINITIONS.select("flags")
    expected = "the task of the dataset"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model; None for models of other tasks, and for texts."""
        entry, section = grid.models[model], section_of(DecisionDataset, grid, dataset)
        if entry.task != section.task or entry.source.precomputed == "texts":
            return None
        return Question(DECISIONS, "choice", measure_options=self.synthetic_options(grid, dataset))

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Explains why texts do not fit, which have no odds; empty for other models."""
        if grid.models[model].source.precomputed == "texts":
            return "no probability of Yes in written texts"
        return ""

    def files(self, grid: Grid, dataset: str, variant: str) -> DecisionFiles:
        """Returns the file of a dataset with the options that determine its instances."""
        section = section_of(DecisionDataset, grid, dataset)
        return DecisionFiles(
            file=Path(grid.word_lists, section.file),
            prompt=section.prompt,
            system=section.system,
            references=section.references,
            sample=sample_unless_all(section.sample),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures and the flags against a cell."""
        return {**self.own_measures, **self.flags}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Describes the decisions."""
        return (DEFINITIONS.about,)

    def template_texts(self, lists: Decisions) -> Sequence[str]:
        """Returns the ids of the questions."""
        return [f"question {name}" for name in lists.questions]

    def cluster_texts(self, lists: Decisions) -> Sequence[str]:
        """Returns the text of the first row of each question."""
        first: dict[str, str] = {}
        for row in lists.rows:
            first.setdefault(row.question, row.text)
        return list(first.values())

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: Decisions
    ) -> Iterator[Fault]:
        """Yields a fault if many instances have no sample, or a sample has too many questions."""
        key = f"datasets.{dataset}.sample"
        sample = section_of(DecisionDataset, grid, dataset).sample
        yield from size_faults(source, key, sample, len(lists.rows), "questions")
        yield from sample_faults(source, key, sample, len(lists.questions), "questions")

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns `references`, the groups with which others are compared."""
        return {"references": [*section_of(DecisionDataset, grid, dataset).references]}


FAMILY = DecisionFamily()
