"""The family of questions with options, as others see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from biasgrid.base.faults import Fault
from biasgrid.base.references import load_reference
from biasgrid.families.family import Family, Format, Grid, Question, section_of
from biasgrid.families.multiple_choice.items import (
    PRECOMPUTED,
    PROMPTED,
    SCORED,
    SPANS,
    TEXTS,
    WRITTEN,
    Item,
    ItemFiles,
    QuestionSet,
)
from biasgrid.families.multiple_choice.section import MultipleChoiceDataset
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.tables.metric import Measure, read_definitions

NAME_OF_ITEM = "biasgrid.formats.bbq.commands:name_of_item"
ANSWERS = {SCORED: "choice", WRITTEN: "text", PRECOMPUTED: "text", TEXTS: "choice", SPANS: "span"}
"""The kind of the answers, by variant."""
VARIANT_OF_TASK = {"multiple-choice": TEXTS, "question-answering": SPANS}
"""How models are asked that need no prompt, by their task."""
MULTIPLE_CHOICE_FIGURES = ("bias_and_accuracy",)
DEFINITIONS = read_definitions("families/multiple_choice")


class MultipleChoice(Family):
    """Asks questions with options, one of which says that the answer is not known."""

    name = "multiple_choice"
    place = 6
    unit = "questions"
    asks = "questions with three options, one of which says that the answer is unknown"
    Section = MultipleChoiceDataset
    yields_sums = True
    is_synthetic = True
    instance_bytes = 20.0
    own_measures = DEFINITIONS.of("measures", "answers", "differences")
    flags = DEFINITIONS.of("flags")
    formats: ClassVar = {"bbq": Format("biasgrid.formats.bbq.commands:import_file")}
    expected = "the task of the dataset, multiple-choice or question-answering"

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model; None if the dataset is not for its task.

        Models of the dataset's task read a prompt, and some others question and context.
        """
        section, entry = section_of(MultipleChoiceDataset, grid, dataset), grid.models[model]
        variant = VARIANT_OF_TASK.get(entry.task)
        if entry.task == section.task:
            # Published texts are read whatever the dataset asks others for.
            is_published = entry.source.precomputed == "texts"
            variant = PRECOMPUTED if is_published else section.answers
        if variant is None:
            return None
        options = {
            **section.model_dump(include={"prompt", "matching"}),
            **section.language_option(grid.word_lists),
        }
        # Sections of extractive models alone have the key, and not where their answers are in a
        # file.
        if variant == SPANS and getattr(entry, "no_answer", False):
            options["abstains"] = True
            return Question(variant, "span", settings={"no_answer": True}, options=options)
        return Question(variant, ANSWERS[variant], options=options)

    def files(self, grid: Grid, dataset: str, variant: str) -> ItemFiles:
        """Returns the files of a dataset, and how they are asked."""
        folder, section = Path(grid.word_lists), section_of(MultipleChoiceDataset, grid, dataset)
        return ItemFiles(
            files=tuple(folder / name for name in section.files),
            layout=section.layout,
            metadata=folder / section.metadata if section.metadata else None,
            prompt=section.prompt,
            system=section.system,
            orders=section.orders,
            variant=variant,
            sample=sample_unless_all(section.sample),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the family's measures, and the flags against a cell."""
        return {**self.own_measures, **self.flags}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns the text about the questions."""
        return (DEFINITIONS.about,)

    def cluster_texts(self, lists: QuestionSet) -> Sequence[str]:
        """Returns context and question of the first item of each template."""
        first: dict[tuple[str, str], Item] = {}
        for item in lists.items:
            first.setdefault((item.category, item.template), item)
        return [f"{item.context} {item.question}" for item in first.values()]

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: QuestionSet
    ) -> Iterator[Fault]:
        """Yields a missing sample of many instances, or one larger than the dataset."""
        key = f"datasets.{dataset}.sample"
        sample = section_of(MultipleChoiceDataset, grid, dataset).sample
        if variant in PROMPTED:
            instances = len(lists.items) * len(lists.orders)
            yield from size_faults(source, key, sample, instances, "items")
        yield from sample_faults(source, key, sample, len(lists.items), "items")

    def item_of_sample(self, fields: Mapping[str, Any]) -> str | None:
        """Returns the name of an item of a benchmark by its category and its id."""
        names = load_reference(NAME_OF_ITEM)(fields, "")
        return names[0] if names else None

    def figures(self, dataset: MultipleChoiceDataset) -> Sequence[str]:
        """Names the figure of bias beside accuracy and abstention."""
        return MULTIPLE_CHOICE_FIGURES

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model that learns all datasets that it is asked learns this one.

        Only a dataset whose options are scored can be learned.
        """
        train = grid.models[model].train
        if train is None or train.dataset:
            return False
        question = self.question(grid, dataset, model)
        return question is not None and question.variant == SCORED

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns the options that decide how answers are read."""
        section = section_of(MultipleChoiceDataset, grid, dataset)
        return section.model_dump(include={"prompt", "matching"})


FAMILY = MultipleChoice()
