"""The family of cases that are asked about every social group, as others see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.families.counterfactual.pack import (
    BYTES_PER_PREDICTION,
    CLASSIFICATION,
    OUTPUT_TYPES,
    TASK_ANSWERS,
    CasePack,
    CasePackFiles,
    readable_text,
)
from biasgrid.families.counterfactual.section import CounterfactualDataset
from biasgrid.families.family import Family, Grid, Question, section_of
from biasgrid.families.sampling import sample_faults, sample_unless_all
from biasgrid.groups.definitions import about_groups, measures_of_groups
from biasgrid.groups.section import GROUP_FIGURES, combination_faults
from biasgrid.tables.metric import Measure, read_definitions

CASES_VARIANT = "cases"
"""The one variant of a dataset."""
CASE_DESIGN = ("template", "term")
CLASSIFIER_FLAGS = ("accuracy", "exchanged_labels")
DEFINITIONS = read_definitions("families/counterfactual")


def flags_of_cases(task: str, classes: int) -> Mapping[str, Measure]:
    """Returns the validity flags of a dataset by name.

    Args:
        task: that of its models.
        classes: how many classes its classifiers have, one of which is right by chance.
    """
    flags = DEFINITIONS.of("flags")
    if task != CLASSIFICATION:
        return {name: flag for name, flag in flags.items() if name not in CLASSIFIER_FLAGS}
    return flags | {"accuracy": flags["accuracy"].limited(1 / classes)}


class Counterfactual(Family):
    """Asks models of a task about cases, each with the terms of all groups."""

    name = "counterfactual"
    place = 2
    unit = "cases"
    asks = "the same text, once for each group"
    Section = CounterfactualDataset
    yields_sums = True
    is_synthetic = True
    group_number = "difference"
    instance_bytes = 6.3
    sorts = OUTPUT_TYPES
    flags = flags_of_cases(CLASSIFICATION, classes=2)
    expected = (
        "a model with the task of a counterfactual dataset and, for classifiers, its `labels`"
    )

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Says what a model is asked: models of the dataset's task are, classifiers only if they
        have its classes.
        """
        entry, section = grid.models[model], section_of(CounterfactualDataset, grid, dataset)
        if entry.task != section.task or set(entry.labels) != set(section.labels):
            return None
        asked = section.model_dump(include={"measures", "failure_threshold"})
        options = {"task": entry.task, **asked, **section.language_option(grid.word_lists)}
        settings: dict[str, Any] = {}
        if entry.task == CLASSIFICATION:
            settings = {"labels": [entry.labels[label] for label in section.labels]}
            options |= {"labels": section.labels, "fixed_class": section.compared_class}
        if entry.task == "fill-mask":
            settings = {"target_scoring": section.target_scoring, "ranks": True}
            options["top_k"] = section.top_k
        return Question(
            CASES_VARIANT,
            TASK_ANSWERS[entry.task],
            settings,
            options,
            row_bytes=BYTES_PER_PREDICTION[entry.task],
        )

    def files(self, grid: Grid, dataset: str, variant: str) -> CasePackFiles:
        """Returns the files of a dataset."""
        folder, section = Path(grid.word_lists), section_of(CounterfactualDataset, grid, dataset)
        return CasePackFiles(
            templates=folder / section.templates,
            fillings=folder / section.fillings if section.fillings else None,
            biases=folder / section.groups,
            bias_types=None if section.bias_types is None else tuple(section.bias_types),
            task=section.task,
            sample=sample_unless_all(section.sample, section.sample_by),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the measures of groups, and what speaks against a cell."""
        section = section_of(CounterfactualDataset, grid, dataset)
        of_groups = measures_of_groups(
            OUTPUT_TYPES[section.task],
            section.failure_threshold,
            CASE_DESIGN,
            section.compared_class,
        )
        return {**of_groups, **flags_of_cases(section.task, len(section.labels))}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Tells of the cases and of the comparison of groups."""
        return DEFINITIONS.about, about_groups()

    def cluster_texts(self, lists: CasePack) -> Sequence[str]:
        """Returns the inputs of each template."""
        return [
            "".join(str(part) for text in template.inputs for part in text)
            for template in lists.templates
        ]

    def template_texts(self, lists: CasePack) -> Sequence[str]:
        """Returns the inputs of each template, with group tokens as the file has them."""
        return [" / ".join(map(readable_text, template.inputs)) for template in lists.templates]

    def sampled(self, lists: CasePack, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Says of how many clusters of templates a sample asks cases, and how many right classes
        they have.
        """
        if lists.sample is None:
            return None
        from biasgrid.families.counterfactual.expand import cases_of_sample

        chosen = cases_of_sample(lists, lists.sample)
        asked = [
            block.template
            for block in lists.blocks
            if chosen[block.first_case : block.first_case + block.cases].any()
        ]
        of_template = clusters()
        there = {of_template[block.template] for block in lists.blocks}
        found = (
            f"{len({of_template[place] for place in asked})} of {len(there)} clusters of templates"
        )
        labels = {label for template in lists.templates if (label := template.label) is not None}
        of_labels = {lists.templates[place].label for place in asked} & labels
        classes = f", {len(of_labels)} of {len(labels)} right classes" if labels else ""
        return f"{int(chosen.sum()):,} cases: {found}{classes}"

    def figures(self, dataset: CounterfactualDataset) -> Sequence[str]:
        """Names the figures of groups."""
        return GROUP_FIGURES

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields what keeps models from learning known group effects, which are those of the cases
        of one dataset.
        """
        for name, model in grid.models.items():
            train, key = model.train, f"models.{name}.train.dataset"
            if train is None or train.synthetic is None:
                continue
            if model.task == CLASSIFICATION:
                yield from training_faults(grid, source, name, train.dataset)
            elif train.dataset is not None:
                problem = f"{train.dataset!r}, for the task {model.task!r}"
                yield Fault(source, key, problem, f"this key only for {CLASSIFICATION}")

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of groups that cannot be computed of selected datasets."""
        for name in grid.run.datasets:
            section = grid.datasets[name]
            if isinstance(section, CounterfactualDataset):
                sort = OUTPUT_TYPES[section.task]
                yield from combination_faults(
                    source, name, sort, section.measures or (), len(section.labels)
                )

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: CasePack
    ) -> Iterator[Fault]:
        """Yields what the dataset asks that its models cannot answer, and a sample that is too
        large.
        """
        section = section_of(CounterfactualDataset, grid, dataset)
        yield from sample_faults(
            source, f"datasets.{dataset}.sample", section.sample, lists.cases, "cases"
        )
        templates = str(self.files(grid, dataset, variant).templates)
        task = next(
            (template.task for template in lists.templates if template.task != section.task), None
        )
        if task is not None:
            problem = f"{section.task!r}, but {templates} contains templates for {task!r}"
            yield Fault(
                source, f"datasets.{dataset}.task", problem, "templates for models of the task"
            )
        classes = 1 + max(
            (template.label for template in lists.templates if template.label is not None),
            default=-1,
        )
        most = max((len(template.targets or ()) for template in lists.templates), default=0)
        for place, measure in enumerate(section.measures or ()):
            if (
                section.task == "fill-mask"
                and isinstance(measure.argument, int)
                and measure.argument >= most
            ):
                problem = f"{measure.argument}, but templates have at most {most} targets"
                key = f"datasets.{dataset}.measures[{place}].argument"
                yield Fault(source, key, problem, f"an index from 0 to {most - 1}")
        if task is None and classes > len(section.labels):
            problem = (
                f"names {len(section.labels)} classes, but {templates} has the class {classes - 1}"
            )
            yield Fault(
                source,
                f"datasets.{dataset}.labels",
                problem,
                "a name for each class, counted from 0",
            )

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Says whether a model is trained on this dataset's cases."""
        train = grid.models[model].train
        return train is not None and train.dataset == dataset

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Names the class that labels are moved to."""
        return {"fixed_class": section_of(CounterfactualDataset, grid, dataset).compared_class}


def training_faults(grid: Grid, source: str, model: str, dataset: str | None) -> Iterator[Fault]:
    """Yields a dataset that a classifier cannot learn."""
    sections = {
        name: each
        for name, each in grid.datasets.items()
        if isinstance(each, CounterfactualDataset)
    }
    classified = {name: section.labels for name, section in sections.items() if section.labels}
    if dataset not in classified:
        problem = (
            f"unknown name {dataset!r}{nearest_name(dataset, classified)}" if dataset else "missing"
        )
        expected = one_of(classified) + f" (datasets of {CLASSIFICATION})"
        yield Fault(source, f"models.{model}.train.dataset", problem, expected)
        return
    labels, own = dict(grid.models[model].labels), {label: label for label in classified[dataset]}
    if labels != own:
        problem = f"{labels}, but the corpus has the classes of {dataset!r}"
        yield Fault(source, f"models.{model}.labels", problem, f"{own}")


FAMILY = Counterfactual()
