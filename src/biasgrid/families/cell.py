"""The stage `measure`, the same for all families: predictions become sums and evidence."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isgeneratorfunction
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from biasgrid.base.faults import UserError, nearest_name, one_of
from biasgrid.base.references import exists, load, stage_module
from biasgrid.stats.noise.jackknife import recompute_measures, with_key_columns
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, sums_table, values_table
from biasgrid.tables.completeness import (
    CellParts,
    CellRows,
    CellSource,
    check_rows,
    read_whole_cell,
)
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS, Evidence
from biasgrid.tables.files import read_provenance
from biasgrid.tables.measures import ROW, cell_table
from biasgrid.tables.sums import SUMS

Found = TypeVar("Found")
OBSERVATIONS_KEPT = 2**21
"""A cell with more observations does not keep them: 250 MB of swap groups."""


class ObservedParts:
    """The observations of a cell, part by part.

    They are kept in memory unless there are too many; then they are observed anew each time.
    """

    def __init__(
        self,
        cell: Iterable[CellRows],
        observe: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame],
    ):
        """Takes a cell.

        Args:
            cell: its instances and predictions, part by part, as often as they are asked for.
            observe: returns the observations of a part.
        """
        self.cell, self.observe = cell, observe
        self.kept: list[pl.DataFrame] | None = None
        self.are_many = False
        self.found: dict[Callable[..., Any], Any] = {}

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yields the parts."""
        if self.kept is not None:
            yield from self.kept
            return
        parts: list[pl.DataFrame] = []
        rows = 0
        for tables in self.cell:
            part = self.observe(*tables)
            rows += len(part)
            if rows > OBSERVATIONS_KEPT:
                self.are_many = True
            if self.are_many:
                # A cell this large is observed anew each time, so that no part stays in memory.
                parts.clear()
            else:
                parts.append(part)
            yield part
        if not self.are_many:
            self.kept = parts


Observations = pl.DataFrame | ObservedParts
"""What was observed: the table that `observe` returns or, of families with a `UNIT`, parts of
it.
"""


def parts_of_observations(observations: Observations) -> Iterable[pl.DataFrame]:
    """Returns observations part by part; a table is a single part."""
    return [observations] if isinstance(observations, pl.DataFrame) else observations


def find_in_parts(
    observations: Observations, find: Callable[[Iterable[pl.DataFrame]], Found]
) -> Found:
    """Returns the result of a function of the parts of a cell, which is computed once.

    Args:
        observations: the observations of a cell.
        find: the function of the parts; its result must not hold these.
    """
    if isinstance(observations, pl.DataFrame):
        return find([observations])
    if find not in observations.found:
        observations.found[find] = find(observations)
    location: Found = observations.found[find]
    return location


def whole_table(observations: Observations) -> pl.DataFrame:
    """Returns observations as one table."""
    return observations if isinstance(observations, pl.DataFrame) else pl.concat(observations)


@dataclass(frozen=True)
class MeasuredCell:
    """What a family's `validity` and `evidence` look at.

    Attributes:
        instances: the family's instances with all columns, in no memory before some of their rows
            are asked for.
        predictions: those of all shards, likewise.
        observed: from the family's `observe`.
        measures: its numbers: `measure`, `options`, keys, `value`, `n` and `left_out`.
        measure_options: the options that decide the measures, see `Question`.
        names: the measures and flags that the family declares; None where that is not known.
        facts: other facts about the instances: the provenance of their table.
    """

    instances: pl.LazyFrame
    predictions: pl.LazyFrame
    observed: Observations
    measures: pl.DataFrame
    measure_options: Mapping[str, Any]
    names: Collection[str] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def observations(self) -> pl.DataFrame:
        """What was observed, as one table."""
        return whole_table(self.observed)

    @property
    def parts(self) -> Iterable[pl.DataFrame]:
        """What was observed, part by part."""
        return parts_of_observations(self.observed)


class CellResults(NamedTuple):
    """What a family makes of a cell.

    Attributes:
        sums: schema `SUMS`.
        evidence: schema `EVIDENCE`.
        parts: schema `EVIDENCE_PARTS`; no rows where the family takes no number apart.
    """

    sums: pl.DataFrame
    evidence: pl.DataFrame
    parts: pl.DataFrame


def measure_cell(
    family: str,
    instances_path: Path,
    prediction_paths: Sequence[Path],
    answer: str,
    measure_options: Mapping[str, Any],
    names: Collection[str],
    model: str,
    dataset: str,
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
    settings: StatisticsSettings | None = None,
) -> CellResults:
    """Measures a cell from its files.

    Args:
        family: the reference of the dataset's family.
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        answer: the kind of the answers.
        measure_options: the options that decide the measures, see `Question`.
        names: the measures that the family declares.
        model: the model's name in the config.
        dataset: the dataset's name in the config.
        scorer_predictions: the answers of other models about its texts, from `read_scorers`.
        settings: clusters and units, of families whose measures are computed again without each
            cluster.

    Raises:
        TableError: a file does not fit its schema, or its rows contradict each other.
        IncompleteCell: not every instance has exactly one prediction.
        UserError: the family measured what it does not declare, or made a table of other columns or
            types.
    """
    stages = load(stage_module(family, "measures"))
    name = f"{model} on {dataset}"
    observations = observe_in_parts(
        family, instances_path, prediction_paths, answer, measure_options, name, scorer_predictions
    )
    measured = parts_of(
        stages.measure, observations, measure_options, settings or StatisticsSettings()
    )
    cell = MeasuredCell(
        instances=pl.scan_parquet(instances_path, glob=False),
        predictions=pl.scan_parquet([*prediction_paths], glob=False),
        observed=observations,
        measures=with_key_columns(values_table(measured)),
        measure_options=measure_options,
        names=names,
        facts=read_provenance(instances_path, anywhere=True),
    )
    check = getattr(stages, "validity", None)
    evidence = evidence_of_cell(family, cell)
    checks = [check_rows(check(cell))] if check else []
    check_declared(pl.concat([cell.measures, *checks], how="diagonal_relaxed"), names, family)
    parts = pl.DataFrame() if evidence.parts is None else evidence.parts
    try:
        return CellResults(
            cell_table(sums_table([*measured, *checks]), SUMS, model, dataset),
            cell_table(evidence.units, EVIDENCE, model, dataset),
            cell_table(parts, EVIDENCE_PARTS, model, dataset),
        )
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"the family {family} made a table that does not match its schema ({reason}); expected "
            "the columns of measures and evidence in docs/outputs.md"
        ) from error


