"""Comparisons of finished results: of two models of a run, or of the same models of two runs, with
sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.base.faults import UserError, nearest_name, one_of
from biasgrid.stats.compare.all_pairs import compare_runs
from biasgrid.stats.compare.cells import ComparedCell, read_compared_cell
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import read_provenance, read_tables
from biasgrid.tables.key_columns import KEYS

SIDE_COLUMNS = {"value": "other_value", "model": "other_model", "mark": "other_mark"}
INTERVAL_ENDS = {"low": "high", "selected_low": "selected_high"}
EVIDENCE_COLUMNS = ("strongest", "typical")
"""Roles of sentences that show a number, the strongest first."""


class Difference(NamedTuple):
    """Two models on a dataset.

    Attributes:
        dataset: its name.
        one: the name of the first.
        other: the name of the second, whose numbers are subtracted.
        rows: rows of `COMPARISONS`.
        evidence: sentences of both, rows of `EVIDENCE`, those of the first before those of the
            other.
        level: the coverage of intervals.
    """

    dataset: str
    one: str
    other: str
    rows: pl.DataFrame
    evidence: pl.DataFrame
    level: float

    def sentence(self, row: Mapping[str, Any]) -> str | None:
        """Returns a sentence that shows a row of parts, None if none is kept."""
        sentences = self.evidence.filter(pl.col("role").is_in(EVIDENCE_COLUMNS))
        for key in KEYS:
            value = row[key.name]
            if value is None or key.sentences is None:
                continue
            is_of_value = pl.col(key.name) == value
            if key.sentences == "own and pooled":
                is_of_value |= pl.col(key.name).is_null()
            sentences = sentences.filter(is_of_value)
        # Plain sentences come before negated ones and swapped ones.
        order = ["role", "negated", "swapped"]
        ordered = sentences.sort(order, nulls_last=False, maintain_order=True)
        texts = ordered.select("text_pair", "text").head(1).rows()
        return " ".join(text for text in texts[0] if text) if texts else None


def compare_two_models(
    results: Path, one: str, other: str, dataset: str | None
) -> list[Difference]:
    """Returns how two models of a run differ, on all datasets that both answered, or on one.

    Args:
        results: the folder of results.
        one: a model.
        other: the model whose numbers are subtracted.
        dataset: the dataset, None for all.

    Raises:
        UserError: there is no such model or dataset, or no table that compares them.
    """
    names = compared_datasets(results)
    if dataset is not None:
        refuse_unknown(dataset, names, f"{results}: no dataset", None)
        names = [dataset]
    rows = read_tables([results / f"comparisons/{name}.parquet" for name in names], COMPARISONS)
    models = [*dict.fromkeys([*rows["model"], *rows["other_model"]])]
    if not models:
        raise UserError(
            f"{results} compares no models; `biasgrid summary {results}` shows which "
            "models were measured"
        )
    for name in (one, other):
        refuse_unknown(name, models, f"{results}: no model", dataset)
    if one == other:
        raise UserError(
            f"{one!r} is given twice; expected two different models, or another folder of results"
        )
    differences = []
    for name in names:
        own_rows = two_model_rows(rows.filter(dataset=name), one, other)
        if len(own_rows):
            evidence = pl.concat([read_evidence(results, name, model) for model in (one, other)])
            level = comparison_settings(results / f"comparisons/{name}.parquet").level
            differences.append(Difference(name, one, other, own_rows, evidence, level))
    if not differences:
        raise UserError(f"no dataset of {results} was asked of both {one!r} and {other!r}")
    return differences


def two_model_rows(rows: pl.DataFrame, one: str, other: str) -> pl.DataFrame:
    """Returns the rows of two models, one minus other, in whichever order the table has them."""
    forward = rows.filter(model=one, other_model=other)
    backward = rows.filter(model=other, other_model=one)
    exchanged = {"difference": -pl.col("difference")}
    for low, high in INTERVAL_ENDS.items():
        # The upper end of a difference is the lower end of its opposite.
        exchanged[low], exchanged[high] = -pl.col(high), -pl.col(low)
    for own, others in SIDE_COLUMNS.items():
        exchanged[own], exchanged[others] = pl.col(others), pl.col(own)
    return pl.concat([forward, backward.with_columns(**exchanged)])


def compare_two_runs(results: Path, others: Path, dataset: str | None) -> Iterator[Difference]:
    """Yields how the models of a run differ from the same ones of another, cell by cell.

    Args:
        results: a folder of results.
        others: the folder whose numbers are subtracted.
        dataset: the dataset, None for all that both have.

    Raises:
        UserError: one of them is no folder of results of this version, or they have no cell in
            common.
    """
    folders = (results, others)
    for folder in folders:
        if compared_datasets(folder) and not (folder / "sums").is_dir():
            raise UserError(f"there is no {folder}/sums; expected a finished run of this version")
    shared = shared_models(results, others, dataset)
    if not any(shared.values()):
        raise UserError(f"{results} and {others} have no model and dataset in common")
    for name, models in shared.items():
        cells, other_cells = (read_cells(folder, name, models) for folder in folders)
        table = results / f"comparisons/{name}.parquet"
        settings = comparison_settings(table)
        rows = compare_runs(name, cells, other_cells, settings, read_marks(table))
        for model in models:
            evidence = pl.concat([read_evidence(folder, name, model) for folder in folders])
            titles = f"{results}, {model}", f"{others}, {model}"
            yield Difference(name, *titles, rows.filter(model=model), evidence, settings.level)


def shared_models(results: Path, others: Path, dataset: str | None) -> dict[str, list[str]]:
    """Returns the models that two runs have in common, by dataset; perhaps none of a dataset.

    Args:
        results: a folder of results.
        others: another one.
        dataset: the dataset, None for all that both have.

    Raises:
        UserError: the runs do not share the dataset.
    """
    other_names = compared_datasets(others)
    names = [name for name in compared_datasets(results) if name in other_names]
    if dataset is not None:
        refuse_unknown(dataset, names, f"{results} and {others} do not share the dataset", None)
        names = [dataset]
    shared = {}
    for name in names:
        other_models = measured_models(others, name)
        shared[name] = [model for model in measured_models(results, name) if model in other_models]
    return shared


def compared_datasets(results: Path) -> list[str]:
    """Returns the datasets of a run whose models are compared.

    Raises:
        UserError: there is no such folder, or there are none.
    """
    if not results.is_dir():
        raise UserError(
            f"there is no folder {results}; expected the `results` of a config that was run"
        )
    names = sorted(path.stem for path in results.glob("comparisons/*.parquet"))
    if not names:
        raise UserError(
            f"there is no {results}/comparisons; expected a finished run of this version"
        )
    return names


def measured_models(results: Path, dataset: str) -> list[str]:
    """Returns the models of a run that a dataset was asked of."""
    return sorted(path.stem for path in results.glob(f"sums/{dataset}/*.parquet"))


def read_cells(results: Path, dataset: str, models: Sequence[str]) -> list[ComparedCell]:
    """Reads cells of a run."""
    cells = []
    for model in models:
        sums, measures, design = (
            results / table / dataset / f"{model}.parquet"
            for table in ("sums", "measures", "design")
        )
        cells.append(read_compared_cell(model, sums, measures, design))
    return cells


def read_evidence(results: Path, dataset: str, model: str) -> pl.DataFrame:
    """Returns the sentences of a cell, without rows where they are not there any more."""
    path = results / "evidence" / dataset / f"{model}.parquet"
    return read_tables([path] if path.is_file() else [], EVIDENCE)


def comparison_settings(table: Path) -> StatisticsSettings:
    """Returns the settings that a table of comparisons was made with."""
    return StatisticsSettings(**read_provenance(table)["statistics"])


def read_marks(table: Path) -> dict[str, list[Mark]]:
    """Returns the marks that a table of comparisons was made with."""
    fields_of_marks: Mapping[str, list[Mapping[str, Any]]] = read_provenance(table)["marks"]
    marks = {}
    for measure, fields in fields_of_marks.items():
        marks[measure] = [Mark(**mark) for mark in fields]
    return marks


def refuse_unknown(name: str, known: Sequence[str], problem: str, dataset: str | None) -> None:
    """Refuses a name that there is none of.

    Raises:
        UserError: with the names that there are.
    """
    if name not in known:
        where = f" on {dataset!r}" if dataset else ""
        raise UserError(
            f"{problem} {name!r}{where}{nearest_name(name, known)}; expected {one_of(known)}"
        )
