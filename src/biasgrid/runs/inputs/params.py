"""The keys of params that hold several values: written by `runs.inputs`, read by a rule's script.

They are plain dicts on purpose. Snakemake compares a param with that of the last run by its `repr`,
and only if it is of one of Python's own types: an object of a class would never run a job again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from biasgrid.tables.metric import Controls, MetricDefinitions


class PredictParams(TypedDict):
    """Decides a cell's predictions, together with model, precision and device.

    Attributes:
        back_end: the back end, as `reference:name`.
        task: the task of the model.
        answer: the kind of its answers, such as `span`.
        choices: the keys of the config that decide numbers, such as `scoring`.
        code: digest of script and back end.
    """

    back_end: str
    task: str
    answer: str
    choices: dict[str, Any]
    code: str


class MeasureParams(TypedDict):
    """Decides the sums and evidence of a cell, given its predictions.

    Attributes:
        family: the reference of the dataset's family.
        answer: the kind of answers, such as `span`.
        names: the names of the family's measures and validity flags.
        expected: facts that the provenance of the predictions must have, such as `scoring`.
        dump: the origin of the cell's dump, null if a model was asked.
        measure_options: the options that decide the measures, as in the column `options`.
        scorers: by scorer the kind of its responses and their file; empty without scorers.
        jackknife: `clusters` and `units`, as in `StatisticsParams`, if measures are recomputed
            without each cluster; empty for a family whose measures are functions of sums.
        code: digest of script and family.
    """

    family: str
    answer: str
    names: list[str]
    expected: dict[str, Any]
    dump: dict[str, Any] | None
    measure_options: dict[str, Any]
    scorers: dict[str, tuple[str, str]]
    jackknife: dict[str, Any]
    code: str


class StatisticsParams(TypedDict):
    """Decides the numbers and intervals of a cell, given its sums.

    Attributes:
        family: the reference of the dataset's family.
        definitions: the definitions by which measures are checked.
        units: the unit of each measure, null for a measure that no sampling changes.
        ranges: the ranges of measures that differ from the range of their unit.
        measure_options: the options that decide the measures, as in the column `options`.
        clusters: the cluster of each template, by template number.
        templates: digest of the templates' texts; null in submitted jobs, which read no lists.
        settings: the config's section `statistics`.
        controls: the controls of the dataset, in the order of the files in `input.controls`.
        code: digest of script and family.
    """

    family: str
    definitions: MetricDefinitions
    units: dict[str, str | None]
    ranges: dict[str, tuple[float, float]]
    measure_options: dict[str, Any]
    clusters: list[int]
    templates: str | None
    settings: dict[str, Any]
    controls: list[str]
    code: str


class ReportParams(TypedDict):
    """The arguments of `report.run.gather_run` that no table holds."""

    title: str
    config: str
    strengths: dict[str, dict[str, str]]
    level: float
    results: str
    megabytes: float
    controls: Controls
    datasets: dict[str, dict[str, Any]]
    models: dict[str, dict[str, Any]]


class ConfigParams(TypedDict):
    """Where the manifest's job finds the files that the config names; see `ConfigFolders`.

    Attributes:
        name: the name of the config in the manifest.
        folders: the folders of the config's files, in descending precedence.
        command_line_keys: the keys that were given on the command line.
    """

    name: str
    folders: list[str]
    command_line_keys: list[str]


class SyntheticParams(TypedDict):
    """The synthetic bias of a dataset: the config's section `synthetic`.

    Attributes:
        strengths: a number, or the keys of a `Strength`, by the name of the strength. Without any
            bias for a control.
        seed, repeats, spread: as in the config.
    """

    strengths: Mapping[str, float | Mapping[str, float]]
    seed: int
    repeats: int
    spread: float


class TrainingParams(TypedDict):
    """How a model is trained.

    Attributes:
        hyperparameters: the fields of `Hyperparameters`.
        synthetic: the synthetic bias whose corpora it learns, from a tiny model of random weights;
            null if `input.base` is fine-tuned.
    """

    hyperparameters: dict[str, Any]
    synthetic: SyntheticParams | None