def evidence_of_cell(family: str, cell: MeasuredCell) -> Evidence:
    """Returns the sentences behind the numbers of a cell; empty if the family has no evidence.

    They are those that the family's `SENTENCES` pick, or its function `evidence` if it has one.
    """
    reference = stage_module(family, "evidence")
    if not exists(reference):
        return Evidence(pl.DataFrame())
    module = load(reference)
    evidence: Evidence = Evidence(pl.DataFrame())
    if hasattr(module, "evidence"):
        evidence = module.evidence(cell)
    elif hasattr(module, "SENTENCES"):
        evidence = module.SENTENCES.table(cell)
    return evidence


def measured_values(
    measure: Callable[..., Any], observations: Observations, measure_options: Mapping[str, Any]
) -> pl.DataFrame:
    """Returns `ROW`, `value`, `n` and `left_out` of the numbers of a cell, without intervals.

    Args:
        measure: the family's own.
        observations: from its `observe`.
        measure_options: the options that decide the measures.
    """
    measured = parts_of(measure, observations, measure_options, StatisticsSettings())
    values = with_key_columns(values_table(measured))
    return values.select(*ROW, "value", "n", "left_out")


def parts_of(
    measure: Callable[..., Any],
    observations: Observations,
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> list[Sums | pl.DataFrame]:
    """Returns the sums that a family yields or, if it returns a table, the table and its jackknife.

    Args:
        measure: the family's own.
        observations: from its `observe`.
        measure_options: the options that decide the measures.
        settings: clusters and units.
    """
    if isgeneratorfunction(measure):
        return list(measure(observations, measure_options))
    return list(recompute_measures(measure, whole_table(observations), measure_options, settings))


def observe_in_parts(
    family: str,
    instances_path: Path,
    prediction_paths: Sequence[Path],
    answer: str,
    measure_options: Mapping[str, Any],
    name: str,
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> Observations:
    """Reads a cell and observes its answers; see `measure_cell`.

    It is read part by part where the family has a `UNIT`.

    Raises:
        TableError: a file does not fit its schema, or its rows contradict each other.
        IncompleteCell: not every instance has exactly one prediction.
    """
    keys = load(stage_module(family, "keys")).KEYS
    stages = load(stage_module(family, "observe"))
    read, said = getattr(stages, "READ", None), getattr(stages, "SAID", None)
    source = CellSource(instances_path, prediction_paths, keys, answer, name)
    scorers = [scorer_predictions] if scorer_predictions else []

    def observe(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
        observations: pl.DataFrame = stages.observe(
            instances, predictions, measure_options, *scorers
        )
        return observations

    unit = getattr(stages, "UNIT", None)
    if unit is None:
        return observe(*read_whole_cell(source, read, said))
    return ObservedParts(CellParts(source, stages.READ, stages.SAID, unit), observe)


def cell_location(
    measures: Path,
    instances: Path,
    predictions: Sequence[Path],
    cell: Mapping[str, Any],
    texts: Path | None = None,
) -> dict[str, Any]:
    """Returns where the files of a cell lie and how it was measured, for its provenance.

    Args:
        measures: the table of its measures.
        instances: its instances.
        predictions: its predictions.
        cell: `family`, `answer` and `measure_options`, see `measure_cell`, and
            `scorer_predictions`, see `read_scorers`.
        texts: the instances of the texts of which scorers were asked, None where there are none.

    Returns:
        `family`, `answer` and `options`; `instances`, `predictions`, `texts` and the files of
        `scorers` as paths that begin at the folder of results.
    """
    results = measures.absolute().parents[2]

    def relative_path(path: str | Path) -> str:
        return os.path.relpath(Path(path).absolute(), results)

    scorers = {}
    for model, (kind, file) in cell["scorers"].items():
        scorers[model] = (kind, relative_path(file))
    return {
        "family": cell["family"],
        "answer": cell["answer"],
        "options": cell["measure_options"],
        "instances": relative_path(instances),
        "predictions": [relative_path(path) for path in predictions],
        "texts": relative_path(texts) if texts else None,
        "scorers": scorers,
    }


def check_declared(measures: pl.DataFrame, declared: Collection[str], family: str) -> None:
    """Refuses measures that a family does not declare.

    Raises:
        UserError: with the first of them.
    """
    for name in measures["measure"].unique(maintain_order=True):
        if name not in declared:
            raise UserError(
                f"the family {family} measured {name!r}{nearest_name(name, declared)}, which its "
                f"`measures` does not declare; expected {one_of(declared)}"
            )
