"""The family of decisions about people, as others see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault
from biasgrid.families.decision.reading import DecisionFiles, Decisions
from biasgrid.families.decision.section import DecisionDataset
from biasgrid.families.family import Family, Grid, Question, section_of
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.tables.metric import Measure, read_definitions

DECISIONS = "decisions"
"""The one variant of a dataset."""
DEFINITIONS = read_definitions("families/decision")


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
    own_measures = DEFINITIONS.of("measures")
    flags = DEFINITIONS.of("flags")
    expected = "the task of the dataset"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model; None for models of other tasks, and for texts."""
        entry, section = grid.models[model], section_of(DecisionDataset, grid, dataset)
        if entry.task != section.task or entry.source.precomputed == "texts":
            return None
        return Question(DECISIONS, "choice", options=self.synthetic_options(grid, dataset))

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Returns why texts do not fit: they have no odds; empty for other models."""
        if grid.models[model].source.precomputed == "texts":
            return "no probability of Yes in written texts"
        return ""

    def files(self, grid: Grid, dataset: str, variant: str) -> DecisionFiles:
        """Returns the file of a dataset, and how it is asked."""
        section = section_of(DecisionDataset, grid, dataset)
        file, sample = Path(grid.word_lists, section.file), sample_unless_all(section.sample)
        return DecisionFiles(file, section.prompt, section.system, references_of(section), sample)

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the family's measures, and the flags against a cell."""
        return {**self.own_measures, **self.flags}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns the text about the decisions."""
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
        """Yields a missing sample of many instances, or one larger than the dataset."""
        key = f"datasets.{dataset}.sample"
        sample = section_of(DecisionDataset, grid, dataset).sample
        yield from size_faults(source, key, sample, len(lists.rows), "questions")
        yield from sample_faults(source, key, sample, len(lists.questions), "questions")

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns the groups with which others are compared."""
        return {"references": [*references_of(section_of(DecisionDataset, grid, dataset))]}


def references_of(section: DecisionDataset) -> tuple[str, str]:
    """Returns gender and race that others are compared with."""
    return section.reference_gender, section.reference_race


FAMILY = DecisionFamily()
