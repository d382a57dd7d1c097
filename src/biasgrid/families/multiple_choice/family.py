"""Options of a dataset of questions with options, and how each model is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from biasgrid.base.faults import Fault, one_of
from biasgrid.families.family import (
    DatasetSection,
    Family,
    Grid,
    Question,
    section_of,
)
from biasgrid.families.multiple_choice.items import (
    CONTEXT,
    PRECOMPUTED,
    PROMPTED,
    PROMPTS,
    QUESTION,
    SCORED,
    SPANS,
    TEXTS,
    WRITTEN,
    Item,
    ItemFiles,
    QuestionSet,
)
from biasgrid.families.multiple_choice.layouts import LAYOUTS, name_of_item
from biasgrid.families.sampling import sample_faults, sample_unless_all, size_faults
from biasgrid.tables.metric import Measure, read_definitions

if TYPE_CHECKING:
    LayoutName = str
else:
    LayoutName = Literal[tuple(LAYOUTS)]


class MultipleChoiceDataset(DatasetSection):
    """Questions with options in the files of a benchmark: a row of the grid. Files lie in
    `word_lists`.
    """

    family: Literal["multiple_choice"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    layout: LayoutName = Field(
        description="layout of the files: "
        + "; ".join(f"`{name}` ({layout.files})" for name, layout in LAYOUTS.items())
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


ANSWERS = {SCORED: "choice", WRITTEN: "text", PRECOMPUTED: "text", TEXTS: "choice", SPANS: "span"}
"""The kind of answers by variant."""
VARIANT_OF_TASK = {"multiple-choice": TEXTS, "question-answering": SPANS}
"""The variant by the task of models that read no prompt."""
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
    own_measures = DEFINITIONS.select("measures", "answers", "differences")
    flags = DEFINITIONS.select("flags")
    expected = "the task of the dataset, multiple-choice or question-answering"
    file_sign = r'\A\{.*"context_condition"'

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the variant and the kind of answers for a model, None if it is not asked.

        Models of the dataset's task read prompts. Models of the tasks in `VARIANT_OF_TASK` read
        question and context.
        """
        section = section_of(MultipleChoiceDataset, grid, dataset)
        entry = grid.models[model]
        variant = VARIANT_OF_TASK.get(entry.task)
        if entry.task == section.task:
            # Answers in a file are texts, even if other models are scored.
            is_published = entry.source.precomputed == "texts"
            variant = PRECOMPUTED if is_published else section.answers
        if variant is None:
            return None
        options = {
            **section.model_dump(include={"prompt", "matching"}),
            **section.language_option(grid.word_lists),
        }
        # Only extractive models have the key, and not if their answers are in a file.
        if variant == SPANS and getattr(entry, "no_answer", False):
            options["abstains"] = True
            return Question(variant, "span", settings={"no_answer": True}, measure_options=options)
        return Question(variant, ANSWERS[variant], measure_options=options)

    def files(self, grid: Grid, dataset: str, variant: str) -> ItemFiles:
        """Returns the files of a dataset with the options that determine its instances."""
        folder = Path(grid.word_lists)
        section = section_of(MultipleChoiceDataset, grid, dataset)
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
        """Returns the measures, which are the same for all datasets, and the validity flags."""
        return {**self.own_measures, **self.flags}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Describes the questions and their bias."""
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
        """Yields a fault if many instances have no sample, or a sample has too many items."""
        key = f"datasets.{dataset}.sample"
        sample = section_of(MultipleChoiceDataset, grid, dataset).sample
        if variant in PROMPTED:
            instances = len(lists.items) * len(lists.orders)
            yield from size_faults(source, key, sample, instances, "items")
        yield from sample_faults(source, key, sample, len(lists.items), "items")

    def item_of_sample(self, fields: Mapping[str, Any]) -> str | None:
        """Returns the name of the item in a log, from its category and id; None without these."""
        name = name_of_item(fields, "")
        return name[0] if name else None

    def figures(self, dataset: MultipleChoiceDataset) -> Sequence[str]:
        """Returns the figure of bias beside accuracy and abstention."""
        return MULTIPLE_CHOICE_FIGURES

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model that is trained on all its datasets is trained on this one.

        Only prompts whose options are scored can be learned.
        """
        train = grid.models[model].train
        if train is None or train.dataset:
            return False
        question = self.question(grid, dataset, model)
        return question is not None and question.variant == SCORED

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns the options by which answers are read."""
        section = section_of(MultipleChoiceDataset, grid, dataset)
        return section.model_dump(include={"prompt", "matching"})


FAMILY = MultipleChoice()
