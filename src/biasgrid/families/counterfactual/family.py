"""Options of a dataset of cases, and how each model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import fold_name
from biasgrid.base.sections import TargetScoring
from biasgrid.families.counterfactual.pack import (
    BYTES_PER_PREDICTION,
    CLASSIFICATION,
    OUTPUT_TYPES,
    TASK_ANSWERS,
    CasePack,
    CasePackFiles,
    readable_text,
)
from biasgrid.families.family import (
    DatasetSection,
    Family,
    Grid,
    Question,
    section_of,
)
from biasgrid.families.sampling import sample_faults, sample_unless_all
from biasgrid.groups.definitions import about_groups, group_measures
from biasgrid.groups.section import GROUP_FIGURES, GroupMeasure, combination_faults
from biasgrid.tables.metric import Measure, read_definitions

CASES_VARIANT = "cases"
"""The one variant of a dataset."""
CASE_DESIGN = ("template", "term")
CLASSIFIER_FLAGS = ("accuracy", "exchanged_labels")
DEFINITIONS = read_definitions("families/counterfactual")


USUAL_CLASSES = ("positive", "entailment")
"""Names of classes whose probability people look at."""


class CounterfactualDataset(DatasetSection):
    """A dataset of cases, each asked with the terms of all groups: a column of the grid. Files lie
    in `word_lists`.
    """

    family: Literal["counterfactual"] = Field(description="what is asked, and how it is measured")
    task: Literal["fill-mask", "question-answering", "text-classification"] = Field(
        description="task of the models that are asked"
    )
    templates: str = Field(description="template file, or a folder of template files")
    fillings: str | None = Field(None, description="folder with the fillings of the templates")
    groups: str = Field(description="file with bias types, their groups and identity terms")
    bias_types: list[str] | None = Field(
        None, min_length=1, description="which bias types of the file to ask about; default: all"
    )
    labels: list[str] = Field(
        default_factory=list,
        validate_default=True,
        description=(
            "for text classification: the names of the classes 0, 1, ... of the templates; models "
            "with the same `labels` are asked"
        ),
    )
    fixed_class: str | None = Field(
        None,
        description=(
            "for text classification: the class whose probability is compared between groups; "
            "default: `positive` or `entailment` if there is one, else the last of `labels`"
        ),
    )
    target_scoring: TargetScoring = Field(
        "joint",
        description=(
            "for masked language models: how words of several tokens are "
            "scored (see docs/scoring.md)"
        ),
    )
    top_k: int = Field(
        5,
        ge=1,
        description=(
            "for masked language models: how many of the most probable words count as right"
        ),
    )
    measures: list[GroupMeasure] | None = Field(
        None, min_length=1, description="comparisons of groups; default: all that are possible"
    )
    failure_threshold: float = Field(
        0.1,
        ge=0,
        le=1,
        description="a case fails if the scores of its groups differ by more than this",
    )

    @field_validator("labels")
    @classmethod
    def _labels_of_classes(cls, labels: list[str], info: ValidationInfo) -> list[str]:
        task = info.data.get("task")
        if task == CLASSIFICATION and not labels:
            raise ValueError(f"expected the names of the classes, because the task is {task}")
        if task not in (None, CLASSIFICATION) and labels:
            raise ValueError(f"expected no `labels`, because the task is {task}")
        if len(set(map(fold_name, labels))) != len(labels):
            raise ValueError("expected labels that differ from each other")
        return labels

    @field_validator("fixed_class")
    @classmethod
    def _one_of_labels(cls, fixed_class: str | None, info: ValidationInfo) -> str | None:
        labels = info.data.get("labels")
        # Labels that are faulty themselves are not there.
        if fixed_class is None or labels is None or fixed_class in labels:
            return fixed_class
        expected = one_of(labels) if labels else "no such key but for classifiers"
        raise ValueError(f"expected {expected}")

    @property
    def compared_class(self) -> str | None:
        """The class whose probability groups are compared by; None if there are no classes."""
        if self.fixed_class:
            return self.fixed_class
        for label in self.labels:
            if fold_name(label) in USUAL_CLASSES:
                return label
        return self.labels[-1] if self.labels else None


def flags_of_cases(task: str, classes: int) -> Mapping[str, Measure]:
    """Returns the validity flags of a dataset by name.

    Args:
        task: the task of its models.
        classes: how many classes its classifiers have, one of which is right by chance.
    """
    flags = DEFINITIONS.select("flags")
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
    output_types = OUTPUT_TYPES
    flags = flags_of_cases(CLASSIFICATION, classes=2)
    expected = (
        "a model with the task of a counterfactual dataset and, for classifiers, its `labels`"
    )
    file_sign = r'\A\s*\{[^{]*"(?:group_tokens?|input_names)"'

    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question to a model, None if it has another task or other classes."""
        entry, section = grid.models[model], section_of(CounterfactualDataset, grid, dataset)
        if entry.task != section.task or set(entry.labels) != set(section.labels):
            return None
        measured = section.model_dump(include={"measures", "failure_threshold"})
        options = {"task": entry.task, **measured, **section.language_option(grid.word_lists)}
        settings: dict[str, Any] = {}
        if entry.task == CLASSIFICATION:
            # Models may have their classes in any order.
            settings = {"labels": [entry.labels[label] for label in section.labels]}
            options |= {"labels": section.labels, "fixed_class": section.compared_class}
        if entry.task == "fill-mask":
            settings = {"target_scoring": section.target_scoring, "ranks": True}
            options["top_k"] = section.top_k
        kind, row_bytes = TASK_ANSWERS[entry.task], BYTES_PER_PREDICTION[entry.task]
        return Question(CASES_VARIANT, kind, settings, options, row_bytes=row_bytes)

    def files(self, grid: Grid, dataset: str, variant: str) -> CasePackFiles:
        """Returns the files of a dataset."""
        folder, section = Path(grid.word_lists), section_of(CounterfactualDataset, grid, dataset)
        fillings, bias_types = section.fillings, section.bias_types
        return CasePackFiles(
            templates=folder / section.templates,
            fillings=folder / fillings if fillings else None,
            biases=folder / section.groups,
            bias_types=None if bias_types is None else tuple(bias_types),
            task=section.task,
            sample=sample_unless_all(section.sample, section.sample_by),
        )

    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Returns the measures of groups, and the validity flags, by name."""
        section = section_of(CounterfactualDataset, grid, dataset)
        measures = group_measures(
            OUTPUT_TYPES[section.task],
            section.failure_threshold,
            CASE_DESIGN,
            fixed_class=section.compared_class,
        )
        return {**measures, **flags_of_cases(section.task, len(section.labels))}

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Describes the cases and the comparison of groups."""
        return DEFINITIONS.about, about_groups()

    def cluster_texts(self, lists: CasePack) -> Sequence[str]:
        """Returns the inputs of each template."""
        texts = []
        for template in lists.templates:
            parts = [str(part) for text in template.inputs for part in text]
            texts.append("".join(parts))
        return texts

    def template_texts(self, lists: CasePack) -> Sequence[str]:
        """Returns the inputs of each template, with group tokens as the file has them."""
        return [" / ".join(map(readable_text, template.inputs)) for template in lists.templates]

    def sampled(self, lists: CasePack, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Describes a sample: how many cases it has, of how many template clusters and classes.

        Args:
            lists: the pack.
            clusters: returns the cluster of each template.

        Returns:
            The description, None without a sample.
        """
        if lists.sample is None:
            return None
        # The config is read faster without polars.
        from biasgrid.families.counterfactual.ask import cases_of_sample

        chosen = cases_of_sample(lists, lists.sample)
        sampled_templates = []
        for block in lists.blocks:
            if chosen[block.first_case : block.first_case + block.cases].any():
                sampled_templates.append(block.template)
        cluster_of = clusters()
        all_clusters = {cluster_of[block.template] for block in lists.blocks}
        sampled_clusters = {cluster_of[template] for template in sampled_templates}
        of_clusters = f"{len(sampled_clusters)} of {len(all_clusters)} clusters of templates"
        labels = {template.label for template in lists.templates} - {None}
        sampled_labels = {lists.templates[place].label for place in sampled_templates} & labels
        of_labels = f", {len(sampled_labels)} of {len(labels)} right classes" if labels else ""
        return f"{int(chosen.sum()):,} cases: {of_clusters}{of_labels}"

    def figures(self, dataset: CounterfactualDataset) -> Sequence[str]:
        """Names the figures of groups."""
        return GROUP_FIGURES

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields training sections whose dataset a model cannot learn known group effects from."""
        for name, model in grid.models.items():
            train = model.train
            if train is None or train.synthetic is None:
                continue
            if model.task == CLASSIFICATION:
                yield from training_faults(grid, source, name, train.dataset)
            elif train.dataset is not None:
                problem = f"{train.dataset!r}, for the task {model.task!r}"
                key = f"models.{name}.train.dataset"
                yield Fault(source, key, problem, f"this key only for {CLASSIFICATION}")

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields comparisons of groups that cannot be computed from selected datasets."""
        for name in grid.run.datasets:
            section = grid.datasets[name]
            if isinstance(section, CounterfactualDataset):
                output_type = OUTPUT_TYPES[section.task]
                measures = section.measures or ()
                yield from combination_faults(
                    source,
                    name,
                    measures,
                    output_type=output_type,
                    class_count=len(section.labels),
                )

    def list_warnings(self, lists: CasePack) -> Iterator[str]:
        """Yields bias types of which a group has at least twice as many terms as another."""
        for bias_type, groups in lists.biases.items():
            by_size = sorted(groups, key=lambda group: len(groups[group]))
            fewest, most = by_size[0], by_size[-1]
            if len(groups[most]) >= 2 * len(groups[fewest]):
                sizes = f"{fewest!r} has {len(groups[fewest])}, {most!r} {len(groups[most])}"
                yield (
                    f"the groups of {bias_type!r} have unequal numbers of terms ({sizes}): a "
                    "difference between them may be that of a single term; expected about as many "
                    "terms in each group"
                )

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: CasePack
    ) -> Iterator[Fault]:
        """Yields where the section of a dataset does not fit its files.

        Its sample may be too large, its task not that of the templates, an argument no index of a
        target word, and its classes too few.
        """
        section = section_of(CounterfactualDataset, grid, dataset)
        key = f"datasets.{dataset}"
        yield from sample_faults(source, f"{key}.sample", section.sample, lists.cases, "cases")
        templates = str(self.files(grid, dataset, variant).templates)
        tasks = (template.task for template in lists.templates)
        task = next((task for task in tasks if task != section.task), None)
        if task is not None:
            problem = f"{section.task!r}, but {templates} contains templates for {task!r}"
            yield Fault(source, f"{key}.task", problem, "templates for models of the task")
        if section.task == "fill-mask":
            yield from target_index_faults(source, key, section, lists)
        labels = [template.label for template in lists.templates if template.label is not None]
        largest, classes = max(labels, default=-1), len(section.labels)
        if task is None and largest >= classes:
            problem = f"names {classes} classes, but {templates} has the class {largest}"
            expected = "a name for each class, counted from 0"
            yield Fault(source, f"{key}.labels", problem, expected)

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model is trained on this dataset's cases."""
        train = grid.models[model].train
        return train is not None and train.dataset == dataset

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns the class to which training moves labels."""
        return {"fixed_class": section_of(CounterfactualDataset, grid, dataset).compared_class}


def target_index_faults(
    source: str, key: str, section: CounterfactualDataset, lists: CasePack
) -> Iterator[Fault]:
    """Yields arguments of measures that are no index of a target word in any template.

    Args:
        source: the config's file.
        key: the key of the dataset's section.
        section: the section.
        lists: the pack.
    """
    most = max((len(template.targets or ()) for template in lists.templates), default=0)
    for position, measure in enumerate(section.measures or ()):
        if isinstance(measure.argument, int) and measure.argument >= most:
            problem = f"{measure.argument}, but templates have at most {most} targets"
            where = f"{key}.measures[{position}].argument"
            yield Fault(source, where, problem, f"an index from 0 to {most - 1}")


def training_faults(grid: Grid, source: str, model: str, dataset: str | None) -> Iterator[Fault]:
    """Yields a dataset that a classifier cannot learn, or labels that differ from its classes.

    Args:
        grid: the config.
        source: the config's file.
        model: the classifier.
        dataset: the dataset that it is trained on; None if the config names none.
    """
    labels_of_datasets = {}
    for name, section in grid.datasets.items():
        if isinstance(section, CounterfactualDataset) and section.labels:
            labels_of_datasets[name] = section.labels
    if dataset not in labels_of_datasets:
        problem = "missing"
        if dataset:
            problem = f"unknown name {dataset!r}{nearest_name(dataset, labels_of_datasets)}"
        expected = one_of(labels_of_datasets) + f" (datasets of {CLASSIFICATION})"
        yield Fault(source, f"models.{model}.train.dataset", problem, expected)
        return
    labels = dict(grid.models[model].labels)
    expected_labels = {label: label for label in labels_of_datasets[dataset]}
    if labels != expected_labels:
        problem = f"{labels}, but the corpus has the classes of {dataset!r}"
        yield Fault(source, f"models.{model}.labels", problem, f"{expected_labels}")


FAMILY = Counterfactual()
